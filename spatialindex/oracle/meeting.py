"""Who meets whom: by brute force, or along the axis on which the fewest extents meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from spatialindex.constants import ID_DTYPE
from spatialindex.oracle.deciding import check_word, overlaps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Boxes = NDArray[np.float64]
    Rows = NDArray[np.int64]

__all__ = ["BLOCK", "BRUTE_BELOW", "Method", "canonical", "chosen", "meetings", "self_meetings"]

Method = Literal["auto", "brute", "sorted"]

BLOCK = 2**20
"""Comparisons at a time: some tens of MiB of temporary arrays, whatever the scene."""

BRUTE_BELOW = 2**18
"""Comparisons below which asking all of each other costs less than sorting first."""


def self_meetings(boxes: Boxes, method: Method) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows (i, k) of `boxes` that overlap, every unordered pair once, in pieces."""
    n, ndim = len(boxes), boxes.shape[1] // 2
    if method == "brute":
        step = max(1, BLOCK // max(n, 1))
        for start in range(0, n, step):
            block = np.arange(start, min(start + step, n))
            i, k = np.nonzero(overlaps(boxes[block, None], boxes[None]))
            upper = k > block[i]
            yield block[i[upper]], k[upper]
        return
    runs = [_own_runs(boxes[:, axis], boxes[:, axis + ndim]) for axis in range(ndim)]
    order, starts, stops = min(runs, key=lambda run: int((run[2] - run[1]).sum()))
    for position, run in _expand(starts, stops):
        i, k = order[position], order[run]
        keep = overlaps(boxes[i], boxes[k])
        yield i[keep], k[keep]


def _own_runs(lower: Boxes, upper: Boxes) -> tuple[Rows, Rows, Rows]:
    """Return the order by lower bound, and for each place in it the run that begins inside."""
    order = np.argsort(lower, kind="stable")
    starts = np.arange(1, len(order) + 1)
    stops = np.searchsorted(lower[order], upper[order], side="right")
    return order, starts, np.maximum(starts, stops)


def meetings(a: Boxes, b: Boxes, method: Method) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows (i, k) where ``a[i]`` and ``b[k]`` overlap, each once, in pieces."""
    ndim = b.shape[1] // 2
    if method == "brute":
        step = max(1, BLOCK // max(len(b), 1))
        for start in range(0, len(a), step):
            i, k = np.nonzero(overlaps(a[start : start + step, None], b[None]))
            yield i + start, k
        return
    choices = []
    for axis in range(ndim):
        low_a, high_a = a[:, axis], a[:, axis + ndim]
        low_b, high_b = b[:, axis], b[:, axis + ndim]
        # b begins in a, or a begins in b and not at the same place: never both
        choices.append((_runs(low_a, high_a, low_b, "left"), _runs(low_b, high_b, low_a, "right")))
    by_a, by_b = min(choices, key=lambda runs: sum(int((r[2] - r[1]).sum()) for r in runs))
    for order, starts, stops, is_swapped in ((*by_a, False), (*by_b, True)):
        for position, run in _expand(starts, stops):
            i, k = (order[run], position) if is_swapped else (position, order[run])
            keep = overlaps(a[i], b[k])
            yield i[keep], k[keep]


def _runs(
    low: Boxes, high: Boxes, begins: Boxes, side: Literal["left", "right"]
) -> tuple[Rows, Rows, Rows]:
    """Return the order of `begins`, and for each extent the run of it that begins inside."""
    order = np.argsort(begins, kind="stable")
    ordered = begins[order]
    starts = np.searchsorted(ordered, low, side=side)
    stops = np.searchsorted(ordered, high, side="right")
    return order, starts, np.maximum(starts, stops)


def _expand(starts: Rows, stops: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield (row, member) for every member of ``range(starts[row], stops[row])``, in blocks."""
    ends: Rows = np.cumsum(stops - starts, dtype=ID_DTYPE)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, BLOCK):
        flat = np.arange(begin, min(begin + BLOCK, total))
        row = np.searchsorted(ends, flat, side="right")
        member: Rows = stops[row] - (ends[row] - flat)
        yield row, member


def chosen(method: Method, comparisons: int) -> Method:
    """Return how to find who meets whom, given how many comparisons brute force would make."""
    if method == "auto":
        return "brute" if comparisons < BRUTE_BELOW else "sorted"
    check_word("method", method, ("brute", "sorted"))
    return method


def canonical(found: list[Rows]) -> Rows:
    """Put pieces of a relation together, rows in lexicographic order."""
    rows = np.concatenate([np.empty((0, 2), ID_DTYPE), *found])
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))].astype(ID_DTYPE, copy=False)
