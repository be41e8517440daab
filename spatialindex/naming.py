"""From slots and input rows to ids in canonical order.

A structure lists rows of slots in any order. Each slot or input row becomes a *label*, a number
that sorts as its id does. Two labels are packed into one key; keys are sorted and unpacked to
ids (`spatialindex.kernels.sorting`)::

    rows (slot 4, slot 0)  labels 4, 0  pair key 0b000_100  ->  ids (0, 4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.constants import ID_DTYPE, SLOT_DTYPE
from spatialindex.execution import WORTH_THREADS, chunks, run_chunks
from spatialindex.kernels import sorting
from spatialindex.objects import Labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNLABELLED", "named_rows", "row_labels"]

UNLABELLED = np.empty(0, ID_DTYPE)
"""Labels or names of what is its own label or name."""

_BUCKET_BITS = 15  # keys of a bucket, as a power of two: they and their scratch fit a near cache
_MOST_AT_ONCE = 2**18  # keys that one thread sorts as they are


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
    workers: int = 1,
) -> NDArray[np.int64]:
    """Turn ``(m, 2)`` rows of slots or input rows into ids, in canonical order with `sort`.

    `column` of the rows goes first and is named by `high`, the other one by `low`. With `is_pair`,
    the smaller label goes first. The memory of `rows` is written into.
    """
    rows = np.ascontiguousarray(rows, SLOT_DTYPE)
    n = len(rows)
    out = np.empty((n, 2), ID_DTYPE)
    labels, names = (high.of, low.of), (high.names, low.names)
    if n < WORTH_THREADS:
        workers = 1
    if not sort:

        def name(start: int, stop: int) -> None:
            sorting.name_rows(rows, start, stop, column, labels, names, is_pair, out)

        run_chunks(name, n, workers)
        return out
    keys: NDArray[Any] = rows.view(np.uint64).reshape(-1)  # packed in place, as long as rows
    if workers == 1 and n <= _MOST_AT_ONCE:
        bits = low.bits, high.bits + low.bits
        if bits[1] <= 32:  # or half as long, and leaves room for what sorting needs
            halves = keys.view(np.uint32)
            keys, other = halves[:n], halves[n:]
        else:
            other = np.empty_like(keys)
        sorting.order_rows(rows, column, labels, names, is_pair, *bits, keys, other, out)
        return out
    top = max(min(n.bit_length() - _BUCKET_BITS, high.bits), 0)
    shift = high.bits + low.bits - top
    borders = [start for start, _ in chunks(n, workers)]
    tops = np.zeros((len(borders), 1 << top), np.int64)
    starts, other = np.empty((1 << top) + 1, np.int64), np.empty_like(keys)

    def pack(start: int, stop: int) -> None:
        counts = tops[borders.index(start)]
        options = (column, labels, is_pair, low.bits)
        sorting.pack_rows(rows, start, stop, *options, keys, shift, counts)

    def deal(start: int, stop: int) -> None:
        sorting.deal_keys(keys, start, stop, shift, tops[borders.index(start)], other)

    def finish(first: int, last: int) -> None:
        sorting.finish_buckets(other, keys, starts, first, last, shift, low.bits, names, out)

    run_chunks(pack, n, workers)
    sorting.place_tops(tops, starts)
    run_chunks(deal, n, workers)
    run_chunks(finish, 1 << top, workers, smallest=1)
    return out
