"""How generated boxes move: one function a motion, frame 0 being the placement itself.

A motion draws from its generator in the order of the frames, so that a longer recording begins with
the shorter one. Boxes are moved by adding one displacement to both corners: an object that rests is
the same bit for bit, and no box is ever inverted, since rounding keeps order.

Where nothing else is said, objects turn back at the borders of the space that the centers took up
at first: with borders at 0 and 10, a center at 9 moving by 3 comes to 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spatialindex.scenes.placements import WORLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Motion", "brownian", "churn", "coherent", "explosion", "sleepers", "teleport"]

WAKING_CYCLE: Final = 60
"""Frames from one waking of an object to the next: a second at the usual frame rate."""

Options = Mapping[str, float]
Motion = Callable[["np.random.Generator", "NDArray[np.float64]", int, Options], dict[str, Any]]
"""Makes fields of a `Recording` from a generator, the first boxes, the frames and options."""


def coherent(
    rng: np.random.Generator, start: NDArray[np.float64], frames: int, options: Options
) -> dict[str, Any]:
    """Move a share of the objects, always the same ones, each with a velocity of its own."""
    centers = _centers(start)
    velocities = _velocities(rng, start, options)
    rest = rng.permutation(len(start))[round(options["moving"] * len(start)) :]
    velocities[rest] = 0.0
    moves = (_turned_back(centers, velocities * t) for t in range(1, frames))
    return {"boxes": _moved(start, frames, moves)}


def brownian(
    rng: np.random.Generator, start: NDArray[np.float64], frames: int, options: Options
) -> dict[str, Any]:
    """Move every object by a new random step in every frame."""
    centers = _centers(start)

    def walk() -> Iterator[NDArray[np.float64]]:
        move = np.zeros_like(centers)
        while True:
            move = _turned_back(centers, move + _velocities(rng, start, options))
            yield move

    return {"boxes": _moved(start, frames, walk())}


def explosion(
    rng: np.random.Generator, start: NDArray[np.float64], frames: int, options: Options
) -> dict[str, Any]:
    """Send every object off in a direction of its own, across the others and without borders."""
    velocities = rng.normal(0, options["speed"] * WORLD, _centers(start).shape)
    return {"boxes": _moved(start, frames, (velocities * t for t in range(1, frames)))}


def teleport(
    rng: np.random.Generator, start: NDArray[np.float64], frames: int, options: Options
) -> dict[str, Any]:
    """Put a share of the objects, each time others, somewhere else in every frame."""
    centers = _centers(start)

    def jumps() -> Iterator[NDArray[np.float64]]:
        move = np.zeros_like(centers)
        while True:
            who = rng.permutation(len(start))[: round(options["moving"] * len(start))]
            move[who] = rng.uniform(0, WORLD, (len(who), centers.shape[1])) - centers[who]
            yield move

    return {"boxes": _moved(start, frames, jumps())}


def sleepers(
    rng: np.random.Generator, start: NDArray[np.float64], frames: int, options: Options
) -> dict[str, Any]:
    """Let a share be static, and of the others a share be awake and move, by turns."""
    n = len(start)
    centers = _centers(start)
    velocities = _velocities(rng, start, options)
    static = np.zeros(n, dtype=np.bool_)
    static[rng.permutation(n)[: round(options["static"] * n)]] = True
    phase = rng.random(n) + np.arange(frames)[:, None] / WAKING_CYCLE
    awake = (phase % 1.0 < options["awake"]) & ~static
    # a move is made in the frames in which an object is awake, so that sleepers stay where they are
    made = np.cumsum(awake[1:], axis=0)
    moves = (_turned_back(centers, velocities * steps[:, None]) for steps in made)
    boxes = _moved(start, frames, moves)
    return {"boxes": boxes, "static": static, "asleep": ~awake & ~static}


def churn(
    rng: np.random.Generator, start: NDArray[np.float64], frames: int, options: Options
) -> dict[str, Any]:
    """Let objects live for some frames, be gone as long, and come back somewhere else."""
    n, ndim = len(start), start.shape[1] // 2
    centers = _centers(start)
    velocities = _velocities(rng, start, options)
    lifetime = int(options["lifetime"])
    age = rng.integers(0, 2 * lifetime, n) + np.arange(frames)[:, None]
    life, age = np.divmod(age, 2 * lifetime)
    alive = age < lifetime
    births = rng.uniform(0, WORLD, (int(life.max(initial=0)) + 1, n, ndim)) - centers
    births[0] = 0.0
    # in its first life an object is of some age already, but where it was placed
    steps = np.where(life == 0, np.arange(frames)[:, None], age)
    rows = np.arange(n)
    moves = (births[life[t], rows] + velocities * steps[t][:, None] for t in range(1, frames))
    boxes = _moved(start, frames, moves)
    boxes[~alive] = np.nan
    return {"boxes": boxes, "alive": alive}


def _centers(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    ndim = boxes.shape[1] // 2
    centers: NDArray[np.float64] = (boxes[:, :ndim] + boxes[:, ndim:]) / 2
    return centers


def _velocities(
    rng: np.random.Generator, start: NDArray[np.float64], options: Options
) -> NDArray[np.float64]:
    """Draw displacements a frame; their deviation is `speed` times the edge of a usual box."""
    n, ndim = len(start), start.shape[1] // 2
    edge = float(np.median(start[:, ndim:] - start[:, :ndim])) if n else 0.0
    # boxes without an extent have no edge to go by
    return rng.normal(0, options["speed"] * (edge or WORLD / 1000), (n, ndim))


def _turned_back(centers: NDArray[np.float64], moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return moves that end inside the space of `centers`, turned back at its borders."""
    if not len(centers):
        return moves
    low, span = centers.min(axis=0), np.ptp(centers, axis=0)
    # an axis on which all centers are the same has no inside: there, nothing turns back
    width = np.where(span > 0, span, np.inf)
    with np.errstate(invalid="ignore"):
        inside = width - np.abs((centers + moves - low) % (2 * width) - width)
    ends = np.where(np.isfinite(width), low + inside, centers + moves)
    return np.where(moves == 0, 0.0, ends - centers)


def _moved(
    start: NDArray[np.float64], frames: int, moves: Iterable[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the boxes of all frames: `start`, and `start` with each of the moves."""
    boxes = np.empty((frames, *start.shape))
    boxes[0] = start
    for frame, move in zip(boxes[1:], moves, strict=False):  # walks have no end
        np.add(start, np.concatenate([move, move], axis=1), out=frame)
    return boxes
