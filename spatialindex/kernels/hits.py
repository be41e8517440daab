"""When casts meet what they meet, and the order of such hits: by row, then time, then id.

A structure lists hits as rows (row of the cast, slot) in any order. They are dealt out to their
rows by counting, and each row's own into as many equal spans of time as there are of them; the few
that share a span are put in order by time and then by id::

    (1, a) (0, b) (1, c)   dealt   row 0: b   row 1: a at 2.0, c at 0.5
                           sorted  row 0: b   row 1: c, a

Linear where times are spread; a crowded span costs a factor of the logarithm of its hits.
"""

import numpy as np

from spatialindex.kernels.decide import cast_time
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import prefetch

__all__ = ["order_hits", "time_hits"]

_AHEAD = 16  # hits that a box is asked for before it is needed
_SHORTEST = 1e-290  # between times: the reciprocal of less could overflow
_FEW = 12  # hits below which inserting one after the other is as fast as anything


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
def _is_before(times, out, i, j):
    """Tell if hit `i` comes before hit `j`."""
    return times[i] < times[j] or (times[i] == times[j] and out[i, 1] < out[j, 1])


@inner_kernel
def _swap(times, out, i, j):
    """Swap two hits of a row."""
    times[i], times[j] = times[j], times[i]
    out[i, 1], out[j, 1] = out[j, 1], out[i, 1]


@inner_kernel
def _sink(times, out, first, i, n):
    """Let hit `i` of the heap of `n` from `first` on sink below those that come after it."""
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _is_before(times, out, first + child, first + child + 1):
            child += 1
        if not _is_before(times, out, first + i, first + child):
            return
        _swap(times, out, first + i, first + child)
        i = child


@inner_kernel
def _sort_span(times, out, first, n):
    """Sort the `n` hits from `first` on, all of one row, in place: a few by insertion or a heap."""
    if n <= _FEW:
        for i in range(first + 1, first + n):
            j = i
            while j > first and _is_before(times, out, j, j - 1):
                _swap(times, out, j, j - 1)
                j -= 1
        return
    for i in range(n // 2 - 1, -1, -1):
        _sink(times, out, first, i, n)
    for last in range(n - 1, 0, -1):
        _swap(times, out, first, first + last)
        _sink(times, out, first, 0, last)


@inner_kernel
def _deal_by_time(times, ids, begin, n, ends, ordered, out):
    """Deal the `n` hits from `begin` on into `n` spans of time; ``ends[i]`` is where one ends."""
    soonest, latest = times[begin], times[begin]
    for i in range(begin, begin + n):
        soonest, latest = min(soonest, times[i]), max(latest, times[i])
    scale = n / (latest - soonest) if latest - soonest > _SHORTEST else 0.0
    for i in range(n + 1):
        ends[i] = 0
    for i in range(begin, begin + n):
        span = min(np.int64((times[i] - soonest) * scale), n - 1)
        out[i, 0] = span  # for as long as it takes
        ends[span + 1] += 1
    for i in range(1, n + 1):
        ends[i] += ends[i - 1]
    for i in range(begin, begin + n):
        span = out[i, 0]
        at = begin + ends[span]
        ends[span] += 1
        ordered[at] = times[i]
        out[at, 1] = ids[i]


@kernel
def order_hits(rows, times, slot_ids, starts, dealt, ids, ends, ordered, out):
    """Write hits as (row, id) in canonical order to `out`, and their times to `ordered`.

    `slot_ids` is empty where slots are ids. `starts` has an element more than there are casts, all
    zero; `dealt`, float64, and `ids`, int64, both ``(m,)``, and `ends`, int64 ``(m + 1,)``, are
    scratch.
    """
    for i in range(rows.shape[0]):
        starts[rows[i, 0] + 1] += 1
    for row in range(1, starts.shape[0]):
        starts[row] += starts[row - 1]
    for i in range(rows.shape[0]):
        row = rows[i, 0]
        at = starts[row]
        starts[row] += 1
        ids[at] = slot_ids[rows[i, 1]] if slot_ids.shape[0] else np.int64(rows[i, 1])
        dealt[at] = times[i]
    begin = 0
    for row in range(starts.shape[0] - 1):
        n = starts[row] - begin  # where it ends, by now
        if n <= _FEW:
            for i in range(begin, begin + n):
                ordered[i], out[i, 1] = dealt[i], ids[i]
            _sort_span(ordered, out, begin, n)
        else:
            _deal_by_time(dealt, ids, begin, n, ends, ordered, out)
            first = 0
            for span in range(n):
                if ends[span] - first > 1:
                    _sort_span(ordered, out, begin + first, ends[span] - first)
                first = ends[span]
        for i in range(begin, begin + n):
            out[i, 0] = row
        begin += n
