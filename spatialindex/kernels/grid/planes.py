"""Regions of planes in a grid: the cells whose members can be on the inner side of each.

An object is left out by a plane that all of it is beyond, and by nothing else: one that is large
and near a corner of the region may be beyond none, though no cell of it is inside of all. So it is
not the cell that is tested but all that its members can reach. Those that count in it begin in it,
or before it where it is the first of the region's span along an axis, and no range of cells is
longer than the longest there is::

    cell 4, longest range 3 cells: members that count in it are within 4 to 6
    cell 4, the first of the span: within 2 to 6

Along the last axis it is solved which cells that leaves. What is computed is the sum of
`decide.within_planes`, of corners farther out; monotone, it needs no tolerance. The solution for
the last axis has one: ``2**-40`` of all terms, and a cell.
"""

import numpy as np

from spatialindex.kernels.blocks import hits_of_block, planes_of_block
from spatialindex.kernels.grid.ask import region_cells
from spatialindex.kernels.grid.cells import LONGEST, USED_BLOCKS, find_cell
from spatialindex.kernels.grid.walk import SLACK, is_plannable
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import down32, local_floats, local_ints, overlap8, up32

__all__ = ["aim_at_cull", "hits_of_inner", "inner_cells", "inside_planes", "scan_planes"]

_SHARE = 2.0**-40
_LARGE = 2.0**400
_SMALL = 2.0**-400


@kernel
def inside_planes(grid, ask, edge, start, stop, counts, out, limit, dim):
    """Answer rows `start` to `stop` of a batch of regions of planes from the cells.

    Adds the answers of each row to ``counts[row]`` unless that is empty. Returns the whole count,
    or any number beyond `limit` as soon as there are more.
    """
    q = local_floats()
    span = local_ints()
    inner = local_ints()
    k = 0
    for row in range(start, stop):
        before = k
        aim_at_cull(q, ask.cull, row, dim)
        blocks = grid.meta[USED_BLOCKS]
        if inner_cells(grid.meta, blocks, ask, row, edge, span, inner, dim) > blocks:
            k = scan_planes(grid, q, ask, row, dim, out, k)
        else:
            k = hits_of_inner(grid, grid.meta, edge, span, inner, q, ask, row, dim, out, k)
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@inner_kernel
def aim_at_cull(q, cull, row, dim):
    """Set the float32 query `q` to a region's box rounded outward."""
    ndim = len(dim)
    for d in range(ndim):
        q[d] = down32(cull[row, d])
        q[ndim + d] = up32(cull[row, ndim + d])


@inner_kernel
def scan_planes(grid, q, ask, row, dim, out, k):
    """Answer a region from all blocks: an object is taken in its first cell, whichever that is."""
    for block in range(grid.meta[USED_BLOCKS]):
        mask = overlap8(grid.bounds, block, q, dim)
        for d in range(len(dim)):
            mask &= np.uint64(grid.first[block, d])
        k = _hits_in_block(grid, block, mask, q, ask, row, dim, out, k)
    return k


@inner_kernel
def inner_cells(meta, most, ask, row, edge, span, inner, dim):
    """Return how many columns and cells there are to look into, inf where that is not planned.

    Writes the range of cells of the region's box to `span`. Columns are not looked into when there
    are more than `most`.
    """
    ndim = len(dim)
    if region_cells(ask.cull, row, edge, meta, dim, span) == 0.0:
        span[0], span[3] = 0, -1
        return 0.0
    cells = 1.0
    for d in range(ndim - 1):
        cells *= np.float64(span[3 + d] - span[d] + 1)
    if cells > most or not is_plannable(edge, meta):
        return np.inf
    y_first, y_last = (span[1], span[4]) if ndim == 3 else (0, 0)
    for x in range(span[0], span[3] + 1):
        for y in range(y_first, y_last + 1):
            _inner_range(meta, ask.exact, row, x, y, edge, span, inner, dim)
            cells += np.float64(max(inner[1] - inner[0] + 1, 0))
    return cells


@inner_kernel
def hits_of_inner(grid, meta, edge, span, inner, q, ask, row, dim, out, k):
    """Answer a region from the cells that no plane leaves out."""
    ndim = len(dim)
    y_first, y_last = (span[1], span[4]) if ndim == 3 else (0, 0)
    for x in range(span[0], span[3] + 1):
        for y in range(y_first, y_last + 1):
            _inner_range(meta, ask.exact, row, x, y, edge, span, inner, dim)
            for c in range(inner[0], inner[1] + 1):
                if ndim == 3:
                    k = _hits_in_cell(grid, meta, x, y, c, span, q, ask, row, dim, out, k)
                else:
                    k = _hits_in_cell(grid, meta, x, c, 0, span, q, ask, row, dim, out, k)
    return k


@inner_kernel
def _inner_range(meta, exact, row, x, y, edge, span, inner, dim):
    """Write the first and last cell of a column that no plane leaves out to `inner`."""
    ndim = len(dim)
    last = ndim - 1
    inner[0], inner[1] = span[last], span[3 + last]
    slack = SLACK * edge
    for at in range(0, exact.shape[1], ndim + 1):
        total = 0.0
        terms = abs(exact[row, at + ndim])
        for d in range(last):
            c = x if d == 0 else y
            normal = exact[row, at + d]
            if normal > 0.0:
                first = c - meta[LONGEST + d] if c == span[d] else c
                corner = first * edge - slack
            else:
                corner = (c + meta[LONGEST + d] + 1) * edge + slack
            total += normal * corner
            terms += abs(normal * corner)
        normal = exact[row, at + last]
        offset = exact[row, at + ndim]
        if normal == 0.0:
            if total > offset:
                inner[1] = inner[0] - 1
                return
        elif _SMALL < abs(normal) < _LARGE and terms < _LARGE * _LARGE:
            # how far the last coordinate can go until the sum is beyond the offset
            most = (offset - total + _SHARE * terms) / normal / edge
            if normal > 0.0:
                # members of the first cell of the span may begin anywhere before it
                if most + 1.0 < inner[1]:
                    inner[1] = np.int64(max(np.floor(most) + 1.0, span[last] * 1.0))
            else:
                least = np.floor(most) - 1.0 - meta[LONGEST + last]
                if least > inner[0]:
                    inner[0] = np.int64(min(least, span[3 + last] + 1.0))


@inner_kernel
def _hits_in_cell(grid, meta, x, y, z, span, q, ask, row, dim, out, k):
    """Answer a region from the members of a cell that count in it."""
    ndim = len(dim)
    at = find_cell(grid.cells, meta, x, y, z, dim)
    block = np.int64(grid.cells[at, ndim]) if at >= 0 else -1
    while block >= 0:
        mask = overlap8(grid.bounds, block, q, dim)
        if x != span[0]:
            mask &= np.uint64(grid.first[block, 0])
        if y != span[1]:
            mask &= np.uint64(grid.first[block, 1])
        if ndim == 3 and z != span[2]:
            mask &= np.uint64(grid.first[block, ndim - 1])
        k = _hits_in_block(grid, block, mask, q, ask, row, dim, out, k)
        block = np.int64(grid.link[block])
    return k


@inner_kernel
def _hits_in_block(grid, block, mask, q, ask, row, dim, out, k):
    """Answer a region from lanes of a block."""
    mask = planes_of_block(mask, grid.bounds, block, ask.exact, row, dim)
    if mask != 0:
        k = hits_of_block(
            *(mask, grid.bounds, grid.slots, np.uint64(0), block, q, ask, row, dim, out, k)
        )
    return k
