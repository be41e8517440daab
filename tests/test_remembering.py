"""Answers that are remembered: each question of its own, read-only, and not too many."""

import numpy as np
import pytest

from spatialindex import oracle
from spatialindex.testing import remembering
from spatialindex.testing.remembering import ask

IDS, BOXES = np.array([7, 3]), np.array([[0.0, 0, 2, 1], [2, 0, 3, 1]])


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(remembering, "_ANSWERS", remembering._Answers())


def test_the_same_question_is_answered_once():
    asked = []

    def nearest(*args, **options):
        asked.append(args)
        return oracle.nearest(*args, **options)

    first = ask(nearest, IDS, BOXES, None, [[5.0, 0]], 2)
    again = ask(nearest, IDS.copy(), BOXES.copy(), None, [[5.0, 0]], 2)
    assert len(asked) == 1
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "other",
    [
        lambda: ask(oracle.query, IDS, np.nextafter(BOXES, 9), None, BOXES),
        lambda: ask(oracle.query, IDS, BOXES, None, BOXES[::-1]),
        lambda: ask(oracle.query, IDS, BOXES, None, BOXES, predicate="inside"),
        lambda: ask(oracle.query, IDS, BOXES, None, BOXES, layers=2),
        lambda: ask(oracle.query, IDS[::-1], BOXES, None, BOXES),
        lambda: ask(oracle.count, IDS, BOXES, None, BOXES),
    ],
)
def test_whatever_differs_is_another_question(other):
    first = ask(oracle.query, IDS, BOXES, None, BOXES)
    assert other() is not first
    assert ask(oracle.query, IDS, BOXES, None, BOXES) is first


def test_functions_of_one_name_are_other_questions():
    def answering(value):
        return lambda: np.array([value])

    assert [ask(answering(value))[0] for value in (1, 2)] == [1, 2]


def test_answers_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        ask(oracle.pairs, IDS, BOXES)[0] = 0


@pytest.mark.parametrize(("most", "most_bytes"), [(2, 10**6), (10**6, 32)])
def test_what_was_asked_for_longest_ago_is_dropped(monkeypatch, most, most_bytes):
    monkeypatch.setattr(remembering, "_MOST", most)
    monkeypatch.setattr(remembering, "_MOST_BYTES", most_bytes)
    first, second = ask(oracle.pairs, IDS, BOXES), ask(oracle.pairs, IDS, BOXES + 1)
    assert ask(oracle.pairs, IDS, BOXES) is first
    ask(oracle.pairs, IDS, BOXES + 2)
    assert ask(oracle.pairs, IDS, BOXES) is first
    assert ask(oracle.pairs, IDS, BOXES + 1) is not second
    assert len(remembering._ANSWERS.known) == 2
    assert remembering._ANSWERS.nbytes == 32
