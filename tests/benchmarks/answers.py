"""Answers as something that can be compared: one sorted number a row of a relation.

Row ``(3, 7)`` becomes ``3 << 32 | 7``. Whoever answers the same question has to have the same
numbers, whatever the order in which the rows came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["EQUAL", "as_keys", "difference", "listed", "packed"]

EQUAL = "equal"
"""What is said of an answer that is the same as that of the others."""


def as_keys(rows: Any) -> NDArray[np.uint64]:
    """Pack rows of shape ``(m, 2)`` into one number each, in the order they have."""
    relation = np.asarray(rows).reshape(-1, 2)
    if len(relation) and not 0 <= relation.min() <= relation.max() < 2**32:
        raise ValueError(f"rows hold {relation.min()} to {relation.max()}: not rows or ids of ours")
    columns = relation.astype(np.uint64)
    packed: NDArray[np.uint64] = columns[:, 0] << np.uint64(32) | columns[:, 1]
    return packed


def difference(mine: NDArray[np.uint64], right: NDArray[np.uint64]) -> str:
    """Say in words how sorted keys differ from sorted keys that are right."""
    if np.array_equal(mine, right):
        return EQUAL
    distinct = np.unique(mine)
    missing = len(np.setdiff1d(right, distinct, assume_unique=True))
    extra = len(np.setdiff1d(distinct, right, assume_unique=True))
    twice = len(mine) - len(distinct)
    counts = ((missing, "missing"), (extra, "extra"), (twice, "twice"))
    return f"DIFFERS: {', '.join(f'{count:,} {word}' for count, word in counts if count)}"


def listed(found: Sequence[Any]) -> NDArray[np.int64]:
    """Return rows ``(row of the input, id)`` for answers that came as ids, one list a row."""
    sizes = np.fromiter((len(ids) for ids in found), np.int64, len(found))
    rows = np.empty((int(sizes.sum()), 2), np.int64)
    rows[:, 0] = np.repeat(np.arange(len(found)), sizes)
    if len(rows):
        rows[:, 1] = np.concatenate([np.asarray(ids, np.int64) for ids in found])
    return rows


def packed(*columns: Any) -> NDArray[np.int64]:
    """Return an answer that has an order, and floats in it, as rows: all of its bits, in its order.

    Columns have the same shape. Entry `i` makes rows ``(c*i, …)``, ``(c*i + 1, …)`` and so on, one
    for each whole number, where -1 is the largest of 32 bits, and two for each float.
    """
    words: list[NDArray[Any]] = []
    for column in map(np.ravel, columns):
        if column.dtype == np.float64:
            # no -0.0: it equals 0.0
            bits = (column + 0.0).view(np.uint64)
            words += (bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF))
        else:
            words.append(column.astype(np.int64) & 0xFFFFFFFF)
    flat = np.stack([word.astype(np.int64) for word in words], axis=-1).ravel()
    return np.column_stack((np.arange(len(flat)), flat))
