"""Copies, clearing, rebuilding, joins, pieces, limits, workers, threads and statistics."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import AMONG, PREDICATES, SENSORS
from spatialindex.errors import InvalidBoxError, ResultTooLargeError
from spatialindex.registry import create
from spatialindex.results import IndexStats
from spatialindex.scenes.generators import generate
from spatialindex.testing.answers import assert_same, canonical
from spatialindex.testing.samples import lattice_boxes, mixed_state, state_options
from spatialindex.testing.twin import COPIES, Twin

if TYPE_CHECKING:
    from typing import Any

    from spatialindex.protocol import Index
    from spatialindex.testing.twin import Factory


def _mixed(factory: Factory, ndim: int, n: int = 120) -> Twin:
    """Return objects of all states with ids that are not dense."""
    rng = np.random.default_rng(41)
    twin = Twin(factory(ndim))
    ids = rng.permutation(5 * n)[:n]
    twin.insert(lattice_boxes(rng, n, ndim), ids, **state_options(mixed_state(rng, n)))
    return twin


def check_copies_are_independent(factory: Factory, ndim: int) -> None:
    """Each way of copying gives an index that lives on when the first one changes or is gone."""
    box = [0.0] * ndim + [1.0] * ndim
    for how in COPIES:
        for is_asked_before in (False, True):
            original = _mixed(factory, ndim, n=50)
            if is_asked_before:
                original.check()
                # a change that the structure has not seen yet
                original.update(original.index.ids[:9], np.array([box] * 9))
            other = original.copied(how)
            assert type(other.index) is type(original.index)
            assert other.index.max_rows == original.index.max_rows
            ids = original.index.ids
            original.remove(ids[::2])
            original.set_state(ids[1::2], layer=8, static=True)
            original.update(None, np.array([box] * len(original.index)))
            other.check()
            original.check()
            original.clear()
            other.check()
            other.update(ids[3], box)
            other.remove(ids[:20])
            other.insert(np.array([box] * 5))
            original.check()
            del original
            other.check()
    empty = Twin(factory(ndim))
    for how in COPIES:
        again = empty.copied(how)
        again.insert(box)
        again.check()


def check_clear_leaves_an_empty_index(factory: Factory, ndim: int) -> None:
    """After `clear` nothing is found, and the index works as before."""
    twin = _mixed(factory, ndim)
    boxes = twin.index.boxes()
    for _ in range(3):
        twin.check()
        twin.clear()
        stats = twin.index.stats()
        assert (stats.objects, stats.entries, stats.buckets, stats.wide) == (0, 0, 0, 0)
        twin.check(boxes[:5])
        twin.insert(boxes, np.arange(len(boxes)) * 7)
    twin.clear()
    twin.insert(boxes)
    twin.check()


def check_rebuild_changes_no_answer(factory: Factory, ndim: int) -> None:
    """`rebuild` at any moment, twice in a row, and on an empty index."""
    rng = np.random.default_rng(42)
    twin = Twin(factory(ndim))
    twin.rebuild()
    twin.insert(lattice_boxes(rng, 100, ndim))
    twin.rebuild()
    twin.rebuild()
    twin.check()
    twin.update(None, lattice_boxes(rng, 100, ndim) * 3)
    twin.remove(np.arange(0, 100, 3))
    twin.rebuild()
    twin.check()
    twin.update(1, [-1e5] * ndim + [1e5] * ndim)
    twin.rebuild()
    twin.check()


def check_joins(factory: Factory, ndim: int) -> None:
    """With boxes, with the same structure, another one and itself, in both directions."""
    rng = np.random.default_rng(43)
    twin = _mixed(factory, ndim)
    for other_index in (factory(ndim), create("brute-force", ndim)):
        other = Twin(other_index)
        other.insert(
            lattice_boxes(rng, 90, ndim),
            rng.permutation(200)[:90] + 2**40,
            **state_options(mixed_state(rng, 90)),
        )
        for sort in (True, False):
            assert len(twin.join(other, sort=sort)) > 0
            assert len(other.join(twin, sort=sort)) > 0
            twin.join(other, layers=2, other_layers=3, sort=sort)
        other.update(None, lattice_boxes(rng, 90, ndim))
        twin.update(twin.index.ids[:5], lattice_boxes(rng, 5, ndim))
        twin.join(other)
        other.clear()
        twin.join(other)
        other.join(twin)
    twin.join(twin)
    twin.join(twin, layers=1, other_layers=2)
    for boxes in (twin.index.boxes()[:30], lattice_boxes(rng, 1, ndim)[0]):
        twin.join(boxes)
        twin.join(boxes, layers=3)
    misfit = create("brute-force", 5 - ndim)
    twin.refuses(ValueError, "join", misfit, says=str(5 - ndim))


def check_pairs_in_pieces(factory: Factory, ndim: int) -> None:
    """`iter_pairs` gives the rows of `pairs` in pieces of at most the size asked for."""
    twin = _mixed(factory, ndim)
    for among in AMONG:
        for sensors in SENSORS:
            whole = twin.pairs(among=among, sensors=sensors)
            for chunk in (1, 7, len(whole), 10**6):
                pieces = list(twin.index.iter_pairs(chunk, among=among, sensors=sensors))
                assert all(0 < len(piece) <= chunk for piece in pieces)
                assert_same(np.concatenate(pieces), whole, f"iter_pairs({chunk}), put together")
            pieces = list(
                twin.index.iter_pairs(7, among=among, sensors=sensors, sort=False, workers=2)
            )
            assert_same(
                canonical(np.concatenate(pieces)), whole, "iter_pairs(sort=False), as a set"
            )
    some = next(iter(twin.index.iter_pairs(3)))
    assert_same(some, twin.pairs()[:3], "the first piece alone")


def check_answers_beyond_max_rows_are_refused(factory: Factory, ndim: int) -> None:
    """An answer of more than `max_rows` rows is refused, one of as many is given in full."""
    box, far = [0.0] * ndim + [1.0] * ndim, [9.0] * ndim + [9.0] * ndim
    twin = Twin(factory(ndim))
    twin.insert([box] * 6 + [far])
    for is_asked_before in (False, True):
        if is_asked_before:
            twin.check()
        for workers in (1, 2):
            calls: list[tuple[int, str, tuple[Any, ...]]] = [
                (15, "pairs", ()),
                (6, "query", (box,)),
                (13, "query", ([box, far, box],)),
                (6, "query_point", (box[:ndim],)),
                (7, "query_radius", (box[:ndim], 100.0)),
                (12, "join", ([box, box],)),
                (37, "join", (twin.index,)),
            ]
            for rows, method, args in calls:
                twin.index.max_rows = rows - 1
                twin.refuses(ResultTooLargeError, method, *args, workers=workers)
                twin.refuses(MemoryError, method, *args, workers=workers, sort=False)
                twin.index.max_rows = rows
                assert len(getattr(twin.index, method)(*args, workers=workers)) == rows
            # counting lists nothing
            twin.index.max_rows = 1
            assert twin.count(box) == 6
            twin.count([box, far], workers=workers)
            twin.index.max_rows = 2**29
    twin.check()


def check_worker_count_changes_nothing(factory: Factory, ndim: int) -> None:
    """Answers are the same arrays, order of unsorted ones included, with 1, 2 and 3 workers."""
    frame = generate("sizes", n=1000, ndim=ndim, seed=44).frame(0)
    asked = frame.boxes[::4]
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for sort in (False, True):
        calls += [
            ("pairs", (), {"sort": sort}),
            ("query", (asked,), {"sort": sort}),
            ("query", (asked[0],), {"sort": sort}),
            ("query_point", (asked[:, :ndim],), {"sort": sort}),
            ("query_radius", (asked[:, :ndim], 10.0), {"sort": sort}),
            ("join", (asked,), {"sort": sort}),
        ]
    calls += [("count", (asked,), {"predicate": predicate}) for predicate in PREDICATES]

    def run(workers: int) -> list[Any]:
        # an index of its own, so that nothing kept from one call answers the next
        index = factory(ndim)
        index.insert(frame.boxes, static=np.arange(1000) % 3 == 0)
        answers = [
            getattr(index, method)(*args, workers=workers, **options)
            for method, args, options in calls
        ]
        return [*answers, index.join(index, workers=workers), index.stats()]

    one = run(workers=1)
    assert all(len(answer) > 0 for answer in one[:-1])
    for workers in (2, 3):
        *answers, stats = run(workers)
        assert stats == one[-1]
        for answer, expected in zip(answers, one, strict=False):
            assert_same(answer, expected, f"an answer of {workers} workers, against one worker's")


def check_concurrent_reads(factory: Factory, ndim: int) -> None:
    """Questions from several threads at once, first ones after changes too, answer as ever."""
    rng = np.random.default_rng(45)
    frame = generate("clustered", n=800, ndim=ndim, seed=45).frame(0)
    twin = Twin(factory(ndim))
    twin.insert(frame.boxes)
    asked = frame.boxes[::20]
    for _ in range(3):
        some = rng.permutation(800)[:200]
        twin.update(some, frame.boxes[rng.permutation(800)[:200]])
        twin.remove(some[:5])
        twin.insert(frame.boxes[:5], some[:5])
        calls: list[Any] = [
            lambda: twin.pairs(),
            lambda: twin.query(asked),
            lambda: twin.query(asked[0]),
            lambda: twin.query_point(asked[:, :ndim]),
            lambda: twin.query_radius(asked[:, :ndim], 3.0),
            lambda: twin.count(asked, workers=2),
            lambda: twin.pairs(workers=2, sort=False),
            lambda: twin.join(asked),
            lambda: twin.nearest(asked[:, :ndim], 3),
            lambda: twin.raycast(asked[:, :ndim], [1.0] * ndim),
            lambda: twin.boxcast_all(asked, [0.5] * ndim, workers=2),
        ]
        with ThreadPoolExecutor(6) as pool:
            for running in [pool.submit(call) for call in calls * 3]:
                running.result()
        twin.index.validate()
    twin.check()


def check_statistics(factory: Factory, ndim: int) -> None:
    """Statistics have the same names everywhere and agree with the answers."""
    twin = Twin(factory(ndim))
    box = [0.0] * ndim + [1.0] * ndim
    for step in range(3):
        if step:
            rng = np.random.default_rng(46)
            twin.insert(lattice_boxes(rng, 60, ndim), **state_options(mixed_state(rng, 60)))
            twin.insert([-1e7] * ndim + [1e7] * ndim)
        stats = twin.index.stats()
        assert isinstance(stats, IndexStats)
        assert list(stats.as_dict()) == [field.name for field in fields(IndexStats)]
        assert stats.objects == len(twin.index)
        assert stats.nbytes == twin.index.nbytes >= 0
        if not step:
            assert (stats.entries, stats.buckets, stats.wide) == (0, 0, 0)
        else:
            assert stats.nbytes > 0
            assert stats.entries + stats.wide >= stats.objects
            assert stats.max_bucket <= stats.entries
            assert (stats.entries > 0) == (stats.buckets > 0)
            if stats.buckets:
                assert stats.mean_bucket == stats.entries / stats.buckets <= stats.max_bucket
        if step < 2:
            counters = (stats.visits, stats.candidates, stats.pairs, stats.masked, stats.resting)
            assert counters == (0, 0, 0, 0, 0), "counters before the first pairs() of a content"
        for among in AMONG:
            for sensors in SENSORS:
                _check_counters(twin, among, sensors)
        twin.query(box)
        if step == 0:
            twin = Twin(factory(ndim))


def _check_counters(twin: Twin, among: str, sensors: str) -> None:
    """Compare the counters after a `pairs` call with what there is to meet."""
    found = twin.pairs(among=among, sensors=sensors)
    stats = twin.index.stats()
    meeting = twin.model.copy()
    meeting.set_state(meeting.ids, layer=1, mask=1)
    overlapping = len(meeting.pairs(among="all"))
    n = len(twin.index)
    assert stats.pairs == len(found)
    # left out are only pairs that were met; what a pruned subtree holds is not met at all
    assert stats.pairs + stats.masked + stats.resting <= min(stats.candidates, overlapping)
    assert stats.candidates <= min(stats.visits, n * (n - 1) // 2)
    if among == "all":
        assert stats.resting == 0


def check_reads_leave_nothing_behind(factory: Factory, ndim: int) -> None:
    """Once each question was asked, statistics, memory and pickle stay as they are."""
    twin = _mixed(factory, ndim)
    twin.check()
    twin.pairs()

    def trace(index: Index) -> tuple[Any, ...]:
        return index.stats(), index.nbytes, len(pickle.dumps(index)), len(index)

    before = trace(twin.index)
    rng = np.random.default_rng(47)
    for asked in (lattice_boxes(rng, 20, ndim), np.array([[-1e9] * ndim + [1e9] * ndim])):
        for predicate in PREDICATES:
            twin.query(asked, predicate=predicate)
            twin.count(asked, predicate=predicate)
        twin.query(asked[0], layers=2)
        twin.query_point(asked[:, :ndim] * 1e6)
        twin.query_radius(asked[:, :ndim], 1e7)
        twin.nearest(asked[:, :ndim], 30, ignore=3)
        twin.raycast(asked[:, :ndim], [1e5] * ndim)
        twin.boxcast_all(asked, [1e5] * ndim, workers=2)
        twin.query_planes([[1.0] * ndim], asked[:1, 0])
        twin.join(asked)
        twin.join(twin)
        twin.pairs()
        twin.pairs(sort=False, workers=2)
        list(twin.index.iter_pairs(10))
        twin.refuses(InvalidBoxError, "query", [np.nan] * (2 * ndim))
        twin.index.validate()
    after = trace(twin.index)
    assert after == before, f"questions left something behind: {before} became {after}"


def check_memory_follows_content(factory: Factory, ndim: int) -> None:
    """Objects that wander far and come back leave no cells, nodes or bytes behind."""
    rng = np.random.default_rng(48)
    twin = Twin(factory(ndim))
    home = lattice_boxes(rng, 40, ndim)
    twin.insert(home)
    for step in range(4):
        twin.update(None, home + step)
        twin.pairs()
    twin.update(None, home)
    twin.check()
    before = twin.index.stats()
    index = twin.index
    for far in rng.uniform(-1e6, 1e6, 60):
        index.update(None, home + far)
        index.pairs()
        index.query_point([far] * ndim)
        index.remove(np.arange(20))
        index.insert(home[:20], np.arange(20))
    index.update(None, home)
    twin.check()
    after = index.stats()
    assert after.buckets <= 2 * before.buckets + 8
    assert after.nbytes <= 2 * before.nbytes + 4096
