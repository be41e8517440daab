"""The blocks of a tree as arrays that grow: how it is built, changed and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ALL, SLOT_DTYPE, STATE_DTYPE
from spatialindex.indexes.asking import axes
from spatialindex.indexes.curve import curve_keys
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.tree import arrange, members, nodes, packed, refit, repair, topdown

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["TreeStore"]

_PLAIN_STATE = np.empty(0, STATE_DTYPE)
_SPARE_BITS = 6  # of a key beyond those that number the objects
_MOST_FREE = 4  # times the blocks in use, that have been in use: time to build anew


class TreeStore:
    """The arrays of a tree.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are in the tree.
    leaf_size : int
        Objects that a leaf may hold.

    Attributes
    ----------
    arrays : TreeArrays
        What kernels take; replaced when something grows.
    """

    def __init__(self, table: ObjectTable, leaf_size: int) -> None:
        self.table = table
        self.leaf_size = leaf_size
        self._scratch = members.Scratch(
            np.empty((LANES, 2 * table.ndim), np.float32),
            np.empty(LANES, np.int64),
            np.empty(LANES),
            np.empty(nodes.MOST_DEPTH, np.int64),
        )
        self.reset(1)

    def reset(self, n_blocks: int) -> None:
        """Forget all objects and make room for so many blocks, the root included."""
        meta = np.zeros(nodes.META, np.int64)
        meta[nodes.FREE] = -1
        meta[nodes.LEAF_SIZE] = self.leaf_size
        meta[nodes.USED_BLOCKS] = meta[nodes.DEPTH] = 1
        self.arrays = nodes.TreeArrays(
            # kernels empty a block when they take it into use
            bounds=np.empty((n_blocks, 2 * self.table.ndim, LANES), np.float32),
            items=np.empty((n_blocks, LANES), np.int32),
            exact=np.zeros(n_blocks, np.uint8),
            size=np.zeros(n_blocks, np.int8),
            is_leaf=np.zeros(n_blocks, np.uint8),
            parent=np.empty(n_blocks, np.int32),
            layers=np.zeros(n_blocks, np.uint64),
            masks=np.zeros(n_blocks, np.uint64),
            resting=np.zeros(n_blocks, np.uint8),
            home=np.zeros(n_blocks),
            places=np.full(len(self.table.slot_ids), -1, SLOT_DTYPE),
            meta=meta,
        )
        # the root, empty
        self.arrays.bounds[0] = np.nan
        self.arrays.items[0] = self.arrays.parent[0] = -1
        self.arrays.resting[0] = nodes.STATIC | nodes.RESTING

    @property
    def n_blocks(self) -> int:
        """Blocks in use."""
        meta = self.arrays.meta
        return int(meta[nodes.USED_BLOCKS] - meta[nodes.FREE_BLOCKS])

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def state(self) -> NDArray[np.void]:
        """The state as summaries take it: empty while all objects are plain, which is faster."""
        table = self.table
        is_plain = table.pair_rule("active", "include") == 0 and table.sees_all(ALL)
        return _PLAIN_STATE if is_plain else table.state

    def cost(self) -> float:
        """Return the cost of the tree as it is, see `kernels.tree.refit`; notes its depth."""
        self.arrays.meta[nodes.DEPTH] = refit.tree_depth(self.arrays)
        return float(refit.tree_cost(self.arrays, axes(self.table)))

    def is_sparse(self) -> bool:
        """Tell if most blocks that were in use are free: time to build anew."""
        used = int(self.arrays.meta[nodes.USED_BLOCKS])
        return used > _MOST_FREE * self.n_blocks + 64

    # -- building -----------------------------------------------------------------------------

    def build_packed(
        self, slots: NDArray[np.int32], boxes: NDArray[np.float64], *, is_curved: bool
    ) -> None:
        """Build in the order of the curve, or else of cuts at medians.

        Row `i` of `boxes` belongs to ``slots[i]``.
        """
        n, dim = len(slots), axes(self.table)
        keys = curve_keys(boxes, dim, _SPARE_BITS) if is_curved else self._cut_at_medians(boxes)
        self.reset(int(packed.count_blocks(n, self.leaf_size)) + n // 64)
        packed.fill_packed(self.arrays, slots, boxes, self.state, keys, dim)

    def _cut_at_medians(self, boxes: NDArray[np.float64]) -> NDArray[np.uint64]:
        """Return the rows of boxes in the order in which they are packed."""
        n, ndim = boxes.shape[0], self.table.ndim
        dim = axes(self.table)
        frame, keys = np.empty(4), np.empty(n + 1, np.uint64)
        packed.measure(boxes, dim, frame)
        arrange.arrange(
            *(boxes, frame, self.leaf_size, np.empty((2, ndim + 1, n), np.int32)),
            np.empty(arrange.BINS, np.int64),
            *(keys, np.empty((arrange.STACK, 3), np.int64), dim),
        )
        return keys[:n]

    def build_cut(self, slots: NDArray[np.int32], boxes: NDArray[np.float64]) -> None:
        """Build from the top down, cutting where the surfaces are least."""
        n, dim = len(slots), axes(self.table)
        self.reset(int(packed.count_blocks(n, self.leaf_size)) * 9 // 8 + 8)
        work = _make_work(n, self.table.ndim)
        topdown.list_slots(work, slots, boxes, dim)
        self._run(work, n, 0)
        self.arrays.meta[nodes.ENTRIES] = n
        self.arrays.meta[nodes.DEPTH] = packed.count_levels(n, self.leaf_size)

    def _run(self, work: topdown.Work, n: int, block: int) -> None:
        """Fill an empty inner block with all items of a work."""
        work.tasks[0] = (0, n, ~block)
        work.meta[0] = 1
        while topdown.build_blocks(self.arrays, work, self.state, axes(self.table)):
            self._grow(64)

    # -- changing -----------------------------------------------------------------------------

    def leave(self, slots: NDArray[np.int32]) -> None:
        """Take slots out."""
        members.leave_slots(self.arrays, slots, self.state, axes(self.table))

    def change(self, slots: NDArray[np.int32]) -> None:
        """Give slots their present boxes; those that are not in the tree enter."""
        self._follow_table()
        boxes = self.table.covers_of(slots)
        done = 0
        while True:
            done = members.change_slots(
                *(self.arrays, slots, boxes, self.state, self._scratch, done, axes(self.table))
            )
            if done == len(slots):
                return
            self._grow(int(self.arrays.meta[nodes.DEPTH]) + 2)

    def move_all(self, slots: NDArray[np.int32]) -> NDArray[np.int32]:
        """Write the present boxes of slots and bring everything up to date in one pass.

        Returns those of the slots whose leaves are stretched by it, and who should leave them.
        """
        dim = axes(self.table)
        refit.write_slots(self.arrays, slots, self.table.cover, dim)
        self.refit()
        stretched = np.empty(len(slots), SLOT_DTYPE)
        n = members.stretched_slots(self.arrays, slots, dim, stretched)
        return stretched[:n]

    def refit(self) -> None:
        """Bring bounds and summaries of all blocks up to date."""
        order = np.empty(self.n_blocks, np.int32)
        n = refit.list_blocks(self.arrays, order)
        refit.refit_all(self.arrays, self.state, order, n, axes(self.table))

    def restate(self, slots: NDArray[np.int32]) -> None:
        """Bring the summaries above slots up to date."""
        refit.refit_slots(self.arrays, slots, self.state, axes(self.table))

    # -- repairing ----------------------------------------------------------------------------

    def regions(
        self, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Return the blocks of regions of at most so many objects.

        With each, how worn it is and how many objects it has.
        """
        arrays, dim = self.arrays, axes(self.table)
        ends, order = self._scratch_of_blocks()
        blocks = np.zeros(1, np.int64)
        found = []
        while len(blocks):
            worn, objects = np.empty(len(blocks)), np.empty(len(blocks), np.int64)
            repair.wear(arrays, blocks, ends, order, dim, worn, objects)
            fits = objects <= most
            found.append((blocks[fits], worn[fits], objects[fits]))
            above = blocks[~fits]
            items = arrays.items[above][np.arange(LANES) < arrays.size[above][:, None]]
            blocks = items[items >= 0].astype(np.int64)
        parts = tuple(np.concatenate(column) for column in zip(*found, strict=True))
        return parts[0], parts[1], parts[2]

    def is_region(self, block: int) -> bool:
        """Tell if a block, which may have been freed by now, can be built anew as a region."""
        return bool(self.arrays.size[block] and not self.arrays.is_leaf[block])

    def rebuild_region(self, block: int) -> None:
        """Build all that is below a block anew from its objects."""
        ends, order = self._scratch_of_blocks()
        n = int(repair.list_part(self.arrays, block, ends, order))
        self._rebuild_part(order, n, False, ends, self.leaf_size * n)

    def rebuild_top(self, regions: NDArray[np.int64]) -> None:
        """Build what is above all regions anew; nothing where the root is the only one."""
        if regions[0] == 0:
            return
        ends, order = self._scratch_of_blocks()
        ends[regions] = 1
        n = int(repair.list_part(self.arrays, 0, ends, order))
        self._rebuild_part(order, n, True, ends, n)

    def _rebuild_part(
        self,
        order: NDArray[np.int32],
        n: int,
        is_top: bool,
        ends: NDArray[np.uint8],
        most: int,
    ) -> None:
        """Build a listed part anew, of `most` items at most."""
        work = _make_work(most, self.table.ndim)
        dim = axes(self.table)
        items = int(repair.take_apart(self.arrays, order, n, is_top, ends, work, dim))
        self._run(work, items, int(order[0]))

    def _scratch_of_blocks(self) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return marks of all blocks, none set, and room for a list of them."""
        return np.zeros(len(self.arrays.size), np.uint8), np.empty(self.n_blocks, np.int32)

    # -- room ---------------------------------------------------------------------------------

    def _grow(self, blocks: int) -> None:
        """Make room for at least so many more blocks."""
        arrays = self.arrays
        used = int(arrays.meta[nodes.USED_BLOCKS])
        larger = max(used * 9 // 8, used + blocks)
        for name in arrays._fields:
            if name in ("places", "meta"):
                continue
            old = getattr(arrays, name)
            new = np.empty((larger, *old.shape[1:]), old.dtype)
            new[:used] = old[:used]
            arrays = arrays._replace(**{name: new})
        arrays.size[used:] = 0
        arrays.is_leaf[used:] = 0
        self.arrays = arrays

    def _follow_table(self) -> None:
        """Have a place for as many slots as the table has."""
        old, capacity = self.arrays.places, len(self.table.slot_ids)
        if len(old) < capacity:
            places = np.full(capacity, -1, SLOT_DTYPE)
            places[: len(old)] = old
            self.arrays = self.arrays._replace(places=places)


def _make_work(n: int, ndim: int) -> Any:
    """Make what a build of `n` items works on."""
    return topdown.Work(
        boxes=np.empty((n, 2 * ndim), np.float32),
        codes=np.empty(n, np.int64),
        tasks=np.empty((topdown.TASKS, 3), np.int64),
        meta=np.zeros(2, np.int64),
        bins=np.empty((3, topdown.BINS, 6), np.float32),
        counts=np.empty((3, topdown.BINS), np.int64),
        costs=np.empty(topdown.BINS),
    )
