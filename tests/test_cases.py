"""Operation sequences distilled from public bug reports, on every structure.

``data/cases.jsonl`` has one case a line; `spatialindex.testing.cases` says what the operations are.
"""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import spatialindex as si
from spatialindex.testing import Case, load_cases, run_case, variants
from spatialindex.testing.cases import METHODS

CASES = load_cases(Path(__file__).parent / "data" / "cases.jsonl")


def operations(ops):
    for op in ops:
        yield op["op"]
        yield from operations(op.get("ops", ()))
        yield from operations(op.get("mutate_original", ()))


OCCURRING = {name for case in CASES for name in operations(case.ops)}


@pytest.mark.parametrize(
    ("case", "entry"),
    [
        pytest.param(case, entry, id=f"{case.id}-{entry.name}-{case.ndim}D")
        for case in CASES
        for entry in si.structures()
        if case.ndim in entry.ndims
    ],
)
def test_case_has_its_known_answers(case, entry):
    known = [parameter.name for parameter in entry.parameters]
    ways = list(variants(entry.parameters).values())
    hinted = case.parameters(known)
    if hinted:
        ways.append(hinted)
    for parameters in ways:
        waiting = run_case(case, partial(si.create, entry.name, case.ndim, **parameters))
        assert waiting == set(), "operations were passed over"


def test_cases_are_the_whole_file():
    assert len(CASES) == 95
    assert len({case.id for case in CASES}) == 95
    refused = sum(expected == {"refused": True} for case in CASES for expected in case.expect)
    assert refused == 30
    assert {"copy", "concurrent", "storage_ratio", "repeat", "cross_pairs"} <= OCCURRING
    assert set(METHODS) <= OCCURRING
    assert Counter(case.ndim for case in CASES).keys() == {2, 3}


class WithoutCasts(si.BruteForce):
    """An index of others that cannot cast."""

    @property
    def boxcast_all(self):
        raise AttributeError("boxcast_all")

    raycast_all = boxcast_all


def test_operations_that_an_index_has_no_method_for_are_passed_over_and_named():
    waiting = {name for case in CASES for name in run_case(case, partial(WithoutCasts, case.ndim))}
    assert waiting == {"raycast", "query_swept"}


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
