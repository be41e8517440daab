"""The structure of swept lanes: keeping up with the table and answering."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.execution import NO_LIMIT, NO_ROWS, collect_rows
from spatialindex.indexes.answering import Answering
from spatialindex.indexes.asking import axes, count_verdicts
from spatialindex.indexes.curve import NO_ORDER
from spatialindex.indexes.sweep_and_prune.checking import check_lanes
from spatialindex.indexes.sweep_and_prune.outlines import lane_outlines
from spatialindex.indexes.sweep_and_prune.store import LaneStore
from spatialindex.kernels.decide import CAST
from spatialindex.kernels.sweep import ask as kernels
from spatialindex.kernels.sweep import lanes
from spatialindex.kernels.sweep.pairs import count_meetings, find_pairs
from spatialindex.kernels.sweep.tree import STACK
from spatialindex.results import StructureStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.changes import Changes
    from spatialindex.kernels.blocks import Best
    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import ObjectTable
    from spatialindex.outlines import Outlines
    from spatialindex.results import PairCounts

__all__ = ["SweepStructure"]

_CHEAP_EFFORT = 6  # shifts that cost as much as all else of a change
_MOST_RESORTED = 32  # times lanes are sorted from their old order before they are chosen anew


class SweepStructure(Answering):
    """Lanes of sorted blocks over one table.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are indexed.
    """

    # kept pairs pay up to 0.03 changed of 10,000 boxes and 0.05 of 100,000;
    # python -m tests.benchmarks --job kept
    kept_share = 0.04
    # of the objects changed: beyond, sorting all again is cheaper than changing entries;
    # python -m tests.benchmarks --job bulk
    bulk_share = 0.1

    def __init__(self, table: ObjectTable) -> None:
        self.table = table
        self._store = LaneStore(table)
        self._rebuilds = 0
        self._n_built = 0  # objects when lanes were chosen
        self._n_changed = 0  # changes one by one since
        self._effort = 0.0  # places that entries were shifted by for a change, the last time
        self._n_resorted = 0  # times all was sorted from the old order since

    # -- keeping up ---------------------------------------------------------------------------

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell that every box is held well."""
        return np.ones(len(boxes), np.bool_)

    @property
    def axis(self) -> int | None:
        """Axis that is swept, None before there is an object."""
        axis = int(self._store.arrays.meta[lanes.AXIS])
        return None if axis < 0 else axis

    @property
    def lanes(self) -> tuple[int, ...]:
        """Number of lanes along each other axis, in the order of the axes; empty at first."""
        if self.axis is None:
            return ()
        n_lanes = self._store.arrays.meta[lanes.N_LANES :]
        return tuple(int(n) for n in n_lanes[: self.table.ndim - 1])

    @property
    def sort_work(self) -> int:
        """Places that entries were shifted by to keep lanes in order, since ever."""
        return self._store.shifts_before + int(self._store.arrays.meta[lanes.SHIFTS])

    @property
    def sorts(self) -> int:
        """Times that everything was sorted from scratch, since ever."""
        return self._rebuilds

    def apply(self, changes: Changes) -> None:
        """Take changes in: a few one by one, else by sorting, from the old order if it may do."""
        n = len(self.table)
        come_and_gone = len(changes.added) + len(changes.removed)
        n_changed = come_and_gone + len(changes.moved)
        if not n_changed:
            return
        self._n_changed += come_and_gone
        many = self.bulk_share * n / (1.0 + self._effort / _CHEAP_EFFORT)
        if not self._n_built / 2 < n <= 2 * self._n_built or come_and_gone > many:
            self._build()
        elif self._n_changed > n or self._n_resorted >= _MOST_RESORTED:
            self._build()  # by now, other lanes may be better
        else:
            before = self.sort_work
            self._store.remove(changes.removed)
            is_done = self._store.add(changes.added)
            if is_done and n_changed > many:
                self._n_resorted += 1
                is_done = self._store.resort()
            elif is_done:
                self._n_changed += len(changes.moved)
                is_done = self._store.move(changes.moved)
            if not is_done:
                self._build()
            elif n_changed <= many:
                self._effort = (self.sort_work - before) / n_changed

    def rebuild(self) -> None:
        """Choose lanes anew, whatever they were, and build from the table."""
        self._store.reset()
        self._build()

    def _build(self) -> None:
        """Sort everything and build all lanes."""
        self._rebuilds += 1
        self._n_built = len(self.table)
        self._n_changed = self._n_resorted = 0
        self._store.build()

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Sweep all lanes."""

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._find_pairs(rule, start, stop, out, limit)

        n_blocks, guess = self._store.n_blocks, 4 * len(self.table)
        return collect_rows(fill, n_blocks, limit=limit, workers=workers, guess=guess)

    def _find_pairs(
        self, rule: int, start: int, stop: int, out: NDArray[np.int32], limit: int
    ) -> int:
        table = self.table
        return int(
            find_pairs(
                *(self._store.arrays, table.cover, table.state, rule),
                *(start, stop, out, limit, axes(table)),
            )
        )

    def _order(self, ask: Ask) -> NDArray[np.int32]:
        """Return the order of the rows: in another one, the tree is no faster."""
        return NO_ORDER

    def _answer(
        self,
        ask: Ask,
        order: NDArray[np.int32],
        span: tuple[int, int],
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        """Go down the tree with each region."""
        store, stack, dim = self._store, np.empty(STACK, np.int64), axes(self.table)
        rest = (ask, stack, *span, counts, out, limit, dim)
        return int(kernels.query_regions(store.arrays, store.tree(), *rest))

    def _offer(self, ask: Ask, order: NDArray[np.int32], best: Best, start: int, stop: int) -> None:
        """Go down the tree, to the nodes that are nearest or met first at first."""
        kernel = kernels.search_first if ask.kind == CAST else kernels.search_nearest
        store = self._store
        scratch = np.empty(STACK, np.int64), np.empty(STACK, np.float32)
        kernel(store.arrays, store.tree(), ask, *scratch, start, stop, best, axes(self.table))

    # -- figures ------------------------------------------------------------------------------

    def stats(self) -> StructureStats:
        """Return what the lanes hold."""
        sizes = self._store.sizes()
        return StructureStats(
            entries=int(sizes.sum()),
            buckets=int(np.count_nonzero(sizes)),
            max_bucket=int(sizes.max(initial=0)),
            rebuilds=self._rebuilds,
        )

    def count_pairs(self, rule: int) -> PairCounts:
        """Count by sweeping once more."""
        visits, candidates = count_meetings(self._store.arrays, axes(self.table))
        return count_verdicts(
            lambda weaker: self._find_pairs(weaker, 0, self._store.n_blocks, NO_ROWS, NO_LIMIT),
            rule,
            visits=int(visits),
            candidates=int(candidates),
        )

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._store.nbytes

    def outlines(self) -> Outlines:
        """Return lanes and the blocks sorted along them."""
        return lane_outlines(self._store)

    def validate(self) -> None:
        """Check that every object is in all its lanes, in order, under bounds that hold it."""
        check_lanes(self._store)
