"""Questions whose answers have an order: what is nearest, what rays and moving boxes meet first.

All are decided by brute force, in blocks that bound the memory. A row may ignore one id, which it
then does not see; -1 ignores nobody. Ties go to the lower id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spatialindex.constants import ALL, BOX_DTYPE, ID_DTYPE
from spatialindex.oracle import meeting
from spatialindex.oracle.deciding import cast_times, default_state, distances, seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    Boxes = NDArray[np.float64]
    State = NDArray[np.void]
    Rows = NDArray[np.int64]

__all__ = ["boxcast", "boxcast_all", "nearest", "raycast", "raycast_all"]


class _Objects(NamedTuple):
    """What a question sees, by ascending id."""

    ids: Rows
    boxes: Boxes


def nearest(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    points: ArrayLike,
    k: int = 1,
    *,
    max_distance: ArrayLike = np.inf,
    layers: int = ALL,
    ignore: ArrayLike = -1,
) -> tuple[Rows, Boxes]:
    """Return the objects whose boxes are nearest to points.

    Parameters
    ----------
    ids, boxes : (n,) int, (n, 2*ndim) float64
        The objects in any order.
    state : (n,) structured or None
        Their states; None is the default state.
    points : (q, ndim) float64
        Points asked.
    k : int
        How many objects for each.
    max_distance : scalar or (q,) float64
        Largest distances, included; they may be infinite.
    layers : int
        Objects with ``layer & layers == 0`` are not seen.
    ignore : int or (q,) int
        An id that a row does not see.

    Returns
    -------
    ids : (q, k) int64
        By distance as `distances` computes it, then by id; padded with -1.
    distances : (q, k) float64
        Padded with inf.

    Examples
    --------
    >>> nearest([7, 3], [[0, 0, 1, 1], [4, 1, 5, 5]], None, [[3, 1], [9, 5]], k=2, max_distance=4)
    (array([[ 3,  7], [ 3, -1]]), array([[ 1.,  2.], [ 4., inf]]))
    """
    objects = _visible(ids, boxes, state, layers)
    asked = np.asarray(points, BOX_DTYPE)
    limits = np.broadcast_to(np.asarray(max_distance, BOX_DTYPE), len(asked))
    found = np.full((len(asked), k), -1, ID_DTYPE)
    values = np.full((len(asked), k), np.inf)
    width = min(k, len(objects.ids))
    for rows, may_see in _blocks(objects, len(asked), ignore):
        far = distances(asked[rows, None], objects.boxes[None])
        near = may_see & (far <= limits[rows, None])
        # stable: by id where the distance is the same
        order = np.lexsort((far, ~near), axis=-1)[:, :width]
        is_near = np.take_along_axis(near, order, axis=-1)
        found[rows, :width] = np.where(is_near, objects.ids[order], -1)
        values[rows, :width] = np.where(is_near, np.take_along_axis(far, order, axis=-1), np.inf)
    return found, values


def raycast_all(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    origins: ArrayLike,
    directions: ArrayLike,
    *,
    max_t: ArrayLike = np.inf,
    layers: int = ALL,
    ignore: ArrayLike = -1,
) -> tuple[Rows, Boxes]:
    """Return everything that rays meet, and when.

    Parameters
    ----------
    ids, boxes, state, layers, ignore
        As in `nearest`.
    origins, directions : (q, ndim) float64
        A ray is ``origin + t * direction`` with ``0 <= t <= max_t``; not normalised.
    max_t : scalar or (q,) float64
        Last times; they may be infinite.

    Returns
    -------
    rows : (m, 2) int64
        Rows (row of `origins`, id), by row, then t, then id.
    t : (m,) float64
        When, as `cast_times` computes it.

    Examples
    --------
    >>> raycast_all([7, 3], [[4, 0, 5, 1], [2, 1, 3, 2]], None, [[0, 1]], [[2, 0]])
    (array([[0, 3], [0, 7]]), array([1., 2.]))
    """
    start = np.asarray(origins, BOX_DTYPE)
    starts = np.concatenate((start, start), axis=-1)
    return _casts(_visible(ids, boxes, state, layers), starts, directions, max_t, ignore)


def raycast(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    origins: ArrayLike,
    directions: ArrayLike,
    *,
    max_t: ArrayLike = np.inf,
    layers: int = ALL,
    ignore: ArrayLike = -1,
) -> tuple[Rows, Boxes]:
    """Return what rays meet first: ids and t, shape ``(q,)``, -1 and inf for nothing.

    Arguments as in `raycast_all`.

    >>> raycast([7, 3], [[4, 0, 5, 1], [2, 1, 3, 2]], None, [[0, 1], [0, 9]], [[2, 0], [2, 0]])
    (array([ 3, -1]), array([ 1., inf]))
    """
    options = {"max_t": max_t, "layers": layers, "ignore": ignore}
    hits = raycast_all(ids, boxes, state, origins, directions, **options)  # type: ignore[arg-type]
    return _first(*hits, len(np.asarray(origins)))


def boxcast_all(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    inputs: ArrayLike,
    motions: ArrayLike,
    *,
    layers: int = ALL,
    ignore: ArrayLike = -1,
) -> tuple[Rows, Boxes]:
    """Return everything that moving boxes touch, and when first.

    Parameters
    ----------
    ids, boxes, state, layers, ignore
        As in `nearest`.
    inputs : (q, 2*ndim) float64
        Boxes at the start.
    motions : (q, ndim) float64
        An input is moved by ``t * motion`` with ``0 <= t <= 1``.

    Returns
    -------
    rows : (m, 2) int64
        Rows (row of `inputs`, id), by row, then t, then id.
    t : (m,) float64
        When, as `cast_times` computes it; 0 for what an input touches at the start.

    Examples
    --------
    >>> boxcast_all([7, 3], [[4, 0, 5, 1], [2, 1, 3, 2]], None, [[0, 0, 1, 1]], [[4, 0]])
    (array([[0, 3], [0, 7]]), array([0.25, 0.75]))
    """
    starts = np.asarray(inputs, BOX_DTYPE)
    return _casts(_visible(ids, boxes, state, layers), starts, motions, 1.0, ignore)


def boxcast(
    ids: ArrayLike,
    boxes: ArrayLike,
    state: State | None,
    inputs: ArrayLike,
    motions: ArrayLike,
    *,
    layers: int = ALL,
    ignore: ArrayLike = -1,
) -> tuple[Rows, Boxes]:
    """Return what moving boxes touch first: ids and t, shape ``(q,)``, -1 and inf for nothing.

    Arguments as in `boxcast_all`.

    >>> boxcast([7, 3], [[4, 0, 5, 1], [2, 1, 3, 2]], None, [[0, 0, 1, 1]], [[4, 0]])
    (array([3]), array([0.25]))
    """
    hits = boxcast_all(ids, boxes, state, inputs, motions, layers=layers, ignore=ignore)
    return _first(*hits, len(np.asarray(inputs)))


def _visible(ids: ArrayLike, boxes: ArrayLike, state: State | None, layers: int) -> _Objects:
    """Return the objects on some layers, by ascending id."""
    ids, boxes = np.asarray(ids, ID_DTYPE), np.asarray(boxes, BOX_DTYPE)
    is_seen = seen(default_state(len(ids)) if state is None else state, layers)
    order = np.argsort(ids)
    order = order[is_seen[order]]
    return _Objects(ids[order], boxes[order])


def _blocks(
    objects: _Objects, n_rows: int, ignore: ArrayLike
) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
    """Yield rows of a question and which objects, by column, each of them may see."""
    ignored = np.broadcast_to(np.asarray(ignore, ID_DTYPE), n_rows)
    step = max(1, meeting.BLOCK // max(len(objects.ids), 1))
    for start in range(0, n_rows, step):
        rows = np.arange(start, min(start + step, n_rows))
        yield rows, objects.ids != ignored[rows, None]


def _casts(
    objects: _Objects, starts: Boxes, motions: ArrayLike, lasts: ArrayLike, ignore: ArrayLike
) -> tuple[Rows, Boxes]:
    """Return rows (row of `starts`, id) that meet and when, by row, then time, then id."""
    motion = np.asarray(motions, BOX_DTYPE)
    last = np.broadcast_to(np.asarray(lasts, BOX_DTYPE), len(starts))
    found, when = [np.empty((0, 2), ID_DTYPE)], [np.empty(0)]
    for rows, may_see in _blocks(objects, len(starts), ignore):
        t = cast_times(
            starts[rows, None], motion[rows, None], last[rows, None], objects.boxes[None]
        )
        i, k = np.nonzero(may_see & (t < np.inf))
        found.append(np.stack((rows[i], objects.ids[k]), axis=-1))
        when.append(t[i, k])
    rows, times = np.concatenate(found), np.concatenate(when)
    order = np.lexsort((rows[:, 1], times, rows[:, 0]))
    return rows[order], times[order]


def _first(rows: Rows, t: Boxes, n_rows: int) -> tuple[Rows, Boxes]:
    """Return id and time of the first hit of each row."""
    ids, times = np.full(n_rows, -1, ID_DTYPE), np.full(n_rows, np.inf)
    asked, at = np.unique(rows[:, 0], return_index=True)
    ids[asked], times[asked] = rows[at, 1], t[at]
    return ids, times
