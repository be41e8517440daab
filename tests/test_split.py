"""The split index: who belongs where, and that three parts answer as one."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest

import spatialindex as si
from spatialindex.registry import Entry, unregister
from spatialindex.testing import Model, Twin

TINY = {"cell_size": 0.4, "max_cells": 64}
ROLES = {
    "default": {},
    "grids": {"static": "bvh", "dynamic": "hash-grid", "coarse": "hash-grid"},
    "swept": {"static": "bvh", "dynamic": "sweep-and-prune", "coarse": "bvh"},
    "scanned": dict.fromkeys(("static", "dynamic", "coarse"), "brute-force"),
    "tiny": {
        "static": ("bvh", {"leaf_size": 1}),
        "dynamic": ("hash-grid", TINY),
        "coarse": ("hash-grid", {"cell_size": 3.0, "max_cells": 64}),
    },
}
GIANT = [-1e12, -1e12, 1e12, -1.0]
WALL = [0.0, 5.0, 1e6, 5.1]
BEYOND = [1e300, 1e300, 1.5e300, 1.5e300]


def split(name, ndim=2):
    return si.create("split", ndim, **ROLES[name])


def bolts(rng, n, side):
    lower = rng.uniform(0, side, (n, 2))
    return np.hstack([lower, lower + rng.uniform(0.05, 0.15, (n, 2))])


# Who belongs where


def test_static_and_sleeping_objects_are_in_the_static_part():
    world = si.SplitIndex()
    world.insert([[0, 0, 1, 1]] * 4, static=[1, 1, 0, 0], asleep=[0, 1, 1, 0])
    assert world.route().tolist() == ["static", "static", "static", "dynamic"]
    assert world.route(3) == "dynamic"
    assert world.route([3, 0]).tolist() == ["dynamic", "static"]


def test_changing_flags_and_sizes_routes_anew():
    world = si.SplitIndex()
    world.insert([[i, 0, i + 1, 1] for i in range(10)])
    for state, part in (
        ({"asleep": True}, "static"),
        ({"static": True}, "static"),
        ({"asleep": False}, "static"),
        ({"static": False}, "dynamic"),
    ):
        world.set_state(3, **state)
        assert world.route(3) == part
        world.validate()
    world.update(3, [0, 0, 100, 1])
    assert world.route(3) == "coarse"
    world.set_state(3, static=True)
    assert world.route(3) == "coarse"
    world.update(3, [0, 0, 1, 1])
    assert world.route(3) == "static"
    world.validate()
    assert world.stats().objects == 10


def test_unknown_id_has_no_route():
    world = si.SplitIndex()
    with pytest.raises(si.UnknownIdError, match="id is 7"):
        world.route(7)


@pytest.mark.parametrize("roles", ROLES)
def test_giants_among_bolts_are_coarse_and_nothing_is_dropped(roles):
    rng = np.random.default_rng(1)
    twin = Twin(split(roles))
    giants = np.array([GIANT, WALL, BEYOND])
    ids = twin.insert(giants, static=[True, True, False])
    twin.insert(bolts(rng, 700, 12.0))
    # a bolt of common size where no cell can be
    far = twin.insert([3e300, 0, 3e300, 1])
    assert twin.index.route(ids).tolist() == ["coarse"] * 3
    for _ in range(4):
        twin.check(giants)
        some = rng.permutation(700)[:40] + 3
        twin.update(some, bolts(rng, 40, 12.0))
        twin.update(far, [3e300, 0, 3e300, 0.5])
        twin.set_state(some[:10], asleep=True)
        twin.index.step()


def test_what_its_part_does_not_hold_is_coarse():
    world = si.SplitIndex(dynamic=("hash-grid", {"cell_size": 0.01, "max_cells": 16}))
    world.insert([[0, 0, 0.01, 0.01], [0, 0, 0.2, 0.2]])
    assert world.route().tolist() == ["dynamic", "coarse"]
    world.set_state(1, static=True)
    assert world.route(1) == "static"
    world.validate()


def test_a_world_that_has_grown_is_routed_afresh():
    rng = np.random.default_rng(2)
    world = si.SplitIndex()
    world.insert(bolts(rng, 1000, 50.0))
    world.pairs()
    world.update(None, bolts(rng, 1000, 50.0) * 1000)
    assert set(world.route()) == {"dynamic"}
    world.validate()


def test_rebuilding_chooses_anew_and_changes_no_answer():
    world = si.SplitIndex()
    world.insert([[i, 0, i + 1, 1] for i in range(100)])
    world.pairs()
    big = world.insert([[0, 0, 50, 50]] * 60)
    assert set(world.route(big)) == {"coarse"}
    before = world.pairs(), world.query([3, 0, 4, 1])
    world.rebuild()
    assert set(world.route(big)) == {"dynamic"}
    after = world.pairs(), world.query([3, 0, 4, 1])
    assert [a.tolist() for a in before] == [a.tolist() for a in after]


# What it costs: work that is not done


def test_resting_objects_are_not_looked_at_for_active_pairs():
    world = si.SplitIndex()
    world.insert(np.tile([0.0, 0, 1, 1], (300, 1)), static=np.arange(300) < 200, asleep=True)
    world.insert([[0, 0, 1, 1], [8, 8, 9, 9]])
    assert len(world.pairs()) == 300
    stats = world.stats()
    assert (stats.candidates, stats.resting) == (301, 0)
    assert len(world.pairs(among="dynamic")) == 300 + 300 * 299 // 2 - 200 * 199 // 2


def test_a_waking_object_finds_its_sleeping_neighbours_at_once():
    world = si.SplitIndex()
    pile = world.insert([[i, 0, i + 1, 1] for i in range(5)], asleep=True)
    assert world.pairs().tolist() == []
    world.set_state(pile[2], asleep=False)
    assert world.pairs().tolist() == [[1, 2], [2, 3]]


# Choosing structures


def test_parameters_of_parts_are_read_back():
    world = si.SplitIndex(3, static=("bvh", {"leaf_size": 2}), dynamic="brute-force")
    assert (world.static, world.dynamic) == (("bvh", {"leaf_size": 2}), "brute-force")
    assert repr(world).startswith(
        "<SplitIndex(ndim=3, static=('bvh', {'leaf_size': 2}), dynamic='brute-force', coarse="
    )


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("bhv", "dynamic: unknown structure 'bhv'; did you mean 'bvh'[?] known: brute-force, grid"),
        ("split", "dynamic is 'split': a split index is no part of another; known: brute-force"),
        (7, "dynamic is 7: pass the name of a structure, or a name and a dict of parameters"),
        (("bvh", 7), "pass the name of a structure, or a name and a dict of parameters"),
        (("bvh", {"leafsize": 2}), "dynamic: bvh has no parameter 'leafsize'; did you mean 'leaf_"),
        (("hash-grid", {"cell_size": -1}), "dynamic: cell_size is -1: pass a finite edge > 0"),
    ],
)
def test_structures_that_cannot_be_are_refused(part, message):
    with pytest.raises(si.InvalidArgumentError, match=message):
        si.SplitIndex(dynamic=part)


def test_a_structure_of_somebody_else_can_be_a_part():
    si.register(Entry("mine", "spatialindex.indexes.brute_force:BruteForce", "one of my own"))
    try:
        twin = Twin(si.SplitIndex(dynamic="mine"))
        twin.insert([[0, 0, 1, 1], [1, 1, 2, 2]], static=[True, False])
        twin.check()
    finally:
        unregister("mine")


def test_a_class_that_is_not_around_a_structure_is_no_part():
    si.register(Entry("model", "spatialindex.testing.model:Model", "no structure"))
    Model.parameters = ()
    try:
        with pytest.raises(si.InvalidArgumentError, match="static: model is not made of a struct"):
            si.SplitIndex(static="model")
    finally:
        del Model.parameters
        unregister("model")


# Answers that are put together


def test_nearest_and_casts_go_by_distance_and_then_by_id_across_parts():
    twin = Twin(si.SplitIndex())
    same = [[3.0, 0, 4, 1]] * 9
    twin.insert(same, ids=[8, 1, 6, 3, 4, 5, 2, 7, 0], static=[i % 2 for i in range(9)])
    twin.insert([[-900.0, 0, 900, 1]], ids=[20])
    twin.insert(np.array([[i, 5.0, i + 1, 6] for i in range(40)]))
    for k in (1, 4, 9, 12, 60):
        twin.nearest([[0, 0.5], [3.5, 2.0], [100, 100]], k)
        twin.nearest([[0, 0.5], [3.5, 2.0]], k, max_distance=2.5, ignore=[0, 20])
    for ignore in (None, 0, 20):
        twin.raycast([[0, 0.5], [3.5, 3], [2, 9]], [[1, 0], [0, -1], [0.3, -2]], ignore=ignore)
        twin.boxcast([0.0, 2, 1, 3], [[9, -1], [0, 2]], ignore=ignore)


@pytest.mark.parametrize("among", ["active", "all"])
def test_answers_beyond_max_rows_name_the_whole_limit(among):
    world = si.SplitIndex()
    world.insert(np.tile([0.0, 0, 1, 1], (60, 1)), static=np.arange(60) < 30)
    world.max_rows = 1000
    with pytest.raises(si.ResultTooLargeError, match="more than 1000 rows"):
        world.pairs(among=among)
    world.max_rows = 40
    with pytest.raises(si.ResultTooLargeError, match="more than 40 rows"):
        world.query([0, 0, 1, 1])
    assert world.count([0, 0, 1, 1]) == 60


@pytest.mark.parametrize("workers", [1, 2])
def test_statistics_are_sums_over_the_parts(workers):
    rng = np.random.default_rng(4)
    world = si.SplitIndex(static="brute-force", dynamic="brute-force", coarse="brute-force")
    boxes = bolts(rng, 200, 3.0)
    boxes[:4, 2:] += 50.0
    world.insert(boxes, static=np.arange(200) % 3 == 0)
    pairs = world.pairs(workers=workers)
    stats = world.stats()
    parts = {name: int((world.route() == name).sum()) for name in ("static", "dynamic", "coarse")}
    assert parts["coarse"] == 4
    assert (stats.entries, stats.buckets) == (200, 3)
    assert stats.max_bucket == max(parts.values())
    assert stats.pairs == len(pairs)
    assert stats.candidates >= stats.pairs + stats.resting


# The table of a part


def test_lists_of_members_follow_changes():
    rng = np.random.default_rng(5)
    world = si.SplitIndex()
    ids = world.insert(bolts(rng, 300, 9.0))
    for _ in range(30):
        some = rng.permutation(ids)[:20]
        world.set_state(some, asleep=rng.integers(0, 2, 20))
        if rng.integers(2):
            world.remove(some[:5])
            world.insert(bolts(rng, 5, 9.0), some[:5], static=rng.integers(0, 2, 5))
        roles = world._structure.roles
        world.query([0, 0, 1, 1])
        for role, name in ((1, "static"), (2, "dynamic"), (3, "coarse")):
            assert roles.members(role).tolist() == ids[world.route(ids) == name].tolist()
        world.validate()


def test_validate_finds_a_slot_with_a_role_that_is_not_its_own():
    world = si.SplitIndex()
    world.insert([[0, 0, 1, 1], [1, 1, 2, 2]], static=[True, False])
    world.validate()
    world._structure.roles.codes[1] = 9
    with pytest.raises(si.InvariantError, match="split: the slot 1 has code 9, by flags and"):
        world.validate()


def pickled(protocol, world):
    return pickle.loads(pickle.dumps(world, protocol))


@pytest.mark.parametrize("renew", [copy.deepcopy, partial(pickled, 4), partial(pickled, 5)])
def test_a_copy_has_parts_of_its_own(renew):
    twin = Twin(si.SplitIndex())
    twin.insert([[0, 0, 1, 1], [1, 1, 2, 2], [0, 0, 99, 99]], static=[True, False, False])
    twin.pairs()
    other = Twin(renew(twin.index), twin.model.copy())
    twin.update(0, [5, 5, 6, 6])
    twin.set_state(1, static=True)
    other.update(1, [0, 0, 1, 1])
    other.insert([4, 4, 5, 5])
    twin.check()
    other.check()
