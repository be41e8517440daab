"""The oracle: what every answer is, in plain NumPy, without any structure.

Conformance tests and comparisons hold the answers of structures against this module. It shares no
code with the kernels, keeps nothing between calls and is written to be read, not to be fast. Boxes
are rows ``[lower_0 … lower_{d-1}, upper_0 … upper_{d-1}]`` of float64, closed, and two of them
overlap when ``lower_a <= upper_b`` and ``lower_b <= upper_a`` on every axis::

    a = [0, 0, 2, 1]      0 <= 2 and 2 <= 2   on x: they share x = 2
    b = [2, 0, 3, 1]      0 <= 1 and 0 <= 1   on y: they share all of y
                          so (a, b) is a pair: touching counts

Who meets whom is found in one of two ways. *Brute force* asks all of each other, in blocks that
bound the memory. *Sorted* sorts the lower bounds on one axis; the boxes that begin inside another's
extent are a contiguous run of that order, found by `numpy.searchsorted`. Two extents meet exactly
when one of them begins inside the other, so both ways meet the same pairs, and the decision on the
remaining axes is the same. The tests hold the one against the other.

It takes its arguments to be checked already; `spatialindex.boxes` and the index are the doors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from spatialindex.constants import (
    ALL,
    AMONG,
    BOX_DTYPE,
    DEFAULT_LAYER,
    ID_DTYPE,
    PREDICATES,
    SENSORS,
    STATE_DTYPE,
)
from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Boxes = NDArray[np.float64]
    State = NDArray[np.void]
    Rows = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Meets = Callable[[Boxes, Boxes], Flags]

__all__ = [
    "bounds",
    "count",
    "default_state",
    "distances",
    "encloses",
    "join",
    "overlaps",
    "pairs",
    "passes",
    "query",
    "query_radius",
    "seen",
]

Method = Literal["auto", "brute", "sorted"]

BLOCK = 2**20
"""Comparisons at a time: some tens of MiB of temporary arrays, whatever the scene."""

BRUTE_BELOW = 2**18
"""Comparisons below which asking all of each other costs less than sorting first."""


# What one answer is


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
    _check("among", among, AMONG)
    _check("sensors", sensors, SENSORS)
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


# Whole answers


def pairs(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None = None,
    *,
    among: str = "active",
    sensors: str = "include",
    method: Method = "auto",
) -> Rows:
    """Return all pairs of objects that overlap and pass the pair rule.

    Parameters
    ----------
    ids : (n,) int
        Ids in any order.
    boxes : (n, 2*ndim) float64
        Their boxes.
    state : (n,) structured, optional
        Rows of `spatialindex.constants.STATE_DTYPE`; the default state when it is not given.
    among : {"active", "dynamic", "all"}
        What is asked of static and sleeping members.
    sensors : {"include", "exclude", "only"}
        What is asked about sensor pairs.
    method : {"auto", "brute", "sorted"}
        How; the answer is the same.

    Returns
    -------
    (m, 2) int64
        Rows (a, b) with ``a < b``, each once, in lexicographic order.

    Notes
    -----
    Costs O(n²) comparisons by brute force; sorted, a sort and as many comparisons as there are
    pairs whose extents meet on the axis where the fewest do.

    Examples
    --------
    >>> pairs([7, 3, 5], [[0, 0, 2, 1], [2, 0, 3, 1], [2.5, 0, 4, 1]])
    array([[3, 5], [3, 7]])
    """
    ids, boxes = np.asarray(ids, ID_DTYPE), np.asarray(boxes, BOX_DTYPE)
    state = default_state(len(ids)) if state is None else state
    n = len(ids)
    found = []
    for a, b in _self_meetings(boxes, _chosen(method, n * n)):
        keep = passes(state[a], state[b], among=among, sensors=sensors)
        first, second = ids[a[keep]], ids[b[keep]]
        found.append(np.stack((np.minimum(first, second), np.maximum(first, second)), -1))
    return _canonical(found)


def query(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    inputs: ArrayLike,
    *,
    predicate: str = "intersects",
    layers: int = ALL,
    method: Method = "auto",
) -> Rows:
    """Return which objects meet which of the input boxes.

    Parameters
    ----------
    ids, boxes, state
        The objects, as in `pairs`; `state` None is the default state.
    inputs : (q, 2*ndim) float64
        Boxes asked; bounds may be infinite. A point is a box whose corners are equal.
    predicate : {"intersects", "inside", "encloses"}
        ``"inside"``: the object lies inside the input; ``"encloses"``: it encloses the input.
    layers : int
        Objects with ``layer & layers == 0`` are not seen.
    method : {"auto", "brute", "sorted"}
        How; the answer is the same.

    Returns
    -------
    (m, 2) int64
        Rows (row of `inputs`, id), in lexicographic order.

    Notes
    -----
    Costs O(q n) comparisons by brute force, fewer when sorted.

    Examples
    --------
    >>> query([7, 3], [[0, 0, 2, 1], [2, 0, 3, 1]], None, [[1, 0, 2, 1], [2.5, 0, 9, 1]])
    array([[0, 3], [0, 7], [1, 3]])
    """
    _check("predicate", predicate, PREDICATES)
    ids, boxes, inputs = _arrays(ids, boxes, inputs)
    decide = _DECISIONS[predicate]
    return _ask(ids, boxes, state, inputs, inputs, decide, layers, method)


def query_radius(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    centers: ArrayLike,
    radii: ArrayLike,
    *,
    layers: int = ALL,
    method: Method = "auto",
) -> Rows:
    """Return which objects lie within a distance of which centers, the distance included.

    Parameters
    ----------
    ids, boxes, state
        The objects, as in `pairs`; `state` None is the default state.
    centers : (q, ndim) float64
        Points asked.
    radii : scalar or (q,) float64
        Largest distances; they may be infinite.
    layers : int
        Objects with ``layer & layers == 0`` are not seen.
    method : {"auto", "brute", "sorted"}
        How; the answer is the same.

    Returns
    -------
    (m, 2) int64
        Rows (row of `centers`, id) where the distance, as `distances` computes it, is at most
        the radius; in lexicographic order.

    Examples
    --------
    >>> query_radius([7, 3], [[0, 0, 1, 1], [9, 9, 10, 10]], None, [[4, 5]], 5.0)
    array([[0, 7]])
    """
    centers = np.asarray(centers, BOX_DTYPE)
    radii = np.broadcast_to(np.asarray(radii, BOX_DTYPE), centers.shape[:1])
    ids, boxes, asked = _arrays(ids, boxes, np.concatenate((centers, radii[:, None]), -1))
    # An object that the rounded distance puts within the radius has a true distance below the
    # next larger float, and rounding is monotone: its box touches this one.
    with np.errstate(over="ignore"):
        reach = np.nextafter(radii, np.inf)[:, None]
        around = np.concatenate((centers - reach, centers + reach), -1)

    def decide(balls: Boxes, stored: Boxes) -> Flags:
        result: Flags = distances(balls[..., :-1], stored) <= balls[..., -1]
        return result

    return _ask(ids, boxes, state, around, asked, decide, layers, method)


def count(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    inputs: ArrayLike,
    *,
    predicate: str = "intersects",
    layers: int = ALL,
    method: Method = "auto",
) -> Rows:
    """Return how many objects meet each input box, shape ``(q,)`` int64; arguments as in `query`.

    >>> count([7, 3], [[0, 0, 2, 1], [2, 0, 3, 1]], None, [[1, 0, 2, 1], [5, 0, 9, 1]])
    array([2, 0])
    """
    inputs = np.asarray(inputs, BOX_DTYPE)
    rows = query(ids, boxes, state, inputs, predicate=predicate, layers=layers, method=method)
    return np.bincount(rows[:, 0], minlength=len(inputs)).astype(ID_DTYPE)


def join(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    other_ids: ArrayLike,
    other_boxes: ArrayLike,
    other_state: State | None = None,
    *,
    layers: int = ALL,
    other_layers: int = ALL,
    method: Method = "auto",
) -> Rows:
    """Return which objects of one set overlap which of another.

    Parameters
    ----------
    ids, boxes, state
        The objects here, as in `pairs`; `state` None is the default state.
    other_ids, other_boxes, other_state
        The others; of an array of boxes the ids are its row numbers.
    layers, other_layers : int
        Objects here with ``layer & layers == 0`` are not seen, nor others with
        ``layer & other_layers == 0``. Masks and flags do not matter.
    method : {"auto", "brute", "sorted"}
        How; the answer is the same.

    Returns
    -------
    (m, 2) int64
        Rows (id here, id there), in lexicographic order. A set joined with itself gives both
        orders and every visible id with itself.

    Examples
    --------
    >>> join([7], [[0, 0, 2, 1]], None, [0, 1], [[2, 0, 3, 1], [5, 0, 6, 1]])
    array([[7, 0]])
    """
    there = np.asarray(other_ids, ID_DTYPE)
    asked = np.asarray(other_boxes, BOX_DTYPE)
    if other_state is not None:
        visible = seen(other_state, other_layers)
        there, asked = there[visible], asked[visible]
    rows = query(ids, boxes, state, asked, layers=layers, method=method)
    return _canonical([np.stack((rows[:, 1], there[rows[:, 0]]), -1)])


def bounds(boxes: ArrayLike) -> Boxes | None:
    """Return one box around all, shape ``(2*ndim,)``, or None when there are none.

    >>> bounds([[0, 0, 2, 1], [2, -1, 3, 1]])
    array([ 0., -1.,  3.,  1.])
    """
    boxes = np.asarray(boxes, BOX_DTYPE)
    if len(boxes) == 0:
        return None
    ndim = boxes.shape[1] // 2
    return np.concatenate((boxes[:, :ndim].min(axis=0), boxes[:, ndim:].max(axis=0)))


# How it is found


_DECISIONS: dict[str, Meets] = {
    "intersects": overlaps,
    "inside": encloses,
    "encloses": lambda inputs, stored: encloses(stored, inputs),
}


def _ask(
    ids: Rows,
    boxes: Boxes,
    state: State | None,
    around: Boxes,
    asked: Boxes,
    decide: Meets,
    layers: int,
    method: Method,
) -> Rows:
    """Return rows (row of `asked`, id) that `decide` accepts, of those that touch `around`."""
    visible = np.flatnonzero(seen(default_state(len(ids)) if state is None else state, layers))
    ids, boxes = ids[visible], boxes[visible]
    found = []
    for row, k in _meetings(around, boxes, _chosen(method, len(around) * len(boxes))):
        keep = decide(asked[row], boxes[k])
        found.append(np.stack((row[keep], ids[k[keep]]), -1))
    return _canonical(found)


def _self_meetings(boxes: Boxes, method: Method) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows (i, k) of `boxes` that overlap, every unordered pair once, in pieces."""
    n, ndim = len(boxes), boxes.shape[1] // 2
    if method == "brute":
        step = max(1, BLOCK // max(n, 1))
        for start in range(0, n, step):
            block = np.arange(start, min(start + step, n))
            i, k = np.nonzero(overlaps(boxes[block, None], boxes[None]))
            upper = k > block[i]
            yield block[i[upper]], k[upper]
        return
    runs = [_own_runs(boxes[:, axis], boxes[:, axis + ndim]) for axis in range(ndim)]
    order, starts, stops = min(runs, key=lambda run: int((run[2] - run[1]).sum()))
    for position, run in _expand(starts, stops):
        i, k = order[position], order[run]
        keep = overlaps(boxes[i], boxes[k])
        yield i[keep], k[keep]


def _own_runs(lower: Boxes, upper: Boxes) -> tuple[Rows, Rows, Rows]:
    """Return the order by lower bound, and for each place in it the run that begins inside."""
    order = np.argsort(lower, kind="stable")
    starts = np.arange(1, len(order) + 1)
    stops = np.searchsorted(lower[order], upper[order], side="right")
    return order, starts, np.maximum(starts, stops)


def _meetings(a: Boxes, b: Boxes, method: Method) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows (i, k) where ``a[i]`` and ``b[k]`` overlap, each once, in pieces."""
    ndim = b.shape[1] // 2
    if method == "brute":
        step = max(1, BLOCK // max(len(b), 1))
        for start in range(0, len(a), step):
            i, k = np.nonzero(overlaps(a[start : start + step, None], b[None]))
            yield i + start, k
        return
    choices = []
    for axis in range(ndim):
        low_a, high_a = a[:, axis], a[:, axis + ndim]
        low_b, high_b = b[:, axis], b[:, axis + ndim]
        # b begins in a, or a begins in b and not at the same place: never both
        choices.append((_runs(low_a, high_a, low_b, "left"), _runs(low_b, high_b, low_a, "right")))
    by_a, by_b = min(choices, key=lambda runs: sum(int((r[2] - r[1]).sum()) for r in runs))
    for order, starts, stops, is_swapped in ((*by_a, False), (*by_b, True)):
        for position, run in _expand(starts, stops):
            i, k = (order[run], position) if is_swapped else (position, order[run])
            keep = overlaps(a[i], b[k])
            yield i[keep], k[keep]


def _runs(
    low: Boxes, high: Boxes, begins: Boxes, side: Literal["left", "right"]
) -> tuple[Rows, Rows, Rows]:
    """Return the order of `begins`, and for each extent the run of it that begins inside."""
    order = np.argsort(begins, kind="stable")
    ordered = begins[order]
    starts = np.searchsorted(ordered, low, side=side)
    stops = np.searchsorted(ordered, high, side="right")
    return order, starts, np.maximum(starts, stops)


def _expand(starts: Rows, stops: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield (row, member) for every member of ``range(starts[row], stops[row])``, in blocks."""
    ends: Rows = np.cumsum(stops - starts, dtype=ID_DTYPE)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, BLOCK):
        flat = np.arange(begin, min(begin + BLOCK, total))
        row = np.searchsorted(ends, flat, side="right")
        member: Rows = stops[row] - (ends[row] - flat)
        yield row, member


def _chosen(method: Method, comparisons: int) -> Method:
    if method == "auto":
        return "brute" if comparisons < BRUTE_BELOW else "sorted"
    _check("method", method, ("brute", "sorted"))
    return method


def _canonical(found: list[Rows]) -> Rows:
    """Put pieces of a relation together, rows in lexicographic order."""
    rows = np.concatenate([np.empty((0, 2), ID_DTYPE), *found])
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))].astype(ID_DTYPE, copy=False)


def _arrays(ids: ArrayLike, boxes: ArrayLike, asked: ArrayLike) -> tuple[Rows, Boxes, Boxes]:
    return (
        np.asarray(ids, ID_DTYPE),
        np.asarray(boxes, BOX_DTYPE),
        np.asarray(asked, BOX_DTYPE),
    )


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidArgumentError(f"{name}={value!r}: use one of {', '.join(known)}")
