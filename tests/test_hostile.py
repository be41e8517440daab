"""Sequences that once went wrong, each kept as its shrunk example."""

import copy
import os
import signal
import threading

import numpy as np
import pytest

import spatialindex as si
from spatialindex.changes import PendingChanges
from spatialindex.keeping import KeptPairs
from spatialindex.objects import ObjectTable

NAMES = [entry.name for entry in si.structures() if 2 in entry.ndims]
UNIT = [0.0, 0.0, 1.0, 1.0]


def boxes(n, seed=0, extent=50):
    lower = np.random.default_rng(seed).random((n, 2)) * extent
    return np.hstack([lower, lower + 1])


@pytest.mark.parametrize("name", NAMES)
def test_iter_pairs_notices_a_change_before_its_first_piece(name):
    index = si.create(name)
    index.insert([UNIT, UNIT])
    pieces = index.iter_pairs(5)
    index.remove(0)
    with pytest.raises(si.InvalidArgumentError, match="changed while iter_pairs"):
        next(pieces)


def test_iter_pairs_takes_chunks_of_any_size():
    index = si.BruteForce()
    index.insert([UNIT, UNIT])
    assert [piece.tolist() for piece in index.iter_pairs(2**62)] == [[[0, 1]]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_structure_recovers_from_an_interrupted_update(name, error, monkeypatch):
    index, twin = si.create(name), si.create(name)
    for each in (index, twin):
        each.insert(boxes(80))
        each.pairs()
        each.update(np.arange(5), boxes(5, seed=1))
        each.remove(7)
    apply = type(index._structure).apply

    def interrupted(structure, changes):
        apply(structure, changes._replace(moved=changes.moved[:2]))
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(type(index._structure), "apply", interrupted)
        with pytest.raises(error):
            index.query(UNIT)
    np.testing.assert_array_equal(index.pairs(), twin.pairs())
    index.validate()


@pytest.mark.parametrize("name", NAMES)
def test_copy_made_while_another_thread_asks_is_sound(name, monkeypatch):
    index = si.create(name)
    index.insert(boxes(10))
    original = type(index._structure)

    def deepcopy_while_asked(structure, memo):
        thread = threading.Thread(target=index.query, args=(UNIT,))
        thread.start()
        thread.join()
        new = original.__new__(original)
        memo[id(structure)] = new
        new.__dict__.update(copy.deepcopy(structure.__dict__, memo))
        return new

    monkeypatch.setattr(original, "__deepcopy__", deepcopy_while_asked, raising=False)
    other = index.copy()
    other.validate()
    np.testing.assert_array_equal(other.pairs(), index.pairs())


def test_copy_made_while_another_thread_lists_who_is_in_a_part_is_sound():
    world = si.SplitIndex()
    world.insert(boxes(10), static=True)
    world.insert(boxes(10))
    world.pairs()
    world.insert(np.vstack([boxes(3), boxes(3)]), static=[True, False] * 3)

    class Asked(dict):
        def __deepcopy__(self, memo):
            thread = threading.Thread(target=world.pairs, kwargs={"among": "all"})
            thread.start()
            thread.join()
            return copy.deepcopy(dict(self), memo)

    roles = world._structure.roles
    roles._joined = Asked(roles._joined)
    other = world.copy()
    other.validate()
    np.testing.assert_array_equal(other.pairs(among="all"), world.pairs(among="all"))


def test_memory_is_counted_while_another_thread_asks(monkeypatch):
    index = si.BruteForce()
    index.insert(boxes(10), asleep=True)
    index.pairs()

    def nbytes(kept):
        thread = threading.Thread(target=index.pairs, kwargs={"among": "all"})
        thread.start()
        thread.join()
        return kept.rows.nbytes

    monkeypatch.setattr(KeptPairs, "nbytes", property(nbytes))
    assert index.nbytes > 0


@pytest.mark.parametrize("name", NAMES)
def test_answer_exactly_at_the_limit_stays_one_after_changes(name):
    index = si.create(name)
    content = np.array([[10.0 * i, 0, 10.0 * i, 0] for i in range(200)])
    content[:3] = UNIT
    index.insert(content)
    index.max_rows = 3
    assert len(index.pairs()) == 3
    index.update([0, 1, 2], content[:3] + 1)
    assert len(index.pairs()) == 3


def test_workers_share_one_limit():
    index = si.BruteForce()
    index.insert(np.zeros((3000, 4)))
    index.max_rows = 3_000_000
    with pytest.raises(si.ResultTooLargeError):
        index.query(np.zeros((2000, 4)), workers=4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_threads_work_in_a_forked_process():
    index = si.HashGrid()
    index.insert(boxes(2000))
    index.query(boxes(2000), workers=2)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        index.query(boxes(2000), workers=2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("name", "options", "content"),
    [
        ("hash-grid", {"cell_size": 1}, np.repeat(boxes(2000, extent=200_000), 8, axis=0)),
        ("hash-grid", {"cell_size": 1e-3, "max_cells": 1}, boxes(20_000)),
        ("grid", {"world": [900, 900, 901, 901]}, boxes(20_000)),
    ],
)
def test_single_updates_do_not_build_anew(name, options, content):
    index = si.create(name, **options)
    index.insert(content)
    before = index.stats().rebuilds
    for id_ in range(10):
        index.update(id_, content[id_] + 0.25)
        index.query(UNIT)
    assert index.stats().rebuilds == before


@pytest.mark.parametrize("seed", [11, 34, 35, 36])
@pytest.mark.parametrize("max_cells", [4, 16, 64])
def test_what_was_let_in_never_becomes_wide(seed, max_cells):
    rng = np.random.default_rng(seed)
    index = si.HashGrid(max_cells=max_cells, oversized="refuse")
    for _ in range(12):
        scale = 10.0 ** rng.integers(-3, 3)
        lower = rng.random((20, 2)) * scale * 10
        batch = np.hstack([lower, lower + rng.random((20, 2)) * scale])
        try:
            index.insert(batch)
        except si.CoverageError:
            continue
        assert index.stats().wide == 0


def test_refusing_needs_a_world():
    with pytest.raises(si.InvalidArgumentError, match="needs a world"):
        si.UniformGrid(oversized="refuse")


def test_refusal_tells_which_bound_is_broken():
    index = si.UniformGrid(cell_size=1, world=[0, 0, 10, 10], max_cells=4, oversized="refuse")
    index.insert(UNIT)
    with pytest.raises(si.CoverageError, match=r"boxes\[0\] .* outside the world"):
        index.insert([9.0, 9, 11, 11])
    with pytest.raises(si.CoverageError, match=r"covers more than 4 cells of edge 1"):
        index.insert([0.0, 0, 5, 5])
    assert len(index) == 1


def test_world_is_the_grids_own():
    world = np.array([0.0, 0, 10, 10])
    index = si.UniformGrid(world=world, cell_size=1)
    world[:] = np.nan
    index.insert([UNIT] * 3)
    assert index.stats().wide == 0
    assert index.world.tolist() == [0, 0, 10, 10]


def test_large_world_costs_by_what_is_in_it():
    index = si.UniformGrid(world=[-1e6, -1e6, 1e6, 1e6])
    index.insert(boxes(1000))
    assert index.stats().nbytes < 10_000_000


@pytest.mark.parametrize("name", ["grid", "hash-grid"])
def test_moves_within_a_crowd_search_no_long_chains(name):
    index = si.create(name)
    content = np.zeros((20_000, 4))
    index.insert(content)
    index.query(UNIT)
    before = index.stats().rebuilds
    index.update(np.arange(6000), content[:6000] + 1e-9)
    assert index.count(UNIT) == 20_000
    assert index.stats().rebuilds == before + 1


def test_refused_pairs_are_not_counted_by_stats():
    index = si.HashGrid()
    index.insert(np.zeros((100, 4)))
    index.max_rows = 10
    with pytest.raises(si.ResultTooLargeError):
        index.pairs()
    assert index.stats().pairs == 0


@pytest.mark.parametrize("rows", [-1, None, 2.5, True, 2**63])
def test_bad_max_rows_are_refused(rows):
    index = si.BruteForce()
    with pytest.raises(si.InvalidArgumentError, match="max_rows is"):
        index.max_rows = rows
    assert index.max_rows == 2**29


def test_masked_arrays_are_refused():
    index = si.BruteForce()
    index.insert([UNIT, UNIT])
    with pytest.raises(si.InvalidArgumentError, match="ids is a masked array"):
        index.remove(np.ma.array([0, 1], mask=[False, True]))
    with pytest.raises(si.InvalidArgumentError, match="layer is a masked array"):
        index.set_state([0, 1], layer=np.ma.array([1, 2], mask=[False, True]))
    assert len(index) == 2


@pytest.mark.parametrize("name", NAMES)
def test_strict_floating_point_state_changes_nothing(name):
    with np.errstate(all="raise"):
        index = si.create(name)
        index.insert([UNIT, [5e-324, 0, 1e308, 1e308], [-1e308, 0, 0, 0]])
        assert index.query_radius([0.0, 0], 5e-324).tolist() == [0, 1, 2]
        assert index.pairs().tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell_size": 10**400}, "cell_size is"),
        ({"cell_size": 1j}, "cell_size is"),
        ({"max_cells": 0}, "max_cells is"),
    ],
)
def test_bad_parameters_are_refused_with_words(options, message):
    with pytest.raises(si.InvalidArgumentError, match=message):
        si.HashGrid(**options)


def test_max_cells_may_be_any_number():
    index = si.HashGrid(cell_size=1, max_cells=2**70)
    index.insert([UNIT, UNIT])
    assert index.pairs().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda index: index.query(UNIT, layers=[1]), "layers is .*pass one integer"),
        (lambda index: index.query(UNIT, predicate=np.array(["inside"])), "predicate is"),
        (lambda index: index.insert(UNIT, ids=[2**64]), "18446744073709551616"),
        (lambda index: index.insert(UNIT, layer=True), "layer is True"),
    ],
)
def test_odd_arguments_are_refused_with_words(ask, message):
    index = si.BruteForce()
    index.insert(UNIT)
    with pytest.raises(si.InvalidArgumentError, match=message):
        ask(index)
    assert len(index) == 1


def test_number_of_dimensions_is_one_number():
    with pytest.raises(si.InvalidArgumentError, match="ndim is"):
        si.BruteForce(ndim=np.array([2, 3]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("owner", "where"),
    [
        (ObjectTable, "_note_state"),
        (ObjectTable, "_allot"),
        (ObjectTable, "_reserve"),
        (PendingChanges, "note"),
    ],
)
def test_index_recovers_from_an_interrupted_change(name, owner, where, monkeypatch):
    index = si.create(name)
    index.insert(boxes(50))
    index.query(UNIT)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.insert(boxes(500, seed=3), np.arange(500) + 10**9)
    index.validate()
    assert len(index) in (50, 550)
    assert len(index) == len(index.ids) == index.count([-1e9, -1e9, 1e9, 1e9])
    index.insert(boxes(5, seed=4))
    index.validate()


@pytest.mark.parametrize("name", NAMES)
def test_single_and_many_boxes_pass_the_same_door(name):
    index = si.create(name)
    index.insert([UNIT])
    index.query(UNIT)
    for box in ([2**53 + 1, 0.0, 2**54, 1.0], np.ma.array(UNIT, mask=[1, 0, 0, 0])):
        with pytest.raises(si.InvalidBoxError):
            index.query(box)
    with pytest.raises(si.InvalidArgumentError, match="workers is True"):
        index.query(UNIT, workers=True)


@pytest.mark.parametrize("name", NAMES)
def test_questions_are_decided_on_boxes_and_pairs_on_covers(name, monkeypatch):
    index = si.create(name)
    fat = np.array([-1.5, -1.5, 1.5, 1.5])
    cover = property(lambda table: table.boxes + fat)
    monkeypatch.setattr(type(index._table), "cover", cover)
    index.insert([[0, 0, 1, 1], [3, 0, 4, 1], [9, 9, 9, 9]])
    assert index.query([2.0, 0, 2, 1]).tolist() == []
    assert index.query([[2.0, 0, 2, 1], [1, 1, 3, 3]]).tolist() == [[1, 0], [1, 1]]
    assert index.pairs().tolist() == [[0, 1]]


def test_nothing_is_no_reason_to_refuse():
    index = si.UniformGrid(oversized="refuse", world=[0, 0, 9, 9])
    assert index.insert(np.empty((0, 4))).tolist() == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first", [0, 10**12])
def test_memory_follows_content_down(name, first):
    index = si.create(name)
    index.insert(boxes(20_000), np.arange(20_000) + first)
    index.pairs()
    full = index.nbytes
    index.remove(index.ids[:-10])
    left = index.pairs()
    assert index.nbytes < full / 10
    index.validate()
    assert index.ids.tolist() == list(range(first + 19_990, first + 20_000))
    assert index.insert(UNIT) == first + 20_000
    np.testing.assert_array_equal(index.pairs()[: len(left)], left)


def test_threads_have_ended_when_an_error_is_raised():
    from spatialindex.execution import run_chunks

    running = []

    def task(start, stop):
        running.append(start)
        if start == 0:
            raise ValueError
        threading.Event().wait(0.05)
        running.remove(start)

    with pytest.raises(ValueError):  # noqa: PT011 - the bare one above
        run_chunks(task, 1000, 4)
    assert running == [0]


def test_every_thread_has_a_share_of_few_heavy_items():
    from spatialindex.execution import run_chunks

    met = threading.Barrier(2, timeout=30)

    def task(start, stop):
        if start in (0, 1):
            met.wait()  # passes only when two threads are at work
        return start, stop

    assert run_chunks(task, 8, 2, smallest=1) == [(i, i + 1) for i in range(8)]


def test_work_that_is_done_does_not_wait_for_that_of_others():
    from spatialindex.execution import run_chunks

    met, go_on, is_done = threading.Barrier(3, timeout=30), threading.Event(), threading.Event()

    def long(start, stop):
        met.wait()  # both threads of the pool's work are in here
        go_on.wait(30)

    def short():
        run_chunks(lambda start, stop: None, 8, 2, smallest=1)
        is_done.set()

    others = threading.Thread(target=run_chunks, args=(long, 2, 2, 1))
    others.start()
    met.wait()
    mine = threading.Thread(target=short)
    mine.start()
    try:
        assert is_done.wait(30)
    finally:
        go_on.set()
        others.join()
        mine.join()


def test_work_can_hand_out_work_itself():
    from spatialindex.execution import run_chunks

    def task(start, stop):
        return sum(run_chunks(lambda first, last: last - first, stop - start, 2, smallest=1))

    totals = []
    threads = [
        threading.Thread(
            target=lambda: totals.extend(run_chunks(task, 64, 2, smallest=1)), daemon=True
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(totals) == 3 * 64


def test_rows_of_any_number_of_workers_are_in_the_order_of_the_items():
    from spatialindex.execution import collect_rows

    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, 20_000) * (rng.random(20_000) < 0.3)
    counts[17] = 50_000  # far more than any guess
    rows = np.repeat(np.arange(20_000, dtype=np.int32), counts)
    ends = np.concatenate([[0], np.cumsum(counts)])

    def fill(start, stop, out):
        found = rows[ends[start] : ends[stop]]
        n = min(len(found), len(out))
        out[:n, 0] = out[:n, 1] = found[:n]
        return len(found)

    for workers in (1, 2, 3):
        for guess in (0, 20_000, 400_000):
            got = collect_rows(fill, 20_000, limit=len(rows), workers=workers, guess=guess)
            np.testing.assert_array_equal(got, np.column_stack([rows, rows]))
        with pytest.raises(si.ResultTooLargeError, match=f"more than {len(rows) - 1} rows"):
            collect_rows(fill, 20_000, limit=len(rows) - 1, workers=workers)


def test_an_emptied_table_of_sparse_ids_can_be_asked_after_a_rebuild():
    index = si.BruteForce()
    index.insert([UNIT, UNIT], ids=[0, 10**6])
    index.remove([0, 10**6])
    index.rebuild()
    assert 5 not in index
    with pytest.raises(si.UnknownIdError, match="id is 33838, which is not in the index of 0"):
        index.update(33838, UNIT)
    assert index.insert(UNIT, 7) == 7
    assert index.ids.tolist() == [7]
