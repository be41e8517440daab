"""Seeded NumPy samples of boxes and states on which structures tend to go wrong.

Lattice boxes touch, coincide and have no size more often than not; mixed boxes span nine orders of
magnitude and reach far out. Larger scenes with a shape come from `spatialindex.scenes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ALL, STATE_DTYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "aimed_rays",
    "lattice_boxes",
    "mixed_boxes",
    "mixed_scene",
    "mixed_state",
    "sparse_ids",
    "state_options",
    "with_infinite_bounds",
]


def lattice_boxes(rng: np.random.Generator, n: int, ndim: int) -> NDArray[np.float64]:
    """Return ``(n, 2*ndim)`` boxes on a small lattice of halves."""
    reach = 6 if ndim == 2 else 2
    lower = rng.integers(-reach, reach + 1, (n, ndim)) / 2
    return np.concatenate((lower, lower + rng.integers(0, 4, (n, ndim)) / 2), axis=1)


def mixed_boxes(rng: np.random.Generator, n: int, ndim: int) -> NDArray[np.float64]:
    """Return ``(n, 2*ndim)`` boxes of edges 1e-6 to 1e3 around one place, and a few far out."""
    center = rng.normal(0, 10, (n, ndim))
    half = 10.0 ** rng.uniform(-6, 3, (n, 1)) * rng.uniform(0, 1, (n, ndim))
    center[rng.random(n) < 0.05] *= 1e300
    return np.concatenate((center - half, center + half), axis=1)


def mixed_scene(
    rng: np.random.Generator, n: int, ndim: int, *, giants: Sequence[float] = (25.0, 1e4)
) -> NDArray[np.float64]:
    """Return ``(n, 2*ndim)`` boxes: a lattice, bolts and plates around it, points, and giants.

    `giants` are half the edges of some that lie around the origin, and so around most others.
    """
    lower = rng.uniform(-30, 30, (n, ndim))
    edges = 10.0 ** rng.uniform(-3, 0.5, (n, ndim)) * (rng.random((n, ndim)) < 0.8)
    boxes = np.concatenate((lower, lower + edges), axis=1)
    lattice = lattice_boxes(rng, n // 2, ndim)
    boxes[: len(lattice)] = lattice
    points = lattice[: len(lattice) // 8, ndim:]
    boxes[: len(points)] = np.concatenate((points, points), axis=1)
    for giant, reach in zip(boxes[::-1], giants, strict=False):
        giant[:ndim], giant[ndim:] = -reach, reach
    return rng.permutation(boxes)


def aimed_rays(
    rng: np.random.Generator, boxes: NDArray[np.float64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return origins and directions ``(n, ndim)`` of rays at what is hard to meet.

    They go from corners, edges, faces and insides of boxes, some of them displaced on a lattice of
    halves, to those of others, or along an axis: many start in a box, run in a face plane or
    through a corner. Directions are of all lengths; minus zero is among their components.
    """
    ndim = boxes.shape[1] // 2

    def places() -> NDArray[np.float64]:
        some = boxes[rng.integers(len(boxes), size=n)]
        share = rng.choice([0.0, 0.5, 1.0], (n, ndim))
        place: NDArray[np.float64] = some[:, :ndim] * (1.0 - share) + some[:, ndim:] * share
        return place

    targets, origins = places(), places()
    origins += rng.integers(-8, 9, (n, ndim)) / 2 * (rng.random((n, 1)) < 0.7)
    is_fixed = rng.random((n, ndim)) < 0.3
    origins[is_fixed] = targets[is_fixed]
    # halves: the difference of two places may overflow
    directions = (targets / 2 - origins / 2) * 2.0 ** rng.integers(-3, 4, (n, 1))
    directions[is_fixed] = rng.choice([0.0, -0.0], int(is_fixed.sum()))
    directions[~directions.any(axis=1), 0] = 1.0
    return origins, directions


def sparse_ids(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Return ``(n,)`` ids far apart and in no order: their order tells nothing of slots."""
    return rng.permutation(2 * n)[:n] * 1_000_003


def mixed_state(rng: np.random.Generator, n: int) -> NDArray[np.void]:
    """Return ``(n,)`` states of few layers, so that masks agree and disagree often."""
    state = np.zeros(n, STATE_DTYPE)
    state["layer"] = rng.choice(np.array([0, 1, 2, 3, 2**63, ALL], np.uint64), n)
    state["mask"] = rng.choice(np.array([0, 1, 2, 2**63 + 1, ALL], np.uint64), n)
    for flag in ("static", "asleep", "sensor"):
        state[flag] = rng.random(n) < 0.4
    return state


def state_options(state: NDArray[np.void]) -> dict[str, NDArray[np.generic]]:
    """Return states as the keyword arguments of `insert` and `set_state`."""
    return {name: state[name] for name in STATE_DTYPE.names or ()}


def with_infinite_bounds(
    rng: np.random.Generator, boxes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return query boxes of which some bounds are infinite and the last is all of space."""
    asked = boxes.copy()
    ndim = asked.shape[1] // 2
    asked[:, :ndim][rng.random((len(asked), ndim)) < 0.3] = -np.inf
    asked[:, ndim:][rng.random((len(asked), ndim)) < 0.3] = np.inf
    asked[-1:, :ndim], asked[-1:, ndim:] = -np.inf, np.inf
    return asked
