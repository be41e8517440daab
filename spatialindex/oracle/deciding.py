"""What one answer is: who meets, how far apart, who is seen, which pairs count.

Shapes broadcast, so that one box is asked about many, many about one, and each about its own.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ALL, AMONG, BOX_DTYPE, DEFAULT_LAYER, SENSORS, STATE_DTYPE
from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    Boxes = NDArray[np.float64]
    State = NDArray[np.void]
    Flags = NDArray[np.bool_]

__all__ = [
    "cast_times",
    "check_word",
    "default_state",
    "distances",
    "encloses",
    "overlaps",
    "passes",
    "seen",
    "within_planes",
]


def overlaps(a: Boxes, b: Boxes) -> Flags:
    """Tell which boxes share a point; shapes ``(…, 2*ndim)`` broadcast.

    >>> overlaps(np.array([0.0, 0, 2, 1]), np.array([[2.0, 0, 3, 1], [2.5, 0, 3, 1]]))
    array([ True, False])
    """
    ndim = a.shape[-1] // 2
    return _on_all_axes(
        (a[..., d] <= b[..., d + ndim]) & (b[..., d] <= a[..., d + ndim]) for d in range(ndim)
    )


def encloses(a: Boxes, b: Boxes) -> Flags:
    """Tell which boxes `a` hold all of `b`, borders included; shapes ``(…, 2*ndim)`` broadcast."""
    ndim = a.shape[-1] // 2
    return _on_all_axes(
        (a[..., d] <= b[..., d]) & (b[..., d + ndim] <= a[..., d + ndim]) for d in range(ndim)
    )


def _on_all_axes(flags: Iterable[Flags]) -> Flags:
    # not `np.all` over a last axis of two or three, which takes several times as long
    return reduce(np.logical_and, flags)


def distances(centers: ArrayLike, boxes: ArrayLike) -> Boxes:
    """Return the Euclidean distance of points to closed boxes, 0 inside; the shapes broadcast.

    On each axis ``d = max(lower - c, c - upper, 0)``; the distance is the square root of the
    squares, summed in the order of the axes. Where the largest `d` is above ``2**500`` all are
    multiplied by ``2**-600`` before they are squared, where it is below ``2**-500`` by ``2**600``,
    and the root by the inverse, so that the largest square neither overflows nor vanishes; by a
    power of two, so that scaling does not round it.

    >>> distances([4.0, 5.0], [[0.0, 0, 1, 1], [0, 0, 4, 2]])
    array([5., 3.])
    """
    points, box = np.asarray(centers, BOX_DTYPE), np.asarray(boxes, BOX_DTYPE)
    ndim = box.shape[-1] // 2
    with np.errstate(over="ignore", under="ignore"):
        d = np.maximum(np.maximum(box[..., :ndim] - points, points - box[..., ndim:]), 0.0)
        largest = reduce(np.maximum, (d[..., axis] for axis in range(ndim)))
        exponent = np.where(largest > 2.0**500, -600, 0)
        exponent = np.where((largest > 0.0) & (largest < 2.0**-500), 600, exponent)
        is_scaled = exponent.any()  # seldom
        if is_scaled:
            d = d * np.ldexp(1.0, exponent)[..., None]
        total = d[..., 0] * d[..., 0]
        for axis in range(1, ndim):
            total = total + d[..., axis] * d[..., axis]
        result: Boxes = np.sqrt(total)
        if is_scaled:
            result = result * np.ldexp(1.0, -exponent)
    return result


def cast_times(starts: ArrayLike, motions: ArrayLike, lasts: ArrayLike, boxes: ArrayLike) -> Boxes:
    """Return when moving boxes first share a point with boxes at rest, inf where they never do.

    A box `starts` is at ``start + t * motion`` for ``0 <= t <= last``; a ray is a box without size.
    Along an axis with motion the two share points from ``(near - front) / motion`` to
    ``(far - back) / motion``, where the near face is the one that the front reaches first; without
    motion always or never. They meet from the latest of these beginnings, 0 included, if that is
    not after the earliest of the ends, `last` included. Everything is closed. Where a difference
    overflows, the halves are subtracted and the quotient doubled. A time that overflows is never.

    >>> cast_times([0.0, 0, 0, 0], [2.0, 1], np.inf, [[4.0, 0, 6, 9], [4.0, 0, 6, 1]])
    array([ 2., inf])
    """
    start, motion = np.asarray(starts, BOX_DTYPE), np.asarray(motions, BOX_DTYPE)
    box = np.asarray(boxes, BOX_DTYPE)
    ndim = box.shape[-1] // 2
    begin, end = np.asarray(0.0), np.asarray(lasts, BOX_DTYPE)
    for axis in range(ndim):
        step = motion[..., axis]
        back, front = start[..., axis], start[..., axis + ndim]
        lower, upper = box[..., axis], box[..., axis + ndim]
        at_lower, at_upper = _quotients(lower, front, step), _quotients(upper, back, step)
        enter = np.where(step > 0.0, at_lower, at_upper)
        leave = np.where(step > 0.0, at_upper, at_lower)
        is_still = step == 0.0
        if is_still.any():
            touch = (lower <= front) & (back <= upper)
            enter = np.where(is_still, np.where(touch, 0.0, np.inf), enter)
            leave = np.where(is_still, np.inf, leave)
        # and not np.maximum, which may make a -0.0 of 0.0
        begin = np.where(enter > begin, enter, begin)
        end = np.where(leave < end, leave, end)
    return np.where(begin <= end, begin, np.inf)


def _quotients(bounds: Boxes, places: Boxes, steps: Boxes) -> Boxes:
    """Return ``(bound - place) / step``, also where the difference overflows."""
    with np.errstate(all="ignore"):  # quotients of no motion are not used
        way = bounds - places
        quotients: Boxes = way / steps
        is_too_far = np.isinf(way)
        if is_too_far.any():
            halves = (bounds / 2.0 - places / 2.0) / steps * 2.0
            quotients = np.where(is_too_far, halves, quotients)
        return quotients


def within_planes(normals: ArrayLike, offsets: ArrayLike, boxes: ArrayLike) -> Flags:
    """Tell which boxes have, for each plane, a corner with ``normal · corner <= offset``.

    The corner asked is the one that favours the plane: along each axis the lower bound where the
    normal is positive, else the upper one. Products are summed in the order of the axes; a sum that
    is not a number, of infinities of both signs, is inside. `normals` has shape (p, ndim),
    `offsets` (p,) and `boxes` (n, 2*ndim); without planes all boxes are inside.

    >>> within_planes([[1.0, 0.0]], [2.0], [[2.0, 0, 3, 1], [2.5, 0, 3, 1]])
    array([ True, False])
    """
    box = np.asarray(boxes, BOX_DTYPE)
    ndim = box.shape[-1] // 2
    inside = np.ones(len(box), np.bool_)
    for normal, offset in zip(np.asarray(normals, BOX_DTYPE), np.asarray(offsets), strict=True):
        total = np.zeros(len(box))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for axis in range(ndim):
                corner = box[:, axis if normal[axis] > 0.0 else axis + ndim]
                total = total + normal[axis] * corner
        inside &= ~(total > offset)
    return inside


def default_state(n: int) -> State:
    """Return the state of `n` objects that name nothing: layer 1, all masks, dynamic and awake."""
    state = np.zeros(n, STATE_DTYPE)
    state["layer"] = DEFAULT_LAYER
    state["mask"] = ALL
    return state


def seen(state: State, layers: int = ALL) -> Flags:
    """Tell which objects a question with these `layers` sees."""
    result: Flags = (state["layer"] & np.uint64(layers)) != 0
    return result


def passes(a: State, b: State, *, among: str = "active", sensors: str = "include") -> Flags:
    """Tell which pairs the whole pair rule lets pass, given the states of both members.

    Each layer must be in the other's mask. ``"active"`` wants a member that is awake and not
    static, ``"dynamic"`` one that is not static. A pair with a sensor in it is a sensor pair.
    """
    check_word("among", among, AMONG)
    check_word("sensors", sensors, SENSORS)
    result: Flags = ((a["layer"] & b["mask"]) != 0) & ((b["layer"] & a["mask"]) != 0)
    if among == "dynamic":
        result &= ~(a["static"] & b["static"])
    elif among == "active":
        result &= ~((a["static"] | a["asleep"]) & (b["static"] | b["asleep"]))
    is_sensor_pair = a["sensor"] | b["sensor"]
    if sensors == "exclude":
        result &= ~is_sensor_pair
    elif sensors == "only":
        result &= is_sensor_pair
    return result


def check_word(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise `InvalidArgumentError` unless the value is one of the known words."""
    if value not in known:
        raise InvalidArgumentError(f"{name}={value!r}: use one of {', '.join(known)}")
