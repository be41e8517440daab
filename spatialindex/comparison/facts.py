"""What a recording holds, in figures: what `info` shows and what makes a scene easy or hard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from spatialindex.scenes.recording import Recording

__all__ = ["SceneFacts", "median", "scene_facts"]


@dataclass(frozen=True)
class SceneFacts:
    """The figures of a scene, over the frames that were looked at."""

    name: str
    """What the recording calls itself."""
    ndim: int
    """Number of dimensions."""
    frames: int
    """Frames looked at."""
    of_frames: int
    """Frames in the recording."""
    dt: float
    """Seconds from frame to frame; 0 where time means nothing."""
    objects: int
    """Objects that are there in at least one frame."""
    alive: int
    """Objects that are there in the median frame."""
    static: int
    """Objects that never move."""
    sensors: int
    """Objects whose pairs are events."""
    layers: int
    """Different combinations of layer and mask."""
    asleep: int
    """Objects asleep in the median frame."""
    moved: float
    """Boxes that change from one frame to the next, mean; 0 for a single frame."""
    most_moved: int
    """Boxes that change from one frame to the next, at most."""
    inserted: int
    """Objects inserted after the first frame, all frames together."""
    removed: int
    """Objects removed after the first frame, all frames together."""
    longest_edges: tuple[float, float, float]
    """Smallest, median and largest longest edge of a box, over all objects and frames."""
    bounds: tuple[float, ...]
    """The box around everything in every frame; empty when there is nothing."""

    @property
    def words(self) -> str:
        """What was played, in a line."""
        frames = f"{self.frames:,} frame{'s' if self.frames != 1 else ''}"
        figures = [f"{self.ndim}D", frames, f"{self.objects:,} objects"]
        for count, words in (
            (self.static, "static"),
            (self.asleep, "asleep in the median frame"),
            (self.inserted, "inserted on the way"),
            (self.removed, "removed on the way"),
        ):
            if count:
                figures.append(f"{count:,} {words}")
        if self.frames > 1:
            figures.append(f"{self.moved:,.1f}".removesuffix(".0") + " move a frame")
        return ", ".join(figures)


def scene_facts(
    recording: Recording,
    frames: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> SceneFacts:
    """Look through the frames of a recording. Linear in its size.

    Examples
    --------
    >>> import spatialindex as si
    >>> rec = si.Recording([[[0, 0, 1, 1], [4, 0, 5, 3]], [[0, 0, 1, 1], [2, 0, 3, 3]]])
    >>> facts = scene_facts(rec)
    >>> facts.objects, facts.moved, facts.longest_edges, facts.bounds
    (2, 1.0, (1.0, 2.0, 3.0), (0.0, 0.0, 5.0, 3.0))
    """
    last = recording.frames if frames is None else min(frames, recording.frames)
    boxes, alive = recording.boxes[:last], recording.alive[:last]
    ever = alive.any(axis=0)
    inserted = removed = 0
    moves = [0] if last == 1 else []
    for t in range(1, last):
        changes = recording.changes(t)
        moves.append(len(changes.moved.ids))
        inserted += len(changes.inserted.ids)
        removed += len(changes.removed)
        if progress is not None:
            progress("reading", t + 1, last)
    labels = np.stack((recording.layer[ever], recording.mask[ever]), axis=-1)
    return SceneFacts(
        name=recording.name,
        ndim=recording.ndim,
        frames=last,
        of_frames=recording.frames,
        dt=recording.dt,
        objects=int(ever.sum()),
        alive=median(alive.sum(axis=1)),
        static=int((recording.static & ever).sum()),
        sensors=int((recording.sensor & ever).sum()),
        layers=len(np.unique(labels, axis=0)),
        asleep=median((recording.asleep[:last] & alive).sum(axis=1)),
        moved=sum(moves) / len(moves),
        most_moved=max(moves),
        inserted=inserted,
        removed=removed,
        longest_edges=_longest_edges(boxes, alive),
        bounds=_bounds(boxes, alive),
    )


def median(figures: NDArray[np.int64] | list[int]) -> int:
    """Return the lower median: a figure that occurs."""
    return sorted(int(figure) for figure in figures)[(len(figures) - 1) // 2]


def _longest_edges(
    boxes: NDArray[np.float64], alive: NDArray[np.bool_]
) -> tuple[float, float, float]:
    ndim = boxes.shape[-1] // 2
    there = boxes[alive]
    if len(there) == 0:
        return (0.0, 0.0, 0.0)
    with np.errstate(over="ignore"):  # of a median, too, which adds two
        edges = (there[:, ndim:] - there[:, :ndim]).max(axis=1)
        return (float(edges.min()), float(np.median(edges)), float(edges.max()))


def _bounds(boxes: NDArray[np.float64], alive: NDArray[np.bool_]) -> tuple[float, ...]:
    ndim = boxes.shape[-1] // 2
    there = boxes[alive]
    if len(there) == 0:
        return ()
    ends = (*there[:, :ndim].min(axis=0), *there[:, ndim:].max(axis=0))
    return tuple(float(bound) for bound in ends)
