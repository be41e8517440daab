"""The occupied cells of a grid as boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.indexes.grid.checking import walk_members
from spatialindex.outlines import Outlines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.kernels.grid.cells import GridArrays

__all__ = ["cell_boxes", "cell_outlines", "occupied_cells"]


def occupied_cells(arrays: GridArrays) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int32]]:
    """Return the cells ``(n, ndim)`` in lexicographic order, and memberships: cells and slots."""
    found = walk_members(arrays)
    places, of = np.unique(found.cells, axis=0, return_inverse=True)
    return places, of.reshape(-1), found.slots


def cell_boxes(places: NDArray[Any], edges: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boxes of cells of some edges, which may be infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        boxes = np.hstack([places, places + 1]) * edges
    boxes[np.isnan(boxes)] = 0.0  # no edges from the origin, however long they are
    return boxes


def cell_outlines(arrays: GridArrays, edge: float) -> Outlines:
    """Return the cells of a grid that has one edge."""
    places, of, slots = occupied_cells(arrays)
    return Outlines.of("cell", cell_boxes(places, edge), parts=of, slots=slots)
