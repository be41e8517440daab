"""Lists of neighbours at rest: when they are used and dropped, and that no answer tells."""

import copy
import pickle

import numpy as np
import pytest

import spatialindex as si
from spatialindex.kernels.roles import STATIC
from spatialindex.split import nearby
from spatialindex.testing.answers import assert_same

N_AT_REST, N_MOVERS = 120, 40
MOVERS = np.arange(N_AT_REST, N_AT_REST + N_MOVERS)
STATICS = ["bvh", "hash-grid", "sweep-and-prune", "brute-force"]


@pytest.fixture(autouse=True)
def soonest(monkeypatch):
    monkeypatch.setattr(nearby, "SOONEST", 0)


class World:
    """A split index whose lists are made at once beside brute force that has none."""

    def __init__(self, ndim=2, static="bvh"):
        rng = np.random.default_rng(3)
        self.split = si.SplitIndex(ndim, static=static)
        self.plain = si.BruteForce(ndim)
        self.split._structure.kept_share = -1.0  # pairs are looked for in every call
        self.count()
        lower = rng.integers(0, 9, (N_AT_REST + N_MOVERS, ndim)).astype(float)
        self.boxes = np.hstack([lower, lower + rng.integers(0, 3, lower.shape)])
        self.edges = self.boxes[:, ndim:] - self.boxes[:, :ndim]
        at_rest = np.arange(len(self.boxes)) < N_AT_REST
        self.do("insert", self.boxes, static=at_rest & (self.boxes[:, 0] < 4), asleep=at_rest)

    def count(self):
        """Count who asks the static part, and how often lists are made."""
        self.nearby = self.split._structure._nearby
        self.asked = []
        self.n_made = 0
        part = self.split._structure.parts[STATIC]
        touching, query = part.touching, part.query

        def asked(slots, rule, **options):
            self.asked.append(len(slots))
            return touching(slots, rule, **options)

        def made(region, **options):
            self.n_made += 1
            return query(region, **options)

        part.touching, part.query = asked, made

    def stop_counting(self):
        """Let the part be as it was."""
        part = self.split._structure.parts[STATIC]
        del part.touching, part.query

    def do(self, name, *args, **options):
        """Change both."""
        for index in (self.split, self.plain):
            getattr(index, name)(*args, **options)

    def move(self, far, seed=0):
        """Put movers at random by their places, at most so many edges away."""
        away = np.random.default_rng(seed).uniform(-far, far, (N_MOVERS, self.split.ndim))
        away *= self.edges[MOVERS].mean(axis=1, keepdims=True)
        self.do("update", MOVERS, self.boxes[MOVERS] + np.tile(away, 2))

    def check(self):
        """Compare pairs, and return how many of the movers had to ask."""
        self.asked = []
        for among in ("active", "dynamic"):
            assert_same(self.split.pairs(among=among), self.plain.pairs(among=among), among)
            assert_same(
                self.split.pairs(among=among, sensors="only"),
                self.plain.pairs(among=among, sensors="only"),
                f"{among}, sensors",
            )
        self.split.validate()
        return max(self.asked, default=0)


@pytest.mark.parametrize("static", STATICS)
@pytest.mark.parametrize("ndim", [2, 3])
def test_who_moves_about_its_place_asks_once(ndim, static):
    world = World(ndim, static)
    for seed in range(4):
        world.move(0.2, seed)
        assert world.check() == 0
    assert world.n_made == 1


def test_who_leaves_its_place_asks_anew():
    world = World()
    world.check()
    far = MOVERS[:7]
    world.do("update", far, world.boxes[far[::-1]] + 3.0)
    assert world.check() == 7
    world.do("update", far, world.boxes[far])
    assert world.check() == 0


def test_another_object_in_the_same_slot_has_the_same_neighbours():
    world = World()
    world.check()
    before = world.split._table.find(MOVERS[:1])
    world.do("remove", MOVERS[0])
    world.do("insert", world.boxes[MOVERS[0]], MOVERS[0], layer=3, mask=1)
    assert world.split._table.find(MOVERS[:1]) == before
    assert world.check() == 0


def test_a_new_mover_asks_and_is_found():
    world = World()
    world.check()
    world.do("insert", np.repeat(world.boxes[:1], 20, axis=0))
    assert world.check() > 0


CHANGES = {
    "come": lambda w: w.do("insert", w.boxes[MOVERS[:5]], static=True),
    "go": lambda w: w.do("remove", np.arange(0, 60)),
    "move": lambda w: w.do("update", np.arange(10), w.boxes[MOVERS[:10]]),
    "wake": lambda w: w.do("set_state", np.arange(10), asleep=False, static=False),
    "fall asleep": lambda w: w.do("set_state", MOVERS[:10], asleep=True),
    "are replaced": lambda w: (
        w.do("remove", np.arange(20)),
        w.do("insert", w.boxes[MOVERS[:20]], np.arange(20), asleep=True),
    ),
}


@pytest.mark.parametrize("static", STATICS)
@pytest.mark.parametrize("change", CHANGES)
def test_lists_are_dropped_when_those_at_rest(change, static):
    world = World(static=static)
    world.check()
    made = world.nearby._lists
    assert made is not None
    CHANGES[change](world)
    len(world.split.pairs())
    assert world.nearby._lists is not made
    world.check()


def test_flags_and_layers_are_judged_anew_by_the_same_lists():
    world = World()
    world.check()
    made = world.nearby._lists
    for state in (
        {"layer": 2, "mask": 3},
        {"layer": 0},
        {"layer": 3, "sensor": True},
        {"layer": 1, "static": True},
    ):
        world.do("set_state", np.arange(30), **state)
        world.do("set_state", MOVERS[:9], mask=state["layer"])
        assert world.check() == 0
    assert world.nearby._lists is made


def test_who_is_on_no_layer_is_not_forgotten():
    world = World()
    world.do("set_state", np.arange(30), layer=0)
    assert world.check() == N_MOVERS
    assert world.nearby._lists is None
    world.do("set_state", np.arange(30), layer=1)
    world.check()
    assert world.nearby._lists is not None


def test_who_moves_and_is_on_no_layer_does_not_matter():
    world = World()
    world.do("set_state", MOVERS[0], layer=0)
    world.check()
    assert world.nearby._lists is not None


def test_no_lists_are_made_while_somebody_at_rest_goes_on_changing(monkeypatch):
    monkeypatch.setattr(nearby, "SOONEST", 1)
    world = World()
    for step in range(12):
        world.do("update", 0, world.boxes[0] + 0.25 * (step % 2))
        world.do("update", MOVERS, world.boxes[MOVERS])
        world.split.pairs()
    assert world.n_made == 0


def test_a_copy_makes_plans_of_its_own():
    world = World()
    world.split.pairs()
    world.stop_counting()
    made = world.split.copy()
    assert made._structure._plans == (-1, {})
    assert_same(made.pairs(), world.split.pairs(), "pairs of a copy")


def test_a_hull_that_leaves_the_fat_box_is_asked_for():
    world = World()
    world.check()
    one = MOVERS[0]
    world.split.set_state(one, continuous=True)
    for to in (world.boxes[one] + 50.0, world.boxes[one]):
        world.split.update(one, to)
    hull = np.r_[world.boxes[one][:2], world.boxes[one][2:] + 50.0]
    world.plain.update(one, hull)
    assert world.check() == 1
    world.split.step()
    world.plain.update(one, world.boxes[one])
    assert world.check() == 0


@pytest.mark.parametrize(("one", "is_listed"), [(0, False), (MOVERS[0], True)])
def test_lists_are_not_made_of_hulls_at_rest(one, is_listed):
    world = World()
    world.split.set_state(one, continuous=True)
    world.split.update(one, world.boxes[one])
    world.check()
    assert (world.nearby._lists is not None) == is_listed
    world.split.step()
    world.check()
    assert world.nearby._lists is not None


@pytest.mark.parametrize("how", ["rebuild", "clear", "compact"])
def test_lists_do_not_outlive(how):
    world = World()
    world.check()
    if how == "rebuild":
        world.do("rebuild")
    elif how == "clear":
        world.do("clear")
        world.do("insert", world.boxes[::-1], asleep=np.arange(len(world.boxes)) >= N_MOVERS)
    else:
        world.do("insert", np.tile(world.boxes[:N_AT_REST], (60, 1)) + 100.0, asleep=True)
        world.check()
        world.do("remove", world.plain.ids[len(world.boxes) :])
        world.do("remove", np.arange(0, N_AT_REST, 2))
    world.check()


@pytest.mark.parametrize(
    "renew", [copy.copy, copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))]
)
def test_a_copy_makes_lists_of_its_own(renew):
    world = World()
    world.check()
    world.stop_counting()
    kept = world.split
    nbytes = kept._structure.nbytes
    assert nbytes > kept._structure._nearby.nbytes > 0
    world.split = renew(kept)
    assert world.split._structure.nbytes < nbytes
    world.count()
    world.move(0.4)
    world.check()
    assert world.n_made == 1
    assert world.nearby._part is world.split._structure.parts[STATIC]
    assert kept._structure._nearby._lists is not world.nearby._lists


@pytest.mark.parametrize("n_stale", [0, 9])
def test_unsorted_pairs_do_not_depend_on_workers(n_stale):
    answers = []
    for workers in (1, 2, 3):
        world = World()
        world.check()
        world.move(0.3)
        world.do("update", MOVERS[:n_stale], world.boxes[MOVERS[:n_stale]] + 1.5)
        answers.append(world.split.pairs(sort=False, workers=workers))
        assert world.nearby._lists is not None
    assert_same(answers[1], answers[0], "two workers")
    assert_same(answers[2], answers[0], "three workers")


@pytest.mark.parametrize("n_stale", [0, 9])
def test_an_answer_from_lists_is_as_limited_as_any(n_stale):
    world = World()
    world.check()
    world.do("update", MOVERS[:n_stale], world.boxes[MOVERS[:n_stale]] + 1.5)
    n = len(world.plain.pairs())
    world.split.max_rows = n
    assert len(world.split.pairs()) == n
    world.split.max_rows = n - 1
    with pytest.raises(si.ResultTooLargeError, match=f"more than {n - 1} rows"):
        world.split.pairs()


def test_lists_that_do_not_last_are_made_less_and_less_often(monkeypatch):
    monkeypatch.setattr(nearby, "SOONEST", 1)
    world = World()
    for seed in range(400):
        world.do("update", MOVERS, world.boxes[MOVERS] + 20.0 * seed)
        world.split.pairs()
    assert 0 < world.n_made <= 9


def test_lists_that_lasted_are_made_anew_soon(monkeypatch):
    monkeypatch.setattr(nearby, "SOONEST", 1)
    world = World()
    for place in range(4):
        for _ in range(90):
            world.do("update", MOVERS, world.boxes[MOVERS] + 2.0 * place)
            world.split.pairs()
        assert world.check() == 0
        assert world.nearby._wait == 1
    assert world.n_made == 4


def test_lists_are_not_made_where_everybody_is_near_everybody(monkeypatch):
    monkeypatch.setattr(nearby, "SOONEST", 1)
    world = World()
    world.do("update", np.arange(N_AT_REST), np.repeat([[0, 0, 9.0, 9.0]], N_AT_REST, axis=0))
    for _ in range(3):
        world.do("update", MOVERS, world.boxes[MOVERS])
        assert world.check() == N_MOVERS
    assert world.nearby._lists is None
    assert world.nearby._wait > 1  # another time later than this one


def test_validate_finds_a_list_that_lacks_somebody():
    world = World()
    world.check()
    slots = world.nearby._lists.slots
    slots[0, 0], was = slots[1, 0], slots[0, 0]
    with pytest.raises(si.InvariantError, match="not of all that are near"):
        world.split.validate()
    slots[0, 0] = was
    world.split.validate()
    world.nearby._lists.bounds[0, 0, 0] += 100
    with pytest.raises(si.InvariantError, match="is elsewhere than lists"):
        world.split.validate()
