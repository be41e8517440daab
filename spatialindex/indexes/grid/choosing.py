"""What a grid decides from its boxes: the edge of its cells, their keys, and dense bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.kernels.edges import edge_costs, measure_sample
from spatialindex.kernels.grid.build import lay_out_keys
from spatialindex.kernels.grid.cells import LARGEST_CELL

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_PLACES", "choose_dense", "choose_edge", "key_layout"]

_SAMPLE = 256  # boxes that the choice of an edge looks at, and one in 64 more
_MOST_EDGES = 32  # edges that the choice compares


def choose_edge(boxes: NDArray[np.float64], max_cells: int) -> float:
    """Choose the edge of cells for boxes ``(n, 2*ndim)`` by the cost estimated from a sample.

    Deterministic; 1.0 when there is nothing to go by.
    """
    n, ndim = len(boxes), boxes.shape[1] // 2
    if n == 0:
        return 1.0
    sample = np.ascontiguousarray(boxes[:: max(1, n // (_SAMPLE + n // 64))])
    measures = np.empty(3)
    with np.errstate(all="ignore"):
        measure_sample(sample, (0,) * ndim, measures)
    least, greatest, spread = measures.tolist()
    spacing = spread / n ** (1.0 / ndim) if spread < np.inf else 0.0
    if greatest > 0:
        low, high = least, max(4.0 * greatest, min(4.0 * spacing, 256.0 * greatest))
    elif spacing > 0:
        low, high = spacing / 4, spacing * 8
    else:
        return 1.0
    low, high = min(max(low, 1e-290), 1e289), min(max(high, 1e-289), 1e290)
    costs = np.empty(_MOST_EDGES)

    def cheapest(exponents: list[float]) -> float:
        edges = np.array([2.0**exponent for exponent in exponents])
        edge_costs(sample, n, edges, max_cells, (0,) * ndim, costs)
        return exponents[int(costs[: len(edges)].argmin())]

    # powers of two first, or larger steps for sizes of many magnitudes; then between two steps
    first, last = math.log2(low), math.log2(high)  # the quotient of the edges could overflow
    count = min(max(math.ceil(last - first) + 1, 3), _MOST_EDGES)
    step = (last - first) / (count - 1)
    best = cheapest([first + i * step for i in range(count)])
    return float(2.0 ** cheapest([best + i * step / 4 for i in range(-2, 3)]))


MOST_PLACES = 2**26
"""Cells of a dense grid whose edge and bounds are given: 1 GiB."""

_PLACES_AN_OBJECT = 8  # cells of a dense grid that chooses its own, and some thousand more
_PLACES_IN_A_WORLD = 256  # the same where the bounds are given, and objects may gather in a part
_MOST_LEFT_OUT = 0.01  # of the objects outside of bounds chosen: more, and larger cells are better


def cell_bounds(world: NDArray[np.float64], edge: float) -> NDArray[np.float64]:
    """Return the lowest and highest cells that a box ``(2*ndim,)`` covers, whole, as ``(6,)``."""
    ndim = len(world) // 2
    bounds = np.zeros(6)
    with np.errstate(all="ignore"):
        bounds[:ndim] = np.floor(world[:ndim] / edge)
        bounds[3 : 3 + ndim] = np.floor(world[ndim:] / edge)
    return np.clip(bounds, -LARGEST_CELL, LARGEST_CELL)


def count_places(bounds: NDArray[np.float64]) -> float:
    """Return how many cells lie between bounds, as a float: it may be beyond any integer."""
    return float((bounds[3:] - bounds[:3] + 1).prod())


def choose_dense(
    boxes: NDArray[np.float64], edge: float, world: NDArray[np.float64] | None, *, is_free: bool
) -> tuple[float, NDArray[np.int64]]:
    """Choose the bounds of a dense grid, and larger cells where `is_free` and there are too many.

    A given world is kept. Without one the bounds are those of the boxes; where these hold too many
    cells, the longest side is halved about the median box as long as few boxes are left out.
    """
    n, ndim = len(boxes), boxes.shape[1] // 2
    if not n:
        return edge, np.zeros(6, np.int64)
    most = _PLACES_AN_OBJECT * n + 4096
    if world is not None:
        most = min(_PLACES_IN_A_WORLD * n + 65536, MOST_PLACES) if is_free else MOST_PLACES
    around = np.concatenate([boxes[:, :ndim].min(0), boxes[:, ndim:].max(0)])
    sample = boxes[:: max(1, n // _SAMPLE)]
    # one of the values: the mean of two could be beyond all floats
    center = np.sort(sample[:, :ndim], axis=0)[len(sample) // 2]
    middle_box = np.concatenate([center, center])

    def fitting(exponent: int) -> NDArray[np.float64] | None:
        """Return the bounds for an edge so many times doubled, None where they do not do."""
        larger = math.ldexp(edge, exponent)
        bounds = cell_bounds(around if world is None else world, larger)
        if world is not None:
            return bounds if not is_free or count_places(bounds) <= most else None
        bounds = _halved(bounds, cell_bounds(middle_box, larger)[:3], most)
        left_out = _share_outside(sample, larger, bounds) if is_free else 0.0
        return bounds if left_out <= _MOST_LEFT_OUT else None

    # the least doubling that does: first in growing steps, then between the last two of them
    most_exponent = 1023 - math.frexp(edge)[1]  # at which no box covers more than a few cells
    low, high = -1, 0
    while fitting(high) is None and high < most_exponent:
        low, high = high, min(2 * high + 1, most_exponent)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fitting(middle) is not None else (middle, high)
    bounds = fitting(high)
    assert bounds is not None
    return math.ldexp(edge, high), bounds.astype(np.int64)


def _halved(
    bounds: NDArray[np.float64], middle: NDArray[np.float64], most: int
) -> NDArray[np.float64]:
    """Halve the longest side of bounds about a middle cell until they hold no more than `most`."""
    while count_places(bounds) > most:
        d = int(np.argmax(bounds[3:] - bounds[:3]))
        half = np.floor((bounds[3 + d] - bounds[d]) / 4)
        bounds[d] = max(bounds[d], middle[d] - half)
        bounds[3 + d] = min(bounds[3 + d], middle[d] + half)
    return bounds


def _share_outside(boxes: NDArray[np.float64], edge: float, bounds: NDArray[np.float64]) -> float:
    """Return the share of boxes that do not lie within bounds."""
    ndim = boxes.shape[1] // 2
    with np.errstate(all="ignore"):
        lower, upper = np.floor(boxes[:, :ndim] / edge), np.floor(boxes[:, ndim:] / edge)
    inside = (lower >= bounds[:ndim]) & (upper <= bounds[3 : 3 + ndim])
    return 1.0 - float(inside.all(axis=1).mean())


def key_layout(found: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Lay out keys of cells between bounds, see `kernels.grid.build.lay_out_keys`, and their bits.

    `found` is as `kernels.grid.cells.cell_ranges` has it. Keys fit in `kernels.grid.build.KEY_BITS`
    or the layout is of no use.
    """
    layout = np.empty((3, 5), np.int64)
    return layout, int(lay_out_keys(found, layout))
