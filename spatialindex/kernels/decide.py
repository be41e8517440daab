"""What an answer means, once for all structures: predicates, distances, the pair rule.

Structures find candidates in their own ways; whether a candidate is in the answer is decided here,
on exact float64 boxes.

A *rule* is a small integer, so that the common case, nothing to check, is one comparison::

    rule 0                 everything passes
    bit 0   LAYERED        layer and mask, both ways
    bits 1-2  AMONG        0 all, 1 dynamic, 2 active
    bits 3-4  SENSORS      0 include, 1 exclude, 2 only
    bit 5   SEEN           a question: the object's layer against `layers`
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.jit import kernel

__all__ = [
    "AMONG_BITS",
    "AMONG_SHIFT",
    "ENCLOSES",
    "INSIDE",
    "INTERSECTS",
    "LAYERED",
    "RADIUS",
    "SEEN",
    "SENSORS_SHIFT",
    "Ask",
    "accepts",
    "distance_to_box",
    "meet",
    "passes",
]

INTERSECTS, INSIDE, ENCLOSES, RADIUS = range(4)
"""Kinds of region; the first three in the order of `constants.PREDICATES`."""

LAYERED = 1
AMONG_SHIFT = 1
AMONG_BITS = 6
SENSORS_SHIFT = 3
SEEN = 32

_LARGE = 2.0**500
_SMALL = 2.0**-500
_SCALE = 2.0**600


class Ask(NamedTuple):
    """A batch of regions as a kernel takes it; `spatialindex.indexes.asking` makes it."""

    kind: int
    """`INTERSECTS`, `INSIDE`, `ENCLOSES` or `RADIUS`."""
    cull: np.ndarray
    """``(q, 2*ndim)`` float64: every accepted object touches this box."""
    exact: np.ndarray
    """``(q, k)`` float64: what decides."""
    askers: np.ndarray
    """``(q,)`` int32 slots that ask under the pair rule and never find themselves; else empty."""
    layers: np.uint64
    rule: int
    boxes: np.ndarray
    """``(capacity, 2*ndim)`` float64: the boxes that decide."""
    state: np.ndarray
    """``(capacity,)`` of `constants.STATE_DTYPE`."""
    is_cover: bool
    """Whether the boxes that decide are those that the structure covers."""


@kernel
def meet(a, i, b, j, dim):
    """Tell if row `i` of boxes `a` and row `j` of boxes `b` share a point; both are closed."""
    ndim = len(dim)
    ok = True
    for d in range(ndim):
        ok &= (a[i, d] <= b[j, ndim + d]) & (b[j, d] <= a[i, ndim + d])
    return ok


@kernel
def distance_to_box(points, i, boxes, j, dim):
    """Euclidean distance from a point to a closed box; 0 inside.

    The root of the squares summed in axis order. Where squares would overflow or underflow, all
    parts are scaled by a power of two, which is exact. Rounding is monotone in each part, so a box
    that encloses another is never farther.
    """
    ndim = len(dim)
    largest = 0.0
    for d in range(ndim):
        part = max(boxes[j, d] - points[i, d], points[i, d] - boxes[j, ndim + d])
        largest = max(largest, part)
    scale = 1.0
    if largest > _LARGE:
        scale = 1.0 / _SCALE
    elif 0.0 < largest < _SMALL:
        scale = _SCALE
    total = 0.0
    for d in range(ndim):
        part = max(max(boxes[j, d] - points[i, d], points[i, d] - boxes[j, ndim + d]), 0.0) * scale
        total += part * part
    return np.sqrt(total) / scale


@kernel
def accepts(kind, exact, i, boxes, j, dim):
    """Tell if region row `i` of that kind accepts the box in row `j`."""
    ndim = len(dim)
    if kind == INTERSECTS:
        return meet(exact, i, boxes, j, dim)
    if kind == RADIUS:
        return distance_to_box(exact, i, boxes, j, dim) <= exact[i, ndim]
    ok = True
    if kind == INSIDE:
        for d in range(ndim):
            ok &= (exact[i, d] <= boxes[j, d]) & (boxes[j, ndim + d] <= exact[i, ndim + d])
    else:
        for d in range(ndim):
            ok &= (boxes[j, d] <= exact[i, d]) & (exact[i, ndim + d] <= boxes[j, ndim + d])
    return ok


@kernel
def passes(state, a, b, rule, layers):
    """Tell if slot `b` is in the answer of `a` under the rule; a question reads only `b`."""
    if rule == 0:
        return True
    two = state[b]
    if rule & SEEN:
        return (two["layer"] & layers) != np.uint64(0)
    one = state[a]
    if rule & LAYERED:
        if (one["layer"] & two["mask"]) == np.uint64(0):
            return False
        if (two["layer"] & one["mask"]) == np.uint64(0):
            return False
    sensors = (rule >> SENSORS_SHIFT) & 3
    if sensors != 0:
        if (one["sensor"] or two["sensor"]) != (sensors == 2):
            return False
    among = (rule >> AMONG_SHIFT) & 3
    if among == 1:
        return not (one["static"] and two["static"])
    if among == 2:
        return not ((one["static"] or one["asleep"]) and (two["static"] or two["asleep"]))
    return True
