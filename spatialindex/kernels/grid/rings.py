"""Nearest objects in a grid: rings of cells around the point until the best are near enough.

Ring r holds the cells that are r cells away from that of the point along one axis and no more along
any other::

    2 2 2 2 2
    2 1 1 1 2     what is not in rings 0 to r is as far away as the nearest border of the square
    2 1 0 1 2     around them, so with the k best nearer than that the search is over
    2 1 1 1 2
    2 2 2 2 2

An object counts in the cell of its range that is nearest to the middle one, axis by axis: one cell
in one ring. A point outside of the occupied bounds is led to the nearest cell in them; what is
beyond them has no cells. When rings have come to more cells than there are blocks, in a sparse
world or for many neighbours, the blocks are scanned for what the rings have not met.

Borders of cells are computed with a slack of `walk.SLACK` of an edge, and distances to them are
made smaller by ``2**-40``, more than all rounding: that of a coordinate against the slack where the
point is near, against the distance where it is far.
"""

import numpy as np

from spatialindex.kernels.blocks import offer_nearest
from spatialindex.kernels.grid.ask import region_cells
from spatialindex.kernels.grid.cells import ENTRIES, SHIFT, USED_BLOCKS, find_cell
from spatialindex.kernels.grid.walk import SLACK, is_plannable
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    REACH,
    aim_at_point,
    distances8,
    local_doubles,
    local_floats,
    local_ints,
    local_query,
    lowest_bit,
)

__all__ = [
    "is_searchable",
    "nearest_in_cells",
    "place_middle",
    "ring_of",
    "search_rings",
]

_LARGE = 2.0**400
_LESS = 1.0 - 2.0**-40
_MANY = 4  # of the memberships, one in so many among the best: rings would come to most cells


@kernel
def nearest_in_cells(grid, ask, edge, start, stop, best, dim):
    """Offer what is near the points of rows `start` to `stop` in the cells to their bests.

    `ask` is of kind `RADIUS`. Bests may come with some that were found elsewhere.
    """
    q = local_query()
    out = local_floats()
    span = local_ints()
    middle = local_ints()
    k = best.values.shape[1]
    for row in range(start, stop):
        if not place_middle(grid.meta, edge, ask, row, span, middle, dim):
            continue
        aim_at_point(q, ask.exact, row, _reach(ask, row, best, dim), dim)
        rings = 0
        if is_searchable(grid.meta, grid.meta, edge, ask, row, k, dim):
            rings, _ = search_rings(
                *(grid, grid.meta, edge, 0, span, middle, q, out, ask, row, best, dim)
            )
        if rings >= 0:
            _scan_beyond(grid, rings, middle, q, out, ask, row, best, dim)


@inner_kernel
def place_middle(meta, edge, ask, row, span, middle, dim):
    """Write the cells within reach to `span` and the one nearest to the point to `middle`.

    Tells if there are any.
    """
    if region_cells(ask.cull, row, edge, meta, dim, span) == 0.0:
        return False
    middle[2] = 0
    for d in range(len(dim)):
        cell = np.floor(ask.exact[row, d] / edge)
        middle[d] = np.int64(min(max(cell, span[d] * 1.0), span[3 + d] * 1.0))
    return True


@inner_kernel
def is_searchable(common, meta, edge, ask, row, k, dim):
    """Tell if rings find the `k` best of a row; `common` counts the memberships."""
    ok = is_plannable(edge, meta) and _MANY * k <= common[ENTRIES]
    for d in range(len(dim)):
        ok &= abs(ask.exact[row, d]) <= _LARGE
    return ok


@inner_kernel
def _reach(ask, row, best, dim):
    """Return how far a row has to look."""
    reach = ask.exact[row, len(dim)]
    if best.counts[row] == best.values.shape[1]:
        reach = min(reach, best.values[row, 0])
    return reach


@inner_kernel
def search_rings(grid, meta, edge, walked, span, middle, q, out, ask, row, best, dim):
    """Search rings for the best of a row.

    Returns -1, or how many rings were searched when with those walked before cells grew more than
    blocks; and how many cells were walked.
    """
    blocks = grid.meta[USED_BLOCKS]
    ring = 0
    while True:
        walked += _search_ring(grid, meta, edge, ring, span, middle, q, out, ask, row, best, dim)
        beyond = _distance_beyond(ring, edge, span, middle, ask, row, dim)
        if beyond < 0.0 or beyond > _reach(ask, row, best, dim):
            return -1, walked
        ring += 1
        if walked > blocks:
            return ring, walked


@inner_kernel
def _distance_beyond(ring, edge, span, middle, ask, row, dim):
    """Return a lower bound of the distance to all cells outside of a ring, -1 without any."""
    ndim = len(dim)
    outside = local_doubles()
    for d in range(ndim):
        outside[d] = _way_to(ask.exact[row, d], span[d], span[3 + d], edge) ** 2
    least = np.inf
    for d in range(ndim):
        others = 0.0
        for e in range(ndim):
            if e != d:
                others += outside[e]
        point = ask.exact[row, d]
        if middle[d] + ring < span[3 + d]:
            way = _way_to(point, middle[d] + ring + 1, span[3 + d], edge)
            least = min(least, others + way * way)
        if middle[d] - ring > span[d]:
            way = _way_to(point, span[d], middle[d] - ring - 1, edge)
            least = min(least, others + way * way)
    return np.sqrt(least) * _LESS if least < np.inf else -1.0


@inner_kernel
def _way_to(point, first, last, edge):
    """Return a lower bound of the distance from a coordinate to the cells `first` to `last`."""
    below = first * edge - point
    above = point - (last + 1) * edge
    return max(max(below, above) - SLACK * edge, 0.0) * _LESS


@inner_kernel
def _search_ring(grid, meta, edge, ring, span, middle, q, out, ask, row, best, dim):
    """Search the cells of a ring; returns how many were looked for, passed over ones included."""
    ndim = len(dim)
    point = ask.exact
    last = ndim - 1
    y_first = y_last = middle[1]
    walked = 0
    if ndim == 3:
        y_first = max(middle[1] - ring, span[1])
        y_last = min(middle[1] + ring, span[4])
    for x in range(max(middle[0] - ring, span[0]), min(middle[0] + ring, span[3]) + 1):
        x_square = _way_to(point[row, 0], x, x, edge) ** 2
        is_x_border = abs(x - middle[0]) == ring
        for y in range(y_first, y_last + 1):
            square = x_square
            if ndim == 3:
                square += _way_to(point[row, 1], y, y, edge) ** 2
            walked += 1
            reach = _reach(ask, row, best, dim)
            if square * _LESS > reach * reach:
                continue
            # along the last axis, all cells at the border of the others, else the two ends
            is_border = is_x_border or (ndim == 3 and abs(y - middle[1]) == ring)
            step = 1 if is_border or ring == 0 else 2 * ring
            for c in range(middle[last] - ring, middle[last] + ring + 1, step):
                if c < span[last] or c > span[3 + last]:
                    continue
                walked += 1
                way = _way_to(point[row, last], c, c, edge)
                if (square + way * way) * _LESS > reach * reach:
                    continue
                if ndim == 3:
                    _search_cell(grid, meta, x, y, c, middle, q, out, ask, row, best, dim)
                else:
                    _search_cell(grid, meta, x, c, 0, middle, q, out, ask, row, best, dim)
    return walked


@inner_kernel
def _search_cell(grid, meta, x, y, z, middle, q, out, ask, row, best, dim):
    """Offer the members that count in a cell to the best of a row."""
    ndim = len(dim)
    at = find_cell(grid.cells, meta, x, y, z, dim)
    block = np.int64(grid.cells[at, ndim]) if at >= 0 else -1
    while block >= 0:
        mask = distances8(grid.bounds, block, q, out, dim)
        # beyond the middle an object has to begin here, before it to end here
        if x > middle[0]:
            mask &= np.uint64(grid.first[block, 0])
        if y > middle[1]:
            mask &= np.uint64(grid.first[block, 1])
        if ndim == 3 and z > middle[2]:
            mask &= np.uint64(grid.first[block, ndim - 1])
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - np.uint64(1)
            if out[lane] > q[REACH]:
                continue
            slot = grid.slots[block, lane]
            r = grid.ranges
            if x < middle[0] and r[slot, ndim] - meta[SHIFT] != x:
                continue
            if y < middle[1] and r[slot, ndim + 1] != y:
                continue
            if ndim == 3 and z < middle[2] and r[slot, 2 * ndim - 1] != z:
                continue
            offer_nearest(slot, q, ask, row, best, dim)
        block = np.int64(grid.link[block])


@inner_kernel
def _scan_beyond(grid, rings, middle, q, out, ask, row, best, dim):
    """Offer all members that count in no ring before number `rings` to the best of a row."""
    ndim = len(dim)
    for block in range(grid.meta[USED_BLOCKS]):
        mask = distances8(grid.bounds, block, q, out, dim)
        for d in range(ndim):
            mask &= np.uint64(grid.first[block, d])
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - np.uint64(1)
            if out[lane] > q[REACH]:
                continue
            slot = grid.slots[block, lane]
            if rings == 0 or ring_of(grid.ranges, slot, grid.meta, middle, dim) >= rings:
                offer_nearest(slot, q, ask, row, best, dim)


@inner_kernel
def ring_of(ranges, slot, meta, middle, dim):
    """Return the ring that an object counts in."""
    ring = 0
    for d in range(len(dim)):
        c = middle[d] + (meta[SHIFT] if d == 0 else 0)
        lower = np.int64(ranges[slot, d]) - c
        upper = c - np.int64(ranges[slot, len(dim) + d])
        ring = max(ring, max(lower, upper))
    return ring
