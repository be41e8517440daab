"""The hierarchical grid: levels of cells whose edge doubles from one to the next.

`structure` decides and answers, `levels` keeps the levels in use, `choosing` finds the finest one;
cells and members are those of `spatialindex.indexes.grid`, kernels are in
`spatialindex.kernels.levels`.
"""

from __future__ import annotations

from typing import ClassVar

from spatialindex.index import BoxIndex
from spatialindex.indexes.grid import checked_size
from spatialindex.indexes.hierarchical_grid.structure import LevelStructure
from spatialindex.protocol import Parameter

__all__ = ["HierarchicalGrid"]

CELL_SIZE = Parameter(
    "cell_size",
    None,
    "edge of the finest cells, raised to a power of two; chosen from the boxes when not given",
    tunable=(0.25, 16),
    scale="doubling",
)


class HierarchicalGrid(BoxIndex):
    """Levels of cells whose edge doubles; each object is in the one that its longest edge picks.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    cell_size : float, optional
        Edge of the finest cells, in the unit of the boxes, raised to a power of two. Smaller boxes
        share these. None: chosen from the boxes when the grid is built, weighing members a cell
        against cells and levels.

    Notes
    -----
    An object touches at most ``2**ndim`` cells, whatever its size, and where it is does not matter:
    nothing is oversized. Levels exist as long as there is an object in them; `edges` tells which.

    Cost: an update is proportional to the cells left and entered, a query to the cells of its
    region in each level and their members. Right for objects whose sizes span orders of magnitude;
    where all are of similar size there is one level, and it is as good as a `HashGrid`.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.HierarchicalGrid(ndim=2, cell_size=1.0)
    >>> index.insert([[0, 0, 1000, 1000], [9, 0.5, 9.5, 1.5], [9.2, 1, 12, 2]])
    array([0, 1, 2])
    >>> index.pairs()
    array([[0, 1], [0, 2], [1, 2]])
    >>> index.edges
    (1.0, 4.0, 1024.0)
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (CELL_SIZE,)
    cell_size: float | None
    _structure: LevelStructure

    def __init__(self, ndim: int = 2, cell_size: float | None = None) -> None:
        super().__init__(ndim, LevelStructure, cell_size=checked_size(cell_size))

    @property
    def edge(self) -> float | None:
        """Edge of the finest cells that there may be, given or chosen; None before there is one."""
        self._sync()
        return self._structure.edge

    @property
    def edges(self) -> tuple[float, ...]:
        """Edges of the cells of the levels in use, ascending."""
        self._sync()
        return self._structure.edges
