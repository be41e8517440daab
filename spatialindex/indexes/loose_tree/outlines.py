"""The cells of a loose tree and the loose bounds of its leaves as boxes, from the root down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.indexes.loose_tree.checking import lanes_of
from spatialindex.kernels.loose import nodes
from spatialindex.outlines import Outlines

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from spatialindex.kernels.loose.nodes import LooseArrays

__all__ = ["loose_outlines"]


def loose_outlines(tree: LooseArrays, looseness: float) -> Outlines:
    """Return cells, each of edge ``2.0**level``, and loose bounds of those that list objects."""
    found = [Outlines.of("cell", np.empty((0, 2 * tree.corners.shape[1])))]
    inner = np.zeros(1, np.int64)
    while len(inner):
        lanes = lanes_of(tree, inner)
        items = tree.items[lanes.blocks, lanes.lanes].astype(np.int64)
        is_leaf = items < 0
        inner, leaves = items[~is_leaf], ~items[is_leaf]
        # what a node keeps for itself is in its own cell, which has been met
        is_own = tree.codes[lanes.blocks, lanes.lanes][is_leaf] == nodes.OWN
        heads = np.concatenate([inner, leaves[~is_own]])
        found.append(Outlines.of("cell", _boxes(tree, heads, 0.0), levels=_levels(tree, heads)))
        found.append(_leaves(tree, leaves, looseness))
    return Outlines.joined(found)


def _leaves(tree: LooseArrays, leaves: NDArray[np.int64], looseness: float) -> Outlines:
    """Return the loose bounds of leaves, with their members."""
    lanes = lanes_of(tree, leaves)
    row_of = np.zeros(len(tree.link), np.int64)
    row_of[leaves] = np.arange(len(leaves))
    return Outlines.of(
        "loose",
        _boxes(tree, leaves, 0.5 * (looseness - 1.0)),
        levels=_levels(tree, leaves),
        parts=row_of[lanes.heads],
        slots=tree.items[lanes.blocks, lanes.lanes],
    )


def _levels(tree: LooseArrays, heads: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the exponents of the edges of heads' cells."""
    levels: NDArray[np.int32] = tree.nodes[heads, nodes.EXPONENT]
    return levels


def _boxes(tree: LooseArrays, heads: NDArray[np.int64], margin: float) -> NDArray[np.float64]:
    """Return the cells of heads, larger on each side by a margin in edges."""
    exponents = _levels(tree, heads).astype(int)
    edge: NDArray[Any] = np.ldexp(1.0, np.minimum(exponents, 1023))[:, None]
    with np.errstate(over="ignore"):
        lower = tree.corners[heads] - margin * edge
        upper = tree.corners[heads] + edge + margin * edge
    everywhere = exponents == nodes.ROOT
    lower[everywhere], upper[everywhere] = -np.inf, np.inf
    return np.hstack([lower, upper])
