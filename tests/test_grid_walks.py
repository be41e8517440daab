"""Rays, nearest objects and planes in grids: walks over cells that lose nothing and end early."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import spatialindex as si
from spatialindex import oracle
from spatialindex.kernels.grid import cells, walk
from spatialindex.kernels.grid.cells import CELLS, LOWEST, META

GRIDS = [si.HashGrid, si.UniformGrid]
EDGES = [0.7, 1.0, 2.0, 0.1, None]
lattice = st.integers(-4, 5).map(float)


def lattice_points(ndim, most, least=0):
    return st.lists(
        st.lists(lattice, min_size=ndim, max_size=ndim), min_size=least, max_size=most
    ).map(lambda rows: np.array(rows, np.float64).reshape(-1, ndim))


@st.composite
def scenes(draw):
    """Draw a grid over boxes of a lattice, whose faces and corners often meet."""
    ndim = draw(st.sampled_from([2, 3]))
    lower = draw(lattice_points(ndim, 12))
    sizes = draw(st.lists(st.integers(0, 2), min_size=lower.size, max_size=lower.size))
    upper = lower + np.array(sizes, np.float64).reshape(-1, ndim)
    scale = draw(st.sampled_from([1.0, 0.7, 1e-3, 2.0**70]))
    boxes = np.concatenate([lower, upper], axis=1) * scale
    if draw(st.booleans()) and len(boxes):
        boxes[0] = [-9 * scale] * ndim + [9 * scale] * ndim  # wide, where the cells are small
    edge = draw(st.sampled_from(EDGES))
    grid = draw(st.sampled_from(GRIDS))
    index = grid(
        ndim=ndim,
        cell_size=None if edge is None else edge * scale,
        max_cells=draw(st.sampled_from([4, 64, 4096])),
    )
    ids = np.array(draw(st.permutations(range(len(boxes)))), np.int64)
    if len(boxes):
        index.insert(boxes, ids=ids)
    event(f"{grid.__name__} {ndim}")
    return index, ids, boxes, scale


@given(scenes(), st.data())
def test_rings_find_the_nearest(scene, data):
    index, ids, boxes, scale = scene
    points = data.draw(lattice_points(index.ndim, 6, 1)) * data.draw(
        st.sampled_from([scale, scale * 0.5, scale * 1e6])
    )
    k = data.draw(st.integers(1, 14))
    reach = data.draw(st.sampled_from([math.inf, 0.0, scale, 3 * scale]))
    found = index.nearest(points, k=k, max_distance=reach)
    expected = oracle.nearest(ids, boxes, None, points, k, max_distance=reach)
    np.testing.assert_array_equal(found.ids, expected[0])
    np.testing.assert_array_equal(found.distances, expected[1])


@given(scenes(), st.data())
def test_walks_meet_what_rays_meet(scene, data):
    index, ids, boxes, scale = scene
    origins = data.draw(lattice_points(index.ndim, 6, 1)) * scale
    targets = data.draw(lattice_points(index.ndim, len(origins), len(origins))) * scale
    directions = targets - origins
    directions[(directions == 0).all(axis=1)] = -scale
    directions *= data.draw(st.sampled_from([1.0, 0.5, 3.0]))
    last = data.draw(st.sampled_from([math.inf, 1.0, 2.0, 0.0]))
    rows, times = oracle.raycast_all(ids, boxes, None, origins, directions, max_t=last)
    found = index.raycast_all(origins, directions, max_t=last)
    event(f"hits {len(rows) > 0}")
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.t, times)
    expected = oracle.raycast(ids, boxes, None, origins, directions, max_t=last)
    first = index.raycast(origins, directions, max_t=last)
    np.testing.assert_array_equal(first.ids, expected[0])
    np.testing.assert_array_equal(first.t, expected[1])


@given(scenes(), st.data())
def test_walks_meet_what_moving_boxes_meet(scene, data):
    index, ids, boxes, scale = scene
    lower = data.draw(lattice_points(index.ndim, 6, 1))
    sizes = data.draw(st.sampled_from([0.0, 0.5, 1.0, 6.0]))
    inputs = np.concatenate([lower, lower + sizes], axis=1) * scale
    motions = data.draw(lattice_points(index.ndim, len(lower), len(lower))) * scale
    rows, times = oracle.boxcast_all(ids, boxes, None, inputs, motions)
    found = index.boxcast_all(inputs, motions)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.t, times)
    expected = oracle.boxcast(ids, boxes, None, inputs, motions)
    first = index.boxcast(inputs, motions)
    np.testing.assert_array_equal(first.ids, expected[0])
    np.testing.assert_array_equal(first.t, expected[1])


@given(scenes(), st.data())
def test_columns_find_what_planes_leave(scene, data):
    index, ids, boxes, scale = scene
    normals = data.draw(lattice_points(index.ndim, 4, 1))
    normals[(normals == 0).all(axis=1)] = 1.0
    offsets = data.draw(lattice_points(1, len(normals), len(normals)))[:, 0] * scale
    found = index.query_planes(normals, offsets)
    np.testing.assert_array_equal(found, oracle.query_planes(ids, boxes, None, normals, offsets))


@pytest.fixture(params=GRIDS)
def grid(request):
    return request.param


def test_a_long_box_beside_the_corner_of_a_region_is_seen(grid):
    # no cell of it is inside both planes, and neither plane leaves all of it out
    index = grid(ndim=2, cell_size=1.0)
    index.insert([[0.5, 0.5, 30.5, 0.6], [-20, -20, -19, -19], [40, 40, 41, 41]])
    normals, offsets = [[-1.0, 4], [1, 4]], [-28, 3]
    many = np.array([[x, y, x + 0.1, y + 0.1] for x in range(-9, 30) for y in range(-9, 30)])
    index.insert(many + 0.3)
    boxes = index.boxes()
    expected = oracle.query_planes(index.ids, boxes, None, normals, offsets)
    assert 0 in expected
    np.testing.assert_array_equal(index.query_planes(normals, offsets), expected)


@pytest.mark.parametrize("apart", [1e3, 1e8])
def test_clusters_far_apart_are_found_from_anywhere(grid, apart):
    # far fewer blocks than cells between the clusters
    rng = np.random.default_rng(11)
    lower = rng.uniform(0, 20, (300, 2)) + np.where(rng.random((300, 1)) < 0.5, 0, apart)
    boxes = np.concatenate([lower, lower + rng.uniform(0, 1, (300, 2))], axis=1)
    index = grid(ndim=2, cell_size=1.0)
    ids = index.insert(boxes)
    points = np.array([[0.0, 0], [apart / 2, apart / 2], [-apart, 5], [apart, 0], [1e12, -1e300]])
    found = index.nearest(points, k=4)
    expected = oracle.nearest(ids, boxes, None, points, 4)
    np.testing.assert_array_equal(found.ids, expected[0])
    np.testing.assert_array_equal(found.distances, expected[1])
    origins, directions = points[:4], np.array([[1, 1.0], [-1, -1], [1, 1e-4], [-1e-3, 1]])
    rows, times = oracle.raycast_all(ids, boxes, None, origins, directions)
    assert len(rows)
    hits = index.raycast_all(origins, directions)
    np.testing.assert_array_equal(hits.rows, rows)
    np.testing.assert_array_equal(hits.t, times)


def test_the_answer_does_not_depend_on_workers(grid):
    rng = np.random.default_rng(3)
    lower = rng.uniform(0, 30, (400, 3))
    index = grid(ndim=3, cell_size=2.0)
    index.insert(np.concatenate([lower, lower + rng.uniform(0, 3, (400, 3))], axis=1))
    points, directions = rng.uniform(0, 30, (300, 3)), rng.normal(0, 1, (300, 3))
    for ask in (
        lambda workers: index.nearest(points, k=3, workers=workers),
        lambda workers: index.raycast(points, directions, workers=workers),
        lambda workers: index.raycast_all(points, directions, workers=workers),
    ):
        for one, three in zip(ask(1), ask(3), strict=True):
            np.testing.assert_array_equal(one, three)


def test_longest_ranges_follow_what_enters_and_moves():
    index = si.HashGrid(ndim=2, cell_size=1.0)
    ids = index.insert(np.array([[i, 0, i + 0.5, 0.5] for i in range(40)], np.float64))
    normals, offsets = [[0.0, -1], [1, 0]], [-20.5, 0.5]  # y at least 20.5, x at most 0.5
    assert len(index.query_planes(normals, offsets)) == 0
    index.update(ids[:1], [[0, 0, 0.5, 21]])
    assert index.query_planes(normals, offsets).tolist() == [0]
    index.validate()
    tall = index.insert([0.25, -3, 0.25, 30])
    assert index.query_planes(normals, offsets).tolist() == [0, tall]
    index.validate()


def walked(box, motion, last, edge, lowest, highest):
    """Return the ranges of cells of each slab, and the number of slabs that were planned."""
    ndim = len(lowest)
    dim = (0,) * ndim
    meta = np.zeros(META, np.int64)
    meta[CELLS] = 1
    meta[LOWEST : LOWEST + ndim], meta[LOWEST + 3 : LOWEST + 3 + ndim] = lowest, highest
    exact = np.array([[*box, *motion, last]], np.float64)
    plan, span = np.zeros(16), np.zeros(8, np.int64)
    n = walk.plan_walk(exact, 0, edge, meta, plan, dim)
    slabs = [
        (span[:ndim].tolist(), span[3 : 3 + ndim].tolist())
        for i in range(n)
        if walk.reached_slab(i, exact, 0, last, edge, meta, plan, span, dim) > 0
    ]
    return slabs, n


def test_a_slab_that_is_passed_beside_the_occupied_bounds_has_no_cells(grid):
    # the walk begins and ends, within the slack, on two sides of the only slab
    index = grid(ndim=3, cell_size=72.0)
    index.insert([-9.0, 0.7, 0.8, -5.4, 13.5, 0.9])
    box, motion = [1.5, 13.0, 10.5, 1.6, 13.1, 10.6], [10.6, 0.0, -9.7]
    assert walked(box, motion, 1.0, 72.0, (-1, 0, 0), (-1, 0, 0)) == ([], 1)
    assert index.boxcast(box, motion).ids == -1
    assert len(index.boxcast_all(box, motion).rows) == 0


def test_a_walk_goes_slab_by_slab():
    slabs, n = walked([0.5, 0.5] * 2, [8.0, 4.0], 0.5, 1.0, (-100, -100), (100, 100))
    assert n == 5
    assert slabs == [([0, 0], [0, 0]), ([1, 0], [1, 1]), ([2, 1], [2, 1]), ([3, 1], [3, 2]),
                     ([4, 2], [4, 2])]  # fmt: skip
    backwards, _ = walked([4.5, 2.5] * 2, [-8.0, -4.0], 0.5, 1.0, (-100, -100), (100, 100))
    assert backwards == slabs[::-1]


def test_a_walk_begins_where_there_are_cells():
    slabs, n = walked([-1e6, 0.5] * 2, [1.0, 0.0], math.inf, 1.0, (-2, -2), (2, 2))
    assert n == 5
    assert [first[0] for first, _ in slabs] == [-2, -1, 0, 1, 2]
    assert walked([-1e6, 9.5] * 2, [1.0, 0.0], math.inf, 1.0, (-2, -2), (2, 2)) == ([], 0)
    assert walked([-1e6, 0.5] * 2, [-1.0, 0.0], math.inf, 1.0, (-2, -2), (2, 2)) == ([], 0)


def test_walks_of_extreme_numbers_are_not_planned():
    occupied = (-2, -2), (2, 2)
    assert walked([2.0**40, 0] * 2, [-1.0, 0.0], math.inf, 1.0, *occupied)[1] == -1
    assert walked([0, 0] * 2, [-1e200, 0.0], math.inf, 1.0, *occupied)[1] == -1
    assert walked([0, 0] * 2, [-1.0, 0.0], math.inf, 1e-200, *occupied)[1] == -1
    assert walked([-math.inf, 0, 0, 0], [-1.0, 0.0], math.inf, 1.0, *occupied)[1] == -1
    # nothing is written about a cell size that no plan can have
    meta = np.zeros(META, np.int64)
    assert not walk.is_plannable(1e-200, meta)
    assert walk.is_plannable(1e-100, meta)
    # cells so far out that the slack does not cover what is rounded there
    meta[LOWEST + 3] = cells.LARGEST_CELL + 1
    assert not walk.is_plannable(1e-100, meta)


def test_bounds_are_chosen_of_the_largest_coordinates():
    # whose mean is beyond all floats
    largest = np.finfo(np.float64).max
    index = si.UniformGrid(ndim=2)
    ids = index.insert([[largest / 2, 0, largest, 1], [largest, 0, largest, 2]])
    assert index.query([largest, 1, math.inf, 1]).tolist() == ids.tolist()


def test_ranges_noted_only_grow():
    meta = np.zeros(META, np.int64)
    ranges = np.array([[0, 0, 3, 1], [cells.WIDE, 0, 9, 9], [2, 2, 2, 4]], np.int32)
    cells.note_ranges(meta, ranges, (0, 0))
    assert meta[cells.LONGEST : cells.LONGEST + 2].tolist() == [3, 2]
    cells.note_ranges(meta, ranges[:1], (0, 0))
    assert meta[cells.LONGEST : cells.LONGEST + 2].tolist() == [3, 2]
