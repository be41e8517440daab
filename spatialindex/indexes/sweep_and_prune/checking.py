"""Validating swept lanes: their entries against those that the boxes demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.errors import InvariantError
from spatialindex.indexes.asking import axes
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.sweep import lanes
from spatialindex.kernels.sweep.tree import SweptTree, build_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.indexes.sweep_and_prune.store import LaneStore
    from spatialindex.kernels.sweep.lanes import SweptLanes
    from spatialindex.objects import ObjectTable

__all__ = ["check_lanes"]


def check_lanes(store: LaneStore) -> None:
    """Raise `InvariantError` unless the slots of the table, no others, are in all their lanes."""
    arrays, table, filled = store.arrays, store.table, store.filled()
    slots = table.live_slots()
    gone = np.ones(len(arrays.homes), np.bool_)
    gone[slots] = False
    if (arrays.homes[gone] != lanes.ABSENT).any():
        raise InvariantError("lanes: a free slot remembers a home")
    if not len(slots):
        if filled.any():
            raise InvariantError("lanes: there are entries of no object")
        return
    _check_order(arrays, filled)
    ranges = _ranges(arrays, table, slots)
    if (arrays.ranges[slots] != ranges).any():
        raise InvariantError("lanes: a slot does not remember the lanes its box touches")
    blocks, places = np.nonzero(filled)
    found = arrays.slots[blocks, places]
    lane = np.searchsorted(arrays.offsets, blocks, side="right") - 1
    rows, expected = np.column_stack([found, lane]), _expand(slots, ranges, arrays.meta)
    order = np.lexsort(rows.T[::-1])
    if not np.array_equal(rows[order], expected[np.lexsort(expected.T[::-1])]):
        raise InvariantError(
            f"lanes: {len(rows)} entries are there, {len(expected)} by the boxes, or others"
        )
    if len(rows) != arrays.meta[lanes.ENTRIES]:
        raise InvariantError(
            f"lanes: {arrays.meta[lanes.ENTRIES]} entries are counted, {len(rows)} are there"
        )
    _check_entries(arrays, table, (blocks, places), found, lane)
    _check_tree(arrays, store.present_tree, table)


def _ranges(arrays: SweptLanes, table: ObjectTable, slots: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return first and last lanes of slots along the axes across, in plain NumPy."""
    columns = []
    for k in range(table.ndim - 1):
        d, n = int(arrays.meta[lanes.ACROSS + k]), int(arrays.meta[lanes.N_LANES + k])
        origin, density = arrays.frame[2 * k : 2 * k + 2]
        for bound in (d, table.ndim + d):
            with np.errstate(over="ignore"):
                place = (table.cover[slots, bound] - origin) * density
            columns.append(np.clip(place, 0, n - 1).astype(np.int64))
    return np.column_stack(columns)


def _expand(
    slots: NDArray[np.int32], ranges: NDArray[np.int64], meta: NDArray[np.int64]
) -> NDArray[np.int64]:
    """List (slot, lane) for every lane of every range."""
    rows = np.column_stack([slots, np.zeros(len(slots), np.int64), ranges])
    for k in range(ranges.shape[1] // 2):
        low, high = rows[:, 2 + 2 * k], rows[:, 3 + 2 * k]
        spans = high - low + 1
        inner = np.arange(spans.sum()) - np.repeat(np.cumsum(spans) - spans, spans)
        rows = np.repeat(rows, spans, axis=0)
        rows[:, 1] = rows[:, 1] * meta[lanes.N_LANES + k] + rows[:, 2 + 2 * k] + inner
    return rows[:, :2]


def _check_entries(
    arrays: SweptLanes,
    table: ObjectTable,
    at: tuple[NDArray[np.int64], NDArray[np.int64]],
    found: NDArray[np.int32],
    lane: NDArray[np.int64],
) -> None:
    """Compare bounds, bits and homes of all entries with what they should be."""
    blocks, places = at
    ndim = table.ndim
    boxes, bounds = table.cover[found], arrays.bounds[blocks, :, places].astype(np.float64)
    if (bounds[:, :ndim] > boxes[:, :ndim]).any() or (bounds[:, ndim:] < boxes[:, ndim:]).any():
        raise InvariantError("lanes: the bounds of an entry do not hold its box")
    shift = places.astype(np.uint8)
    is_exact = (arrays.exact[blocks] >> shift) & 1 == 1
    if (bounds[is_exact] != boxes[is_exact]).any():
        raise InvariantError("lanes: an entry is marked as exact, its bounds are not its box")
    n_across = arrays.meta[lanes.N_LANES + 1]
    numbers = (lane // n_across, lane % n_across)
    is_home = np.ones(len(found), np.bool_)
    for k in range(ndim - 1):
        is_first = arrays.ranges[found, 2 * k] == numbers[k]
        if (((arrays.first[blocks, k] >> shift) & 1 == 1) != is_first).any():
            raise InvariantError("lanes: a first-lane bit is wrong")
        is_home &= is_first
    if (arrays.homes[found[is_home]] != (LANES * blocks + places)[is_home]).any():
        raise InvariantError("lanes: a slot is not where its home is said to be")


def _check_order(arrays: SweptLanes, filled: NDArray[np.bool_]) -> None:
    """Check that blocks start no later than what is in them and behind them in their lane."""
    gaps = ~filled & ~np.isnan(arrays.starts)[:, None]
    if (arrays.slots[gaps] != -1).any():
        raise InvariantError("lanes: a gap holds a number that is neither a slot nor -1")
    if not np.isnan(arrays.bounds.transpose(0, 2, 1)[gaps]).all():
        raise InvariantError("lanes: an empty lane of a block has bounds")
    lowest = np.where(filled, arrays.bounds[:, arrays.meta[lanes.AXIS]], np.inf).min(1)
    for first, end in zip(arrays.offsets[:-1], arrays.offsets[1:], strict=True):
        starts = arrays.starts[first:end]
        used = int(np.count_nonzero(~np.isnan(starts)))
        if used == end - first or np.isnan(starts[:used]).any():
            raise InvariantError("lanes: blocks in use are not followed by one that is not")
        # compared, not subtracted: starts may be infinite
        descends = (starts[1:used] < starts[: used - 1]).any() if used else False
        if descends or (starts[:used] > lowest[first:][:used]).any():
            raise InvariantError("lanes: a block starts later than what is in it or behind it")


def _check_tree(arrays: SweptLanes, tree: SweptTree | None, table: ObjectTable) -> None:
    """Compare the tree, where there is one, with one that is made anew."""
    if tree is None:
        return
    fresh = tree._replace(nodes=np.empty_like(tree.nodes))
    build_tree(arrays, fresh, axes(table))
    if not np.array_equal(fresh.nodes, tree.nodes, equal_nan=True):
        raise InvariantError("lanes: a node of the tree does not enclose what is below it")
