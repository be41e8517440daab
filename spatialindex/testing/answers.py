"""Exact comparison of answers, with messages that show what is missing and what is too much.

An answer is right when its type, dtype, shape and every bit of it are; floats are compared as bits,
so that a stored -0.0 comes back as -0.0. Nothing here knows a tolerance::

    assert_same(index.pairs(), expected, "pairs()")
    AssertionError: pairs(): 1 row is missing: [[3, 5]]; 1 row is too much: [[3, 4]]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["assert_same", "canonical"]

_SHOWN = 5


def assert_same(got: Any, expected: Any, what: str) -> None:
    """Raise `AssertionError` unless `got` is `expected` in type, dtype, shape and every bit.

    Parameters
    ----------
    got, expected : ndarray, int or None
        What was answered, and what the answer is.
    what : str
        The call, as messages show it.
    """
    if not isinstance(expected, np.ndarray):
        if type(got) is not type(expected) or got != expected:
            raise AssertionError(f"{what}: got {got!r}, expected {expected!r}")
        return
    if not isinstance(got, np.ndarray):
        raise AssertionError(f"{what}: got {got!r}, expected an array {expected!r}")
    if got.dtype != expected.dtype:
        raise AssertionError(f"{what}: got dtype {got.dtype}, expected {expected.dtype}")
    if got.shape == expected.shape and _is_equal(got, expected):
        return
    raise AssertionError(f"{what}: {_difference(got, expected)}")


def canonical(relation: NDArray[np.int64]) -> NDArray[np.int64]:
    """Put ids ``(n,)`` in ascending and rows ``(m, 2)`` in lexicographic order.

    >>> canonical(np.array([[1, 5], [0, 9], [1, 2]]))
    array([[0, 9], [1, 2], [1, 5]])
    """
    if relation.ndim == 1:
        return np.sort(relation)
    return relation[np.lexsort((relation[:, 1], relation[:, 0]))]


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


def _rows(n: int) -> str:
    return "1 row is" if n == 1 else f"{n} rows are"
