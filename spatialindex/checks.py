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

import sys
from functools import reduce
from math import inf
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spatialindex.constants import AXES, BOX_DTYPE, EXACT_INTEGER, NDIMS
from spatialindex.errors import InvalidArgumentError, InvalidBoxError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Place",
    "as_boxes",
    "as_coordinates",
    "as_directions",
    "as_float64",
    "as_lengths",
    "as_moving_boxes",
    "as_numbers",
    "as_planes",
    "as_points",
    "as_radii",
    "as_word",
    "check_ndim",
    "refuse_negative",
    "refuse_nonfinite",
    "refuse_zeros",
]

_WIDTHS: Final = tuple(2 * ndim for ndim in NDIMS)

_BOX_LABELS: Final = {
    ndim: [f"{side} {axis}" for side in ("lower", "upper") for axis in AXES[:ndim]]
    for ndim in NDIMS
}
"""What the columns of a box are called."""


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
    array = as_numbers(x, name, InvalidBoxError)
    if array is not x and _is_pair_of_corners(x):
        raise InvalidBoxError(
            f"{name}: a pair of corner arrays could be read as two boxes; "
            f"use box_from_corners(lowers, uppers), or pass one array of shape (n, 2, ndim)"
        )
    rows = _as_rows(array, ndim, name)
    if array is x and array.dtype == BOX_DTYPE and rows.flags.carray and _are_boxes(rows, infinite):
        return rows
    place = Place(name, rows.ndim > 1, _BOX_LABELS[rows.shape[-1] // 2])
    floats = as_float64(rows, x, place, InvalidBoxError)
    if not _are_boxes(floats, infinite):
        _refuse_box(floats, place, infinite)
    return floats


def as_points(
    x: ArrayLike, ndim: int | None = None, *, name: str = "points", what: str = "points"
) -> NDArray[np.float64]:
    """Check points and return them as float64, without a copy when they are good already.

    Parameters
    ----------
    x : array_like, shape (ndim,) or (n, ndim)
        One point or many, finite. A batch of none may be ``[]`` when `ndim` is given.
    ndim : {2, 3}, optional
        Number of coordinates of a point; None takes it from the shape.
    name, what : str, default "points"
        What messages call the argument, and what its rows are.

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
    floats = as_coordinates(x, ndim, name, InvalidArgumentError, what)
    refuse_nonfinite(floats, Place(name, floats.ndim > 1, AXES[: floats.shape[-1]]))
    return floats


def as_radii(
    x: ArrayLike, n: int, *, name: str = "radii", what: str = "a length"
) -> NDArray[np.float64]:
    """Check radii and return them as float64, one a row.

    Parameters
    ----------
    x : array_like, a scalar or shape (n,)
        Distances, zero or more; infinity is legal. A scalar stands for all rows.
    n : int
        Number of rows.
    name : str, default "radii"
        What messages call the argument.
    what : str, default "a length"
        What messages call one of the numbers.

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
    floats = as_lengths(x, name, what)
    if floats.ndim and floats.shape != (n,):
        raise InvalidArgumentError(
            f"{name}: shape {floats.shape} does not fit {n} row{'' if n == 1 else 's'}; "
            f"pass one number or shape ({n},)"
        )
    return floats if floats.ndim else np.full(n, floats)


def as_directions(x: ArrayLike, ndim: int, *, name: str = "directions") -> NDArray[np.float64]:
    """Check directions and return them as float64, shape (ndim,) or (n, ndim).

    Raises `InvalidArgumentError` for what `as_points` refuses, and for a direction of zeros.
    """
    floats = as_points(x, ndim, name=name, what="directions")
    refuse_zeros(floats, Place(name, floats.ndim > 1), "a ray that does not move is query_point")
    return floats


def as_moving_boxes(x: ArrayLike, ndim: int) -> NDArray[np.float64]:
    """Check boxes that move and return them as `as_boxes` does; they are finite."""
    floats = as_boxes(x, ndim, infinite=True)
    finite = np.isfinite(floats)
    if not finite.all():
        flat = int(np.argmin(finite))
        place = Place("boxes", floats.ndim > 1, _BOX_LABELS[ndim])
        raise InvalidBoxError(
            f"{place(flat)} is {floats.flat[flat]}; a box that moves is finite, "
            f"give the bound a value or drop the row"
        )
    return floats


def as_planes(
    normals: ArrayLike, offsets: ArrayLike, ndim: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check planes and return normals, shape (p, ndim), and offsets, shape (p,), as float64.

    One plane may come without rows. Normals are finite and not zero, offsets anything but NaN; one
    offset may serve all planes.

    Raises `InvalidArgumentError` naming the first offending row.
    """
    floats = as_points(normals, ndim, name="normals", what="normals")
    refuse_zeros(floats, Place("normals", floats.ndim > 1), "a plane needs a normal")
    array = as_numbers(offsets, "offsets", InvalidArgumentError)
    many = floats.reshape(-1, ndim)
    if array.ndim and array.shape != (len(many),):
        raise InvalidArgumentError(
            f"offsets: shape {array.shape} does not fit {len(many)} normal"
            f"{'' if len(many) == 1 else 's'}; pass one number or shape ({len(many)},)"
        )
    place = Place("offsets", array.ndim == 1)
    limits = as_float64(array, offsets, place, InvalidArgumentError)
    missing = np.isnan(limits)
    if missing.any():
        flat = int(np.argmax(missing))
        raise InvalidArgumentError(f"{place(flat)} is nan; give it a value or drop the plane")
    return many, limits if limits.ndim else np.full(len(many), limits)


def refuse_zeros(floats: NDArray[np.float64], place: Place, why: str) -> None:
    """Raise `InvalidArgumentError` naming the first row of vectors that has no direction."""
    # axis by axis: `any` of short rows takes ten times as long
    some = floats.any() if floats.ndim == 1 else reduce(np.logical_or, floats.T)
    if not some.all():
        row = int(np.argmin(some))
        raise InvalidArgumentError(f"{place.row(row)} is zero; {why}, drop the row")


def as_word(name: str, value: str, words: tuple[str, ...]) -> int:
    """Return the position of a word, or refuse it and suggest the nearest."""
    if isinstance(value, str) and value in words:
        return words.index(value)
    hint = did_you_mean(value, words)
    raise InvalidArgumentError(f"{name} is {value!r}; {hint}known: {', '.join(words)}")


class Place(NamedTuple):
    """Where a number of an argument is, as messages say it: ``boxes[17]: lower x``."""

    name: str
    """The argument."""
    many: bool
    """Whether it has rows, so that the row is named."""
    labels: Sequence[str] = ("",)
    """What the columns of a row are called."""

    def row(self, row: int) -> str:
        """Name a row."""
        return f"{self.name}[{row}]" if self.many else self.name

    def __call__(self, flat: int) -> str:
        """Name the number with a flat index."""
        row, column = divmod(flat, len(self.labels))
        label = self.labels[column]
        return f"{self.row(row)}: {label}" if label else self.row(row)


def check_ndim(ndim: int) -> None:
    """Raise `InvalidArgumentError` unless boxes can have that number of dimensions."""
    if ndim not in NDIMS:
        raise InvalidArgumentError(f"ndim={ndim!r}: boxes are 2D or 3D; pass 2 or 3")


def as_coordinates(
    x: ArrayLike, ndim: int | None, name: str, error: type[Exception], what: str = "points"
) -> NDArray[np.float64]:
    """Return points as float64, shape (ndim,) or (n, ndim); values are not looked at."""
    if ndim is not None:
        check_ndim(ndim)
    array = as_numbers(x, name, error)
    if array.shape == (0,) and ndim is not None:
        array = array.reshape(0, ndim)
    wanted = NDIMS if ndim is None else (ndim,)
    if array.ndim not in (1, 2) or array.shape[-1] not in wanted:
        dims = " or ".join(f"{d}D" for d in wanted)
        last = " or ".join(map(str, wanted)) if ndim is None else f"{ndim}"
        raise error(
            f"{name}: shape {array.shape} is not {dims} {what}; "
            f"pass shape (ndim,) for one or (n, ndim) for many, with ndim {last}"
        )
    return as_float64(array, x, Place(name, array.ndim > 1, AXES[: array.shape[-1]]), error)


def as_lengths(x: ArrayLike, name: str, what: str = "a length") -> NDArray[np.float64]:
    """Return one length, shape (), or one a row, shape (n,): zero or more, infinity too."""
    array = as_numbers(x, name, InvalidArgumentError)
    if array.ndim > 1:
        raise InvalidArgumentError(
            f"{name}: shape {array.shape} is not lengths; pass one number or shape (n,)"
        )
    place = Place(name, array.ndim == 1)
    floats = as_float64(array, x, place, InvalidArgumentError)
    refuse_negative(floats, place, what)
    return floats


def refuse_negative(floats: NDArray[np.float64], place: Place, what: str = "a length") -> None:
    """Raise `InvalidArgumentError` naming the first number that is NaN or below zero."""
    positive = floats >= 0.0  # False for NaN
    if not positive.all():
        flat = int(np.argmin(positive))
        raise InvalidArgumentError(
            f"{place(flat)} is {float(floats.flat[flat])}; {what} is zero or more"
        )


def refuse_nonfinite(floats: NDArray[np.float64], place: Place) -> None:
    """Raise `InvalidArgumentError` naming the first number that is NaN or infinite."""
    finite = np.isfinite(floats)
    if not finite.all():
        flat = int(np.argmin(finite))
        raise InvalidArgumentError(
            f"{place(flat)} is {float(floats.flat[flat])}; make it finite or drop the row"
        )


def as_numbers(x: ArrayLike, name: str, error: type[Exception]) -> NDArray[Any]:
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
        raise error(f"{name}: got True and False, not numbers; convert with astype(float)")
    what = type(x).__name__ if kind == "O" else f"dtype {array.dtype}"
    raise error(f"{name}: {what} is not real numbers; pass an array of float64")


def as_float64(
    array: NDArray[Any], source: Any, place: Place, error: type[Exception]
) -> NDArray[np.float64]:
    """Return numbers as kernels want them, and refuse those that float64 would change.

    `array` is what `as_numbers` made of `source`, reshaped at most.
    """
    if array.dtype == BOX_DTYPE:
        if not isinstance(source, np.ndarray):
            _refuse_mixed_integers(array, source, place, error)
        return array if array.flags.carray else np.array(array, order="C")
    kind = array.dtype.kind
    if kind == "O":
        _refuse_integers(array, place, error)
        raise error(f"{place.name}: dtype object is not real numbers; convert with astype(float)")
    if kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > EXACT_INTEGER:
        _refuse_integers(array, place, error)
    with np.errstate(all="ignore"):  # what overflows is told below, and not by a warning
        floats = np.array(array, dtype=BOX_DTYPE, order="C")
    if array.dtype.itemsize > BOX_DTYPE.itemsize:
        changed = (floats != array) & (array == array)  # and not NaN
        if changed.any():
            flat = int(np.argmax(changed))
            raise error(
                f"{place(flat)} {array.flat[flat]!s} is not a float64 number; "
                f"round it outward and pass float64"
            )
    return floats


def _refuse_mixed_integers(
    array: NDArray[np.float64], source: Any, place: Place, error: type[Exception]
) -> None:
    """Find integers that NumPy rounded silently, because a list had floats as well."""
    if array.size and np.abs(array).max() >= EXACT_INTEGER:
        _refuse_integers(np.array(source, dtype=object), place, error)


def _refuse_integers(array: NDArray[Any], place: Place, error: type[Exception]) -> None:
    """Raise for the first integer that is beyond the integers of float64, if there is one."""
    for flat, value in enumerate(array.flat):
        if isinstance(value, Integral) and abs(int(value)) > EXACT_INTEGER:
            raise error(
                f"{place(flat)} {int(value)} is beyond 2**53, where float64 skips integers; "
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


def _are_boxes(rows: NDArray[np.float64], infinite: bool) -> bool:
    """Tell whether all rows are boxes."""
    ndim = rows.shape[-1] // 2
    if rows.ndim == 1:
        # one box: plain floats are several times as fast as array reductions
        values = rows.tolist()
        for axis in range(ndim):
            lower, upper = values[axis], values[axis + ndim]
            if not lower <= upper or not (infinite or (lower > -inf and upper < inf)):
                return False
        return True
    # one pass instead of five where there is an index; boxes alone do not pay for the compiler, nor
    # do they wait for another thread that is about to load it
    check = getattr(sys.modules.get("spatialindex.kernels.rows"), "are_boxes", None)
    if check is not None:
        return bool(check(rows, infinite, (0,) * ndim))
    # column by column: rows of two or three would be inner loops of length two or three. A NaN is
    # caught here as well, since no comparison with it is True
    for axis in range(ndim):
        if not (rows[:, axis] <= rows[:, axis + ndim]).all():
            return False
    return infinite or bool(np.isfinite(rows).all())


def _refuse_box(rows: NDArray[np.float64], place: Place, infinite: bool) -> None:
    """Raise for the first row that is not a box; there must be one."""
    ndim = rows.shape[-1] // 2
    table = rows.reshape(-1, 2 * ndim)
    good = (table[:, :ndim] <= table[:, ndim:]).all(axis=1)
    if not infinite:
        good &= np.isfinite(table).all(axis=1)
    row = int(np.argmin(good))
    values = table[row].tolist()
    for column, value in enumerate(values):
        where = place(row * 2 * ndim + column)
        if value != value:  # NaN
            raise InvalidBoxError(f"{where} is nan; give the bound a value or drop the box")
        if not infinite and value in (-inf, inf):
            raise InvalidBoxError(
                f"{where} is {value}; stored boxes are finite, give the bound a value "
                f"or drop the box"
            )
    axis = next(d for d in range(ndim) if values[d] > values[d + ndim])
    raise InvalidBoxError(
        f"{place.row(row)}: lower {AXES[axis]} {values[axis]} exceeds upper {AXES[axis]} "
        f"{values[axis + ndim]}; swap the corners or drop the box"
    )
