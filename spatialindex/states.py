"""What a user may say of objects: ids, bits of layers and flags, checked at the door.

Input of any kind becomes arrays of one dtype that kernels can be given, or one error that names the
first row that is wrong::

    as_ids([7, 3])            ->  int64 (2,)     as_ids(7)    ->  int64 ()
    as_flags([0, 1], 2, ...)  ->  bool (2,)      as_layers(-1, 2, ...)  ->  InvalidArgumentError
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.constants import ALL, DEFAULT_LAYER, ID_DTYPE
from spatialindex.errors import DuplicateIdError, InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "DEFAULTS",
    "DOORS",
    "IDS_ARE",
    "LARGEST_ID",
    "as_flags",
    "as_ids",
    "as_known_ids",
    "as_layers",
    "is_integer",
    "refuse_repeats",
]

IDS_ARE = "ids are integers from 0 to 2**63 - 1"
"""What an error says of an id that cannot be one."""

LARGEST_ID = np.iinfo(np.int64).max
"""The largest id there may be."""


def is_integer(value: object) -> bool:
    """Tell if a value is an integer, of Python or NumPy, and not True or False."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_ids(ids: ArrayLike, *, name: str = "ids") -> NDArray[np.int64]:
    """Check ids: one int gives shape ``()``, a sequence ``(n,)``, int64, none negative."""
    array = as_known_ids(ids, name=name)
    if array.size and array.min() < 0:
        _refuse_ids(array, array < 0, name)
    return array


def as_known_ids(ids: ArrayLike, *, name: str = "ids") -> NDArray[np.int64]:
    """Check ids as `as_ids`, all but their signs: for what is looked up, as nothing negative is."""
    _refuse_masked(ids, name)
    array = np.asarray(ids)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, ID_DTYPE)
    kind = array.dtype.kind
    if kind not in "iu":
        raise _no_integers(ids, array, name, IDS_ARE)
    if array.ndim > 1:
        raise InvalidArgumentError(f"{name} has shape {array.shape}; pass one id or a flat array")
    if array.dtype == ID_DTYPE:
        return array if array.flags.carray else array.copy()  # another layout compiles again
    if kind == "u":
        _refuse_ids(array, array > LARGEST_ID, name)
    return array.astype(ID_DTYPE)


def _refuse_ids(array: NDArray[Any], bad: NDArray[np.bool_], name: str) -> None:
    """Raise for the first id that is bad, if there is one."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = int(array.reshape(-1)[row])
        where = f"{name}[{row}]" if array.ndim else name
        raise InvalidArgumentError(f"{where} is {value}: {IDS_ARE}")


def as_layers(value: ArrayLike, n: int, *, name: str) -> NDArray[np.uint64]:
    """Check bits of layers: shape ``()`` or ``(n,)``, uint64."""
    _refuse_masked(value, name)
    array = np.asarray(value)
    if array.size == 0 and array.shape == (n,):
        return np.empty(0, np.uint64)
    if array.dtype.kind not in "iu":
        raise _no_integers(value, array, name, "bits of layers are integers from 0 to 2**64 - 1")
    if array.dtype.kind == "i" and (array < 0).any():
        row = int(np.flatnonzero(array < 0)[0])
        where = f"{name}[{row}]" if array.ndim else name
        raise InvalidArgumentError(
            f"{where} is {int(array.reshape(-1)[row])}: bits of layers are not negative; "
            "for all bits use spatialindex.ALL"
        )
    _check_length(array, n, name)
    return array.astype(np.uint64)


def as_flags(value: ArrayLike, n: int, *, name: str) -> NDArray[np.bool_]:
    """Check flags: shape ``()`` or ``(n,)``, booleans, or integers 0 and 1."""
    _refuse_masked(value, name)
    array = np.asarray(value)
    if array.size == 0 and array.shape == (n,):
        return np.empty(0, np.bool_)
    if array.dtype.kind in "iu":
        bad = (array != 0) & (array != 1)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            where = f"{name}[{row}]" if array.ndim else name
            raise InvalidArgumentError(
                f"{where} is {int(array.reshape(-1)[row])}: pass True or False"
            )
    elif array.dtype.kind != "b":
        raise InvalidArgumentError(f"{name} of type {array.dtype}: pass True or False")
    _check_length(array, n, name)
    return array.astype(np.bool_)


def _no_integers(
    value: ArrayLike, array: NDArray[Any], name: str, what: str
) -> InvalidArgumentError:
    """Make the error for what are no integers, which names the first that is none."""
    if array.ndim == 1:
        for row, one in enumerate(value if isinstance(value, list | tuple) else array.tolist()):
            is_whole = isinstance(one, float | np.floating) and float(one).is_integer()
            if not is_whole and not is_integer(one):
                return InvalidArgumentError(f"{name}[{row}] is {one!r}: {what}")
        if array.dtype.kind == "f":
            return InvalidArgumentError(
                f"{name} of type {array.dtype}: {what}; pass {name}.astype(np.int64)"
            )
    return InvalidArgumentError(f"{name} {_shown(value)}: {what}")


def _shown(value: ArrayLike) -> str:
    """Show what was passed, shortened, with its type where that is the trouble."""
    shown = repr(value)
    return f"is {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _refuse_masked(value: ArrayLike, name: str) -> None:
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgumentError(
            f"{name} is a masked array: pass its .compressed() values, or fill them"
        )


def _check_length(array: NDArray[Any], n: int, name: str) -> None:
    if array.ndim and array.shape != (n,):
        raise InvalidArgumentError(
            f"{name} has shape {array.shape}; pass one value or one for each of the {n} objects"
        )


DOORS = {
    "layer": as_layers,
    "mask": as_layers,
    "static": as_flags,
    "asleep": as_flags,
    "sensor": as_flags,
}
"""What checks each field of a state."""

DEFAULTS = {
    "layer": DEFAULT_LAYER,
    "mask": ALL,
    "static": False,
    "asleep": False,
    "sensor": False,
}
"""What `insert` means when nothing is said: recognised by identity, and not checked again."""


def refuse_repeats(ids: NDArray[np.int64]) -> None:
    """Raise `DuplicateIdError` when an id is in the batch twice."""
    if len(ids) < 2 or (ids[1:] > ids[:-1]).all():
        return
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(again):
        at = again[np.argmin(order[again + 1])]
        first, second = int(order[at]), int(order[at + 1])
        raise DuplicateIdError(
            f"ids[{second}] is {int(ids[second])}, the same as ids[{first}]; "
            "pass each id once in a batch"
        )
