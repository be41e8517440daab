"""The loose tree as a structure: when to build, when to change some nodes, and how to answer.

What nodes are, how objects get into them and how they are divided stands in
`spatialindex.kernels.loose`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.execution import NO_COUNTS, NO_LIMIT, NO_ROWS, collect_rows, run_chunks
from spatialindex.indexes.asking import (
    ask_neighbours,
    ask_region,
    axes,
    collect_best,
    count_verdicts,
)
from spatialindex.indexes.loose_tree.checking import check_tree
from spatialindex.indexes.loose_tree.store import NodeStore
from spatialindex.kernels.decide import CAST, PLANES
from spatialindex.kernels.loose import ask as kernels
from spatialindex.kernels.loose import nodes
from spatialindex.kernels.loose import pairs as pair_kernels
from spatialindex.results import StructureStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spatialindex.kernels.blocks import Best
    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import Changes, ObjectTable
    from spatialindex.protocol import Region
    from spatialindex.results import PairCounts

__all__ = ["LooseTreeStructure"]

_MET_NOTHING = np.empty(0, np.int64)
_TASKS_A_WORKER = 64  # pairs of nodes into which a search for pairs is cut


class LooseTreeStructure:
    """Nodes and their members over one table.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are indexed.
    looseness : float
        Factor by which the bounds of a node are larger than its cell.
    leaf_size : int
        Members with which a leaf is not divided.
    """

    kept_share = 0.1
    # of the objects added, removed or leaving their nodes: beyond, building anew is cheaper
    bulk_share = 0.3

    def __init__(self, table: ObjectTable, *, looseness: float, leaf_size: int) -> None:
        self.table = table
        self._store = NodeStore(table, looseness, leaf_size)
        self._rebuilds = 0

    # -- keeping up ---------------------------------------------------------------------------

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell that every box is held well."""
        return np.ones(len(boxes), np.bool_)

    def apply(self, changes: Changes) -> None:
        """Take changes in: what stays in its node is written there, the rest enters anew."""
        table, store = self.table, self._store
        most = self.bulk_share * len(table)
        if len(changes.added) + len(changes.removed) > most:
            self.rebuild()
            return
        if len(changes.removed):
            store.leave(changes.removed)
        entering = changes.added
        if len(changes.moved):
            leaving = store.move(changes.moved, table.cover[changes.moved])
            if len(leaving) + len(entering) + len(changes.removed) > most:
                self.rebuild()
                return
            store.leave(leaving)
            entering = np.concatenate([leaving, entering])
        if len(entering):
            store.enter(entering, table.cover[entering])
        if store.is_sparse():
            self.rebuild()

    def rebuild(self) -> None:
        """Build from the table."""
        table = self.table
        slots = table.live_slots()
        n = len(slots)
        self._rebuilds += 1
        self._store.build(slots, table.cover[:n] if n == table.high else table.cover[slots])

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Walk the tree against itself."""
        tasks = self._pair_tasks(_TASKS_A_WORKER * workers if workers > 1 else 1)

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._find_pairs(rule, tasks, start, stop, _MET_NOTHING, out, limit)

        guess = 4 * len(self.table)
        return collect_rows(fill, len(tasks), limit=limit, workers=workers, guess=guess)

    def _pair_tasks(self, n: int) -> NDArray[np.int32]:
        """Cut the search for pairs into at least `n` pairs of nodes, if there are as many."""
        tasks = np.zeros((1, 2), np.int32)
        while len(tasks) < n:
            out = np.empty((81 * len(tasks), 2), np.int32)
            count = pair_kernels.spread_pairs(
                self._store.arrays, tasks, len(tasks), out, axes(self.table)
            )
            if count == len(tasks):
                break  # nothing but leaves
            tasks = out[:count].copy()
        return tasks

    def _find_pairs(
        self,
        rule: int,
        tasks: NDArray[np.int32],
        start: int,
        stop: int,
        met: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        table = self.table
        stack = np.empty((nodes.PAIR_STACK, 2), np.int32)  # nearly all of it is never touched
        return int(
            pair_kernels.find_pairs(
                *(self._store.arrays, table.cover, table.state, rule, tasks, start, stop),
                *(stack, met, out, limit, axes(table)),
            )
        )

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Ask for what meets each slot's box."""
        return self._rows(ask_neighbours(self.table, slots, rule), limit, workers)

    def query(self, region: Region, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Go down to what meets each region."""
        return self._rows(ask_region(self.table, region), limit, workers)

    def _rows(self, ask: Ask, limit: int, workers: int) -> NDArray[np.int32]:
        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._query(ask, start, stop, NO_COUNTS, out, limit)

        n = len(ask.cull)
        return collect_rows(fill, n, limit=limit, workers=workers, guess=8 * n)

    def _query(
        self,
        ask: Ask,
        start: int,
        stop: int,
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        kernel = kernels.query_slanted if ask.kind in (CAST, PLANES) else kernels.query_regions
        stack = np.empty(nodes.STACK, np.int32)
        arrays, dim = self._store.arrays, axes(self.table)
        return int(kernel(arrays, ask, stack, start, stop, counts, out, limit, dim))

    def count(self, region: Region, *, workers: int = 1) -> NDArray[np.int64]:
        """Count what meets each region."""
        counts = np.zeros(len(region.cull), np.int64)
        ask = ask_region(self.table, region)
        run_chunks(
            lambda start, stop: self._query(ask, start, stop, counts, NO_ROWS, NO_LIMIT),
            len(counts),
            workers,
        )
        return counts

    def nearest(
        self, region: Region, k: int, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Go down to the nearest children first."""
        search = partial(self._search, kernels.nearest, ask_region(self.table, region))
        shape = len(region.cull), k
        return collect_best(self.table, shape, ignored, search, workers=workers)

    def first_hits(
        self, region: Region, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Go down to the children that are met first."""
        search = partial(self._search, kernels.first_hits, ask_region(self.table, region))
        shape = len(region.cull), 1
        slots, times = collect_best(self.table, shape, ignored, search, workers=workers)
        return slots[:, 0], times[:, 0]

    def _search(
        self, kernel: Callable[..., None], ask: Ask, best: Best, start: int, stop: int
    ) -> None:
        stack = np.empty(nodes.STACK, np.int32)
        reaches = np.empty(nodes.STACK, np.float32)
        arrays, dim = self._store.arrays, axes(self.table)
        kernel(arrays, ask, stack, reaches, start, stop, best, dim)

    # -- figures ------------------------------------------------------------------------------

    def stats(self) -> StructureStats:
        """Return what the leaves hold."""
        arrays = self._store.arrays
        used = int(arrays.meta[nodes.USED_BLOCKS])
        return StructureStats(
            entries=int(arrays.meta[nodes.ENTRIES]),
            buckets=self._store.n_nodes,
            max_bucket=max(int(arrays.nodes[:used, nodes.TOTAL].max()), 0),
            rebuilds=self._rebuilds,
        )

    @property
    def n_renoded(self) -> int:
        """How many objects have changed their node because they moved."""
        return int(self._store.arrays.meta[nodes.MOVED])

    def count_pairs(self, rule: int) -> PairCounts:
        """Count by walking once more; an object is in one node, so no pair is met twice."""
        tasks = self._pair_tasks(1)
        met = np.zeros(1, np.int64)
        self._find_pairs(rule, tasks, 0, 1, met, NO_ROWS, NO_LIMIT)

        def count(weaker: int) -> int:
            return self._find_pairs(weaker, tasks, 0, 1, _MET_NOTHING, NO_ROWS, NO_LIMIT)

        return count_verdicts(count, rule, visits=int(met[0]), candidates=int(met[0]))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._store.nbytes

    def validate(self) -> None:
        """Check that every object is in a node that may hold it, under bounds that are tight."""
        store = self._store
        check_tree(store.arrays, self.table, store.looseness, store.leaf_size)
