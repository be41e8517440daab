"""A recording played through a split index: what each frame held, cost, began and ended.

`play` yields one `PlayedFrame` a frame; an `Album` keeps of them what a summary needs::

    frame 0   213 objects come                       candidates 1,100
    frame 1   20 moved, 2 pairs began                candidates 1,150
    frame 2   somebody lost the boxes' positions     candidates 21,000    a warning says so

Figures are counted on the boxes of the frame by a pass of its own, which is not in the times.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spatialindex.scenes.recording import Changes, Frame, Recording
    from spatialindex.split.index import SplitIndex

__all__ = ["JUMP", "Album", "PlayedFrame", "play"]

JUMP = 10
"""How many times the figure of the frames before is worth a warning."""

_RECENT = 10  # frames before that a figure is compared with, so that a steep slope is a jump, too
_LEAST = {"max_bucket": 16, "candidates": 256}  # jumps from less than that are everyday
_WARNINGS = {
    "max_bucket": (
        "largest bucket",
        "look for objects piled up in one place, as at a default position, or for cells that are "
        "too large for what is in them",
    ),
    "candidates": (
        "candidates",
        "look for boxes that have become too large, objects gathering in one place, or many that "
        "woke at once",
    ),
}


@dataclass(frozen=True, slots=True)
class PlayedFrame:
    """A frame of a scene, as a split index sees it. Times are in seconds."""

    frame: int
    """Which one, from 0."""
    objects: int
    """Objects that are there: `static`, `asleep`, `moving` and `resting` together."""
    static: int
    """Of these, static ones."""
    asleep: int
    """Asleep and not static."""
    moving: int
    """Awake, and new or somewhere else than in the frame before."""
    resting: int
    """Awake, and where they were."""
    coarse: int
    """Of all of them, those in the coarse part, as oversized."""
    entries: int
    """Memberships in buckets of all parts."""
    mean_bucket: float
    """Memberships an occupied bucket."""
    max_bucket: int
    """Memberships of the fullest bucket."""
    visits: int
    """Pairs met when active pairs are found from scratch, repeats included."""
    candidates: int
    """Distinct pairs met."""
    pairs: int
    """Active pairs, those with sensors included."""
    masked: int
    """Overlapping pairs left out by layer and mask."""
    masked_share: float
    """Of the overlapping pairs that somebody active is in, the share left out by layer and mask."""
    began: int
    """Contacts that began."""
    ended: int
    """Contacts that ended."""
    sensor_began: int
    """Pairs with a sensor that began."""
    sensor_ended: int
    """Pairs with a sensor that ended."""
    update_time: float
    """Removing, inserting, moving and changing states, and the structures taking it in."""
    pairs_time: float
    """Finding the present pairs."""
    events_time: float
    """Comparing them with those of the frame before."""
    warnings: tuple[str, ...]
    """What is out of the ordinary, and what to look for."""

    @property
    def time(self) -> float:
        """Seconds of all phases."""
        return self.update_time + self.pairs_time + self.events_time

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name, for JSON; `time` among them."""
        return asdict(self) | {"warnings": list(self.warnings), "time": self.time}


FIGURES = tuple(field.name for field in fields(PlayedFrame) if field.name not in ("warnings",))


def play(recording: Recording, world: SplitIndex, frames: int) -> Iterator[PlayedFrame]:
    """Play frames of a recording through an empty split index, one step each.

    Parameters
    ----------
    recording : Recording
        What is played.
    world : SplitIndex
        An empty one of the recording's number of dimensions.
    frames : int
        How many frames, from the first on; at most those that there are.

    Yields
    ------
    PlayedFrame
        In the order of frames; `world` is in that frame then, and must not be changed.

    Raises
    ------
    ResultTooLargeError
        When a frame has more pairs than `world` returns.

    Notes
    -----
    Cost of a frame: that of a step, and of counting active pairs from scratch.

    Examples
    --------
    >>> import spatialindex as si
    >>> from spatialindex.comparison.playing import play
    >>> rec = si.Recording([[[0, 0, 1, 1], [4, 0, 5, 1]], [[0, 0, 1, 1], [1, 0, 2, 1]]])
    >>> for played in play(rec, si.SplitIndex(ndim=2), rec.frames):
    ...     print(played.frame, played.moving, played.resting, played.pairs, played.began)
    0 2 0 0 0
    1 1 1 1 1
    """
    jumps = _Jumps()
    for t in range(min(frames, recording.frames)):
        changes, frame = recording.changes(t), recording.frame(t)
        started = perf_counter()
        changes.apply(world)
        applied = perf_counter() - started
        report = world.step()
        stats, times = report.stats, report.times
        met = stats.pairs + stats.masked
        figures = {
            "max_bucket": stats.max_bucket,
            "candidates": stats.candidates,
        }
        yield PlayedFrame(
            frame=t,
            objects=stats.objects,
            **_by_motion(frame, changes),
            coarse=stats.coarse,
            entries=stats.entries,
            mean_bucket=stats.mean_bucket,
            visits=stats.visits,
            pairs=stats.pairs,
            masked=stats.masked,
            masked_share=stats.masked / met if met else 0.0,
            began=len(report.began),
            ended=len(report.ended),
            sensor_began=len(report.sensor_began),
            sensor_ended=len(report.sensor_ended),
            update_time=applied + times.update,
            pairs_time=times.pairs,
            events_time=times.events,
            warnings=jumps.noticed(t, figures),
            **figures,
        )


def _by_motion(frame: Frame, changes: Changes) -> dict[str, int]:
    """Count objects by what they do in a frame; each is one of the four."""
    asleep = frame.asleep & ~frame.static
    awake = frame.ids[~frame.static & ~asleep]
    new = np.concatenate([changes.moved.ids, changes.inserted.ids])
    moving = int(np.count_nonzero(np.isin(awake, new)))
    return {
        "static": int(np.count_nonzero(frame.static)),
        "asleep": int(np.count_nonzero(asleep)),
        "moving": moving,
        "resting": len(awake) - moving,
    }


class _Jumps:
    """Notices figures that are many times those of the frames before."""

    def __init__(self) -> None:
        self._recent: dict[str, list[int]] = {name: [] for name in _WARNINGS}

    def noticed(self, t: int, figures: dict[str, int]) -> tuple[str, ...]:
        """Return warnings about a frame, and remember its figures."""
        said = []
        for name, (words, advice) in _WARNINGS.items():
            recent, now = self._recent[name], figures[name]
            least = min(recent, default=now)
            if now > JUMP * max(least, _LEAST[name]):
                said.append(f"frame {t}: {words} jumped from {least:,} to {now:,}: {advice}")
                recent.clear()  # said once: what follows is compared with what there is now
            recent.append(now)
            del recent[:-_RECENT]
        return tuple(said)


class Album:
    """What is kept of the frames that were played: of each figure its sum and its highest.

    Attributes
    ----------
    frames : int
        Frames so far.
    last : PlayedFrame or None
        The last of them.
    warnings : list of str
        All warnings, in the order of frames.
    """

    def __init__(self) -> None:
        self.frames = 0
        self.last: PlayedFrame | None = None
        self.warnings: list[str] = []
        self._sums: dict[str, float] = dict.fromkeys((*FIGURES, "time"), 0.0)
        self._highest: dict[str, tuple[float, int]] = {}

    def add(self, played: PlayedFrame) -> None:
        """Take in the next frame."""
        self.frames += 1
        self.last = played
        self.warnings += played.warnings
        for name in self._sums:
            value = getattr(played, name)
            self._sums[name] += value
            if name not in self._highest or value > self._highest[name][0]:
                self._highest[name] = value, played.frame

    def total(self, name: str) -> float:
        """Return the sum of a figure over all frames."""
        return self._sums[name]

    def mean(self, name: str) -> float:
        """Return the mean of a figure over all frames, 0 when there is none."""
        return self._sums[name] / self.frames if self.frames else 0.0

    def highest(self, name: str) -> tuple[float, int]:
        """Return the highest value of a figure and the first frame that had it."""
        return self._highest.get(name, (0.0, 0))
