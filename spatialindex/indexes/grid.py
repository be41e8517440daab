"""The hash grid: cells of one size, of which only the occupied ones exist.

An object is a member of every cell that its closed box touches, ``floor(lower / edge)`` to
``floor(upper / edge)`` on each axis, both ends included. With edge 2, a wall ``[0, 0, 10, 2]`` is
in the cells 0 to 5 along x and 0 to 1 along y, twelve memberships, and a prop ``[9, 0.5, 9.5,
1.5]`` is in cell (4, 0): they meet there, once.

How cells and members are stored, and how a pair that meets in many cells is reported in one, stands
in `spatialindex.kernels.grid`. This file decides when to build, when to change a few memberships,
and what does not belong into cells: an object that would touch more than `max_cells` of them, or
cells beyond ±2**30, goes to the *wide list*, which every question scans.

Source: Teschner et al., Optimized Spatial Hashing for Collision Detection of Deformable Objects,
2003. Theirs hashes cells together and so meets strangers; here a cell is known by its coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spatialindex.constants import MAX_CELLS, SLOT_DTYPE
from spatialindex.errors import CoverageError, InvalidArgumentError, InvariantError
from spatialindex.execution import NO_LIMIT, NO_ROWS, collect_rows, run_chunks
from spatialindex.index import BoxIndex
from spatialindex.indexes.asking import ask_neighbours, ask_region, axes, count_verdicts
from spatialindex.indexes.packed import PackedList
from spatialindex.kernels import grid as kernels
from spatialindex.kernels.edges import edge_costs, measure_sample
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.sorting import sort_keys
from spatialindex.protocol import Parameter
from spatialindex.results import StructureStats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import Changes, ObjectTable
    from spatialindex.protocol import Region
    from spatialindex.results import PairCounts

__all__ = ["GridStructure", "HashGrid", "choose_edge"]

_BULK_SHARE = 0.4  # of the objects changed: beyond, building anew is cheaper than changing
_MOST_ENTRIES = 64  # memberships an object: beyond, a bulk build would need too much scratch
_TILE_BITS = {2: 3, 3: 2}  # cells of a tile along an axis, as a power of two: 64 cells a tile
_SAMPLE = 256  # boxes that the choice of an edge looks at, and one in 64 more
_MOST_EDGES = 32  # edges that the choice compares


def choose_edge(boxes: NDArray[np.float64], max_cells: int) -> float:
    """Choose the edge of cells for boxes ``(n, 2*ndim)`` by the cost estimated from a sample.

    Deterministic; 1.0 when there is nothing to go by.
    """
    n, ndim = len(boxes), boxes.shape[1] // 2
    if n == 0:
        return 1.0
    step = max(1, n // (_SAMPLE + n // 64))
    sample = np.ascontiguousarray(boxes[::step])
    measures = np.empty(3)
    with np.errstate(over="ignore"):
        measure_sample(sample, (0,) * ndim, measures)
    least, greatest, spread = measures.tolist()
    spacing = spread / n ** (1.0 / ndim) if spread < np.inf else 0.0
    if greatest > 0:
        low, high = least, max(4.0 * greatest, min(4.0 * spacing, 256.0 * greatest))
    elif spacing > 0:
        low, high = spacing / 4, spacing * 8
    else:
        return 1.0
    low, high = np.clip(low, 1e-290, 1e289), np.clip(high, 1e-289, 1e290)
    costs = np.empty(_MOST_EDGES)

    def cheapest(edges: NDArray[np.float64]) -> float:
        edge_costs(sample, n, edges, max_cells, (0,) * ndim, costs)
        return float(edges[np.argmin(costs[: len(edges)])])

    # powers of two first, or larger steps for sizes of many magnitudes; then between two steps
    exponents = np.log2(low), np.log2(high)  # the quotient of the edges could overflow
    count = int(np.clip(np.ceil(exponents[1] - exponents[0]) + 1, 3, _MOST_EDGES))
    steps, width = np.linspace(*exponents, count, retstep=True)
    best = np.log2(cheapest(np.exp2(steps)))
    return cheapest(np.exp2(best + width * np.array([-0.5, -0.25, 0.0, 0.25, 0.5])))


def _key_layout(found: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Lay out 31-bit keys of cells between bounds, tile by tile; None when they do not fit.

    Tiles of 64 cells are numbered along the axes, and so are the cells in a tile. With bounds
    (0, 0) and (15, 15), cell (9, 2) is cell (1, 2) of tile (1, 0): key ``1 0 001 010`` in binary.
    """
    lowest, highest = found[2:5], found[5:8]
    bits = [int(b - a).bit_length() if b >= a else 0 for a, b in zip(lowest, highest, strict=True)]
    if sum(bits) > 31:
        return None
    tile = _TILE_BITS[2 if bits[2] == 0 else 3]
    layout = np.zeros((3, 5), np.int64)
    layout[:, 0] = lowest
    layout[:, 1] = [min(b, tile) for b in bits]
    layout[:, 4] = bits - layout[:, 1]
    place = 0
    for column, width in ((3, 1), (2, 4)):
        for d in (2, 1, 0):
            layout[d, column] = place
            place += int(layout[d, width])
    return layout


class GridStructure:
    """Cells, members and the wide list over one table."""

    kept_share = (
        0.06  # 10,000 boxes: 0.38 ms kept and 0.48 anew at 5 % changed, 0.59 and 0.55 at 10
    )

    def __init__(
        self,
        table: ObjectTable,
        *,
        cell_size: float | None,
        max_cells: int,
        oversized: str,  # the public class refuses; here everything is taken
    ) -> None:
        self.table = table
        self.edge = cell_size
        self._cell_size = cell_size
        self._max_cells = max_cells
        self._wide = PackedList(table)
        self._rebuilds = 0
        self._n_chosen = 0  # objects when the edge was chosen
        self._clear()

    # -- keeping up ---------------------------------------------------------------------------

    def _clear(self, blocks: int = 0, cells: int = 0) -> None:
        """Forget all members and make room for so many blocks and cells."""
        ndim = self.table.ndim
        places = 1 << max(2 * cells, 16).bit_length()
        table = np.full((places, ndim + 2), -1, np.int32)
        meta = np.zeros(kernels.META, np.int64)
        meta[kernels.FREE] = -1
        meta[kernels.LOWEST : kernels.LOWEST + 3] = kernels.LARGEST_CELL
        meta[kernels.LOWEST + 3 :] = -kernels.LARGEST_CELL
        self._arrays = kernels.GridArrays(
            cells=table,
            # kernels empty a block when they take it into use
            bounds=np.empty((blocks, 2 * ndim, LANES), np.float32),
            slots=np.empty((blocks, LANES), SLOT_DTYPE),
            first=np.empty((blocks, ndim), np.uint8),
            link=np.empty(blocks, np.int32),
            ranges=np.full((len(self.table.slot_ids), 2 * ndim), kernels.ABSENT, np.int32),
            meta=meta,
        )
        self._wide.clear()

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which boxes would go to cells, not to the wide list."""
        edge = choose_edge(boxes, self._max_cells) if self.edge is None else self.edge
        held: NDArray[np.bool_] = self._ranges(boxes, edge)[0][:, 0] != kernels.WIDE
        return held

    def _ranges(
        self, boxes: NDArray[np.float64], edge: float
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the range of cells of each box, `WIDE` for those that do not fit, and totals."""
        ranges = np.empty(boxes.shape, np.int32)
        found = np.empty(8, np.int64)
        kernels.cell_ranges(boxes, edge, self._max_cells, axes(self.table), ranges, found)
        return ranges, found

    def apply(self, changes: Changes) -> None:
        """Take changes in: a few one by one, many by building anew."""
        n = len(self.table)
        n_changed = len(changes.added) + len(changes.removed) + len(changes.moved)
        if not n_changed:
            return
        if n_changed > _BULK_SHARE * n or n > 2 * self._n_chosen + 64:
            self._build()
            return
        self._reserve_ranges()
        self._remove(changes.removed)
        self._move(changes.moved)
        self._add(changes.added)
        if self._is_sparse():
            self._build()

    def rebuild(self) -> None:
        """Choose the edge again and build from the table."""
        self._n_chosen = 0
        self._build()

    def _build(self) -> None:
        """Build all memberships, in spatial order."""
        table = self.table
        slots = table.live_slots()
        n = len(slots)
        boxes = table.cover[:n] if n == table.high else table.cover[slots]
        if self._cell_size is None and not self._n_chosen / 2 < n <= 2 * self._n_chosen:
            self.edge = choose_edge(boxes, self._max_cells) if n else None
        self._n_chosen = n
        self._rebuilds += 1
        if self.edge is None:
            self._clear()
            return
        ranges, found = self._ranges(boxes, self.edge)
        layout = _key_layout(found)
        entries = int(found[1])
        if layout is None or entries > _MOST_ENTRIES * n or n >= 2**29:
            self._clear(n, n)
            self._enter(slots, boxes, ranges)
            return
        keys = np.empty(entries, np.uint64)
        kernels.list_entries(ranges, layout, axes(self.table), keys)
        keys = sort_keys(keys, np.empty_like(keys), 32, int(layout[:, [1, 4]].sum()))
        cells, blocks = kernels.count_cells(keys)
        self._clear(int(blocks) + n // 32, int(cells))
        self._arrays.ranges[: table.high][slots if n < table.high else slice(None)] = ranges
        self._wide.change(added=slots[ranges[:, 0] == kernels.WIDE])
        kernels.fill_cells(self._arrays, slots, boxes, keys, layout, axes(self.table))

    def _enter(
        self, slots: NDArray[np.int32], boxes: NDArray[np.float64], ranges: NDArray[np.int32]
    ) -> None:
        """Enter cells or the wide list, growing the arrays as often as it takes."""
        self._wide.change(added=slots[ranges[:, 0] == kernels.WIDE])
        self._with_room(kernels.enter_slots, slots, boxes, ranges)

    def _with_room(
        self,
        kernel: Callable[..., int],
        slots: NDArray[np.int32],
        boxes: NDArray[np.float64],
        ranges: NDArray[np.int32],
    ) -> None:
        """Run a kernel that stops for want of room until it has done all rows."""
        done = 0
        while True:
            done = kernel(self._arrays, slots, boxes, ranges, done, axes(self.table))
            if done == len(slots):
                return
            self._grow(ranges[done])

    def _remove(self, slots: NDArray[np.int32]) -> None:
        """Take slots out of the cells or the wide list."""
        if len(slots):
            self._wide.change(removed=slots[self._arrays.ranges[slots, 0] == kernels.WIDE])
            kernels.leave_slots(self._arrays, slots, axes(self.table))

    def _add(self, slots: NDArray[np.int32]) -> None:
        """Take new slots in."""
        if len(slots):
            boxes = self.table.cover[slots]
            self._enter(slots, boxes, self._ranges(boxes, self._edge())[0])

    def _move(self, slots: NDArray[np.int32]) -> None:
        """Move slots between cells; those that were or become wide leave and enter."""
        if not len(slots):
            return
        boxes = self.table.cover[slots]
        ranges, _ = self._ranges(boxes, self._edge())
        was_wide = self._arrays.ranges[slots, 0] == kernels.WIDE
        is_wide = ranges[:, 0] == kernels.WIDE
        if was_wide.any() or is_wide.any():
            self._wide.change(moved=slots[was_wide & is_wide])
            changed = slots[was_wide != is_wide]
            self._remove(changed)
            self._add(changed)
            kept = ~(was_wide | is_wide)
            slots, boxes, ranges = slots[kept], boxes[kept], ranges[kept]
        self._with_room(kernels.move_slots, slots, boxes, ranges)

    def _edge(self) -> float:
        """Return the edge; there is one as soon as there is an object."""
        assert self.edge is not None
        return self.edge

    def _grow(self, needed: NDArray[np.int32]) -> None:
        """Make room for at least one more object that covers the cells of a range."""
        ndim = self.table.ndim
        covered = int(np.prod(needed[ndim:].astype(np.int64) - needed[:ndim] + 1))
        arrays = self._arrays
        blocks, used = len(arrays.slots), int(arrays.meta[kernels.USED_BLOCKS])
        if blocks - used + int(arrays.meta[kernels.FREE_BLOCKS]) < covered:
            larger = max(blocks * 3 // 2, blocks + covered, 32)
            for name in ("bounds", "slots", "first", "link"):
                old = getattr(arrays, name)
                new = np.empty((larger, *old.shape[1:]), old.dtype)
                new[:used] = old[:used]
                arrays = arrays._replace(**{name: new})
        cells = int(arrays.meta[kernels.CELLS]) + covered
        if 2 * cells > len(arrays.cells):
            table = np.full((1 << (2 * cells).bit_length(), ndim + 2), -1, np.int32)
            kernels.rehash(arrays.cells, table, axes(self.table))
            arrays = arrays._replace(cells=table)
        self._arrays = arrays

    def _reserve_ranges(self) -> None:
        """Follow the table when it has grown."""
        old, capacity = self._arrays.ranges, len(self.table.slot_ids)
        if len(old) < capacity:
            ranges = np.full((capacity, old.shape[1]), kernels.ABSENT, np.int32)
            ranges[: len(old)] = old
            self._arrays = self._arrays._replace(ranges=ranges)

    def _is_sparse(self) -> bool:
        """Tell if most of the memory is empty: time to build anew."""
        meta = self._arrays.meta
        blocks = int(meta[kernels.USED_BLOCKS] - meta[kernels.FREE_BLOCKS])
        return (
            len(self._arrays.slots) > 4 * blocks + 256
            or len(self._arrays.cells) > 16 * int(meta[kernels.CELLS]) + 1024
        )

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Pair the members of each cell, then the wide objects with everything."""

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._find_pairs(rule, start, stop, out, limit)

        blocks = int(self._arrays.meta[kernels.USED_BLOCKS])
        rows = collect_rows(fill, blocks, limit=limit, workers=workers, guess=4 * len(self.table))
        if len(self._wide):
            ask = ask_neighbours(self.table, self._wide.slots, rule)
            crossing = self._from_cells(ask, limit=limit - len(rows), workers=workers)
            left = limit - len(rows) - len(crossing)
            among = self._wide.pairs(rule, limit=left, workers=workers)
            rows = np.concatenate([rows, crossing, among])
        return rows

    def _find_pairs(
        self, rule: int, start: int, stop: int, out: NDArray[np.int32], limit: int
    ) -> int:
        table = self.table
        return int(
            kernels.find_pairs(
                *(self._arrays, table.cover, table.state, rule),
                *(start, stop, out, limit, axes(table)),
            )
        )

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Ask the cells of each slot's box, and the wide list."""
        return self._everywhere(ask_neighbours(self.table, slots, rule), limit, workers)

    def query(self, region: Region, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Ask the cells of each region, and the wide list."""
        return self._everywhere(ask_region(self.table, region), limit, workers)

    def _everywhere(self, ask: Ask, limit: int, workers: int) -> NDArray[np.int32]:
        rows = self._from_cells(ask, limit=limit, workers=workers)
        if len(self._wide):
            left = limit - len(rows)
            wide = self._wide.regions(ask, limit=left, workers=workers, guess=len(ask.cull))
            rows = np.concatenate([rows, wide])
        return rows

    def _from_cells(self, ask: Ask, *, limit: int, workers: int) -> NDArray[np.int32]:
        counts = np.zeros(len(ask.cull), np.int64)

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return self._query(ask, start, stop, counts, out, limit)

        n = len(ask.cull)
        return collect_rows(fill, n, limit=limit, workers=workers, guess=8 * n)

    def _query(
        self,
        ask: Ask,
        start: int,
        stop: int,
        counts: NDArray[np.int64],
        out: NDArray[np.int32],
        limit: int,
    ) -> int:
        if self.edge is None:
            return 0
        dim = axes(self.table)
        return int(
            kernels.query_regions(
                self._arrays, ask, self.edge, start, stop, counts, out, limit, dim
            )
        )

    def count(self, region: Region, *, workers: int = 1) -> NDArray[np.int64]:
        """Count in the cells of each region, and in the wide list."""
        counts = np.zeros(len(region.cull), np.int64)
        ask = ask_region(self.table, region)
        run_chunks(
            lambda start, stop: self._query(ask, start, stop, counts, NO_ROWS, NO_LIMIT),
            len(counts),
            workers,
        )
        if len(self._wide):
            self._wide.count(ask, counts, workers=workers)
        return counts

    # -- figures ------------------------------------------------------------------------------

    def stats(self) -> StructureStats:
        """Return what the cells hold."""
        meta = self._arrays.meta
        return StructureStats(
            entries=int(meta[kernels.ENTRIES]),
            buckets=int(meta[kernels.CELLS]),
            max_bucket=int(kernels.largest_cell(self._arrays.cells, axes(self.table))),
            wide=len(self._wide),
            rebuilds=self._rebuilds,
        )

    def count_pairs(self, rule: int) -> PairCounts:
        """Count by walking all cells once more; a wide object meets everything."""
        visits, candidates = kernels.count_meetings(self._arrays, axes(self.table))
        wide = len(self._wide)
        met_wide = wide * (len(self.table) - wide) + wide * (wide - 1) // 2
        blocks = int(self._arrays.meta[kernels.USED_BLOCKS])

        def count(weaker: int) -> int:
            total = self._find_pairs(weaker, 0, blocks, NO_ROWS, NO_LIMIT)
            if wide:
                ask = ask_neighbours(self.table, self._wide.slots, weaker)
                found = np.zeros(wide, np.int64)
                total += self._query(ask, 0, wide, found, NO_ROWS, NO_LIMIT)
                total += self._wide.count_pairs(weaker)
            return total

        return count_verdicts(
            count, rule, visits=int(visits) + met_wide, candidates=int(candidates) + met_wide
        )

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(array.nbytes for array in self._arrays) + self._wide.nbytes

    def validate(self) -> None:
        """Check that every object is exactly where its box says, under bounds that hold it."""
        slots = self.table.live_slots()
        if self.edge is None:
            if len(slots):
                raise InvariantError("grid: there are objects but no edge")
            return
        ranges, _ = self._ranges(self.table.cover[slots], self.edge)
        wide = ranges[:, 0] == kernels.WIDE
        self._wide.validate(slots[wide])
        kept = self._arrays.ranges[slots]
        if not (kept[wide, 0] == kernels.WIDE).all() or (kept[~wide] != ranges[~wide]).any():
            raise InvariantError("grid: a slot does not remember the cells its box touches")
        gone = np.ones(len(self._arrays.ranges), np.bool_)
        gone[slots] = False
        if (self._arrays.ranges[gone, 0] != kernels.ABSENT).any():
            raise InvariantError("grid: a free slot remembers cells")
        members = _members(self._arrays)
        self._validate_members(members, _expand(slots[~wide], ranges[~wide]))

    def _validate_members(
        self, members: dict[str, NDArray[Any]], expected: NDArray[np.int64]
    ) -> None:
        """Compare the members found in the cells with those that the boxes demand."""
        ndim, meta = self.table.ndim, self._arrays.meta
        found = np.column_stack([members["slots"], members["cells"]])
        rows = found[np.lexsort(found.T[::-1])]
        if not np.array_equal(rows, expected[np.lexsort(expected.T[::-1])]):
            raise InvariantError(
                f"grid: {len(rows)} memberships in the cells, {len(expected)} by the boxes"
            )
        if len(rows) != meta[kernels.ENTRIES]:
            raise InvariantError(
                f"grid: {meta[kernels.ENTRIES]} entries counted, {len(rows)} found"
            )
        lowest, highest = meta[kernels.LOWEST :][:ndim], meta[kernels.LOWEST + 3 :][:ndim]
        if len(rows) and not (
            (members["cells"] >= lowest).all() and (members["cells"] <= highest).all()
        ):
            raise InvariantError("grid: a cell lies outside the occupied bounds")
        first = self._arrays.ranges[members["slots"], :ndim] == members["cells"]
        if not np.array_equal(first, members["first"]):
            raise InvariantError("grid: a first-cell bit is wrong")
        boxes = self.table.cover[members["slots"]]
        bounds = members["bounds"].astype(np.float64)
        if (bounds[:, :ndim] > boxes[:, :ndim]).any() or (bounds[:, ndim:] < boxes[:, ndim:]).any():
            raise InvariantError("grid: the bounds of a member do not hold its box")
        blocks = len(np.unique(members["blocks"]))
        if blocks != meta[kernels.USED_BLOCKS] - meta[kernels.FREE_BLOCKS]:
            raise InvariantError("grid: a block is neither in a chain nor free")
        used = self._arrays.slots[: meta[kernels.USED_BLOCKS]]
        if np.count_nonzero(used >= 0) != len(rows):
            raise InvariantError("grid: a free lane holds a slot")


def _expand(slots: NDArray[np.int32], ranges: NDArray[np.int32]) -> NDArray[np.int64]:
    """List (slot, x, y[, z]) for every cell of every range."""
    ndim = ranges.shape[1] // 2
    rows = np.column_stack([slots, ranges]).astype(np.int64)
    for d in range(ndim):
        spans = rows[:, 1 + ndim + d] - rows[:, 1 + d] + 1
        inner = np.arange(spans.sum()) - np.repeat(np.cumsum(spans) - spans, spans)
        rows = np.repeat(rows, spans, axis=0)
        rows[:, 1 + d] += inner
    return rows[:, : 1 + ndim]


def _members(arrays: kernels.GridArrays) -> dict[str, NDArray[Any]]:
    """Walk all chains and list the members with their cells, blocks, bounds and first-cell bits."""
    ndim = arrays.cells.shape[1] - 2
    cells = arrays.cells[arrays.cells[:, ndim] >= 0]
    blocks, sizes = cells[:, ndim].copy(), cells[:, ndim + 1].astype(np.int64)
    found: list[tuple[NDArray[Any], ...]] = []
    in_block = (sizes - 1) % LANES + 1
    cells = cells[:, :ndim]
    while len(blocks):
        rows = np.repeat(np.arange(len(blocks)), in_block)
        lanes = np.arange(len(rows)) - np.repeat(np.cumsum(in_block) - in_block, in_block)
        at = blocks[rows]
        first = (arrays.first[at] >> lanes[:, None].astype(np.uint8)) & 1
        found.append(
            (arrays.slots[at, lanes], cells[rows], at, arrays.bounds[at, :, lanes], first == 1)
        )
        sizes = sizes - in_block
        blocks = arrays.link[blocks]
        if ((blocks >= 0) != (sizes > 0)).any():
            raise InvariantError("grid: a chain is longer or shorter than the size of its cell")
        more = blocks >= 0
        blocks, sizes, cells = blocks[more], sizes[more], cells[more]
        in_block = np.full(len(blocks), LANES)
    names = ("slots", "cells", "blocks", "bounds", "first")
    if not found:
        none = np.empty((0, ndim), np.int32)
        return {
            "slots": none[:, 0],
            "cells": none,
            "blocks": none[:, 0],
            "bounds": np.empty((0, 2 * ndim)),
            "first": none.astype(np.bool_),
        }
    return {
        name: np.concatenate(parts)
        for name, parts in zip(names, zip(*found, strict=True), strict=True)
    }


CELL_SIZE = Parameter(
    "cell_size", None, "edge of the cells; chosen from the boxes when not given", tunable=(0.25, 16)
)
CELL_BUDGET = Parameter(
    "max_cells", MAX_CELLS, "cells that one object may cover before it goes to the wide list"
)
OVERSIZED = Parameter(
    "oversized", "keep", "what happens to wide objects", choices=("keep", "refuse")
)


class _Grid(BoxIndex):
    """What the grids have in common: their parameters and the refusal of oversized objects."""

    cell_size: float | None
    max_cells: int
    oversized: str
    _structure: GridStructure

    @property
    def edge(self) -> float | None:
        """Edge of the cells in use: `cell_size` or the one chosen; None before there is one."""
        self._sync()
        return self._structure.edge

    def _admit(self, boxes: NDArray[np.float64]) -> None:
        if self.oversized == "keep":
            return
        self._sync()
        held = self._structure.holds(boxes)
        if not held.all():
            row = int(np.flatnonzero(~held)[0])
            raise CoverageError(
                f"boxes[{row}] {boxes[row].tolist()} covers more than {self.max_cells} cells of "
                f"edge {self.edge or self.cell_size or 'chosen from the boxes'}, or cells too far "
                'out; use larger cells, raise max_cells, or keep it with oversized="keep"'
            )


def _check_grid(cell_size: float | None, max_cells: int, oversized: str) -> None:
    """Check the parameters of a grid."""
    if cell_size is not None:
        is_number = isinstance(cell_size, int | float | np.number)
        if isinstance(cell_size, bool) or not is_number or not 0 < cell_size < np.inf:
            raise InvalidArgumentError(
                f"cell_size is {cell_size!r}: pass a finite edge > 0, or None to have it chosen"
            )
    if isinstance(max_cells, bool) or not isinstance(max_cells, int | np.integer) or max_cells < 1:
        raise InvalidArgumentError(f"max_cells is {max_cells!r}: pass a number of cells, 1 or more")
    if oversized not in OVERSIZED.choices:
        raise InvalidArgumentError(
            f"oversized is {oversized!r}; known: {', '.join(OVERSIZED.choices)}"
        )


class HashGrid(_Grid):
    """Unbounded grid in which only occupied cells exist.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    cell_size : float, optional
        Edge of the cells, in the unit of the boxes. None: chosen from the boxes when the grid is
        built, weighing members a cell against cells an object; `edge` tells which.
    max_cells : int
        Cells that one object may cover. One that covers more is kept in a list that every question
        scans, and counted as ``stats().wide``.
    oversized : {"keep", "refuse"}
        With "refuse", inserting or updating such an object raises `CoverageError` instead.

    Notes
    -----
    Cost: an update is proportional to the cells left and entered, a query to the cells of its
    region and their members. Right for many objects of similar size; for sizes over several orders
    of magnitude the few large ones are scanned and the many small ones share cells.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.HashGrid(ndim=2, cell_size=2.0)
    >>> index.insert([[0, 0, 10, 2], [9, 0.5, 9.5, 1.5]])
    array([0, 1])
    >>> index.pairs()
    array([[0, 1]])
    >>> index.stats().entries
    13
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (CELL_SIZE, CELL_BUDGET, OVERSIZED)

    def __init__(
        self,
        ndim: int = 2,
        cell_size: float | None = None,
        *,
        max_cells: int = MAX_CELLS,
        oversized: str = "keep",
    ) -> None:
        _check_grid(cell_size, max_cells, oversized)
        super().__init__(
            ndim,
            GridStructure,
            cell_size=None if cell_size is None else float(cell_size),
            max_cells=int(max_cells),
            oversized=oversized,
        )
