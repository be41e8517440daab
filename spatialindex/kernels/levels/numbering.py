"""Which level a box is in, and which of its cells it touches.

A level's number is the exponent of its edge plus `BIAS`, so that all numbers are positive::

    box [5, 8] x [0, 1]    longest edge 3     edge 4, cells 1 to 2 along x and 0 along y
    box [4, 12] x [0, 1]   longest edge 8     edge 8, cells 0 to 1

Where coordinates are so large that a cell's number would be beyond `FARTHEST`, a coarser level is
taken: float64 has few bits left there for what is within a cell. The edge of the last level is
infinite, and its two cells an axis are the negative and the other numbers.

Rounding: a quotient by a power of two is exact unless it is smaller than all normal floats. Then a
negative one may become zero, and the box is made a member of both cells, that of exact arithmetic,
by which levels nest, and that of the rounded quotient, which questions work out.
"""

import math

import numpy as np

from spatialindex.kernels.grid.cells import LOWEST
from spatialindex.kernels.jit import inner_kernel, kernel

__all__ = [
    "BIAS",
    "FARTHEST",
    "FINE",
    "LAST",
    "NUMBERS",
    "STRIDE",
    "edge_of",
    "enough",
    "level_index",
    "level_of",
    "level_ranges",
    "note_ranges",
    "number_of",
]

BIAS = 1076
"""Number of the level of edge 1; the smallest float is ``2**-1074``."""

LAST = BIAS + 1024
"""Number of the level whose edge is infinite."""

NUMBERS = LAST + 1
"""All numbers of levels are below."""

FARTHEST = 49
"""Cells are numbered up to ``2**FARTHEST`` in magnitude."""

FINE = 3
"""Bits that tell where in its first cell a box begins."""

STRIDE = 2**51 + 0x1E3779B1
"""From the cells of a level to those of the next along x; odd, so that their hashes differ."""


@kernel
def edge_of(number):
    """Return the edge of cells of a level."""
    if number >= LAST:
        return np.inf
    return math.ldexp(1.0, int(number) - BIAS)  # int: without a compiler, no NumPy number


@inner_kernel
def number_of(x):
    """Return the number of the level that a kept x coordinate of a cell belongs to."""
    return (np.int64(x) + STRIDE // 2) // STRIDE


@inner_kernel
def level_index(numbers, number, index):
    """Return the index of a level, tried first at `index`."""
    if index >= 0 and numbers[index] == number:
        return index
    index = 0
    while numbers[index] != number:
        index += 1
    return index


@kernel
def enough(length):
    """Return the number of the lowest level whose edge is at least a length."""
    if not length < np.inf:
        return LAST
    mantissa, exponent = math.frexp(length)
    return exponent + BIAS - (1 if mantissa == 0.5 else 0)


@inner_kernel
def level_of(boxes, i, finest, edge, dim):
    """Return the level that a box is in by its longest edge and how far away it is.

    `edge` is that of the level `finest`, below which none is taken.
    """
    ndim = len(dim)
    longest = 0.0
    farthest = 0.0
    for d in range(ndim):
        longest = max(longest, boxes[i, ndim + d] - boxes[i, d])
        farthest = max(farthest, max(-boxes[i, d], boxes[i, ndim + d]))
    number = finest
    if longest > edge:
        number = max(number, enough(longest))
    if farthest > edge * 2.0**FARTHEST:
        number = max(number, enough(farthest) - FARTHEST)
    return number


@kernel
def level_ranges(boxes, finest, dim, ranges, numbers, begins, counts):
    """Write the level of each box to `numbers` and its range of cells to `ranges`.

    Ranges are int64 ``(n, 2*ndim)``, their x as it is kept. Writes to uint8 `begins` in which
    ``2**-FINE`` of its first cell along x a box begins. Adds to ``counts[number]`` how many
    boxes are in each level, and returns how many memberships they make.
    """
    ndim = len(dim)
    finest_edge = edge_of(finest)
    entries = 0
    for i in range(boxes.shape[0]):
        number = level_of(boxes, i, finest, finest_edge, dim)
        while True:
            edge = finest_edge if number == finest else edge_of(number)
            covered = 1
            is_held = True
            for d in range(ndim):
                lower = np.floor(boxes[i, d] / edge)
                upper = np.floor(boxes[i, ndim + d] / edge)
                if lower == 0.0 and boxes[i, d] < 0.0:
                    lower = -1.0
                # the longest edge, rounded, may be shorter than it is
                is_held &= upper - lower <= 1.0
                covered *= np.int64(upper - lower) + 1
                ranges[i, d] = np.int64(lower)
                ranges[i, ndim + d] = np.int64(upper)
            if is_held:
                break
            number += 1
        begin = np.int64((boxes[i, 0] / edge - ranges[i, 0]) * (1 << FINE))
        begins[i] = min(max(begin, 0), (1 << FINE) - 1)
        ranges[i, 0] += number * STRIDE
        ranges[i, ndim] += number * STRIDE
        numbers[i] = number
        counts[number] += 1
        entries += covered
    return entries


@kernel
def note_ranges(ranges, numbers, index_of, metas, dim):
    """Widen the bounds of occupied cells of each level to hold ranges of that level.

    ``metas[index_of[number]]`` is the `meta` of a level.
    """
    ndim = len(dim)
    for i in range(ranges.shape[0]):
        meta = metas[index_of[numbers[i]]]
        for d in range(ndim):
            shift = np.int64(numbers[i]) * STRIDE if d == 0 else 0
            meta[LOWEST + d] = min(meta[LOWEST + d], ranges[i, d] - shift)
            meta[LOWEST + 3 + d] = max(meta[LOWEST + 3 + d], ranges[i, ndim + d] - shift)
