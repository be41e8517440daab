"""Arrays as text: little-endian bytes, compressed, in base64, and boxes in whole steps before that.

A scene is drawn on a grid of steps around its middle, fine enough to look at from close by: a step
is a power of two, at most `FINEST` of what is seen at first and `OF_EDGE` of a median edge. Every
bound is rounded by itself, so boxes that touch still do. A row of boxes is kept as its difference
from the row before, of lower bounds and of extents, which are small numbers where things move
little; the four bytes of numbers stand apart, so that the upper ones are runs of zeros::

    frame 0     lower 1.00  upper 3.00    steps of 0.25: 4, 12    differences: 4, extent 8
    frame 1     lower 1.26  upper 3.27                   5, 13                 1, extent 0
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FINEST", "MOST_STEPS", "OF_EDGE", "in_steps", "packed", "packed_boxes", "step_of"]

FINEST = 2.0**-13
"""Of the longest edge of what is seen at first: a tenth of a pixel until one comes closer."""

OF_EDGE = 2.0**-6
"""Of the median edge: a box that fills the window is off by less than a hundredth of it."""

MOST_STEPS = 2**30 - 1
"""Steps from the middle where boxes are cut off; differences of extents then are within int32."""

_DEEPEST = 2.0**-22  # of what is seen at first: points have no edge


def packed(array: NDArray[Any]) -> str:
    """Return the bytes of an array, compressed, in base64.

    >>> packed(np.zeros(1000, np.uint8))
    'eJxjYBgFo2AUDHcAAAPoAAE='
    """
    return base64.b64encode(zlib.compress(array.tobytes(), 6)).decode("ascii")


def step_of(seen: float, edge: float) -> float:
    """Return the step for a scene, a power of two.

    Parameters
    ----------
    seen : float
        Longest edge of what is seen at first, above 0.
    edge : float
        A median edge of the boxes, or 0.

    >>> step_of(1000.0, 20.0), step_of(1000.0, 1.0)
    (0.0625, 0.015625)
    """
    wanted = min(seen * FINEST, max(edge * OF_EDGE, seen * _DEEPEST))
    return max(math.ldexp(1.0, math.frexp(wanted)[1] - 1), float(np.finfo(float).tiny))


def in_steps(
    boxes: NDArray[np.float64], center: NDArray[np.float64], step: float
) -> NDArray[np.int32]:
    """Return the bounds of boxes in whole steps from a center, each rounded, far ones cut off.

    >>> in_steps(np.array([[1.26, 3.27]]), np.zeros(1), 0.25).tolist()
    [[5, 13]]
    """
    with np.errstate(over="ignore"):
        steps = (boxes - np.tile(center, 2)) / step
    return np.clip(np.rint(steps), -MOST_STEPS, MOST_STEPS).astype(np.int32)


def packed_boxes(rows: NDArray[np.int32]) -> str:
    """Return rows of boxes in steps as text, each as its difference from the row before.

    Parameters
    ----------
    rows : array, shape (rows, boxes, 2*ndim)
        A frame a row, or a part of a structure.
    """
    ndim = rows.shape[2] // 2
    told = rows.copy()
    told[:, :, ndim:] -= rows[:, :, :ndim]
    told[1:] -= told[:-1].copy()
    # 0, -1, 1, -2 become 0, 1, 2, 3: the upper bytes of what is near zero are zero
    folded = ((told << 1) ^ (told >> 31)).astype("<i4").reshape(-1)
    return packed(np.ascontiguousarray(folded.view(np.uint8).reshape(-1, 4).T))
