"""What eight lanes are tested for at once is never more than what decides says of their boxes."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from spatialindex.kernels import simd
from spatialindex.kernels.blocks import clear_lane, planes_of_block, write_lane
from spatialindex.kernels.decide import cast_time, distance_to_box, within_planes
from spatialindex.kernels.simd import rounding

LARGEST = float(np.finfo(np.float64).max)

numbers = st.one_of(
    st.floats(-8, 8, width=32),
    st.floats(allow_nan=False, allow_infinity=False),
    st.builds(math.ldexp, st.integers(-4, 4), st.integers(-1074, 1020)),
    st.builds(math.ldexp, st.floats(1, 2), st.integers(-160, 160)),
    st.sampled_from([1e38, -2e38, 6e38, -1e40]),
    st.sampled_from([0.0, -0.0, LARGEST, -LARGEST, 5e-324, -5e-324, 1e-45, 3.4028235e38, 3.5e38]),
)


@st.composite
def boxes(draw, ndim, n):
    rows = []
    for _ in range(n):
        corners = [sorted((draw(numbers), draw(numbers))) for _ in range(ndim)]
        rows.append([low for low, _ in corners] + [high for _, high in corners])
    return np.array(rows).reshape(n, 2 * ndim)


@st.composite
def blocks_and(draw, *parts):
    """Draw a number of dimensions, boxes, and what else is asked for."""
    ndim = draw(st.sampled_from([2, 3]))
    many = draw(boxes(ndim, draw(st.integers(1, 8))))
    return ndim, many, *(draw(part(ndim)) for part in parts)


def vectors(ndim):
    return st.lists(numbers, min_size=ndim, max_size=ndim)


reaches = st.one_of(st.just(math.inf), numbers.map(abs))


@numba.njit
def block_of(many, dim):
    bounds = np.empty((1, 2 * len(dim), simd.LANES), np.float32)
    slots = np.empty((1, simd.LANES), np.int32)
    exact = np.zeros(1, np.uint8)
    for lane in range(simd.LANES):
        clear_lane(bounds, slots, 0, lane, dim)
    for i in range(len(many)):
        write_lane(bounds, slots, exact, 0, i, i, many, i, dim)
    return bounds


@numba.njit
def distance_bounds(bounds, points, reach, dim):
    q = simd.local_query()
    simd.aim_at_point(q, points, 0, reach, dim)
    out = np.empty(simd.LANES, np.float32)
    return simd.distances8(bounds, 0, q, out, dim), out.astype(np.float64)


@numba.njit
def time_bounds(bounds, casts, last, dim):
    q = simd.local_query()
    simd.aim_along(q, casts, 0, last, dim)
    out = np.empty(simd.LANES, np.float32)
    return simd.cast8(bounds, 0, q, out, dim), out.astype(np.float64)


@numba.njit
def time_keys(bounds, items, casts, last, mark, dim):
    q = simd.local_query()
    simd.aim_along(q, casts, 0, last, dim)
    keys = np.empty(simd.LANES, np.int64)
    return simd.cast_keys8(bounds, items, 0, q, mark, keys, dim), keys


@numba.njit
def plane_mask(bounds, planes, n, dim):
    return planes_of_block(np.uint64((1 << n) - 1), bounds, 0, planes, 0, dim)


def lanes(mask):
    return {lane for lane in range(64) if int(mask) >> lane & 1}


@given(blocks_and(vectors), reaches)
def test_lanes_are_never_farther_than_their_boxes(drawn, reach):
    ndim, many, point = drawn
    dim = (0,) * ndim
    points = np.array([point])
    mask, bounds = distance_bounds(block_of(many, dim), points, reach, dim)
    distances = [distance_to_box(points, 0, many, i, dim) for i in range(len(many))]
    within = {i for i, distance in enumerate(distances) if distance <= reach}
    event(f"within {bool(within)}")
    assert within <= lanes(mask) <= set(range(len(many)))
    assert all(bounds[i] <= distance for i, distance in enumerate(distances))


def cast_row(box, motion, last):
    return np.array([[*box, *motion, last]])


@given(
    blocks_and(
        lambda ndim: boxes(ndim, 1).map(lambda rows: rows[0]),
        vectors,
    ),
    reaches,
    st.booleans(),
)
@example((2, np.array([[1.0, 0, 2, 1]]), np.array([0.0, 1, 0, 1]), [1.0, -0.0]), 1.0, False)
@example((2, np.array([[0.0, 0, 2, 1]]), np.array([2.0, 1, 2, 1]), [-5e-324, 0.0]), 0.0, False)
@example((2, np.array([[3e38, 0, 3e38, 1]]), np.array([-3e38, 0, -3e38, 0]), [1, 0]), 1e39, False)
@example((2, np.array([[0.0, 3e38, 0, 3e38]]), np.array([0, -3e38] * 2), [0, 6e38]), 1.0, False)
def test_lanes_are_never_met_later_than_their_boxes(drawn, last, is_ray):
    ndim, many, box, motion = drawn
    dim = (0,) * ndim
    if is_ray:
        box = np.concatenate([box[:ndim], box[:ndim]])
    casts = cast_row(box, motion, last)
    mask, bounds = time_bounds(block_of(many, dim), casts, last, dim)
    times = [cast_time(casts, 0, many, i, dim) for i in range(len(many))]
    met = {i for i, time in enumerate(times) if time >= 0.0}
    event(f"met {bool(met)}")
    assert met <= lanes(mask) <= set(range(len(many)))
    assert all(bounds[i] <= times[i] for i in met)


@numba.njit
def prepared(casts, last, dim, is_plain):
    q = np.zeros(16, np.float32)
    if is_plain:
        rounding.aim_along(q, casts, 0, last, dim)
    else:
        simd.aim_along(q, casts, 0, last, dim)
    return q


@given(blocks_and(vectors), reaches)
@example((2, np.array([[0.0, -0.0, 1e39, 3e38]]), [0.0, -5e-324]), math.inf)
@example((2, np.array([[-1e39, 0.1, -3e38, 0.1]]), [-0.0, 1e308]), 0.1)
def test_casts_are_prepared_axis_by_axis_as_all_axes_at_once(drawn, last):
    ndim, many, motion = drawn
    casts = cast_row(many[0], motion, last)
    dim = (0,) * ndim
    np.testing.assert_array_equal(
        prepared(casts, last, dim, True).view(np.int32),
        prepared(casts, last, dim, False).view(np.int32),
    )


ITEMS = np.array([[0, 2**31 - 1, 5, -1, -(2**31), -7, 1, 2]], np.int32)


@given(blocks_and(vectors, vectors), reaches, st.integers(0, 1))
@example((2, np.array([[0.0, 0, 2, 1]]), [1.0, 1.0], [1.0, -0.0]), math.inf, 1)
def test_keys_of_lanes_sort_by_time_and_name_the_item(drawn, last, mark):
    ndim, many, start, motion = drawn
    dim = (0,) * ndim
    casts = cast_row([*start, *start], motion, last)
    bounds = block_of(many, dim)
    mask, times = time_bounds(bounds, casts, last, dim)
    same, keys = time_keys(bounds, ITEMS, casts, last, np.int64(mark), dim)
    assert mask == same
    bits = np.maximum(times, 0.0).astype(np.float32).view(np.int32).astype(np.int64)
    for lane in lanes(mask):
        assert keys[lane] >> 32 == (bits[lane] & ~1 | mark)
        assert keys[lane] & 0xFFFFFFFF == int(ITEMS[0, lane]) & 0xFFFFFFFF


@given(blocks_and(), st.data())
def test_casts_at_a_box_reach_its_lane(drawn, data):
    # from somewhere towards a corner or a face: most of these meet, many just graze
    ndim, many = drawn
    dim = (0,) * ndim
    start = np.array(data.draw(vectors(ndim)))
    target = np.array(
        [
            data.draw(st.sampled_from([row[d], row[ndim + d]]))
            for row in many[:1]
            for d in range(ndim)
        ]
    )
    with np.errstate(all="ignore"):
        motion = target - start
    motion = np.where(np.isfinite(motion), motion, 1.0) * data.draw(st.sampled_from([1.0, 0.25]))
    last = data.draw(st.sampled_from([1.0, 4.0, math.inf]))
    casts = cast_row([*start, *start], motion, last)
    mask, bounds = time_bounds(block_of(many, dim), casts, last, dim)
    for i in range(len(many)):
        time = cast_time(casts, 0, many, i, dim)
        event(f"met {time >= 0.0}")
        assert time < 0.0 or (i in lanes(mask) and bounds[i] <= time)


@given(blocks_and(lambda ndim: st.lists(vectors(ndim + 1), min_size=1, max_size=3)))
def test_lanes_are_inside_planes_when_their_boxes_are(drawn):
    ndim, many, planes = drawn
    dim = (0,) * ndim
    exact = np.array([[number for plane in planes for number in plane]])
    mask = plane_mask(block_of(many, dim), exact, len(many), dim)
    inside = {i for i in range(len(many)) if within_planes(exact, 0, many, i, dim)}
    event(f"inside {bool(inside)}")
    assert inside <= lanes(mask)


def ordinary(rng, shape):
    """Return numbers that float32 has exactly, so that nothing but arithmetic is rounded."""
    return rng.uniform(-100, 100, shape).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("ndim", [2, 3])
def test_rounding_of_distances_is_made_up_for(ndim):
    dim = (0,) * ndim
    rng = np.random.default_rng(6)
    for _ in range(50):
        corners = np.sort(ordinary(rng, (8, 2, ndim)), axis=1)
        many, points = corners.reshape(8, 2 * ndim), ordinary(rng, (1, ndim))
        distances = [distance_to_box(points, 0, many, i, dim) for i in range(8)]
        bounds = distance_bounds(block_of(many, dim), points, math.inf, dim)[1]
        assert all(bound <= d for bound, d in zip(bounds, distances, strict=True))


@pytest.mark.parametrize("ndim", [2, 3])
def test_rays_that_graze_a_corner_reach_its_lane(ndim):
    # two faces are met and left at the same time, but for rounding
    dim = (0,) * ndim
    rng = np.random.default_rng(7)
    grazing = 0
    for _ in range(200):
        corners = np.sort(ordinary(rng, (8, 2, ndim)), axis=1)
        many, start = corners.reshape(8, 2 * ndim), ordinary(rng, ndim)
        corner = np.where(rng.random(ndim) < 0.5, many[0, :ndim], many[0, ndim:])
        cast = cast_row([*start, *start], (corner - start) * rng.uniform(0.2, 5), math.inf)
        mask, bounds = time_bounds(block_of(many, dim), cast, math.inf, dim)
        times = [cast_time(cast, 0, many, i, dim) for i in range(8)]
        grazing += times[0] >= 0.0
        assert {i for i in range(8) if times[i] >= 0.0} <= lanes(mask)
        assert all(bounds[i] <= times[i] for i in range(8) if times[i] >= 0.0)
    assert grazing > 20


@pytest.mark.parametrize("ndim", [2, 3])
def test_bounds_of_ordinary_lanes_are_close(ndim):
    dim = (0,) * ndim
    rng = np.random.default_rng(5)
    lower = rng.uniform(0, 100, (8, ndim))
    many = np.concatenate([lower, lower + rng.uniform(0, 10, (8, ndim))], axis=1)
    block = block_of(many, dim)
    points = rng.uniform(-100, 200, (50, ndim))
    targets = many[rng.integers(0, 8, 50), :ndim]
    for i in range(50):
        point, cast = points[i : i + 1], cast_row([*points[i]] * 2, targets[i] - points[i], 2.0)
        cast = cast_row([*points[i], *points[i]], targets[i] - points[i], 2.0)
        distances = [distance_to_box(point, 0, many, j, dim) for j in range(8)]
        bounds = distance_bounds(block, point, math.inf, dim)[1]
        assert all(bound >= 0.99999 * d - 1e-4 for bound, d in zip(bounds, distances, strict=True))
        mask, bounds = time_bounds(block, cast, 2.0, dim)
        grown = many + 1e-3 * np.array([-1.0] * ndim + [1.0] * ndim)
        for j in lanes(mask):
            time = cast_time(cast, 0, grown, j, dim)
            assert time >= 0.0
            assert bounds[j] >= time - 1e-4


def test_what_is_out_of_reach_is_left_out():
    dim = (0, 0)
    block = block_of(np.array([[2.0, 0, 3, 1], [5.0, 0, 6, 1], [-3.0, 0, -2, 1]]), dim)
    assert lanes(distance_bounds(block, np.array([[0.0, 0.5]]), 2.0, dim)[0]) == {0, 2}
    assert lanes(time_bounds(block, cast_row([0, 0.5] * 2, [1, 0], 9.0), 9.0, dim)[0]) == {0, 1}
    assert lanes(time_bounds(block, cast_row([0, 0.5] * 2, [1, 0], 9.0), 3.0, dim)[0]) == {0}
    assert lanes(time_bounds(block, cast_row([0, 1.5] * 2, [1, 0], 9.0), 9.0, dim)[0]) == set()
    assert lanes(time_bounds(block, cast_row([0, 0.5] * 2, [0, 0], 9.0), 9.0, dim)[0]) == set()
    assert lanes(plane_mask(block, np.array([[1.0, 0, 2, 0, -1, -1]]), 3, dim)) == {0, 2}
