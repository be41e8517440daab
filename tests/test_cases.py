"""Operation sequences distilled from public bug reports, on every structure.

``data/cases.jsonl`` has one case a line; `spatialindex.testing.cases` says what the operations are.
"""

from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import spatialindex as si
from spatialindex import oracle
from spatialindex.boxes import as_points
from spatialindex.testing import Case, load_cases, run_case, variants
from spatialindex.testing.cases import METHODS

CASES = load_cases(Path(__file__).parent / "data" / "cases.jsonl")


def operations(ops):
    for op in ops:
        yield op["op"]
        yield from operations(op.get("ops", ()))
        yield from operations(op.get("mutate_original", ()))


OCCURRING = {name for case in CASES for name in operations(case.ops)}


@pytest.mark.parametrize("entry", si.structures(), ids=lambda entry: entry.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case_has_its_known_answers(case, entry):
    assert case.ndim in entry.ndims
    known = [parameter.name for parameter in entry.parameters]
    ways = list(variants(entry.parameters).values())
    hinted = case.parameters(known)
    if hinted:
        ways.append(hinted)
    for parameters in ways:
        run_case(case, partial(si.create, entry.name, case.ndim, **parameters))


@pytest.mark.parametrize("entry", si.structures(), ids=lambda entry: entry.name)
def test_only_operations_that_no_index_has_yet_are_passed_over(entry):
    waiting = set()
    for case in CASES:
        waiting |= run_case(case, partial(si.create, entry.name, case.ndim))
    missing = {name for name, method in METHODS.items() if not hasattr(si.Index, method)}
    assert waiting == missing & OCCURRING


def test_cases_are_the_whole_file():
    assert len(CASES) == 95
    assert len({case.id for case in CASES}) == 95
    refused = sum(expected == {"refused": True} for case in CASES for expected in case.expect)
    assert refused == 30
    assert {"copy", "concurrent", "storage_ratio", "repeat", "cross_pairs"} <= OCCURRING
    assert Counter(case.ndim for case in CASES).keys() == {2, 3}


class WithEveryQuestion(si.BruteForce):
    """Answers the questions that indexes may lack, one object after the other."""

    def nearest(self, points, k, *, max_distance, layers):
        point = as_points(points, self.ndim)
        if k < 1 or not max_distance >= 0:
            raise si.InvalidArgumentError(f"k={k}, max_distance={max_distance}")
        distances = oracle.distances(point, self.boxes())
        order = np.lexsort((self.ids, distances))
        is_seen = oracle.seen(self.state(), layers) & (distances <= max_distance)
        order = order[is_seen[order]][:k]
        padding = [k - len(order)]
        return (
            np.append(self.ids[order], np.full(padding, -1)),
            np.append(distances[order], np.full(padding, np.inf)),
        )

    def raycast_all(self, origins, directions, *, max_t, layers):
        origin, direction = as_points(origins, self.ndim), as_points(directions, self.ndim)
        if not direction.any() or not max_t >= 0:
            raise si.InvalidArgumentError(f"direction={direction}, max_t={max_t}")
        return self.cast(np.tile(origin, 2), direction, max_t, layers)

    def boxcast_all(self, boxes, motions, *, layers):
        box, motion = si.as_boxes(boxes, self.ndim), as_points(motions, self.ndim)
        return self.cast(box, motion, 1.0, layers)

    def cast(self, box, motion, max_t, layers):
        hits = []
        visible = oracle.seen(self.state(), layers)
        for i, other in zip(self.ids[visible], self.boxes()[visible], strict=True):
            enter, leave = 0.0, max_t
            for d in range(self.ndim):
                ahead = other[d] - box[self.ndim + d]
                behind = other[self.ndim + d] - box[d]
                if motion[d] == 0:
                    leave = leave if ahead <= 0 <= behind else -1.0
                else:
                    near, far = sorted((ahead / motion[d], behind / motion[d]))
                    enter, leave = max(enter, near), min(leave, far)
            if enter <= leave:
                hits.append((enter, i))
        hits.sort()
        return np.array([i for _, i in hits], np.int64), np.array([t for t, _ in hits])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_operation_is_played_where_there_is_a_method(case):
    assert run_case(case, partial(WithEveryQuestion, case.ndim)) == set()


BOX = [0, 0, 1, 1]


def case_of(ops, expect):
    return Case("x", "made up", "none", 2, tuple(ops), tuple(expect))


@pytest.mark.parametrize(
    ("ops", "expect", "message"),
    [
        ([{"op": "count"}], [1], "got 0, expected 1"),
        ([{"op": "insert", "id": 3, "box": BOX}, {"op": "bounds"}], [None, None], "got .0.0, 0.0"),
        ([{"op": "query_box", "box": ["nan", 0, 1, 1]}], [[]], "raised InvalidBoxError"),
        ([{"op": "query_box", "box": BOX}], [{"refused": True}], "expected a refusal"),
        ([{"op": "query_box", "box": BOX, "want": "count"}], [2], "got 0, expected 2"),
        (
            [{"op": "mark_storage"}, {"op": "storage_ratio", "at_most": -1}],
            [None, True],
            "got False, expected True",
        ),
        (
            [{"op": "concurrent", "ops": [{"op": "count"}, {"op": "pairs"}]}],
            [[0, [[1, 2]]]],
            r"got \[\], expected \[\[1, 2\]\]",
        ),
    ],
)
def test_player_notices_wrong_answers(ops, expect, message):
    factory = partial(si.create, "brute-force", 2)
    if ops[0]["op"] == "mark_storage":
        ops = [{"op": "insert", "id": 0, "box": BOX}, *ops]
        expect = [None, *expect]
    with pytest.raises(AssertionError, match=message):
        run_case(case_of(ops, expect), factory)


def test_player_notices_a_refusal_that_leaves_a_change():
    class Leaky(si.BruteForce):
        def insert(self, boxes, ids=None, **state):
            try:
                return super().insert(boxes, ids, **state)
            except si.DuplicateIdError:
                self.clear()
                raise

    ops = [{"op": "insert", "id": 0, "box": BOX}] * 2
    with pytest.raises(AssertionError, match="content after the refusal"):
        run_case(case_of(ops, [None, {"refused": True}]), Leaky)


class Shared(si.BruteForce):
    """Its deep copy is itself."""

    def __deepcopy__(self, memo):
        return self


def test_player_goes_on_with_copies_of_every_kind():
    ops = [
        {"op": "insert", "id": 0, "box": BOX},
        {"op": "copy", "mutate_original": [{"op": "remove", "id": 0}]},
        {"op": "count"},
    ]
    expect = [None, None, 1]
    run_case(case_of(ops, expect), partial(si.create, "brute-force", 2))
    with pytest.raises(AssertionError, match="got 0, expected 1"):
        run_case(case_of(ops, expect), Shared)
