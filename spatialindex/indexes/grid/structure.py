"""The grid as a structure: when to build, when to change a few memberships, and how to answer.

An object is a member of every cell that its closed box touches, ``floor(lower / edge)`` to
``floor(upper / edge)`` on each axis, both ends included. With edge 2, a wall ``[0, 0, 10, 2]`` is
in the cells 0 to 5 along x and 0 to 1 along y, twelve memberships, and a prop
``[9, 0.5, 9.5, 1.5]`` is in cell (4, 0): they meet there, once.

How cells and members are stored, and how a pair that meets in many cells is reported in one, stands
in `spatialindex.kernels.grid`. What does not belong into cells, an object that would touch more
than `max_cells` of them, or cells beyond ±2**30 or the bounds of a dense grid, goes to the *wide
list*, which every question scans.

Source: Teschner et al., Optimized Spatial Hashing for Collision Detection of Deformable Objects,
2003. Theirs hashes cells together and so meets strangers; here a cell is known by its coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.execution import NO_COUNTS, NO_LIMIT, NO_ROWS, collect_rows
from spatialindex.indexes.answering import Answering
from spatialindex.indexes.asking import ask_neighbours, axes, count_verdicts
from spatialindex.indexes.curve import NO_ORDER, best_along_curve, box_order
from spatialindex.indexes.grid.checking import check_members
from spatialindex.indexes.grid.choosing import choose_dense, choose_edge, key_layout
from spatialindex.indexes.grid.outlines import cell_outlines
from spatialindex.indexes.grid.store import CellStore
from spatialindex.indexes.packed import PackedList
from spatialindex.kernels.blocks import NO_MARKS, mark_lanes
from spatialindex.kernels.decide import CAST, PLANES
from spatialindex.kernels.grid import ask as kernels
from spatialindex.kernels.grid import cells
from spatialindex.kernels.grid.build import KEY_BITS
from spatialindex.kernels.grid.planes import inside_planes
from spatialindex.kernels.grid.rays import all_hits, first_hits
from spatialindex.kernels.grid.rings import nearest_in_cells
from spatialindex.kernels.keeping import drop_repeats
from spatialindex.kernels.thin import ask_grid, make_handle
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

__all__ = ["GridStructure"]

_MOST_ENTRIES = 64  # memberships an object: beyond, a bulk build would need too much scratch
_LARGEST_EDGE = 1e300  # far above what holds any box
_CROWDED = 128  # members of a cell among which one is searched for as long as it takes to move it
_MOST_WIDE = 1 / 16  # of the objects wide in a dense grid of its own bounds: time for new bounds

_EACH = np.empty(0, SLOT_DTYPE)  # no slots: each box
_EVERYWHERE = np.array([-cells.LARGEST_CELL] * 3 + [cells.LARGEST_CELL] * 3, np.int64)


class GridStructure(Answering):
    """Cells, members and the wide list over one table.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are indexed.
    cell_size : float or None
        Edge of the cells; None: chosen from the boxes at each build.
    max_cells : int
        Cells that an object may cover.
    oversized : {"keep", "refuse"}
        With "refuse", the public class lets nothing in that does not fit, and an edge chosen anew
        has to hold all that is in.
    is_dense : bool
        Give each cell of some bounds a place of its own instead of hashing occupied ones.
    world : float64 array of shape (2*ndim,) or None
        The bounds of a dense grid; None: chosen from the boxes at each build.
    """

    # kept pairs pay up to 0.26 to 0.34 changed of 10,000 boxes and 0.33 to 0.36 of 100,000;
    # python -m tests.benchmarks --job kept
    kept_share = 0.25
    # of the objects changed: beyond, one pass over all cells costs less than to go to those of
    # each, from 0.05 of 10,000 boxes and 0.03 of 100,000 on;
    # python -m tests.benchmarks --job sweep
    sweep_share = 0.03
    # of the objects changed: beyond, building anew is cheaper than changing memberships;
    # python -m tests.benchmarks --job bulk
    bulk_share = 0.4

    def __init__(
        self,
        table: ObjectTable,
        *,
        cell_size: float | None,
        max_cells: int,
        oversized: str,
        is_dense: bool = False,
        world: NDArray[np.float64] | None = None,
    ) -> None:
        self.table = table
        self.edge = cell_size
        self._cell_size = cell_size
        self._max_cells = min(max_cells, 2**53)  # what a float counts, and more than anyone has
        self._refuses = oversized == "refuse"
        self._is_dense = is_dense
        self._world = world
        self._limits = _EVERYWHERE
        self._store = CellStore(table)
        self._wide = PackedList(table)
        self._rebuilds = 0
        self._crowding = 0.0  # members of the cell of a membership, on average
        self._n_chosen = self._n_left_out = 0  # objects, and wide ones, when the edge was chosen

    # -- keeping up ---------------------------------------------------------------------------

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which boxes would go to cells, not to the wide list."""
        edge, limits = self.edge, self._limits
        if edge is None or not len(self.table):
            edge, limits = self._choose(boxes)
        held: NDArray[np.bool_] = self._ranges(boxes, edge, limits)[0][:, 0] != cells.WIDE
        return held

    def _choose(self, boxes: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
        """Choose the edge and the bounds of cells for boxes."""
        edge = self._cell_size or choose_edge(boxes, self._max_cells)
        if not self._is_dense:
            return edge, _EVERYWHERE
        return choose_dense(boxes, edge, self._world, is_free=self._cell_size is None)

    def _ranges(
        self,
        boxes: NDArray[np.float64],
        edge: float,
        limits: NDArray[np.int64],
        slots: NDArray[np.int32] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the range of cells of each box, or of each slot's, and totals.

        `WIDE` for those that do not fit.
        """
        n, rows = (len(boxes), _EACH) if slots is None else (len(slots), slots)
        ranges, found = np.empty((n, boxes.shape[1]), np.int32), np.empty(8, np.int64)
        options = self._max_cells, limits, axes(self.table)
        cells.cell_ranges(boxes, rows, edge, *options, ranges, found)
        return ranges, found

    def _present_ranges(self, slots: NDArray[np.int32]) -> tuple[NDArray[np.int32], bool]:
        """Return the range of cells of each slot with the edge in use, and whether any is wide."""
        assert self.edge is not None  # there is one as soon as there is an object
        ranges, found = self._ranges(self.table.cover, self.edge, self._limits, slots)
        return ranges, bool(found[0])

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
        if self._store.is_sparse() or self._is_outgrown():
            self._build()

    def rebuild(self) -> None:
        """Choose edge and bounds again and build from the table."""
        self._n_chosen = 0
        self._build()

    def _is_outgrown(self) -> bool:
        """Tell if many more objects left the bounds of a dense grid than when it chose them."""
        if not self._is_dense or self._world is not None:
            return False
        return len(self._wide) > 2 * self._n_left_out + _MOST_WIDE * len(self.table) + 64

    def _build(self) -> None:
        """Build all memberships, in spatial order."""
        table, store = self.table, self._store
        slots = table.live_slots()
        n = len(slots)
        is_due = not self._n_chosen / 2 < n <= 2 * self._n_chosen or self._is_outgrown()
        if n and is_due:
            boxes = table.cover[:n] if n == table.high else table.covers_of(slots)
            self.edge, self._limits = self._choose(boxes)
        self._rebuilds += 1
        if len(self._wide):
            self._wide.clear()
        if self.edge is None or not n:
            self._n_chosen = 0
            store.reset()
            return
        ranges, found = self._ranges(table.cover, self.edge, self._limits, slots)
        is_free = is_due and self._refuses and self._cell_size is None
        while found[0] and is_free and self.edge < _LARGEST_EDGE:
            # all of these were let in: larger cells hold them
            self.edge *= 2.0
            if self._is_dense:
                self.edge, self._limits = choose_dense(boxes, self.edge, self._world, is_free=True)
            ranges, found = self._ranges(table.cover, self.edge, self._limits, slots)
        if is_due:
            self._n_chosen, self._n_left_out = n, int(found[0])
        dense = self._limits if self._is_dense else None
        layout, bits = key_layout(found)
        n_entries = int(found[1])
        # an entry has 29 bits for its slot; entries are counted in 32 bits while they are sorted
        is_much = n_entries > min(_MOST_ENTRIES * n, 2**32 - 1) or table.high >= 2**29
        if is_much or bits > KEY_BITS:
            store.reset(n, n, dense)
            store.enter(slots, ranges)
            self._crowding = store.crowding()
        else:
            layouts = layout[None]
            self._crowding = store.build(slots, ranges, n_entries, layouts, bits, dense=dense)
        if found[0]:
            self._wide.change(added=slots[ranges[:, 0] == cells.WIDE])
            if not is_due and self._is_outgrown():
                self.rebuild()

    def _remove(self, slots: NDArray[np.int32]) -> None:
        """Take slots out of the cells or the wide list."""
        if len(self._wide):
            self._wide.change(removed=slots[self._store.is_wide(slots)])
        self._store.leave(slots)

    def _add(self, slots: NDArray[np.int32]) -> None:
        """Take new slots in."""
        ranges, are_wide = self._present_ranges(slots)
        if are_wide:
            self._wide.change(added=slots[ranges[:, 0] == cells.WIDE])
        self._store.enter(slots, ranges)

    def _move(self, slots: NDArray[np.int32]) -> None:
        """Move slots between cells; those that were or become wide leave and enter."""
        ranges, are_wide = self._present_ranges(slots)
        if are_wide or len(self._wide):
            was_wide = self._store.is_wide(slots)
            if are_wide or was_wide.any():
                is_wide = ranges[:, 0] == cells.WIDE
                self._wide.change(moved=slots[was_wide & is_wide])
                changed = slots[was_wide != is_wide]
                self._remove(changed)
                self._add(changed)
                kept = ~(was_wide | is_wide)
                slots, ranges = slots[kept], ranges[kept]
        are_many = len(slots) > self.sweep_share * len(self.table)
        self._store.move(slots, ranges, are_many=are_many)

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Pair the members of each cell, then the wide objects with everything."""
        rows = self._pairs_in_cells(rule, NO_MARKS, len(self.table), limit, workers)
        if len(self._wide):
            ask = ask_neighbours(self.table, self._wide.slots, rule)
            crossing = super()._rows(ask, limit - len(rows), workers)
            left = limit - len(rows) - len(crossing)
            among = self._wide.pairs(rule, limit=left, workers=workers)
            rows = np.concatenate([rows, crossing, among])
        return rows

    def pairs_with(
        self,
        slots: NDArray[np.int32],
        marks: NDArray[np.uint8],
        rule: int,
        *,
        limit: int,
        workers: int = 1,
    ) -> NDArray[np.int32]:
        """Pair the members of each cell where one is marked; wide objects are asked, and ask."""
        marked = np.empty(self._store.n_blocks, np.uint8)
        mark_lanes(self._store.arrays.slots, self._store.n_blocks, marks, marked)
        rows = self._pairs_in_cells(rule, marked, len(slots), limit, workers)
        if len(self._wide):
            ask = ask_neighbours(self.table, slots, rule)
            # two that ask find each other twice
            left = min(2 * (limit - len(rows)), NO_LIMIT)
            found = self._wide.regions(ask, limit=left, workers=workers, guess=len(slots))
            ask = ask_neighbours(self.table, slots[self._store.is_wide(slots)], rule)
            crossing = super()._rows(ask, left - len(found), workers)
            found = np.concatenate([found, crossing])
            n = drop_repeats(found, marks, self.table.slot_ids)
            rows = np.concatenate([rows, found[:n]])
        return rows

    def _pairs_in_cells(
        self, rule: int, marked: NDArray[np.uint8], n: int, limit: int, workers: int
    ) -> NDArray[np.int32]:
        """Pair the members of each cell, with marks of `n` objects those of which one is marked."""

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._find_pairs(rule, marked, (start, stop), out, limit)

        n_blocks = self._store.n_blocks
        return collect_rows(fill, n_blocks, limit=limit, workers=workers, guess=4 * n)

    def _find_pairs(
        self,
        rule: int,
        marked: NDArray[np.uint8],
        span: tuple[int, int],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        table = self.table
        return int(
            kernels.find_pairs(
                *(self._store.arrays, marked, table.cover, table.state, rule),
                *(*span, out, limit, axes(table)),
            )
        )

    def single(self) -> Single | None:
        """Return how one box is asked, with few arguments; good until the next change."""
        if self.edge is None:
            return None
        table, wide = self.table, self._wide
        handle = make_handle(
            *self._store.arrays, *wide.blocks(), table.boxes, table.state, table.slot_ids
        )
        return Single(ask_grid, (handle, self.edge, len(wide)), axes(table))

    def _rows(self, ask: Ask, limit: int, workers: int) -> NDArray[np.int32]:
        """Ask the cells of each region, and the wide list."""
        rows = super()._rows(ask, limit, workers)
        if len(self._wide):
            left = limit - len(rows)
            wide = self._wide.regions(ask, limit=left, workers=workers, guess=len(ask.cull))
            rows = np.concatenate([rows, wide])
        return rows

    def _count(self, ask: Ask, counts: NDArray[np.int64], workers: int) -> None:
        """Count in the cells of each region, and in the wide list."""
        super()._count(ask, counts, workers)
        if len(self._wide):
            self._wide.count(ask, counts, workers=workers)

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
        """Ask the cells of each region."""
        if self.edge is None:
            return 0
        arrays = self._store.arrays
        head = (arrays, ask, self.edge, *span)
        rest = (counts, out, limit, axes(self.table))
        if ask.kind == CAST:
            # a number a slot, zeroed by the system as far as it is touched
            seen = np.zeros(len(self.table.slot_ids), SLOT_DTYPE)
            return int(all_hits(*head, seen, *rest))
        if ask.kind == PLANES:
            return int(inside_planes(*head, *rest))
        return int(kernels.query_regions(arrays, ask, order, self.edge, *span, *rest))

    def _best(
        self, region: Region, k: int, ignored: NDArray[np.int32], workers: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Search along the curve, which cells do not follow by themselves."""
        return best_along_curve(self.table, region, k, ignored, self._offer, workers)

    def _offer(self, ask: Ask, order: NDArray[np.int32], best: Best, start: int, stop: int) -> None:
        """Offer wide objects at first, so that fewer cells are looked into."""
        is_cast = ask.kind == CAST
        if len(self._wide):
            wide = self._wide.first_hits if is_cast else self._wide.nearest
            wide(ask, best, start, stop)
        if self.edge is not None:
            search = first_hits if is_cast else nearest_in_cells
            search(self._store.arrays, ask, self.edge, start, stop, best, axes(self.table))

    # -- figures ------------------------------------------------------------------------------

    def stats(self) -> StructureStats:
        """Return what the cells hold."""
        arrays = self._store.arrays
        return StructureStats(
            entries=int(arrays.meta[cells.ENTRIES]),
            buckets=int(arrays.meta[cells.CELLS]),
            max_bucket=int(cells.largest_cell(arrays.cells, axes(self.table))),
            wide=len(self._wide),
            rebuilds=self._rebuilds,
        )

    def count_pairs(self, rule: int) -> PairCounts:
        """Count by walking all cells once more; a wide object meets everything."""
        visits, candidates = kernels.count_meetings(self._store.arrays, axes(self.table))
        wide = len(self._wide)
        met_wide = wide * (len(self.table) - wide) + wide * (wide - 1) // 2

        def count(weaker: int) -> int:
            span = (0, self._store.n_blocks)
            total = self._find_pairs(weaker, NO_MARKS, span, NO_ROWS, NO_LIMIT)
            if wide:
                ask = ask_neighbours(self.table, self._wide.slots, weaker)
                total += self._answer(ask, NO_ORDER, (0, wide), NO_COUNTS, NO_ROWS, NO_LIMIT)
                total += self._wide.count_pairs(weaker)
            return total

        return count_verdicts(
            count, rule, visits=int(visits) + met_wide, candidates=int(candidates) + met_wide
        )

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._store.nbytes + self._wide.nbytes

    def outlines(self) -> Outlines:
        """Return the occupied cells, and the box around wide objects."""
        slots = self._wide.slots
        wide = Outlines.around("wide", self.table.covers_of(slots), slots)
        return (
            wide
            if self.edge is None
            else Outlines.joined([cell_outlines(self._store.arrays, self.edge), wide])
        )

    def validate(self) -> None:
        """Check that every object is exactly where its box says, under bounds that hold it."""
        slots = self.table.live_slots()
        ranges = np.empty((0, 2 * self.table.ndim), np.int32)
        if len(slots):
            ranges, _ = self._present_ranges(slots)
        wide = ranges[:, 0] == cells.WIDE
        self._wide.validate(slots[wide])
        check_members(self._store.arrays, self.table.cover, slots, ranges)
