"""Grid cells and their members: entering, leaving, moving, querying, pairs.

A *cell* is known by its integer coordinates ``floor(value / edge)`` and found in an open-addressing
table ``cells[place] = x, y[, z], head, size``. Its members lie in a chain of blocks of eight lanes
(`spatialindex.kernels.blocks`), all full but the head::

    cells   (3, 7) head 5 size 11     block 5 [s t u - - - - -] --link--> block 2 [8 members]

An object is a member of every cell that its box touches, both ends included. To report it once,
each lane carries a bit an axis: is this the first cell of the object along that axis? In cell
``c`` a query that begins in cell ``q`` takes an object when, on every axis, its bit is set or ``c
== q``: that cell is the component-wise maximum of both lower corners and there is just one. Two
members of a cell are a pair of that cell when, on every axis, one of the two bits is set. Whole
blocks are decided so with a few bit operations, eight members at a time.

``ranges[slot]`` remembers the cells an object is in, so that it can leave them whatever became of
its box. Kernels that add members stop before an object for which there might not be room; the
caller grows the arrays and goes on.

Sources: Teschner et al., Optimized Spatial Hashing for Collision Detection of Deformable Objects,
2003; the deletion is Knuth's algorithm R (The Art of Computer Programming 3, section 6.4).
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.blocks import (
    aim_at_region,
    clear_lane,
    copy_lane,
    hits_of_block,
    later_lanes,
    pairs_of_blocks,
    write_lane,
)
from spatialindex.kernels.jit import kernel
from spatialindex.kernels.mixing import mix
from spatialindex.kernels.simd import (
    LANES,
    local_floats,
    local_ints,
    overlap8,
    overlap8x8,
    prefetch,
)

__all__ = [
    "ABSENT",
    "CELLS",
    "ENTRIES",
    "FREE",
    "FREE_BLOCKS",
    "LARGEST_CELL",
    "LOWEST",
    "META",
    "USED_BLOCKS",
    "WIDE",
    "GridArrays",
    "cell_ranges",
    "count_cells",
    "count_meetings",
    "enter_slots",
    "fill_cells",
    "find_pairs",
    "largest_cell",
    "leave_slots",
    "list_entries",
    "move_slots",
    "query_regions",
    "rehash",
]

# ranges[slot, 0] of an object that is in no cell
ABSENT = 2**31 - 1
WIDE = -(2**31)
LARGEST_CELL = 2**30
"""Cell coordinates beyond this in magnitude make an object wide."""

# places in `meta`
FREE, FREE_BLOCKS, USED_BLOCKS, CELLS, ENTRIES, LOWEST = 0, 1, 2, 3, 4, 5
META = 11  # LOWEST is followed by three lower and three upper bounds of occupied cells


_AHEAD = 12  # entries that a box is asked for before it is needed

# eight bytes: all 1; bit i of byte i; all 0x7F; all 0x80
_BYTES = np.uint64(0x0101010101010101)
_DIAGONAL = np.uint64(0x8040201008040201)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGHS = np.uint64(0x8080808080808080)


class GridArrays(NamedTuple):
    """The state of a grid."""

    cells: np.ndarray
    """``(places, ndim + 2)`` int32, a power of two: coordinates, head block or -1, size."""
    bounds: np.ndarray
    """``(blocks, 2*ndim, 8)`` float32."""
    slots: np.ndarray
    """``(blocks, 8)`` int32."""
    first: np.ndarray
    """``(blocks, ndim)`` uint8: a bit a lane, set in the object's first cell along the axis."""
    link: np.ndarray
    """``(blocks,)`` int32: the next block of the chain, or of the list of free blocks; -1 ends."""
    ranges: np.ndarray
    """``(capacity, 2*ndim)`` int32: first and last cell of each slot, or `ABSENT` or `WIDE`."""
    meta: np.ndarray
    """``(META,)`` int64: counters and the bounds of occupied cells, which only grow."""


# -- the table of cells ---------------------------------------------------------------------------


@kernel
def _find_cell(cells, x, y, z, dim):
    """Return the place of a cell, or ``-1 - place`` of the gap where it would go."""
    ndim = len(dim)
    last = cells.shape[0] - 1
    at = mix(x, y, z) & last
    while cells[at, ndim] >= 0:
        if cells[at, 0] == x and cells[at, 1] == y and (ndim == 2 or cells[at, 2] == z):
            return at
        at = (at + 1) & last
    return -1 - at


@kernel
def _delete_cell(cells, gap, dim):
    """Empty a place and shift later cells back, so that every search still ends well."""
    ndim = len(dim)
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
def rehash(cells, larger, dim):
    """Move all cells to another, empty table."""
    ndim = len(dim)
    for i in range(cells.shape[0]):
        if cells[i, ndim] >= 0:
            z = np.int64(cells[i, 2]) if ndim == 3 else 0
            at = -1 - _find_cell(larger, np.int64(cells[i, 0]), np.int64(cells[i, 1]), z, dim)
            for c in range(ndim + 2):
                larger[at, c] = cells[i, c]


@kernel
def largest_cell(cells, dim):
    """Return the size of the fullest cell."""
    largest = 0
    for i in range(cells.shape[0]):
        if cells[i, len(dim)] >= 0:
            largest = max(largest, np.int64(cells[i, len(dim) + 1]))
    return largest


# -- from boxes to cells --------------------------------------------------------------------------


@kernel
def cell_ranges(boxes, edge, max_cells, dim, ranges, found):
    """Write the range of cells of each box to ``ranges[i]``, `WIDE` where it is too much.

    Writes to `found`, int64 ``(8,)``: how many are wide, how many memberships the others have, and
    three lower and three upper bounds of their cells.
    """
    ndim = len(dim)
    wide = 0
    entries = 0.0
    for d in range(3):
        found[2 + d] = LARGEST_CELL if d < ndim else 0
        found[5 + d] = -LARGEST_CELL if d < ndim else 0
    for i in range(boxes.shape[0]):
        covered = 1.0
        fits = True
        for d in range(ndim):
            lower = np.floor(boxes[i, d] / edge)
            upper = np.floor(boxes[i, ndim + d] / edge)
            fits &= (lower >= -LARGEST_CELL) & (upper <= LARGEST_CELL)
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


# -- building in bulk -----------------------------------------------------------------------------


@kernel
def _axis_key(c, layout, d):
    """Return an axis's share of the key of a cell."""
    c -= layout[d, 0]
    low = c & ((1 << layout[d, 1]) - 1)
    return ((c >> layout[d, 1]) << layout[d, 2]) | (low << layout[d, 3])


@kernel
def _axis_cell(key, layout, d):
    """Return the coordinate of a cell along an axis from its key."""
    high = (key >> layout[d, 2]) & ((1 << layout[d, 4]) - 1)
    low = (key >> layout[d, 3]) & ((1 << layout[d, 1]) - 1)
    return ((high << layout[d, 1]) | low) + layout[d, 0]


@kernel
def list_entries(ranges, layout, dim, keys):
    """Write an entry for each cell of each range that is not wide: all memberships of a grid.

    An entry is 31 bits of the cell's key, 3 first-cell bits, and 29 bits of the row of the range.
    `layout`, int64 ``(3, 5)``, has an axis a row: lowest cell; bits of a cell within its tile; and
    where in the key the tile and the cell within the tile go; bits of the tile.
    """
    ndim = len(dim)
    k = 0
    for i in range(ranges.shape[0]):
        if ranges[i, 0] == WIDE:
            continue
        x0, y0 = np.int64(ranges[i, 0]), np.int64(ranges[i, 1])
        z0 = np.int64(ranges[i, 2]) if ndim == 3 else 0
        z1 = np.int64(ranges[i, 2 * ndim - 1]) if ndim == 3 else 0
        for x in range(x0, np.int64(ranges[i, ndim]) + 1):
            key_x = _axis_key(x, layout, 0)
            first_x = 1 if x == x0 else 0
            for y in range(y0, np.int64(ranges[i, ndim + 1]) + 1):
                key_y = key_x | _axis_key(y, layout, 1)
                first_y = first_x | (2 if y == y0 else 0)
                for z in range(z0, z1 + 1):
                    key = key_y | _axis_key(z, layout, 2)
                    first = first_y | (4 if z == z0 else 0)
                    keys[k] = np.uint64((key << 32) | (first << 29) | i)
                    k += 1


@kernel
def count_cells(keys):
    """Return (cells, blocks) that sorted entries fill."""
    cells = 0
    blocks = 0
    size = 0
    before = np.uint64(0xFFFFFFFFFFFFFFFF)
    for k in range(keys.shape[0]):
        cell = keys[k] >> np.uint64(32)
        if cell != before:
            cells += 1
            blocks += (size + LANES - 1) // LANES
            size = 0
            before = cell
        size += 1
    return cells, blocks + (size + LANES - 1) // LANES


@kernel
def _new_cell(grid, x, y, z, dim):
    """Create a cell that is not there, without members, and return its place."""
    ndim = len(dim)
    cells, meta = grid.cells, grid.meta
    at = -1 - _find_cell(cells, x, y, z, dim)
    cells[at, 0] = x
    cells[at, 1] = y
    if ndim == 3:
        cells[at, 2] = z
    cells[at, ndim] = -1
    cells[at, ndim + 1] = 0
    meta[CELLS] += 1
    for d in range(ndim):
        c = _along(d, x, y, z)
        meta[LOWEST + d] = min(meta[LOWEST + d], c)
        meta[LOWEST + 3 + d] = max(meta[LOWEST + 3 + d], c)
    return at


@kernel
def _along(d, x, y, z):
    """Return the coordinate of axis `d`."""
    if d == 0:
        return x
    return y if d == 1 else z


@kernel
def _clear_block(grid, block, dim):
    """Empty all lanes of a block."""
    for lane in range(LANES):
        clear_lane(grid.bounds, grid.slots, block, lane, dim)
    for d in range(len(dim)):
        grid.first[block, d] = 0


@kernel
def fill_cells(grid, slots, boxes, keys, layout, dim):
    """Create cells with their members from sorted entries. The grid is empty and has room.

    Row ``i`` of an entry is the box in row `i`, of ``slots[i]``. Blocks are filled one after the
    other, so that cells near to one another lie near to one another.
    """
    ndim = len(dim)
    n = keys.shape[0]
    block = -1
    k = 0
    while k < n:
        cell = np.int64(keys[k] >> np.uint64(32))
        size = 0
        while k < n and np.int64(keys[k] >> np.uint64(32)) == cell:
            lane = size % LANES
            if lane == 0:
                block += 1
                grid.link[block] = block - 1 if size else -1
                for d in range(ndim):
                    grid.first[block, d] = 0
            ahead = keys[min(k + _AHEAD, n - 1)]
            prefetch(boxes, np.int64(ahead & np.uint64(0x1FFFFFFF)))
            entry = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
            row = entry & 0x1FFFFFFF
            write_lane(grid.bounds, grid.slots, block, lane, slots[row], boxes, row, dim)
            for d in range(ndim):
                grid.first[block, d] |= np.uint8(((entry >> (29 + d)) & 1) << lane)
            size += 1
            k += 1
        for lane in range((size - 1) % LANES + 1, LANES):
            clear_lane(grid.bounds, grid.slots, block, lane, dim)
        x, y = _axis_cell(cell, layout, 0), _axis_cell(cell, layout, 1)
        z = _axis_cell(cell, layout, 2) if ndim == 3 else 0
        at = _new_cell(grid, x, y, z, dim)
        grid.cells[at, ndim] = block
        grid.cells[at, ndim + 1] = size
    grid.meta[USED_BLOCKS] = block + 1
    grid.meta[ENTRIES] = n


# -- members --------------------------------------------------------------------------------------


@kernel
def _first_bits(grid, block, lane, slot, x, y, z, dim):
    """Set the lane's bits that tell whether the cell is the slot's first along each axis."""
    bit = np.uint8(1 << lane)
    for d in range(len(dim)):
        if grid.ranges[slot, d] == _along(d, x, y, z):
            grid.first[block, d] |= bit
        else:
            grid.first[block, d] &= ~bit


@kernel
def _enter(grid, slot, boxes, i, x, y, z, dim):
    """Make a slot a member of a cell, which is created when it is new. There must be room."""
    ndim = len(dim)
    cells, meta = grid.cells, grid.meta
    at = _find_cell(cells, x, y, z, dim)
    if at < 0:
        at = _new_cell(grid, x, y, z, dim)
    size = cells[at, ndim + 1]
    lane = size % LANES
    block = np.int64(cells[at, ndim])
    if lane == 0:
        before = block
        if meta[FREE] >= 0:
            block = meta[FREE]
            meta[FREE] = grid.link[block]
            meta[FREE_BLOCKS] -= 1
        else:
            block = meta[USED_BLOCKS]
            meta[USED_BLOCKS] += 1
        grid.link[block] = before
        cells[at, ndim] = block
        _clear_block(grid, block, dim)
    write_lane(grid.bounds, grid.slots, block, lane, slot, boxes, i, dim)
    _first_bits(grid, block, lane, slot, x, y, z, dim)
    cells[at, ndim + 1] = size + 1
    meta[ENTRIES] += 1


@kernel
def _find_member(grid, at, slot, dim):
    """Return 8 * block + lane of a member of the cell in place `at`."""
    block = np.int64(grid.cells[at, len(dim)])
    while True:
        for lane in range(LANES):
            if grid.slots[block, lane] == slot:
                return LANES * block + lane
        block = np.int64(grid.link[block])


@kernel
def _leave(grid, slot, x, y, z, dim):
    """End a slot's membership of a cell; an empty cell and an empty block are freed."""
    ndim = len(dim)
    cells, meta = grid.cells, grid.meta
    at = _find_cell(cells, x, y, z, dim)
    found = _find_member(grid, at, slot, dim)
    block, lane = found // LANES, found % LANES
    head = np.int64(cells[at, ndim])
    size = cells[at, ndim + 1] - 1
    last = size % LANES
    if block != head or lane != last:
        copy_lane(grid.bounds, grid.slots, block, lane, head, last, dim)
        for d in range(ndim):
            bit = (grid.first[head, d] >> np.uint8(last)) & np.uint8(1)
            kept = grid.first[block, d] & ~np.uint8(1 << lane)
            grid.first[block, d] = kept | np.uint8(bit << np.uint8(lane))
    clear_lane(grid.bounds, grid.slots, head, last, dim)
    cells[at, ndim + 1] = size
    meta[ENTRIES] -= 1
    if last == 0:
        cells[at, ndim] = grid.link[head]
        grid.link[head] = meta[FREE]
        meta[FREE] = head
        meta[FREE_BLOCKS] += 1
        if size == 0:
            _delete_cell(cells, at, dim)
            meta[CELLS] -= 1


@kernel
def _has_room(grid, ranges, i, dim):
    """Tell if an object can enter all cells of row `i` of ranges, whatever is in them."""
    covered = 1
    for d in range(len(dim)):
        covered *= np.int64(ranges[i, len(dim) + d]) - np.int64(ranges[i, d]) + 1
    meta = grid.meta
    free = meta[FREE_BLOCKS] + grid.slots.shape[0] - meta[USED_BLOCKS]
    return free >= covered and 2 * (meta[CELLS] + covered) <= grid.cells.shape[0]


@kernel
def enter_slots(grid, slots, boxes, ranges, start, dim):
    """Make slots members of the cells of their ranges, from row `start` on.

    Row `i` of `boxes` and `ranges` belongs to ``slots[i]``. Wide ones are only marked. Returns the
    row it stopped at for want of room, or the number of slots.
    """
    ndim = len(dim)
    for i in range(start, slots.shape[0]):
        slot = slots[i]
        if ranges[i, 0] != WIDE and not _has_room(grid, ranges, i, dim):
            return i
        for c in range(2 * ndim):
            grid.ranges[slot, c] = ranges[i, c]
        if ranges[i, 0] == WIDE:
            continue
        z0 = np.int64(ranges[i, 2]) if ndim == 3 else 0
        z1 = np.int64(ranges[i, 2 * ndim - 1]) if ndim == 3 else 0
        for x in range(np.int64(ranges[i, 0]), np.int64(ranges[i, ndim]) + 1):
            for y in range(np.int64(ranges[i, 1]), np.int64(ranges[i, ndim + 1]) + 1):
                for z in range(z0, z1 + 1):
                    _enter(grid, slot, boxes, i, x, y, z, dim)
    return slots.shape[0]


@kernel
def leave_slots(grid, slots, dim):
    """Take slots out of all their cells."""
    ndim = len(dim)
    for i in range(slots.shape[0]):
        r = grid.ranges[slots[i]]
        if r[0] != WIDE and r[0] != ABSENT:
            z0 = np.int64(r[2]) if ndim == 3 else 0
            z1 = np.int64(r[2 * ndim - 1]) if ndim == 3 else 0
            for x in range(np.int64(r[0]), np.int64(r[ndim]) + 1):
                for y in range(np.int64(r[1]), np.int64(r[ndim + 1]) + 1):
                    for z in range(z0, z1 + 1):
                        _leave(grid, slots[i], x, y, z, dim)
        r[0] = ABSENT


@kernel
def _holds_cell(r, x, y, z, dim):
    """Tell if a range holds a cell."""
    ndim = len(dim)
    ok = (r[0] <= x) & (x <= r[ndim]) & (r[1] <= y) & (y <= r[ndim + 1])
    if ndim == 3:
        ok &= (r[2] <= z) & (z <= r[2 * ndim - 1])
    return ok


@kernel
def move_slots(grid, slots, boxes, ranges, start, dim):
    """Move slots, all of them in cells, to new ranges that are not wide, from row `start` on.

    A slot leaves the cells it is not in any more, enters the new ones and is rewritten in those it
    stays in. Returns the row it stopped at for want of room, or the number of slots.
    """
    ndim = len(dim)
    old = local_ints()
    for i in range(start, slots.shape[0]):
        slot = slots[i]
        if not _has_room(grid, ranges, i, dim):
            return i
        new = ranges[i]
        for c in range(2 * ndim):
            old[c] = grid.ranges[slot, c]
            grid.ranges[slot, c] = new[c]
        z0 = np.int64(old[2]) if ndim == 3 else 0
        z1 = np.int64(old[2 * ndim - 1]) if ndim == 3 else 0
        for x in range(np.int64(old[0]), np.int64(old[ndim]) + 1):
            for y in range(np.int64(old[1]), np.int64(old[ndim + 1]) + 1):
                for z in range(z0, z1 + 1):
                    if _holds_cell(new, x, y, z, dim):
                        at = _find_cell(grid.cells, x, y, z, dim)
                        found = _find_member(grid, at, slot, dim)
                        block, lane = found // LANES, found % LANES
                        write_lane(grid.bounds, grid.slots, block, lane, slot, boxes, i, dim)
                        _first_bits(grid, block, lane, slot, x, y, z, dim)
                    else:
                        _leave(grid, slot, x, y, z, dim)
        z0 = np.int64(new[2]) if ndim == 3 else 0
        z1 = np.int64(new[2 * ndim - 1]) if ndim == 3 else 0
        for x in range(np.int64(new[0]), np.int64(new[ndim]) + 1):
            for y in range(np.int64(new[1]), np.int64(new[ndim + 1]) + 1):
                for z in range(z0, z1 + 1):
                    if not _holds_cell(old, x, y, z, dim):
                        _enter(grid, slot, boxes, i, x, y, z, dim)
    return slots.shape[0]


# -- questions ------------------------------------------------------------------------------------


@kernel
def _region_cells(cull, row, edge, meta, dim, span):
    """Write first and last cell of a region to `span`, cut to the occupied bounds.

    Returns the number of cells as a float, 0 when the region lies beyond all of them.
    """
    ndim = len(dim)
    cells = 1.0
    span[2] = 0
    span[5] = 0
    for d in range(ndim):
        lowest, highest = meta[LOWEST + d], meta[LOWEST + 3 + d]
        lower = np.floor(cull[row, d] / edge)
        upper = np.floor(cull[row, ndim + d] / edge)
        if lower > highest or upper < lowest:
            return 0.0
        span[d] = np.int64(lower) if lower > lowest else lowest
        span[3 + d] = np.int64(upper) if upper < highest else highest
        cells *= np.float64(span[3 + d] - span[d] + 1)
    return cells


@kernel
def _hits_of_chain(grid, block, is_chain, x, y, z, span, q, q_in, ask, row, dim, out, k):
    """Answer a region from the members of one cell, or from one block of whatever cell.

    A member counts in the cell that is the maximum of both first cells, so on an axis where the
    region does not begin in this cell the object has to.
    """
    ndim = len(dim)
    while block >= 0:
        mask = overlap8(grid.bounds, block, q, dim)
        if mask != 0:
            if not is_chain or x != span[0]:
                mask &= np.uint64(grid.first[block, 0])
            if not is_chain or y != span[1]:
                mask &= np.uint64(grid.first[block, 1])
            if ndim == 3 and (not is_chain or z != span[2]):
                mask &= np.uint64(grid.first[block, ndim - 1])
            if mask != 0:
                k = hits_of_block(mask, grid.bounds, grid.slots, block, q_in, ask, row, dim, out, k)
        if not is_chain:
            break
        block = np.int64(grid.link[block])
    return k


@kernel
def query_regions(grid, ask, edge, start, stop, counts, out, limit, dim):
    """Answer rows `start` to `stop` of a batch of regions from the cells.

    Walks the cells of the region, or all blocks when those are fewer. Adds the answers of each row
    to ``counts[row]``. Returns the whole count, or any number beyond `limit` as soon as there are
    more.
    """
    q = local_floats()
    q_in = local_floats()
    span = local_ints()
    k = 0
    for row in range(start, stop):
        before = k
        n_cells = _region_cells(ask.cull, row, edge, grid.meta, dim, span)
        aim_at_region(q, q_in, ask.cull, row, dim)
        is_scan = n_cells > grid.meta[USED_BLOCKS]
        if is_scan:
            n_cells = np.float64(grid.meta[USED_BLOCKS])
        x, y, z = span[0], span[1], span[2]
        for step in range(np.int64(n_cells)):
            if is_scan:
                # an object is taken in its first cell, whichever that is
                k = _hits_of_chain(grid, step, False, 0, 0, 0, span, q, q_in, ask, row, dim, out, k)
                continue
            at = _find_cell(grid.cells, x, y, z, dim)
            if at >= 0:
                head = np.int64(grid.cells[at, len(dim)])
                k = _hits_of_chain(grid, head, True, x, y, z, span, q, q_in, ask, row, dim, out, k)
            z += 1
            if z > span[5]:
                z = span[2]
                y += 1
                if y > span[4]:
                    y = span[1]
                    x += 1
        counts[row] += k - before
        if k > limit:
            return k
    return k


@kernel
def _spread(mask):
    """Spread each bit `i` of a byte over the eight bits of byte `i`."""
    high = (((mask * _BYTES) & _DIAGONAL) + _SEVENS) & _HIGHS
    return (high >> np.uint64(7)) * np.uint64(255)


@kernel
def _of_this_cell(grid, block, other, dim):
    """Pairs of lanes of two blocks of a cell that count in it and in no other.

    On each axis one of the two objects has to begin here: bit ``8 * i + j`` needs first-cell bit
    `i` of `block`, spread over a byte, or bit `j` of `other`, repeated in every byte.
    """
    word = np.uint64(0xFFFFFFFFFFFFFFFF)
    for d in range(len(dim)):
        word &= _spread(np.uint64(grid.first[block, d])) | (
            np.uint64(grid.first[other, d]) * _BYTES
        )
    return word


@kernel
def find_pairs(grid, cover, state, rule, start, stop, out, limit, dim):
    """Find the pairs with a member in blocks `start` to `stop` and the other later in its chain.

    Returns the count, or any number beyond `limit` as soon as there are more.
    """
    bounds, slots = grid.bounds, grid.slots
    k = 0
    for block in range(start, stop):
        if slots[block, 0] < 0:
            continue  # a free block: its link leads to other free ones
        other = np.int64(block)
        while other >= 0:
            word = later_lanes(overlap8x8(bounds, block, other, dim), block, other)
            if word != 0:
                word &= _of_this_cell(grid, block, other, dim)
                k = pairs_of_blocks(
                    word, bounds, slots, block, other, cover, state, rule, dim, out, k
                )
            other = np.int64(grid.link[other])
        if k > limit:
            return k
    return k


@kernel
def _count_bits(word):
    """Return the number of set bits."""
    count = 0
    while word != 0:
        word &= word - np.uint64(1)
        count += 1
    return count


@kernel
def _members(slots, block):
    """Return the mask of the lanes of a block that are not empty."""
    mask = np.uint64(0)
    for lane in range(LANES):
        if slots[block, lane] >= 0:
            mask |= np.uint64(1 << lane)
    return mask


@kernel
def count_meetings(grid, dim):
    """Return (visits, candidates): pairs of members of a cell, repeats included and distinct."""
    visits = 0
    candidates = 0
    for block in range(grid.meta[USED_BLOCKS]):
        here = _members(grid.slots, block)
        if here == 0:
            continue
        other = np.int64(block)
        while other >= 0:
            word = _spread(here) & (_members(grid.slots, other) * _BYTES)
            word = later_lanes(word, block, other)
            visits += _count_bits(word)
            candidates += _count_bits(word & _of_this_cell(grid, block, other, dim))
            other = np.int64(grid.link[other])
    return visits, candidates
