"""A list of boxes in consecutive blocks: all of brute force, and the wide list of grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.errors import InvariantError
from spatialindex.execution import NO_COUNTS, NO_LIMIT, NO_ROWS, collect_rows, run_chunks
from spatialindex.indexes.asking import axes
from spatialindex.kernels.blocks import change_list, scan_pairs, scan_regions
from spatialindex.kernels.decide import CAST, PLANES
from spatialindex.kernels.lists import scan_first, scan_nearest, scan_slanted
from spatialindex.kernels.simd import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.kernels.blocks import Best
    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import ObjectTable

__all__ = ["PackedList"]

_NONE = np.empty(0, SLOT_DTYPE)


class PackedList:
    """Slots with their boxes in blocks of eight, scanned from end to end.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are listed.
    """

    def __init__(self, table: ObjectTable) -> None:
        self.table = table
        self.clear()

    def clear(self) -> None:
        """Forget all slots."""
        self._n = 0
        self._bounds = np.empty((0, 2 * self.table.ndim, LANES), np.float32)
        self._slots = np.empty((0, LANES), SLOT_DTYPE)
        self._exact = np.empty(0, np.uint8)
        self._positions = np.empty(0, SLOT_DTYPE)

    def __len__(self) -> int:
        return self._n

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(array.nbytes for array in (*self.blocks(), self._positions))

    def blocks(self) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.uint8]]:
        """Return the blocks as kernels take them."""
        return self._bounds, self._slots, self._exact

    @property
    def slots(self) -> NDArray[np.int32]:
        """The slots in the list, in its order."""
        return self._slots.reshape(-1)[: self._n]

    def change(
        self,
        removed: NDArray[np.int32] = _NONE,
        moved: NDArray[np.int32] = _NONE,
        added: NDArray[np.int32] = _NONE,
    ) -> None:
        """Take slots out, note that boxes have moved, and add slots."""
        n = self._n - len(removed) + len(added)
        self._reserve(max(n, self._n), int(added.max()) + 1 if len(added) else 0)
        self._n = change_list(
            *self.blocks(),
            self._positions,
            self._n,
            removed,
            moved,
            added,
            self.table.cover,
            axes(self.table),
        )
        if len(self._slots) > 64 and 4 * self._n < len(self._slots) * LANES:
            self._resize((2 * self._n + LANES - 1) // LANES)

    def _reserve(self, n: int, slots: int) -> None:
        """Make room for `n` boxes of slots below `slots`."""
        blocks = (n + LANES - 1) // LANES
        if blocks > len(self._slots):
            self._resize(max(blocks, len(self._slots) * 3 // 2))
        if slots > len(self._positions):
            positions = np.empty(max(slots, len(self._positions) * 3 // 2), SLOT_DTYPE)
            positions[: len(self._positions)] = self._positions
            self._positions = positions

    def _resize(self, blocks: int) -> None:
        """Change the number of blocks; all listed boxes stay."""
        kept = min(blocks, len(self._slots))
        bounds = np.full((blocks, *self._bounds.shape[1:]), np.nan, np.float32)
        bounds[:kept] = self._bounds[:kept]
        slots = np.full((blocks, LANES), -1, SLOT_DTYPE)
        slots[:kept] = self._slots[:kept]
        exact = np.zeros(blocks, np.uint8)
        exact[:kept] = self._exact[:kept]
        self._bounds, self._slots, self._exact = bounds, slots, exact

    def pairs(self, rule: int, *, limit: int, workers: int) -> NDArray[np.int32]:
        """Return the pairs among the listed slots, ``(m, 2)``."""

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._scan_pairs(rule, start, stop, out, limit)

        blocks = (self._n + LANES - 1) // LANES
        return collect_rows(fill, blocks, limit=limit, workers=workers, guess=4 * self._n)

    def count_pairs(self, rule: int) -> int:
        """Count the pairs among the listed slots."""
        blocks = (self._n + LANES - 1) // LANES
        return self._scan_pairs(rule, 0, blocks, NO_ROWS, NO_LIMIT)

    def _scan_pairs(
        self, rule: int, start: int, stop: int, out: NDArray[np.int32], limit: int
    ) -> int:
        table = self.table
        return int(
            scan_pairs(
                *(*self.blocks(), self._n, table.cover, table.state, rule),
                *(start, stop, out, limit, axes(table)),
            )
        )

    def regions(self, ask: Ask, *, limit: int, workers: int, guess: int) -> NDArray[np.int32]:
        """Return ``(m, 2)`` rows (row of the batch, slot)."""

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._scan(ask, start, stop, NO_COUNTS, out, limit)

        return collect_rows(fill, len(ask.cull), limit=limit, workers=workers, guess=guess)

    def count(self, ask: Ask, counts: NDArray[np.int64], *, workers: int) -> None:
        """Add how many slots each row accepts to `counts`, ``(q,)``."""
        run_chunks(
            lambda start, stop: self._scan(ask, start, stop, counts, NO_ROWS, NO_LIMIT),
            len(counts),
            workers,
        )

    def nearest(self, ask: Ask, best: Best, start: int, stop: int) -> None:
        """Offer the listed slots that are nearest to rows `start` to `stop` to their bests.

        `ask` is of kind `RADIUS`. Bests may come with some that were found elsewhere, in the cells
        of a grid, and go on elsewhere; they are heaps until `put_best_in_order`.
        """
        blocks, slots, _ = self.blocks()
        scan_nearest(blocks, slots, self._n, ask, start, stop, best, axes(self.table))

    def first_hits(self, ask: Ask, best: Best, start: int, stop: int) -> None:
        """Offer the listed slots that rows `start` to `stop` meet first to their bests.

        `ask` is of kind `CAST`, a row has one best; otherwise as `nearest`.
        """
        blocks, slots, _ = self.blocks()
        scan_first(blocks, slots, self._n, ask, start, stop, best, axes(self.table))

    def _scan(
        self,
        ask: Ask,
        start: int,
        stop: int,
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        bounds, slots, exact = self.blocks()
        rest = (self._n, ask, start, stop, counts, out, limit, axes(self.table))
        if ask.kind in (CAST, PLANES):
            return int(scan_slanted(bounds, slots, *rest))
        return int(scan_regions(bounds, slots, exact, *rest))

    def validate(self, slots: NDArray[np.int32]) -> None:
        """Check that exactly these slots are listed, each once, under bounds that hold its box."""
        if not np.array_equal(np.sort(self.slots), np.sort(slots)):
            raise InvariantError(
                f"the list holds {self._n} slots, not the {len(slots)} it should: "
                f"{np.setxor1d(self.slots, slots)[:5]} differ"
            )
        if (self._slots.reshape(-1)[self._n :] != -1).any():
            raise InvariantError("a lane behind the end of the list is not empty")
        if not np.array_equal(self._positions[self.slots], np.arange(self._n)):
            raise InvariantError("a slot is not where its position says")
        ndim = self.table.ndim
        bounds = self._bounds.transpose(0, 2, 1).reshape(-1, 2 * ndim)[: self._n].astype(np.float64)
        boxes = self.table.cover[self.slots]
        bad = (bounds[:, :ndim] > boxes[:, :ndim]) | (bounds[:, ndim:] < boxes[:, ndim:])
        if bad.any():
            slot = self.slots[np.flatnonzero(bad.any(axis=1))[0]]
            raise InvariantError(f"the bounds of slot {slot} do not hold its box")
        bits = np.unpackbits(self._exact, bitorder="little")[: self._n] == 1
        if (bits & (bounds != boxes).any(axis=1)).any():
            raise InvariantError("a lane is marked as exact, its bounds are not the box")
