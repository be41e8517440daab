"""Relations: pairs, questions whose rows have no order of their own, joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ALL, BOX_DTYPE, ID_DTYPE, PREDICATES
from spatialindex.oracle.deciding import (
    check_word,
    default_state,
    distances,
    encloses,
    overlaps,
    passes,
    seen,
    within_planes,
)
from spatialindex.oracle.meeting import canonical, chosen, meetings, self_meetings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from spatialindex.oracle.meeting import Method

    Boxes = NDArray[np.float64]
    State = NDArray[np.void]
    Rows = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Meets = Callable[[Boxes, Boxes], Flags]

__all__ = ["bounds", "count", "join", "pairs", "query", "query_planes", "query_radius"]


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
    for a, b in self_meetings(boxes, chosen(method, n * n)):
        keep = passes(state[a], state[b], among=among, sensors=sensors)
        first, second = ids[a[keep]], ids[b[keep]]
        found.append(np.stack((np.minimum(first, second), np.maximum(first, second)), -1))
    return canonical(found)


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
    check_word("predicate", predicate, PREDICATES)
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


def query_planes(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    normals: ArrayLike,
    offsets: ArrayLike,
    *,
    layers: int = ALL,
) -> Rows:
    """Return which objects are not wholly outside any of some planes.

    Parameters
    ----------
    ids, boxes, state
        The objects, as in `pairs`; `state` None is the default state.
    normals : (p, ndim) float64
        Directions outward, of any length; none leaves nothing out.
    offsets : (p,) float64
        Inside is ``normal · x <= offset``; they may be infinite.
    layers : int
        Objects with ``layer & layers == 0`` are not seen.

    Returns
    -------
    (n,) int64
        Ids where `within_planes` holds, ascending.

    Examples
    --------
    >>> query_planes([7, 3], [[0, 0, 1, 1], [9, 9, 10, 10]], None, [[1, 1], [-1, 0]], [5, 1])
    array([7])
    """
    ids, boxes = np.asarray(ids, ID_DTYPE), np.asarray(boxes, BOX_DTYPE)
    visible = seen(default_state(len(ids)) if state is None else state, layers)
    return np.sort(ids[visible & within_planes(normals, offsets, boxes)])


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
    return canonical([np.stack((rows[:, 1], there[rows[:, 0]]), -1)])


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
    for row, k in meetings(around, boxes, chosen(method, len(around) * len(boxes))):
        keep = decide(asked[row], boxes[k])
        found.append(np.stack((row[keep], ids[k[keep]]), -1))
    return canonical(found)


def _arrays(ids: ArrayLike, boxes: ArrayLike, asked: ArrayLike) -> tuple[Rows, Boxes, Boxes]:
    return (
        np.asarray(ids, ID_DTYPE),
        np.asarray(boxes, BOX_DTYPE),
        np.asarray(asked, BOX_DTYPE),
    )
