"""Steps: current pairs, and what began and ended, against set differences of the oracle's pairs."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import spatialindex as si
from spatialindex import oracle
from spatialindex.kernels.events import TO_SENSOR, compare_rows
from spatialindex.kernels.roles import DYNAMIC
from spatialindex.split import nearby
from spatialindex.testing import Model
from spatialindex.testing import strategies as draw
from spatialindex.testing.answers import assert_same

NONE = np.empty((0, 2), np.int64)
ROLES = {
    "default": {},
    "grids": {"static": "bvh", "dynamic": "hash-grid", "coarse": "hash-grid"},
    "swept": {"static": "bvh", "dynamic": "sweep-and-prune", "coarse": "bvh"},
    "scanned": dict.fromkeys(("static", "dynamic", "coarse"), "brute-force"),
}


class World:
    """A split index beside a model that knows hulls, and what a step is to return.

    Objects have a number of their own, so that an id used again is another object.
    """

    def __init__(self, world):
        self.world = world
        self.model = Model(world.ndim)
        self.hulls = {}
        self.numbers = {}
        self.continuous = set()
        self.n_objects = 0
        self.before = {}

    def insert(self, boxes, ids=None, *, continuous=False, **state):
        got = self.world.insert(boxes, ids, continuous=continuous, **state)
        assert_same(got, self.model.insert(boxes, ids, **state), "insert")
        for i in np.atleast_1d(got).tolist():
            self.hulls[i] = self.model.boxes(i)
            self.numbers[i] = self.n_objects
            self.n_objects += 1
            if continuous:
                self.continuous.add(i)
        return got

    def update(self, ids, boxes):
        self.world.update(ids, boxes)
        self.model.update(ids, boxes)
        for i in self.listed(ids):
            box, d = self.model.boxes(i), self.model.ndim
            old = self.hulls[i] if i in self.continuous else box
            self.hulls[i] = np.r_[np.minimum(old[:d], box[:d]), np.maximum(old[d:], box[d:])]

    def teleport(self, ids, boxes):
        self.world.teleport(ids, boxes)
        self.model.update(ids, boxes)
        for i in self.listed(ids):
            self.hulls[i] = self.model.boxes(i)

    def remove(self, ids):
        self.world.remove(ids)
        for i in self.listed(ids):
            del self.hulls[i], self.numbers[i]
            self.continuous.discard(i)
        self.model.remove(ids)

    def clear(self):
        self.world.clear()
        self.model.clear()
        self.hulls, self.numbers, self.continuous = {}, {}, set()

    def set_state(self, ids, *, continuous=None, **state):
        self.world.set_state(ids, continuous=continuous, **state)
        self.model.set_state(ids, **state)
        for i in self.listed(ids) if continuous is not None else ():
            if continuous:
                self.continuous.add(i)
            else:
                self.continuous.discard(i)
                self.hulls[i] = self.model.boxes(i)

    def listed(self, ids):
        return self.model.ids.tolist() if ids is None else np.atleast_1d(ids).tolist()

    def pairs(self, among, sensors="include"):
        ids, state = self.model.ids, self.model.state()
        boxes = np.array([self.hulls[i] for i in ids.tolist()]).reshape(-1, 2 * self.model.ndim)
        return oracle.pairs(ids, boxes, state, among=among, sensors=sensors)

    def check(self):
        """Ask for present pairs and boxes."""
        for among in ("active", "dynamic", "all"):
            for sensors in ("include", "exclude", "only"):
                got = self.world.pairs(among=among, sensors=sensors)
                assert_same(got, self.pairs(among, sensors), f"pairs({among}, {sensors})")
        whole = [-np.inf] * self.model.ndim + [np.inf] * self.model.ndim
        assert_same(self.world.query(whole), self.model.query(whole), "query")
        assert_same(self.world.boxes(), self.model.boxes(), "boxes()")
        flags = self.world.state()["continuous"]
        assert self.world.ids[flags].tolist() == sorted(self.continuous)

    def step(self, **options):
        """Make a step, check all that it returns, and return it."""
        contacts = self.pairs("active", "exclude")
        zones = self.pairs("active", "only")
        now = {}
        for sensors in ("exclude", "only"):
            for a, b in self.pairs("dynamic", sensors).tolist():
                now[a, b, self.numbers[a], self.numbers[b], sensors] = None
        report = self.world.step(**options)
        for name, some, others, sensors in (
            ("began", now, self.before, "exclude"),
            ("ended", self.before, now, "exclude"),
            ("sensor_began", now, self.before, "only"),
            ("sensor_ended", self.before, now, "only"),
        ):
            rows = sorted(key[:2] for key in some.keys() - others.keys() if key[4] == sensors)
            expected = np.array(rows, np.int64).reshape(-1, 2)
            assert_same(getattr(report, name), expected, f"report.{name}")
        assert_same(report.pairs, contacts, "report.pairs")
        assert_same(report.sensor_pairs, zones, "report.sensor_pairs")
        self.before = now
        self.hulls = {i: self.model.boxes(i) for i in self.hulls}
        return report


def make(roles="default", ndim=2, *, is_kept=None):
    """Make a world; pairs are kept by what is measured, or always, or never."""
    world = si.SplitIndex(ndim, **ROLES[roles])
    if is_kept is not None:
        world._structure.kept_share = np.inf if is_kept else -1.0
    return World(world)


def boxes(rng, n, ndim=2, side=12):
    lower = rng.integers(0, side, (n, ndim)).astype(float)
    return np.hstack([lower, lower + rng.integers(0, 3, (n, ndim))])


def events(report):
    return [
        rows.tolist()
        for rows in (report.began, report.ended, report.sensor_began, report.sensor_ended)
    ]


HERE, AWAY = [0.0, 0, 1, 1], [9.0, 9, 10, 10]


# What begins and ends


def test_the_first_step_begins_all_there_is():
    world = make()
    world.insert([HERE, HERE, AWAY])
    assert events(world.step()) == [[[0, 1]], [], [], []]


def test_nothing_changed_begins_and_ends_nothing():
    world = make()
    world.insert([HERE, HERE], sensor=[False, True])
    world.step()
    for _ in range(3):
        report = world.step()
        assert events(report) == [[], [], [], []]
        assert report.sensor_pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("change", "began", "ended"),
    [
        (lambda w: w.update(0, AWAY), [[0, 2]], [[0, 1]]),
        (lambda w: w.teleport(0, AWAY), [[0, 2]], [[0, 1]]),
        (lambda w: w.remove(0), [], [[0, 1]]),
        (lambda w: w.set_state(0, mask=2), [], [[0, 1]]),
        (lambda w: w.set_state(1, layer=0), [], [[0, 1]]),
        (lambda w: w.set_state([0, 1], static=True), [], [[0, 1]]),
        (lambda w: w.set_state(0, static=True), [], []),
        (lambda w: w.set_state([0, 1], asleep=True), [], []),
        (lambda w: w.clear(), [], [[0, 1]]),
    ],
)
def test_each_change_shows_in_the_events_of_the_next_step(change, began, ended):
    world = make()
    world.insert([HERE, HERE, AWAY])
    world.step()
    change(world)
    report = world.step()
    assert (report.began.tolist(), report.ended.tolist()) == (began, ended)
    assert events(world.step()) == [[], [], [], []]


def test_a_pair_that_becomes_one_of_a_sensor_ends_and_begins():
    world = make()
    world.insert([HERE, HERE])
    world.step()
    world.set_state(1, sensor=True)
    assert events(world.step()) == [[], [[0, 1]], [[0, 1]], []]
    world.set_state(1, sensor=False)
    assert events(world.step()) == [[[0, 1]], [], [], [[0, 1]]]


@pytest.mark.parametrize("sparse", [0, 10**15])
def test_an_id_used_again_within_a_step_has_ended_and_begun(sparse):
    world = make()
    ids = (np.arange(4) + sparse).tolist()
    world.insert([HERE, HERE, AWAY, HERE], ids=ids)
    world.step()
    world.remove([ids[1], ids[2]])
    world.insert([HERE, HERE], ids=[ids[2], ids[1]])
    report = world.step()
    a, b, c, d = ids
    assert report.ended.tolist() == [[a, b], [b, d]]
    assert report.began.tolist() == [[a, b], [a, c], [b, c], [b, d], [c, d]]
    world.clear()
    world.insert([HERE, HERE], ids=ids[:2])
    report = world.step()
    assert report.began.tolist() == [[a, b]]
    assert [a, b] in report.ended.tolist()


def test_what_comes_and_goes_between_two_steps_is_no_event():
    world = make()
    world.insert([HERE, AWAY])
    world.step()
    world.update(0, AWAY)
    world.world.pairs()
    world.update(0, HERE)
    short = world.insert(HERE)
    world.world.pairs(among="dynamic")
    world.remove(short)
    world.update(1, HERE)
    world.update(1, AWAY)
    assert events(world.step()) == [[], [], [], []]


def test_falling_asleep_and_waking_are_no_events():
    world = make()
    pile = world.insert([[i, 0.0, i + 1, 1] for i in range(6)])
    world.step()
    for asleep in (True, False):
        for i in pile:
            world.set_state(i, asleep=asleep)
            assert events(world.step()) == [[], [], [], []]


def test_many_ids_that_were_removed_and_never_used_again_are_forgotten():
    world = si.SplitIndex()
    world.insert(np.tile(HERE, (3, 1)))
    world.step()
    for _ in range(40):
        world.remove(world.insert(np.tile(AWAY, (100, 1))))
    assert sum(map(len, world._gone)) <= 1200
    world.remove(0)
    world.insert(HERE, 0)
    assert world.step().began.tolist() == [[0, 1], [0, 2]]


# The report


def test_a_report_is_of_its_step_for_good():
    world = make()
    world.insert([HERE, HERE, HERE], sensor=[False, False, True])
    report = world.world.step()
    world.world.update(0, AWAY)
    world.world.set_state(1, asleep=True, sensor=True)
    world.world.step()
    world.world.clear()
    assert report.pairs.tolist() == [[0, 1]]
    assert report.sensor_pairs.tolist() == [[0, 2], [1, 2]]
    report.pairs[0, 0] = 77
    assert report.began.tolist() == [[0, 1]]


def test_statistics_of_a_step():
    world = si.SplitIndex(dynamic="brute-force")
    world.insert(np.tile(HERE, (12, 1)), static=np.arange(12) < 4, asleep=np.arange(12) < 9)
    world.insert(HERE, mask=2)
    world.insert([0.0, 0, 1e9, 1], static=True)
    report = world.step()
    stats = report.stats
    assert (stats.objects, stats.static, stats.dynamic, stats.coarse) == (14, 9, 4, 1)
    assert stats.pairs == len(world.pairs()) == len(report.pairs)
    assert stats.asleep == len(world.pairs(among="dynamic")) - stats.pairs
    assert (stats.began, stats.ended) == (len(report.began), 0)
    assert stats.candidates >= stats.pairs + stats.masked + stats.resting
    assert stats.masked == 13
    assert stats.max_bucket >= stats.mean_bucket > 0
    assert all(seconds >= 0 for seconds in stats.times)
    shown = stats.as_dict()
    assert shown["times"].keys() == {"update", "pairs", "events"}
    assert shown["coarse"] == 1
    assert repr(report) == (
        f"<StepReport of 14 objects: {len(report.began)} began, 0 ended, with sensors 0 and 0>"
    )


def test_statistics_are_read_before_the_next_change():
    world = si.SplitIndex()
    world.insert([HERE, HERE])
    early, late = world.step(), world.step()
    assert early.stats.pairs == 1
    world.update(0, AWAY)
    assert early.stats.pairs == 1
    with pytest.raises(si.InvalidArgumentError, match="read its stats before the next change"):
        late.stats  # noqa: B018


def test_pairs_that_are_kept_and_those_of_a_step_are_counted_once():
    world = si.SplitIndex(ndim=2)
    world.insert([HERE] * 60)
    world.pairs()
    before = world.nbytes
    world.step()
    assert world.nbytes - before == 60 * 59 // 2  # a byte each: whether a sensor is in it


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_step_is_too_large_by_all_its_pairs_however_they_are_found(is_kept):
    world = make(is_kept=is_kept)
    world.insert([HERE] * 4, asleep=[True, True, True, False])
    world.step()
    world.world.max_rows = 9
    world.insert(HERE, asleep=True)
    for ask in (world.world.step, lambda: world.world.pairs(among="dynamic")):
        with pytest.raises(si.ResultTooLargeError, match="more than 9 rows"):
            ask()
    world.world.max_rows = 10
    assert len(world.step().began) == 4


def test_a_step_that_is_too_large_can_be_made_again():
    world = make()
    world.insert([HERE, HERE, AWAY, AWAY], continuous=True)
    world.step()
    world.remove(0)
    world.insert(HERE, 0)
    world.update(2, HERE)
    world.world.max_rows = 2
    with pytest.raises(si.ResultTooLargeError, match="more than 2 rows"):
        world.world.step()
    world.world.max_rows = 100
    report = world.step()
    assert report.ended.tolist() == [[0, 1]]
    assert report.began.tolist() == [[0, 1], [0, 2], [1, 2]]


# Continuous objects

WALL = [5.0, -100.0, 5.01, 100.0]
START, BEHIND = [0.0, 0, 0.1, 0.1], [90.0, 0, 90.1, 0.1]


@pytest.mark.parametrize("roles", ROLES)
def test_a_bullet_meets_the_wall_that_it_passes(roles):
    world = make(roles)
    wall = world.insert(WALL, static=True)
    bullet = world.insert(START, continuous=True)
    assert events(world.step()) == [[], [], [], []]
    world.update(bullet, BEHIND)
    assert world.world.query(BEHIND).tolist() == [bullet]
    assert world.world.query(START).tolist() == []
    world.check()
    report = world.step()
    assert report.began.tolist() == [[wall, bullet]]
    # at the next step it is where it is
    world.check()
    assert world.step().ended.tolist() == [[wall, bullet]]


def test_a_bullet_that_is_teleported_meets_nothing_on_the_way():
    world = make()
    world.insert(WALL, static=True)
    bullet = world.insert(START, continuous=True)
    world.step()
    world.teleport(bullet, BEHIND)
    assert len(world.step().began) == 0
    # neither does one whose hull begins behind the wall
    world.update(bullet, START)
    world.teleport(bullet, BEHIND)
    world.update(bullet, [91.0, 0, 91.1, 0.1])
    assert len(world.step().began) == 0


def test_an_object_that_is_not_continuous_passes_between_two_steps():
    world = make()
    world.insert(WALL, static=True)
    one = world.insert(START)
    world.step()
    world.update(one, BEHIND)
    assert len(world.step().began) == 0


def test_several_moves_in_a_frame_have_one_hull():
    world = make()
    world.insert([WALL, [0.0, 50.0, 1, 51]], static=True)
    bullet = world.insert(START, continuous=True)
    world.step()
    world.update(bullet, BEHIND)
    world.update(bullet, [0.0, 50, 0.1, 50.1])
    world.check()
    assert world.step().began.tolist() == [[0, 2], [1, 2]]
    assert world.step().ended.tolist() == [[0, 2]]


def test_a_change_of_the_flag_takes_effect_at_once():
    world = make()
    world.insert(WALL, static=True)
    one = world.insert([START, START])
    world.step()
    world.set_state(one[0], continuous=True)
    world.update(one, [BEHIND, BEHIND])
    assert world.world.pairs().tolist() == [[0, 1], [1, 2]]
    world.set_state(one[0], continuous=False)
    assert world.world.pairs().tolist() == [[1, 2]]
    assert world.world.state(one)["continuous"].tolist() == [False, False]
    world.step()


def test_an_id_used_again_is_not_continuous_any_more():
    world = make()
    world.insert(WALL, static=True)
    bullet = world.insert(START, continuous=True)
    world.update(bullet, BEHIND)
    world.remove(bullet)
    world.insert(START, bullet)
    world.update(bullet, BEHIND)
    world.check()
    assert len(world.step().began) == 0


@pytest.mark.parametrize(
    "renew", [copy.deepcopy, *(lambda w, p=p: pickle.loads(pickle.dumps(w, p)) for p in (4, 5))]
)
def test_a_copy_goes_on_with_hulls_and_events(renew):
    world = make()
    world.insert(WALL, static=True)
    bullet = world.insert(START, continuous=True)
    world.insert([HERE, HERE])
    world.step()
    world.update(bullet, BEHIND)
    world.remove(2)
    world.insert(HERE, 2)
    other = copy.copy(world)
    other.world = renew(world.world)
    other.model, other.hulls = world.model.copy(), dict(world.hulls)
    other.numbers, other.continuous = dict(world.numbers), set(world.continuous)
    world.clear()
    report = other.step()
    assert report.began.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert report.ended.tolist() == [[1, 2], [2, 3]]
    other.check()
    world.step()


def test_hulls_outlive_growth_and_compaction_of_the_table():
    world = make()
    world.insert(WALL, static=True)
    bullet = world.insert(START, 10**12, continuous=True)
    world.step()
    world.update(bullet, BEHIND)
    many = world.world.insert(np.tile(AWAY, (9000, 1)) + 1000.0, layer=2, mask=4)
    world.world.pairs()
    world.world.remove(many)
    assert world.world.pairs().tolist() == [[0, bullet]]
    assert len(world.world._table.slot_ids) < 9000
    world.world.validate()
    world.step()
    world.check()


def test_flags_that_are_none_are_refused():
    world = si.SplitIndex()
    world.insert(HERE)
    with pytest.raises(si.InvalidArgumentError, match=r"continuous.0. is 7: pass True or False"):
        world.insert([HERE], continuous=[7])
    with pytest.raises(si.InvalidArgumentError, match="continuous"):
        world.set_state(0, layer=5, continuous="yes")
    assert world.state(0)["layer"] == 1
    assert len(world) == 1


# Many steps


@pytest.mark.parametrize(
    ("roles", "ndim", "is_kept"),
    [
        *((roles, ndim, None) for roles in ROLES for ndim in (2, 3)),
        ("default", 2, True),
        ("default", 2, False),
        ("swept", 3, False),
    ],
)
def test_events_of_many_steps_are_differences_of_pairs(roles, ndim, is_kept, monkeypatch):
    if is_kept is False:
        monkeypatch.setattr(nearby, "SOONEST", 0)
    rng = np.random.default_rng(7)
    world = make(roles, ndim, is_kept=is_kept)
    n = 150
    world.insert(
        boxes(rng, n, ndim),
        static=rng.random(n) < 0.4,
        asleep=rng.random(n) < 0.3,
        sensor=rng.random(n) < 0.1,
    )
    world.insert([[-1e9] * ndim + [0.0] * ndim], static=True)
    for t in range(12):
        some = rng.permutation(world.model.ids)[: rng.integers(1, 40)]
        cut = len(some) // 3
        world.update(some, boxes(rng, len(some), ndim))
        world.set_state(some[:cut], asleep=rng.integers(0, 2, cut), continuous=bool(t % 2))
        if t % 3 == 0:
            world.remove(some[:cut])
            world.insert(boxes(rng, cut, ndim), some[:cut][::-1], sensor=t % 2 == 0)
        if t % 4 == 1:
            world.check()
        world.step(workers=1 + t % 2)
        world.world.validate()


def test_kept_and_fresh_pairs_make_the_same_events():
    rng = np.random.default_rng(8)
    keeping, fresh = make(is_kept=True), make(is_kept=False)
    for world in (keeping, fresh):
        world.insert(boxes(np.random.default_rng(1), 200, side=20))
    for _ in range(6):
        some, to = rng.permutation(200)[:30], boxes(rng, 30, side=20)
        for world in (keeping, fresh):
            world.update(some, to)
            world.set_state(some[:5], asleep=True)
            world.step()
            world.world.pairs()
            world.world.validate()


REST = {
    "wakes": lambda w: w.set_state(3, asleep=False),
    "wakes and moves away": lambda w: (w.set_state(3, asleep=False), w.update(3, AWAY)),
    "moves in its sleep": lambda w: w.update(3, AWAY),
    "can be met no more": lambda w: w.set_state(3, mask=0),
    "becomes a sensor": lambda w: w.set_state(3, sensor=True),
    "becomes static": lambda w: w.set_state([3, 4], static=True),
    "is removed": lambda w: w.remove(3),
    "is replaced by a sleeper": lambda w: (w.remove(3), w.insert(HERE, 3, asleep=True)),
    "is replaced by one awake": lambda w: (w.remove(3), w.insert(HERE, 3)),
    "leaves its slot to another": lambda w: (w.remove(3), w.insert(HERE, 2**40, asleep=True)),
    "falls asleep with all others": lambda w: w.set_state(None, asleep=True),
    "wakes with all others": lambda w: w.set_state(None, asleep=False),
    "goes with all others": lambda w: w.clear(),
    "moves and all is rebuilt": lambda w: (w.update(3, AWAY), w.world.rebuild()),
}


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("change", REST)
def test_pairs_of_sleepers_follow_a_sleeper_that(change, is_kept):
    world = make(is_kept=is_kept)
    asleep, static = np.arange(8) > 1, np.arange(8) == 7
    world.insert([HERE] * 8, asleep=asleep & ~static, static=static)
    world.step()
    assert world.step().stats.asleep == 15
    REST[change](world)
    for box in (None, AWAY, HERE):
        if box is not None and 0 in world.model.ids:
            world.update(0, box)
        world.step()
        world.world.validate()


FAILING = {
    "takes in changes": lambda w: (w._structure.parts[DYNAMIC], "apply"),
    "routes": lambda w: (w._structure._router, "routed"),
    "asks who is touched": lambda w: (w._structure, "touching"),
    "mends pairs of sleepers": lambda w: (w._step_pairs, "changed_resting"),
    "compares": lambda w: (w._step_pairs._comparison, "of"),
    "lets hulls shrink": lambda w: (w._table, "settle"),
}


@pytest.mark.parametrize("place", FAILING)
def test_a_step_can_be_made_again_after_memory_ran_out_while_it(place, monkeypatch):
    def fail(*_, **__):
        raise MemoryError(place)

    world = make("scanned", is_kept=True)
    world.insert([HERE] * 8, asleep=np.arange(8) > 1, sensor=np.arange(8) == 6)
    world.set_state([0, 4], continuous=True)
    world.step()
    world.remove(3)
    world.insert(HERE, 3, asleep=True)
    world.update([0, 4], [AWAY, AWAY])
    world.set_state(5, asleep=False)
    with monkeypatch.context() as broken:
        broken.setattr(*FAILING[place](world.world), fail)
        with pytest.raises(MemoryError, match=place):
            world.world.step()
    assert len(world.step().began) > 0
    world.step()
    world.world.validate()


def test_sleepers_are_not_asked_while_only_others_change():
    world = make(is_kept=True)
    world.insert([HERE] * 6, asleep=np.arange(6) > 1)
    world.step()
    asked = []
    touching = world.world._structure.touching
    world.world._structure.touching = lambda slots, *rest, **options: (
        asked.append(slots.tolist()) or touching(slots, *rest, **options)
    )
    world.update(1, [0.0, 0, 2, 2])
    world.step()
    assert asked == [[1]]
    asked.clear()
    world.update([1, 4], [HERE, AWAY])
    world.step()
    assert asked == [[1, 4], [4]]


# A tracker alone


def test_a_tracker_tells_events_of_any_index():
    index = si.HashGrid(ndim=2)
    index.insert([HERE, HERE, AWAY])
    tracker = si.PairTracker()
    assert tracker.update(index.pairs(among="dynamic")).began.tolist() == [[0, 1]]
    index.update(1, AWAY)
    began, ended = tracker.update(index.pairs(among="dynamic"))
    assert (began.tolist(), ended.tolist()) == ([[1, 2]], [[0, 1]])
    assert tracker.pairs.tolist() == [[1, 2]]
    index.remove(1)
    index.insert(AWAY, 1)
    began, ended = tracker.update(index.pairs(among="dynamic"), renewed=[1])
    assert (began.tolist(), ended.tolist()) == ([[1, 2]], [[1, 2]])
    tracker.clear()
    assert tracker.update(index.pairs()).began.tolist() == [[1, 2]]


def some_rows(rng, side, most):
    rows = rng.integers(0, side, (int(rng.integers(0, most)), 2))
    return np.unique(rows[rows[:, 0] < rows[:, 1]], axis=0).reshape(-1, 2)


def told(rows, codes, others, other_codes, renewed):
    """Return rows that others are not, or not by their code, contacts and pairs with sensors."""
    known = {(*row, code) for row, code in zip(others.tolist(), other_codes.tolist(), strict=True)}
    found = ([], [])
    for row, code in zip(rows.tolist(), codes.tolist(), strict=True):
        if (*row, code) not in known or not renewed.isdisjoint(row):
            found[code].append(row)
    return found


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("again", [(), (1,), (0, 2, 5)])
def test_rows_compared_are_differences_of_sets(again, coded):
    rng = np.random.default_rng(len(again))
    renewed = np.array(again, np.int64)
    for round_ in range(60):
        old = some_rows(rng, 9, 50)
        # the same rows, all but one at either end or in between, others, and none at all
        gone = rng.integers(0, max(len(old), 1), 1)
        more = some_rows(rng, 9, 50)
        new = (old, np.delete(old, gone[: len(old)], axis=0), old[1:], old[:-1], more)[round_ % 5]
        codes = [TO_SENSOR * (rng.random(len(rows)) < 0.2 * coded) for rows in (old, new)]
        codes = [code.astype(np.uint8) for code in codes]
        began, sensor_began = told(new, codes[1], old, codes[0], set(again))
        ended, sensor_ended = told(old, codes[0], new, codes[1], set(again))
        expected = [began, ended, sensor_began, sensor_ended]
        for room in (99, 2, 0):
            out = [np.empty((room + 1, 2), np.int64) for _ in expected]
            counts = np.empty(4, np.int64)
            given = codes if coded else [np.empty(0, np.uint8)] * 2
            compare_rows(old, given[0], new, given[1], renewed, *out, counts)
            sizes = [len(rows) for rows in expected]
            assert counts.tolist() == sizes
            for rows, wanted in zip(out, expected, strict=True):
                assert rows[: min(room, len(wanted))].tolist() == wanted[:room]


@pytest.mark.parametrize("protocol", [4, 5])
def test_a_tracker_compares_rows_that_cannot_be_written_to(protocol):
    tracker = pickle.loads(pickle.dumps(si.PairTracker(), protocol))
    rows = np.frombuffer(np.array([[0, 1], [0, 2]]).tobytes(), np.int64).reshape(2, 2)
    assert tracker.update(rows).began.tolist() == [[0, 1], [0, 2]]
    tracker = pickle.loads(pickle.dumps(tracker, protocol))
    assert tracker.update(tracker.pairs).began.tolist() == []
    assert tracker.update([[0, 2]]).ended.tolist() == [[0, 1]]


def test_a_tracker_is_not_changed_by_what_happens_to_its_input():
    rows = np.array([[0, 1], [0, 2]])
    tracker = si.PairTracker()
    began, _ = tracker.update(rows)
    rows[:] = 9
    began[:] = 9
    assert tracker.update([[0, 1], [0, 2]]).began.tolist() == []
    with pytest.raises(ValueError, match="read-only"):
        tracker.pairs[0] = 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 2], [0, 1]], r"pairs\[1\] is \[0, 1\], which does not come after \[0, 2\]; pass"),
        ([[0, 2], [0, 2]], r"pairs\[1\] is \[0, 2\], which does not come after \[0, 2\]"),
        ([[1, 1]], r"pairs\[0\] is \[1, 1\]: a pair is \(a, b\) of ids with a < b"),
        ([[0, 1], [-1, 2]], r"pairs\[1\] is \[-1, 2\]: a pair is"),
        ([0, 1], r"pairs has shape \(2,\) and dtype int64; pass \(m, 2\) rows of ids"),
        ([[0.5, 1]], r"pairs has shape \(1, 2\) and dtype float64"),
    ],
)
def test_rows_that_are_no_pairs_in_order_are_refused(rows, message):
    tracker = si.PairTracker()
    tracker.update([[3, 4]])
    with pytest.raises(si.InvalidArgumentError, match=message):
        tracker.update(rows)
    assert tracker.pairs.tolist() == [[3, 4]]


# Everything at once

PICKS = st.lists(st.integers(0, 99), max_size=5)
FLAGS = st.fixed_dictionaries(
    {},
    optional={name: st.booleans() for name in ("static", "asleep", "sensor", "continuous")}
    | {"layer": st.integers(0, 3), "mask": st.integers(0, 3)},
)


def step_machine(roles, ndim, is_kept):
    """Make a machine of steps, between which anything happens, several times if need be."""
    box = draw.boxes(ndim)

    class Steps(RuleBasedStateMachine):
        @initialize()
        def start(self):
            self.world = make(roles, ndim, is_kept=is_kept)

        def picked(self, picks):
            known = self.world.model.ids.tolist()
            return list(dict.fromkeys(known[k % len(known)] for k in picks)) if known else []

        @rule(row=box, flags=FLAGS)
        def insert(self, row, flags):
            self.world.insert(row, **flags)

        @rule(rows=draw.box_batches(ndim), flags=FLAGS)
        def insert_many(self, rows, flags):
            self.world.insert(rows, **flags)

        @rule(picks=PICKS, data=st.data(), how=st.sampled_from(("update", "teleport")))
        def move(self, picks, data, how):
            ids = self.picked(picks)
            rows = data.draw(draw.box_batches(ndim, len(ids), len(ids)))
            getattr(self.world, how)(np.array(ids, np.int64), rows)

        @rule(picks=PICKS, flags=FLAGS)
        def set_state(self, picks, flags):
            self.world.set_state(np.array(self.picked(picks), np.int64), **flags)

        @rule(picks=PICKS)
        def remove(self, picks):
            self.world.remove(np.array(self.picked(picks), np.int64))

        @rule(picks=PICKS, row=box, flags=FLAGS)
        def replace(self, picks, row, flags):
            for i in self.picked(picks):
                self.world.remove(i)
                self.world.insert(row, i, **flags)

        @rule(id_=st.sampled_from((2**40, 2**62)), row=box)
        def insert_far_id(self, id_, row):
            if id_ not in self.world.world:
                self.world.insert(row, id_, continuous=True)

        @rule(how=st.sampled_from(("clear", "rebuild", "copy")))
        def upkeep(self, how):
            if how == "clear":
                self.world.clear()
            elif how == "rebuild":
                self.world.world.rebuild()
            else:
                self.world.world = self.world.world.copy()

        @rule()
        def check(self):
            self.world.check()

        @rule()
        def step(self):
            self.world.step()

        @invariant()
        def is_sound(self):
            self.world.world.validate()

    return Steps


@pytest.mark.parametrize(
    ("roles", "ndim", "is_kept"),
    [
        ("default", 2, True),
        ("default", 3, None),
        ("default", 2, False),
        ("scanned", 2, None),
        ("scanned", 3, True),
        ("scanned", 3, False),
    ],
)
def test_steps_of_any_history_return_what_the_oracle_does(roles, ndim, is_kept, monkeypatch):
    if is_kept is False:  # whom movers are near to is all that is
        monkeypatch.setattr(nearby, "SOONEST", 0)
    machine = step_machine(roles, ndim, is_kept)
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=25, max_examples=60))
