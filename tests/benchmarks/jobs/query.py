"""Range queries of an index that is built: many boxes in a call, and one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.answers import listed
from tests.benchmarks.jobs import common
from tests.benchmarks.model import Group, Step, Task
from tests.benchmarks.peers import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.benchmarks.jobs.common import Case
    from tests.benchmarks.peers import Peer
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["batch_of", "groups", "single_groups"]

_QUERIES = 10_000
_SINGLES = 1_000


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene; sorted answers and unsorted ones are shown apart."""
    count = settings.count(_QUERIES)
    yield from common.groups(
        settings,
        "query",
        f"{count:,} boxes in one call",
        _ours,
        _theirs,
        ("query",),
        count=count,
    )


def single_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene."""
    count = settings.count(_SINGLES)
    yield from common.groups(
        settings,
        "single",
        f"one box a call from Python, {count:,} calls",
        _ours_single,
        _theirs_single,
        ("one",),
        count=count,
        part="query",
    )


def batch_of(
    structure: Structure, case: Case, index: Any, *, workers: int, is_sorted: bool, **options: Any
) -> Task:
    """Make the task of asking a built index with all boxes at once."""
    ask = partial(index.query, sort=is_sorted, workers=workers)
    return Task(
        **{"label": structure.label if is_sorted else f"{structure.label} unsorted", **options},
        steps=(Step("query", ask),),
        prepare=lambda frame: case.asked,
        rows=common.itself,
        is_sorted=is_sorted,
        is_ours=True,
        workers=workers,
    )


def _ours(structure: Structure, case: Case) -> Iterator[Task]:
    index = structure.of(case.boxes)
    for is_sorted in (True, False):
        yield batch_of(structure, case, index, workers=case.settings.workers, is_sorted=is_sorted)


def _theirs(peer: Peer, case: Case) -> Iterator[Task]:
    given = peer.given(case.asked)
    yield Task(
        peer.name,
        (Step("query", partial(peer.query, peer.build(peer.given(case.boxes)))),),
        prepare=lambda frame: given,
        rows=peer.rows,
    )


def _ours_single(structure: Structure, case: Case) -> Iterator[Task]:
    query = structure.of(case.boxes).query
    yield _single(structure.label, query, case.asked.tolist(), is_ours=True)
    yield _single(f"{structure.label} arrays", query, list(case.asked), is_ours=True)


def _theirs_single(peer: Peer, case: Case) -> Iterator[Task]:
    tree = peer.build(peer.given(case.boxes))
    yield _single(peer.name, peer.one(tree), case.asked.tolist())
    if answers(peer, "one_given"):
        yield _single(f"{peer.name} made boxes", peer.one_given(tree), peer.given(case.asked))


def _single(
    label: str, ask: Callable[[Any], Any], asked: Sequence[Any], *, is_ours: bool = False
) -> Task:
    """Make the task of asking one after the other, with lists of floats or whatever is given."""
    return Task(
        label,
        (Step("query", lambda boxes: [ask(box) for box in boxes]),),
        prepare=lambda frame: asked,
        rows=listed,
        is_ours=is_ours,
        parts=len(asked),
    )
