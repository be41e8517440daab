"""Swept lanes as arrays that are replaced: building them in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.indexes.asking import axes
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.sorting import sort_keys
from spatialindex.kernels.sweep import build, change, choose, lanes
from spatialindex.kernels.sweep.tree import SweptTree, build_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["LaneStore"]

_ALL = np.empty(0, SLOT_DTYPE)
_SHORT_KEYS, _LONG_KEYS = 12, 22  # bits: one and two passes of the sort
_FEW = 16384  # objects that short keys tell apart
_KEY_SHARE = 4  # objects a key value in the most crowded part: more, and keys are float32 bounds
_MOST_STRAYS = 16  # one in so many objects in other lanes than before: more, and all is built anew
_MOST_SWAPS = 2  # one exchange for so many entries to bring blocks into order: the same
_MOST_ENTRIES = 6  # an object, on average: more, and there are fewer lanes


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
    """

    def __init__(self, table: ObjectTable) -> None:
        self.table = table
        self.reset()

    def reset(self) -> None:
        """Forget all entries."""
        ndim = self.table.ndim
        self.present_tree: SweptTree | None = None
        meta = np.zeros(lanes.META, np.int64)
        meta[lanes.AXIS] = -1
        self.arrays = lanes.SweptLanes(
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

    @property
    def n_blocks(self) -> int:
        """Blocks of all lanes, in use or not."""
        return len(self.arrays.starts)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, with the tree that the next question makes if there is none."""
        nodes = int(self._levels()[-1]) if self.n_blocks else 0
        return sum(array.nbytes for array in self.arrays) + nodes * 8 * self.table.ndim * LANES

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of entries of each lane."""
        counts = np.append(0, np.cumsum((self.arrays.slots >= 0).sum(axis=1)))
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

    def settle(self) -> bool:
        """Pack all blocks with the present boxes and sort them; False when that is hopeless."""
        table, arrays, dim = self.table, self.arrays, axes(self.table)
        self.present_tree = None
        strays = np.empty(len(table) // _MOST_STRAYS + 8, SLOT_DTYPE)
        fresh = np.empty((1, arrays.ranges.shape[1]), np.int16)
        flat = arrays.slots.reshape(-1)
        n_strays = int(change.pack_blocks(arrays, flat, table.cover, dim, fresh, strays))
        if n_strays > len(strays):
            return False
        most = int(arrays.meta[lanes.ENTRIES]) // _MOST_SWAPS + 64
        if change.sort_blocks(arrays, dim, most) > most:
            return False
        return self.move(strays[:n_strays])

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
        n, ndim, cover = len(table), table.ndim, table.cover
        slots = _ALL if n == table.high else table.live_slots()
        if not n:
            self.reset()
            return
        figures = self._choose(slots)
        arrays = self.arrays
        axis = arrays.meta[lanes.AXIS]
        low, high = figures[choose.LOW + axis], figures[choose.HIGH + axis]
        bits = _SHORT_KEYS if n <= _FEW else _LONG_KEYS
        if figures[choose.DENSEST + axis] * 2.0**bits * _KEY_SHARE < (high - low) * n / 8:
            bits = build.FLOAT_BITS
        keys = np.empty(n, np.uint64)
        capacity = len(table.slot_ids)
        arrays = arrays._replace(
            ranges=np.empty((capacity, 2 * (ndim - 1)), np.int16),
            homes=np.full(capacity, lanes.ABSENT, np.int32),
        )
        while True:
            n_lanes = arrays.meta[lanes.N_LANES :][:2]
            corners = np.zeros(int((n_lanes + 1).prod()), np.int32)
            entries = build.key_boxes(
                *(cover, slots, n, arrays, low, high, bits, dim, keys, corners)
            )
            if entries <= _MOST_ENTRIES * n + 64:
                break
            # few large objects that the sample has missed
            c, e = np.maximum(n_lanes // 2, 1)
            choose.set_lanes(figures, float(c), float(e), arrays.frame, arrays.meta)
        counts = np.empty(int(n_lanes.prod()), np.int32)
        build.sum_counts(corners, arrays, dim, counts)
        keys = sort_keys(keys, np.empty_like(keys), 32, bits)
        self._fill(arrays, keys, counts, int(entries))

    def _choose(self, slots: NDArray[np.int32]) -> NDArray[np.float64]:
        """Choose sweep axis and lanes anew; returns the figures of the sample that decided."""
        table, dim = self.table, axes(self.table)
        sample = np.empty((choose.SAMPLE, 2 * table.ndim))
        figures = np.empty(choose.FIGURES)
        frame, meta = np.zeros(4), np.zeros(lanes.META, np.int64)
        before = self.arrays.meta
        m = choose.draw_sample(table.cover, slots, len(table), dim, sample)
        scratch = np.empty(choose.SAMPLE), np.empty(choose.CELLS, np.int32)
        choose.measure_sample(sample, m, dim, *scratch, figures)
        choose.choose_lanes(figures, len(table), before[lanes.AXIS], dim, frame, meta)
        meta[lanes.SWAPS] = before[lanes.SWAPS]
        self.arrays = self.arrays._replace(frame=frame, meta=meta)
        return figures

    def _fill(
        self,
        arrays: lanes.SweptLanes,
        keys: NDArray[np.uint64],
        counts: NDArray[np.int32],
        entries: int,
    ) -> None:
        """Deal sorted keys into lanes and fill their blocks."""
        table, dim = self.table, axes(self.table)
        shift, dtype = (29, np.int32) if table.high <= 2**29 else (40, np.int64)
        offsets, places = np.empty(len(counts) + 1, np.int64), np.empty(len(counts), np.int64)
        n_blocks = build.lay_out(counts, offsets, places)
        members = np.empty(entries, dtype)
        build.deal_members(keys, arrays, shift, dim, places, members)
        arrays = arrays._replace(
            bounds=np.empty((n_blocks, 2 * table.ndim, LANES), np.float32),
            slots=np.empty((n_blocks, LANES), SLOT_DTYPE),
            exact=np.empty(n_blocks, np.uint8),
            first=np.empty((n_blocks, table.ndim - 1), np.uint8),
            starts=np.empty(n_blocks, np.float32),
            offsets=offsets,
        )
        build.fill_lanes(members, counts, arrays, shift, table.cover, dim)
        self.arrays = arrays
