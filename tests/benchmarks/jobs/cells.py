"""Cell sizes: is the edge that a grid chooses the right one, and what does choosing cost?

A grid without a cell size estimates the cost of several edges from a sample of the boxes. Here it
is measured instead: the same pairs with the edge it has chosen, given to it, and with edges
smaller and larger. *chosen* against *given* is what the choice takes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tests.benchmarks.jobs import common
from tests.benchmarks.jobs.pairs import of_structure
from tests.benchmarks.model import Figures, Group, Result, Task
from tests.benchmarks.scenes import scenes
from tests.benchmarks.structures import Structure, has_parameter, structures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.jobs.common import Case
    from tests.benchmarks.settings import Settings

__all__ = ["groups"]

_TIMES = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)  # of the edge chosen


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene and structure that has cells."""
    for scene in scenes(settings):
        case = common.Case(settings, scene, 0)
        for structure in structures(settings, scene.ndim):
            if has_parameter(structure, "cell_size"):
                yield Group(
                    "cells",
                    *(scene.name, scene.n, scene.ndim),
                    f"{structure.label}, cells of several sizes: insert + pairs from scratch",
                    partial(_tasks, structure, case),
                    baselines=(_label(structure, 1.0),),
                    oracle=common.all_pairs(case),
                    conclude=partial(_compared, structure),
                )


def _label(structure: Structure, times: float) -> str:
    return f"{structure.name} {times:g} times" if times != 1.0 else f"{structure.name} given"


def _tasks(structure: Structure, case: Case) -> list[Task]:
    edge = structure.edge(case.boxes)
    tasks = [of_structure(structure, case.boxes, 1, label=f"{structure.name} chosen")]
    for times in _TIMES:
        with_cells = replace(structure, parameters={"cell_size": edge * times})
        label = _label(structure, times)
        figures = {"edge": edge * times}
        tasks.append(
            of_structure(with_cells, case.boxes, 1, label=label, figures=partial(dict, figures))
        )
    return tasks


def _compared(structure: Structure, results: list[Result]) -> Figures:
    """Compare the edge that was chosen with the best of those measured."""
    medians = {result.task.label: result.median for result in results if result.median is not None}
    given = medians.get(_label(structure, 1.0))
    by_times = {times: medians.get(_label(structure, times)) for times in _TIMES}
    measured = {times: median for times, median in by_times.items() if median is not None}
    chosen = medians.get(f"{structure.name} chosen")
    if given is None or chosen is None:
        return {}
    best = min(measured, key=measured.__getitem__)
    return {
        "best edge, of the one chosen": best,
        "chosen edge to the best": given / measured[best],
        "choosing takes, of all": (chosen - given) / chosen,
    }
