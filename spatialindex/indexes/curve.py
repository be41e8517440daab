"""Spatial order: along a curve, so that what is asked one after the other lies side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.kernels.decide import CAST, RADIUS
from spatialindex.kernels.sorting import sort_keys
from spatialindex.kernels.tree import packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.kernels.decide import Ask

__all__ = ["NO_ORDER", "curve_keys", "curve_order"]

NO_ORDER = np.empty(0, SLOT_DTYPE)
"""The order of the rows as they are."""

_KEY_BITS = {2: 16, 3: 11}  # of an axis in a key of the curve, at most
_SPARE_BITS = 8  # of the keys that put rows in order
_ORDERED = 256  # rows of a batch, and objects, from which on it pays


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
    if len(ask.cull) < _ORDERED or n_objects < _ORDERED:
        return NO_ORDER
    boxes = ask.cull
    if ask.kind == CAST:  # by where it starts
        boxes = np.ascontiguousarray(ask.exact[:, : 2 * ndim])
    elif ask.kind == RADIUS:
        boxes = np.concatenate([ask.exact[:, :ndim]] * 2, axis=1)
    keys = curve_keys(boxes, dim, _SPARE_BITS)
    keys &= np.uint64((1 << packed.ROW_BITS) - 1)
    return keys.astype(SLOT_DTYPE)
