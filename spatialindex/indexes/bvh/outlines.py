"""The nodes of a tree as boxes, from the root down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.indexes.bvh.checking import children_of
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.tree import nodes
from spatialindex.outlines import Outlines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.kernels.tree.nodes import TreeArrays

__all__ = ["node_outlines"]


def node_outlines(arrays: TreeArrays) -> Outlines:
    """Return nodes and leaves, by depth: 0 is the root, whose box is all there is."""
    ndim = arrays.bounds.shape[1] // 2
    found = [Outlines.of("node", np.empty((0, 2 * ndim)))]
    blocks = np.zeros(1 if arrays.meta[nodes.ENTRIES] else 0, np.int64)
    depth = 0
    while len(blocks):
        is_leaf = arrays.is_leaf[blocks] != 0
        found.append(Outlines.of("node", _boxes(arrays, blocks[~is_leaf]), levels=depth))
        leaves = blocks[is_leaf]
        rows, lanes = np.nonzero(np.arange(LANES) < arrays.size[leaves][:, None])
        slots = arrays.items[leaves[rows], lanes]
        boxes = _boxes(arrays, leaves)
        found.append(Outlines.of("leaf", boxes, levels=depth, parts=rows, slots=slots))
        below = children_of(arrays, blocks[~is_leaf])
        blocks = below[below >= 0].astype(np.int64)
        depth += 1
    return Outlines.joined(found)


def _boxes(arrays: TreeArrays, blocks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the boxes around all lanes of blocks."""
    ndim = arrays.bounds.shape[1] // 2
    bounds = arrays.bounds[blocks].astype(np.float64)
    lower = np.nanmin(bounds[:, :ndim], axis=2, initial=np.inf)
    upper = np.nanmax(bounds[:, ndim:], axis=2, initial=-np.inf)
    return np.hstack([lower, upper])
