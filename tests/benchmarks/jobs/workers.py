"""Threads: what a second one is worth.

In every group, pure arithmetic is timed along with the structures. It shares nothing but the
processor, so it tells what the machine gives at that time: where others compute on the second core,
two threads are not worth two whatever a library does.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any

from spatialindex.execution import run_chunks
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
_PIECES = 64  # of arithmetic, some 20 ms altogether
_NEAR = bytes(2**14)  # which are in the nearest cache


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
    tasks = [task for structure in able for task in make(structure, case, many)]
    return tasks + list(_arithmetic(many))


def _labels(name: str, many: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for workers in (1, many):
        label, baseline = f"{name}, workers={workers}", f"{name}, workers=1"
        yield workers, {"label": label, "baseline": baseline, "workers": workers}


def _arithmetic(many: int) -> Iterator[Task]:
    def work(start: int, stop: int) -> None:
        for _ in range(start, stop):
            digest = hashlib.blake2b()
            for _ in range(20):
                digest.update(_NEAR)  # without the interpreter's lock

    for workers, options in _labels("pure arithmetic", many):
        run = partial(run_chunks, work, _PIECES, workers, 1)
        yield Task(steps=(Step("arithmetic", lambda _, run=run: run()),), **options)


def _pairs(structure: Structure, case: Case, many: int, *, from_scratch: bool) -> Iterator[Task]:
    def insert(index: Any) -> Any:
        index.insert(case.boxes)
        return index

    def prepare(frame: int) -> Any:
        return structure.empty(case.scene.ndim) if from_scratch else structure.of(case.boxes)

    def pairs_with(workers: int) -> Step:
        return Step("pairs", lambda index: index.pairs(workers=workers))

    for workers, options in _labels(structure.label, many):
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
    for _, options in _labels(structure.label, many):
        yield batch_of(structure, case, index, is_sorted=True, **options)


def _nearest(structure: Structure, case: nearest.Near, many: int) -> Iterator[Task]:
    index = structure.of(case.boxes)
    for _, options in _labels(structure.label, many):
        yield nearest.nearest_of(case, index, **options)


def _first_hits(structure: Structure, case: Rays, many: int) -> Iterator[Task]:
    index = structure.of(case.boxes)
    for _, options in _labels(structure.label, many):
        yield first_hits_of(case, index, **options)
