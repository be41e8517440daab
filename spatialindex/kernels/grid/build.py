"""Building a grid in bulk: list all memberships, sort them by cell, fill blocks one after another.

Two boxes, one in cells (0, 0) and (0, 1), the other in (0, 1), make three entries::

    entries  cell 00 slot 0   cell 01 slot 0   cell 01 slot 1
    blocks   [0 - - - - - - -]  [0 1 - - - - - -]
"""

import numpy as np

from spatialindex.kernels.blocks import clear_lane
from spatialindex.kernels.grid.cells import ENTRIES, USED_BLOCKS, WIDE, new_cell, note_ranges
from spatialindex.kernels.jit import allocating_kernel, inner_kernel, kernel
from spatialindex.kernels.simd import LANES, pack8, prefetch
from spatialindex.kernels.sorting import sort_keys

__all__ = ["KEY_BITS", "fill_cells", "lay_out_keys", "list_entries", "sort_entries"]

KEY_BITS = 31
"""Bits that the key of a cell may have."""

_AHEAD = 24  # entries that a box is asked for before it is needed
_TILE_BITS = 2  # cells of a tile along three axes, as a power of two; of two axes one bit more
_SLOT = 0x1FFFFFFF  # of an entry: its slot


@kernel
def lay_out_keys(found, layout):
    """Lay out keys of the cells between bounds, tile by tile; return how many bits they have.

    Tiles of 64 cells are numbered along the axes, and so are the cells in a tile. With bounds
    (0, 0) and (15, 15), cell (9, 2) is cell (1, 2) of tile (1, 0): key ``1 0 001 010`` in binary.
    `found` is as `cells.cell_ranges` has it, `layout` is int64 ``(3, 5)``, an axis a row: lowest
    cell; bits of a cell within its tile; and where in the key the tile and the cell within the tile
    go; bits of the tile.
    """
    is_flat = found[7] <= found[4]
    for d in range(3):
        bits = 0
        while found[5 + d] - found[2 + d] >= 1 << bits:
            bits += 1
        layout[d, 0] = found[2 + d]
        layout[d, 1] = min(bits, _TILE_BITS + 1 if is_flat else _TILE_BITS)
        layout[d, 4] = bits - layout[d, 1]
    place = 0
    for d in range(2, -1, -1):
        layout[d, 3] = place
        place += layout[d, 1]
    for d in range(2, -1, -1):
        layout[d, 2] = place
        place += layout[d, 4]
    return place


@inner_kernel
def _axis_key(c, layout, d):
    """Return an axis's share of the key of a cell."""
    c -= layout[d, 0]
    low = c & ((1 << layout[d, 1]) - 1)
    return ((c >> layout[d, 1]) << layout[d, 2]) | (low << layout[d, 3])


@inner_kernel
def _axis_cell(key, layout, d):
    """Return the coordinate of a cell along an axis from its key."""
    high = (key >> layout[d, 2]) & ((1 << layout[d, 4]) - 1)
    low = (key >> layout[d, 3]) & ((1 << layout[d, 1]) - 1)
    return ((high << layout[d, 1]) | low) + layout[d, 0]


@kernel
def list_entries(slots, ranges, layouts, which, place, fine, dim, keys):
    """Write an entry for each cell of each range that is not wide: all memberships of a grid.

    An entry is 31 bits of the cell's key, 3 first-cell bits, and 29 bits of the slot: ``slots[i]``
    is that of row `i`, or `i` when `slots` is empty.
    Layouts are as `lay_out_keys` has them. Row `i` has that of number ``which[i] >> fine``, which
    is in the key from bit `place` on; with `which` empty, number 0. The low `fine` bits of
    ``which[i]`` tell where along x in its first cell the box begins; they end the key, and are 0 in
    its other cells: so a cell's members are in that order.
    """
    ndim = len(dim)
    k = 0
    for i in range(ranges.shape[0]):
        if ranges[i, 0] == WIDE:
            continue
        number = 0
        begin = 0
        if which.shape[0]:
            number = np.int64(which[i]) >> fine
            begin = np.int64(which[i]) & ((1 << fine) - 1)
        layout = layouts[number]
        slot = np.int64(slots[i]) if slots.shape[0] else i
        x0, y0 = np.int64(ranges[i, 0]), np.int64(ranges[i, 1])
        z0 = np.int64(ranges[i, 2]) if ndim == 3 else 0
        z1 = np.int64(ranges[i, 2 * ndim - 1]) if ndim == 3 else 0
        for x in range(x0, np.int64(ranges[i, ndim]) + 1):
            key_x = (number << place) | _axis_key(x, layout, 0)
            first_x = 1 if x == x0 else 0
            in_cell = begin if x == x0 else 0
            for y in range(y0, np.int64(ranges[i, ndim + 1]) + 1):
                key_y = key_x | _axis_key(y, layout, 1)
                first_y = first_x | (2 if y == y0 else 0)
                for z in range(z0, z1 + 1):
                    key = key_y | _axis_key(z, layout, 2)
                    first = first_y | (4 if z == z0 else 0)
                    key = (key << fine) | in_cell
                    keys[k] = np.uint64((key << 32) | (first << 29) | slot)
                    k += 1


@inner_kernel
def _count_cells(keys, fine):
    """Return (cells, blocks) that sorted entries fill, and how many share a cell on average."""
    shift = np.uint64(32 + fine)
    cells = 0
    blocks = 0
    squares = 0.0
    k = 0
    while k < keys.shape[0]:
        cell = keys[k] >> shift
        start = k
        while k < keys.shape[0] and keys[k] >> shift == cell:
            k += 1
        size = k - start
        cells += 1
        blocks += (size + LANES - 1) // LANES
        squares += np.float64(size) * size
    return cells, blocks, squares / max(k, 1)


@allocating_kernel
def sort_entries(slots, ranges, layouts, which, place, fine, bits, dim, keys, other):
    """Write the entries of `list_entries` in the order of their cells to `keys` or `other`.

    Their keys have `bits` bits. Returns whether to `other`, how many cells and blocks they fill,
    and how many entries the cell of an entry has on average.
    """
    list_entries(slots, ranges, layouts, which, place, fine, dim, keys)
    found = sort_keys(keys, other, 32, bits)
    cells, blocks, crowding = _count_cells(found, fine)
    return found.ctypes.data != keys.ctypes.data, cells, blocks, crowding


@kernel
def fill_cells(grid, slots, boxes, ranges, keys, layouts, place, fine, dim):
    """Create cells with their members from sorted entries. The grid is empty and has room.

    The box of a slot is in its row of `boxes`; `slots`, `ranges` and layouts are as in
    `list_entries`. Blocks are filled one after the other, so that cells lie near to one another in
    memory that are so in space.
    """
    ndim = len(dim)
    note_ranges(grid.meta, ranges, dim)
    for i in range(ranges.shape[0]):
        slot = np.int64(slots[i]) if slots.shape[0] else i
        for c in range(2 * ndim):
            grid.ranges[slot, c] = ranges[i, c]
    n = keys.shape[0]
    shift = np.uint64(32 + fine)
    block = -1
    k = 0
    while k < n:
        cell = np.int64(keys[k] >> shift)
        size = 0
        while k < n and np.int64(keys[k] >> shift) == cell:
            block += 1
            grid.link[block] = block - 1 if size else -1
            start = k
            lane = 0
            first_x = 0
            first_y = 0
            first_z = 0
            while lane < LANES and k < n and np.int64(keys[k] >> shift) == cell:
                ahead = keys[min(k + _AHEAD, n - 1)]
                prefetch(boxes, np.int64(ahead & np.uint64(_SLOT)))
                entry = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
                first_x |= ((entry >> 29) & 1) << lane
                first_y |= ((entry >> 30) & 1) << lane
                first_z |= ((entry >> 31) & 1) << lane
                grid.slots[block, lane] = entry & _SLOT
                lane += 1
                k += 1
            grid.first[block, 0] = first_x
            grid.first[block, 1] = first_y
            if ndim == 3:
                grid.first[block, ndim - 1] = first_z
            grid.exact[block] = pack8(grid.bounds, block, boxes, keys, start, lane, _SLOT, dim)
            size += lane
            for rest in range(lane, LANES):
                clear_lane(grid.bounds, grid.slots, block, rest, dim)
        layout = layouts[cell >> place]
        x, y = _axis_cell(cell, layout, 0), _axis_cell(cell, layout, 1)
        z = _axis_cell(cell, layout, 2) if ndim == 3 else 0
        at = new_cell(grid, x, y, z, dim)
        grid.cells[at, ndim] = block
        grid.cells[at, ndim + 1] = size
    grid.meta[USED_BLOCKS] = block + 1
    grid.meta[ENTRIES] = n
