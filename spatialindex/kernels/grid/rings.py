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
from spatialindex.kernels.grid.cells import ENTRIES, USED_BLOCKS, find_cell
from spatialindex.kernels.grid.walk import SLACK, is_plannable
from spatialindex.kernels.jit import kernel
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

__all__ = ["nearest_in_cells"]

_LARGE = 2.0**400
_LESS = 1.0 - 2.0**-40
_MANY = 4  # of the memberships, one in so many among the best: rings would come to most cells


@kernel
def nearest_in_cells(grid, ask, edge, start, stop, best, dim):
    """Offer what is near the points of rows `start` to `stop` in the cells to their bests.

    `ask` is of kind `RADIUS`. Bests may come with some that were found elsewhere.
    """
    ndim = len(dim)
    q = local_query()
    out = local_floats()
    span = local_ints()
    middle = local_ints()
    k = best.values.shape[1]
    for row in range(start, stop):
        if region_cells(ask.cull, row, edge, grid.meta, dim, span) == 0.0:
            continue
        reach = _reach(ask, row, best, dim)
        aim_at_point(q, ask.exact, row, reach, dim)
        is_scan = not is_plannable(edge) or _MANY * k > grid.meta[ENTRIES]
        middle[2] = 0
        for d in range(ndim):
            point = ask.exact[row, d]
            is_scan |= abs(point) > _LARGE
            cell = np.floor(point / edge)
            middle[d] = np.int64(min(max(cell, span[d] * 1.0), span[3 + d] * 1.0))
        rings = 0
        if not is_scan:
            rings = _search_rings(grid, edge, span, middle, q, out, ask, row, best, dim)
        if rings >= 0:
            _scan_beyond(grid, rings, middle, q, out, ask, row, best, dim)


@kernel
def _reach(ask, row, best, dim):
    """Return how far a row has to look."""
    reach = ask.exact[row, len(dim)]
    if best.counts[row] == best.values.shape[1]:
        reach = min(reach, best.values[row, 0])
    return reach


@kernel
def _search_rings(grid, edge, span, middle, q, out, ask, row, best, dim):
    """Search rings for the best of a row; returns -1, or how many were when that grew too many."""
    blocks = grid.meta[USED_BLOCKS]
    walked = 0
    ring = 0
    while True:
        walked += _search_ring(grid, edge, ring, span, middle, q, out, ask, row, best, dim)
        beyond = _distance_beyond(ring, edge, span, middle, ask, row, dim)
        if beyond < 0.0 or beyond > _reach(ask, row, best, dim):
            return -1
        ring += 1
        if walked > blocks:
            return ring


@kernel
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


@kernel
def _way_to(point, first, last, edge):
    """Return a lower bound of the distance from a coordinate to the cells `first` to `last`."""
    below = first * edge - point
    above = point - (last + 1) * edge
    return max(max(below, above) - SLACK * edge, 0.0) * _LESS


@kernel
def _search_ring(grid, edge, ring, span, middle, q, out, ask, row, best, dim):
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
                    _search_cell(grid, x, y, c, middle, q, out, ask, row, best, dim)
                else:
                    _search_cell(grid, x, c, 0, middle, q, out, ask, row, best, dim)
    return walked


@kernel
def _search_cell(grid, x, y, z, middle, q, out, ask, row, best, dim):
    """Offer the members that count in a cell to the best of a row."""
    ndim = len(dim)
    at = find_cell(grid.cells, grid.meta, x, y, z, dim)
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
            if x < middle[0] and r[slot, ndim] != x:
                continue
            if y < middle[1] and r[slot, ndim + 1] != y:
                continue
            if ndim == 3 and z < middle[2] and r[slot, 2 * ndim - 1] != z:
                continue
            offer_nearest(slot, q, ask, row, best, dim)
        block = np.int64(grid.link[block])


@kernel
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
            if rings > 0:
                ring = 0
                for d in range(ndim):
                    lower = np.int64(grid.ranges[slot, d]) - middle[d]
                    upper = middle[d] - np.int64(grid.ranges[slot, ndim + d])
                    ring = max(ring, max(lower, upper))
                if ring < rings:
                    continue
            offer_nearest(slot, q, ask, row, best, dim)
