"""The loose tree as a structure: when to build, when to change some nodes, and how to answer.

What nodes are, how objects get into them and how they are divided stands in
`spatialindex.kernels.loose`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.execution import NO_LIMIT, NO_ROWS, collect_rows
from spatialindex.indexes.answering import Answering
from spatialindex.indexes.asking import axes, count_verdicts
from spatialindex.indexes.loose_tree.checking import check_tree
from spatialindex.indexes.loose_tree.outlines import loose_outlines
from spatialindex.indexes.loose_tree.store import NodeStore
from spatialindex.kernels.decide import CAST, PLANES
from spatialindex.kernels.loose import ask as kernels
from spatialindex.kernels.loose import nodes
from spatialindex.kernels.loose import pairs as pair_kernels
from spatialindex.kernels.thin import ask_loose, make_handle
from spatialindex.protocol import Single
from spatialindex.results import StructureStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.changes import Changes
    from spatialindex.kernels.blocks import Best
    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import ObjectTable
    from spatialindex.outlines import Outlines
    from spatialindex.results import PairCounts

__all__ = ["LooseTreeStructure"]

_MET_NOTHING = np.empty(0, np.int64)
_SEEDS = 512  # pairs of nodes into which a search for pairs is cut, at least


class LooseTreeStructure(Answering):
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

    # 10,000 boxes in 2D: 1.1 ms kept and 1.3 anew with 10 % changed, 1.3 and 1.2 with 20 %;
    # python -m tests.benchmarks --job kept
    kept_share = 0.13
    # of the objects added, removed or leaving their nodes: beyond, building anew is cheaper
    # (100,000 boxes in 2D, teleported: 6 ms and 11 anew with 5 %, 13 and 11 with 10 %);
    # python -m tests.benchmarks --job bulk shows that moving within nodes costs far less
    bulk_share = 0.1

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
            leaving = store.move(changes.moved)
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
        self._store.build(slots, table.cover[:n] if n == table.high else table.covers_of(slots))

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Walk the tree against itself."""
        seeds = self._seeds()

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._find_pairs(rule, seeds, (start, stop), _MET_NOTHING, out, limit)

        guess = 4 * len(self.table)
        return collect_rows(fill, len(seeds), limit=limit, workers=workers, guess=guess)

    def _seeds(self) -> NDArray[np.int32]:
        """Return pairs of nodes that meet, below which all pairs of objects are."""
        found = np.zeros((1, 2), np.int32)
        while len(found) < _SEEDS and (found >= 0).any():
            out = np.empty((81 * len(found), 2), np.int32)
            n = pair_kernels.spread_pairs(
                self._store.arrays, found, len(found), out, axes(self.table)
            )
            found = out[:n].copy()
        return found

    def _find_pairs(
        self,
        rule: int,
        seeds: NDArray[np.int32],
        span: tuple[int, int],
        met: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        table = self.table
        stack = np.empty((nodes.PAIR_STACK, 2), np.int32)  # nearly all of it is never touched
        return int(
            pair_kernels.find_pairs(
                *(self._store.arrays, table.cover, table.state, rule, seeds),
                *(*span, stack, met, out, limit, axes(table)),
            )
        )

    def _answer(
        self,
        ask: Ask,
        order: NDArray[np.int32],
        span: tuple[int, int],
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        """Go down to what meets each region."""
        kernel = kernels.query_slanted if ask.kind in (CAST, PLANES) else kernels.query_regions
        stack = np.empty(nodes.STACK, np.int32)
        arrays, dim = self._store.arrays, axes(self.table)
        return int(kernel(arrays, ask, order, stack, *span, counts, out, limit, dim))

    def _offer(self, ask: Ask, order: NDArray[np.int32], best: Best, start: int, stop: int) -> None:
        """Go down to the children that are nearest or met first at first."""
        kernel = kernels.first_hits if ask.kind == CAST else kernels.nearest
        scratch = np.empty(nodes.STACK, np.int32), np.empty(nodes.STACK, np.float32)
        arrays, dim = self._store.arrays, axes(self.table)
        kernel(arrays, ask, order, *scratch, start, stop, best, dim)

    def single(self) -> Single:
        """Return how one box is asked, with few arguments; good until the next change."""
        table = self.table
        handle = make_handle(*self._store.arrays, table.boxes, table.state, table.slot_ids)
        return Single(ask_loose, (handle,), axes(table))

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
        seeds = self._seeds()
        met = np.zeros(1, np.int64)

        def count(weaker: int) -> int:
            met[0] = 0
            return self._find_pairs(weaker, seeds, (0, len(seeds)), met, NO_ROWS, NO_LIMIT)

        counts = count_verdicts(count, rule, visits=0, candidates=0)
        return counts._replace(visits=int(met[0]), candidates=int(met[0]))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._store.nbytes

    def outlines(self) -> Outlines:
        """Return cells by size, and loose bounds of those that list objects."""
        return loose_outlines(self._store.arrays, self._store.looseness)

    def validate(self) -> None:
        """Check that every object is in a node that may hold it, under bounds that are tight."""
        store = self._store
        check_tree(store.arrays, self.table, store.looseness, store.leaf_size)
