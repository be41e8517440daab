"""The levels in use: how many objects each holds, and what kernels need to know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sortedcontainers import SortedDict

from spatialindex.errors import InvariantError
from spatialindex.kernels.grid import cells
from spatialindex.kernels.levels.numbering import (
    FARTHEST,
    NUMBERS,
    STRIDE,
    edge_of,
    note_ranges,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Levels"]

_OUTSIDE = 2 ** (FARTHEST + 1)  # beyond all cells


class Levels:
    """Occupied levels, ascending, in a `SortedDict` from their number to their objects.

    Attributes
    ----------
    numbers : (levels,) int64 array
        Numbers of the levels.
    edges : (levels,) float64 array
        Edges of their cells.
    metas : (levels, META) int64 array
        As `GridArrays.meta`, of each level: the bounds of its cells, which only grow as long as it
        is occupied, and what leads from its cells to those of the common table.
    """

    def __init__(self, ndim: int) -> None:
        self._dim = (0,) * ndim
        self.clear()

    def clear(self) -> None:
        """Forget all levels."""
        self._objects: SortedDict[int, int] = SortedDict()
        self.numbers = np.empty(0, np.int64)
        self.edges = np.empty(0)
        self.metas = np.empty((0, cells.META), np.int64)
        self.index_of = np.full(NUMBERS, -1, np.int16)

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        arrays = (self.numbers, self.edges, self.metas, self.index_of)
        return sum(array.nbytes for array in arrays)

    def enter(
        self,
        ranges: NDArray[np.int64],
        numbers: NDArray[np.int16],
        counts: NDArray[np.int64],
    ) -> None:
        """Note objects that enter: their ranges and levels, and how many there are of each."""
        for number in np.flatnonzero(counts).tolist():
            self._objects[number] = self._objects.get(number, 0) + int(counts[number])
        if len(self._objects) != len(self.numbers):
            self._arrange()
        note_ranges(ranges, numbers, self.index_of, self.metas, self._dim)

    def leave(self, numbers: NDArray[np.int64]) -> None:
        """Note objects that left levels; those without objects cease to exist."""
        counts = np.bincount(numbers)
        for number in np.flatnonzero(counts).tolist():
            left = self._objects[number] - int(counts[number])
            if left:
                self._objects[number] = left
            else:
                del self._objects[number]
        if len(self._objects) != len(self.numbers):
            self._arrange()

    def _arrange(self) -> None:
        """Make the arrays anew after levels have come or gone."""
        known = dict(zip(self.numbers.tolist(), self.metas, strict=True))
        self.numbers = np.array(self._objects.keys(), np.int64)
        self.edges = np.array([edge_of(number) for number in self._objects])
        self.index_of[:] = -1
        self.index_of[self.numbers] = np.arange(len(self.numbers))
        metas = [
            known[number] if number in known else _new_meta(number) for number in self._objects
        ]
        self.metas = np.array(metas, np.int64).reshape(-1, cells.META)

    def scratch(self, columns: int) -> NDArray[np.int64]:
        """Return zeros, a row a level."""
        return np.zeros((len(self), columns), np.int64)

    def validate(self, numbers: NDArray[np.int64], ranges: NDArray[np.int64]) -> None:
        """Check counts and bounds against the level and the range of cells of every object."""
        found, counts = np.unique(numbers, return_counts=True)
        expected = dict(zip(found.tolist(), counts.tolist(), strict=True))
        if dict(self._objects) != expected:
            raise InvariantError(
                f"levels: {dict(self._objects)} are noted, the boxes are in {expected}"
            )
        if self.numbers.tolist() != list(self._objects):
            raise InvariantError("levels: the arrays are of other levels than those occupied")
        ndim = len(self._dim)
        places = ranges.astype(np.int64)
        places[:, [0, ndim]] -= numbers[:, None] * STRIDE
        meta = self.metas[self.index_of[numbers]]
        lowest, highest = meta[:, cells.LOWEST :][:, :ndim], meta[:, cells.LOWEST + 3 :][:, :ndim]
        if (places[:, :ndim] < lowest).any() or (places[:, ndim:] > highest).any():
            raise InvariantError("levels: a cell lies outside the occupied bounds of its level")


def _new_meta(number: int) -> NDArray[np.int64]:
    """Return the `meta` of a level without objects."""
    meta = np.zeros(cells.META, np.int64)
    meta[cells.LOWEST : cells.LOWEST + 3] = _OUTSIDE
    meta[cells.LOWEST + 3 : cells.LOWEST + 6] = -_OUTSIDE
    meta[cells.LONGEST : cells.LONGEST + 3] = 1
    meta[cells.SHIFT] = number * STRIDE
    meta[cells.CELLS] = 1  # it is there because there is something in it
    return meta
