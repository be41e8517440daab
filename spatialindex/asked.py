"""Making the regions that are more than a box: what is asked, where to look and what decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import KINDS
from spatialindex.protocol import Region

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["balls", "casts", "planes"]

# kernels.decide has the names of these; importing it would import the compiler
_RADIUS, _PLANES, _CAST = KINDS[3:]


def balls(centers: NDArray[np.float64], radii: NDArray[np.float64], layers: int) -> Region:
    """Return the region of all within radii ``(q or 1,)`` of centers ``(q, ndim)``."""
    from spatialindex.kernels.hulls import aim_balls

    n, ndim = centers.shape
    exact, cull = np.empty((n, ndim + 1)), np.empty((n, 2 * ndim))
    aim_balls(centers, radii, exact, cull, (0,) * ndim)
    return Region(_RADIUS, cull, exact, layers)


def casts(
    starts: NDArray[np.float64],
    motions: NDArray[np.float64],
    lasts: NDArray[np.float64],
    n: int,
    layers: int,
) -> Region:
    """Return the region of `n` boxes or points that move until their last times.

    Each argument has `n` rows, or is one that serves all.
    """
    from spatialindex.kernels.hulls import aim_casts

    ndim = motions.shape[-1]
    exact, cull = np.empty((n, 3 * ndim + 1)), np.empty((n, 2 * ndim))
    starts, motions = starts.reshape(-1, starts.shape[-1]), motions.reshape(-1, ndim)
    aim_casts(starts, motions, lasts, exact, cull, (0,) * ndim)
    return Region(_CAST, cull, exact, layers)


def planes(
    normals: NDArray[np.float64],
    offsets: NDArray[np.float64],
    bounds: NDArray[np.float64],
    layers: int,
) -> Region:
    """Return the one region inside planes ``(p, ndim)`` with offsets ``(p,)``.

    All objects lie in `bounds`.
    """
    from spatialindex.kernels.hulls import around_planes

    ndim = normals.shape[1]
    exact = np.concatenate([normals, offsets[:, None]], axis=1).reshape(1, -1)
    cull = np.empty((1, 2 * ndim))
    around_planes(exact, bounds, cull, (0,) * ndim)
    return Region(_PLANES, cull, exact, layers)
