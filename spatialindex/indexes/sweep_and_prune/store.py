"""Swept lanes as arrays that are replaced: building them in bulk."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.indexes.asking import axes
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.sorting import sort_keys
from spatialindex.kernels.sweep import build, change, lanes, resort
from spatialindex.kernels.sweep.tree import SweptTree, build_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["LaneStore"]

_ALL = np.empty(0, SLOT_DTYPE)
_MOST_STRAYS = 16  # one in so many objects in other lanes than before: more, and all is built anew
_MOST_SHIFTS = 4  # an entry, on average, to bring lanes into order: the same
_SHIFT = 29  # bits of the slot of a member, and how many slots they tell apart
_MANY = 2**29
_MOST_ENTRIES = 6  # an object, on average: more, and there are fewer lanes


@cache
def _no_lanes(ndim: int) -> lanes.SweptLanes:
    """Return the arrays of no lanes; nothing is ever written to them."""
    meta = np.zeros(lanes.META, np.int64)
    meta[lanes.AXIS] = -1
    return lanes.SweptLanes(
        bounds=np.empty((0, 2 * ndim, LANES), np.float32),
        slots=np.empty((0, LANES), SLOT_DTYPE),
        exact=np.empty(0, np.uint8),
        first=np.empty((0, ndim - 1), np.uint8),
        starts=np.empty(0, np.float32),
        offsets=np.zeros(1, np.int64),
        ranges=np.empty((0, 2 * (ndim - 1)), np.int16),
        homes=np.empty(0, np.int32),
        frame=np.zeros(4),
        meta=meta,
    )


class LaneStore:
    """The arrays of swept lanes over one table.

    Parameters
    ----------
    table : ObjectTable
        Whose slots become entries.

    Attributes
    ----------
    arrays : SweptLanes
        What kernels take; replaced when lanes are built anew.
    shifts_before : int
        Shifts that arrays which are gone by now had counted.
    """

    def __init__(self, table: ObjectTable) -> None:
        self.table = table
        self.shifts_before = 0
        self.arrays = _no_lanes(table.ndim)
        self.present_tree: SweptTree | None = None
        self._scale = (0.0, 0.0, build.FLOAT_BITS)  # lowest and highest bound and bits of keys

    def reset(self) -> None:
        """Forget all entries."""
        self.present_tree = None
        self.shifts_before += int(self.arrays.meta[lanes.SHIFTS])
        self.arrays = _no_lanes(self.table.ndim)

    @property
    def n_blocks(self) -> int:
        """Blocks of all lanes, in use or not."""
        return len(self.arrays.starts)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, with the tree that the next question makes if there is none."""
        nodes = int(self._levels()[-1]) if self.n_blocks else 0
        return sum(array.nbytes for array in self.arrays) + nodes * 8 * self.table.ndim * LANES

    def filled(self) -> NDArray[np.bool_]:
        """Tell which lanes of which blocks hold an entry, ``(blocks, 8)``."""
        used = ~np.isnan(self.arrays.starts)
        filled: NDArray[np.bool_] = (self.arrays.slots >= 0) & used[:, None]
        return filled

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of entries of each lane."""
        counts = np.append(0, np.cumsum(self.filled().sum(axis=1)))
        sizes: NDArray[np.int64] = np.diff(counts[self.arrays.offsets])
        return sizes

    # -- the tree -----------------------------------------------------------------------------

    def _levels(self) -> NDArray[np.int64]:
        """Return where the levels of the tree begin, and the number of its nodes."""
        levels, n = [0], self.n_blocks
        while n > 1 or len(levels) == 1:
            n = (n + LANES - 1) // LANES
            levels.append(levels[-1] + n)
        return np.array(levels, np.int64)

    def tree(self) -> SweptTree:
        """Return the tree over the blocks, made when it is first asked for after all was packed.

        Threads that ask at the same time make equal ones.
        """
        tree = self.present_tree
        if tree is None:
            tree = self._no_tree()
            if self.n_blocks:
                levels = self._levels()
                nodes = np.empty((int(levels[-1]), 2 * self.table.ndim, LANES), np.float32)
                tree = SweptTree(nodes, levels)
                build_tree(self.arrays, tree, axes(self.table))
            self.present_tree = tree
        return tree

    def _no_tree(self) -> SweptTree:
        """Return a tree that there is not: kernels pass it over."""
        return SweptTree(
            np.empty((0, 2 * self.table.ndim, LANES), np.float32), np.empty(0, np.int64)
        )

    # -- changes ------------------------------------------------------------------------------

    def remove(self, slots: NDArray[np.int32]) -> None:
        """Take slots out of their lanes."""
        if len(slots):
            change.remove_slots(self.arrays, self._tree_to_keep(), slots, axes(self.table))

    def add(self, slots: NDArray[np.int32]) -> bool:
        """Make slots entries of their lanes; False when there is no room: build anew."""
        if not len(slots):
            return True
        self._follow_table()
        table = self.table
        return bool(
            change.add_slots(self.arrays, self._tree_to_keep(), slots, table.cover, axes(table))
            != change.NO_ROOM
        )

    def move(self, slots: NDArray[np.int32]) -> bool:
        """Bring moved slots up to date; False when there is no room: build anew."""
        if not len(slots):
            return True
        table, fresh = self.table, np.empty((1, self.arrays.ranges.shape[1]), np.int16)
        tree = self._tree_to_keep()
        return bool(
            change.move_slots(self.arrays, tree, slots, table.cover, axes(table), fresh)
            != change.NO_ROOM
        )

    def resort(self) -> bool:
        """Bring all slots up to date from the order that lanes are in; False: build anew."""
        table, arrays, dim = self.table, self.arrays, axes(self.table)
        n, capacity = len(table), len(arrays.homes)
        if table.high > _MANY:
            return False
        slots = _ALL if n == table.high else table.live_slots()
        n_lanes = arrays.meta[lanes.N_LANES :][:2]
        keys, corners = np.empty(capacity, np.uint32), np.zeros((n_lanes + 1).prod(), np.int32)
        strays = np.empty(n // _MOST_STRAYS + 8, np.uint64)
        fresh = np.empty((1, arrays.ranges.shape[1]), np.int16)
        entries, n_strays = resort.follow_boxes(
            *(table.cover, slots, n, arrays, *self._scale, dim, fresh, keys, corners, strays)
        )
        if n_strays > len(strays) or entries > self._most_entries():
            return False
        bits = int(corners.size).bit_length()
        strays = sort_keys(strays[:n_strays], np.empty(n_strays, np.uint64), 32, bits)
        counts, places = np.empty(n_lanes.prod(), np.int32), np.empty(n_lanes.prod(), np.int64)
        offsets = np.empty(n_lanes.prod() + 1, np.int64)
        build.sum_counts(corners, arrays.meta, dim, counts)
        n_blocks = int(build.lay_out(counts, offsets, places))
        values, members = np.empty(entries, np.uint64), np.empty(entries, np.int32)
        most = _MOST_SHIFTS * int(entries) + 64
        shifts = resort.resort_lanes(
            *(arrays, keys, strays, _SHIFT, places, most, dim, values, members)
        )
        if shifts > most:
            return False
        self.present_tree = None
        arrays = self._with_blocks(n_blocks, offsets, *arrays[6:])
        build.fill_lanes(members, counts, arrays, _SHIFT, table.cover, dim)
        self.arrays = arrays
        return True

    def _tree_to_keep(self) -> SweptTree:
        """Return the tree that changes have to follow."""
        return self._no_tree() if self.present_tree is None else self.present_tree

    def _follow_table(self) -> None:
        """Remember lanes of as many slots as the table has."""
        arrays, capacity = self.arrays, len(self.table.slot_ids)
        old = len(arrays.homes)
        if old < capacity:
            ranges = np.empty((capacity, arrays.ranges.shape[1]), np.int16)
            ranges[:old] = arrays.ranges
            homes = np.full(capacity, lanes.ABSENT, np.int32)
            homes[:old] = arrays.homes
            self.arrays = arrays._replace(ranges=ranges, homes=homes)

    # -- building -----------------------------------------------------------------------------

    def build(self) -> None:
        """Choose lanes and make the entries of all slots of the table, in order."""
        self.present_tree = None
        table, dim = self.table, axes(self.table)
        n, ndim = len(table), table.ndim
        slots = _ALL if n == table.high else table.live_slots()
        if not n:
            self.reset()
            return
        capacity = len(table.slot_ids)
        frame, meta = np.zeros(4), np.zeros(lanes.META, np.int64)
        ranges = np.empty((capacity, 2 * (ndim - 1)), np.int16)
        keys, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
        before = self.arrays.meta
        keys, counts, offsets, places, entries, n_blocks, self._scale = build.plan_lanes(
            *(table.cover, slots, n, before[lanes.AXIS], self._most_entries(), dim),
            *(ranges, frame, meta, keys, other),
        )
        meta[lanes.SHIFTS] = before[lanes.SHIFTS]
        homes = np.empty(capacity, np.int32)
        arrays = self._with_blocks(n_blocks, offsets, ranges, homes, frame, meta)
        shift, dtype = (_SHIFT, np.int32) if table.high <= _MANY else (40, np.int64)
        members = np.empty(entries, dtype)
        build.deal_lanes(keys, counts, places, arrays, shift, table.cover, dim, members)
        self.arrays = arrays

    def _most_entries(self) -> int:
        """Return how many entries there may be."""
        return _MOST_ENTRIES * len(self.table) + 64

    def _with_blocks(
        self,
        n_blocks: int,
        offsets: NDArray[np.int64],
        ranges: NDArray[np.int16],
        homes: NDArray[np.int32],
        frame: NDArray[np.float64],
        meta: NDArray[np.int64],
    ) -> lanes.SweptLanes:
        """Return arrays with blocks to fill, those there are if they are about as many."""
        bounds, slots, exact, first, starts = self.arrays[:5]
        if not n_blocks <= len(starts) <= n_blocks + n_blocks // 4:
            n_blocks += n_blocks // 32  # so that the next time they are as many as it takes
            ndim = self.table.ndim
            bounds = np.empty((n_blocks, 2 * ndim, LANES), np.float32)
            slots = np.empty((n_blocks, LANES), SLOT_DTYPE)
            exact = np.empty(n_blocks, np.uint8)
            first = np.empty((n_blocks, ndim - 1), np.uint8)
            starts = np.empty(n_blocks, np.float32)
        return lanes.SweptLanes(
            *(bounds, slots, exact, first, starts, offsets, ranges, homes, frame, meta)
        )
