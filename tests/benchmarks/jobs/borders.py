"""Borders between two ways of doing the same: where constants of the structures come from.

*kept*: after a share of the objects has moved, pairs are the kept ones less those of the moved
objects plus what these touch now, or they are found from scratch. A structure's `kept_share` says
up to which share the former is done. *bulk*: a structure changes the memberships of what moved, or
builds anew or changes everything in one pass; its `bulk_share` is the border. *sweep*: it goes to
the places of each object that moved, and asks with each, or passes over everything once; its
`sweep_share` is the border. Here both ways are forced, in alternation, at several shares, and the
border is read off where the two cost the same.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tests.benchmarks.film import TURN, Film, can_rest, round_count
from tests.benchmarks.jobs.frames import film_oracle, played
from tests.benchmarks.model import Figures, Group, Result, Step, Task
from tests.benchmarks.scenes import query_boxes, scenes
from tests.benchmarks.structures import bring_up_to_date, structures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["bulk_groups", "kept_groups", "sweep_groups"]

_KEPT_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_SWEEP_SHARES = (0.003, 0.01, 0.02, 0.03, 0.05, 0.1)
_BULK_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0)
_ROUNDS = 5
_QUICK_ROUNDS = 1
_CHECKS = 200  # queries that show that memberships are right
_MOST_CHECKED = 20_000
_ALWAYS, _NEVER = math.inf, -1.0


def kept_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene and structure: kept pairs against pairs from scratch."""
    yield from _groups(settings, "kept", "kept_share", "kept", "from scratch", _KEPT_SHARES, _kept)


def bulk_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene and structure: changing memberships against building anew."""
    yield from _groups(settings, "bulk", "bulk_share", "changed", "built anew", _BULK_SHARES, _bulk)


def sweep_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene and structure: one by one against one pass over everything."""
    shares = _SWEEP_SHARES
    yield from _groups(settings, "sweep", "sweep_share", "one by one", "swept", shares, _kept)


def _groups(
    settings: Settings,
    job: str,
    attribute: str,
    few: str,
    many: str,
    shares: tuple[float, ...],
    make: Callable[..., Task],
) -> Iterator[Group]:
    """Make the groups of one border: `few` names the way for few changes, `many` the other."""
    wanted = _QUICK_ROUNDS if settings.is_quick else max(_ROUNDS, settings.rounds)
    shares = shares[::3] if settings.is_quick else shares
    for scene in scenes(settings):
        rounds = min(wanted, round_count(scene, wanted)) if can_rest(scene) else 0
        if rounds < 1:
            continue
        for structure in structures(settings, scene.ndim, scene.n, is_quadratic=True):
            if not hasattr(_inside(structure.empty(scene.ndim)), attribute):
                continue
            steps = "update" if job == "bulk" else "update + pairs"
            films = [Film(scene, rounds, share) for share in shares]
            yield Group(
                job,
                *(scene.name, scene.n, scene.ndim),
                f"{structure.label}: {few} or {many}, {steps} of a frame",
                partial(_tasks, structure, films, attribute, (few, many), make),
                part="frame",
                rounds=rounds,
                runs=TURN,
                is_moving=True,
                oracle=film_oracle(films) if job != "bulk" and scene.n <= _MOST_CHECKED else None,
                conclude=partial(_border, structure, scene.ndim, attribute, (few, many), films),
            )


def _inside(index: Any) -> Any:
    """Return the structure in an index, whose constants are its attributes."""
    return index._structure


def _tasks(
    structure: Structure,
    films: list[Film],
    attribute: str,
    ways: tuple[str, str],
    make: Callable[..., Task],
) -> list[Task]:
    def force(value: float, index: Any) -> None:
        setattr(_inside(index), attribute, value)

    few, many = ways
    return [
        make(
            structure,
            film,
            note=note,
            force=partial(force, value),
            baseline=f"{structure.label} {film.label} {many}",
        )
        for film in films
        for note, value in ((few, _ALWAYS), (many, _NEVER))
    ]


def _kept(structure: Structure, film: Film, **options: Any) -> Task:
    return played(structure, film, 1, **options)


def _bulk(structure: Structure, film: Film, **options: Any) -> Task:
    """Make a task that updates, until questions can be answered."""
    asked = query_boxes(film.frame(0).boxes, _CHECKS, 0)

    def update(state: Any) -> Any:
        index = film.play(*state)
        bring_up_to_date(index)
        return index

    task = played(structure, film, 1, **options)
    return replace(task, steps=(Step("update", update),), rows=lambda index: index.query(asked))


def _border(
    structure: Structure,
    ndim: int,
    attribute: str,
    ways: tuple[str, str],
    films: list[Film],
    results: list[Result],
) -> Figures:
    """Read off the share at which both ways cost the same, between the shares measured."""
    medians = {result.task.label: result.median for result in results}
    shares: list[tuple[float, float]] = []
    for film in films:
        few, many = (medians[f"{structure.label} {film.label} {way}"] for way in ways)
        if few and many and film.share is not None:
            shares.append((film.share, few / many))
    used = getattr(_inside(structure.empty(ndim)), attribute)
    return {f"{ways[0]} pays up to a share of": _crossing(shares), f"{attribute} is": used}


def _crossing(shares: list[tuple[float, float]]) -> float | str:
    """Return where ratios, by ascending share, go beyond 1 for the last time."""
    if not shares or shares[-1][1] <= 1:
        return "more than was measured"
    for (low, before), (high, after) in reversed(list(pairwise(shares))):
        if before <= 1 < after:
            return low + (high - low) * (1 - before) / (after - before)
    return "less than was measured"
