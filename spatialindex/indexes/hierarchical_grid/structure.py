"""The grid of levels as a structure: how it keeps up, answers and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.execution import NO_LIMIT, NO_ROWS, collect_rows
from spatialindex.indexes.answering import Answering
from spatialindex.indexes.asking import axes, count_verdicts
from spatialindex.indexes.curve import best_along_curve, box_order
from spatialindex.indexes.grid.checking import check_members
from spatialindex.indexes.grid.choosing import key_layout
from spatialindex.indexes.grid.outlines import cell_boxes, occupied_cells
from spatialindex.indexes.grid.store import CellStore
from spatialindex.indexes.hierarchical_grid.choosing import choose_finest
from spatialindex.indexes.hierarchical_grid.levels import Levels
from spatialindex.kernels.decide import CAST, PLANES
from spatialindex.kernels.grid import cells
from spatialindex.kernels.grid.build import KEY_BITS
from spatialindex.kernels.levels import ask as asking
from spatialindex.kernels.levels import pairs as pairing
from spatialindex.kernels.levels import reach as reaching
from spatialindex.kernels.levels.numbering import (
    BIAS,
    FINE,
    NUMBERS,
    STRIDE,
    edge_of,
    enough,
    level_ranges,
)
from spatialindex.kernels.thin import ask_levels, make_handle
from spatialindex.outlines import Outlines
from spatialindex.protocol import Single
from spatialindex.results import StructureStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.changes import Changes
    from spatialindex.kernels.blocks import Best
    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import ObjectTable
    from spatialindex.protocol import Region
    from spatialindex.results import PairCounts

__all__ = ["LevelStructure"]

_CROWDED = 128  # members of a cell among which one is searched for as long as it takes to move it


class _Placed(NamedTuple):
    """Where boxes go."""

    ranges: NDArray[np.int64]
    numbers: NDArray[np.int16]
    begins: NDArray[np.uint8]
    """Where in their first cell they begin."""
    counts: NDArray[np.int64]
    """How many are in each level, by its number."""
    n_entries: int


class LevelStructure(Answering):
    """Cells of all levels and their members over one table.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are indexed.
    cell_size : float or None
        Least edge of the cells of the finest level; None: chosen from the boxes when it is built.
    """

    # kept pairs pay up to 0.14 changed of 10,000 boxes and 0.12 of 100,000;
    # python -m tests.benchmarks --job kept
    kept_share = 0.12
    # of the objects changed: beyond, building anew is cheaper than changing memberships;
    # python -m tests.benchmarks --job bulk
    bulk_share = 0.5

    def __init__(self, table: ObjectTable, *, cell_size: float | None) -> None:
        self.table = table
        self._given = None if cell_size is None else int(enough(cell_size))
        self._finest = self._given
        self._store = CellStore(table, np.int64)
        self._levels = Levels(table.ndim)
        self._rebuilds = 0
        self._crowding = 0.0  # members of the cell of a membership, on average
        self._n_chosen = 0  # objects when the finest level was chosen

    # -- keeping up ---------------------------------------------------------------------------

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell that every box has a level."""
        return np.ones(len(boxes), np.bool_)

    @property
    def edge(self) -> float | None:
        """Edge of the cells of the finest level, occupied or not; None before there is one."""
        return None if self._finest is None else float(edge_of(self._finest))

    @property
    def edges(self) -> tuple[float, ...]:
        """Edges of the cells of the occupied levels, ascending."""
        return tuple(self._levels.edges.tolist())

    def _place(self, boxes: NDArray[np.float64]) -> _Placed:
        """Work out the level and the cells of boxes."""
        assert self._finest is not None  # there is one as soon as there is an object
        ranges = np.empty(boxes.shape, np.int64)
        numbers = np.empty(len(boxes), np.int16)
        counts = np.zeros(NUMBERS, np.int64)
        begins = np.empty(len(boxes), np.uint8)
        dim = axes(self.table)
        entries = level_ranges(boxes, self._finest, dim, ranges, numbers, begins, counts)
        return _Placed(ranges, numbers, begins, counts, int(entries))

    def apply(self, changes: Changes) -> None:
        """Take changes in: a few one by one, many by building anew."""
        n = len(self.table)
        n_changed = len(changes.added) + len(changes.removed) + len(changes.moved)
        if not n_changed:
            return
        # members of crowded cells are searched for, a block of eight at a time
        effort = n_changed * (1.0 + self._crowding / _CROWDED)
        if effort > self.bulk_share * n or n > 2 * self._n_chosen + 64:
            self._build()
            return
        if len(changes.removed):
            self._remove(changes.removed)
        if len(changes.moved):
            self._move(changes.moved)
        if len(changes.added):
            self._add(changes.added)
        if self._store.take_walked() > 16 * n_changed + 1024:
            self._crowding = self._store.crowding()
        if self._store.is_sparse():
            self._build()

    def rebuild(self) -> None:
        """Choose the finest level again and build from the table."""
        self._n_chosen = 0
        self._build()

    def _build(self) -> None:
        """Build all memberships, level by level in spatial order."""
        table, store = self.table, self._store
        slots = table.live_slots()
        n = len(slots)
        boxes = table.cover[:n] if n == table.high else table.covers_of(slots)
        if n and not self._n_chosen / 2 < n <= 2 * self._n_chosen:
            self._finest = choose_finest(boxes) if self._given is None else self._given
            self._n_chosen = n
        self._rebuilds += 1
        self._levels.clear()
        if not n:
            self._n_chosen = 0
            store.reset()
            return
        placed = self._place(boxes)
        self._levels.enter(placed.ranges, placed.numbers, placed.counts)
        layouts, place = self._layouts()
        if layouts is None or table.high >= 2**29:
            store.reset(n, n)
            store.enter(slots, placed.ranges)
            self._crowding = store.crowding()
        else:
            which = (self._levels.index_of[placed.numbers] << FINE) | placed.begins
            self._crowding = store.build(
                slots, placed.ranges, placed.n_entries, layouts, place, which, FINE
            )

    def _layouts(self) -> tuple[NDArray[np.int64] | None, int]:
        """Lay out keys of the cells of all levels, None when they do not fit, and their bits."""
        layouts, place = [], 0
        for meta in self._levels.metas:
            bounds = meta[cells.LOWEST - 2 : cells.LOWEST + 6].copy()
            bounds[2 + self.table.ndim : 5] = bounds[5 + self.table.ndim :] = 0
            layout, bits = key_layout(bounds)
            layout[0, 0] += meta[cells.SHIFT]
            layouts.append(layout)
            place = max(place, bits)
        is_fitting = place + (len(layouts) - 1).bit_length() + FINE <= KEY_BITS
        return np.array(layouts) if is_fitting else None, place

    def _remove(self, slots: NDArray[np.int32]) -> None:
        """Take slots out of their cells."""
        self._levels.leave(self._present_levels(slots))
        self._store.leave(slots)

    def _present_levels(self, slots: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the numbers of the levels that slots are in."""
        # as `number_of`, which kernels take for one cell
        numbers: NDArray[np.int64] = (self._store.arrays.ranges[slots, 0] + STRIDE // 2) // STRIDE
        return numbers

    def _add(self, slots: NDArray[np.int32]) -> None:
        """Take new slots in."""
        placed = self._place(self.table.covers_of(slots))
        self._levels.enter(placed.ranges, placed.numbers, placed.counts)
        self._store.enter(slots, placed.ranges)

    def _move(self, slots: NDArray[np.int32]) -> None:
        """Move slots between cells, of one level or of two."""
        placed = self._place(self.table.covers_of(slots))
        before = self._present_levels(slots)
        self._levels.enter(placed.ranges, placed.numbers, placed.counts)
        self._store.move(slots, placed.ranges)
        self._levels.leave(before)

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Pair the members of each cell with one another and with those around it."""

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._find_pairs(rule, start, stop, out, limit)

        n_blocks, guess = self._store.n_blocks, 4 * len(self.table)
        return collect_rows(fill, n_blocks, limit=limit, workers=workers, guess=guess)

    def _find_pairs(
        self, rule: int, start: int, stop: int, out: NDArray[np.int32], limit: int
    ) -> int:
        table, levels = self.table, self._levels
        return int(
            pairing.find_pairs(
                *(self._store.arrays, levels.numbers, table.cover, table.state, rule),
                *(start, stop, levels.scratch(pairing.SEEN_COLUMNS), out, limit, axes(table)),
            )
        )

    def _order(self, ask: Ask) -> NDArray[np.int32]:
        """Return the order in which boxes are asked, as they are where that is as fast."""
        return box_order(ask, self._store.n_blocks, axes(self.table))

    def _answer(
        self,
        ask: Ask,
        order: NDArray[np.int32],
        span: tuple[int, int],
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        """Ask the cells of each region, level by level."""
        levels = self._levels
        head = (self._store.arrays, levels.edges, levels.metas, ask)
        rest = (counts, out, limit, axes(self.table))
        if ask.kind == CAST:
            # a number a slot, zeroed by the system as far as it is touched
            seen = np.zeros(len(self.table.slot_ids), SLOT_DTYPE)
            return int(reaching.all_hits(*head, *span, seen, *rest))
        if ask.kind == PLANES:
            return int(reaching.inside_planes(*head, *span, *rest))
        return int(asking.query_regions(*head, order, *span, *rest))

    def _best(
        self, region: Region, k: int, ignored: NDArray[np.int32], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Search along the curve, which cells do not follow by themselves."""
        return best_along_curve(self.table, region, k, ignored, self._offer, workers)

    def _offer(self, ask: Ask, order: NDArray[np.int32], best: Best, start: int, stop: int) -> None:
        """Search rings of cells, or walk the cells along each cast, level by level."""
        arrays, levels, dim = self._store.arrays, self._levels, axes(self.table)
        head = (levels.edges, levels.metas, ask, start, stop)
        if ask.kind == CAST:
            reaching.first_hits(arrays, *head, best, dim)
        else:
            left = levels.scratch(reaching.LEFT_COLUMNS)
            reaching.nearest(arrays, levels.numbers, *head, left, best, dim)

    def single(self) -> Single | None:
        """Return how one box is asked, with few arguments; good until the next change."""
        table, levels = self.table, self._levels
        arrays = (*self._store.arrays, levels.edges, levels.metas)
        handle = make_handle(*arrays, table.boxes, table.state, table.slot_ids)
        return Single(ask_levels, (handle,), axes(table))

    # -- figures ------------------------------------------------------------------------------

    def stats(self) -> StructureStats:
        """Return what the cells hold."""
        arrays = self._store.arrays
        return StructureStats(
            entries=int(arrays.meta[cells.ENTRIES]),
            buckets=int(arrays.meta[cells.CELLS]),
            max_bucket=int(cells.largest_cell(arrays.cells, axes(self.table))),
            rebuilds=self._rebuilds,
        )

    def count_pairs(self, rule: int) -> PairCounts:
        """Count by walking all cells once more."""
        levels = self._levels
        visits, candidates = pairing.count_meetings(
            self._store.arrays,
            levels.numbers,
            levels.scratch(pairing.SEEN_COLUMNS),
            axes(self.table),
        )

        def count(weaker: int) -> int:
            return self._find_pairs(weaker, 0, self._store.n_blocks, NO_ROWS, NO_LIMIT)

        return count_verdicts(count, rule, visits=int(visits), candidates=int(candidates))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._store.nbytes + self._levels.nbytes

    def outlines(self) -> Outlines:
        """Return the occupied cells, those of edge ``2.0**level``, from the finest up."""
        places, of, slots = occupied_cells(self._store.arrays)
        numbers = (places[:, 0] + STRIDE // 2) // STRIDE  # as `number_of`
        places[:, 0] -= numbers * STRIDE
        edges = self._levels.edges[self._levels.index_of[numbers], None]
        boxes = cell_boxes(places, edges)
        return Outlines.of("cell", boxes, levels=numbers - BIAS, parts=of, slots=slots)

    def validate(self) -> None:
        """Check that every object is exactly where its box says, under bounds that hold it."""
        slots = self.table.live_slots()
        ranges = np.empty((0, 2 * self.table.ndim), np.int64)
        numbers = np.empty(0, np.int64)
        if len(slots):
            placed = self._place(self.table.covers_of(slots))
            ranges, numbers = placed.ranges, placed.numbers.astype(np.int64)
        self._levels.validate(numbers, ranges)
        check_members(self._store.arrays, self.table.cover, slots, ranges)
