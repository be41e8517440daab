"""Nearest, rays, moving boxes and planes at the door: shapes, what is ignored, what is refused."""

import re

import numpy as np
import pytest

import spatialindex as si

ROW = [[0.0, 0, 1, 1], [3, 0, 4, 1], [6, 0, 7, 1]]  # three boxes along x, ids 0, 1, 2


@pytest.fixture
def index():
    made = si.BruteForce(ndim=2)
    made.insert(ROW)
    return made


def refuses(message, error=si.InvalidArgumentError):
    return pytest.raises(error, match=re.escape(message))


# Shapes


def test_one_point_has_one_row_of_neighbors(index):
    ids, distances = index.nearest([2.25, 0.5], 4)
    assert ids.tolist() == [1, 0, 2, -1]
    assert distances.tolist() == [0.75, 1.25, 3.75, np.inf]
    assert (ids.dtype, distances.dtype) == (np.int64, np.float64)


def test_many_points_have_a_row_each(index):
    ids, distances = index.nearest([[2.25, 0.5], [7.0, 3.0]])
    assert ids.tolist() == [[1], [2]]
    assert distances.tolist() == [[0.75], [2.0]]
    ids, distances = index.nearest(np.empty((0, 2)), 3)
    assert ids.shape == distances.shape == (0, 3)


def test_one_ray_has_scalars(index):
    hit = index.raycast([2, 0.5], [1, 0])
    assert hit == si.RayHits(1, 1.0)
    assert (type(hit.ids), type(hit.t)) == (int, float)
    assert index.raycast([2, 0.5], [0, 1]) == (-1, np.inf)


def test_many_rays_have_a_row_each(index):
    hits = index.raycast([[2, 0.5], [2, 0.5]], [[1, 0], [-2, 0]])
    assert hits.ids.tolist() == [1, 0]
    assert hits.t.tolist() == [1.0, 0.5]
    hits = index.raycast(np.empty((0, 2)), np.empty((0, 2)))
    assert hits.ids.shape == hits.t.shape == (0,)


def test_a_batch_of_one_is_a_batch(index):
    assert index.nearest([[2.25, 0.5]]).ids.shape == (1, 1)
    assert index.raycast([[2, 0.5]], [[1, 0]]).ids.tolist() == [1]
    assert index.raycast_all([[2, 0.5]], [[1, 0]]).rows.tolist() == [[0, 1], [0, 2]]
    assert index.boxcast([ROW[0]], [[9, 0]], ignore=0).ids.tolist() == [1]


def test_one_ray_has_ids_of_all_hits(index):
    rows, t = index.raycast_all([5, 0.5], [-1, 0])
    assert rows.tolist() == [1, 0]
    assert t.tolist() == [1.0, 4.0]
    assert (rows.dtype, t.dtype) == (np.int64, np.float64)
    rows, t = index.raycast_all([5, 0.5], [0, 1])
    assert rows.shape == t.shape == (0,)


def test_many_rays_have_rows_of_all_hits(index):
    rows, t = index.raycast_all([[5, 0.5], [5, 5], [2, 1]], [[-1, 0], [1, 0], [1, 0]])
    assert rows.tolist() == [[0, 1], [0, 0], [2, 1], [2, 2]]
    assert t.tolist() == [1.0, 4.0, 1.0, 4.0]
    rows, t = index.raycast_all(np.empty((0, 2)), np.empty((0, 2)))
    assert rows.shape == (0, 2)
    assert t.shape == (0,)


def test_hits_of_equal_times_go_by_id():
    index = si.BruteForce(ndim=2)
    index.insert([[2, 0, 3, 1]] * 200, ids=np.arange(200)[::-1] * 3)
    rows, t = index.raycast_all([[0, 0.5]], [[1, 0]])
    assert rows[:, 1].tolist() == list(range(0, 600, 3))
    assert set(t.tolist()) == {2.0}
    assert index.raycast([0, 0.5], [1, 0]) == (0, 2.0)
    assert index.nearest([0, 0.5], 3).ids.tolist() == [0, 3, 6]


def test_one_origin_or_direction_serves_all_rays(index):
    fan = [[1, 0], [-1, 0], [0, 1]]
    many = index.raycast([[2, 0.5]] * 3, fan)
    one = index.raycast([2, 0.5], fan)
    assert one.ids.tolist() == many.ids.tolist() == [1, 0, -1]
    assert one.t.tolist() == many.t.tolist()
    sun = index.raycast([[0.5, 9], [2, 9], [6, 9]], [0, -1])
    assert sun.ids.tolist() == [0, -1, 2]
    rows, t = index.raycast_all([2, 0.5], fan)
    assert rows.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert t.tolist() == [1.0, 4.0, 1.0]


def test_one_box_or_motion_serves_all(index):
    assert index.boxcast(ROW[0], [[9, 0], [0, 9]], ignore=0).ids.tolist() == [1, -1]
    assert index.boxcast(ROW, [9, 0], ignore=[0, 1, 2]).ids.tolist() == [1, 2, -1]


def test_a_moving_box_meets_what_it_touches_until_time_one(index):
    assert index.boxcast([1.5, 0, 2, 1], [1, 0]) == (1, 1.0)  # at the end, just so
    assert index.boxcast([1.5, 0, 2, 1], [0.99, 0]) == (-1, np.inf)
    assert index.boxcast([1, 1, 2, 2], [1, 0]) == (0, 0.0)  # a corner, at the start
    rows, t = index.boxcast_all([1, 1, 2, 2], [2, 0])
    assert rows.tolist() == [0, 1]
    assert t.tolist() == [0.0, 0.5]


def test_a_box_may_stay_where_it_is(index):
    assert index.boxcast([1, 0, 3, 1], [0, 0]) == (0, 0.0)
    assert index.boxcast_all([1, 0, 3, 1], [0, -0.0]).rows.tolist() == [0, 1]


def test_limits_are_for_each_row_or_for_all(index):
    points = [[2, 0.5], [2, 0.5]]
    assert index.nearest(points, max_distance=[0.5, 1]).ids.tolist() == [[-1], [0]]
    assert index.nearest(points, max_distance=1).ids.tolist() == [[0], [0]]
    rays = points, [[2, 0], [2, 0]]
    assert index.raycast(*rays, max_t=[0.5, 0.25]).ids.tolist() == [1, -1]
    assert index.raycast(*rays, max_t=0.5).ids.tolist() == [1, 1]
    assert index.raycast_all(*rays, max_t=[np.inf, 0]).rows.tolist() == [[0, 1], [0, 2]]


def test_planes_are_one_region(index):
    assert index.query_planes([[1, 0], [-1, 0]], [5, -1]).tolist() == [0, 1]
    assert index.query_planes([-1, 0], -3).tolist() == [1, 2]  # one plane, as one point
    assert index.query_planes([[1, 0], [0, 1]], 1).tolist() == [0]  # one offset for all
    assert index.query_planes(np.empty((0, 2)), []).tolist() == [0, 1, 2]
    assert index.query_planes([], []).tolist() == [0, 1, 2]
    assert index.query_planes([1, 0], 2, layers=2).tolist() == []


def test_planes_see_what_has_changed(index):
    assert index.query_planes([-1, 0], -5).tolist() == [2]
    index.update(0, [50, 0, 60, 1])
    assert index.query_planes([-1, 0], -50).tolist() == [0]
    index.insert([90, 0, 91, 1])
    assert index.query_planes([-1, 0], -90).tolist() == [3]
    index.remove([0, 3])
    assert index.query_planes([-1, 0], -5).tolist() == [2]
    index.clear()
    assert index.query_planes([-1, 0], -5).tolist() == []


def test_an_empty_index_answers():
    index = si.BruteForce(ndim=3)
    point, box = [0, 0, 0], [0, 0, 0, 1, 1, 1]
    assert index.nearest(point, 2).ids.tolist() == [-1, -1]
    assert index.nearest([point], 2).distances.tolist() == [[np.inf, np.inf]]
    assert index.raycast(point, [1, 0, 0], ignore=5) == (-1, np.inf)
    assert index.raycast_all(point, [1, 0, 0]).rows.shape == (0,)
    assert index.boxcast([box], [point]).ids.tolist() == [-1]
    assert index.boxcast_all([box], [point], ignore=[1]).rows.shape == (0, 2)
    assert index.query_planes([1, 0, 0], 1).shape == (0,)


def test_any_order_has_the_same_hits():
    rng = np.random.default_rng(7)
    index = si.BruteForce(ndim=2)
    lower = rng.uniform(0, 20, (200, 2))
    index.insert(np.hstack([lower, lower + 2]))
    rays = rng.uniform(0, 20, (300, 2)), rng.normal(size=(300, 2))
    ordered = index.raycast_all(*rays)
    free = index.raycast_all(*rays, sort=False)
    assert len(ordered.rows) > 1000
    order = np.lexsort([free.rows[:, 1], free.t, free.rows[:, 0]])
    np.testing.assert_array_equal(free.rows[order], ordered.rows)
    np.testing.assert_array_equal(free.t[order], ordered.t)
    assert index.raycast_all(rays[0][0], rays[1][0], sort=False).t.tolist() == sorted(
        index.raycast_all(rays[0][0], rays[1][0]).t.tolist()
    )


# What is ignored


def test_nobody_is_ignored_by_minus_one_or_an_id_that_is_not_there(index):
    for ignore in (None, -1, 3, 2**62):
        assert index.raycast([0.5, 0.5], [1, 0], ignore=ignore).ids == 0
    assert index.raycast([0.5, 0.5], [1, 0], ignore=0).ids == 1
    assert index.nearest([[0, 0], [0, 0]], 2, ignore=[0, -1]).ids.tolist() == [[1, 2], [0, 1]]
    assert index.raycast_all([[0, 0], [0, 0]], [1, 0], ignore=[0, 7]).rows.tolist() == [
        *([0, 1], [0, 2]),
        *([1, 0], [1, 1], [1, 2]),
    ]


def test_who_is_ignored_is_known_after_slots_were_numbered_anew():
    index = si.BruteForce(ndim=2)
    n = 6000
    index.insert(np.tile([[0.0, 0, 1, 1]], (n, 1)))
    index.raycast([0, 0], [1, 0])
    index.remove(np.arange(n - 3))
    slot = index._table.slot_of(n - 1)
    assert index.raycast([0, 0], [1, 0], ignore=n - 3).ids == n - 2
    assert index._table.find(np.array([n - 1]))[0] != slot  # the question renumbered them
    index.insert(np.tile([[0.0, 0, 1, 1]], (n, 1)))
    index.nearest([0, 0])
    index.remove(np.arange(n, 2 * n))
    assert index.nearest([0, 0], 2, ignore=n - 3).ids.tolist() == [n - 2, n - 1]
    assert index.raycast_all([0, 0], [1, 0], ignore=n - 2).rows.tolist() == [n - 3, n - 1]


def test_ignored_hits_do_not_count_as_rows(index):
    index.max_rows = 2
    assert index.raycast_all([0.5, 0.5], [1, 0], ignore=0).rows.tolist() == [1, 2]
    with refuses("the answer has more than 2 rows", si.ResultTooLargeError):
        index.raycast_all([0.5, 0.5], [1, 0])
    with refuses("the answer has more than 2 rows", si.ResultTooLargeError):
        index.boxcast_all([ROW[0]], [[9, 0]], ignore=7)


# What is refused


def test_padded_answers_obey_max_rows(index):
    index.max_rows = 6
    assert index.nearest([[0, 0]] * 2, 3).ids.shape == (2, 3)
    with refuses("the answer has more than 6 rows", si.ResultTooLargeError):
        index.nearest([[0, 0]] * 2, 4)
    with refuses("the answer has more than 6 rows", si.ResultTooLargeError):
        index.raycast([[0, 0]] * 7, [1, 0])
    index.max_rows = 2**29
    message = "the answer has more than 536870912 rows, the limit that index.max_rows sets; pass a"
    with refuses(f"{message} smaller k, or fewer points at a time,", si.ResultTooLargeError):
        index.nearest([0, 0], 10**30)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda i: i.nearest([0, np.nan]), "points: y is nan; make it finite or drop the row"),
        (lambda i: i.nearest([[0, 0], [np.inf, 0]]), "points[1]: x is inf; make it finite"),
        (lambda i: i.nearest([0, 0, 0]), "points: shape (3,) is not 2D points"),
        (lambda i: i.nearest([0, 0], 0), "k is 0: pass how many neighbours, 1 or more"),
        (lambda i: i.nearest([0, 0], True), "k is True: pass how many neighbours"),
        (lambda i: i.nearest([0, 0], 2.0), "k is 2.0: pass how many neighbours"),
        (
            lambda i: i.nearest([[0, 0]] * 2, max_distance=[1, -1]),
            "max_distance[1] is -1.0; a length is zero or more",
        ),
        (lambda i: i.nearest([0, 0], max_distance=np.nan), "max_distance is nan; a length is zero"),
        (
            lambda i: i.nearest([[0, 0]] * 2, max_distance=[1, 1, 1]),
            "max_distance: shape (3,) does not fit 2 rows; pass one number or shape (2,)",
        ),
        (lambda i: i.raycast([0, np.inf], [1, 0]), "origins: y is inf; make it finite"),
        (lambda i: i.raycast([0, 0], [[1, 0], [np.nan, 0]]), "directions[1]: x is nan; make it"),
        (lambda i: i.raycast([0, 0], [1, 0, 0]), "directions: shape (3,) is not 2D directions"),
        (lambda i: i.boxcast(ROW[0], [1, 0, 0]), "motions: shape (3,) is not 2D motions"),
        (
            lambda i: i.raycast([0, 0], [[1, 0], [0, -0.0]]),
            "directions[1] is zero; a ray that does not move is query_point, drop the row",
        ),
        (lambda i: i.raycast_all([0, 0], [0, 0]), "directions is zero; a ray that does not move"),
        (
            lambda i: i.raycast([[0, 0]] * 3, [[1, 0]] * 2),
            "3 origins for 2 directions; pass as many, or one for all",
        ),
        (lambda i: i.raycast([0, 0], [1, 0], max_t=-1), "max_t is -1.0; a time is zero or more"),
        (
            lambda i: i.raycast_all([[0, 0]] * 2, [1, 0], max_t=[0, np.nan]),
            "max_t[1] is nan; a time is zero or more",
        ),
        (lambda i: i.boxcast(ROW[0], [0, np.inf]), "motions: y is inf; make it finite"),
        (
            lambda i: i.boxcast(ROW, [[0, 1]] * 2),
            "3 boxes for 2 motions; pass as many, or one for all",
        ),
        (
            lambda i: i.raycast([0, 0], [1, 0], ignore=-2),
            "ignore is -2: ids are integers from 0 to 2**63 - 1; -1 ignores nobody",
        ),
        (
            lambda i: i.nearest([[0, 0]] * 2, ignore=np.array([1, 2**63], np.uint64)),
            f"ignore[1] is {2**63}: ids are integers from 0 to 2**63 - 1; -1 ignores nobody",
        ),
        (
            lambda i: i.nearest([[0, 0]] * 2, ignore=[1, 2, 3]),
            "ignore: shape (3,) does not fit 2 rows; pass one id or shape (2,)",
        ),
        (
            lambda i: i.raycast([0, 0], [1, 0], ignore="me"),
            "ignore is 'me': pass an id or one an input row, -1 for nobody",
        ),
        (
            lambda i: i.query_planes([[1, 0], [0, 0]], 1),
            "normals[1] is zero; a plane needs a normal, drop the row",
        ),
        (lambda i: i.query_planes([np.nan, 0], 1), "normals: x is nan; make it finite"),
        (
            lambda i: i.query_planes([[1, 0], [0, 1]], [0, np.nan]),
            "offsets[1] is nan; give it a value or drop the plane",
        ),
        (
            lambda i: i.query_planes([[1, 0], [0, 1]], [0, 1, 2]),
            "offsets: shape (3,) does not fit 2 normals; pass one number or shape (2,)",
        ),
        (
            lambda i: i.query_planes([1, 0], [[1]]),
            "offsets: shape (1, 1) does not fit 1 normal; pass one number or shape (1,)",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(index, ask, message):
    with refuses(message):
        ask(index)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ([0, 0, np.inf, 1], "boxes: upper x is inf; a box that moves is finite"),
        ([2, 0, 1, 1], "boxes: lower x 2.0 exceeds upper x 1.0; swap the corners"),
        ([0, np.nan, 1, 1], "boxes: lower y is nan; give the bound a value"),
    ],
)
def test_a_moving_box_is_a_finite_box(index, box, message):
    with refuses(message, si.InvalidBoxError):
        index.boxcast(box, [1, 0])
    with refuses(message.replace("boxes:", "boxes[1]:"), si.InvalidBoxError):
        index.boxcast_all([ROW[0], box], [1, 0])


@pytest.mark.parametrize("structure", ["brute-force", "bvh"])
@pytest.mark.parametrize("n", [2, 12, 13, 24, 300])
def test_hits_of_a_ray_are_in_order_however_many_there_are(structure, n):
    rng = np.random.default_rng(n)
    starts = rng.integers(1, n // 2 + 2, n).astype(float)  # many are met at the same time
    index = si.BruteForce(ndim=2)
    ids = index.insert(
        np.column_stack([starts, starts * 0, starts + 1, starts]), rng.permutation(n)
    )
    hits = index.raycast_all([[0.0, 0.0]], [[1.0, 0.0]])
    order = np.lexsort((ids, starts))
    assert hits.rows[:, 1].tolist() == ids[order].tolist()
    assert hits.t.tolist() == starts[order].tolist()
    index.max_rows = n - 1
    with refuses(f"the answer has more than {n - 1} rows", si.ResultTooLargeError):
        index.raycast_all([[0.0, 0.0]], [[1.0, 0.0]])


@pytest.mark.parametrize(
    "starts",
    [
        np.concatenate([np.linspace(1, 2, 200), [1e300]]),  # one span of time has nearly all
        np.geomspace(1e-300, 1e300, 200),
        np.arange(200) * 5e-324,  # the reciprocal of the whole would overflow
        np.full(200, 3.0),
        np.zeros(200),
    ],
    ids=["crowded", "magnitudes", "subnormal", "equal", "at once"],
)
def test_hits_of_a_ray_are_in_order_however_they_are_spread(starts):
    starts = np.random.default_rng(7).permutation(starts)
    index = si.BruteForce(ndim=2)
    index.insert(np.column_stack([starts, starts * 0, starts, starts]))
    hits = index.raycast_all([[0.0, 0.0]], [[1.0, 0.0]])
    order = np.lexsort((np.arange(len(starts)), starts))
    assert hits.rows[:, 1].tolist() == order.tolist()
    assert hits.t.tolist() == starts[order].tolist()
