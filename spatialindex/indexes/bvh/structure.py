"""The tree as a structure: which builder, and how questions are asked.

What a tree is made of stands in `spatialindex.kernels.tree`. Up to some thousand objects are cut by
surface (`topdown`), which makes the better trees; more of them, and those that have to be built
anew within a frame, are cut at medians (`arrange`), which is several times as fast.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import TOGETHER
from spatialindex.execution import NO_LIMIT, NO_ROWS, collect_rows
from spatialindex.indexes.answering import Answering
from spatialindex.indexes.asking import ask_region, axes, collect_best, count_verdicts
from spatialindex.indexes.bvh.checking import check_tree
from spatialindex.indexes.bvh.outlines import node_outlines
from spatialindex.indexes.bvh.store import TreeStore
from spatialindex.indexes.curve import box_order
from spatialindex.kernels.blocks import NO_MARKS
from spatialindex.kernels.decide import CAST, PLANES, RADIUS
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.thin import ask_tree, make_handle
from spatialindex.kernels.tree import ask as asking
from spatialindex.kernels.tree import best as searching
from spatialindex.kernels.tree import casts, nodes, pairs
from spatialindex.protocol import Single
from spatialindex.results import StructureStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.changes import Changes
    from spatialindex.kernels.blocks import Best
    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import ObjectTable
    from spatialindex.outlines import Outlines
    from spatialindex.protocol import Region
    from spatialindex.results import PairCounts

__all__ = ["TreeStructure"]

_MOST_CUT = 8192  # objects up to which building by surface pays
_SEEDS = 512  # pairs of blocks that pairs are split into, at least
_NO_METERS = np.empty(0, np.int64)


class TreeStructure(Answering):
    """A tree over one table that is built anew after every change of boxes.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are indexed.
    leaf_size : int
        Objects that a leaf may hold, 1 to 8.
    build : {"auto", "sah", "median", "morton"}
        How the tree is built.
    """

    # kept pairs pay up to 0.20 changed of 10,000 boxes in 2D and 0.27 to 0.33 of more or in 3D;
    # python -m tests.benchmarks --job kept
    kept_share = 0.2
    # of the objects changed: beyond, walking the tree against itself where something has changed
    # costs less than asking with each; python -m tests.benchmarks --job sweep
    sweep_share = 0.03

    def __init__(self, table: ObjectTable, *, leaf_size: int, build: str) -> None:
        self.table = table
        self._build_by = build
        self._store = TreeStore(table, leaf_size)
        self._rebuilds = 0
        self._n_built = 0
        self._cost_built = 0.0

    # -- keeping up ---------------------------------------------------------------------------

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell that every box is held well."""
        return np.ones(len(boxes), np.bool_)

    def rebuild(self) -> None:
        """Build from the table."""
        self._build(is_urgent=False)

    def _build(self, *, is_urgent: bool) -> None:
        """Build from the table; urgent where it is part of a frame, so that building dominates."""
        table, store = self.table, self._store
        slots = table.live_slots()
        n = len(slots)
        self._rebuilds += 1
        self._n_built = n
        if not n:
            store.reset(1)
        else:
            boxes = table.cover[:n] if n == table.high else table.covers_of(slots)
            build = self._build_by
            if build == "sah" or (build == "auto" and n <= _MOST_CUT and not is_urgent):
                store.build_cut(slots, boxes)
            else:
                store.build_packed(slots, boxes, is_curved=build == "morton")
        self._cost_built = store.cost()

    def apply(self, changes: Changes) -> None:
        """Build anew after any change of boxes; bring summaries up to date after others."""
        if len(changes.added) + len(changes.removed) + len(changes.moved):
            self._build(is_urgent=self._n_built > 0)
        elif len(changes.restated):
            self._store.restate(changes.restated)

    def _quality(self) -> float:
        """Return the cost of the tree over that after the last build."""
        return self._store.cost() / self._cost_built if self._cost_built > 0.0 else 1.0

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Walk the tree against itself."""
        return self._pairs_where(NO_MARKS, len(self.table), rule, limit, workers)

    def pairs_with(
        self,
        slots: NDArray[np.int32],
        marks: NDArray[np.uint8],
        rule: int,
        *,
        limit: int,
        workers: int = 1,
    ) -> NDArray[np.int32]:
        """Walk the tree against itself, where one of two blocks has slots below it."""
        marked = np.zeros(len(self._store.arrays.size), np.uint8)
        pairs.mark_slots(self._store.arrays, slots, marked)
        return self._pairs_where(marked, len(slots), rule, limit, workers)

    def _pairs_where(
        self, marked: NDArray[np.uint8], n: int, rule: int, limit: int, workers: int
    ) -> NDArray[np.int32]:
        """Return the pairs of which one is marked, all without any marks; `n` objects have some."""
        seeds = self._seeds(marked, rule)

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            span = (start, stop)
            return self._find_pairs(marked, seeds, rule, rule, span, _NO_METERS, out, limit)

        return collect_rows(fill, len(seeds), limit=limit, workers=workers, guess=4 * n)

    def _seeds(self, marked: NDArray[np.uint8], rule: int) -> NDArray[np.int64]:
        """Return pairs of blocks that meet, below which all pairs of objects are."""
        found = np.zeros((1, 2), np.int64)
        arrays, dim = self._store.arrays, axes(self.table)
        left = 1
        while left and len(found) < _SEEDS:
            out = np.empty((64 * len(found), 2), np.int64)
            n, left = pairs.spread_pairs(arrays, marked, rule, found, len(found), out, dim)
            found = out[:n]
        return found

    def _find_pairs(
        self,
        marked: NDArray[np.uint8],
        seeds: NDArray[np.int64],
        prune: int,
        rule: int,
        span: tuple[int, int],
        met: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        table = self.table
        stack = np.empty((nodes.PAIR_STACK, 2), np.int64)
        return int(
            pairs.find_pairs(
                *(self._store.arrays, marked, table.cover, table.state, prune, rule),
                *(seeds, *span, stack, met, out, limit, axes(table)),
            )
        )

    def _order(self, ask: Ask) -> NDArray[np.int32]:
        """Return the order of rows; boxes, going down many at a time, seldom need one."""
        if ask.kind in (CAST, PLANES, RADIUS):
            return super()._order(ask)
        return box_order(ask, self._store.n_blocks, axes(self.table))

    def _answer(
        self,
        ask: Ask,
        order: NDArray[np.int32],
        span: tuple[int, int],
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        """Go down the tree with regions, boxes many at a time."""
        is_slanted = ask.kind in (CAST, PLANES)
        n = TOGETHER if is_slanted else max(1, min(TOGETHER, span[1] - span[0]))
        stack = np.empty(n * nodes.STACK, np.int64)
        state = np.empty((n + 1, asking.STATE), np.int64)
        head, rest = (self._store.arrays, ask, order), (*span, counts, out, limit, axes(self.table))
        if is_slanted:
            return int(asking.query_slanted(*head, stack, state, *rest))
        queries = np.empty((n, 2 * LANES), np.float32)
        return int(asking.query_regions(*head, queries, stack, state, *rest))

    def _offer(self, ask: Ask, order: NDArray[np.int32], best: Best, start: int, stop: int) -> None:
        """Go down the tree, to what is nearest at first."""
        scratch = np.empty(nodes.STACK, np.int64), np.empty(nodes.STACK, np.float32)
        arrays, dim = self._store.arrays, axes(self.table)
        searching.nearest(arrays, ask, order, *scratch, start, stop, best, dim)

    def first_hits(
        self, region: Region, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Go down the tree with many casts at a time, in the order they come in.

        Since they wait for memory together, it does not matter what the one before has fetched: to
        bring them into spatial order takes a tenth longer, with a million objects too;
        ``python -m tests.benchmarks --job rays --n 1e5,1e6``.
        """
        shape = (len(region.cull), 1)
        meet = partial(self._meet, ask_region(self.table, region))
        slots, times = collect_best(self.table, shape, ignored, meet, workers=workers)
        return slots[:, 0], times[:, 0]

    def _meet(self, ask: Ask, best: Best, start: int, stop: int) -> None:
        """Offer what is met first to the bests of rows `start` to `stop`."""
        n = min(casts.TOGETHER, stop - start)
        scratch = np.empty(n * nodes.STACK, np.int64), np.zeros((n, 16), np.float32)
        state = np.empty((n, casts.STATE), np.int64)
        arrays, dim = self._store.arrays, axes(self.table)
        casts.first_hits(arrays, ask, *scratch, state, start, stop, best, dim)

    def single(self) -> Single:
        """Return how one box is asked, with few arguments; good until the next change."""
        table = self.table
        handle = make_handle(*self._store.arrays, table.boxes, table.state, table.slot_ids)
        return Single(ask_tree, (handle,), axes(table))

    # -- figures ------------------------------------------------------------------------------

    def stats(self) -> StructureStats:
        """Return what the leaves hold."""
        arrays = self._store.arrays
        used = int(arrays.meta[nodes.USED_BLOCKS])
        leaves = arrays.size[:used][arrays.is_leaf[:used] != 0]
        return StructureStats(
            entries=int(arrays.meta[nodes.ENTRIES]),
            buckets=int(arrays.meta[nodes.LEAVES]),
            max_bucket=int(leaves.max(initial=0)),
            rebuilds=self._rebuilds,
            quality=self._quality(),
        )

    def count_pairs(self, rule: int) -> PairCounts:
        """Count by walking once more, passing over the blocks that `pairs` passes over."""
        seeds = self._seeds(NO_MARKS, rule)
        met = np.zeros(1, np.int64)

        def count(weaker: int) -> int:
            met[0] = 0
            span = (0, len(seeds))
            return self._find_pairs(NO_MARKS, seeds, rule, weaker, span, met, NO_ROWS, NO_LIMIT)

        counts = count_verdicts(count, rule, visits=0, candidates=0)
        return counts._replace(visits=int(met[0]), candidates=int(met[0]))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._store.nbytes

    def outlines(self) -> Outlines:
        """Return nodes and leaves by depth."""
        return node_outlines(self._store.arrays)

    def validate(self) -> None:
        """Check every block, bound, summary and place of the tree."""
        check_tree(self._store.arrays, self.table)
