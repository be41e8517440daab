"""Validating a loose tree: cells, members, bounds and counters against their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spatialindex.errors import InvariantError
from spatialindex.kernels.loose import nodes
from spatialindex.kernels.simd import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.kernels.loose.nodes import LooseArrays
    from spatialindex.objects import ObjectTable

__all__ = ["check_tree", "lanes_of"]


class _Lanes(NamedTuple):
    """The lanes in use of the blocks of some nodes."""

    heads: NDArray[np.int64]
    """Whose node it is."""
    blocks: NDArray[np.int64]
    lanes: NDArray[np.int64]


def check_tree(tree: LooseArrays, table: ObjectTable, looseness: float, leaf_size: int) -> None:
    """Raise `InvariantError` naming the first broken invariant."""
    inner = np.zeros(1, np.int64)
    leaves, visited, depth = [], 0, 0
    while len(inner):
        depth += 1
        if depth > nodes.MOST_DEPTH:
            raise InvariantError("loose tree: a path does not end")
        lanes = lanes_of(tree, inner)
        visited += len(np.unique(np.concatenate([lanes.blocks, inner])))
        children = _check_inner(tree, lanes)
        is_leaf = tree.nodes[children, nodes.TOTAL] >= 0
        leaves.append(children[is_leaf])
        inner = children[~is_leaf]
    heads = np.concatenate(leaves)
    lanes = lanes_of(tree, heads)
    visited += len(np.unique(lanes.blocks))
    _check_leaves(tree, lanes, heads, leaf_size)
    _check_members(tree, table, lanes, looseness)
    meta = tree.meta
    if len(heads) != meta[nodes.LEAVES] or len(lanes.heads) != meta[nodes.ENTRIES]:
        raise InvariantError(
            f"loose tree: {meta[nodes.LEAVES]} leaves with {meta[nodes.ENTRIES]} objects are "
            f"counted, {len(heads)} with {len(lanes.heads)} are there"
        )
    if visited != meta[nodes.USED_BLOCKS] - meta[nodes.FREE_BLOCKS]:
        raise InvariantError("loose tree: a block is neither in a node nor free")


def lanes_of(tree: LooseArrays, heads: NDArray[np.int64]) -> _Lanes:
    """List the lanes in use of nodes, following the links of their blocks."""
    parts = []
    blocks, of = heads, heads
    while len(blocks):
        sizes = tree.nodes[blocks, nodes.SIZE].astype(np.int64)
        if (blocks != of).any() and (tree.nodes[blocks, nodes.PARENT] != -2 - of)[
            blocks != of
        ].any():
            raise InvariantError("loose tree: a block does not know its head")
        if ((sizes < 0) | (sizes > LANES) | ((sizes == 0) & (blocks != of))).any():
            raise InvariantError("loose tree: a linked block is empty")
        rows = np.repeat(np.arange(len(blocks)), sizes)
        lanes = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        parts.append((of[rows], blocks[rows], lanes))
        empty = np.isnan(tree.bounds[blocks]).all(axis=1)
        if (empty != (np.arange(LANES) >= sizes[:, None])).any():
            raise InvariantError("loose tree: a lane in use is empty, or one behind is not")
        following = tree.link[blocks].astype(np.int64)
        of, blocks = of[following >= 0], following[following >= 0]
    if not parts:
        parts = [(heads, heads, heads)]
    return _Lanes(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _check_inner(tree: LooseArrays, lanes: _Lanes) -> NDArray[np.int64]:
    """Check inner nodes with what hangs in them, and return their children."""
    heads, blocks, at = lanes
    items = tree.items[blocks, at].astype(np.int64)
    children = np.where(items < 0, ~items, items)
    if ((tree.nodes[children, nodes.TOTAL] >= 0) != (items < 0)).any():
        raise InvariantError("loose tree: an item does not tell what it leads to")
    if (tree.nodes[children, nodes.PARENT] != LANES * blocks + at).any():
        raise InvariantError("loose tree: a node does not know where it hangs")
    single = np.unique(heads, return_counts=True)
    if ((single[1] < 2) & (single[0] != 0)).any():
        raise InvariantError("loose tree: an inner node below the root has one child")
    codes = tree.codes[blocks, at].astype(np.int64)
    if len(np.unique(heads * 256 + codes)) != len(heads):
        raise InvariantError("loose tree: two children are in the same part of a cell")
    _check_cells(tree, heads, children, codes)
    box = _boxes_of(tree, children)
    if (tree.bounds[blocks, :, at] != box).any():
        raise InvariantError("loose tree: the bounds of a node are not those of its content")
    return children


def _check_cells(
    tree: LooseArrays,
    heads: NDArray[np.int64],
    children: NDArray[np.int64],
    codes: NDArray[np.int64],
) -> None:
    """Check that each child's cell is the part of its parent's cell that its code tells."""
    ndim = tree.corners.shape[1]
    above, below = (tree.nodes[rows, nodes.EXPONENT].astype(int) for rows in (heads, children))
    own = codes == nodes.OWN
    same = (above == below) & (tree.corners[heads] == tree.corners[children]).all(axis=1)
    if (own & ~same).any():
        raise InvariantError("loose tree: what a node holds itself has another cell")
    if (~own & (below >= above)).any():
        raise InvariantError("loose tree: a child's cell is not smaller than its parent's")
    rest = np.flatnonzero(~own)
    heads, children, codes = heads[rest], children[rest], codes[rest]
    is_root = (above[rest] == nodes.ROOT)[:, None]
    half = np.ldexp(1.0, np.minimum(above[rest] - 1, nodes.LARGEST + 1))[:, None]
    edge = np.ldexp(1.0, below[rest])[:, None]
    upper = (codes[:, None] >> np.arange(ndim)) & 1 == 1
    corner = tree.corners[children]
    lower = np.where(upper, tree.corners[heads] + half, tree.corners[heads])
    with np.errstate(over="ignore"):
        higher = lower + half
    lower = np.where(is_root, np.where(upper, 0.0, -np.inf), lower)
    higher = np.where(is_root, np.where(upper, np.inf, 0.0), higher)
    if ((corner < lower) | (corner + edge > higher)).any():
        raise InvariantError("loose tree: a child's cell lies outside its part of the parent's")
    if (corner / edge != np.floor(corner / edge)).any():
        raise InvariantError("loose tree: the corner of a cell is no multiple of its edge")


def _boxes_of(tree: LooseArrays, heads: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the boxes around the lanes of nodes."""
    ndim = tree.corners.shape[1]
    box = np.full((len(heads), 2 * ndim), np.inf, np.float32)
    box[:, ndim:] = -np.inf
    rows, blocks = np.arange(len(heads)), heads
    while len(blocks):
        bounds = tree.bounds[blocks]
        inf = np.float32(np.inf)
        lower = np.where(np.isnan(bounds[:, :ndim]), inf, bounds[:, :ndim]).min(axis=2)
        upper = np.where(np.isnan(bounds[:, ndim:]), -inf, bounds[:, ndim:]).max(axis=2)
        box[rows, :ndim] = np.minimum(box[rows, :ndim], lower)
        box[rows, ndim:] = np.maximum(box[rows, ndim:], upper)
        following = tree.link[blocks].astype(np.int64)
        rows, blocks = rows[following >= 0], following[following >= 0]
    return box


def _check_leaves(
    tree: LooseArrays, lanes: _Lanes, heads: NDArray[np.int64], leaf_size: int
) -> None:
    """Check the sizes of leaves and how full their blocks are."""
    totals = tree.nodes[heads, nodes.TOTAL]
    counts = np.bincount(lanes.heads, minlength=len(tree.link))[heads]
    if (counts == 0).any():
        raise InvariantError("loose tree: a leaf is empty")
    if (totals != counts).any():
        raise InvariantError("loose tree: a leaf does not know how many objects it holds")
    patience = tree.nodes[heads, nodes.PATIENCE]
    if ((totals > patience) | (patience < leaf_size)).any():
        raise InvariantError("loose tree: a crowded leaf was not divided")
    blocks = np.unique(lanes.blocks)
    of = tree.nodes[blocks, nodes.PARENT].astype(np.int64)
    of = np.where(of < -1, -2 - of, blocks)
    may_have_room = (tree.link[of] == blocks) | ((of == blocks) & (tree.link[of] < 0))
    if (tree.nodes[blocks, nodes.SIZE][~may_have_room] != LANES).any():
        raise InvariantError("loose tree: a block of a leaf that should be full is not")


def _check_members(tree: LooseArrays, table: ObjectTable, lanes: _Lanes, looseness: float) -> None:
    """Check that all objects, and no others, are in nodes that may hold them."""
    heads, blocks, at = lanes
    slots = tree.items[blocks, at]
    if not np.array_equal(np.sort(slots), table.live_slots()):
        raise InvariantError(
            f"loose tree: the leaves hold {len(slots)} objects, the table {len(table)}"
        )
    if not np.array_equal(tree.places[slots], LANES * blocks + at):
        raise InvariantError("loose tree: a slot is not where its place says")
    if np.count_nonzero(tree.places >= 0) != len(slots):
        raise InvariantError("loose tree: a free slot has a place")
    ndim = table.ndim
    boxes = table.cover[slots]
    bounds = tree.bounds[blocks, :, at].astype(np.float64)
    bad = (bounds[:, :ndim] > boxes[:, :ndim]) | (bounds[:, ndim:] < boxes[:, ndim:])
    if bad.any():
        slot = slots[np.flatnonzero(bad.any(axis=1))[0]]
        raise InvariantError(f"loose tree: the bounds of slot {slot} do not hold its box")
    is_exact = (tree.exact[blocks] >> at.astype(np.uint8)) & 1 == 1
    if (is_exact & (bounds != boxes).any(axis=1)).any():
        raise InvariantError("loose tree: a lane is marked as exact, its bounds are not the box")
    exponents = tree.nodes[heads, nodes.EXPONENT].astype(int)
    in_cell = exponents != nodes.ROOT
    corner, edge = tree.corners[heads], np.ldexp(1.0, np.minimum(exponents, 1023))[:, None]
    with np.errstate(over="ignore"):
        margin = 0.5 * (looseness - 1.0) * edge
        fits = (corner - margin <= boxes[:, :ndim]) & (boxes[:, ndim:] <= corner + edge + margin)
    if (in_cell & ~fits.all(axis=1)).any():
        slot = slots[np.flatnonzero(in_cell & ~fits.all(axis=1))[0]]
        raise InvariantError(f"loose tree: the loose bounds of its node do not hold slot {slot}")
    _check_levels(tree, lanes, boxes, exponents, looseness)


def _check_levels(
    tree: LooseArrays,
    lanes: _Lanes,
    boxes: NDArray[np.float64],
    exponents: NDArray[np.int_],
    looseness: float,
) -> None:
    """Check that what an inner node holds itself is too large, or too far out, to go deeper."""
    ndim = boxes.shape[1] // 2
    places = tree.nodes[lanes.heads, nodes.PARENT]
    own = tree.codes[places // LANES, places % LANES] == nodes.OWN
    own &= exponents != nodes.ROOT
    corner, edge = tree.corners[lanes.heads], np.ldexp(1.0, np.minimum(exponents, 1023))[:, None]
    center = 0.5 * boxes[:, :ndim] + 0.5 * boxes[:, ndim:]
    inside = ((corner <= center) & (center < corner + edge)).all(axis=1)
    with np.errstate(over="ignore"):
        longest = (boxes[:, ndim:] - boxes[:, :ndim]).max(axis=1)
        size = longest / (looseness - 1.0)
    # no finer than floats are here; one level finer than where it would belong is not moved
    fine = np.abs(boxes).max(axis=1) * 2.0**-50
    small = (size < np.ldexp(edge[:, 0], -3)) & (fine < np.ldexp(edge[:, 0], -3))
    if (own & inside & small & (exponents > nodes.SMALLEST + 3)).any():
        slot = tree.items[lanes.blocks, lanes.lanes][np.flatnonzero(own & inside & small)[0]]
        raise InvariantError(f"loose tree: slot {slot} belongs deeper than where it is")
