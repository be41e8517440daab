"""Ids and batches: what is refused, that refusing changes nothing, which ids are given out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import STATE_DTYPE
from spatialindex.errors import (
    DuplicateIdError,
    InvalidArgumentError,
    InvalidBoxError,
    UnknownIdError,
)
from spatialindex.testing.samples import lattice_boxes
from spatialindex.testing.twin import COPIES, Twin

if TYPE_CHECKING:
    from typing import Any

    from spatialindex.testing.twin import Factory

NAN, INF = float("nan"), float("inf")


def _filled(factory: Factory, ndim: int) -> Twin:
    """Return ten objects with ids 0, 3, …, 27."""
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(np.random.default_rng(31), 10, ndim), np.arange(10) * 3)
    twin.pairs()
    return twin


def check_bad_boxes_are_refused(factory: Factory, ndim: int) -> None:
    """NaN, infinity, inverted bounds and wrong shapes, at any place; the row is named."""
    twin = _filled(factory, ndim)
    good = lattice_boxes(np.random.default_rng(32), 4, ndim)
    for row in (0, 2, 3):
        for column in range(2 * ndim):
            for value in (NAN, INF, -INF):
                bad = good.copy()
                bad[row, column] = value
                says = f"boxes[{row}]"
                twin.refuses(InvalidBoxError, "insert", bad, says=says)
                twin.refuses(InvalidBoxError, "insert", bad, [1, 2, 4, 5], says=says)
                twin.refuses(InvalidBoxError, "update", [9, 0, 3, 6], bad, says=says)
                twin.refuses(InvalidBoxError, "insert", bad[row])
                twin.refuses(InvalidBoxError, "update", 3, bad[row])
        for axis in range(ndim):
            bad = good.copy()
            bad[row, axis] = bad[row, ndim + axis] + 0.5
            twin.refuses(InvalidBoxError, "insert", bad, says=f"boxes[{row}]: lower")
            twin.refuses(InvalidBoxError, "update", [9, 0, 3, 6], bad, says=f"boxes[{row}]: lower")
    wrong: list[Any] = [
        np.zeros((2, 2 * (5 - ndim))),
        np.zeros((3, ndim)),
        np.zeros((1, 2, 2 * ndim, 2)),
        3.0,
        [["a"] * (2 * ndim)],
        [[None] * (2 * ndim)],
        np.zeros((2, 2 * ndim), complex),
        [[2**53 + 1] * (2 * ndim)],
    ]
    for boxes in wrong:
        twin.refuses(InvalidBoxError, "insert", boxes)
        twin.refuses(InvalidBoxError, "query", boxes)
    # a good batch after all the bad ones gets the ids that none of them used up
    assert twin.insert(good).tolist() == [28, 29, 30, 31]
    twin.check()


def check_bad_questions_are_refused(factory: Factory, ndim: int) -> None:
    """NaN, inverted boxes, negative radii and unknown words, without a trace."""
    twin = _filled(factory, ndim)
    box, point = [0.0] * ndim + [1.0] * ndim, [0.0] * ndim
    inverted = [1.0] * ndim + [0.0] * ndim
    for method in ("query", "count", "join"):
        for bad in ([NAN, *box[1:]], inverted, [INF] * ndim + [-INF] * ndim, box[1:]):
            twin.refuses(InvalidBoxError, method, bad)
            twin.refuses(InvalidBoxError, method, [bad])
        twin.refuses(InvalidBoxError, method, [box, inverted], says="[1]")
    refused: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("query_point", ([NAN, *point[1:]],), {}),
        ("query_point", ([point, [INF, *point[1:]]],), {}),
        ("query_point", (point[1:],), {}),
        ("query_radius", ([NAN, *point[1:]], 1.0), {}),
        ("query_radius", (point, -1.0), {}),
        ("query_radius", (point, NAN), {}),
        ("query_radius", ([point, point], [1.0, -0.5]), {}),
        ("query_radius", ([point, point], [1.0, 1.0, 1.0]), {}),
        ("query", (box,), {"predicate": "within"}),
        ("query", (box,), {"layers": -1}),
        ("query", (box,), {"layers": 2**64}),
        ("query", (box,), {"layers": 0.5}),
        ("query", (box,), {"workers": 0}),
        ("count", (box,), {"predicate": "overlaps"}),
        ("pairs", (), {"among": "awake"}),
        ("pairs", (), {"sensors": "all"}),
        ("pairs", (), {"workers": -1}),
        ("join", (box,), {"layers": -1}),
    ]
    for method, args, options in refused:
        twin.refuses(InvalidArgumentError, method, *args, **options)
    # at the call, not at the first piece
    for chunk in (0, -5):
        twin.refuses(InvalidArgumentError, "iter_pairs", chunk, says=str(chunk))
    twin.refuses(InvalidArgumentError, "iter_pairs", 5, among="awake", says="awake")
    twin.check()


def check_unknown_ids_are_refused(factory: Factory, ndim: int) -> None:
    """An id that is not there, alone or among good ones, now or any more."""
    twin = _filled(factory, ndim)
    boxes = lattice_boxes(np.random.default_rng(33), 3, ndim)
    for ids in ([0, 3, 4], [2**62, 3, 0], [28, 6, 9]):
        odd = str(next(i for i in ids if i not in twin.index))
        twin.refuses(UnknownIdError, "update", ids, boxes, says=odd)
        twin.refuses(UnknownIdError, "remove", ids, says=odd)
        twin.refuses(UnknownIdError, "set_state", ids, layer=2, says=odd)
        twin.refuses(UnknownIdError, "boxes", ids, says=odd)
        twin.refuses(UnknownIdError, "state", ids, says=odd)
    twin.refuses(UnknownIdError, "remove", 1)
    twin.refuses(KeyError, "remove", 1)
    twin.remove(3)
    twin.refuses(UnknownIdError, "remove", 3)
    twin.refuses(UnknownIdError, "update", 3, boxes[0])
    twin.refuses(UnknownIdError, "set_state", [0, 3], static=True)
    twin.clear()
    twin.refuses(UnknownIdError, "remove", 0)
    twin.check()


def check_duplicate_ids_are_refused(factory: Factory, ndim: int) -> None:
    """An id twice in one batch, or inserted although it is there."""
    twin = _filled(factory, ndim)
    boxes = lattice_boxes(np.random.default_rng(34), 3, ndim)
    twin.refuses(DuplicateIdError, "insert", boxes, [100, 101, 100], says="100")
    twin.refuses(DuplicateIdError, "insert", boxes, [100, 9, 101], says="9")
    twin.refuses(DuplicateIdError, "insert", boxes[0], 27, says="27")
    twin.refuses(DuplicateIdError, "update", [6, 0, 6], boxes, says="6")
    twin.refuses(DuplicateIdError, "remove", [6, 0, 6], says="6")
    twin.refuses(DuplicateIdError, "set_state", [6, 0, 6], static=True, says="6")
    twin.refuses(ValueError, "insert", boxes[0], 27)
    # the same with ids too far apart for a table by id
    twin.insert(boxes[:1], [2**60])
    twin.refuses(DuplicateIdError, "insert", boxes, [2**61, 5, 2**61])
    twin.refuses(DuplicateIdError, "insert", boxes, [2**61, 5, 2**60])
    twin.refuses(DuplicateIdError, "update", [2**60, 0, 2**60], boxes)
    twin.check()


def check_bad_ids_and_states_are_refused(factory: Factory, ndim: int) -> None:
    """Negative and non-integer ids, lengths that do not fit, layers that are no bits."""
    twin = _filled(factory, ndim)
    boxes = lattice_boxes(np.random.default_rng(35), 2, ndim)
    new: list[Any] = [[-1, 40], [0.5, 40], ["a", "b"], [40], [40, 41, 42], [2**63, 40], [[40, 41]]]
    for ids in new:
        twin.refuses(InvalidArgumentError, "insert", boxes, ids)
    known: list[Any] = [[-1, 0], [0.5, 3], [0], [0, 3, 6], [2**63, 0], None]
    for ids in known:
        twin.refuses(InvalidArgumentError, "update", ids, boxes)
    known = [-1, [0, -3], 0.5, ["a"], True]
    for ids in known:
        twin.refuses(InvalidArgumentError, "remove", ids)
    bad_bits: list[Any] = [[1, -1], 2**64, 0.5, [1, 2, 3], "fish"]
    bad_flags: list[Any] = [[True, False, True], "yes", 2]
    for name in STATE_DTYPE.names or ():
        for value in bad_bits if name in ("layer", "mask") else bad_flags:
            option = {name: value}
            twin.refuses(InvalidArgumentError, "set_state", [0, 3], **option)
            twin.refuses(InvalidArgumentError, "insert", boxes, **option)
    twin.refuses(InvalidArgumentError, "set_state", [0, 3], layer=-1, says="ALL")
    twin.refuses(InvalidArgumentError, "insert", boxes, mask=-1, says="ALL")
    twin.check()


def check_membership(factory: Factory, ndim: int) -> None:
    """``id in index`` knows ids as any integer type, and no other thing."""
    twin = _filled(factory, ndim)
    index = twin.index
    index.insert([0.0] * (2 * ndim), 2**62)
    for known in (0, 27, np.int64(3), np.uint8(6), 2**62):
        assert known in index, f"{known!r} is in the index"
    for unknown in (1, 28, -1, np.int64(-3), 2**62 + 1, 2**70, "a", None, 0.5):
        assert unknown not in index, f"{unknown!r} is not in the index"


def check_ids_given_out(factory: Factory, ndim: int) -> None:
    """Ids given out are 1 + the highest ever used, whatever was removed, refused or copied."""
    box = [0.0] * (2 * ndim)
    twin = Twin(factory(ndim))
    assert twin.insert([box, box]).tolist() == [0, 1]
    assert twin.insert(box, 10) == 10
    assert twin.insert([box, box]).tolist() == [11, 12]
    twin.insert([box, box], [5, 3])
    assert twin.insert(box) == 13
    twin.remove([13, 12])
    assert twin.insert(box) == 14
    twin.refuses(InvalidBoxError, "insert", [NAN] * (2 * ndim), 500)
    twin.refuses(DuplicateIdError, "insert", [box, box], [600, 600])
    assert twin.insert(box) == 15
    twin.clear()
    assert twin.insert(box) == 16
    twin.remove(16)
    for how in COPIES:
        assert twin.copied(how).insert(box) == 17
    twin.insert(box, 2**62)
    assert twin.insert(box) == 2**62 + 1
    twin.insert(box, 2**63 - 1)
    twin.refuses(InvalidArgumentError, "insert", box)
    assert twin.insert(box, 4) == 4
    twin.check()


def check_ids_of_any_size(factory: Factory, ndim: int) -> None:
    """Dense, sparse and shuffled ids up to 2**62 all work, in insertion, removal and answers."""
    rng = np.random.default_rng(36)
    for ids in (
        rng.permutation(200),
        rng.permutation(200) * 1_000_003,
        np.unique(rng.integers(0, 2**62, 200)),
        2**62 - np.arange(200),
        np.concatenate((np.arange(100), 2**40 + np.arange(100))),
    ):
        twin = Twin(factory(ndim))
        twin.insert(lattice_boxes(rng, len(ids), ndim), ids)
        twin.check()
        gone = rng.choice(ids, 100, replace=False)
        twin.remove(gone)
        twin.check()
        twin.insert(lattice_boxes(rng, 50, ndim), gone[:50])
        left = twin.index.ids[::3]
        twin.update(left[::-1], lattice_boxes(rng, len(left), ndim))
        twin.check()


def check_an_id_used_again_is_a_new_object(factory: Factory, ndim: int) -> None:
    """Removing an id and inserting it elsewhere leaves nothing of the old object behind."""
    here, far = [0.0] * ndim + [1.0] * ndim, [50.0] * ndim + [51.0] * ndim
    twin = Twin(factory(ndim))
    twin.insert([here, here, far])
    twin.pairs(among="all")
    for _ in range(3):
        for place in (far, here):
            twin.remove(0)
            twin.insert(place, 0, layer=2)
            twin.pairs(among="all")
            twin.query([here, far])
        # another object in the slot that was freed
        twin.remove(1)
        twin.insert(far, 77)
        twin.check()
        twin.remove(77)
        twin.insert(here, 1)
        twin.check()
