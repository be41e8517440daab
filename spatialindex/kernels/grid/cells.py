"""The table of cells: arrays, constants, finding, creating and deleting cells.

Hashed, a cell is found by probing from a place that its coordinates scatter to; dense, its place is
its row-major number within bounds, and nothing is probed. Both are one table with one layout, so
that all other kernels need not know which it is.
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.blocks import clear_lane
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.mixing import mix
from spatialindex.kernels.simd import LANES

# ranges[slot, 0] of an object that is in no cell
ABSENT = 2**31 - 1
WIDE = -(2**31)
LARGEST_CELL = 2**30
"""Cell coordinates beyond this in magnitude make an object wide."""

# places in `meta`
FREE = 0  # the first free block, -1 when there is none
FREE_BLOCKS = 1  # how many there are
USED_BLOCKS = 2  # blocks ever taken into use: all others are behind them
CELLS = 3
ENTRIES = 4
LOWEST = 5  # three lower and three upper bounds of occupied cells, which only grow
IS_DENSE = 11
ORIGIN = 12  # dense: the lowest cell on three axes
STRIDE = 15  # dense: places from a cell to the next along x and y
WALKED = 17  # blocks that were searched for members which change
LONGEST = 18  # cells of the longest range along three axes, less one; which only grows
SHIFT = 21  # hashed: what is added to x of a cell before it is looked for
META = 22


class GridArrays(NamedTuple):
    """The state of a grid. Coordinates of cells may be int64 as well, in `cells` and `ranges`."""

    cells: np.ndarray
    """``(places, ndim + 2)`` int32: coordinates, head block or -1, size; hashed, a power of two."""
    bounds: np.ndarray
    """``(blocks, 2*ndim, 8)`` float32."""
    slots: np.ndarray
    """``(blocks, 8)`` int32."""
    exact: np.ndarray
    """``(blocks,)`` uint8: a bit a lane, set where no bound had to be rounded."""
    first: np.ndarray
    """``(blocks, ndim)`` uint8: a bit a lane, set in the object's first cell along the axis."""
    link: np.ndarray
    """``(blocks,)`` int32: the next block of the chain, or of the list of free blocks; -1 ends."""
    ranges: np.ndarray
    """``(capacity, 2*ndim)`` int32: first and last cell of each slot, or `ABSENT` or `WIDE`."""
    meta: np.ndarray
    """``(META,)`` int64: counters, bounds, and how cells are addressed."""


@inner_kernel
def find_cell(cells, meta, x, y, z, dim):
    """Return the place of a cell, or ``-1 - place`` of the gap where it would go."""
    ndim = len(dim)
    x += meta[SHIFT]
    if meta[IS_DENSE]:
        at = (x - meta[ORIGIN]) * meta[STRIDE] + (y - meta[ORIGIN + 1]) * meta[STRIDE + 1]
        at += z - meta[ORIGIN + 2]
        return at if cells[at, ndim] >= 0 else -1 - at
    last = cells.shape[0] - 1
    at = mix(x, y, z) & last
    while cells[at, ndim] >= 0:
        if cells[at, 0] == x and cells[at, 1] == y and (ndim == 2 or cells[at, 2] == z):
            return at
        at = (at + 1) & last
    return -1 - at


@inner_kernel
def delete_cell(cells, meta, gap, dim):
    """Empty a place; hashed, later cells shift back, so that every search still ends well."""
    ndim = len(dim)
    if meta[IS_DENSE]:
        cells[gap, ndim] = -1
        return
    last = cells.shape[0] - 1
    at = gap
    while True:
        at = (at + 1) & last
        if cells[at, ndim] < 0:
            break
        z = np.int64(cells[at, 2]) if ndim == 3 else 0
        home = mix(np.int64(cells[at, 0]), np.int64(cells[at, 1]), z) & last
        # a cell may move back to the gap unless its home lies between the two
        if ((at - home) & last) >= ((at - gap) & last):
            for c in range(ndim + 2):
                cells[gap, c] = cells[at, c]
            gap = at
    cells[gap, ndim] = -1


@kernel
def empty_cells(grid, gone, dense, dim):
    """Let no cell be occupied, no block be in use and no slot of `gone` have a range.

    `dense`, int64, are the lowest cell and the highest of a dense grid, three numbers each; empty,
    the grid is hashed.
    """
    cells, meta = grid.cells, grid.meta
    cells[:, len(dim)] = -1
    for i in range(gone.shape[0]):
        grid.ranges[gone[i], 0] = ABSENT
    meta[:] = 0
    meta[FREE] = -1
    for d in range(3):
        meta[LOWEST + d] = LARGEST_CELL
        meta[LOWEST + 3 + d] = -LARGEST_CELL
    if dense.shape[0]:
        meta[IS_DENSE] = 1
        for d in range(3):
            meta[ORIGIN + d] = dense[d]
        meta[STRIDE + 1] = dense[5] - dense[2] + 1
        meta[STRIDE] = (dense[4] - dense[1] + 1) * meta[STRIDE + 1]


@kernel
def note_ranges(meta, ranges, dim):
    """Keep account of how many cells a range has at most along each axis."""
    ndim = len(dim)
    for i in range(ranges.shape[0]):
        if ranges[i, 0] != WIDE:
            for d in range(ndim):
                longer = np.int64(ranges[i, ndim + d]) - np.int64(ranges[i, d])
                meta[LONGEST + d] = max(meta[LONGEST + d], longer)


@kernel
def rehash(cells, meta, larger, dim):
    """Move all cells of a hashed grid to another, empty table."""
    ndim = len(dim)
    for i in range(cells.shape[0]):
        if cells[i, ndim] >= 0:
            z = np.int64(cells[i, 2]) if ndim == 3 else 0
            x, y = np.int64(cells[i, 0]), np.int64(cells[i, 1])
            at = -1 - find_cell(larger, meta, x, y, z, dim)
            for c in range(ndim + 2):
                larger[at, c] = cells[i, c]


@kernel
def crowding(cells, dim):
    """Return the size of the cell that a membership is in, averaged over all memberships."""
    entries = 0.0
    squares = 0.0
    for i in range(cells.shape[0]):
        if cells[i, len(dim)] >= 0:
            size = np.float64(cells[i, len(dim) + 1])
            entries += size
            squares += size * size
    return squares / entries if entries > 0.0 else 0.0


@kernel
def largest_cell(cells, dim):
    """Return the size of the fullest cell."""
    largest = 0
    for i in range(cells.shape[0]):
        if cells[i, len(dim)] >= 0:
            largest = max(largest, np.int64(cells[i, len(dim) + 1]))
    return largest


@inner_kernel
def new_cell(grid, x, y, z, dim):
    """Create a cell that is not there, without members, and return its place."""
    ndim = len(dim)
    cells, meta = grid.cells, grid.meta
    at = -1 - find_cell(cells, meta, x, y, z, dim)
    cells[at, 0] = x
    cells[at, 1] = y
    if ndim == 3:
        cells[at, 2] = z
    cells[at, ndim] = -1
    cells[at, ndim + 1] = 0
    meta[CELLS] += 1
    for d in range(ndim):
        c = along(d, x, y, z)
        meta[LOWEST + d] = min(meta[LOWEST + d], c)
        meta[LOWEST + 3 + d] = max(meta[LOWEST + 3 + d], c)
    return at


@inner_kernel
def along(d, x, y, z):
    """Return the coordinate of axis `d`."""
    if d == 0:
        return x
    return y if d == 1 else z


@inner_kernel
def clear_block(grid, block, dim):
    """Empty all lanes of a block."""
    for lane in range(LANES):
        clear_lane(grid.bounds, grid.slots, block, lane, dim)
    for d in range(len(dim)):
        grid.first[block, d] = 0


@kernel
def cell_ranges(boxes, slots, edge, max_cells, limits, dim, ranges, found):
    """Write the range of cells of ``boxes[slots[i]]`` to ``ranges[i]``, `WIDE` if it is too much.

    With `slots` empty, that of ``boxes[i]``. Too much is more than `max_cells` cells, or one beyond
    `limits`, int64 ``(6,)``: three lowest and three highest. Writes to `found`, int64 ``(8,)``: how
    many are wide, how many memberships the others have, and three lower and three upper bounds of
    their cells.
    """
    ndim = len(dim)
    wide = 0
    entries = 0.0
    for d in range(3):
        found[2 + d] = LARGEST_CELL if d < ndim else 0
        found[5 + d] = -LARGEST_CELL if d < ndim else 0
    for i in range(ranges.shape[0]):
        row = np.int64(slots[i]) if slots.shape[0] else i
        covered = 1.0
        fits = True
        for d in range(ndim):
            lower = np.floor(boxes[row, d] / edge)
            upper = np.floor(boxes[row, ndim + d] / edge)
            fits &= (lower >= limits[d]) & (upper <= limits[3 + d])
            if not fits:
                break
            covered *= upper - lower + 1.0
            ranges[i, d] = np.int32(lower)
            ranges[i, ndim + d] = np.int32(upper)
        if not fits or covered > max_cells:
            ranges[i, 0] = WIDE
            wide += 1
            continue
        entries += covered
        for d in range(ndim):
            found[2 + d] = min(found[2 + d], np.int64(ranges[i, d]))
            found[5 + d] = max(found[5 + d], np.int64(ranges[i, ndim + d]))
    found[0] = wide
    found[1] = np.int64(entries)
