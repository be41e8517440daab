"""Choosing the finest level of cells for boxes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.kernels.edges import measure_sample
from spatialindex.kernels.levels.choosing import cheapest_finest
from spatialindex.kernels.levels.numbering import BIAS, LAST

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["choose_finest"]

_SAMPLE = 256  # boxes that the choice looks at, and one in 64 more
_AROUND = 3  # levels above and below that of the mean spacing where boxes have no size
_FIRST = BIAS - 1074  # the level whose edge is the smallest float: that of a lower one is 0


def choose_finest(boxes: NDArray[np.float64]) -> int:
    """Choose the finest level for boxes ``(n, 2*ndim)`` by the cost estimated from a sample.

    Deterministic; the level of edge 1 when there is nothing to go by.
    """
    n, ndim = len(boxes), boxes.shape[1] // 2
    sample = np.ascontiguousarray(boxes[:: max(1, n // (_SAMPLE + n // 64))])
    measures = np.empty(3)
    with np.errstate(all="ignore"):
        measure_sample(sample, (0,) * ndim, measures)
    least, greatest, spread = measures.tolist()
    spacing = spread / n ** (1.0 / ndim)
    lengths = [length for length in (least, greatest, spacing) if 0.0 < length < math.inf]
    if not lengths:
        return BIAS
    first = _number_of(min(lengths)) - _AROUND
    last = _number_of(max(greatest, min(spacing, lengths[-1]))) + _AROUND
    return int(cheapest_finest(sample, n, max(first, _FIRST), min(last, LAST), (0,) * ndim))


def _number_of(length: float) -> int:
    """Return the number of a level whose edge is about a length."""
    return math.frexp(length)[1] + BIAS if 0.0 < length < math.inf else LAST
