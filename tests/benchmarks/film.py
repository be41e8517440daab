"""Frames as boxes and nothing else, so that everybody can play them.

Static, sleep and layers of a recording are left out: other libraries do not know them.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from spatialindex import oracle
from spatialindex.scenes.generators import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from spatialindex.protocol import Index
    from spatialindex.scenes.recording import Changes, Frame, Recording
    from tests.benchmarks.scenes import Scene
    from tests.benchmarks.structures import Structure

__all__ = ["TURN", "Film", "can_rest", "round_count"]

TURN = 5
"""Frames that a contestant plays before it is the next one's turn."""

_MOST_BYTES = 2**29  # of boxes a film; with a million objects it has fewer frames


def can_rest(scene: Scene) -> bool:
    """Tell if a scene can be made with a share of the objects moving."""
    options = {kind.name: kind.options for kind in kinds()}
    return scene.is_generated and "moving" in [option.name for option in options[scene.name]]


def round_count(scene: Scene, wanted: int | None) -> int:
    """Return how many rounds of frames a scene has, without the one that does not count.

    No more than `wanted`; None plays a recording to its end.
    """
    if scene.is_generated:
        most = _MOST_BYTES // (16 * scene.ndim * max(1, scene.n))
    else:
        most = scene.recording().frames
    rounds = (most - 1) // TURN - 1
    return rounds if wanted is None else min(wanted, rounds)


class Film:
    """The frames of a scene, made when they are first needed.

    Parameters
    ----------
    scene : Scene
        What is played.
    rounds : int
        How many rounds of frames are played, besides the one that does not count.
    share : float, optional
        Share of the objects that move in every frame; None: as the scene has it.
    """

    def __init__(self, scene: Scene, rounds: int, share: float | None = None) -> None:
        self.share = share
        self._rounds = rounds
        self._scene = scene
        self.changes: Callable[[int], Changes] = lru_cache(maxsize=TURN)(self._changes)
        self.frame: Callable[[int], Frame] = lru_cache(maxsize=TURN)(self._frame)

    @property
    def label(self) -> str:
        """The share in words, nothing when the scene has its own."""
        return "" if self.share is None else f"{self.share * 100:g} %"

    @cached_property
    def _recording(self) -> Recording:
        options = {} if self.share is None else {"moving": self.share}
        return self._scene.recording((self._rounds + 1) * TURN + 1, **options)

    def _changes(self, t: int) -> Changes:
        return self._recording.changes(t)

    def _frame(self, t: int) -> Frame:
        return self._recording.frame(t)

    def get_ready(self, t: int) -> None:
        """Make the frames of a turn before its first one, for all who play them.

        Not between two of them, nor in a step that is timed.
        """
        if t % TURN == 1:
            for each in range(t, t + TURN):
                self.changes(each)
                self.frame(each)

    def start(self, structure: Structure) -> Index:
        """Make an index of the first frame, that has been asked for its pairs."""
        index = structure.empty(self._scene.ndim)
        first = self.frame(0)
        index.insert(first.boxes, first.ids)
        index.pairs()
        return index

    def play(self, index: Index, t: int) -> Index:
        """Bring an index from the frame before to this one."""
        changes = self.changes(t)
        if len(changes.removed):
            index.remove(changes.removed)
        if len(changes.inserted.ids):
            index.insert(changes.inserted.boxes, changes.inserted.ids)
        if len(changes.moved.ids):
            index.update(changes.moved.ids, changes.moved.boxes)
        return index

    def pairs(self, t: int) -> NDArray[np.int64]:
        """Return what the oracle says of a frame."""
        frame = self.frame(t)
        return oracle.pairs(frame.ids, frame.boxes)
