"""Worst cases: scenes and parameters that a structure is not made for, beside what is usual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.jobs import common
from tests.benchmarks.jobs.pairs import of_peer, of_structure
from tests.benchmarks.model import Figures, Group, Step, Task
from tests.benchmarks.peers import peers
from tests.benchmarks.scenes import Scene, scenes
from tests.benchmarks.structures import Structure, has_parameter, structures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.settings import Settings

__all__ = ["groups"]

_MOST_AT_ONE_POINT = 2_000  # two million pairs
_MOST_IN_ONE_CELL = 10_000  # fifty million meetings
_TIMES = {"cells far too small": 1 / 16, "cells far too large": 64.0}  # of a median longest edge

Make = Callable[["Settings", Scene], list[Task]]


def groups(settings: Settings) -> Iterator[Group]:
    """Make six groups a scene, the worst cases of its size."""
    cases: tuple[tuple[str, str, int, Make], ...] = (
        ("point", "everything at one point", _MOST_AT_ONE_POINT, _as_it_is),
        ("", "everything in one cell", _MOST_IN_ONE_CELL, _in_one_cell),
        ("planet", "a planet that meets everything, beside the scene without it", 0, _planet),
        ("", "cells far too small and far too large", _MOST_IN_ONE_CELL, _bad_cells),
        ("", "one axis crowded, beside the scene as it is", 0, _one_axis),
    )
    for scene in scenes(settings):
        for kind, what, most, make in cases:
            if not scene.is_generated:
                continue
            case = replace(scene, name=kind or scene.name, n=min(scene.n, most or scene.n))
            yield Group(
                "worst",
                *(case.name, case.n, case.ndim),
                f"{what}: insert + pairs from scratch",
                partial(make, settings, case),
                baselines=common.BASELINES,
            )
        if scene.is_generated:
            yield Group(
                "worst",
                *(scene.name, scene.n, scene.ndim),
                "everything changes sides, beside motion by a quarter of an edge: update + pairs",
                partial(_explosion, settings, scene),
                part="frame",
                baselines=common.BASELINES,
            )


def _figures(structure: Structure, boxes: NDArray[np.float64]) -> Figures:
    """Return what a structure holds and does."""
    index = structure.of(boxes)
    index.pairs()
    stats = index.stats()
    names = ("entries", "max_bucket", "wide", "candidates")
    return {name.replace("_", " "): getattr(stats, name) for name in names}


def _task(structure: Structure, boxes: NDArray[np.float64], **options: Any) -> Task:
    return of_structure(structure, boxes, 1, figures=partial(_figures, structure, boxes), **options)


def _as_it_is(settings: Settings, scene: Scene) -> list[Task]:
    boxes = scene.boxes()
    tasks = [_task(structure, boxes) for structure in _able(settings, scene)]
    return tasks + [of_peer(peer, boxes) for peer in peers(settings, scene.ndim, scene.n, "pairs")]


def _able(settings: Settings, scene: Scene) -> list[Structure]:
    return structures(settings, scene.ndim, scene.n, is_quadratic=True)


def _with_cells(structure: Structure, cell_size: float, note: str) -> Structure:
    return replace(structure, parameters={"cell_size": cell_size}, note=note)


def _in_one_cell(settings: Settings, scene: Scene) -> list[Task]:
    boxes = scene.boxes()
    lowest, highest = boxes.min(), boxes.max()
    inside = boxes - lowest  # the cell at the origin holds all of it
    tasks = []
    for structure in _able(settings, scene):
        tasks.append(_task(structure, inside, baseline=structure.label))
        if has_parameter(structure, "cell_size"):
            crowded = _with_cells(structure, 2 * float(highest - lowest), "one cell")
            tasks.append(_task(crowded, inside, baseline=structure.label))
    return tasks


def _edge(boxes: NDArray[np.float64], ndim: int) -> float:
    """Return the median longest edge."""
    return float(np.median((boxes[:, ndim:] - boxes[:, :ndim]).max(axis=1))) or 1.0


def _bad_cells(settings: Settings, scene: Scene) -> list[Task]:
    boxes = scene.boxes()
    edge = _edge(boxes, scene.ndim)
    tasks = []
    for structure in _able(settings, scene):
        if has_parameter(structure, "cell_size"):
            tasks.append(_task(structure, boxes, baseline=structure.label))
            for note, times in _TIMES.items():
                bad = _with_cells(structure, edge * times, note)
                tasks.append(_task(bad, boxes, baseline=structure.label))
    return tasks


def _one_axis(settings: Settings, scene: Scene) -> list[Task]:
    """Put all within an edge along the first axis, and as much farther apart along the others."""
    boxes = scene.boxes()
    ndim, edge = scene.ndim, _edge(boxes, scene.ndim)
    lower = boxes[:, :ndim] - boxes[:, :ndim].min(axis=0)
    squeeze = edge / max(float(lower[:, 0].max()), edge)
    scales = np.array([squeeze, *[squeeze ** (-1 / (ndim - 1))] * (ndim - 1)])
    moved = lower * scales
    crowded = np.hstack([moved, moved + boxes[:, ndim:] - boxes[:, :ndim]])
    return _beside(settings, scene, crowded, boxes, "as it is", "as it is")


def _beside(
    settings: Settings,
    scene: Scene,
    hard: NDArray[np.float64],
    usual: NDArray[np.float64],
    note: str,
    question: str,
) -> list[Task]:
    """Make tasks of hard boxes and of usual ones, which are called by `note`."""
    tasks = []
    for structure in _able(settings, scene):
        base = replace(structure, note=note)
        tasks.append(_task(structure, hard, baseline=base.label))
        tasks.append(_task(base, usual, baseline=base.label, question=question))
    for peer in peers(settings, scene.ndim, scene.n, "pairs"):
        label = f"{peer.name} {note}"
        tasks.append(of_peer(peer, hard, baseline=label))
        tasks.append(of_peer(peer, usual, label=label, baseline=label, question=question))
    return tasks


def _explosion(settings: Settings, scene: Scene) -> list[Task]:
    """Turn every order around in one frame: each object goes to the opposite side."""
    boxes, ndim = scene.boxes(), scene.ndim
    lowest, highest = boxes[:, :ndim].min(axis=0), boxes[:, ndim:].max(axis=0)
    opposite = np.hstack([lowest + highest - boxes[:, ndim:], lowest + highest - boxes[:, :ndim]])
    way = np.random.default_rng(settings.seed).uniform(-0.25, 0.25, (scene.n, ndim))
    near = boxes + np.tile(way * _edge(boxes, ndim), 2)
    tasks = []
    for structure in _able(settings, scene):
        usual = replace(structure, note="a quarter of an edge")
        tasks.append(_frame(structure, boxes, opposite, baseline=usual.label))
        tasks.append(_frame(usual, boxes, near, baseline=usual.label, question="near"))
    return tasks


def _frame(
    structure: Structure,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    **options: Any,
) -> Task:
    """Make the task of an index that knows its pairs, and whose objects all move."""

    def prepare(frame: int) -> Any:
        index = structure.of(before)
        index.pairs()
        return index

    def update(index: Any) -> Any:
        index.update(None, after)
        return index

    def figures() -> Figures:
        index = update(prepare(0))
        index.pairs()
        return {"candidates": index.stats().candidates}

    return Task(
        structure.label,
        (Step("update", update), Step("pairs", lambda index: index.pairs())),
        prepare=prepare,
        rows=common.itself,
        is_sorted=True,
        is_ours=True,
        figures=figures,
        **options,
    )


def _planet(settings: Settings, scene: Scene) -> list[Task]:
    without = replace(scene, name="uniform").boxes()
    return _beside(settings, scene, scene.boxes(), without, "without it", "without")
