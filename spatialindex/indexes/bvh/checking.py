"""Validating a tree: every block, bound, summary and place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.errors import InvariantError
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.tree import nodes

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from spatialindex.kernels.tree.nodes import TreeArrays
    from spatialindex.objects import ObjectTable

__all__ = ["check_tree", "children_of"]


def check_tree(arrays: TreeArrays, table: ObjectTable) -> None:
    """Raise `InvariantError` unless the tree holds the table's slots and is what a tree should be.

    Walks from the root a level at a time, so that nothing is looked at which no question finds.
    """
    levels = _levels(arrays)
    blocks = np.concatenate(levels)
    _check_blocks(arrays, blocks)
    _check_objects(arrays, table, blocks)
    _check_bounds(arrays, blocks)
    _check_summaries(arrays, table, levels)
    meta = arrays.meta
    if len(levels) > meta[nodes.DEPTH]:
        raise InvariantError(
            f"tree: a path has {len(levels)} blocks, {meta[nodes.DEPTH]} is said to be the most"
        )
    if meta[nodes.DEPTH] > nodes.MOST_DEPTH:
        raise InvariantError(f"tree: paths of {meta[nodes.DEPTH]} blocks have no room in stacks")


def children_of(arrays: TreeArrays, blocks: NDArray[Any]) -> NDArray[np.int32]:
    """Return the children of inner blocks, a row a block, -1 in lanes that are not in use."""
    items = arrays.items[blocks]
    children = np.where(items < 0, ~items, items)
    return np.where(np.arange(LANES) < arrays.size[blocks][:, None], children, -1)


def _levels(arrays: TreeArrays) -> list[NDArray[np.int64]]:
    """Return the blocks of each level, checking that children know where they hang."""
    used = int(arrays.meta[nodes.USED_BLOCKS])
    if arrays.parent[0] != -1 or arrays.is_leaf[0]:
        raise InvariantError("tree: block 0 is not an inner block without a parent")
    levels = [np.zeros(1, np.int64)]
    seen = np.zeros(used, np.bool_)
    seen[0] = True
    while True:
        above = levels[-1][arrays.is_leaf[levels[-1]] == 0]
        children = children_of(arrays, above)
        rows, lanes = np.nonzero(children >= 0)
        below = children[rows, lanes].astype(np.int64)
        if not len(below):
            return levels
        if (below >= used).any() or seen[below].any() or len(np.unique(below)) != len(below):
            raise InvariantError("tree: a block hangs in two places, or is none that is in use")
        seen[below] = True
        if (arrays.parent[below] != LANES * above[rows] + lanes).any():
            raise InvariantError("tree: a block does not know where it hangs")
        if ((arrays.items[above[rows], lanes] < 0) != (arrays.is_leaf[below] != 0)).any():
            raise InvariantError("tree: a leaf hangs as an inner block, or the other way round")
        levels.append(below)


def _check_blocks(arrays: TreeArrays, blocks: NDArray[np.int64]) -> None:
    """Compare counters and the list of free blocks with what is there."""
    meta = arrays.meta
    used = int(meta[nodes.USED_BLOCKS])
    free: list[int] = []
    block = int(meta[nodes.FREE])
    while block >= 0 and len(free) <= used:
        free.append(block)
        block = int(arrays.parent[block])
    if len(free) != meta[nodes.FREE_BLOCKS]:
        raise InvariantError(f"tree: {len(free)} blocks are free, not as many as are counted")
    if sorted([*free, *blocks.tolist()]) != list(range(used)):
        raise InvariantError("tree: a block is neither in the tree nor free, or both")
    sizes, is_leaf = arrays.size[blocks].astype(np.int64), arrays.is_leaf[blocks] != 0
    if arrays.size[free].any():
        raise InvariantError("tree: a free block has lanes in use")
    if np.count_nonzero(is_leaf) != meta[nodes.LEAVES]:
        raise InvariantError("tree: the number of leaves is not the one counted")
    if (sizes[1:] == 0).any() or (sizes > np.where(is_leaf, meta[nodes.LEAF_SIZE], LANES)).any():
        raise InvariantError("tree: a block is empty or holds too much")
    if sizes[is_leaf].sum() != meta[nodes.ENTRIES]:
        raise InvariantError("tree: the number of objects is not the one counted")
    empty = np.arange(LANES) >= sizes[:, None]
    if not np.isnan(arrays.bounds[blocks].transpose(0, 2, 1)[empty]).all():
        raise InvariantError("tree: a lane that is not in use has bounds")


def _check_objects(arrays: TreeArrays, table: ObjectTable, blocks: NDArray[np.int64]) -> None:
    """Compare the objects in the leaves with the table."""
    leaves = blocks[arrays.is_leaf[blocks] != 0]
    rows, lanes = np.nonzero(np.arange(LANES) < arrays.size[leaves][:, None])
    at = leaves[rows]
    slots = arrays.items[at, lanes]
    live = table.live_slots()
    if not np.array_equal(np.sort(slots), np.sort(live)):
        raise InvariantError(
            f"tree: the leaves hold {len(slots)} slots, not the {len(live)} they should: "
            f"{np.setxor1d(slots, live)[:5]} differ"
        )
    if (arrays.places[slots] != LANES * at + lanes).any():
        raise InvariantError("tree: a slot is not where its place says")
    if np.count_nonzero(arrays.places >= 0) != len(slots):
        raise InvariantError("tree: a slot that is not in the tree has a place")
    bounds, boxes = arrays.bounds[at, :, lanes].astype(np.float64), table.cover[slots]
    ndim = table.ndim
    if (bounds[:, :ndim] > boxes[:, :ndim]).any() or (bounds[:, ndim:] < boxes[:, ndim:]).any():
        raise InvariantError("tree: the bounds of an object do not hold its box")
    is_exact = ((arrays.exact[at] >> lanes.astype(np.uint8)) & 1) == 1
    if (bounds[is_exact] != boxes[is_exact]).any():
        raise InvariantError("tree: an object is marked as exact, its bounds are not its box")


def _check_bounds(arrays: TreeArrays, blocks: NDArray[np.int64]) -> None:
    """Check that each block's lane in its parent is the box around its own lanes."""
    below = blocks[1:]
    ndim = arrays.bounds.shape[1] // 2
    lanes = arrays.bounds[below]
    around = np.concatenate(
        [
            np.nanmin(lanes[:, :ndim], axis=2, initial=np.inf),
            np.nanmax(lanes[:, ndim:], axis=2, initial=-np.inf),
        ],
        axis=1,
    )
    places = arrays.parent[below]
    if (arrays.bounds[places // LANES, :, places % LANES] != around).any():
        raise InvariantError("tree: the bounds of a block are not those of what it holds")


def _check_summaries(
    arrays: TreeArrays, table: ObjectTable, levels: list[NDArray[np.int64]]
) -> None:
    """Compare layers, masks and rest of each block with its objects or children."""
    is_static = table.state["static"]
    is_resting = is_static | table.state["asleep"]
    for level in levels:
        is_leaf = arrays.is_leaf[level] != 0
        leaves, inner = level[is_leaf], level[~is_leaf]
        slots = arrays.items[leaves]
        rest = nodes.STATIC * is_static[slots] + nodes.RESTING * is_resting[slots]
        state = table.state[slots]
        _compare(arrays, leaves, state["layer"], state["mask"], rest)
        children = children_of(arrays, inner)
        rest = arrays.resting[children].astype(np.int64)
        _compare(arrays, inner, arrays.layers[children], arrays.masks[children], rest)


def _compare(
    arrays: TreeArrays,
    blocks: NDArray[np.int64],
    layers: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    resting: NDArray[np.int64],
) -> None:
    """Compare the summaries of blocks with those of their lanes, a row a block."""
    in_use = np.arange(LANES) < arrays.size[blocks][:, None]
    nothing = np.uint64(0)
    has = (
        np.bitwise_or.reduce(np.where(in_use, layers, nothing), axis=1),
        np.bitwise_or.reduce(np.where(in_use, masks, nothing), axis=1),
        np.bitwise_and.reduce(np.where(in_use, resting, nodes.STATIC | nodes.RESTING), axis=1),
    )
    held = (arrays.layers[blocks], arrays.masks[blocks], arrays.resting[blocks])
    for what, one, two in zip(("layers", "masks", "rest"), has, held, strict=True):
        if (one != two)[arrays.size[blocks] > 0].any():
            raise InvariantError(f"tree: the {what} of a block are not those of what it holds")
