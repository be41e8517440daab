"""Decay: after a thousand frames of motion and churn, are questions as fast as after a fresh build?

In every frame a tenth of the objects drift on, each its own way, a hundredth go and as many come,
and a few questions are asked, so that the structure takes the changes in. Then the same batch of
queries is asked of the index that has been through all of it and of a new one that is given the
same boxes. The frames are not timed; `frames` and `churn` do that. Memory is looked at after the
first tenth, when everything has been in use, and at the end.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import oracle
from tests.benchmarks.jobs import common
from tests.benchmarks.memory import resident
from tests.benchmarks.model import Figures, Group, Step, Task
from tests.benchmarks.scenes import query_boxes, scenes
from tests.benchmarks.structures import bring_up_to_date, structures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.scenes import Scene
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["groups"]

_FRAMES = 1_000
_QUICK_FRAMES = 30
_MOVING = 0.1  # of the objects
_CHURN = 0.01  # of the objects, in every frame
_STEP = 0.1  # median edges that an object drifts in a frame
_ASKED = 64  # boxes, in every frame
_QUERIES = 10_000


class _Life:
    """What happens to a scene, the same whoever lives through it.

    Objects that come have the boxes of objects of the first frame and ids that were never used.
    """

    def __init__(self, scene: Scene, seed: int, frames: int, queries: int) -> None:
        self.frames = frames
        self._scene, self._seed, self._queries = scene, seed, queries

    @cached_property
    def first(self) -> NDArray[np.float64]:
        """Boxes of the first frame; ids are their rows."""
        return self._scene.boxes()

    @cached_property
    def end(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Ids and boxes of the last frame."""
        *_, (ids, boxes) = self._lives(None)
        return ids, boxes

    @cached_property
    def asked(self) -> NDArray[np.float64]:
        """Boxes to ask with at the end."""
        return query_boxes(self.end[1], self._queries, self._seed)

    def right(self, question: Any, frame: int) -> NDArray[np.int64]:
        """Return what plain NumPy says of the end."""
        ids, boxes = self.end
        return oracle.query(ids, boxes, None, self.asked)

    def live(self, index: Any) -> Iterator[None]:
        """Lead an index of the first frame through all of them."""
        for _ in self._lives(index):
            yield

    def _lives(self, index: Any) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Yield ids and boxes after each frame."""
        rng = np.random.default_rng((self._seed, 4))
        boxes, ids = self.first.copy(), np.arange(len(self.first))
        n, ndim = len(boxes), boxes.shape[1] // 2
        moved, gone = max(1, int(n * _MOVING)), max(1, int(n * _CHURN))
        edge = float(np.median(boxes[:, ndim:] - boxes[:, :ndim])) or 1.0
        ways = rng.normal(0.0, _STEP * edge, (n, ndim))
        for frame in range(self.frames):
            rows = rng.permutation(n)[:gone]
            moving = rng.permutation(n)[:moved]
            came = self.first[rng.integers(n, size=gone)]
            old, new = ids[rows].copy(), np.arange(n + frame * gone, n + (frame + 1) * gone)
            ids[rows], boxes[rows] = new, came
            boxes[moving] += np.tile(ways[moving], 2)
            asked = query_boxes(self.first, _ASKED, frame)
            if index is not None:
                index.remove(old)
                index.insert(came, new)
                index.update(ids[moving], boxes[moving])
                index.query(asked)
            yield ids, boxes


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene."""
    frames = _QUICK_FRAMES if settings.is_quick else _FRAMES
    count = settings.count(_QUERIES)
    for scene in scenes(settings):
        life = _Life(scene, settings.seed, frames, count)
        yield Group(
            "decay",
            *(scene.name, scene.n, scene.ndim),
            f"{count:,} boxes in one call, after {frames:,} frames and after a fresh build",
            partial(_tasks, settings, scene, life),
            oracle=life.right,
        )


def _tasks(settings: Settings, scene: Scene, life: _Life) -> list[Task]:
    workers = settings.workers
    return [
        task
        for structure in structures(settings, scene.ndim, scene.n)
        for task in (_fresh(structure, life, workers), _old(structure, life, workers))
    ]


def _fresh(structure: Structure, life: _Life, workers: int) -> Task:
    index = structure.empty(life.first.shape[1] // 2)
    ids, boxes = life.end
    index.insert(boxes, ids)
    bring_up_to_date(index)
    label = f"{structure.label} fresh"
    return _task(label, index, life, workers, baseline=label)


def _old(structure: Structure, life: _Life, workers: int) -> Task:
    index = structure.of(life.first)
    sizes: list[int] = []
    looks: list[int | None] = []
    for frame, _ in enumerate(life.live(index), 1):
        if frame in (max(1, life.frames // 10), life.frames):
            sizes.append(index.nbytes)
            looks.append(resident())

    def figures() -> Figures:
        stats = index.stats()
        found: dict[str, float | int | None] = {
            "nbytes at first": sizes[0],
            "nbytes at last": sizes[-1],
            "nbytes growth": sizes[-1] / sizes[0],
            "rebuilds": stats.rebuilds,
            "quality": stats.quality,
        }
        first, last = looks[0], looks[-1]
        if first is not None and last is not None:
            found["resident growth"] = last / first
        return found

    options = {"baseline": f"{structure.label} fresh", "figures": figures}
    return _task(structure.label, index, life, workers, **options)


def _task(label: str, index: Any, life: _Life, workers: int, **options: Any) -> Task:
    return Task(
        label,
        (Step("query", partial(index.query, workers=workers)),),
        prepare=lambda frame: life.asked,
        rows=common.itself,
        is_sorted=True,
        is_ours=True,
        workers=workers,
        **options,
    )
