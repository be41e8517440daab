"""What jobs have in common: a group a scene, in it all structures and all peers that answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import oracle
from tests.benchmarks.model import Group, Task
from tests.benchmarks.peers import peers
from tests.benchmarks.scenes import query_boxes, scenes
from tests.benchmarks.structures import structures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.peers import Peer
    from tests.benchmarks.scenes import Scene
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["BASELINES", "Case", "all_pairs", "all_queries", "groups", "is_affordable", "itself"]

BASELINES = ("shapely", "rtree", "scipy", "hash-grid")
"""What times are compared with: the first of them that takes part."""

_MOST_PAIRED = 20_000  # objects whose pairs the oracle finds in less than a second
_MOST_ASKED = 2 * 10**8  # objects times queries, likewise


@dataclass(frozen=True)
class Case:
    """A scene, and boxes to ask with; both are made when they are first needed."""

    settings: Settings
    scene: Scene
    count: int
    """Queries."""

    @cached_property
    def boxes(self) -> NDArray[np.float64]:
        """Boxes of the objects, whose ids are their rows."""
        return self.scene.boxes()

    @cached_property
    def asked(self) -> NDArray[np.float64]:
        """Boxes to ask with."""
        return query_boxes(self.boxes, self.count, self.settings.seed)


def itself(rows: Any) -> Any:
    """Return an answer that is rows already."""
    return rows


def all_pairs(case: Case) -> Callable[[Any, int], Any] | None:
    """Return what finds the pairs in plain NumPy, where that is affordable."""
    if case.scene.n > _MOST_PAIRED:
        return None
    return lambda question, frame: oracle.pairs(np.arange(len(case.boxes)), case.boxes)


def is_affordable(case: Case) -> bool:
    """Tell if plain NumPy may look at every object for every query."""
    return case.scene.n * case.count <= _MOST_ASKED


def all_queries(case: Case) -> Callable[[Any, int], Any] | None:
    """Return what answers the queries in plain NumPy, where that is affordable."""
    if not is_affordable(case):
        return None
    return lambda question, frame: oracle.query(
        np.arange(len(case.boxes)), case.boxes, None, case.asked
    )


def groups(
    settings: Settings,
    job: str,
    what: str,
    ours: Callable[[Structure, Any], Iterable[Task]],
    theirs: Callable[[Peer, Any], Iterable[Task]],
    methods: tuple[str, ...],
    *,
    count: int = 0,
    is_quadratic: bool = False,
    right: Callable[[Any], Callable[[Any, int], Any] | None] = all_queries,
    case_type: type[Case] = Case,
    **options: Any,
) -> Iterator[Group]:
    """Make a group a scene.

    Parameters
    ----------
    settings : Settings
        What was asked for.
    job, what : str
        Name of the job and what it times.
    ours, theirs : callable
        Make the tasks of a structure, and those of a peer.
    methods : tuple of str
        What a peer has to have.
    count : int
        Queries.
    is_quadratic : bool
        Whether brute force is to stay away from many objects.
    right : callable
        Makes the oracle of a case.
    case_type : type
        What a scene and what is asked of it are kept in.
    **options
        Fields of the groups.
    """
    for scene in scenes(settings):
        case = case_type(settings, scene, count)

        def tasks(case: Case) -> list[Task]:
            scene = case.scene
            able = structures(settings, scene.ndim, scene.n, is_quadratic=is_quadratic)
            made = [task for structure in able for task in ours(structure, case)]
            for peer in peers(settings, scene.ndim, scene.n, *methods):
                made += theirs(peer, case)
            return made

        yield Group(
            job,
            *(scene.name, scene.n, scene.ndim),
            what,
            partial(tasks, case),
            oracle=right(case),
            **{"baselines": BASELINES, **options},
        )
