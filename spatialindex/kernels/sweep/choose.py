"""Choosing the sweep axis and the lanes from a sample of the boxes.

The cost of a sweep is estimated as ``entries * (ENTRY + BLOCK * blocks met)``. With `c` lanes along
an axis of length S, a box of extent e is an entry of about ``1 + e * c / S`` of them, and meets
whatever starts within its extent in its lane: more lanes are more entries and fewer meetings.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.mixing import mix
from spatialindex.kernels.sweep.lanes import ACROSS, AXIS, MOST_LANES, N_LANES

__all__ = ["CELLS", "FIGURES", "SAMPLE", "choose_lanes", "draw_sample", "measure_sample"]

SAMPLE = 512
"""Boxes that the choice looks at."""

CELLS = 4096
"""Cells by which crowding is estimated: 64 along an axis in 2D, 16 in 3D."""

# places in the figures of a sample: three numbers an axis, then of all
LOW, HIGH, EXTENT = 0, 3, 6
DENSEST = 9  # the extent of the densest eighth along each axis
CROWDING = 12  # chance of two boxes to be in the same cell, over that of evenly spread ones
FIGURES = 16

_TAIL = 64  # of the sample, one in so many at each end may lie beyond the outer lanes

# nanoseconds: entering an entry, testing a block against another, and what a lane costs by itself
_ENTRY = 14.0
_BLOCK = 25.0
_LANE = 50.0
_STEADY = 1.5  # another axis has to be so much better to be swept instead


@inner_kernel
def draw_sample(boxes, slots, n, dim, sample):
    """Copy boxes, scattered evenly over all, to the rows of `sample`; returns how many.

    ``slots`` are the rows of `boxes` to draw from, all of the first `n` when it is empty.
    """
    m = min(n, sample.shape[0])
    for i in range(m):
        low, high = n * i // m, n * (i + 1) // m
        # any of its share, so that no regular order of the boxes goes unseen
        at = low + mix(i, 0, 0) % (high - low)
        row = np.int64(slots[at]) if slots.shape[0] else at
        for d in range(2 * len(dim)):
            sample[i, d] = boxes[row, d]
    return m


@inner_kernel
def _sort(values, m):
    """Sort the first `m` values in place; those behind, up to a power of two, become inf.

    A bitonic network: no branch depends on the values, for which nothing predicts them.
    Source: Knuth, The Art of Computer Programming 3, section 5.3.4.
    """
    size = 1
    while size < m:
        size *= 2
    values[m:size] = np.inf
    run = 2
    while run <= size:
        step = run // 2
        while step > 0:
            for first in range(0, size, 2 * step):
                is_up = first & run == 0
                for i in range(first, first + step):
                    a, b = values[i], values[i + step]
                    low, high = min(a, b), max(a, b)
                    values[i] = low if is_up else high
                    values[i + step] = high if is_up else low
            step //= 2
        run *= 2


@kernel
def measure_sample(sample, m, dim, values, cells, figures):
    """Measure a sample of `m` boxes, at least one; `values` and `cells` are scratch."""
    ndim = len(dim)
    tail = m // _TAIL
    for d in range(ndim):
        total = 0.0
        for i in range(m):
            values[i] = sample[i, d]
            # summed in parts of one sample, so that no sum overflows where no extent does
            total += (0.5 * sample[i, ndim + d] - 0.5 * sample[i, d]) / m
        _sort(values, m)
        low, high = values[tail], values[m - 1 - tail]
        figures[LOW + d] = low
        figures[HIGH + d] = high
        figures[EXTENT + d] = 2.0 * total
        stride = max(m // 8, 1)
        densest = high - low
        for i in range(m - stride):
            densest = min(densest, values[i + stride] - values[i])
        figures[DENSEST + d] = densest
    side = 64 if ndim == 2 else 16
    cells[:] = 0
    together = 0
    inside = 1.0
    for d in range(ndim):
        span = figures[HIGH + d] - figures[LOW + d]
        if not 0.0 < span < np.inf:
            inside /= side
    for i in range(m):
        at = 0
        for d in range(ndim):
            low, high = figures[LOW + d], figures[HIGH + d]
            place = 0
            span = high - low
            if 0.0 < span < np.inf:
                place = np.int64(min(max((sample[i, d] - low) / span, 0.0), 1.0) * (side - 1e-6))
            at = at * side + place
        together += 2 * cells[at]  # with each that is there already, both ways
        cells[at] += 1
    figures[CROWDING] = 1.0
    if m > 1:
        chance = together / (np.float64(m) * np.float64(m - 1))
        figures[CROWDING] = max(chance * CELLS * inside, 1.0)


@inner_kernel
def _spread(figures, d):
    """Return the length of the world along an axis, in extents of its objects."""
    span = figures[HIGH + d] - figures[LOW + d]
    if not span > 0.0:
        return 0.0
    return span / max(figures[EXTENT + d], span * 1e-12, 1e-300)


@inner_kernel
def _best_axis(figures, present, ndim):
    """Return the axis of largest spread; the present one, -1 for none, unless well beaten."""
    best = 0
    for d in range(1, ndim):
        if _spread(figures, d) > _spread(figures, best):
            best = d
    if present >= 0 and _spread(figures, best) <= _STEADY * _spread(figures, present):
        return present
    return best


@inner_kernel
def _most_lanes(figures, d, n):
    """Return how many lanes an axis may have: none thinner than half a usual object."""
    span = figures[HIGH + d] - figures[LOW + d]
    if not 0.0 < span < np.inf:
        return 1.0
    density = 2.0 / figures[EXTENT + d] * span if figures[EXTENT + d] > 0.0 else np.inf
    return min(max(density, 1.0), min(np.float64(MOST_LANES), np.float64(n)))


@inner_kernel
def _cost(figures, n, sweep, x, y, c, e):
    """Estimate the time of a sweep with `c` lanes along axis `x` and `e` along axis `y`."""
    entries = 1.0
    share = 1.0
    for k in range(2):
        d, lanes = (x, c) if k == 0 else (y, e)
        span = figures[HIGH + d] - figures[LOW + d]
        if lanes > 1.0:
            entries *= 1.0 + figures[EXTENT + d] / span * lanes
            share /= lanes
    met = n * entries * share * figures[CROWDING] / max(_spread(figures, sweep), 1.0)
    blocks = 2.0 + met / 8.0
    return n * entries * (_ENTRY + _BLOCK / 8.0 * blocks) + _LANE / share


@inner_kernel
def choose_lanes(figures, n, present, dim, frame, meta):
    """Write the sweep axis and the lanes for `n` boxes to `frame` and `meta`.

    `present` is the axis that was swept so far, -1 without one.
    """
    ndim = len(dim)
    sweep = _best_axis(figures, present, ndim)
    x = 1 if sweep == 0 else 0
    y = x
    if ndim == 3:
        y = 1 if sweep == 2 else 2
    meta[AXIS] = sweep
    meta[ACROSS] = x
    meta[ACROSS + 1] = y
    most_x = _most_lanes(figures, x, n)
    most_y = _most_lanes(figures, y, n) if ndim == 3 else 1.0
    best, best_c, best_e = np.inf, 1.0, 1.0
    c = 1.0
    while c <= most_x:
        e = 1.0
        while e <= most_y:
            cost = _cost(figures, n, sweep, x, y, c, e)
            if cost < best:
                best, best_c, best_e = cost, c, e
            e = np.ceil(1.19 * e)
        c = np.ceil(1.19 * c)
    set_lanes(figures, best_c, best_e, frame, meta)


@inner_kernel
def set_lanes(figures, c, e, frame, meta):
    """Cut the world into `c` and `e` lanes along the axes across the sweep axis."""
    for k in range(2):
        d = meta[ACROSS + k]
        lanes = c if k == 0 else e
        span = figures[HIGH + d] - figures[LOW + d]
        frame[2 * k] = figures[LOW + d]
        frame[2 * k + 1] = lanes / span if span > 0.0 else 0.0
        if not 0.0 < frame[2 * k + 1] < np.inf or lanes == 1.0:
            lanes = 1.0
            frame[2 * k] = frame[2 * k + 1] = 0.0
        meta[N_LANES + k] = np.int64(lanes)
