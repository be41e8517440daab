"""Validating a grid: its memberships against those that the boxes demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.errors import InvariantError
from spatialindex.kernels.grid import cells
from spatialindex.kernels.simd import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.kernels.grid.cells import GridArrays

__all__ = ["check_members", "walk_members"]


class _Members(NamedTuple):
    """What is found in the cells, a row a membership."""

    slots: NDArray[np.int32]
    cells: NDArray[Any]
    blocks: NDArray[np.int32]
    bounds: NDArray[np.float32]
    is_exact: NDArray[np.bool_]
    is_first: NDArray[np.bool_]


def check_members(
    arrays: GridArrays,
    cover: NDArray[np.float64],
    slots: NDArray[np.int32],
    ranges: NDArray[Any],
) -> None:
    """Raise `InvariantError` unless these slots, no others, are in the cells of their ranges."""
    wide = ranges[:, 0] == cells.WIDE
    kept = arrays.ranges[slots]
    if not (kept[wide, 0] == cells.WIDE).all() or (kept[~wide] != ranges[~wide]).any():
        raise InvariantError("grid: a slot does not remember the cells its box touches")
    gone = np.ones(len(arrays.ranges), np.bool_)
    gone[slots] = False
    if (arrays.ranges[gone, 0] != cells.ABSENT).any():
        raise InvariantError("grid: a free slot remembers cells")
    found = walk_members(arrays)
    rows = np.column_stack([found.slots, found.cells]).astype(np.int64)
    rows = rows[np.lexsort(rows.T[::-1])]
    expected = _expand(slots[~wide], ranges[~wide])
    if not np.array_equal(rows, expected[np.lexsort(expected.T[::-1])]):
        raise InvariantError(
            f"grid: {len(rows)} memberships in the cells, {len(expected)} by the boxes"
        )
    _check_lanes(arrays, cover, found)
    _check_counters(arrays, found)


def _check_lanes(arrays: GridArrays, cover: NDArray[np.float64], found: _Members) -> None:
    """Compare bounds and first-cell bits of all members with their boxes and ranges."""
    ndim = found.cells.shape[1]
    first = arrays.ranges[found.slots, :ndim] == found.cells
    if not np.array_equal(first, found.is_first):
        raise InvariantError("grid: a first-cell bit is wrong")
    boxes, bounds = cover[found.slots], found.bounds.astype(np.float64)
    if (bounds[:, :ndim] > boxes[:, :ndim]).any() or (bounds[:, ndim:] < boxes[:, ndim:]).any():
        raise InvariantError("grid: the bounds of a member do not hold its box")
    if (bounds[found.is_exact] != boxes[found.is_exact]).any():
        raise InvariantError("grid: a member is marked as exact, its bounds are not its box")


def _check_counters(arrays: GridArrays, found: _Members) -> None:
    """Compare the counters with what is there."""
    ndim, meta = found.cells.shape[1], arrays.meta
    if len(found.slots) != meta[cells.ENTRIES]:
        raise InvariantError(
            f"grid: {meta[cells.ENTRIES]} entries are counted, {len(found.slots)} are there"
        )
    if np.count_nonzero(arrays.cells[:, ndim] >= 0) != meta[cells.CELLS]:
        raise InvariantError("grid: the number of occupied cells is not the one counted")
    lowest, highest = meta[cells.LOWEST :][:ndim], meta[cells.LOWEST + 3 :][:ndim]
    if (found.cells < lowest).any() or (found.cells > highest).any():
        raise InvariantError("grid: a cell lies outside the occupied bounds")
    longest = meta[cells.LONGEST :][:ndim]
    kept = arrays.ranges[found.slots].astype(np.int64)
    if (kept[:, ndim:] - kept[:, :ndim] > longest).any():
        raise InvariantError("grid: a range of cells is longer than the longest noted")
    blocks = len(np.unique(found.blocks))
    if blocks != meta[cells.USED_BLOCKS] - meta[cells.FREE_BLOCKS]:
        raise InvariantError("grid: a block is neither in a chain nor free")
    used = arrays.slots[: meta[cells.USED_BLOCKS]]
    if np.count_nonzero(used >= 0) != len(found.slots):
        raise InvariantError("grid: a lane that belongs to no cell holds a slot")


def _expand(slots: NDArray[np.int32], ranges: NDArray[Any]) -> NDArray[np.int64]:
    """List (slot, x, y[, z]) for every cell of every range."""
    ndim = ranges.shape[1] // 2
    rows = np.column_stack([slots, ranges]).astype(np.int64)
    for d in range(ndim):
        spans = rows[:, 1 + ndim + d] - rows[:, 1 + d] + 1
        inner = np.arange(spans.sum()) - np.repeat(np.cumsum(spans) - spans, spans)
        rows = np.repeat(rows, spans, axis=0)
        rows[:, 1 + d] += inner
    return rows[:, : 1 + ndim]


def walk_members(arrays: GridArrays) -> _Members:
    """Walk the chains of all cells, one block of each at a time, and list their members."""
    ndim = arrays.cells.shape[1] - 2
    occupied = arrays.cells[arrays.cells[:, ndim] >= 0]
    blocks, sizes = occupied[:, ndim], occupied[:, ndim + 1].astype(np.int64)
    places = occupied[:, :ndim]
    in_block = (sizes - 1) % LANES + 1  # the head may be partly filled
    parts = [_lanes(arrays, places, blocks, in_block)]
    while len(blocks):
        sizes, blocks = sizes - in_block, arrays.link[blocks]
        if ((blocks >= 0) != (sizes > 0)).any():
            raise InvariantError("grid: a chain is longer or shorter than the size of its cell")
        more = blocks >= 0
        blocks, sizes, places = blocks[more], sizes[more], places[more]
        in_block = np.full(len(blocks), LANES)
        parts.append(_lanes(arrays, places, blocks, in_block))
    return _Members(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _lanes(
    arrays: GridArrays,
    places: NDArray[Any],
    blocks: NDArray[np.int32],
    in_block: NDArray[np.int64],
) -> _Members:
    """List the members in the first lanes of some blocks."""
    rows = np.repeat(np.arange(len(blocks)), in_block)
    lanes = np.arange(len(rows)) - np.repeat(np.cumsum(in_block) - in_block, in_block)
    at = blocks[rows]
    is_first = ((arrays.first[at] >> lanes[:, None].astype(np.uint8)) & 1) == 1
    is_exact = ((arrays.exact[at] >> lanes.astype(np.uint8)) & 1) == 1
    bounds = arrays.bounds[at, :, lanes]
    return _Members(arrays.slots[at, lanes], places[rows], at, bounds, is_exact, is_first)
