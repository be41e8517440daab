"""Where generated boxes are at first: one function a kind, in a world of edge 1000.

Densities are told as *partners*: how many others a box meets on average. The edge that gives them
is found from the probability that two boxes meet. Two centers drawn at random on ``[0, w]`` are
within `r` of each other with probability ``2u - u*u``, ``u = r / w``, borders included; over the
axes the probabilities multiply. For 1000 squares, 3 partners each and ``w = 1000``::

    999 * (2u - u*u)**2 = 3    gives    u = 0.0278    squares of edge 27.8

Where boxes differ in size the same equation is solved for a common factor, with its mean over a
fixed sample of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "WORLD",
    "Placement",
    "clustered",
    "pile",
    "planet",
    "point",
    "sizes",
    "stack",
    "thin",
    "uniform",
]

WORLD: Final = 1000.0
"""Edge of the world in which boxes are placed."""

PILE: Final = WORLD / 10
"""Edge of the pile that explodes."""

SPREAD: Final = WORLD / 40
"""Standard deviation of a cloud."""

CLOUD: Final = 50
"""Objects that a cloud has at least, so that few objects make few clouds and not thin ones."""

DECADES: Final = 3
"""Orders of magnitude from the smallest edge to the largest."""

_SAMPLE: Final = 20_000
"""Pairs over which the mean number of partners is taken: within some percent for all kinds."""

Options = Mapping[str, float]
Placement = Callable[[np.random.Generator, int, int, Options], "NDArray[np.float64]"]
"""Makes ``(n, 2*ndim)`` boxes from a generator, `n`, `ndim` and options."""


def uniform(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Place equal cubes anywhere."""
    return _scatter(rng, np.ones((n, ndim)), options["partners"], WORLD)


def clustered(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Place cubes in normally distributed clouds, their edges from half to one and a half."""
    clouds = max(1, min(int(options["clusters"]), n // CLOUD))
    middles = rng.uniform(0.1 * WORLD, 0.9 * WORLD, (clouds, ndim))
    centers = middles[rng.integers(0, clouds, n)] + rng.normal(0, SPREAD, (n, ndim))
    # two of one cloud differ by a normal deviation of sqrt(2) * SPREAD on each axis
    others = max((n - 1) / clouds, 1.0)
    near = min((options["partners"] / others) ** (1 / ndim), 0.999)
    edge = np.sqrt(2) * SPREAD * NormalDist().inv_cdf((1 + near) / 2)
    return _around(centers, edge * rng.uniform(0.5, 1.5, (n, 1)))


def sizes(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Place cubes whose edges are spread evenly over the orders of magnitude."""
    edges = rng.permutation(np.logspace(-DECADES, 0, n))
    return _scatter(rng, np.repeat(edges[:, None], ndim, axis=1), options["partners"], WORLD)


def thin(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Place slabs that are thin along one axis and `aspect` times as long along the others."""
    edges = np.ones((n, ndim))
    edges[np.arange(n), rng.integers(0, ndim, n)] = 1 / options["aspect"]
    return _scatter(rng, edges, options["partners"], WORLD)


def stack(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Stack unit cubes without a gap; rows are in random order."""
    along = max(1, round(n ** (1 / ndim)))
    while along**ndim < n:
        along += 1
    cells = np.stack(np.unravel_index(rng.permutation(n), (along,) * ndim), axis=1)
    lowers = cells.astype(np.float64)
    return np.concatenate([lowers, lowers + 1.0], axis=1)


def point(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Place equal cubes all at the same place."""
    return _around(np.full((n, ndim), WORLD / 2), np.full((n, 1), options["edge"]))


def planet(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Place equal cubes anywhere, and a few that cover nearly all of the world instead."""
    boxes = uniform(rng, n, ndim, options)
    planets = rng.permutation(n)[: int(options["planets"])]
    boxes[planets, :ndim] = 0.01 * WORLD
    boxes[planets, ndim:] = 0.99 * WORLD
    return boxes


def pile(rng: np.random.Generator, n: int, ndim: int, options: Options) -> NDArray[np.float64]:
    """Pile equal cubes up in the middle."""
    boxes = _scatter(rng, np.ones((n, ndim)), options["partners"], PILE)
    boxes += (WORLD - PILE) / 2
    return boxes


def _scatter(
    rng: np.random.Generator, edges: NDArray[np.float64], partners: float, extent: float
) -> NDArray[np.float64]:
    """Place boxes of these proportions in ``[0, extent]``, scaled for that many partners."""
    return _around(rng.uniform(0, extent, edges.shape), edges * _scale(edges, partners, extent))


def _scale(edges: NDArray[np.float64], partners: float, extent: float) -> float:
    """Return the factor of `edges` with which a box meets `partners` others on average."""
    n = len(edges)
    if n < 2:
        return extent / 10
    rng = np.random.default_rng(0)  # the same for every seed: it is a measurement
    a = rng.integers(0, n, _SAMPLE)
    b = (a + rng.integers(1, n, _SAMPLE)) % n
    # an axis a row: products of rows as short as a box's are slow
    reach = ((edges[a] + edges[b]) / (2 * extent)).T.copy()
    low, high = 0.0, 1 / float(reach.min())
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        u = np.minimum(reach * middle, 1.0)
        if (n - 1) * float(np.mean(np.prod(2 * u - u * u, axis=0))) < partners:
            low = middle
        else:
            high = middle
    return high


def _around(centers: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    lowers = centers - edges / 2
    return np.concatenate([lowers, lowers + edges], axis=1)
