"""Lanes, and the blocks of eight sorted along them, as boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.kernels.sweep import lanes
from spatialindex.outlines import Outlines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.indexes.sweep_and_prune.store import LaneStore

__all__ = ["lane_outlines"]


def lane_outlines(store: LaneStore) -> Outlines:
    """Return lanes, and in each the blocks in the order in which they are swept.

    Both reach along the axis that is swept from where the first of their entries begins to where
    the last one ends, and across it from border to border of the lane.
    """
    arrays, table, filled = store.arrays, store.table, store.filled()
    ndim = table.ndim
    blocks = np.flatnonzero(filled.any(axis=1))
    if not len(blocks):
        return Outlines.of("lane", np.empty((0, 2 * ndim)))
    lane = np.searchsorted(arrays.offsets, blocks, side="right") - 1
    bounds = np.where(filled[blocks, None], arrays.bounds[blocks].astype(np.float64), np.nan)
    boxes = np.empty((len(blocks), 2 * ndim))
    axis = int(arrays.meta[lanes.AXIS])
    boxes[:, axis] = np.nanmin(bounds[:, axis], axis=1)
    boxes[:, ndim + axis] = np.nanmax(bounds[:, ndim + axis], axis=1)
    n_across = int(arrays.meta[lanes.N_LANES + 1])
    for k, number in zip(range(ndim - 1), (lane // n_across, lane % n_across), strict=False):
        borders = _borders(store, k)
        d = int(arrays.meta[lanes.ACROSS + k])
        boxes[:, d], boxes[:, ndim + d] = borders[number], borders[number + 1]
    first = np.flatnonzero(np.append(True, lane[1:] != lane[:-1]))
    around = boxes[first]
    around[:, axis] = np.minimum.reduceat(boxes[:, axis], first)
    around[:, ndim + axis] = np.maximum.reduceat(boxes[:, ndim + axis], first)
    rows, places = np.nonzero(filled[blocks])
    slots = arrays.slots[blocks[rows], places]
    return Outlines.joined(
        [
            Outlines.of("lane", around, levels=lane[first]),
            Outlines.of("block", boxes, levels=lane, parts=rows, slots=slots),
        ]
    )


def _borders(store: LaneStore, k: int) -> NDArray[np.float64]:
    """Return the borders of lanes along an axis across; those at the ends are where objects end."""
    arrays, table = store.arrays, store.table
    origin, density = arrays.frame[2 * k : 2 * k + 2]
    n, d = int(arrays.meta[lanes.N_LANES + k]), int(arrays.meta[lanes.ACROSS + k])
    cover = table.cover[table.live_slots()]
    borders = np.full(n + 1, origin)
    if n > 1:
        borders += np.arange(n + 1) / density
    borders[0] = min(borders[0], cover[:, d].min())
    borders[-1] = max(borders[-1], cover[:, table.ndim + d].max())
    return borders
