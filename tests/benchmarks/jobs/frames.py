"""Frames: update and pairs, with some share of the objects moving.

Each structure keeps an index of its own for each share and plays the same frames; a peer, which
cannot update, builds anew from the boxes of each frame in which everything moves. In a recording
what moved, came and went is as recorded.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.film import TURN, Film, can_rest, round_count
from tests.benchmarks.jobs import common
from tests.benchmarks.model import Figures, Group, Result, Step, Task
from tests.benchmarks.peers import peers
from tests.benchmarks.scenes import scenes
from tests.benchmarks.structures import structures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.peers import Peer
    from tests.benchmarks.scenes import Scene
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["film_oracle", "groups", "played"]

_SHARES = (1.0, 0.1, 0.01, 0.0)
_ROUNDS = 5
_QUICK_ROUNDS = 1
_MOST_CHECKED = 20_000  # objects that the oracle checks in every frame


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene, with all shares in it; recordings are played to their end."""
    for scene in scenes(settings):
        shares = _SHARES if can_rest(scene) else (None,)
        wanted = max(_ROUNDS, settings.rounds) if scene.is_generated else None
        rounds = round_count(scene, _QUICK_ROUNDS if settings.is_quick else wanted)
        if rounds < 1:
            continue  # nothing moves, or there is no memory for it
        films = [Film(scene, rounds, share) for share in shares]
        yield Group(
            "frames",
            *(scene.name, scene.n, scene.ndim),
            "update + pairs of a frame",
            partial(_tasks, settings, scene, films),
            part="frame",
            baselines=(*common.BASELINES, "hash-grid 100 %"),
            rounds=rounds,
            runs=TURN,
            is_moving=True,
            oracle=film_oracle(films) if scene.n <= _MOST_CHECKED else None,
            conclude=_of_all_moving,
        )


def film_oracle(films: list[Film]) -> Callable[[Any, int], Any]:
    """Return the oracle of films; the question is the share that moves."""
    by_share = {film.share: film for film in films}
    return lambda share, frame: by_share[share].pairs(frame + 1)


def _tasks(settings: Settings, scene: Scene, films: list[Film]) -> list[Task]:
    tasks = [
        played(structure, film, settings.workers)
        for structure in structures(settings, scene.ndim, scene.n, is_quadratic=True)
        for film in films
    ]
    able = peers(settings, scene.ndim, scene.n, "pairs")
    return tasks + [_built_anew(peer, films[0]) for peer in able]


def played(
    structure: Structure,
    film: Film,
    workers: int,
    *,
    note: str = "",
    force: Callable[[Any], None] | None = None,
    **options: Any,
) -> Task:
    """Make the task of a structure that plays a film; `force` is called with its index first."""
    playing: list[Any] = []

    def prepare(frame: int) -> Any:
        if not playing:
            playing.append(film.start(structure))
            if force is not None:
                force(playing[0])
        film.get_ready(frame + 1)
        return playing[0], frame + 1

    return Task(
        " ".join(filter(None, (structure.label, film.label, note))),
        (
            Step("update", lambda state: film.play(*state)),
            Step("pairs", lambda index: index.pairs(workers=workers)),
        ),
        prepare=prepare,
        rows=common.itself,
        question=film.share,
        is_sorted=True,
        is_ours=True,
        workers=workers,
        **options,
    )


def _built_anew(peer: Peer, film: Film) -> Task:
    """Make the task of a peer, which sees the boxes of a frame and nothing of the one before."""
    seen: list[Any] = [None, None]  # the frame, and its boxes in the peer's form

    def prepare(frame: int) -> Any:
        film.get_ready(frame + 1)
        seen[:] = film.frame(frame + 1), peer.given(film.frame(frame + 1).boxes)
        return seen[1]

    return Task(
        peer.name,
        (Step("update", peer.build), Step("pairs", lambda tree: peer.pairs(tree, seen[1]))),
        prepare=prepare,
        rows=lambda rows: seen[0].ids[rows],
        question=film.share,
    )


def _of_all_moving(results: list[Result]) -> Figures:
    """Compare each structure with itself when everything moves."""
    medians = {result.task.label: result.median for result in results}
    figures: dict[str, float] = {}
    for label, median in medians.items():
        whole = medians.get(f"{label.rsplit(' ', 2)[0]} 100 %")
        if median is not None and whole and not label.endswith(" 100 %"):
            figures[f"{label} of all moving"] = median / whole
    return figures
