"""Making boxes from shapes.

A maker never returns less than the exact shape of the numbers it is given, and it returns the exact
box where float64 has it. A bound that float64 does not have is the next number outward::

    box_from_sphere([0.1, 0], 0.7)    upper x: 0.1 + 0.7 lies between 0.7999999999999999 and 0.8,
                                      the next float64: the box ends at 0.8
    box_from_sphere([0.5, 0], 0.25)   upper x: 0.75 exactly, and a box that starts there touches

One in, one out: when every argument is one shape, the answer is one box of shape ``(2*ndim,)``;
when any has rows, it has rows, and the arguments that are one stand for all of them.

Arguments are checked by the door in `spatialindex.checks`; it is offered here too, so that whoever
makes or takes boxes imports one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.checks import (
    Place,
    as_boxes,
    as_coordinates,
    as_float64,
    as_lengths,
    as_numbers,
    as_points,
    as_radii,
    refuse_negative,
    refuse_nonfinite,
)
from spatialindex.constants import AXES
from spatialindex.errors import InvalidArgumentError, InvalidBoxError
from spatialindex.outward import add_down, add_up, extent_bounds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "as_boxes",
    "as_points",
    "as_radii",
    "box_around",
    "box_from_capsule",
    "box_from_center",
    "box_from_corners",
    "box_from_motion",
    "box_from_obb",
    "box_from_points",
    "box_from_sphere",
]


def box_from_corners(
    lowers: ArrayLike, uppers: ArrayLike, *, infinite: bool = False
) -> NDArray[np.float64]:
    """Make boxes from their lower and upper corners.

    Parameters
    ----------
    lowers, uppers : array_like, shape (ndim,) or (n, ndim)
        Corners, ``lowers <= uppers`` on each axis. One corner serves all rows of the other.
    infinite : bool, default False
        Whether bounds may be infinite, as those of queries may.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        The boxes, exactly, in the order of the input.

    Raises
    ------
    InvalidBoxError
        For corners that `as_boxes` would refuse, or of unlike shapes.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_from_corners([[0, 0], [5, 5]], [[2, 1], [6, 6]])
    array([[0., 0., 2., 1.],
           [5., 5., 6., 6.]])
    """
    lower = as_coordinates(lowers, None, "lowers", InvalidBoxError)
    ndim = lower.shape[-1]
    upper = as_coordinates(uppers, ndim, "uppers", InvalidBoxError)
    _agree(InvalidBoxError, lowers=_rows(lower), uppers=_rows(upper))
    boxes = np.concatenate(np.broadcast_arrays(lower, upper), axis=-1)
    return as_boxes(boxes, ndim, infinite=infinite)


def box_from_center(centers: ArrayLike, half_extents: ArrayLike) -> NDArray[np.float64]:
    """Make boxes from their centers and half extents.

    Parameters
    ----------
    centers : array_like, shape (ndim,) or (n, ndim)
        Centers, finite.
    half_extents : array_like, a scalar, shape (ndim,) or (n, ndim)
        Half the edges, zero or more, finite. A scalar makes squares or cubes.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        In the order of the input; each bound exact or the next number outward.

    Raises
    ------
    InvalidArgumentError
        For an argument that is NaN, infinite, negative or of an unfitting shape.
    InvalidBoxError
        For a bound that is beyond the range of float64.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_from_center([[0, 0], [5, 5]], [2, 1])
    array([[-2., -1.,  2.,  1.],
           [ 3.,  4.,  7.,  6.]])
    """
    center = as_points(centers, name="centers")
    half = _as_half_extents(half_extents, center.shape[-1])
    _agree(centers=_rows(center), half_extents=_rows(half))
    return _bounded(add_down(center, -half), add_up(center, half))


def box_from_sphere(centers: ArrayLike, radii: ArrayLike) -> NDArray[np.float64]:
    """Make the boxes of balls (disks in 2D).

    Parameters
    ----------
    centers : array_like, shape (ndim,) or (n, ndim)
        Centers, finite.
    radii : array_like, a scalar or shape (n,)
        Radii, zero or more, finite.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        In the order of the input; each bound exact or the next number outward.

    Raises
    ------
    InvalidArgumentError
        For an argument that is NaN, infinite, negative or of an unfitting shape.
    InvalidBoxError
        For a bound that is beyond the range of float64.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_from_sphere([0, 0, 0], 1.5)
    array([-1.5, -1.5, -1.5,  1.5,  1.5,  1.5])
    """
    center = as_points(centers, name="centers")
    radius = _as_finite_radii(radii)
    _agree(centers=_rows(center), radii=_rows(radius, single=0))
    radius = radius[..., np.newaxis]
    return _bounded(add_down(center, -radius), add_up(center, radius))


def box_from_capsule(a: ArrayLike, b: ArrayLike, radii: ArrayLike) -> NDArray[np.float64]:
    """Make the boxes of capsules: balls swept along a segment.

    Parameters
    ----------
    a, b : array_like, shape (ndim,) or (n, ndim)
        Ends of the segments, finite.
    radii : array_like, a scalar or shape (n,)
        Radii, zero or more, finite.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        In the order of the input; each bound exact or the next number outward.

    Raises
    ------
    InvalidArgumentError
        For an argument that is NaN, infinite, negative or of an unfitting shape.
    InvalidBoxError
        For a bound that is beyond the range of float64.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_from_capsule([0, 0], [4, 1], 0.5)
    array([-0.5, -0.5,  4.5,  1.5])
    """
    start = as_points(a, name="a")
    end = as_points(b, start.shape[-1], name="b")
    radius = _as_finite_radii(radii)
    _agree(a=_rows(start), b=_rows(end), radii=_rows(radius, single=0))
    radius = radius[..., np.newaxis]
    return _bounded(
        add_down(np.minimum(start, end), -radius), add_up(np.maximum(start, end), radius)
    )


def box_from_obb(
    centers: ArrayLike, half_extents: ArrayLike, rotations: ArrayLike
) -> NDArray[np.float64]:
    """Make the boxes of oriented boxes: ``center ± |R| @ half_extents``.

    Parameters
    ----------
    centers : array_like, shape (ndim,) or (n, ndim)
        Centers, finite.
    half_extents : array_like, a scalar, shape (ndim,) or (n, ndim)
        Half the edges along the box's own axes, zero or more, finite.
    rotations : array_like, shape (ndim, ndim) or (n, ndim, ndim)
        Matrices whose columns are the box's own axes, finite. They need not be orthonormal: scaled
        and sheared boxes are right as well.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        In the order of the input; each bound exact or the next number outward, for the matrix as it
        is given.

    Raises
    ------
    InvalidArgumentError
        For an argument that is NaN, infinite, negative or of an unfitting shape.
    InvalidBoxError
        For a bound that is beyond the range of float64.

    Notes
    -----
    Angles and quaternions are not taken: their matrices are rounded, so that no exact shape stands
    behind them. ``[[cos t, -sin t], [sin t, cos t]]`` is the matrix of an angle t.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_from_obb([10, 10], [2, 1], [[0, -1], [1, 0]])
    array([ 9.,  8., 11., 12.])
    """
    center = as_points(centers, name="centers")
    ndim = center.shape[-1]
    half = _as_half_extents(half_extents, ndim)
    rotation = _as_rotations(rotations, ndim)
    n = _agree(centers=_rows(center), half_extents=_rows(half), rotations=_rows(rotation, single=2))
    count = 1 if n is None else n
    lower, upper = extent_bounds(
        np.broadcast_to(center, (count, ndim)),
        np.broadcast_to(rotation, (count, ndim, ndim)),
        np.broadcast_to(half, (count, ndim)),
    )
    return _bounded(lower[0], upper[0]) if n is None else _bounded(lower, upper)


def box_from_points(points: ArrayLike, offsets: ArrayLike | None = None) -> NDArray[np.float64]:
    """Make the boxes around groups of points: hulls, triangles of a mesh.

    Parameters
    ----------
    points : array_like, shape (k, ndim) or (n, k, ndim)
        Points, finite: one group of k, or n groups of k, such as the (n, 3, 3) corners of n
        triangles. A single point, shape (ndim,), is a group of one.
    offsets : array_like of int, shape (n + 1,), optional
        Where groups of unlike sizes begin in `points`, of shape (k, ndim): group i is
        ``points[offsets[i]:offsets[i + 1]]``. Begins with 0, ends with k, ascends strictly.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        The exact boxes, in the order of the groups; one box for points of shape (k, ndim) without
        offsets.

    Raises
    ------
    InvalidArgumentError
        For points that are NaN, infinite or of the wrong shape, a group of none, and offsets that
        do not divide the points.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_from_points([[0, 0], [4, 1], [2, 3]])
    array([0., 0., 4., 3.])
    >>> si.box_from_points([[0, 0], [4, 1], [2, 3], [9, 9], [8, 7]], offsets=[0, 3, 5])
    array([[0., 0., 4., 3.],
           [8., 7., 9., 9.]])
    """
    array = as_numbers(points, "points", InvalidArgumentError)
    if array.ndim == 3:
        return _hulls_of_equal_groups(array, points, offsets)
    flat = as_points(points).reshape(-1, array.shape[-1])
    if offsets is None:
        if not len(flat):
            raise InvalidArgumentError("points: none to go around; pass at least one point")
        return _hull(flat, flat)
    starts = _as_starts(offsets, len(flat))
    boxes = np.empty((len(starts), 2 * flat.shape[1]))
    for axis, column in enumerate(flat.T):
        if len(starts):
            np.minimum.reduceat(column, starts, out=boxes[:, axis])
            np.maximum.reduceat(column, starts, out=boxes[:, axis + len(flat.T)])
    return boxes


def box_from_motion(boxes: ArrayLike, displacements: ArrayLike) -> NDArray[np.float64]:
    """Make the boxes that cover boxes on their way along a straight line.

    Parameters
    ----------
    boxes : array_like, shape (2 * ndim,) or (n, 2 * ndim)
        Boxes where the motion starts.
    displacements : array_like, shape (ndim,) or (n, ndim)
        Where the motion ends, relative to its start; finite.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        In the order of the input; each bound exact or the next number outward.

    Raises
    ------
    InvalidBoxError
        For boxes that `as_boxes` refuses, and a bound that is beyond the range of float64.
    InvalidArgumentError
        For displacements that are NaN, infinite or of an unfitting shape.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_from_motion([0, 0, 1, 1], [5, -2])
    array([ 0., -2.,  6.,  1.])
    """
    start = as_boxes(boxes)
    ndim = start.shape[-1] // 2
    motion = as_points(displacements, ndim, name="displacements", what="displacements")
    _agree(boxes=_rows(start), displacements=_rows(motion))
    lower, upper = start[..., :ndim], start[..., ndim:]
    return _bounded(
        np.minimum(lower, add_down(lower, motion)), np.maximum(upper, add_up(upper, motion))
    )


def box_around(boxes: ArrayLike) -> NDArray[np.float64]:
    """Make the one box around all boxes.

    Parameters
    ----------
    boxes : array_like, shape (2 * ndim,) or (n, 2 * ndim)
        At least one box.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,)
        The exact box around them.

    Raises
    ------
    InvalidBoxError
        For boxes that `as_boxes` refuses, and for none.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.box_around([[0, 0, 2, 1], [5, 5, 6, 6]])
    array([0., 0., 6., 6.])
    """
    checked = as_boxes(boxes)
    rows = checked.reshape(-1, checked.shape[-1])
    if not len(rows):
        raise InvalidBoxError("boxes: none to go around; pass at least one box")
    ndim = rows.shape[1] // 2
    return _hull(rows[:, :ndim], rows[:, ndim:])


def _as_half_extents(x: ArrayLike, ndim: int) -> NDArray[np.float64]:
    """Check half extents: shape (ndim,) or (n, ndim)."""
    name = "half_extents"
    array = as_numbers(x, name, InvalidArgumentError)
    if array.ndim == 0:
        array = np.full(ndim, as_float64(array, x, Place(name, False), InvalidArgumentError))
        place = Place(name, False)
    elif array.ndim <= 2 and array.shape[-1] == ndim:
        place = Place(name, array.ndim > 1, AXES[:ndim])
    else:
        raise InvalidArgumentError(
            f"{name}: shape {array.shape} is not half extents of {ndim}D boxes; "
            f"pass one number, shape ({ndim},) or (n, {ndim})"
        )
    half = as_float64(array, x, place, InvalidArgumentError)
    refuse_negative(half, place)
    refuse_nonfinite(half, place)
    return half


def _as_finite_radii(x: ArrayLike) -> NDArray[np.float64]:
    """Check the radii of shapes: shape () or (n,)."""
    radii = as_lengths(x, "radii")
    refuse_nonfinite(radii, Place("radii", radii.ndim > 0))
    return radii


def _as_rotations(x: ArrayLike, ndim: int) -> NDArray[np.float64]:
    """Check matrices: shape (ndim, ndim) or (n, ndim, ndim)."""
    array = as_numbers(x, "rotations", InvalidArgumentError)
    if array.ndim not in (2, 3) or array.shape[-2:] != (ndim, ndim):
        raise InvalidArgumentError(
            f"rotations: shape {array.shape} is not {ndim}D matrices; pass ({ndim}, {ndim}) or "
            f"(n, {ndim}, {ndim}), and make matrices of angles and quaternions beforehand"
        )
    entries = [f"entry [{row}, {column}]" for row in range(ndim) for column in range(ndim)]
    place = Place("rotations", array.ndim > 2, entries)
    floats = as_float64(array, x, place, InvalidArgumentError)
    refuse_nonfinite(floats, place)
    return floats


def _as_starts(x: ArrayLike, count: int) -> NDArray[np.intp]:
    """Check the offsets of groups of `count` points; return where each begins."""
    offsets = as_numbers(x, "offsets", InvalidArgumentError)
    if offsets.ndim != 1 or not offsets.size or offsets.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"offsets: {offsets.dtype} of shape {offsets.shape} is not where groups begin; "
            f"pass integers of shape (n + 1,), from 0 to the number of points"
        )
    if offsets[0] != 0 or offsets[-1] != count:
        raise InvalidArgumentError(
            f"offsets: they run from {offsets[0]} to {offsets[-1]}, the points from 0 to {count}; "
            f"begin with 0 and end with the number of points"
        )
    ascends = offsets[:-1] < offsets[1:]
    if not ascends.all():
        group = int(np.argmin(ascends))
        raise InvalidArgumentError(
            f"offsets[{group}]: {offsets[group]} is not below the next, {offsets[group + 1]}; "
            f"drop groups of no points, and put the points in the order of their groups"
        )
    return offsets[:-1].astype(np.intp)


def _hulls_of_equal_groups(
    array: NDArray[Any], points: ArrayLike, offsets: ArrayLike | None
) -> NDArray[np.float64]:
    """Make the boxes of points of shape (n, k, ndim)."""
    k, ndim = array.shape[1:]
    if offsets is not None:
        raise InvalidArgumentError(
            f"offsets: points of shape {array.shape} are in groups already; "
            f"pass points of shape (k, ndim), or no offsets"
        )
    if not k:
        raise InvalidArgumentError(
            f"points: shape {array.shape} is groups of no points; pass at least one point a group"
        )
    if ndim not in (2, 3):
        raise InvalidArgumentError(
            f"points: shape {array.shape} is not 2D or 3D points; pass (n, k, 2) or (n, k, 3)"
        )
    labels = [f"point {point}, {axis}" for point in range(k) for axis in AXES[:ndim]]
    place = Place("points", True, labels)
    floats = as_float64(array, points, place, InvalidArgumentError)
    refuse_nonfinite(floats, place)
    # columns as long as there are groups: rows of two or three would be the inner loops
    columns = np.ascontiguousarray(floats.transpose(1, 2, 0))
    return np.ascontiguousarray(np.concatenate((columns.min(axis=0), columns.max(axis=0))).T)


def _hull(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the one box of the lowest of `lower` and the highest of `upper`, column by column."""
    lowest = [column.min() for column in lower.T]
    return np.array(lowest + [column.max() for column in upper.T])


def _rows(array: NDArray[np.float64], single: int = 1) -> int | None:
    """Return the number of rows, or None for one; `single` is the number of axes that one has."""
    return len(array) if array.ndim > single else None


def _agree(error: type[Exception] = InvalidArgumentError, **rows: int | None) -> int | None:
    """Return the number of rows that all arguments with rows have, or None when none has."""
    many = {name: n for name, n in rows.items() if n is not None}
    first = next(iter(many), None)
    if first is None:
        return None
    for name, n in many.items():
        if n != many[first]:
            raise error(
                f"{name}: {n} rows do not fit the {many[first]} of {first}; "
                f"pass as many, or one for all"
            )
    return many[first]


def _bounded(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put bounds together, and refuse one that overflowed."""
    boxes = np.concatenate((lower, upper), axis=-1)
    finite = np.isfinite(boxes)
    if not finite.all():
        row, column = divmod(int(np.argmin(finite)), boxes.shape[-1])
        ndim = boxes.shape[-1] // 2
        where = f"boxes[{row}]" if boxes.ndim > 1 else "box"
        side = "lower" if column < ndim else "upper"
        raise InvalidBoxError(
            f"{where}: {side} {AXES[column % ndim]} is beyond the range of float64; "
            f"scale the coordinates down"
        )
    return boxes
