"""Building: from boxes to an index that answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.benchmarks.jobs import common
from tests.benchmarks.model import Group, Step, Task
from tests.benchmarks.structures import Structure, bring_up_to_date, has_parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.jobs.common import Case
    from tests.benchmarks.peers import Peer
    from tests.benchmarks.settings import Settings

__all__ = ["groups"]

_CHECKS = 1_000  # queries that show that what was built is right


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene."""
    yield from common.groups(
        settings,
        "build",
        "build until the first question can be answered",
        _ours,
        _theirs,
        ("query",),
        count=settings.count(_CHECKS),
    )


def _ours(structure: Structure, case: Case) -> Iterator[Task]:
    yield _build(structure, case)
    if has_parameter(structure, "build"):  # for what is built more often than asked
        yield _build(Structure(structure.name, {"build": "morton"}, note="morton"), case)


def _build(structure: Structure, case: Case) -> Task:
    def insert(index: Any) -> Any:
        index.insert(case.boxes)
        return index

    def build(index: Any) -> Any:
        bring_up_to_date(index)
        return index

    return Task(
        structure.label,
        (Step("insert", insert), Step("build", build)),
        prepare=lambda frame: structure.empty(case.scene.ndim),
        rows=lambda index: index.query(case.asked),
        is_ours=True,
    )


def _theirs(peer: Peer, case: Case) -> Iterator[Task]:
    given, asked = peer.given(case.boxes), peer.given(case.asked)
    yield Task(
        peer.name,
        (Step("build", peer.build),),
        prepare=lambda frame: given,
        rows=lambda tree: peer.rows(peer.query(tree, asked)),
    )
