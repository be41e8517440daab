"""From a question to what a kernel takes: one place that reads the table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import NDIMS, SLOT_DTYPE
from spatialindex.execution import run_chunks
from spatialindex.kernels.blocks import Best
from spatialindex.kernels.decide import AMONG_BITS, INTERSECTS, SEEN, Ask
from spatialindex.kernels.lists import put_best_in_order
from spatialindex.results import PairCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable
    from spatialindex.protocol import Region

__all__ = ["ask_neighbours", "ask_region", "axes", "collect_best", "count_verdicts"]

_NOBODY = np.empty(0, SLOT_DTYPE)
_NO_LAYERS = np.uint64(0)
_AXES = {ndim: (0,) * ndim for ndim in NDIMS}


def axes(table: ObjectTable) -> tuple[int, ...]:
    """Return a tuple as long as there are dimensions: a compile-time constant for kernels."""
    return _AXES[table.ndim]


def ask_region(table: ObjectTable, region: Region) -> Ask:
    """Bundle a question about regions: it sees layers and is decided on the present boxes."""
    return Ask(
        region.kind,
        region.cull,
        region.exact,
        _NOBODY,
        np.uint64(region.layers),
        0 if table.sees_all(region.layers) else SEEN,
        table.boxes,
        table.state,
        table.boxes is table.cover,
    )


def ask_neighbours(table: ObjectTable, slots: NDArray[np.int32], rule: int) -> Ask:
    """Bundle the question whom slots touch: the pair rule, decided on the covering boxes."""
    boxes = table.covers_of(slots)
    return Ask(INTERSECTS, boxes, boxes, slots, _NO_LAYERS, rule, table.cover, table.state, True)


def count_verdicts(
    count: Callable[[int], int], rule: int, *, visits: int, candidates: int
) -> PairCounts:
    """Work out which overlapping pairs pass, are masked and rest, counting under weaker rules.

    `count` counts the pairs that a rule passes.
    """
    passed = count(rule)
    matched = count(rule & ~AMONG_BITS) if rule & AMONG_BITS else passed
    overlapping = count(0) if rule & ~AMONG_BITS else matched
    return PairCounts(visits, candidates, passed, overlapping - matched, matched - passed)


def collect_best(
    table: ObjectTable,
    shape: tuple[int, int],
    ignored: NDArray[np.int32],
    search: Callable[[Best, int, int], None],
    *,
    workers: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return slots and values, both of `shape` ``(q, k)``, of the best that a search offers.

    ``search(best, start, stop)`` offers what it finds for the rows from `start` to `stop`, in what
    order it likes, to their bests (`kernels.best.offer`). It may look in several places one after
    the other: the bests of the first tell how far to look in the next.
    """
    best = Best(
        np.empty(shape),
        np.empty(shape, SLOT_DTYPE),
        np.zeros(shape[0], np.int64),
        ignored,
        table.slot_ids,
    )

    run_chunks(partial(search, best), shape[0], workers)
    run_chunks(partial(put_best_in_order, best), shape[0], workers)
    return best.slots, best.values
