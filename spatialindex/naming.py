"""From slots and input rows to ids in canonical order.

A structure lists rows of slots in any order. Each slot or input row becomes a *label*, a number
that sorts as its id does; two labels are packed into a 64-bit key, the keys are radix-sorted and
unpacked to ids::

    rows (slot 4, slot 0)  labels 4, 0  pair key 0b000_100  ->  ids (0, 4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ID_DTYPE, SLOT_DTYPE
from spatialindex.objects import Labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNLABELLED", "named_rows", "row_labels"]

UNLABELLED = np.empty(0, ID_DTYPE)
"""Labels or names of what is its own label or name."""


def row_labels(names: NDArray[np.int64], n: int) -> Labels:
    """Return labels for the `n` rows of a batch; `names` are their ids, empty for themselves."""
    return Labels(UNLABELLED, names, max(n - 1, 0).bit_length())


def named_rows(
    rows: NDArray[np.int32],
    column: int,
    high: Labels,
    low: Labels,
    *,
    is_pair: bool = False,
    sort: bool,
) -> NDArray[np.int64]:
    """Turn ``(m, 2)`` rows of slots or input rows into ids, in canonical order with `sort`.

    `column` of the rows goes first and is named by `high`, the other one by `low`. With `is_pair`,
    the smaller label goes first. The memory of `rows` is written into.
    """
    from spatialindex.kernels.sorting import pack_rows, sort_keys, unpack_rows

    rows = np.ascontiguousarray(rows, SLOT_DTYPE)
    keys = rows.view(np.uint64).reshape(-1)  # packed in place: a key is as long as a row
    out = np.empty((len(rows), 2), ID_DTYPE)
    pack_rows(rows, column, high.of, low.of, is_pair, low.bits, keys)
    if sort:
        keys = sort_keys(keys, np.empty_like(keys), 0, high.bits + low.bits)
    unpack_rows(keys, low.bits, high.names, low.names, out)
    return out
