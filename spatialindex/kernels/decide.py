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

from spatialindex import constants
from spatialindex.kernels.jit import inner_kernel, kernel

__all__ = [
    "AMONG_BITS",
    "AMONG_SHIFT",
    "CAST",
    "ENCLOSES",
    "INSIDE",
    "INTERSECTS",
    "LAYERED",
    "PLANES",
    "RADIUS",
    "SEEN",
    "SENSORS_SHIFT",
    "Ask",
    "accepts",
    "cast_time",
    "distance_to_box",
    "meet",
    "passes",
    "within_planes",
]

INTERSECTS, INSIDE, ENCLOSES, RADIUS, PLANES, CAST = constants.KINDS
"""Kinds of region, see `constants.KINDS`."""

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
    """`INTERSECTS`, `INSIDE`, `ENCLOSES`, `RADIUS`, `PLANES` or `CAST`."""
    cull: np.ndarray
    """``(q, 2*ndim)`` float64: every accepted object touches this box."""
    exact: np.ndarray
    """``(q, k)`` float64: what decides, see `protocol.Region`."""
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


@inner_kernel
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
def within_planes(exact, i, boxes, j, dim):
    """Tell if, for each plane, the corner of the box that favours it is on the inner side.

    Row `i` of `exact` holds planes one after the other, normal and offset. Products are summed in
    axis order. Each is monotone in the corner, so a box that encloses another is never left out
    before it: for that, a sum that is not a number (both infinities) is on the inner side.
    """
    ndim = len(dim)
    for at in range(0, exact.shape[1], ndim + 1):
        total = 0.0
        for d in range(ndim):
            normal = exact[i, at + d]
            total += normal * (boxes[j, d] if normal > 0.0 else boxes[j, ndim + d])
        if total > exact[i, at + ndim]:
            return False
    return True


@inner_kernel
def _time_to(bound, origin, motion):
    """Return ``(bound - origin) / motion``; of halves, and doubled, where the difference overflows.

    The motion is not halved: half of the smallest float is zero.
    """
    way = bound - origin
    if abs(way) == np.inf:
        return (0.5 * bound - 0.5 * origin) / motion * 2.0
    return way / motion


@kernel
def cast_time(exact, i, boxes, j, dim):
    """Time at which a moving box first shares a point with the box in row `j`, or -1.0 if never.

    Row `i` of `exact` holds the box at time 0, its motion in a unit of time, and the last time; a
    ray is a box without size. Times in which they share a point are those of all axes together;
    each axis adds the quotients at which the near faces and the far ones pass. No motion along an
    axis leaves it at what it is. Rounding is monotone in each bound, so a box that encloses another
    is never met later. A time beyond all floats is never.
    """
    ndim = len(dim)
    first = 0.0
    last = exact[i, 3 * ndim]
    for d in range(ndim):
        motion = exact[i, 2 * ndim + d]
        if motion == 0.0:
            if boxes[j, d] > exact[i, ndim + d] or exact[i, d] > boxes[j, ndim + d]:
                return -1.0
            continue
        enter = _time_to(boxes[j, d], exact[i, ndim + d], motion)
        leave = _time_to(boxes[j, ndim + d], exact[i, d], motion)
        if motion < 0.0:
            enter, leave = leave, enter
        if enter > first:
            first = enter
        if leave < last:
            last = leave
    return first if first <= last and first < np.inf else -1.0


@kernel
def accepts(kind, exact, i, boxes, j, dim):
    """Tell if region row `i` of that kind accepts the box in row `j`."""
    ndim = len(dim)
    if kind == INTERSECTS:
        return meet(exact, i, boxes, j, dim)
    if kind == RADIUS:
        return distance_to_box(exact, i, boxes, j, dim) <= exact[i, ndim]
    if kind == CAST:
        return cast_time(exact, i, boxes, j, dim) >= 0.0
    if kind == PLANES:
        return within_planes(exact, i, boxes, j, dim)
    ok = True
    if kind == INSIDE:
        for d in range(ndim):
            ok &= (exact[i, d] <= boxes[j, d]) & (boxes[j, ndim + d] <= exact[i, ndim + d])
    else:
        for d in range(ndim):
            ok &= (boxes[j, d] <= exact[i, d]) & (exact[i, ndim + d] <= boxes[j, ndim + d])
    return ok


@inner_kernel
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
