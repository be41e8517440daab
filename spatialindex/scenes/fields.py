"""What a recording may hold: one line a field, the strict check of a file, the coercion of arrays.

A recording is a table of `n` objects over a number of frames. Fields of shape ``(frames, n, …)``
are told anew in every frame, those of shape ``(n,)`` once an object, and single values once a
recording::

    boxes   (frames, n, 2*ndim) float64    the only field that has to be there
    alive   (frames, n)         bool       False: not there in this frame, and its box is NaN
    static  (n,)                bool       …
    name    ()                  text       …

Files are held to exactly these types, so that what is read is what was written. In memory, what can
be turned into the type without loss is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spatialindex.constants import (
    ALL,
    AXES,
    BOX_DTYPE,
    DEFAULT_LAYER,
    EXACT_INTEGER,
    ID_DTYPE,
    NDIMS,
)
from spatialindex.errors import RecordingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "FORMAT",
    "MOST_FRAMES",
    "OBJECT_FIELDS",
    "TEXTS",
    "Field",
    "check_boxes",
    "check_file_field",
    "check_ids",
    "coerce",
    "coerce_boxes",
    "coerce_dt",
    "coerce_text",
]

FORMAT: Final = 1
"""Version of the file layout that is written, and the newest that is read."""

MOST_FRAMES: Final = 2**20
"""Frames that a recording may have, five hours at 60 a second. All work goes frame by frame, and a
file of some bytes can claim any number of frames without objects."""

TEXTS: Final = ("name", "source", "version", "licence", "notes")
"""Fields that are one text: what it is, whose engine or data, which release, terms, remarks."""

_CHECKED_AT_ONCE: Final = 2**20  # bounds; frame by frame, short frames would take long

_BOOL: Final = np.dtype(np.bool_)
_BITS: Final = np.dtype(np.uint64)


class Field(NamedTuple):
    """An array field with a value for each object, and maybe for each frame."""

    dtype: np.dtype[Any]
    """Its type in files and in memory."""
    every_frame: bool
    """True: shape ``(frames, n)``; False: shape ``(n,)``."""
    default: int | bool
    """Value of all objects when the field is not there."""


OBJECT_FIELDS: Final = {
    "static": Field(_BOOL, False, False),
    "asleep": Field(_BOOL, True, False),
    "alive": Field(_BOOL, True, True),
    "swept": Field(_BOOL, False, False),
    "layer": Field(_BITS, False, DEFAULT_LAYER),
    "mask": Field(_BITS, False, ALL),
    "sensor": Field(_BOOL, False, False),
}
"""Fields with a default, by name. `ids` is apart: its default is the row."""


def check_file_field(name: str, array: NDArray[Any]) -> None:
    """Refuse an array of a file that has not exactly the type and the number of axes of its field.

    Sizes are checked against `boxes` later, by `coerce`; names that are no field are passed over.
    """
    if name in TEXTS:
        dtype, axes, words = None, 0, "one text"
        right = array.dtype.kind == "U"
    elif name in ("dt", "format"):
        dtype, axes, words = None, 0, "one number" if name == "dt" else "one integer"
        right = array.dtype.kind in ("fiu" if name == "dt" else "iu")
    elif name == "boxes":
        dtype, axes, words = BOX_DTYPE, 3, "float64 (frames, n, 2*ndim)"
        right = array.dtype.newbyteorder("=") == dtype
    elif name == "ids" or name in OBJECT_FIELDS:
        field = OBJECT_FIELDS.get(name, Field(ID_DTYPE, False, 0))
        dtype, axes = field.dtype, 2 if field.every_frame else 1
        words = f"{dtype.name} {'(frames, n)' if field.every_frame else '(n,)'}"
        right = array.dtype.newbyteorder("=") == dtype
    else:
        return
    if not right or array.ndim != axes:
        shape = f" {array.shape}" if array.ndim else ""
        raise RecordingError(f"{name}: {array.dtype}{shape} where {words} is expected")


def coerce_boxes(boxes: ArrayLike) -> NDArray[np.float64]:
    """Return `boxes` as a contiguous float64 array ``(frames, n, 2*ndim)``, not yet checked."""
    try:
        array = np.asarray(boxes)
    except ValueError as error:
        raise RecordingError(f"boxes: no array of shape (frames, n, 2*ndim): {error}") from None
    if array.ndim != 3 or array.shape[2] not in [2 * ndim for ndim in NDIMS]:
        raise RecordingError(
            f"boxes: shape {array.shape} is not (frames, n, 2*ndim) with 2*ndim 4 or 6; one frame "
            "of boxes (n, 2*ndim) is boxes[None]"
        )
    if array.shape[0] == 0:
        raise RecordingError("boxes: no frames; a recording has at least one")
    if array.shape[0] > MOST_FRAMES:
        raise RecordingError(
            f"boxes: {array.shape[0]:,} frames; a recording has at most {MOST_FRAMES:,}: keep "
            "every few frames, or make several"
        )
    if array.dtype.kind in "iu":
        if array.size and max(-int(array.min()), int(array.max())) > EXACT_INTEGER:
            raise RecordingError("boxes: integers beyond 2**53 are inexact as float64; scale them")
    elif not (array.dtype.kind == "f" and np.can_cast(array.dtype, BOX_DTYPE, "safe")):
        raise RecordingError(f"boxes: {array.dtype} does not turn into float64 without loss")
    return np.ascontiguousarray(array, dtype=BOX_DTYPE)


def coerce(name: str, value: ArrayLike, field: Field, frames: int, n: int) -> NDArray[Any]:
    """Return `value` as the array of a field; one value stands for all objects and frames."""
    shape = (frames, n) if field.every_frame else (n,)
    try:
        array = np.asarray(value)
        if array.dtype.kind in "fO" and field.dtype.kind in "iu" and array is not value:
            array = _whole_numbers(value, array)
    except (ValueError, OverflowError) as error:
        raise RecordingError(f"{name}: no array of shape {shape}: {error}") from None
    if array.ndim and array.shape != shape:
        words = "one value an object in every frame" if field.every_frame else "one value an object"
        raise RecordingError(f"{name}: shape {array.shape}, but boxes make it {shape}, {words}")
    if array.dtype != field.dtype:
        empty = array.size == 0 and not isinstance(value, np.ndarray)
        if not empty and (field.dtype.kind == "b" or array.dtype.kind not in "iu"):
            raise RecordingError(f"{name}: {array.dtype} where {field.dtype.name} is expected")
        limits = np.iinfo(field.dtype) if field.dtype.kind in "iu" else None
        if limits is not None and array.size:
            low, high = int(array.min()), int(array.max())
            if low < limits.min or high > limits.max:
                raise RecordingError(
                    f"{name}: {low if low < limits.min else high} does not fit {field.dtype.name}"
                )
        array = array.astype(field.dtype)
    if array.ndim == 0:
        return np.broadcast_to(array, shape)
    return np.ascontiguousarray(array)


def _whole_numbers(value: ArrayLike, array: NDArray[Any]) -> NDArray[Any]:
    """Return Python integers as uint64 where NumPy makes floats of a list of 1 and 2**64 - 1."""
    numbers = np.array(value, dtype=object)
    if all(type(number) is int and 0 <= number <= ALL for number in numbers.flat):
        return numbers.astype(_BITS)
    return array


def coerce_text(name: str, value: object) -> str:
    """Return a text field; texts end where files end them, so they hold no zero character."""
    if not isinstance(value, str):
        raise RecordingError(f"{name}: {value!r} is no text")
    if "\0" in value:
        raise RecordingError(f"{name}: {value!r} holds a zero character; take it out")
    return str(value)


def coerce_dt(value: object) -> float:
    """Return seconds from frame to frame: finite, and 0.0 where time means nothing."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise RecordingError(f"dt: {value!r} is no number of seconds")
    seconds = float(value)
    if not math.isfinite(seconds) or seconds < 0:
        raise RecordingError(f"dt: {seconds} s between frames; it must be finite and at least 0")
    return seconds


def check_ids(ids: NDArray[np.int64]) -> None:
    """Refuse ids that are negative or there twice."""
    if (ids < 0).any():
        row = int(np.argmax(ids < 0))
        raise RecordingError(f"ids[{row}]: {ids[row]} is negative; ids start at 0")
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(twice):
        first, second = int(order[twice[0]]), int(order[twice[0] + 1])
        raise RecordingError(
            f"ids[{second}]: {ids[second]} is the id of ids[{first}] already; give every object "
            "its own"
        )


def check_boxes(boxes: NDArray[np.float64], alive: NDArray[np.bool_]) -> None:
    """Refuse boxes that are not finite or inverted, and boxes of the dead that are not NaN."""
    ndim = boxes.shape[2] // 2
    many = max(1, _CHECKED_AT_ONCE // max(1, boxes[0].size))
    for start in range(0, len(boxes), many):
        part, there = boxes[start : start + many], alive[start : start + many]
        is_finite = np.isfinite(part).all(axis=2)
        is_ordered = (part[..., :ndim] <= part[..., ndim:]).all(axis=2)
        is_right = np.where(there, is_finite & is_ordered, np.isnan(part).all(axis=2))
        if not is_right.all():
            _refuse_first(part, there, start)


def _refuse_first(boxes: NDArray[np.float64], alive: NDArray[np.bool_], start: int) -> None:
    """Raise for the first wrong box of frames, the first of which is `start`."""
    ndim = boxes.shape[2] // 2
    for t, (frame, living) in enumerate(zip(boxes, alive, strict=True), start):
        wrong = ~np.isfinite(frame).all(axis=1) & living
        if wrong.any():
            row = int(np.argmax(wrong))
            column = int(np.argmin(np.isfinite(frame[row])))
            corner = "lower" if column < ndim else "upper"
            raise RecordingError(
                f"boxes[{t}, {row}]: {corner} {AXES[column % ndim]} is {frame[row, column]}; boxes "
                "are finite, and NaN where `alive` is False"
            )
        wrong = (frame[:, :ndim] > frame[:, ndim:]).any(axis=1)
        if (wrong & living).any():
            row = int(np.argmax(wrong & living))
            axis = int(np.argmax(frame[row, :ndim] > frame[row, ndim:]))
            raise RecordingError(
                f"boxes[{t}, {row}]: lower {AXES[axis]} {frame[row, axis]} exceeds upper "
                f"{AXES[axis]} {frame[row, ndim + axis]}; swap the corners"
            )
        wrong = ~np.isnan(frame).all(axis=1) & ~living
        if wrong.any():
            row = int(np.argmax(wrong))
            raise RecordingError(
                f"boxes[{t}, {row}]: the object is not alive in frame {t}, but its box is "
                f"{frame[row].tolist()}; set it to NaN"
            )
