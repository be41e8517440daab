"""Threads: what a second one is worth."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.jobs import common, nearest
from tests.benchmarks.jobs.common import Case
from tests.benchmarks.jobs.query import batch_of
from tests.benchmarks.jobs.rays import Rays, first_hits_of, right_first
from tests.benchmarks.model import Group, Step, Task
from tests.benchmarks.scenes import scenes
from tests.benchmarks.structures import structures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["groups"]

_QUESTIONS = 100_000


def groups(settings: Settings) -> Iterator[Group]:
    """Make five groups a scene: pairs with and without building, boxes, points and rays."""
    count = settings.count(_QUESTIONS)
    many = max(2, settings.workers)
    for scene in scenes(settings):
        boxes = Case(settings, scene, count)
        points, rays = nearest.Near(settings, scene, count), Rays(settings, scene, count)
        for what, make, case, right in (
            (
                "insert + pairs from scratch",
                *(partial(_pairs, from_scratch=True), boxes, common.all_pairs),
            ),
            (
                "pairs of an index that is up to date, none kept",
                *(partial(_pairs, from_scratch=False), boxes, common.all_pairs),
            ),
            (f"{count:,} boxes in one call", _queries, boxes, common.all_queries),
            (f"what is nearest to {count:,} points", _nearest, points, nearest.right),
            (f"the first hit of {count:,} rays", _first_hits, rays, right_first),
        ):
            yield Group(
                "workers",
                *(scene.name, scene.n, scene.ndim),
                f"{what}, with 1 and with {many} threads",
                partial(_tasks, make, case, many),
                oracle=right(case),
            )


def _tasks(make: Callable[..., Iterator[Task]], case: Case, many: int) -> list[Task]:
    able = structures(case.settings, case.scene.ndim, case.scene.n, is_quadratic=True)
    return [task for structure in able for task in make(structure, case, many)]


def _labels(structure: Structure, many: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for workers in (1, many):
        label = f"{structure.label}, workers={workers}"
        options = {"label": label, "baseline": f"{structure.label}, workers=1"}
        yield workers, options | {"workers": workers}


def _pairs(structure: Structure, case: Case, many: int, *, from_scratch: bool) -> Iterator[Task]:
    def insert(index: Any) -> Any:
        index.insert(case.boxes)
        return index

    def prepare(frame: int) -> Any:
        return structure.empty(case.scene.ndim) if from_scratch else structure.of(case.boxes)

    def pairs_with(workers: int) -> Step:
        return Step("pairs", lambda index: index.pairs(workers=workers))

    for workers, options in _labels(structure, many):
        pairs = pairs_with(workers)
        yield Task(
            steps=(Step("insert", insert), pairs) if from_scratch else (pairs,),
            prepare=prepare,
            rows=common.itself,
            is_sorted=True,
            is_ours=True,
            **options,
        )


def _queries(structure: Structure, case: Case, many: int) -> Iterator[Task]:
    index = structure.of(case.boxes)
    for _, options in _labels(structure, many):
        yield batch_of(structure, case, index, is_sorted=True, **options)


def _nearest(structure: Structure, case: nearest.Near, many: int) -> Iterator[Task]:
    index = structure.of(case.boxes)
    for _, options in _labels(structure, many):
        yield nearest.nearest_of(case, index, **options)


def _first_hits(structure: Structure, case: Rays, many: int) -> Iterator[Task]:
    index = structure.of(case.boxes)
    for _, options in _labels(structure, many):
        yield first_hits_of(case, index, **options)
