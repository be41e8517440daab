"""Spatial order: along a curve, so that what is asked one after the other lies side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.indexes.asking import ask_region, axes, collect_best
from spatialindex.kernels.blocks import Best
from spatialindex.kernels.decide import CAST, PLANES, RADIUS
from spatialindex.kernels.sorting import sort_keys
from spatialindex.kernels.tree import packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spatialindex.kernels.decide import Ask
    from spatialindex.objects import ObjectTable
    from spatialindex.protocol import Region

__all__ = ["NO_ORDER", "best_along_curve", "box_order", "curve_keys", "curve_order"]

NO_ORDER = np.empty(0, SLOT_DTYPE)
"""The order of the rows as they are."""

_KEY_BITS = {2: 16, 3: 11}  # of an axis in a key of the curve, at most
_SPARE_BITS = 8  # of the keys that put rows in order
# rows of a batch and objects from which on order pays: fewer lie in near caches whatever the order.
# 1,000 boxes asked of 10,000 objects take 5 to 15 % longer in order, 10,000 of 100,000 10 % less;
# of a million objects, 600 boxes or long rays take 3 to 30 % less. Around a point more is looked
# at, and 10,000 points pay from the first on
_MANY_ASKED = 512
_FAR, _FAR_AROUND = 2**15, 256
# blocks of a grid or tree and rows from which on asking it about boxes in spatial order pays:
# 100,000 rows and a million boxes take half the time in a grid, in a tree three quarters in 3D and
# a tenth more in 2D, 10,000 rows the same; python -m tests.benchmarks --job query
_FAR_BLOCKS, _MANY_ROWS = 2**15, 2**15


def curve_keys(boxes: NDArray[np.float64], dim: tuple[int, ...], spare: int) -> NDArray[np.uint64]:
    """Return sorted keys of boxes along the curve, the row in the low `packed.ROW_BITS`.

    The keys have `spare` bits more than it takes to number the boxes.
    """
    n, ndim = len(boxes), len(dim)
    bits = min(_KEY_BITS[ndim], -(-(n.bit_length() + spare) // ndim))
    frame, keys = np.empty(4), np.empty(n, np.uint64)
    packed.measure(boxes, dim, frame)
    packed.morton_keys(boxes, frame, bits, np.empty((3, 1), np.int32), dim, keys)
    found: NDArray[np.uint64] = sort_keys(keys, np.empty_like(keys), packed.ROW_BITS, bits * ndim)
    return found


def curve_order(ask: Ask, n_objects: int, dim: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the rows of a batch of regions in spatial order, empty when that does not pay."""
    ndim = len(dim)
    far = _FAR_AROUND if ask.kind == RADIUS else _FAR
    if len(ask.cull) < _MANY_ASKED or n_objects < far:
        return NO_ORDER
    boxes = ask.cull
    if ask.kind == CAST:  # by where it starts
        boxes = np.ascontiguousarray(ask.exact[:, : 2 * ndim])
    elif ask.kind == RADIUS:
        boxes = np.concatenate([ask.exact[:, :ndim]] * 2, axis=1)
    keys = curve_keys(boxes, dim, _SPARE_BITS)
    keys &= np.uint64((1 << packed.ROW_BITS) - 1)
    return keys.astype(SLOT_DTYPE)


def box_order(ask: Ask, n_blocks: int, dim: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the order in which boxes are asked of blocks, empty where theirs is as fast."""
    is_worth_it = len(ask.cull) >= _MANY_ROWS and n_blocks >= _FAR_BLOCKS
    if ask.kind in (CAST, PLANES) or not is_worth_it:
        return NO_ORDER
    return curve_order(ask, n_blocks, dim)


def best_along_curve(
    table: ObjectTable,
    region: Region,
    k: int,
    ignored: NDArray[np.int32],
    offer: Callable[[Ask, NDArray[np.int32], Best, int, int], None],
    workers: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return slots and values ``(q, k)`` of the best of each row, asked in spatial order.

    ``offer(ask, NO_ORDER, best, start, stop)`` offers what it finds, see `asking.collect_best`:
    for searches in which a row is looked at so often that it has to lie beside the one before. Each
    piece of the batch is brought into order by the thread that asks it.
    """
    ask = ask_region(table, region)
    order = curve_order(ask, len(table), axes(table))
    shape = (len(region.cull), k)
    if not len(order):
        whole = partial(offer, ask, NO_ORDER)
        return collect_best(table, shape, ignored, whole, workers=workers)

    def search(best: Best, start: int, stop: int) -> None:
        rows = order[start:stop]
        part = ask._replace(cull=ask.cull[rows], exact=ask.exact[rows])
        found = Best(
            values=np.empty((len(rows), k)),
            slots=np.empty((len(rows), k), SLOT_DTYPE),
            counts=np.zeros(len(rows), np.int64),
            ignored=ignored[rows] if len(ignored) else ignored,
            slot_ids=best.slot_ids,
        )
        offer(part, NO_ORDER, found, 0, len(rows))
        best.values[rows], best.slots[rows] = found.values, found.slots
        best.counts[rows] = found.counts

    return collect_best(table, shape, ignored, search, workers=workers)
