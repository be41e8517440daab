"""Brute force: every box is tested, eight at a time.

Boxes lie in consecutive blocks of eight, see `spatialindex.kernels.blocks`. A query of ten boxes is
two block tests; pairs of ten boxes are at most twenty. There is nothing to build and nothing to
decay, so below a few hundred objects this is what the other structures have to beat.

It does not prune anything: pairs cost n²/16 block tests whatever the scene.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from spatialindex.index import BoxIndex
from spatialindex.indexes.asking import (
    ask_neighbours,
    ask_region,
    axes,
    collect_best,
    count_verdicts,
)
from spatialindex.indexes.packed import PackedList
from spatialindex.kernels.thin import ask_list, make_handle
from spatialindex.protocol import Single
from spatialindex.results import StructureStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.changes import Changes
    from spatialindex.objects import ObjectTable
    from spatialindex.protocol import Parameter, Region
    from spatialindex.results import PairCounts

__all__ = ["BruteForce", "BruteForceStructure"]


class BruteForceStructure:
    """All slots in one packed list."""

    # 10,000 boxes: 12 ms from scratch, 2.3 ms with a tenth changed, 35 with all;
    # python -m tests.benchmarks --job kept
    kept_share = 0.3

    def __init__(self, table: ObjectTable) -> None:
        self.table = table
        self._list = PackedList(table)

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell that every box is held well."""
        return np.ones(len(boxes), np.bool_)

    def apply(self, changes: Changes) -> None:
        """Bring the list up to date."""
        self._list.change(changes.removed, changes.moved, changes.added)

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Test every box against every later one."""
        return self._list.pairs(rule, limit=limit, workers=workers)

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Scan the list for each slot."""
        ask = ask_neighbours(self.table, slots, rule)
        return self._list.regions(ask, limit=limit, workers=workers, guess=8 * len(slots))

    def query(self, region: Region, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Scan the list for each row."""
        ask = ask_region(self.table, region)
        return self._list.regions(ask, limit=limit, workers=workers, guess=8 * len(region.cull))

    def count(self, region: Region, *, workers: int = 1) -> NDArray[np.int64]:
        """Scan the list for each row."""
        counts = np.zeros(len(region.cull), np.int64)
        self._list.count(ask_region(self.table, region), counts, workers=workers)
        return counts

    def nearest(
        self, region: Region, k: int, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Scan the list for each row."""
        search = partial(self._list.nearest, ask_region(self.table, region))
        shape = len(region.cull), k
        return collect_best(self.table, shape, ignored, search, workers=workers)

    def first_hits(
        self, region: Region, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Scan the list for each row."""
        search = partial(self._list.first_hits, ask_region(self.table, region))
        shape = len(region.cull), 1
        slots, times = collect_best(self.table, shape, ignored, search, workers=workers)
        return slots[:, 0], times[:, 0]

    def single(self) -> Single:
        """Return how one box is asked, with few arguments; good until the next change."""
        table = self.table
        handle = make_handle(*self._list.blocks(), table.boxes, table.state, table.slot_ids)
        return Single(ask_list, (handle, len(self._list)), axes(table))

    def rebuild(self) -> None:
        """List the slots afresh, in ascending order."""
        self._list.clear()
        self._list.change(added=self.table.live_slots())

    def validate(self) -> None:
        """Check that the list holds each slot of the table once."""
        self._list.validate(self.table.live_slots())

    def stats(self) -> StructureStats:
        """Return what the list holds: one bucket."""
        n = len(self._list)
        return StructureStats(entries=n, buckets=min(n, 1), max_bucket=n)

    def count_pairs(self, rule: int) -> PairCounts:
        """Count by scanning once more."""
        n = len(self._list)
        met = n * (n - 1) // 2
        return count_verdicts(self._list.count_pairs, rule, visits=met, candidates=met)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._list.nbytes


class BruteForce(BoxIndex):
    """Test every box: the structure for up to a few hundred objects, and the one to beat.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.

    Notes
    -----
    Cost: an update O(1), a query O(n), pairs O(n²), all eight boxes at a time. Memory about
    100 bytes an object in 2D.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.BruteForce(ndim=2)
    >>> index.insert([[0, 0, 1, 1], [1, 1, 2, 2]])
    array([0, 1])
    >>> index.query([1.5, 1.5, 3, 3])
    array([1])
    """

    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self, ndim: int = 2) -> None:
        super().__init__(ndim, BruteForceStructure)
