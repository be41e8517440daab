"""Churn: objects come, move and go for a million operations; does memory stay where it was?

The operations come in batches, each of which removes some objects, inserts as many new ones and
moves as many others, and then asks a few questions, so that the structure takes the changes in. All
structures play the same batches. Memory is looked at after the first tenth, when everything has
been in use, and at the end.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tests.benchmarks.jobs import common
from tests.benchmarks.memory import resident
from tests.benchmarks.model import Figures, Group, Result, Step, Task
from tests.benchmarks.scenes import query_boxes, scenes
from tests.benchmarks.structures import structures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.scenes import Scene
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["groups"]

_OPERATIONS = 1_000_000
_QUICK_ROUNDS = 30
_SHARE = 0.02  # of the objects that a batch removes, inserts and moves, each
_QUERIES = 64


class _Batch(NamedTuple):
    removed: NDArray[np.int64]
    inserted: NDArray[np.int64]
    inserted_boxes: NDArray[np.float64]
    moved: NDArray[np.int64]
    moved_boxes: NDArray[np.float64]
    asked: NDArray[np.float64]


class _Churn:
    """Batches from a seed, each made from the one before."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self.size = max(1, int(scene.n * _SHARE))
        self._boxes = scene.boxes()
        self._seed = seed
        self._ids = np.arange(scene.n)
        self._highest = scene.n
        self._at = -1
        self.batch = lru_cache(maxsize=1)(self._next)

    def start(self, structure: Structure) -> Any:
        """Make an index of the scene."""
        return structure.of(self._boxes)

    def _next(self, at: int) -> _Batch:
        """Make the batch after the last one."""
        assert at == self._at + 1, "batches are made in order, once each"
        self._at = at
        rng = np.random.default_rng((self._seed, at))
        order = rng.permutation(len(self._ids))
        gone, moved = order[: self.size], order[self.size : 2 * self.size]
        removed = self._ids[gone]
        moved_ids = self._ids[moved]
        inserted = np.arange(self._highest, self._highest + self.size)
        self._highest += self.size
        self._ids[gone] = inserted
        rows = rng.integers(len(self._boxes), size=(2, self.size))
        asked = query_boxes(self._boxes, _QUERIES, at)
        boxes = self._boxes
        return _Batch(removed, inserted, boxes[rows[0]], moved_ids, boxes[rows[1]], asked)


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene."""
    for scene in scenes(settings):
        size = 3 * max(1, int(scene.n * _SHARE))
        rounds = _QUICK_ROUNDS if settings.is_quick else max(3, _OPERATIONS // size)
        looks: list[int | None] = []
        yield Group(
            "churn",
            *(scene.name, scene.n, scene.ndim),
            f"{rounds * size:,} operations in batches of {size:,}, {_QUERIES} queries after each",
            partial(_tasks, settings, scene, rounds, looks),
            part="operation",
            baselines=common.BASELINES,
            rounds=rounds,
            runs=1,
            is_moving=True,
            conclude=partial(_conclude, looks),
        )


def _tasks(settings: Settings, scene: Scene, rounds: int, looks: list[int | None]) -> list[Task]:
    churn = _Churn(scene, settings.seed)
    checked = {max(1, rounds // 10), rounds}

    def look(frame: int) -> None:
        if frame in checked and len(looks) < len(checked):
            looks.append(resident())

    chosen = structures(settings, scene.ndim)
    return [
        _task(structure, churn, checked, look if place == 0 else None)
        for place, structure in enumerate(chosen)
    ]


def _task(structure: Structure, churn: _Churn, checked: set[int], look: Any) -> Task:
    playing: list[Any] = []
    sizes: list[int] = []

    def prepare(frame: int) -> Any:
        if not playing:
            playing.append(churn.start(structure))
        if frame in checked:
            sizes.append(playing[0].nbytes)
            if look is not None:
                look(frame)
        return playing[0], churn.batch(frame)

    def change(state: Any) -> Any:
        index, batch = state
        index.remove(batch.removed)
        index.insert(batch.inserted_boxes, batch.inserted)
        index.update(batch.moved, batch.moved_boxes)
        return state

    def ask(state: Any) -> Any:
        index, batch = state
        return index.query(batch.asked)

    return Task(
        structure.label,
        (Step("change", change), Step("query", ask)),
        prepare=prepare,
        rows=common.itself,
        is_sorted=True,
        is_ours=True,
        parts=3 * churn.size,
        figures=lambda: _growth("nbytes", sizes),
    )


def _growth(what: str, sizes: list[Any]) -> Figures:
    """Return the first and the last size and their ratio."""
    if len(sizes) < 2 or not sizes[0] or not sizes[-1]:
        return {}
    first, last = sizes[0], sizes[-1]
    return {f"{what} at first": first, f"{what} at last": last, f"{what} growth": last / first}


def _conclude(looks: list[int | None], results: list[Result]) -> Figures:
    return _growth("resident bytes of the process", looks)
