"""Seeded NumPy samples of boxes and states on which structures tend to go wrong.

Lattice boxes touch, coincide and have no size more often than not; mixed boxes span nine orders of
magnitude and reach far out. Larger scenes with a shape come from `spatialindex.scenes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ALL, STATE_DTYPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["lattice_boxes", "mixed_boxes", "mixed_state", "state_options", "with_infinite_bounds"]


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
