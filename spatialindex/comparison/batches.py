"""The points and rays that a frame is asked, beside its range queries: from a seed, for everybody.

Of 64 points, for each of which the `NEIGHBORS` nearest objects are wanted,

- 32 are near objects: who is around me;
- 16 are centers of objects: distances of 0, and often equal ones;
- 16 lie anywhere in the world.

Of 64 rays, of each of which the first hit is wanted,

- 32 go from an object to another one and no farther: does it see the other;
- 16 go down from an object without an end: what does it stand on;
- 16 go from anywhere in any direction without an end.

The rays that begin in an object do not see that object. The shares are the same for other numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.scenes.recording import Frame

    Boxes = NDArray[np.float64]

__all__ = ["NEIGHBORS", "Rays", "edge_points", "edge_rays", "points_of", "rays_of"]

NEIGHBORS = 8
"""Neighbours wanted of each point."""


class Rays(NamedTuple):
    """A batch of rays ``origin + t * direction``, ``0 <= t <= last``."""

    origins: Boxes
    """``(q, ndim)``."""
    directions: Boxes
    """``(q, ndim)``, not normalised, none of them zero."""
    lasts: Boxes
    """``(q,)``, the last t; they may be infinite."""
    ignored: NDArray[np.int64]
    """``(q,)``, an id that a ray does not see; -1 for none."""

    def rows(self, rows: NDArray[np.intp]) -> Rays:
        """Return some of the rays."""
        return Rays(self.origins[rows], self.directions[rows], self.lasts[rows], self.ignored[rows])


def points_of(frame: Frame, ndim: int, count: int, rng: np.random.Generator) -> Boxes:
    """Return the points of a frame, shape ``(count, ndim)``."""
    boxes = _there(frame, ndim)
    centers = _centers(boxes)
    near = rng.integers(len(boxes), size=count // 2)
    half = boxes[near, ndim:] * 0.5 - boxes[near, :ndim] * 0.5
    with np.errstate(over="ignore"):
        # a point has to be finite, where the world is as wide as float64
        around = np.nan_to_num(centers[near] + (rng.random(half.shape) * 4.0 - 2.0) * half)
    exact = centers[rng.integers(len(boxes), size=count // 4)]
    anywhere = _anywhere(boxes, count - len(around) - len(exact), rng)
    return np.concatenate((around, exact, anywhere))


def rays_of(frame: Frame, ndim: int, count: int, rng: np.random.Generator) -> Rays:
    """Return the rays of a frame, `count` of them."""
    boxes = _there(frame, ndim)
    ids = frame.ids if len(frame.ids) else np.full(1, -1)
    centers = _centers(boxes)
    looking = rng.integers(len(boxes), size=count // 2)
    seen = rng.integers(len(boxes), size=count // 2)
    standing = rng.integers(len(boxes), size=count // 4)
    down = np.zeros((len(standing), ndim))
    down[:, -1] = -1.0
    rest = count - len(looking) - len(standing)
    # halves, which do not overflow: twice as long is the whole way
    ways = centers[seen] * 0.5 - centers[looking] * 0.5
    return Rays(
        np.concatenate((centers[looking], centers[standing], _anywhere(boxes, rest, rng))),
        _somewhere(np.concatenate((ways, down, rng.normal(size=(rest, ndim))))),
        np.concatenate((np.full(len(looking), 2.0), np.full(count - len(looking), np.inf))),
        np.concatenate((ids[looking], ids[standing], np.full(rest, -1))),
    )


def edge_points(frame: Frame, ndim: int) -> Boxes:
    """Return points on edges: a corner of a box, a point of a face, the origin, a far one.

    They are asked when answers are checked, and not when they are timed; `edge_rays` likewise.
    """
    box = _there(frame, ndim)[len(frame.ids) // 2]
    on_face = _centers(box[None])[0]
    on_face[0] = box[0]
    return np.stack((box[ndim:], on_face, np.zeros(ndim), np.full(ndim, 1e300)))


def edge_rays(frame: Frame, ndim: int) -> Rays:
    """Return rays on edges: in a face, through a corner, ending at a face, hardly moving, far."""
    box = _there(frame, ndim)[len(frame.ids) // 2]
    lower, upper = box[:ndim], box[ndim:]
    along = np.zeros(ndim)
    along[0] = 1.0
    back = -along  # with minus zeros in it
    before = lower - along
    origins = np.stack((before, upper + 1.0, before, upper, np.full(ndim, 1e300)))
    directions = np.stack((along, np.full(ndim, -1.0), along, back * 5e-324, np.full(ndim, -1e300)))
    lasts = np.array([np.inf, np.inf, lower[0] - before[0], np.inf, np.inf])
    return Rays(origins, directions, lasts, np.full(len(origins), -1))


def _there(frame: Frame, ndim: int) -> Boxes:
    """Return the boxes of a frame, or one at the origin when nobody is there."""
    unit: Boxes = np.repeat((0.0, 1.0), ndim)[None]
    return frame.boxes if len(frame.boxes) else unit


def _centers(boxes: Boxes) -> Boxes:
    ndim = boxes.shape[1] // 2
    centers: Boxes = boxes[:, :ndim] * 0.5 + boxes[:, ndim:] * 0.5
    return centers


def _anywhere(boxes: Boxes, count: int, rng: np.random.Generator) -> Boxes:
    """Return points within the box around all."""
    ndim = boxes.shape[1] // 2
    lower, upper = boxes[:, :ndim].min(axis=0), boxes[:, ndim:].max(axis=0)
    share = rng.random((count, ndim))
    points: Boxes = lower * (1.0 - share) + upper * share
    return points


def _somewhere(directions: Boxes) -> Boxes:
    """Return directions of which none is zero: one that is goes along the first axis."""
    directions[~directions.any(axis=1), 0] = 1.0
    return directions
