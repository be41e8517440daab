"""Cells and members as arrays that grow: who is in which cell, whatever decided it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.indexes.asking import axes
from spatialindex.kernels.grid import build, cells, members
from spatialindex.kernels.simd import LANES

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["CellStore"]

_FEW = 16  # slots of a table, one in so many, that are listed one by one
_ROWS_ARE_SLOTS = np.empty(0, SLOT_DTYPE)
_ONE_LAYOUT = np.empty(0, np.int16)
_HASHED = np.empty(0, np.int64)
_NOBODY = np.empty(0, SLOT_DTYPE)
_SPARE_BLOCKS = 64  # of arrays that are used again, beyond twice as many as are needed


class CellStore:
    """The arrays of a grid.

    Parameters
    ----------
    table : ObjectTable
        Whose slots become members.
    coordinates : {int32, int64}
        Of cells.

    Attributes
    ----------
    arrays : GridArrays
        What kernels take; replaced when something grows.
    """

    def __init__(self, table: ObjectTable, coordinates: type[Any] = np.int32) -> None:
        self.table = table
        self._coordinates = coordinates
        # slots that were given ranges since none had any; None when they are many
        self._listed: list[NDArray[np.int32]] | None = None
        self.arrays = self._made(0, 0, np.empty((0, 2 * table.ndim), coordinates))
        self.reset()

    def reset(
        self, n_blocks: int = 0, n_cells: int = 0, dense: NDArray[np.int64] | None = None
    ) -> None:
        """Forget all members and make room for so many blocks and cells.

        `dense`, three lowest and three highest cells, gives each cell between them a place of its
        own; without it cells are hashed.
        """
        self._most_blocks = self._most_cells = 0  # in use since, as far as has been looked
        if dense is None:
            places, bounds = 1 << max(2 * n_cells, 16).bit_length(), _HASHED
        else:
            places, bounds = int((dense[3:] - dense[:3] + 1).prod()), dense
        # what is built anew in every frame has the size that it had, and takes the same memory
        arrays, capacity, gone = self.arrays, len(self.table.slot_ids), _NOBODY
        is_fit = n_blocks <= len(arrays.slots) <= 2 * n_blocks + _SPARE_BLOCKS
        if not is_fit or len(arrays.cells) != places:
            arrays = self._made(places, n_blocks, arrays.ranges)
        if len(arrays.ranges) != capacity:
            shape = capacity, 2 * self.table.ndim
            arrays = arrays._replace(ranges=np.full(shape, cells.ABSENT, self._coordinates))
        elif self._listed is None:
            arrays.ranges[:, 0] = cells.ABSENT
        elif self._listed:
            # few slots of a large table: these are taken out, nothing as large as it is written
            gone = np.concatenate(self._listed) if len(self._listed) > 1 else self._listed[0]
        cells.empty_cells(arrays, gone, bounds, axes(self.table))
        self.arrays, self._listed = arrays, []

    def _made(self, places: int, n_blocks: int, ranges: NDArray[Any]) -> cells.GridArrays:
        """Make arrays of so many places for cells and so many blocks, which say nothing yet."""
        ndim = self.table.ndim
        return cells.GridArrays(
            cells=np.empty((places, ndim + 2), self._coordinates),
            # kernels empty a block when they take it into use
            bounds=np.empty((n_blocks, 2 * ndim, LANES), np.float32),
            slots=np.empty((n_blocks, LANES), SLOT_DTYPE),
            exact=np.empty(n_blocks, np.uint8),
            first=np.empty((n_blocks, ndim), np.uint8),
            link=np.empty(n_blocks, np.int32),
            ranges=ranges,
            meta=np.empty(cells.META, np.int64),
        )

    def _list(self, slots: NDArray[np.int32]) -> None:
        """Note that slots are given ranges."""
        if self._listed is not None:
            self._listed.append(slots)
            if sum(map(len, self._listed)) > len(self.table.slot_ids) // _FEW:
                self._listed = None

    @property
    def n_blocks(self) -> int:
        """Blocks ever taken into use."""
        return int(self.arrays.meta[cells.USED_BLOCKS])

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(array.nbytes for array in self.arrays)

    def is_sparse(self) -> bool:
        """Tell if most of what was in use is empty: time to build anew."""
        meta = self.arrays.meta
        blocks = int(meta[cells.USED_BLOCKS] - meta[cells.FREE_BLOCKS])
        n_cells = int(meta[cells.CELLS])
        self._most_blocks = max(self._most_blocks, blocks)
        self._most_cells = max(self._most_cells, n_cells)
        if self._most_blocks > 4 * blocks + 256:
            return True
        return not meta[cells.IS_DENSE] and self._most_cells > 4 * n_cells + 256

    def take_walked(self) -> int:
        """Return how many blocks were searched for members since the last time."""
        walked = int(self.arrays.meta[cells.WALKED])
        self.arrays.meta[cells.WALKED] = 0
        return walked

    def crowding(self) -> float:
        """Return how many members the cell of a membership has on average."""
        return float(cells.crowding(self.arrays.cells, axes(self.table)))

    def is_wide(self, slots: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which slots are in no cell because they would be in too many."""
        wide: NDArray[np.bool_] = self.arrays.ranges[slots, 0] == cells.WIDE
        return wide

    def build(
        self,
        slots: NDArray[np.int32],
        ranges: NDArray[Any],
        n_entries: int,
        layouts: NDArray[np.int64],
        place: int,
        which: NDArray[np.int16] = _ONE_LAYOUT,
        fine: int = 0,
        dense: NDArray[np.int64] | None = None,
    ) -> float:
        """Make the cells and members of all slots of the table, cell by cell; return `crowding`.

        Layouts tell how cells become keys of at most `place` bits, see `choosing.key_layout`, and
        `which` which one a row has and where in its cell it begins, with `fine` bits, see
        `build.list_entries`.
        """
        table, dim = self.table, axes(self.table)
        named = _ROWS_ARE_SLOTS if len(slots) == table.high else slots
        keys, other = np.empty(n_entries, np.uint64), np.empty(n_entries, np.uint64)
        bits = place + (len(layouts) - 1).bit_length() + fine
        is_other, n_cells, n_blocks, crowding = build.sort_entries(
            named, ranges, layouts, which, place, fine, bits, dim, keys, other
        )
        self.reset(n_blocks + len(slots) // 32, n_cells, dense)
        keys = other if is_other else keys
        self._list(slots)
        build.fill_cells(self.arrays, named, table.cover, ranges, keys, layouts, place, fine, dim)
        return float(crowding)

    def enter(self, slots: NDArray[np.int32], ranges: NDArray[Any]) -> None:
        """Make slots, which are in no cell, members of the cells of their ranges."""
        cells.note_ranges(self.arrays.meta, ranges, axes(self.table))
        self._follow_table()
        self._list(slots)
        self._with_room(members.enter_slots, slots, ranges)

    def leave(self, slots: NDArray[np.int32]) -> None:
        """Take slots out of their cells."""
        members.leave_slots(self.arrays, slots, axes(self.table))

    def move(
        self, slots: NDArray[np.int32], ranges: NDArray[Any], *, are_many: bool = False
    ) -> None:
        """Move slots, which are in cells, to the cells of other ranges, none of them wide.

        Of many, those that stay in all their cells are written in one pass over all blocks.
        """
        dim = axes(self.table)
        cells.note_ranges(self.arrays.meta, ranges, dim)
        if are_many:
            marks = np.zeros(len(self.table.slot_ids), np.uint8)
            rows = np.empty(len(slots) + 1, np.int64)
            rows = rows[: members.choose_moves(self.arrays, slots, ranges, marks, rows, dim)]
            members.rewrite_lanes(self.arrays, marks, self.table.cover, dim)
            slots, ranges = slots[rows], ranges[rows]
        self._with_room(members.move_slots, slots, ranges)

    def _with_room(
        self, kernel: Callable[..., int], slots: NDArray[np.int32], ranges: NDArray[Any]
    ) -> None:
        """Run a kernel that stops for want of room until it has done all rows."""
        boxes, dim, done = self.table.cover, axes(self.table), 0
        while True:
            done = kernel(self.arrays, slots, boxes, ranges, done, dim)
            if done == len(slots):
                return
            self._grow(ranges[done])

    def _grow(self, needed: NDArray[Any]) -> None:
        """Make room for at least one more object that covers the cells of a range."""
        ndim = self.table.ndim
        covered = int(np.prod(needed[ndim:].astype(np.int64) - needed[:ndim] + 1))
        arrays = self.arrays
        blocks, used = len(arrays.slots), int(arrays.meta[cells.USED_BLOCKS])
        if blocks - used + int(arrays.meta[cells.FREE_BLOCKS]) < covered:
            larger = max(blocks * 3 // 2, blocks + covered, 32)
            for name in ("bounds", "slots", "exact", "first", "link"):
                old = getattr(arrays, name)
                new = np.empty((larger, *old.shape[1:]), old.dtype)
                new[:used] = old[:used]
                arrays = arrays._replace(**{name: new})
        n_cells = int(arrays.meta[cells.CELLS]) + covered
        if not arrays.meta[cells.IS_DENSE] and 2 * n_cells > len(arrays.cells):
            table = np.full((1 << (2 * n_cells).bit_length(), ndim + 2), -1, self._coordinates)
            cells.rehash(arrays.cells, arrays.meta, table, axes(self.table))
            arrays = arrays._replace(cells=table)
        self.arrays = arrays

    def _follow_table(self) -> None:
        """Remember ranges of as many slots as the table has."""
        old, capacity = self.arrays.ranges, len(self.table.slot_ids)
        if len(old) < capacity:
            ranges = np.full((capacity, old.shape[1]), cells.ABSENT, old.dtype)
            ranges[: len(old)] = old
            self.arrays = self.arrays._replace(ranges=ranges)
