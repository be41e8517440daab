"""Changes that are interrupted at any line of the library."""

import sys
from pathlib import Path

import numpy as np
import pytest

import spatialindex as si
from spatialindex.testing.samples import state_options

UNIT = [0.0, 0.0, 1.0, 1.0]
FOLDER = str(Path(si.__file__).parent)
KERNELS = str(Path(si.__file__).parent / "kernels")


def boxes(n, seed=0):
    lower = np.random.default_rng(seed).random((n, 2)) * 3
    return np.hstack([lower, lower + 1])


def interrupted(call, line):
    """Make a call and interrupt it at some line of the library; tell if it has so many."""
    left = line

    def count(frame, event, _):
        nonlocal left
        left -= event == "line"
        if not left and event == "line":
            raise KeyboardInterrupt
        return count

    def watch(frame, event, _):
        name = frame.f_code.co_filename
        return count if name.startswith(FOLDER) and not name.startswith(KERNELS) else None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


CHANGES = {
    "insert": lambda index: index.insert(boxes(9), asleep=True, sensor=True, layer=3),
    "update": lambda index: index.update(index.ids[:7], boxes(7, seed=5)),
    "remove": lambda index: index.remove(index.ids[:7]),
    "set_state": lambda index: index.set_state(index.ids[:7], mask=0, static=True),
    "clear": lambda index: index.clear(),
}


@pytest.mark.parametrize("name", ["brute-force", "split"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_line_of_a_change_is_interrupted_answers_are_of_what_is_there(name, change):
    for line in range(1, 1000):
        index = si.create(name)
        index.insert(boxes(12), np.arange(12) * 1000)
        index.pairs()
        assert index.bounds is not None  # which is remembered
        is_cut = interrupted(lambda: change(index), line)  # noqa: B023 - called at once
        ids, bounds = index.ids, index.bounds
        twin = si.BruteForce()
        twin.insert(index.boxes(), ids, **state_options(index.state()))
        np.testing.assert_array_equal(index.pairs(), twin.pairs())
        assert len(index) == len(ids) == index.count([-99, -99, 99, 99])
        assert (bounds is None) == (not len(ids))
        if len(ids):
            np.testing.assert_array_equal(bounds, twin.bounds)
        assert index.state(index.insert(UNIT)).tolist()[:5] == (1, si.ALL, False, False, False)
        index.validate()
        if not is_cut:
            return
    pytest.fail("the change has too many lines")


@pytest.mark.parametrize("name", ["brute-force", "split"])
def test_nothing_is_lost_when_giving_back_memory_is_interrupted(name):
    flags = {"continuous": np.arange(4200) % 3 == 0} if name == "split" else {}

    def emptied():
        index = si.create(name)
        index.insert(np.tile(UNIT, (4200, 1)), np.arange(4200) * 7, **flags)
        index.update(index.ids[-10:], boxes(10))
        index.remove(index.ids[:-10])
        return index

    whole = emptied()
    for line in range(1, 5000, 19):
        index = emptied()
        is_cut = interrupted(lambda: index.query(UNIT), line)  # noqa: B023 - called at once
        np.testing.assert_array_equal(index.ids, whole.ids)
        np.testing.assert_array_equal(index.boxes(), whole.boxes())
        np.testing.assert_array_equal(index.state(), whole.state())
        np.testing.assert_array_equal(index.pairs(), whole.pairs())
        index.validate()
        if not is_cut:
            return
    pytest.fail("the question has too many lines")
