"""Kept pairs: however they are kept up to date, they are the pairs."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import spatialindex as si
from spatialindex.testing import conformance_checks, make_state_machine

STRUCTURES = [
    pytest.param(entry.name, ndim, id=f"{entry.name}-{ndim}D")
    for entry in si.structures()
    for ndim in entry.ndims
]
CHURNING = {"churn", "motion_of_every_length", "an_id_used_again_is_a_new_object"}
BESIDE = {
    *("query", "query_point", "query_radius", "query_planes", "nearest", "raycast", "boxcast"),
    *("join_boxes", "join_another", "refuse_a_bad_row", "refuse_a_bad_id"),
}
"""Rules of the state machine that leave kept pairs alone; each structure's own run has them."""


def always_keeping(name, *, one_by_one=False):
    """Make a factory of indexes that never find too much changed to go on from kept pairs.

    Where there are few objects, what changed is mostly found in one pass, unless `one_by_one`.
    """

    def factory(ndim):
        index = si.create(name, ndim)
        index._structure.kept_share = np.inf
        if one_by_one:
            index._structure.sweep_share = np.inf
        return index

    return factory


def boxes(rng, n, ndim, side=20):
    lower = rng.integers(0, side, (n, ndim)).astype(float)
    return np.hstack([lower, lower + rng.integers(0, 3, (n, ndim))])


@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
def test_index_that_always_keeps_answers_as_its_model(name, ndim):
    machine = make_state_machine(always_keeping(name), ndim)
    assert vars(machine).keys() >= BESIDE
    keeping = type("KeepingMachine", (machine,), dict.fromkeys(BESIDE))
    # half as many examples as usual: without those rules each changes and asks for pairs more often
    examples = settings.default.max_examples // 2
    how = settings(max_examples=examples, stateful_step_count=25)
    run_state_machine_as_test(keeping, settings=how)


@pytest.mark.parametrize("check", [name for name, _ in conformance_checks() if name in CHURNING])
@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
def test_index_that_always_keeps_passes_checks_of_churn(name, ndim, check):
    dict(conformance_checks())[check](always_keeping(name, one_by_one=True), ndim)


@pytest.mark.parametrize("ids", [None, "sparse"])
@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
def test_few_changes_among_many_are_pairs_from_scratch(name, ndim, ids):
    rng = np.random.default_rng(5)
    kept, fresh = always_keeping(name, one_by_one=ids is None)(ndim), si.create(name, ndim)
    content = boxes(rng, 400, ndim)
    own = None if ids is None else rng.permutation(10**13 + 977 * np.arange(400))
    for index in (kept, fresh):
        index.insert(content, own, static=np.arange(400) % 3 == 0)
    for _ in range(12):
        kept.pairs()
        chosen = rng.permutation(kept.ids)[:12]
        moved, stated, gone = chosen[:6], chosen[4:9], chosen[9:]
        new, fourth = boxes(rng, 6, ndim), boxes(rng, 3, ndim)
        for index in (kept, fresh):
            index.update(moved, new)
            index.set_state(stated, static=False, layer=2, mask=3)
            index.remove(gone)
            index.insert(fourth, gone[::-1] if own is not None else None)
            index.insert(boxes(np.random.default_rng(9), 2, ndim))
        fresh._kept.forget()
        np.testing.assert_array_equal(kept.pairs(), fresh.pairs())
        kept.validate()


SWEEPING = [
    pytest.param(entry.name, ndim, id=f"{entry.name}-{ndim}D")
    for entry in si.structures()
    for ndim in entry.ndims
    if hasattr(si.create(entry.name, ndim)._structure, "sweep_share")
]


@pytest.mark.parametrize("share", [-1.0, np.inf], ids=["in-one-pass", "one-by-one"])
@pytest.mark.parametrize(("name", "ndim"), SWEEPING)
def test_pairs_of_what_changed_are_the_same_however_they_are_found(name, ndim, share):
    rng = np.random.default_rng(8)
    cells = {"cell_size": 4.0, "max_cells": 16} if "grid" in name else {}
    index = si.create(name, ndim, **cells)
    index._structure.kept_share, index._structure.sweep_share = np.inf, share
    content = boxes(rng, 200, ndim)
    content[::7] += 1 / 3  # not in float32
    content[:20] = content[0]  # a cell of many blocks
    content[-4:, :ndim], content[-4:, ndim:] = 0.0, 20.0  # in more cells than an object may be
    index.insert(content, layer=1 + np.arange(200) % 3, asleep=np.arange(200) % 5 == 0)
    for chosen in (rng.permutation(200)[:30], np.arange(190, 200), np.arange(15)):
        index.pairs(), index.pairs(among="all")
        new = boxes(rng, len(chosen), ndim)
        new[::3] = index.boxes(chosen[::3]) + 1 / 8  # mostly in the same cells
        new[1, :ndim], new[1, ndim:] = 1.0, 21.0
        index.update(chosen, new)
        index.remove(chosen[:2])
        index.insert(new[:2], chosen[:2])
        found = [index.pairs(workers=2), index.pairs(among="all")]
        index.validate()
        index._kept.forget()
        np.testing.assert_array_equal(found[0], index.pairs())
        np.testing.assert_array_equal(found[1], index.pairs(among="all"))


def test_pairs_in_one_pass_are_refused_beyond_max_rows():
    index = always_keeping("hash-grid")(2)
    index.insert(np.tile([0.0, 0, 1, 1], (50, 1)) + 9 * np.arange(50)[:, None])
    assert not len(index.pairs())
    index.update(None, np.tile([0.0, 0, 1, 1], (50, 1)))
    index.max_rows = 1224
    with pytest.raises(si.ResultTooLargeError, match="more than 1224 rows"):
        index.pairs()
    index.max_rows = 1225
    assert len(index.pairs()) == 1225


def test_refusals_name_max_rows_where_a_structure_asks_in_several_places():
    index = si.HashGrid(2, cell_size=1.0, max_cells=4)
    index._structure.kept_share = np.inf
    small = np.tile([0.0, 0, 0.5, 0.5], (35, 1))
    index.insert(small + 3 * np.arange(35)[:, None])
    index.insert(np.tile([0.0, 0, 200, 200], (5, 1)))  # each in too many cells
    assert len(index.pairs()) == 35 * 5 + 10
    index.update(np.arange(30), small[:30])
    n = 30 * 29 // 2 + 35 * 5 + 10
    questions = [
        index.pairs,
        lambda: index.query([[0, 0, 300, 300]]),
        lambda: index.join([[0, 0, 300, 300]]),
        lambda: index.raycast_all([[-1, 0.1]], [[1, 0]]),
    ]
    for ask, rows in zip(questions, (n, 40, 40, 35), strict=True):
        for share in (-1.0, np.inf):  # pairs of what changed in one pass, and one by one
            index._structure.sweep_share = share
            for most in (rows - 1, rows - 3, 34):
                index.max_rows = most
                with pytest.raises(si.ResultTooLargeError, match=f"more than {most} rows"):
                    ask()
        index.max_rows = rows
        assert len(getattr(found := ask(), "t", found)) == rows


def test_nothing_changed_returns_the_same_array():
    index = si.HashGrid(ndim=2)
    index.insert([[0, 0, 1, 1], [1, 1, 2, 2]])
    pairs = index.pairs()
    assert index.pairs() is pairs
    index.query([0, 0, 9, 9])
    assert index.pairs() is pairs


@pytest.mark.parametrize(
    "renew",
    [lambda i: i, lambda i: i.copy(), copy.deepcopy, lambda i: pickle.loads(pickle.dumps(i))],
)
def test_kept_pairs_cannot_be_written_to(renew):
    index = si.HashGrid(ndim=2)
    index.insert([[0, 0, 1, 1], [1, 1, 2, 2]])
    index.pairs()
    pairs = renew(index).pairs()
    with pytest.raises(ValueError, match="read-only"):
        pairs[0, 0] = 7


def test_an_answer_given_out_stays_as_it_was():
    index = always_keeping("hash-grid")(2)
    index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 6, 6]])
    before = index.pairs()
    index.update(2, [2, 2, 3, 3])
    after = index.pairs()
    assert before.tolist() == [[0, 1]]
    assert after.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        before[0, 0] = 7


def test_unsorted_pairs_go_on_from_kept_ones():
    index = always_keeping("hash-grid")(2)
    index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 6, 6]])
    index.pairs()
    index.update(2, [2, 2, 3, 3])
    assert index.pairs(sort=False).tolist() == [[0, 1], [1, 2]]
    index.remove(0)
    assert index.pairs().tolist() == [[1, 2]]


class AskedWhileCopied(np.ndarray):
    """Kept rows during whose copying another reader asks for the pairs."""

    def __deepcopy__(self, memo):
        self.ask()
        return np.array(self)


def test_a_copy_is_right_when_pairs_are_asked_while_it_is_made():
    index = always_keeping("brute-force")(2)
    index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 6, 6]])
    index.pairs()
    index.update(0, [6, 6, 7, 7])
    ((_, kept),) = index._kept
    plain = kept.rows
    asked = []

    def ask():
        kept.rows = plain  # kernels take no subclass
        asked.append(index.pairs().tolist())

    kept.rows = plain.view(AskedWhileCopied)
    kept.rows.ask = ask
    assert copy.deepcopy(index).pairs().tolist() == [[0, 2]]
    assert asked == [[[0, 2]]]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_kept_pairs_are_mended_after_pickling(protocol):
    index = always_keeping("hash-grid")(2)
    index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 6, 6]])
    index.pairs()
    index = pickle.loads(pickle.dumps(index, protocol))
    index.update(2, [2, 2, 3, 3])
    assert index.pairs().tolist() == [[0, 1], [1, 2]]


def test_pairs_of_several_options_are_kept_side_by_side(monkeypatch):
    index = always_keeping("brute-force")(2)
    index.insert(np.tile([0.0, 0, 1, 1], (6, 1)), asleep=[1, 1, 1, 0, 0, 0], static=[1, 0, 0] * 2)
    wanted = ("active", "dynamic", "all")
    before = {among: index.pairs(among=among) for among in wanted}
    assert [len(rows) for rows in before.values()] == [9, 14, 15]
    assert all(index.pairs(among=among) is before[among] for among in wanted)

    def afresh(*args, **options):
        raise AssertionError("pairs were found afresh")

    index.update(5, [3, 3, 4, 4])
    index.set_state(4, asleep=True)
    index.query([0, 0, 1, 1])
    with monkeypatch.context() as patch:
        patch.setattr(type(index._structure), "pairs", afresh)
        after = {among: index.pairs(among=among).tolist() for among in wanted}
    index._kept.forget()
    assert after == {among: index.pairs(among=among).tolist() for among in wanted}
    assert [len(rows) for rows in after.values()] == [0, 9, 10]


def test_options_that_mean_the_same_share_their_rows():
    index = si.HashGrid(ndim=2)
    index.insert(np.tile([0.0, 0, 1, 1], (3, 1)), static=[True, True, False])
    assert index.pairs(among="dynamic") is index.pairs()
    nbytes = index.nbytes
    assert index.pairs(among="dynamic", sensors="exclude") is index.pairs()
    assert index.nbytes == nbytes
    index.set_state(2, asleep=True)
    assert index.pairs().tolist() == []
    assert index.pairs(among="dynamic").tolist() == [[0, 2], [1, 2]]


def test_only_the_options_asked_last_are_kept():
    index = always_keeping("hash-grid")(2)
    index.insert(np.tile([0.0, 0, 1, 1], (4, 1)), asleep=[0, 0, 1, 1], sensor=[0, 1, 0, 1])
    options = [(a, s) for a in ("active", "dynamic", "all") for s in ("include", "exclude", "only")]
    for among, sensors in options:
        index.pairs(among=among, sensors=sensors)
    assert len(index._kept) == 4
    kept = index.pairs(among="all", sensors="only")
    index.pairs(among="active")
    assert index.pairs(among="all", sensors="only") is kept
