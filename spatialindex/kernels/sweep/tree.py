"""The implicit tree over the blocks of all lanes: building it, and following changes.

Lane `i` of node `j` of a level encloses node ``8 * j + i`` of the level below; level 0 is the
blocks themselves, of which only home entries count. With 20 blocks::

    level 0  blocks 0 ... 19
    level 1  nodes  [0-7] [8-15] [16-19 - - - -]     levels  0 3 4
    level 2  node   [0 1 2 - - - - -]

No child has to be remembered, and no node ever splits.
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.sweep.lanes import home_mask, is_unused

__all__ = ["LEVEL", "MOST_LEVELS", "STACK", "SweptTree", "build_tree", "refresh_path"]

MOST_LEVELS = 12
"""Enough for more blocks than int32 homes can name."""

STACK = LANES * (MOST_LEVELS + 1)
"""Places of a stack of nodes: each one taken off leaves at most seven more than there were."""

LEVEL = 40
"""The bit above which the number of a node on a stack has its level."""


class SweptTree(NamedTuple):
    """The nodes above the blocks."""

    nodes: np.ndarray
    """``(nodes, 2*ndim, 8)`` float32, level by level; NaN in lanes that enclose nothing."""
    levels: np.ndarray
    """``(levels + 1,)`` int64: where the nodes of each level above the blocks begin."""


@inner_kernel
def _enclose(bounds, block, mask, nodes, node, lane, dim):
    """Make a lane of a node enclose the lanes in `mask` of a block; tell if it has changed.

    Lanes of `mask` that are empty do not count. Bits of `mask` are tested, not walked, so that all
    of a row is compared at once.
    """
    ndim = len(dim)
    has_changed = False
    for d in range(ndim):
        lower, upper = np.float32(np.inf), np.float32(-np.inf)
        for i in range(LANES):
            is_in = (mask >> np.uint64(i)) & np.uint64(1) != 0
            # false for the NaN of an empty lane
            if is_in and bounds[block, d, i] < lower:
                lower = bounds[block, d, i]
            if is_in and bounds[block, ndim + d, i] > upper:
                upper = bounds[block, ndim + d, i]
        if not lower <= upper:  # nothing in it
            lower = upper = np.float32(np.nan)
        has_changed |= (nodes[node, d, lane] != lower) | (nodes[node, ndim + d, lane] != upper)
        nodes[node, d, lane] = lower
        nodes[node, ndim + d, lane] = upper
    return has_changed


@kernel
def build_tree(lanes, tree, dim):
    """Make all nodes enclose what is below them."""
    nodes, levels = tree.nodes, tree.levels
    every = np.uint64(0xFF)
    below = lanes.starts.shape[0]
    for level in range(1, levels.shape[0]):
        node = levels[level - 1]
        n = levels[level] - node
        for i in range(n * LANES):
            if i >= below:
                for d in range(2 * len(dim)):
                    nodes[node + i // LANES, d, i % LANES] = np.float32(np.nan)
            elif level == 1:
                mask = np.uint64(0)
                if not is_unused(lanes.starts, i):
                    mask = home_mask(lanes.first, i, dim)
                _enclose(lanes.bounds, i, mask, nodes, node + i // LANES, i % LANES, dim)
            else:
                child = levels[level - 2] + i
                _enclose(nodes, child, every, nodes, node + i // LANES, i % LANES, dim)
        below = n


@inner_kernel
def refresh_path(lanes, tree, block, dim):
    """Bring the nodes above a changed block up to date."""
    nodes, levels = tree.nodes, tree.levels
    if levels.shape[0] == 0:
        return
    node = levels[0] + block // LANES
    mask = home_mask(lanes.first, block, dim)
    has_changed = _enclose(lanes.bounds, block, mask, nodes, node, block % LANES, dim)
    i = block // LANES
    for level in range(2, levels.shape[0]):
        if not has_changed:
            return
        above = levels[level - 1] + i // LANES
        has_changed = _enclose(nodes, node, np.uint64(0xFF), nodes, above, i % LANES, dim)
        node = above
        i //= LANES
