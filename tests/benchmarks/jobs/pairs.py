"""Pairs from scratch: an index of all boxes, and everything that meets everything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.jobs import common
from tests.benchmarks.model import Group, Step, Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.jobs.common import Case
    from tests.benchmarks.peers import Peer
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["groups", "of_peer", "of_structure"]


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene; sorted pairs and unsorted ones are shown apart."""
    yield from common.groups(
        settings,
        "pairs",
        "insert + pairs from scratch",
        _ours,
        _theirs,
        ("pairs",),
        is_quadratic=True,
        right=common.all_pairs,
    )


def _ours(structure: Structure, case: Case) -> Iterator[Task]:
    for is_sorted in (True, False):
        yield of_structure(structure, case.boxes, case.settings.workers, is_sorted=is_sorted)


def _theirs(peer: Peer, case: Case) -> Iterator[Task]:
    yield of_peer(peer, case.boxes)


def of_structure(
    structure: Structure,
    boxes: NDArray[Any],
    workers: int,
    *,
    is_sorted: bool = True,
    **options: Any,
) -> Task:
    """Make the task of a structure: insert into an empty index, ask for pairs."""

    def insert(index: Any) -> Any:
        index.insert(boxes)
        return index

    return Task(
        **{"label": structure.label if is_sorted else f"{structure.label} unsorted", **options},
        steps=(
            Step("insert", insert),
            Step("pairs", lambda index: index.pairs(sort=is_sorted, workers=workers)),
        ),
        prepare=lambda frame: structure.empty(boxes.shape[1] // 2),
        rows=common.itself,
        is_sorted=is_sorted,
        is_ours=True,
        workers=workers,
    )


def of_peer(peer: Peer, boxes: NDArray[Any], **options: Any) -> Task:
    """Make the task of a peer: build a tree, ask for pairs."""
    given = peer.given(boxes)
    return Task(
        **{"label": peer.name, **options},
        steps=(Step("build", peer.build), Step("pairs", partial(peer.pairs, given=given))),
        prepare=lambda frame: given,
        rows=common.itself,
    )
