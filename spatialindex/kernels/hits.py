"""When casts meet what they meet, and the order of such hits: by row, then time, then id.

A structure lists hits as rows (row of the cast, slot) in any order. They are dealt out to their
rows by counting, and each row's own are put in order, by time and then by id: a few by counting how
many of them come before each, which takes no branches, many as a heap::

    (1, a) (0, b) (1, c)   dealt   row 0: b   row 1: a at 2.0, c at 0.5
                           sorted  row 0: b   row 1: c, a

Linear in the hits, but for a factor of the logarithm of a row's own.
"""

import numpy as np

from spatialindex.kernels.best import offer, put_in_order
from spatialindex.kernels.decide import cast_time
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import prefetch

__all__ = ["order_hits", "time_hits"]

_AHEAD = 8  # hits that a box is asked for before it is needed
_FEW = 128  # hits of a row: counting takes a third of a heap's time at 20, four fifths at 200


@kernel
def time_hits(rows, exact, boxes, ignored, times, dim):
    """Write when each of the hits ``(m, 2)`` happens to `times`, and leave out ignored slots.

    `exact` is that of a region of kind `CAST`, `ignored` a slot for each of its rows or empty. Hits
    that stay move up in `rows`; returns how many there are.
    """
    n = 0
    for i in range(rows.shape[0]):
        if i + _AHEAD < rows.shape[0]:
            prefetch(boxes, np.int64(rows[i + _AHEAD, 1]))
        row, slot = rows[i, 0], rows[i, 1]
        if ignored.shape[0] and ignored[row] == slot:
            continue
        rows[n, 0] = row
        rows[n, 1] = slot
        times[n] = cast_time(exact, row, boxes, slot, dim)
        n += 1
    return n


@inner_kernel
def _rank_few(times, ids, row, ordered, out):
    """Write the hits of one row in order: each to its rank."""
    n = times.shape[0]
    for i in range(n):
        time, id_ = times[i], ids[i]
        rank = 0
        for j in range(n):
            rank += (times[j] < time) | ((times[j] == time) & (ids[j] < id_))
        ordered[rank] = time
        out[rank, 0] = row
        out[rank, 1] = id_


@kernel
def order_hits(rows, times, slot_ids, starts, slots, dealt, ids, ordered, out):
    """Write hits as (row, id) in canonical order to `out`, and their times to `ordered`.

    `starts` has an element more than there are casts, all zero; `slots`, int32, `dealt`, float64,
    and `ids`, int64, all ``(m,)``, are scratch.
    """
    for i in range(rows.shape[0]):
        starts[rows[i, 0] + 1] += 1
    for row in range(1, starts.shape[0]):
        starts[row] += starts[row - 1]
    for i in range(rows.shape[0]):
        row = rows[i, 0]
        at = starts[row]
        starts[row] += 1
        slots[at] = rows[i, 1]
        ids[at] = slot_ids[rows[i, 1]]
        dealt[at] = times[i]
    begin = 0
    for row in range(starts.shape[0] - 1):
        end = starts[row]  # by now
        n = end - begin
        if n <= _FEW:
            _rank_few(dealt[begin:end], ids[begin:end], row, ordered[begin:end], out[begin:end])
        else:
            heap = dealt[begin:end].reshape((1, n))
            heap_slots = slots[begin:end].reshape((1, n))
            for i in range(n):
                offer(heap, heap_slots, 0, i, heap[0, i], heap_slots[0, i], slot_ids)
            put_in_order(heap, heap_slots, 0, n, slot_ids)
            for i in range(n):
                ordered[begin + i] = heap[0, i]
                out[begin + i, 0] = row
                out[begin + i, 1] = slot_ids[heap_slots[0, i]]
        begin = end
