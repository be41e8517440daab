"""Exact comparison of answers, with messages that show what is missing and what is too much.

An answer is right when its type, dtype, shape and every bit of it are; floats are compared as bits,
so that a stored -0.0 comes back as -0.0. Nothing here knows a tolerance::

    assert_same(index.pairs(), expected, "pairs()")
    AssertionError: pairs(): 1 row is missing: [[3, 5]]; 1 row is too much: [[3, 4]]

Answers of several arrays, such as ids and distances, are compared one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["assert_same", "canonical"]

_SHOWN = 5


def assert_same(got: Any, expected: Any, what: object) -> None:
    """Raise `AssertionError` unless `got` is `expected` in type, dtype, shape and every bit.

    Parameters
    ----------
    got, expected : ndarray, tuple of them, number or None
        What was answered, and what the answer is.
    what : object
        The call: a string, or what turns into one when a message needs it.
    """
    if isinstance(expected, tuple):
        if not isinstance(got, tuple) or len(got) != len(expected):
            raise AssertionError(f"{what}: got {got!r}, expected {expected!r}")
        names = getattr(got, "_fields", range(len(got)))
        for name, one, other in zip(names, got, expected, strict=True):
            _assert_same(one, other, what, f", {name}", by_place=True)
    else:
        _assert_same(got, expected, what, "", by_place=False)


def _assert_same(got: Any, expected: Any, what: object, part: str, *, by_place: bool) -> None:
    """Compare one part of an answer; what is wrong is told row by row or as a set."""
    if not isinstance(expected, np.ndarray):
        if type(got) is not type(expected) or got != expected:
            raise AssertionError(f"{what}{part}: got {got!r}, expected {expected!r}")
        return
    if not isinstance(got, np.ndarray):
        raise AssertionError(f"{what}{part}: got {got!r}, expected an array {expected!r}")
    if got.dtype != expected.dtype:
        raise AssertionError(f"{what}{part}: got dtype {got.dtype}, expected {expected.dtype}")
    if got.shape == expected.shape and _is_equal(got, expected):
        return
    if by_place and got.shape == expected.shape:
        raise AssertionError(f"{what}{part}: {_first_difference(got, expected)}")
    raise AssertionError(f"{what}{part}: {_difference(got, expected)}")


def canonical(relation: Any) -> Any:
    """Put ids ``(n,)`` in ascending and rows ``(m, 2)`` in lexicographic order.

    Hits, ids or rows with times, are put in the order of row, time and id. What is no such answer
    is returned as it is.

    >>> canonical(np.array([[1, 5], [0, 9], [1, 2]]))
    array([[0, 9], [1, 2], [1, 5]])
    """
    parts = relation if isinstance(relation, tuple) else (relation,)
    found = parts[0] if parts else None
    if not isinstance(found, np.ndarray) or found.ndim == 0 or found.shape[1:] not in ((), (2,)):
        return relation
    if any(np.shape(times) != found.shape[:1] for times in parts[1:]):
        return relation
    by_row = [] if found.ndim == 1 else [found[:, 0]]
    order = np.lexsort((found if found.ndim == 1 else found[:, 1], *parts[1:], *by_row))
    if relation is found:
        return found[order]
    ordered = [part[order] for part in parts]
    return relation._make(ordered) if hasattr(relation, "_make") else tuple(ordered)


def _is_equal(got: NDArray[Any], expected: NDArray[Any]) -> bool:
    if expected.dtype.kind == "f":
        return got.tobytes() == expected.tobytes()
    return bool(np.array_equal(got, expected))


def _difference(got: NDArray[Any], expected: NDArray[Any]) -> str:
    """Say in a line what is wrong with an array of the right dtype."""
    if got.ndim != expected.ndim or got.shape[1:] != expected.shape[1:]:
        return f"got shape {got.shape}, expected {expected.shape}"
    rows = [tuple(np.atleast_1d(row).tolist()) for row in got]
    wanted = [tuple(np.atleast_1d(row).tolist()) for row in expected]
    parts = []
    for these, others, verb in ((wanted, rows, "missing"), (rows, wanted, "too much")):
        known = set(others)
        odd = [list(row) for row in these if row not in known]
        if odd:
            more = ", …" if len(odd) > _SHOWN else ""
            shown = ", ".join(map(str, odd[:_SHOWN]))
            parts.append(f"{_rows(len(odd))} {verb}: [{shown}{more}]")
    if len(set(rows)) < len(rows):
        parts.append(f"{_rows(len(rows) - len(set(rows)))} there twice")
    if parts:
        return "; ".join(parts)
    at = next(i for i, (a, b) in enumerate(zip(rows, wanted, strict=True)) if repr(a) != repr(b))
    return f"row {at} is {list(rows[at])}, expected {list(wanted[at])}"


def _first_difference(got: NDArray[Any], expected: NDArray[Any]) -> str:
    """Say which row is the first that differs, and how many do."""
    differs = [
        at for at in range(len(got)) if not _is_equal(got[at : at + 1], expected[at : at + 1])
    ]
    at = differs[0]
    text = f"row {at} is {got[at].tolist()}, expected {expected[at].tolist()}"
    return text if len(differs) == 1 else f"{text}; {len(differs)} rows of {len(got)} differ"


def _rows(n: int) -> str:
    return "1 row is" if n == 1 else f"{n} rows are"
