"""Grids: hashed and dense, one implementation.

`structure` decides and answers, `store` keeps cells and members, `choosing` finds edges and bounds,
`checking` validates; kernels are in `spatialindex.kernels.grid`.
"""

from __future__ import annotations

import sys
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spatialindex.checks import as_boxes
from spatialindex.constants import MAX_CELLS
from spatialindex.errors import CoverageError, InvalidArgumentError
from spatialindex.index import BoxIndex
from spatialindex.indexes.grid.choosing import MOST_PLACES, cell_bounds, count_places
from spatialindex.indexes.grid.structure import GridStructure
from spatialindex.protocol import Parameter
from spatialindex.states import is_integer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["HashGrid", "UniformGrid", "checked_size"]

CELL_SIZE = Parameter(
    "cell_size", None, "edge of the cells; chosen from the boxes when not given", tunable=(0.25, 16)
)
CELL_BUDGET = Parameter(
    "max_cells", MAX_CELLS, "cells that one object may cover before it goes to the wide list"
)
OVERSIZED = Parameter(
    "oversized", "keep", "what happens to wide objects", choices=("keep", "refuse")
)
WORLD = Parameter("world", None, "bounds of the cells; taken from the boxes when not given")


class _Grid(BoxIndex):
    """What the grids have in common: their parameters and the refusal of oversized objects."""

    cell_size: float | None
    max_cells: int
    oversized: str
    _structure: GridStructure

    def __init__(
        self,
        ndim: int,
        cell_size: float | None,
        max_cells: int,
        oversized: str,
        **dense: Any,
    ) -> None:
        super().__init__(
            ndim,
            GridStructure,
            cell_size=checked_size(cell_size),
            max_cells=_checked_budget(max_cells),
            oversized=_checked_word(oversized),
            **dense,
        )

    @property
    def edge(self) -> float | None:
        """Edge of the cells in use: `cell_size` or the one chosen; None before there is one."""
        self._sync()
        return self._structure.edge

    def _admit(self, boxes: NDArray[np.float64]) -> None:
        if self.oversized == "keep" or not len(boxes):
            return
        self._sync()
        held = self._structure.holds(boxes)
        if not held.all():
            row = int(np.flatnonzero(~held)[0])
            raise CoverageError(f"boxes[{row}] {boxes[row].tolist()} {self._misfit(boxes[row])}")

    def _misfit(self, box: NDArray[np.float64]) -> str:
        """Say why a box does not fit the cells, and what to do."""
        ndim, world = self.ndim, getattr(self, "world", None)
        if world is not None and not (
            (world[:ndim] <= box[:ndim]).all() and (box[ndim:] <= world[ndim:]).all()
        ):
            return f'lies partly outside the world {world.tolist()}; keep it with oversized="keep"'
        edge = self.edge or self.cell_size
        size = "chosen from the boxes" if edge is None else f"{edge:g}"
        return (
            f"covers more than {self.max_cells} cells of edge {size}, or cells beyond ±2**30; "
            'use larger cells, raise max_cells, or keep it with oversized="keep"'
        )


def checked_size(cell_size: Any) -> float | None:
    """Check the edge of cells."""
    if cell_size is None:
        return None
    is_number = isinstance(cell_size, Real) and not isinstance(cell_size, bool)
    if not is_number or not 0 < cell_size < sys.float_info.max:
        raise InvalidArgumentError(
            f"cell_size is {cell_size!r}: pass a finite edge > 0, or None to have it chosen"
        )
    return float(cell_size)


def _checked_budget(max_cells: int) -> int:
    if not is_integer(max_cells) or max_cells < 1:
        raise InvalidArgumentError(f"max_cells is {max_cells!r}: pass a number of cells, 1 or more")
    return int(max_cells)


def _checked_word(oversized: str) -> str:
    if oversized not in OVERSIZED.choices:
        raise InvalidArgumentError(
            f"oversized is {oversized!r}; known: {', '.join(OVERSIZED.choices)}"
        )
    return oversized


class HashGrid(_Grid):
    """Unbounded grid in which only occupied cells exist.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    cell_size : float, optional
        Edge of the cells, in the unit of the boxes. None: chosen from the boxes when the grid is
        built, weighing members a cell against cells an object; `edge` tells which.
    max_cells : int
        Cells that one object may cover. One that covers more is kept in a list that every question
        scans, and counted as ``stats().wide``.
    oversized : {"keep", "refuse"}
        With "refuse", inserting or updating such an object raises `CoverageError` instead.

    Notes
    -----
    Cost: an update is proportional to the cells left and entered, a query to the cells of its
    region and their members. Right for many objects of similar size; for sizes over several orders
    of magnitude the few large ones are scanned and the many small ones share cells.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.HashGrid(ndim=2, cell_size=2.0)
    >>> index.insert([[0, 0, 10, 2], [9, 0.5, 9.5, 1.5]])
    array([0, 1])
    >>> index.pairs()
    array([[0, 1]])
    >>> index.stats().entries
    13
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (CELL_SIZE, CELL_BUDGET, OVERSIZED)

    def __init__(
        self,
        ndim: int = 2,
        cell_size: float | None = None,
        *,
        max_cells: int = MAX_CELLS,
        oversized: str = "keep",
    ) -> None:
        super().__init__(ndim, cell_size, max_cells, oversized)


class UniformGrid(_Grid):
    """Grid over bounds in which each cell has its own place.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    cell_size : float, optional
        Edge of the cells, in the unit of the boxes. None: chosen as in `HashGrid`, larger where the
        bounds would hold too many cells.
    world : (2*ndim,) floats, optional
        The bounds. None: those of the boxes, found again whenever the grid is built anew.
    max_cells : int
        Cells that one object may cover. One that covers more, or that is not wholly within the
        cells of the bounds, is kept in a list that every question scans, and counted as
        ``stats().wide``.
    oversized : {"keep", "refuse"}
        With "refuse", inserting or updating such an object raises `CoverageError` instead.

    Notes
    -----
    Cost: as `HashGrid`; a cell is found without probing, and empty cells cost 16 to 20 bytes. Right
    for objects of similar size that fill a world of known bounds; where objects gather in a few
    places of a large world, or may leave it, take `HashGrid`.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.UniformGrid(ndim=2, cell_size=2.0, world=[0, 0, 10, 10])
    >>> index.insert([[0, 0, 10, 2], [9, 0.5, 9.5, 1.5], [20, 0, 21, 1]])
    array([0, 1, 2])
    >>> index.pairs()
    array([[0, 1]])
    >>> index.stats().wide
    1
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (CELL_SIZE, WORLD, CELL_BUDGET, OVERSIZED)
    world: NDArray[np.float64] | None

    def __init__(
        self,
        ndim: int = 2,
        cell_size: float | None = None,
        *,
        world: ArrayLike | None = None,
        max_cells: int = MAX_CELLS,
        oversized: str = "keep",
    ) -> None:
        bounds = None
        if world is None and oversized == "refuse":
            raise InvalidArgumentError(
                'oversized="refuse" needs a world: bounds taken from the boxes would refuse what '
                "comes later; pass world, or take a HashGrid"
            )
        if world is not None:
            bounds = as_boxes(world, ndim, name="world")
            if bounds.ndim != 1:
                raise InvalidArgumentError(f"world has shape {bounds.shape}: pass one box")
            bounds = bounds.copy()
            bounds.flags.writeable = False
            size = checked_size(cell_size)
            if size is not None and count_places(cell_bounds(bounds, size)) > MOST_PLACES:
                raise InvalidArgumentError(
                    f"world {bounds.tolist()} holds more than {MOST_PLACES} cells of edge {size}; "
                    "use larger cells, or a HashGrid"
                )
        super().__init__(ndim, cell_size, max_cells, oversized, is_dense=True, world=bounds)
