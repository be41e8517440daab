"""The door: input of any kind becomes checked float64 arrays, or one clear error.

What passes here can be handed to a kernel: native float64, C-contiguous, aligned and writeable (a
read-only array would be another kernel signature and compile again). A good array passes as it is,
without a copy::

    [[0, 0, 2, 1]]            ->  float64 (1, 4)   one row of lower x, lower y, upper x, upper y
    [0, 0, 2, 1]              ->  float64 (4,)     one box in, one box out
    shape (n, 2, 3)           ->  float64 (n, 6)   corner arrays in row form, a view
    [[0, 0, nan, 1]]          ->  InvalidBoxError: boxes[0]: upper x is nan; ...

Checking is a few passes over the whole array; the offending row is looked for only after one has
failed. Nothing is repaired: no clamping, no swapping of corners, no dropping of rows.
"""

from __future__ import annotations

from math import inf
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spatialindex.constants import BOX_DTYPE, NDIMS
from spatialindex.errors import InvalidArgumentError, InvalidBoxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["AXES", "as_boxes", "as_floats", "as_points", "as_radii", "check_ndim", "first_true"]

AXES: Final = "xyz"
"""Letters of the axes, as messages name them."""

_EXACT_INTEGER: Final = 2**53
"""Up to this magnitude float64 has every integer."""

_WIDTHS: Final = tuple(2 * ndim for ndim in NDIMS)


def as_boxes(
    x: ArrayLike, ndim: int | None = None, *, name: str = "boxes", infinite: bool = False
) -> NDArray[np.float64]:
    """Check boxes and return them as float64 rows, without a copy when they are good already.

    Parameters
    ----------
    x : array_like, shape (2 * ndim,) or (n, 2 * ndim), or in corner form (..., 2, ndim)
        One box or many, each ``[lower_0 … lower_{d-1}, upper_0 … upper_{d-1}]`` with
        ``lower <= upper``. Closed: a box of zero size is legal. A batch of none may be ``[]``.
    ndim : {2, 3}, optional
        Number of dimensions the boxes must have; None takes it from the shape.
    name : str, default "boxes"
        What messages call the argument.
    infinite : bool, default False
        Whether bounds may be infinite, as those of queries may. NaN is refused in any case.

    Returns
    -------
    ndarray of float64, shape (2 * ndim,) or (n, 2 * ndim)
        In the order of the input, C-contiguous and writeable; `x` itself or a view of it when that
        is possible.

    Raises
    ------
    InvalidBoxError
        For NaN, a bound that is infinite, a lower bound above its upper one, the wrong shape, dtype
        or number of dimensions, integers beyond 2**53 in magnitude, which float64 would change, and
        a pair of corner arrays, which `box_from_corners` is for.

    Notes
    -----
    ``(lowers, uppers)``, a tuple or list of two arrays, is refused because with two rows it has the
    shape of two boxes in corner form and would be read as those. An array or a nested list of shape
    (2, 2, ndim) is two boxes in corner form.

    Cost: about a microsecond for one box; a few passes over the array for many.

    Examples
    --------
    >>> import spatialindex as si
    >>> si.as_boxes([0, 0, 2, 1])
    array([0., 0., 2., 1.])
    >>> si.as_boxes([[[0, 0], [2, 1]], [[5, 5], [6, 6]]])
    array([[0., 0., 2., 1.],
           [5., 5., 6., 6.]])
    >>> si.as_boxes([[0, 0, 2, 1], [3, 0, 2, 1]])
    Traceback (most recent call last):
    ...
    spatialindex.errors.InvalidBoxError: boxes[1]: lower x 3.0 exceeds upper x 2.0;
    swap the corners or drop the box
    """
    if ndim is not None:
        check_ndim(ndim)
    array = _numbers(x, name, InvalidBoxError)
    if array is not x and _is_pair_of_corners(x):
        raise InvalidBoxError(
            f"{name}: a pair of corner arrays could be read as two boxes; "
            f"use box_from_corners(lowers, uppers), or pass one array of shape (n, 2, ndim)"
        )
    rows = _as_rows(array, ndim, name)
    dims = rows.shape[-1] // 2

    def spot(flat: int) -> str:
        row, column = divmod(flat, 2 * dims)
        side = "lower" if column < dims else "upper"
        return f"{_row_name(name, rows, row)}: {side} {AXES[column % dims]}"

    floats = _float64(rows, x, name, spot, InvalidBoxError)
    if not _are_boxes(floats, dims, infinite):
        _refuse_box(floats, dims, name, infinite)
    return floats


def as_points(x: ArrayLike, ndim: int, *, name: str = "points") -> NDArray[np.float64]:
    """Check points and return them as float64, without a copy when they are good already.

    Parameters
    ----------
    x : array_like, shape (ndim,) or (n, ndim)
        One point or many, finite. A batch of none may be ``[]``.
    ndim : {2, 3}
        Number of coordinates of a point.
    name : str, default "points"
        What messages call the argument.

    Returns
    -------
    ndarray of float64, shape (ndim,) or (n, ndim)
        In the order of the input, C-contiguous and writeable; `x` itself when that is possible.

    Raises
    ------
    InvalidArgumentError
        For NaN, infinity, the wrong shape or dtype, and integers beyond 2**53 in magnitude.

    Examples
    --------
    >>> from spatialindex.boxes import as_points
    >>> as_points([[0, 1], [2, 3]], 2)
    array([[0., 1.],
           [2., 3.]])
    """
    check_ndim(ndim)
    array = _numbers(x, name, InvalidArgumentError)
    if array.shape == (0,):
        array = array.reshape(0, ndim)
    if array.ndim not in (1, 2) or array.shape[-1] != ndim:
        raise InvalidArgumentError(
            f"{name}: shape {array.shape} is not {ndim}D points; "
            f"pass ({ndim},) for one or (n, {ndim}) for many"
        )

    def spot(flat: int) -> str:
        row, axis = divmod(flat, ndim)
        return f"{_row_name(name, array, row)}: {AXES[axis]}"

    floats = _float64(array, x, name, spot, InvalidArgumentError)
    refuse_nonfinite(floats, spot)
    return floats


def as_radii(x: ArrayLike, n: int, *, name: str = "radii") -> NDArray[np.float64]:
    """Check radii and return them as float64, one a row.

    Parameters
    ----------
    x : array_like, a scalar or shape (n,)
        Distances, zero or more; infinity is legal. A scalar stands for all rows.
    n : int
        Number of rows.
    name : str, default "radii"
        What messages call the argument.

    Returns
    -------
    ndarray of float64, shape (n,)
        C-contiguous and writeable; `x` itself when that is possible.

    Raises
    ------
    InvalidArgumentError
        For NaN, a negative radius, the wrong length or dtype, and integers beyond 2**53.

    Examples
    --------
    >>> from spatialindex.boxes import as_radii
    >>> as_radii(2, 3)
    array([2., 2., 2.])
    """
    array = _numbers(x, name, InvalidArgumentError)
    if array.ndim and array.shape != (n,):
        raise InvalidArgumentError(
            f"{name}: shape {array.shape} does not fit {n} row{'' if n == 1 else 's'}; "
            f"pass one number or shape ({n},)"
        )

    def spot(flat: int) -> str:
        return f"{name}[{flat}]" if array.ndim else name

    floats = _float64(array, x, name, spot, InvalidArgumentError)
    if not (floats >= 0.0).all():
        flat = first_true(~(floats >= 0.0))
        raise InvalidArgumentError(
            f"{spot(flat)}: {floats.flat[flat]!s} is not a distance; pass zero or more"
        )
    return floats if array.ndim else np.full(n, floats)


def check_ndim(ndim: int) -> None:
    """Raise `InvalidArgumentError` unless boxes can have that number of dimensions."""
    if ndim not in NDIMS:
        raise InvalidArgumentError(f"ndim={ndim!r}: boxes are 2D or 3D; pass 2 or 3")


def as_floats(
    x: ArrayLike, name: str, spot: Callable[[int], str] | None = None
) -> NDArray[np.float64]:
    """Return finite float64 numbers of whatever shape, or raise `InvalidArgumentError`.

    `spot` says where a flat index is, for messages; without it that is ``name[i, j]``.
    """
    array = _numbers(x, name, InvalidArgumentError)

    def where(flat: int) -> str:
        index = ", ".join(map(str, np.unravel_index(flat, array.shape)))
        return f"{name}[{index}]" if array.ndim else name

    floats = _float64(array, x, name, spot or where, InvalidArgumentError)
    refuse_nonfinite(floats, spot or where)
    return floats


def refuse_nonfinite(floats: NDArray[np.float64], spot: Callable[[int], str]) -> None:
    """Raise `InvalidArgumentError` naming the first number that is NaN or infinite."""
    # of an array with a NaN both extremes are NaN, and every comparison with it is False
    if floats.size and not (floats.min() > -inf and floats.max() < inf):
        flat = first_true(~np.isfinite(floats))
        raise InvalidArgumentError(
            f"{spot(flat)} is {floats.flat[flat]!s}; drop the row or make it finite"
        )


def first_true(flags: NDArray[np.bool_]) -> int:
    """Return the flat index of the first True; there must be one."""
    return int(flags.argmax())


def _numbers(x: ArrayLike, name: str, error: type[Exception]) -> NDArray[Any]:
    """Return `x` as an array of real numbers of any dtype; objects where integers may be in it."""
    if type(x) is np.ndarray and x.dtype == BOX_DTYPE:
        return x
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise error(f"{name}: masked entries have no value; fill them or drop their rows")
    try:
        array = np.asarray(x)
    except ValueError as reason:
        raise error(f"{name}: not an array of numbers ({reason}); make all rows alike") from None
    kind = array.dtype.kind
    if kind in "fiu" or (kind == "O" and array.ndim):
        return array
    if kind == "b":
        raise error(f"{name}: got True and False, not coordinates; convert with astype(float)")
    what = type(x).__name__ if kind == "O" else f"dtype {array.dtype}"
    raise error(f"{name}: {what} is not real numbers; pass an array of float64")


def _float64(
    array: NDArray[Any],
    source: Any,
    name: str,
    spot: Callable[[int], str],
    error: type[Exception],
) -> NDArray[np.float64]:
    """Return the array as kernels want it, and refuse numbers that float64 would change."""
    if array.dtype == BOX_DTYPE:
        if not isinstance(source, np.ndarray):
            _refuse_mixed_integers(array, source, spot, error)
        return array if array.flags.carray else np.array(array, order="C")
    kind = array.dtype.kind
    if kind == "O":
        _refuse_integers(array, spot, error)
        raise error(f"{name}: dtype object is not real numbers; convert with astype(float)")
    if kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _EXACT_INTEGER:
        _refuse_integers(array, spot, error)
    floats = np.array(array, dtype=BOX_DTYPE, order="C")
    if array.dtype.itemsize > BOX_DTYPE.itemsize:
        changed = (floats != array) & (array == array)
        if changed.any():
            flat = first_true(changed)
            raise error(
                f"{spot(flat)} {array.flat[flat]!s} is not a float64; round it outward yourself"
            )
    return floats


def _refuse_mixed_integers(
    array: NDArray[np.float64], source: Any, spot: Callable[[int], str], error: type[Exception]
) -> None:
    """Find integers that NumPy rounded silently, because a list had floats as well."""
    if array.size and np.abs(array).max() >= _EXACT_INTEGER:
        _refuse_integers(np.array(source, dtype=object), spot, error)


def _refuse_integers(
    array: NDArray[Any], spot: Callable[[int], str], error: type[Exception]
) -> None:
    """Raise for the first integer that is beyond the integers of float64, if there is one."""
    for flat, value in enumerate(array.flat):
        if isinstance(value, Integral) and abs(int(value)) > _EXACT_INTEGER:
            raise error(
                f"{spot(flat)} {int(value)} is beyond 2**53, where float64 skips integers; "
                f"shift or scale the coordinates"
            )


def _is_pair_of_corners(x: Any) -> bool:
    """Tell whether `x` is ``(lowers, uppers)`` and not one array or one nested list."""
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        return False
    shapes = [np.shape(item) for item in x]
    if any(not 0 < len(shape) < 3 or shape[-1] not in NDIMS for shape in shapes):
        return False
    if any(isinstance(item, np.ndarray) for item in x):
        return True
    # literals: ((0, 0), (2, 1)) is one box, and so are the entries of [[(0, 0), (2, 1)], …]
    return isinstance(x, tuple) and len(shapes[0]) == 2


def _as_rows(array: NDArray[Any], ndim: int | None, name: str) -> NDArray[Any]:
    """Bring boxes into row form, or raise for a shape that boxes do not have."""
    shape = array.shape
    if 1 <= len(shape) <= 2 and shape[-1] in _WIDTHS:
        rows = array
    elif 2 <= len(shape) <= 3 and shape[-2] == 2 and shape[-1] in NDIMS:
        rows = array.reshape(*shape[:-2], 2 * shape[-1])
    elif shape == (0,) and ndim is not None:
        return array.reshape(0, 2 * ndim)
    elif shape == (0,):
        raise InvalidBoxError(
            f"{name}: no boxes and no number of dimensions; pass ndim, or shape (0, 4) or (0, 6)"
        )
    else:
        wanted = ("(n, 4) in 2D, (n, 6) in 3D") if ndim is None else f"(n, {2 * ndim}) in {ndim}D"
        raise InvalidBoxError(
            f"{name}: shape {shape} is not boxes; pass {wanted}, a row being all lower bounds "
            f"and then all upper ones"
        )
    if ndim is not None and rows.shape[-1] != 2 * ndim:
        raise InvalidBoxError(
            f"{name}: shape {shape} is {rows.shape[-1] // 2}D boxes, wanted are {ndim}D ones; "
            f"pass (n, {2 * ndim}), or make the index with ndim={rows.shape[-1] // 2}"
        )
    return rows


def _are_boxes(rows: NDArray[np.float64], ndim: int, infinite: bool) -> bool:
    """Tell whether all rows are boxes."""
    if rows.ndim == 1:
        # one box: plain floats are several times as fast as array reductions
        values = rows.tolist()
        for axis in range(ndim):
            lower, upper = values[axis], values[axis + ndim]
            if not lower <= upper or not (infinite or (lower > -inf and upper < inf)):
                return False
        return True
    # column by column: rows of two or three would be inner loops of length two or three. A NaN is
    # caught here as well, since no comparison with it is True
    for axis in range(ndim):
        if not (rows[:, axis] <= rows[:, axis + ndim]).all():
            return False
    return infinite or not rows.size or bool(rows.min() > -inf and rows.max() < inf)


def _refuse_box(rows: NDArray[np.float64], ndim: int, name: str, infinite: bool) -> None:
    """Raise for the first row that is not a box; there must be one."""
    table = rows.reshape(-1, 2 * ndim)
    bad = ~(table[:, :ndim] <= table[:, ndim:]).all(axis=1)
    if not infinite:
        bad |= ~np.isfinite(table).all(axis=1)
    row = int(np.argmax(bad))
    where = _row_name(name, rows, row)
    values = table[row].tolist()
    for column, value in enumerate(values):
        side = f"{'lower' if column < ndim else 'upper'} {AXES[column % ndim]}"
        if value != value:  # NaN
            raise InvalidBoxError(f"{where}: {side} is nan; give the bound a value or drop the box")
        if not infinite and value in (-inf, inf):
            raise InvalidBoxError(
                f"{where}: {side} is {value}; stored boxes are finite, give the bound a value "
                f"or drop the box"
            )
    axis = next(d for d in range(ndim) if values[d] > values[d + ndim])
    raise InvalidBoxError(
        f"{where}: lower {AXES[axis]} {values[axis]} exceeds upper {AXES[axis]} "
        f"{values[axis + ndim]}; swap the corners or drop the box"
    )


def _row_name(name: str, array: NDArray[Any], row: int) -> str:
    """Name a row of many, or the only one."""
    return f"{name}[{row}]" if array.ndim > 1 else name
