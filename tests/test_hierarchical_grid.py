"""The hierarchical grid: which level an object is in, what is met, sizes and places of any kind."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

import spatialindex as si
from spatialindex import oracle
from spatialindex.errors import InvariantError
from spatialindex.kernels.grid import cells
from spatialindex.kernels.jit import kernel
from spatialindex.kernels.levels import numbering
from spatialindex.kernels.simd import union8


def filled(boxes, cell_size=None):
    index = si.HierarchicalGrid(np.shape(boxes)[1] // 2, cell_size)
    index.insert(boxes)
    return index


def around(centers, edges):
    return np.concatenate([centers - edges / 2, centers + edges / 2], axis=1)


def many_sizes(n, ndim, decades, *, seed=0, spread=5.0):
    """Place boxes of all magnitudes so near to the origin that many of them meet."""
    rng = np.random.default_rng(seed)
    edges = 10.0 ** rng.uniform(-decades / 2, decades / 2, (n, 1))
    return around(rng.normal(0, spread, (n, ndim)) * edges ** rng.random((n, 1)), edges)


def check(index):
    """Compare pairs and questions of all kinds with the oracle, and validate."""
    index.validate()
    ids, boxes = index.ids, index.boxes()
    ndim = index.ndim
    np.testing.assert_array_equal(index.pairs(), oracle.pairs(ids, boxes))
    some = boxes[:: max(len(boxes) // 20, 1)]
    np.testing.assert_array_equal(index.query(some), oracle.query(ids, boxes, None, some))
    scan = si.BruteForce(ndim)
    scan.insert(boxes, ids)
    points, ways = some[:, :ndim], some[::-1, ndim:] / 4 - some[:, :ndim] / 4
    ways[~ways.any(axis=1), 0] = 1.0
    for got, expected in (
        (index.nearest(points, 3), scan.nearest(points, 3)),
        (index.raycast(points, ways), scan.raycast(points, ways)),
        (index.boxcast_all(some, ways), scan.boxcast_all(some, ways)),
    ):
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)


# Levels


@pytest.mark.parametrize(
    ("edge", "level"),
    [(0.0, 1.0), (0.3, 1.0), (1.0, 1.0), (1.1, 2.0), (4.0, 4.0), (1000.0, 1024.0)],
)
def test_object_is_in_the_level_of_the_least_edge_not_below_its_own(edge, level):
    assert filled([[3.0, 3.0, 3.0 + edge, 3.0]], cell_size=1.0).edges == (level,)


@pytest.mark.parametrize(
    ("given", "used"), [(1.0, 1.0), (0.75, 1.0), (3.0, 4.0), (2.0**-30, 2.0**-30)]
)
def test_edge_of_the_finest_cells_is_raised_to_a_power_of_two(given, used):
    assert filled([[0, 0, 0, 0]], given).edge == used


@pytest.mark.parametrize("ndim", [2, 3])
def test_no_object_is_in_more_cells_than_corners_or_wide(ndim):
    boxes = many_sizes(500, ndim, 20)
    boxes = np.concatenate([boxes, np.trunc(boxes), boxes * 1e9])
    stats = filled(boxes, 1e-3).stats()
    assert stats.entries <= len(boxes) * 2**ndim
    assert stats.wide == 0


def test_levels_exist_only_while_there_is_something_in_them():
    index = filled([[0, 0, 1, 1], [0, 0, 8, 8], [0, 0, 64, 64]], cell_size=1.0)
    index.insert(np.repeat([[5, 5, 6, 6]], 100, axis=0))
    assert index.edges == (1.0, 8.0, 64.0)
    index.remove(1)
    assert index.edges == (1.0, 64.0)
    index.update([2], [[0, 0, 30, 30]])
    assert index.edges == (1.0, 32.0)
    index.insert([0, 0, 7, 7])
    assert index.edges == (1.0, 8.0, 32.0)
    check(index)
    index.remove(index.ids)
    assert index.edges == ()
    assert len(index.pairs()) == 0


def test_objects_that_change_their_size_change_their_level():
    rng = np.random.default_rng(1)
    index = filled(many_sizes(400, 2, 3.0))
    for _ in range(8):
        moved = rng.choice(400, 60, replace=False)
        index.update(moved, many_sizes(60, 2, 6.0, seed=int(moved[0])))
        check(index)


# What is met


@pytest.mark.parametrize(("ndim", "most"), [(2, 7.0), (3, 14.0)])
@pytest.mark.parametrize("n", [1000, 8000, 50_000])
def test_candidates_among_many_sizes_are_few_times_the_pairs(ndim, most, n):
    index = filled(si.generate("sizes", n=n, ndim=ndim, seed=3).boxes[0])
    index.pairs()
    stats = index.stats()
    assert stats.pairs > n / 2
    assert stats.candidates <= most * stats.pairs


@pytest.mark.parametrize(("ndim", "most"), [(2, 7.0), (3, 20.0)])
def test_candidates_follow_the_pairs_over_nine_magnitudes(ndim, most):
    edges = np.repeat(10.0 ** np.arange(-4.5, 4.5, 1.0), 300)
    rng = np.random.default_rng(5)
    # of each size as many, as densely packed: each meets few of its own size and all that is larger
    boxes = around(rng.uniform(-4, 4, (len(edges), ndim)) * edges[:, None], edges[:, None])
    index = filled(boxes)
    index.pairs()
    stats = index.stats()
    assert len(index.edges) > 3
    assert stats.candidates <= most * stats.pairs


def test_pair_of_two_levels_is_met_in_several_cells_and_counted_in_one():
    # a small box across a corner of four fine cells, all of them in one coarse one
    index = filled([[0.9, 0.9, 1.1, 1.1], [0.5, 0.5, 7.5, 7.5]], cell_size=1.0)
    assert index.pairs().tolist() == [[0, 1]]
    stats = index.stats()
    assert (stats.entries, stats.visits, stats.candidates) == (5, 4, 1)


def test_pair_is_counted_once_where_the_larger_begins_within_the_smaller():
    # the larger one begins between the fine cells that the smaller is in
    boxes = [[0.5, 0.5, 1.5, 1.5], [1.0, 1.2, 8.9, 8.9], [1.0, -6.0, 8.9, 1.0]]
    index = filled(boxes, cell_size=1.0)
    assert index.edges == (1.0, 8.0)
    check(index)
    assert index.pairs().tolist() == [[0, 1], [0, 2]]


# Sizes and places of any kind


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("cell_size", [None, 1e-6, 1.0])
def test_sizes_over_twelve_magnitudes(ndim, cell_size):
    index = filled(many_sizes(600, ndim, 12.0), cell_size)
    assert index.stats().wide == 0
    check(index)


@pytest.mark.parametrize("place", [1e6, 1e12, 2.0**53, 1e18, 1e200, 1.7e308])
@pytest.mark.parametrize("ndim", [2, 3])
def test_small_objects_far_away_meet_what_touches_them(ndim, place):
    step = math.ulp(place)
    lower = place + step * np.array([0.0, 1.0, 2.0, 4.0])
    boxes = np.column_stack([lower] * ndim + [lower + step] * ndim)
    index = filled(np.concatenate([boxes, -boxes[:, ::-1], [[0.0] * 2 * ndim]]), cell_size=1e-3)
    assert [0, 1] in index.pairs().tolist()
    assert [2, 3] not in index.pairs().tolist()
    check(index)


def test_level_is_as_fine_as_numbers_are_at_that_place():
    near, far = [0.0, 0.0, 0.0, 0.0], [2.0**80, 0.0, 2.0**80, 0.0]
    assert filled([near, far], cell_size=1.0).edges == (1.0, 2.0 ** (80 - numbering.FARTHEST))


def test_boxes_up_to_all_floats():
    largest = np.finfo(float).max
    boxes = [
        [-largest, -largest, largest, largest],
        [0.0, 0.0, largest, 5e-324],
        [-5e-324, -5e-324, 5e-324, 0.0],
        [-5e-324, -5e-324, -5e-324, -5e-324],
        [-largest, 1.0, -largest, 1.0],
        [largest, largest, largest, largest],
        [0.9e308, 0.9e308, 1.79e308, 1.79e308],
    ]
    for cell_size in (None, 5e-324, 1.0, 1e308):
        index = filled(boxes, cell_size)
        check(index)
        index.update([5], [[-1.0, -1.0, -5e-324, 1.0]])
        check(index)


@pytest.mark.parametrize("ndim", [2, 3])
def test_points_without_size_find_a_level_by_how_dense_they_are(ndim):
    rng = np.random.default_rng(2)
    points = rng.integers(0, 40, (3000, ndim)).astype(float)
    index = filled(np.concatenate([points, points], axis=1))
    assert len(index.edges) == 1
    assert 0.25 <= index.edge <= 64.0
    check(index)


def test_points_that_the_smallest_float_lies_between():
    x, y = np.divmod(np.arange(64), 8)
    points = np.column_stack([x, y]) * 5e-324
    index = filled(np.concatenate([points, points], axis=1))
    assert index.edge >= 5e-324
    check(index)


def test_all_objects_at_one_point():
    index = filled(np.tile([3.0, 3.0, 3.0, 3.0], (200, 1)))
    assert len(index.pairs()) == 200 * 199 // 2
    index.validate()


COORDINATES = st.one_of(
    st.floats(-1e6, 1e6), st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9)
)


@given(st.lists(COORDINATES, min_size=2, max_size=2), st.integers(-8, 8))
@example([-5e-324, 4.0], 0)
@example([-1.0, 1.0], 0)
@example([-1.7e308, 1.7e308], 0)
def test_levels_nest(corners, exponent):
    """What two boxes share lies in cells of which one is in the other, whatever is rounded."""
    lower, upper = sorted(map(float, corners))
    large = np.array([[lower, lower, upper, upper]])
    for at in (lower, upper):
        both = np.concatenate([large, [[at] * 4]])
        ranges = np.empty((2, 4), np.int64)
        numbers, begins = np.empty(2, np.int16), np.empty(2, np.uint8)
        counts = np.zeros(numbering.NUMBERS, np.int64)
        finest = numbering.BIAS + exponent
        numbering.level_ranges(both, finest, (0, 0), ranges, numbers, begins, counts)
        shift = min(int(numbers[0] - numbers[1]), 55)
        assert shift >= 0
        for d in (0, 1):
            base = numbers.astype(np.int64) * numbering.STRIDE if d == 0 else np.zeros(2, np.int64)
            first, last = ranges[:, d] - base, ranges[:, 2 + d] - base
            assert (last - first <= 1).all()
            assert any(
                first[0] <= c >> shift <= last[0] for c in range(int(first[1]), int(last[1]) + 1)
            )


# Upkeep


def test_memory_does_not_grow_with_where_objects_have_been():
    rng = np.random.default_rng(4)
    index = filled(many_sizes(2000, 3, 6.0), cell_size=0.01)
    index.pairs()
    before = index.nbytes
    for turn in range(30):
        moved = rng.choice(2000, 200, replace=False)
        boxes = many_sizes(200, 3, 6.0, seed=turn) + rng.uniform(-1e6, 1e6)
        index.update(moved, boxes)
        index.pairs()
        index.remove(moved[:50])
        index.insert(boxes[:50], moved[:50])
    check(index)
    assert index.nbytes < 1.6 * before


def test_few_that_are_left_of_many_take_the_memory_of_few():
    index = filled(many_sizes(5_000, 2, 6.0), cell_size=0.01)
    index.pairs()
    before = index.nbytes
    for ids in np.array_split(index.ids[100:], 50):
        index.remove(ids)
        index.pairs()
    assert index.nbytes < before / 4
    check(index)


def test_finest_level_is_chosen_again_when_there_are_many_more():
    boxes = around(np.random.default_rng(0).uniform(0, 100, (20_000, 2)), np.full((1, 2), 1e-3))
    index = filled(boxes[:50])
    coarse = index.edge
    index.insert(boxes[50:])
    assert index.edge < coarse
    check(filled(index.boxes()[:3000], index.edge))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda s: s._levels._objects.update({numbering.BIAS: 9}), "are noted, the boxes are in"),
        (lambda s: s._levels.numbers.__iadd__(1), "other levels than those occupied"),
        (lambda s: s._levels.metas.__setitem__((0, cells.LOWEST), 100), "outside the occupied"),
        (lambda s: s._store.arrays.ranges.__iadd__(1), "does not remember the cells"),
        (lambda s: s._store.arrays.first.fill(0), "first-cell bit"),
    ],
)
def test_validation_finds_damage(damage, message):
    index = filled([[0, 0, 1, 1], [4, 4, 5, 5.5]], cell_size=2.0)
    index.pairs()
    damage(index._structure)
    with pytest.raises(InvariantError, match=message):
        index._structure.validate()


@pytest.mark.parametrize("cell_size", [0, -1.0, math.nan, math.inf, "1", True])
def test_edge_that_is_none_is_refused(cell_size):
    with pytest.raises(si.InvalidArgumentError, match=r"cell_size is .*: pass a finite edge > 0"):
        si.HierarchicalGrid(2, cell_size)


# Vector instructions


@kernel
def surround(bounds, block, q, dim):
    union8(bounds, block, q, dim)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_box_around_a_block_holds_all_of_its_lanes(ndim, n):
    rng = np.random.default_rng(n)
    bounds = np.full((2, 2 * ndim, 8), np.nan, np.float32)
    for _ in range(20):
        lanes = rng.permutation(8)[:n]
        bounds[1] = np.nan
        bounds[1, :, lanes] = rng.choice([-np.inf, -1.5, 0.0, 2.0, np.inf], (n, 2 * ndim))
        q = np.zeros(8, np.float32)
        surround(bounds, 1, q, (0,) * ndim)
        assert q[:ndim].tolist() == np.nanmin(bounds[1, :ndim], axis=1).tolist()
        assert q[ndim : 2 * ndim].tolist() == np.nanmax(bounds[1, ndim:], axis=1).tolist()
