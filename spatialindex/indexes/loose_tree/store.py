"""The arrays of a loose tree: making room, building, dividing crowded leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.indexes.asking import axes
from spatialindex.kernels.loose import build, change, nodes
from spatialindex.kernels.loose.build import Work
from spatialindex.kernels.loose.nodes import LooseArrays
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.sorting import sort_keys
from spatialindex.kernels.tree.packed import ROW_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["NodeStore"]

_MANY = 0.15  # of the members that have moved: beyond, all are written
_MOST_TASKS = 16 * 9  # of a frame: nodes that wait, at most nine a level


class NodeStore:
    """Blocks of nodes and their members.

    Parameters
    ----------
    table : ObjectTable
        Whose slots become members.
    looseness : float
        Factor by which the bounds of a node are larger than its cell.
    leaf_size : int
        Members with which a leaf is not divided.

    Attributes
    ----------
    arrays : LooseArrays
        What kernels take; replaced when something grows.
    """

    def __init__(self, table: ObjectTable, looseness: float, leaf_size: int) -> None:
        self.table = table
        self.looseness = looseness
        self.leaf_size = leaf_size
        self.arrays = self._new_arrays(1)
        self.reset()

    def reset(self, n_blocks: int = 1) -> None:
        """Forget all members and make room for so many blocks, the root's among them.

        Blocks that are there serve again, unless they are far too many.
        """
        meta = np.zeros(nodes.META, np.int64)
        meta[nodes.FREE] = -1
        places = np.full(len(self.table.slot_ids), -1, np.int32)
        self._most_blocks = 0  # in use since, as far as has been looked
        if not n_blocks <= len(self.arrays.link) <= 2 * n_blocks:
            self.arrays = self._new_arrays(n_blocks)
        self.arrays = self.arrays._replace(places=places, meta=meta)
        root = nodes.new_node(self.arrays, False, 0, nodes.ROOT, axes(self.table))
        self.arrays.corners[root] = 0.0

    def _new_arrays(self, n_blocks: int) -> LooseArrays:
        """Return arrays of so many blocks, which kernels empty when they take them into use."""
        ndim = self.table.ndim
        return LooseArrays(
            bounds=np.empty((n_blocks, 2 * ndim, LANES), np.float32),
            items=np.empty((n_blocks, LANES), np.int32),
            codes=np.empty((n_blocks, LANES), np.uint8),
            exact=np.empty(n_blocks, np.uint8),
            link=np.empty(n_blocks, np.int32),
            nodes=np.empty((n_blocks, nodes.COLUMNS), np.int32),
            corners=np.empty((n_blocks, ndim)),
            places=np.empty(0, np.int32),
            meta=np.empty(0, np.int64),
        )

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def n_nodes(self) -> int:
        """Leaves, which are the nodes that hold objects."""
        return int(self.arrays.meta[nodes.LEAVES])

    def is_sparse(self) -> bool:
        """Tell if most of the blocks that were in use are empty: time to build anew."""
        meta = self.arrays.meta
        blocks = int(meta[nodes.USED_BLOCKS] - meta[nodes.FREE_BLOCKS])
        self._most_blocks = max(self._most_blocks, blocks)
        return self._most_blocks > 4 * blocks + 256

    def build(self, slots: NDArray[np.int32], boxes: NDArray[np.float64]) -> None:
        """Make all nodes anew: row `i` of boxes is that of ``slots[i]``."""
        n = len(slots)
        self.reset(16 + 3 * n // 7 if self.leaf_size >= LANES else 16 + n)
        if not n:
            return
        work = self._work(n, n // (self.leaf_size + 1) + 2)
        build.list_rows(boxes, self.looseness, work, axes(self.table))
        work.frames[0] = (0, n, -1, nodes.ROOT, -1)
        work.meta[build.FRAMES] = 1
        self._run(work, slots, boxes, is_bulk=True)
        nodes.refit_all(self.arrays, np.empty(LANES, np.float32), axes(self.table))

    def _work(self, n: int, n_frames: int) -> Work:
        """Make what a build of `n` rows works on."""
        return Work(
            centers=np.empty((n, self.table.ndim)),
            exponents=np.empty(n, np.int16),
            keys=np.empty(n, np.uint64),
            frames=np.empty((n_frames, build.FRAME_COLUMNS), np.int64),
            corners=np.zeros((n_frames, 3)),
            tasks=np.empty((_MOST_TASKS, 4), np.int64),
            corner=np.zeros(3),
            scratch=np.zeros((3, 3)),
            meta=np.zeros(4, np.int64),
        )

    def _run(
        self,
        work: Work,
        slots: NDArray[np.int32],
        boxes: NDArray[np.float64],
        *,
        is_bulk: bool,
    ) -> None:
        """Build all frames that wait."""
        dim = axes(self.table)
        other = np.empty(0, np.uint64)
        while True:
            why = build.build_frames(self.arrays, work, slots, boxes, self.leaf_size, is_bulk, dim)
            if why == build.DONE:
                return
            if why == build.BLOCKS:
                first, last = work.tasks[work.meta[build.TASKS] - 1, :2]
                self._grow(8 + int(last - first) // LANES)
                continue
            top = work.meta[build.FRAMES] - 1
            first, last = work.frames[top, :2]
            bits = len(dim) * int(work.frames[top, build.LEVELS]) + build.LEVEL_BITS
            if not len(other):
                other = np.empty_like(work.keys)
            keys, spare = work.keys[first:last], other[first:last]
            ordered = sort_keys(keys, spare, ROW_BITS, bits)
            if ordered is not keys and not np.shares_memory(ordered, keys):
                keys[:] = ordered

    def enter(self, slots: NDArray[np.int32], boxes: NDArray[np.float64]) -> None:
        """Make slots, which are not in the tree, members of leaves."""
        self._follow_table()
        crowded = np.empty(len(slots), np.int32)
        done = n_crowded = 0
        while done < len(slots):
            done, n_crowded = change.enter_slots(
                *(self.arrays, slots, boxes, done, self.looseness, self.leaf_size),
                *(crowded, n_crowded, axes(self.table)),
            )
            if done < len(slots):
                self._grow(LANES)
        if n_crowded:
            self._divide(crowded[:n_crowded])

    def _divide(self, heads: NDArray[np.int32]) -> None:
        """Divide crowded leaves, each as if it were built."""
        n = int(self.arrays.nodes[heads, nodes.TOTAL].sum())
        work = self._work(n, len(heads) + n // (self.leaf_size + 1) + 1)
        slots = np.empty(n, SLOT_DTYPE)
        build.take_out(self.arrays, heads, slots, work, axes(self.table))
        boxes = self.table.covers_of(slots)
        build.list_rows(boxes, self.looseness, work, axes(self.table))
        self._run(work, slots, boxes, is_bulk=False)

    def leave(self, slots: NDArray[np.int32]) -> None:
        """Take slots out of their leaves."""
        change.leave_slots(self.arrays, slots, self.leaf_size, axes(self.table))

    def move(self, slots: NDArray[np.int32]) -> NDArray[np.int32]:
        """Write new boxes of those slots that stay in their nodes; return those that do not."""
        cover, entries = self.table.cover, int(self.arrays.meta[nodes.ENTRIES])
        if len(slots) > _MANY * entries:
            leaving = np.empty(entries, np.int32)
            n = change.move_all(self.arrays, cover, self.looseness, leaving, axes(self.table))
            return leaving[:n]
        boxes = cover[slots]
        leaving = np.empty(len(slots), np.int32)
        changed = np.empty(len(slots), np.int32)
        marks = np.zeros(len(self.arrays.link), np.uint8)
        n = change.move_slots(
            *(self.arrays, slots, boxes, self.looseness, marks, changed, leaving),
            axes(self.table),
        )
        return leaving[:n]

    def _grow(self, needed: int) -> None:
        """Make room for more blocks."""
        arrays = self.arrays
        blocks, used = len(arrays.link), int(arrays.meta[nodes.USED_BLOCKS])
        larger = max(blocks * 3 // 2, blocks + needed + 8, 32)
        for name in ("bounds", "items", "codes", "exact", "link", "nodes", "corners"):
            old = getattr(arrays, name)
            new = np.empty((larger, *old.shape[1:]), old.dtype)
            new[:used] = old[:used]
            arrays = arrays._replace(**{name: new})
        self.arrays = arrays

    def _follow_table(self) -> None:
        """Remember places of as many slots as the table has."""
        old, capacity = self.arrays.places, len(self.table.slot_ids)
        if len(old) < capacity:
            places = np.full(capacity, -1, np.int32)
            places[: len(old)] = old
            self.arrays = self.arrays._replace(places=places)
