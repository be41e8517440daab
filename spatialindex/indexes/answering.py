"""Questions answered piece by piece: what the structures that are made of kernels have in common.

A structure says what it finds for some rows of a batch. Here the rows are put in spatial order, cut
into pieces for threads, and what is found for them is put together::

    query(region)  ->  _answer(ask, order, (0, 250), …)  (250, 500)  …  ->  rows
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.execution import NO_COUNTS, NO_LIMIT, NO_ROWS, collect_rows, run_chunks
from spatialindex.indexes.asking import ask_neighbours, ask_region, axes, collect_best
from spatialindex.indexes.curve import curve_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.kernels.blocks import Best
    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import ObjectTable
    from spatialindex.protocol import Region

__all__ = ["Answering"]

_ROWS_A_REGION = 16  # of the answer, expected: a good size for the first buffers


class Answering(ABC):
    """The questions of a `spatialindex.protocol.Structure`, all but pairs.

    Attributes
    ----------
    table : ObjectTable
        Whose slots are found.
    """

    table: ObjectTable

    @abstractmethod
    def _answer(
        self,
        ask: Ask,
        order: NDArray[np.int32],
        span: tuple[int, int],
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        """Find what the rows ``order[span[0]]`` to ``order[span[1]]`` accept.

        An empty `order` is that of the rows. Fills `out` with rows (row, slot) and goes on counting
        when it is full; adds to ``counts[row]`` unless that is empty. Returns how many there are,
        or any number beyond `limit` as soon as there are more.
        """

    @abstractmethod
    def _offer(self, ask: Ask, order: NDArray[np.int32], best: Best, start: int, stop: int) -> None:
        """Offer what is nearest or met first to the bests of rows ``order[start]`` to `stop`."""

    def _order(self, ask: Ask) -> NDArray[np.int32]:
        """Return the order in which rows are asked, empty for their own where that is as fast."""
        return curve_order(ask, len(self.table), axes(self.table))

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Ask with each slot's box."""
        return self._rows(ask_neighbours(self.table, slots, rule), limit, workers)

    def query(self, region: Region, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Ask with each region."""
        return self._rows(ask_region(self.table, region), limit, workers)

    def count(self, region: Region, *, workers: int = 1) -> NDArray[np.int64]:
        """Count the answers to each region."""
        counts = np.zeros(len(region.cull), np.int64)
        self._count(ask_region(self.table, region), counts, workers)
        return counts

    def _rows(self, ask: Ask, limit: int, workers: int) -> NDArray[np.int32]:
        """Return rows (row, slot) of what is accepted."""
        order = self._order(ask)

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._answer(ask, order, (start, stop), NO_COUNTS, out, limit)

        n = len(ask.cull)
        return collect_rows(fill, n, limit=limit, workers=workers, guess=_ROWS_A_REGION * n)

    def _count(self, ask: Ask, counts: NDArray[np.int64], workers: int) -> None:
        """Add to the counts of all rows."""
        order = self._order(ask)

        def add(start: int, stop: int) -> None:
            self._answer(ask, order, (start, stop), counts, NO_ROWS, NO_LIMIT)

        run_chunks(add, len(counts), workers)

    def nearest(
        self, region: Region, k: int, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Search around each point."""
        return self._best(region, k, ignored, workers)

    def first_hits(
        self, region: Region, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Search along each cast."""
        slots, times = self._best(region, 1, ignored, workers)
        return slots[:, 0], times[:, 0]

    def _best(
        self, region: Region, k: int, ignored: NDArray[np.int32], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return slots and values ``(q, k)`` of the best of each row."""
        ask = ask_region(self.table, region)
        offer = partial(self._offer, ask, self._order(ask))
        shape = (len(region.cull), k)
        return collect_best(self.table, shape, ignored, offer, workers=workers)
