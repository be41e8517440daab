"""The cells along a moving box, slab by slab in the order in which it reaches them.

A *slab* is all cells with one coordinate along the axis of fastest motion. While the box passes
over a slab it sweeps a range along each other axis, and the cells of these ranges are those it can
touch: each is in one slab, so none is met twice. A ray from (0.5, 0.5) to (4.5, 2.5) and cells of
edge 1::

    slab x      0     1     2     3     4
    y from-to   0-1   0-1   1-2   1-2   2-2

On a main axis that is turned around where the motion is backwards, *way* is how far the box has
gone: an object in a slab is met no sooner than the front of the box, at way 0 in `FRONT`, reaches
the slab. A walk for the first hit ends where that is beyond the best.

No error of rounding matters. A value is in cell ``floor(value / edge)``, computed; cells reach
beyond ``c * edge`` by less than ``2**-22`` of an edge, as their coordinates are below ``2**30``.
Walks are planned for boxes within ``2**39`` edges, where a dozen roundings of the way and those in
`decide.cast_time` make less than ``2**-9`` of an edge. Slabs and ranges are widened by `SLACK` of
one. What is farther out, or of edges or motions near the limits of floats, is not planned.
"""

import numpy as np

from spatialindex.kernels.grid.cells import CELLS, LARGEST_CELL, LOWEST
from spatialindex.kernels.jit import inner_kernel, kernel

__all__ = ["FARTHEST", "SLACK", "is_plannable", "plan_walk", "reached_slab"]

SLACK = 2.0**-6
"""Of an edge, by which everything is widened."""

FARTHEST = 2.0**39
"""Edges from the origin within which walks are planned."""

_LARGE = 2.0**400
_SMALL = 2.0**-400
_FASTEST = 2.0**500

# places in a plan, float64: ways between which anything can be touched; the main axis; the faces
# that lead and trail on it, turned around; motion along each axis for one of way
_BEGIN, _END, _AXIS, _TURN, _FRONT, _BACK, _SLOPE = 0, 1, 2, 3, 4, 5, 6
_FIRST = 9  # the first slab
_SPEED = 10


@kernel
def is_plannable(edge, meta):
    """Tell if squares of edges, and of a share of them, are ordinary numbers, and cells near."""
    ok = (edge >= _SMALL) & (edge <= _LARGE)
    for d in range(3):
        ok &= (meta[LOWEST + d] >= -LARGEST_CELL) & (meta[LOWEST + 3 + d] <= LARGEST_CELL)
    return ok


@inner_kernel
def _cell_of(value, edge, meta, d):
    """Return the cell of a value along an axis, as a float, cut to the occupied bounds."""
    return min(max(np.floor(value / edge), meta[LOWEST + d] * 1.0), meta[LOWEST + 3 + d] * 1.0)


@kernel
def plan_walk(exact, row, edge, meta, plan, dim):
    """Plan the walk of a box cast, row `row` of `exact`; `plan` is float64 scratch of sixteen.

    Returns the number of slabs, 0 when no cell can be touched and -1 when there is no planning.
    """
    ndim = len(dim)
    if not is_plannable(edge, meta):
        return -1
    if meta[CELLS] == 0:
        return 0
    axis = 0
    for d in range(ndim):
        motion = abs(exact[row, 2 * ndim + d])
        farthest = max(abs(exact[row, d]), abs(exact[row, ndim + d]))
        if not (farthest <= FARTHEST * edge and motion <= _FASTEST):
            return -1
        if motion > abs(exact[row, 2 * ndim + axis]):
            axis = d
    speed = abs(exact[row, 2 * ndim + axis])
    turn = -1.0 if exact[row, 2 * ndim + axis] < 0.0 else 1.0
    front = max(turn * exact[row, axis], turn * exact[row, ndim + axis])
    back = min(turn * exact[row, axis], turn * exact[row, ndim + axis])
    begin = 0.0
    end = exact[row, 3 * ndim] * speed if speed > 0.0 else 0.0
    slack = 2.0 * SLACK * edge
    for d in range(ndim):
        lower = meta[LOWEST + d] * edge - slack
        upper = (meta[LOWEST + 3 + d] + 1.0) * edge + slack
        # the ways between which the box overlaps the occupied bounds along the axis
        if d == axis:
            begin = max(begin, min(turn * lower, turn * upper) - front)
            end = min(end, max(turn * lower, turn * upper) - back)
            continue
        slope = exact[row, 2 * ndim + d] / speed if speed > 0.0 else 0.0
        plan[_SLOPE + d] = slope
        if slope == 0.0:
            if exact[row, ndim + d] < lower or exact[row, d] > upper:
                return 0
        elif slope > 0.0:
            begin = max(begin, (lower - exact[row, ndim + d]) / slope)
            end = min(end, (upper - exact[row, d]) / slope)
        else:
            begin = max(begin, (upper - exact[row, d]) / slope)
            end = min(end, (lower - exact[row, ndim + d]) / slope)
    if not begin <= end:
        return 0
    plan[_BEGIN], plan[_END] = begin, end
    plan[_AXIS], plan[_TURN], plan[_SPEED] = axis, turn, speed
    plan[_FRONT], plan[_BACK] = front, back
    first = _cell_of(turn * (back + begin - SLACK * edge), edge, meta, axis)
    last = _cell_of(turn * (front + end + SLACK * edge), edge, meta, axis)
    plan[_FIRST] = first
    return np.int64(max(turn * (last - first) + 1.0, 0.0))


@kernel
def reached_slab(i, exact, row, reach, edge, meta, plan, span, dim):
    """Write the range of cells of slab number `i` to `span`, three first and three last.

    Returns how many cells that are, as a float; 0, with nothing written, when the box passes the
    occupied bounds beside them, and -1 when it does not get there by the time `reach`.
    """
    ndim = len(dim)
    axis = np.int64(plan[_AXIS])
    turn, begin, end = plan[_TURN], plan[_BEGIN], plan[_END]
    slack = SLACK * edge
    cell = plan[_FIRST] + turn * i
    near = min(turn * cell * edge, turn * (cell + 1.0) * edge)
    far = max(turn * cell * edge, turn * (cell + 1.0) * edge)
    enter = near - plan[_FRONT] - slack
    if plan[_SPEED] > 0.0:
        end = min(end, reach * plan[_SPEED])
    if enter > end:
        return -1.0
    enter = max(begin, enter)
    leave = min(end, far - plan[_BACK] + slack)
    if enter > leave:
        return 0.0
    cells = 1.0
    span[2] = 0
    span[5] = 0
    for d in range(ndim):
        if d == axis:
            span[d] = np.int64(cell)
            span[3 + d] = np.int64(cell)
            continue
        one, two = plan[_SLOPE + d] * enter, plan[_SLOPE + d] * leave
        lower = exact[row, d] + min(one, two) - slack
        upper = exact[row, ndim + d] + max(one, two) + slack
        span[d] = np.int64(_cell_of(lower, edge, meta, d))
        span[3 + d] = np.int64(_cell_of(upper, edge, meta, d))
        cells *= np.float64(span[3 + d] - span[d] + 1)
    return cells
