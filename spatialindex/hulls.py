"""Boxes around what a question accepts: where a structure has to look, whatever decides.

A question is decided by a formula on floats, so what encloses its answer is worked out from that
formula, rounding included, and not from geometry. A ray from x = 0 along (3, 0) up to time 0.1::

    a box at x is met when            (x - 0) / 3 <= 0.1, rounded
    the quotient may be rounded down  (x - 0) / 3 <= 0.10000000000000002, the next float
    so, each step rounded up,         x <= 0.30000000000000016

Each function returns float64 ``(q, 2*ndim)``; every object that is accepted touches its row. Bounds
may be infinite. What is a hair too large costs nothing: the formula still decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["around_balls", "around_casts", "around_planes"]

_SMALLEST = 5e-324


def around_balls(centers: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return boxes around all that `decide.distance_to_box` finds within a radius of each center.

    `centers` has shape ``(q, ndim)``, `radii` ``(q,)``. A distance is at least that along each
    axis, rounded as here.
    """
    with np.errstate(all="ignore"):
        far = np.nextafter(radii, np.inf)[:, None]
        lower = np.nextafter(centers - far, -np.inf)
        upper = np.nextafter(centers + far, np.inf)
    return np.concatenate([lower, upper], axis=1)


def around_casts(
    boxes: NDArray[np.float64], motions: NDArray[np.float64], lasts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return boxes around all that `decide.cast_time` finds in the way of moving boxes.

    `boxes` has shape ``(q, 2*ndim)``, `motions` ``(q, ndim)`` and `lasts`, the last times,
    ``(q,)``. Ahead, a face is met when ``way / speed <= last`` after rounding: when the way is at
    most the speed times the float after `last`. Where that product is finite, a way that overflows
    has a time beyond it. Behind, a face has not passed when ``way / speed >= 0``, which is also
    true of a way so small that its negative quotient is rounded to zero.
    """
    ndim = motions.shape[1]
    speed = np.abs(motions)
    with np.errstate(all="ignore"):
        longest = np.nextafter(lasts, np.inf)[:, None]
        ahead = np.nextafter(np.nextafter(speed * longest, np.inf), np.inf)
        behind = np.nextafter(np.nextafter(speed * _SMALLEST, np.inf), np.inf)
        # no motion along an axis: exactly the box
        down = np.where(motions == 0.0, 0.0, np.where(motions < 0.0, ahead, behind))
        up = np.where(motions == 0.0, 0.0, np.where(motions > 0.0, ahead, behind))
        lower, upper = boxes[:, :ndim], boxes[:, ndim:]
        lower = np.where(down == 0.0, lower, np.nextafter(lower - down, -np.inf))
        upper = np.where(up == 0.0, upper, np.nextafter(upper + up, np.inf))
    return np.concatenate([lower, upper], axis=1)


def around_planes(
    normals: NDArray[np.float64], offsets: NDArray[np.float64], bounds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a box, one row, around all inside `bounds` that `decide.within_planes` accepts.

    `normals` has shape ``(p, ndim)``, `offsets` ``(p,)`` and `bounds` ``(2*ndim,)``. A plane limits
    the lower bound of an object along an axis where its normal is positive there, and the upper one
    where it is negative: by its offset, less the least that the other axes can add, plus far more
    than rounding can do to the sum. With ``x + y <= 3`` and bounds ``[1, 1, 9, 9]``, no lower x is
    beyond ``3 - 1``. A limit that is not finite is none.
    """
    ndim = normals.shape[1]
    lower, upper = bounds[:ndim].copy(), bounds[ndim:].copy()
    with np.errstate(all="ignore"):
        # of the corner that favours the plane, a bound is the least that it can add
        least = normals * np.where(normals > 0.0, lower, upper)
        size = np.abs(normals) * np.maximum(np.abs(lower), np.abs(upper))
        total = np.abs(offsets) + size.sum(axis=1)
        slack = total * 2.0**-48 + 2.0**-1000
        rest = offsets[:, None] + slack[:, None] - (least.sum(axis=1)[:, None] - least)
        limits = rest / normals
        limits += np.sign(normals) * (np.abs(limits) * 2.0**-48 + 2.0**-1000)
        limits[~np.isfinite(rest) | ~np.isfinite(slack)[:, None]] = np.nan
        highest = np.where(normals > 0.0, limits, np.nan)
        lowest = np.where(normals < 0.0, limits, np.nan)
        for row in range(len(normals)):
            upper = np.fmin(upper, highest[row])
            lower = np.fmax(lower, lowest[row])
    # an object may reach across: its lower bound below the one limit, its upper above the other
    cull = np.concatenate([np.minimum(lower, upper), np.maximum(lower, upper)])
    return cull[None]
