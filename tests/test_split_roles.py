"""Structures in the parts of a split index: any combination is an index like any other.

The default combination goes through everything with the registered structures, and one of tiny
cells and leaves through the conformance suite. Of the others, each goes through a part: the cases,
some histories, and a recorded scene in ``test_scenes_against_oracle.py``.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import spatialindex as si
from spatialindex import oracle
from spatialindex.constants import STATE_DTYPE
from spatialindex.testing import conformance_checks, load_cases, make_state_machine, run_case
from spatialindex.testing.answers import assert_same

CASES = load_cases(Path(__file__).parent / "data" / "cases.jsonl")
LOOSE = {2: "loose-quadtree", 3: "loose-octree"}
MIXED = {"static": "kd-tree", "dynamic": "hierarchical-grid", "coarse": "grid"}
TINY = {
    "static": ("bvh", {"leaf_size": 1}),
    "dynamic": ("hash-grid", {"cell_size": 0.4, "max_cells": 64}),
    "coarse": ("hierarchical-grid", {"cell_size": 0.5}),
}


def parts_of(name, ndim):
    """Return the structures of a combination, by part."""
    if name == "loose":
        return dict.fromkeys(("static", "dynamic", "coarse"), LOOSE[ndim])
    if name == "scanned":
        return dict.fromkeys(("static", "dynamic", "coarse"), "brute-force")
    if name == "swept":
        return {"static": "bvh", "dynamic": "sweep-and-prune", "coarse": "bvh"}
    return {"mixed": MIXED, "tiny": TINY}[name]


def split(name, ndim):
    return si.SplitIndex(ndim, **parts_of(name, ndim))


COMBINATIONS = ("swept", "scanned", "loose", "mixed")


def test_every_structure_has_been_in_a_part():
    taken = {"bvh", "hash-grid", "hierarchical-grid"}  # the default ones
    for name in COMBINATIONS:
        for ndim in (2, 3):
            taken |= set(parts_of(name, ndim).values())
    assert taken == {entry.name for entry in si.structures()} - {"split"}
    world = si.SplitIndex()
    assert (world.static, world.dynamic, world.coarse) == ("bvh", "hash-grid", "hierarchical-grid")


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("check", [pytest.param(c, id=name) for name, c in conformance_checks()])
def test_parts_of_tiny_cells_and_leaves_keep_the_contract(check, ndim):
    check(partial(split, "tiny"), ndim)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_cases_have_their_known_answers(name):
    for case in CASES:
        run_case(case, partial(split, name, case.ndim))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_any_history_is_answered_as_by_the_model(name, ndim):
    machine = make_state_machine(partial(split, name), ndim)
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=20, max_examples=12))


# A planet, a wall, something where no cell can be, and bolts

N_BOLTS = 3000


def world_of_giants(ndim):
    """Return a planet, a long wall and a box beyond all cells, and then bolts."""
    rng = np.random.default_rng(11)
    side = 25.0 if ndim == 2 else 12.0
    planet = [-1e12] * ndim + [1e12] * (ndim - 1) + [0.5]  # its ground reaches into the lowest
    wall = [0.0, side / 2, 0.0][:ndim] + [1e6, side / 2 + 0.1, side][:ndim]
    beyond = [1e300] * ndim + [1.5e300] * ndim
    lower = rng.uniform(0, side, (N_BOLTS, ndim))
    bolts = np.hstack([lower, lower + rng.uniform(0.05, 0.3, (N_BOLTS, ndim))])
    return np.vstack([planet, wall, beyond, bolts])


@pytest.mark.parametrize("ndim", [2, 3])
def test_a_world_of_giants_and_bolts_drops_nothing(ndim):
    boxes = world_of_giants(ndim)
    n = len(boxes)
    state = np.zeros(n, STATE_DTYPE)
    state["layer"], state["mask"] = 1, si.ALL
    state["static"][:3] = True
    world = si.SplitIndex(ndim)
    ids = world.insert(boxes, static=state["static"])
    assert world.route().tolist() == ["coarse"] * 3 + ["dynamic"] * N_BOLTS
    rng = np.random.default_rng(12)
    before = np.empty((0, 2), np.int64)
    for _ in range(3):
        now = oracle.pairs(ids, boxes, state, among="dynamic")
        report = world.step()
        assert_same(report.began, without(now, before), "report.began")
        assert_same(report.ended, without(before, now), "report.ended")
        assert_same(report.pairs, oracle.pairs(ids, boxes, state, among="active"), "report.pairs")
        assert {0, 1} <= set(now[:, 0].tolist())
        asked = np.vstack([boxes[:3], boxes[5::300]])
        assert_same(world.query(asked), oracle.query(ids, boxes, state, asked), "query")
        assert world.query_point([1.2e300] * ndim).tolist() == [2]
        some = rng.permutation(N_BOLTS)[:400] + 3
        boxes[some] += np.tile(rng.uniform(-1, 1, (400, ndim)), 2)
        world.update(some, boxes[some])
        before = now
        world.validate()
    assert world.route([0, 1, 2]).tolist() == ["coarse"] * 3
    assert len(world) == n


def without(rows, others):
    """Return the rows that are not among others."""
    gone = set(map(tuple, others.tolist()))
    kept = [row for row in rows.tolist() if tuple(row) not in gone]
    return np.array(kept, np.int64).reshape(-1, 2)
