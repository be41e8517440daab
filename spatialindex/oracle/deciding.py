"""What one answer is: who meets, how far apart, who is seen, which pairs count.

Shapes broadcast, so that one box is asked about many, many about one, and each about its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ALL, AMONG, BOX_DTYPE, DEFAULT_LAYER, SENSORS, STATE_DTYPE
from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Boxes = NDArray[np.float64]
    State = NDArray[np.void]
    Flags = NDArray[np.bool_]

__all__ = [
    "check_word",
    "default_state",
    "distances",
    "encloses",
    "overlaps",
    "passes",
    "seen",
]


def overlaps(a: Boxes, b: Boxes) -> Flags:
    """Tell which boxes share a point; shapes ``(…, 2*ndim)`` broadcast.

    >>> overlaps(np.array([0.0, 0, 2, 1]), np.array([[2.0, 0, 3, 1], [2.5, 0, 3, 1]]))
    array([ True, False])
    """
    ndim = a.shape[-1] // 2
    result: Flags = np.all((a[..., :ndim] <= b[..., ndim:]) & (b[..., :ndim] <= a[..., ndim:]), -1)
    return result


def encloses(a: Boxes, b: Boxes) -> Flags:
    """Tell which boxes `a` hold all of `b`, borders included; shapes ``(…, 2*ndim)`` broadcast."""
    ndim = a.shape[-1] // 2
    result: Flags = np.all((a[..., :ndim] <= b[..., :ndim]) & (b[..., ndim:] <= a[..., ndim:]), -1)
    return result


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
        largest = d.max(axis=-1)
        exponent = np.where(largest > 2.0**500, -600, 0)
        exponent = np.where((largest > 0.0) & (largest < 2.0**-500), 600, exponent)
        d = d * np.ldexp(1.0, exponent)[..., None]
        total = d[..., 0] * d[..., 0]
        for axis in range(1, ndim):
            total = total + d[..., axis] * d[..., axis]
        result: Boxes = np.sqrt(total) * np.ldexp(1.0, -exponent)
    return result


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
