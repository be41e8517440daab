"""Changes one object at a time, from Python: what an index that collects changes has to bear."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.jobs import common
from tests.benchmarks.model import Group, Step, Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.jobs.common import Case
    from tests.benchmarks.peers import Peer
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["insert_groups", "remove_groups"]

_ASKED_BETWEEN = 10  # one in so many is inserted with a question after each


def insert_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene: inserts one by one, then pairs."""
    yield from common.groups(
        settings,
        "inserts",
        "insert one object a call, then pairs",
        _ours_inserted,
        _theirs_inserted,
        ("empty",),
        is_quadratic=True,
        right=common.all_pairs,
        part="object",
        baselines=("hash-grid", "brute-force"),
    )


def remove_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene: half of the objects removed one by one, then pairs of the others."""
    yield from common.groups(
        settings,
        "removals",
        "remove one object a call, half of them, then pairs",
        _ours_removed,
        _theirs_removed,
        ("empty",),
        is_quadratic=True,
        right=lambda case: None,
        part="object",
        baselines=("hash-grid", "brute-force"),
    )


def _pairs(structure: Structure, note: str, steps: tuple[Step, ...], **options: Any) -> Task:
    """Make a task of a structure that ends with asking for pairs."""
    return Task(
        " ".join(filter(None, (structure.label, note))),
        (*steps, Step("pairs", lambda index: index.pairs())),
        rows=common.itself,
        is_sorted=True,
        is_ours=True,
        **options,
    )


def _ours_inserted(structure: Structure, case: Case) -> Iterator[Task]:
    n = len(case.boxes)
    rows, few = case.boxes.tolist(), n // _ASKED_BETWEEN
    ask = rows[0]

    def one_by_one(index: Any) -> Any:
        for box in rows:
            index.insert(box)
        return index

    def asked_between(index: Any) -> Any:
        for box in rows[n - few :]:
            index.insert(box)
            index.query(ask)
        return index

    def at_once(index: Any) -> Any:
        index.insert(case.boxes)
        return index

    def empty(frame: int) -> Any:
        return structure.empty(case.scene.ndim)

    def nearly_all(frame: int) -> Any:
        return structure.of(case.boxes[: n - few])

    yield _pairs(structure, "", (Step("insert", one_by_one),), prepare=empty, parts=n)
    yield _pairs(structure, "at once", (Step("insert", at_once),), prepare=empty, parts=n)
    yield _pairs(
        structure,
        "asked between",
        (Step("insert", asked_between),),
        prepare=nearly_all,
        parts=max(1, few),
    )


def _theirs_inserted(peer: Peer, case: Case) -> Iterator[Task]:
    rows, given = case.boxes.tolist(), peer.given(case.boxes)

    def one_by_one(tree: Any) -> Any:
        for row, box in enumerate(rows):
            tree.insert(row, box)
        return tree

    yield Task(
        peer.name,
        (Step("insert", one_by_one), Step("pairs", partial(peer.pairs, given=given))),
        prepare=lambda frame: peer.empty(case.scene.ndim),
        rows=common.itself,
        parts=len(rows),
    )


def _half(case: Case) -> list[int]:
    """Return the rows that are removed, in random order."""
    rng = np.random.default_rng(case.settings.seed)
    gone: list[int] = rng.permutation(len(case.boxes))[: len(case.boxes) // 2].tolist()
    return gone


def _ours_removed(structure: Structure, case: Case) -> Iterator[Task]:
    gone = _half(case)

    def one_by_one(index: Any) -> Any:
        for id_ in gone:
            index.remove(id_)
        return index

    def at_once(index: Any) -> Any:
        index.remove(gone)
        return index

    def built(frame: int) -> Any:
        return structure.of(case.boxes)

    for note, remove in (("", one_by_one), ("at once", at_once)):
        yield _pairs(structure, note, (Step("remove", remove),), prepare=built, parts=len(gone))


def _theirs_removed(peer: Peer, case: Case) -> Iterator[Task]:
    gone, given = _half(case), peer.given(case.boxes)
    leaving = [(row, case.boxes[row].tolist()) for row in gone]
    left = np.setdiff1d(np.arange(len(case.boxes)), gone)
    asked = peer.given(case.boxes[left])

    def one_by_one(tree: Any) -> Any:
        for row, box in leaving:
            tree.delete(row, box)
        return tree

    def pairs(tree: Any) -> Any:
        first, second = peer.query(tree, asked)
        rows = left[first]
        kept = rows < second
        return np.column_stack((rows[kept], second[kept]))

    yield Task(
        peer.name,
        (Step("remove", one_by_one), Step("pairs", pairs)),
        prepare=lambda frame: peer.build(given),
        rows=common.itself,
        parts=len(gone),
    )
