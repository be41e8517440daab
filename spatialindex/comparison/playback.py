"""What makes up a frame of a comparison, the same for checking and for timing.

A recording is played into an index by its changes: removals, insertions, moves, falling asleep and
waking up. After them the index is asked for its pairs and for one batch of range queries, which is
made here from a seed and the number of the frame, so that every contestant and every run is asked
the same; likewise for what is nearest to points and what rays hit first, see `batches`. Of a batch
of 64 range queries, as an engine asks them,

- 32 are around objects: what is near me;
- 16 are boxes of objects themselves: answers that touch exactly and hold the object;
- 16 lie anywhere in the world, a twentieth of it long on each axis: what is in this region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from spatialindex.comparison import batches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.comparison.batches import Rays
    from spatialindex.protocol import Among
    from spatialindex.scenes.recording import Changes, Frame, Recording

__all__ = ["Playable", "Playback", "bring_up_to_date", "edge_queries"]


class Playable(Protocol):
    """The part of an index that a comparison uses: what a contestant has to have."""

    def insert(
        self, boxes: Any, ids: Any, *, layer: Any, mask: Any, static: Any, asleep: Any, sensor: Any
    ) -> Any:
        """Add objects with the state that they have in the recording."""

    def update(self, ids: Any, boxes: Any) -> None:
        """Give objects new boxes."""

    def remove(self, ids: Any) -> None:
        """Take objects out."""

    def set_state(self, ids: Any, *, asleep: Any) -> None:
        """Let objects fall asleep or wake up."""

    def pairs(self, *, among: Among) -> NDArray[np.int64]:
        """Return the pairs."""

    def query(self, boxes: Any) -> NDArray[np.int64]:
        """Return the rows of a batch of range queries."""

    def nearest(self, points: Any, k: int) -> Any:
        """Return the nearest objects of a batch of points."""

    def raycast(self, origins: Any, directions: Any, *, max_t: Any, ignore: Any) -> Any:
        """Return what each of a batch of rays hits first."""


@dataclass(frozen=True)
class Playback:
    """The frames of a recording that are played, and what is asked in each."""

    recording: Recording
    """What is played."""
    frames: int
    """Frames played, from the first on."""
    queries: int
    """Range queries in each frame's batch; as many points and rays in theirs."""
    seed: int
    """Seed of all of them."""
    among: Among
    """Which pairs are timed."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.recording.ndim

    @property
    def is_ever_active(self) -> bool:
        """Whether anything is awake and not static in a frame that is played."""
        rec, last = self.recording, self.frames
        return bool((rec.alive[:last] & ~rec.asleep[:last] & ~rec.static).any())

    def frame(self, t: int) -> Frame:
        """Return the objects that are there in a frame."""
        return self.recording.frame(t)

    def changes(self, t: int) -> Changes:
        """Return what a frame changes; in the first everything is inserted."""
        return self.recording.changes(t)

    def batch(self, t: int) -> NDArray[np.float64]:
        """Return the range queries of a frame, shape ``(queries, 2*ndim)``."""
        rng = np.random.default_rng((self.seed, t))
        boxes, ndim = self.frame(t).boxes, self.ndim
        if len(boxes) == 0:
            boxes = np.repeat((0.0, 1.0), ndim)[None]  # nobody is there: ask around the origin
        around = _around(boxes[rng.integers(len(boxes), size=self.queries // 2)], rng)
        exact = boxes[rng.integers(len(boxes), size=self.queries // 4)]
        lower, upper = boxes[:, :ndim].min(axis=0), boxes[:, ndim:].max(axis=0)
        # bounds halved before they are subtracted: a world as wide as float64 does not overflow
        reach = (upper * 0.5 - lower * 0.5) * 0.05
        rest = self.queries - len(around) - len(exact)
        share = rng.random((rest, ndim))
        center = lower * (1.0 - share) + upper * share
        with np.errstate(over="ignore"):
            anywhere = np.concatenate((center - reach, center + reach), axis=1)
        return np.concatenate((around, exact, anywhere))

    def checked_batch(self, t: int) -> NDArray[np.float64]:
        """Return the queries of a frame that are checked: the batch, and some that sit on edges."""
        return np.concatenate((self.batch(t), edge_queries(self.frame(t), self.ndim)))

    def points(self, t: int) -> NDArray[np.float64]:
        """Return the points of a frame whose nearest objects are asked for."""
        rng = np.random.default_rng((self.seed, t, 2))
        return batches.points_of(self.frame(t), self.ndim, self.queries, rng)

    def checked_points(self, t: int) -> NDArray[np.float64]:
        """Return the points of a frame that are checked: those, and some that sit on edges."""
        return np.concatenate((self.points(t), batches.edge_points(self.frame(t), self.ndim)))

    def rays(self, t: int) -> Rays:
        """Return the rays of a frame."""
        rng = np.random.default_rng((self.seed, t, 3))
        return batches.rays_of(self.frame(t), self.ndim, self.queries, rng)

    def checked_rays(self, t: int) -> Rays:
        """Return the rays of a frame that are checked: those, and some that sit on edges."""
        parts = zip(self.rays(t), batches.edge_rays(self.frame(t), self.ndim), strict=True)
        return batches.Rays(*(np.concatenate(part) for part in parts))


def _around(boxes: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return boxes twice as long as `boxes`, shifted by up to half a length."""
    ndim = boxes.shape[1] // 2
    lower, upper = boxes[:, :ndim], boxes[:, ndim:]
    half = upper * 0.5 - lower * 0.5
    shift = (rng.random(half.shape) - 0.5) * half
    with np.errstate(over="ignore"):  # bounds of queries may be infinite
        return np.concatenate((lower - half + shift, upper + half + shift), axis=1)


def edge_queries(frame: Frame, ndim: int) -> NDArray[np.float64]:
    """Return queries that sit on edges: everything, half-spaces, a point at a corner, a far box.

    They are asked when answers are checked, and not when they are timed.
    """
    box = frame.boxes[len(frame.boxes) // 2] if len(frame.boxes) else np.zeros(2 * ndim)
    everything = np.repeat((-np.inf, np.inf), ndim)
    below, above = everything.copy(), everything.copy()
    below[ndim] = box[0]  # all that begins at or before its lower x
    above[ndim - 1] = box[2 * ndim - 1]  # all that reaches its upper bound on the last axis
    corner = np.concatenate((box[ndim:], box[ndim:]))
    return np.stack((everything, below, above, corner, np.full(2 * ndim, 1e300)))


def bring_up_to_date(index: Playable, ndim: int) -> None:
    """Make an index do the work that changes have put off: ask it a batch of no boxes.

    Indexes note changes and hand them to their structure when the next question comes. A question
    of no boxes costs next to nothing beyond that, so that updating can be timed apart from asking.
    """
    index.query(np.empty((0, 2 * ndim)))
