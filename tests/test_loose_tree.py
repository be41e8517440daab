"""Loose trees: cells of any magnitude, looseness as hysteresis, nodes that come and go."""

import numpy as np
import pytest

import spatialindex as si
from spatialindex.kernels.loose import nodes

CLASSES = {2: si.LooseQuadtree, 3: si.LooseOctree}
NDIMS = pytest.mark.parametrize("ndim", [2, 3])


def tree(ndim, **parameters):
    return CLASSES[ndim](**parameters)


def cubes(n, ndim, *, seed=0, extent=100.0, edge=1.0):
    lower = np.random.default_rng(seed).random((n, ndim)) * extent
    return np.hstack([lower, lower + edge])


def renoded(index):
    """How many objects have changed their node because they moved, after pending changes."""
    index.query(np.empty((0, 2 * index.ndim)))
    return index._structure.n_renoded


def assert_answers(index):
    """Compare with brute force, and see that nothing is broken."""
    index.validate()
    plain = si.BruteForce(index.ndim)
    boxes = index.boxes()
    plain.insert(boxes, index.ids)
    np.testing.assert_array_equal(index.pairs(), plain.pairs())
    np.testing.assert_array_equal(index.query(boxes[:50]), plain.query(boxes[:50]))


# What can be made


@pytest.mark.parametrize(("ndim", "other"), [(3, "LooseOctree"), (2, "LooseQuadtree")])
def test_class_has_one_number_of_dimensions(ndim, other):
    with pytest.raises(si.InvalidArgumentError, match=f"indexes {5 - ndim}D boxes; see {other}"):
        CLASSES[5 - ndim](ndim)


@pytest.mark.parametrize("looseness", [1.0, 0, -2.0, 16.5, float("nan"), float("inf"), "2", True])
def test_looseness_that_cannot_be_meant_is_refused(looseness):
    with pytest.raises(si.InvalidArgumentError, match=r"looseness is .* above 1 and up to 16"):
        si.LooseQuadtree(looseness=looseness)


@pytest.mark.parametrize("leaf_size", [0, -1, 2.5, None, True])
def test_leaf_size_that_cannot_be_meant_is_refused(leaf_size):
    with pytest.raises(si.InvalidArgumentError, match=r"leaf_size is .* 1 or more"):
        si.LooseOctree(leaf_size=leaf_size)


@NDIMS
@pytest.mark.parametrize("looseness", [1.001, 1.25, 2, 3.0, 16.0])
@pytest.mark.parametrize("leaf_size", [1, 2, 8, 30])
def test_any_looseness_and_leaf_size_gives_the_same_answers(ndim, looseness, leaf_size):
    index = tree(ndim, looseness=looseness, leaf_size=leaf_size)
    assert (index.looseness, index.leaf_size) == (looseness, leaf_size)
    boxes = cubes(150, ndim, extent=20.0) - 7.0
    index.insert(boxes)
    assert_answers(index)
    index.update(None, boxes + np.random.default_rng(1).normal(size=(150, 1)))
    assert_answers(index)
    index.update(np.arange(20), boxes[:20] * 3.0)
    index.remove(np.arange(100, 140))
    assert_answers(index)


# Cells of any magnitude


@NDIMS
@pytest.mark.parametrize("far", [1e9, 1e30, -1e300, 1.7e308])
@pytest.mark.parametrize("first", [True, False])
def test_outliers_leave_everything_else_where_it_is(ndim, far, first):
    index, alone = tree(ndim), tree(ndim)
    outlier = np.full(2 * ndim, far)
    boxes = cubes(2000, ndim)
    alone.insert(boxes)
    if first:
        index.insert(outlier)
    index.insert(boxes)
    if not first:
        index.query(boxes[:1])
        index.insert(outlier)
    stats = index.stats()
    assert stats.max_bucket == alone.stats().max_bucket <= index.leaf_size
    assert stats.buckets <= alone.stats().buckets + 1
    assert_answers(index)


@NDIMS
def test_clusters_of_any_magnitude_are_each_divided(ndim):
    index = tree(ndim)
    for exponent in (-300, -100, -12, 0, 9, 100, 300):
        index.insert((cubes(100, ndim, extent=20.0) - 10.0) * 10.0**exponent)
        index.query(np.zeros((0, 2 * ndim)))
    assert index.stats().max_bucket <= index.leaf_size
    assert_answers(index)
    index.rebuild()
    assert index.stats().max_bucket <= index.leaf_size
    assert_answers(index)


@NDIMS
def test_path_may_be_as_deep_as_floats_are_small(ndim):
    distance = 2.0 ** -np.arange(900.0)
    corners = np.repeat(distance[:, None], ndim, axis=1)
    index = tree(ndim, leaf_size=1)
    index.insert(np.hstack([corners, corners * 1.25]))
    for _ in range(2):
        assert index.stats().max_bucket == 1
        assert_answers(index)
        np.testing.assert_array_equal(
            index.nearest(corners[::100]).ids[:, 0], np.arange(0, 900, 100)
        )
        index.remove(np.arange(0, 900, 7))
        index.insert(np.hstack([corners, corners * 1.25])[::7], np.arange(0, 900, 7))


@NDIMS
def test_boxes_finer_than_floats_are_there_share_a_node(ndim):
    # beyond 2**53 there is no float between even numbers: such points have no finer cells
    base = 2.0**60
    points = base + np.random.default_rng(0).integers(0, 4, (300, ndim)) * 256.0
    index = tree(ndim)
    index.insert(np.hstack([points, points]))
    assert_answers(index)
    smallest = tree(ndim)
    smallest.insert(np.full((40, 2 * ndim), 5e-324))
    assert smallest.stats().max_bucket == 40
    assert_answers(smallest)


@NDIMS
def test_whole_space_is_a_legal_box(ndim):
    most = np.finfo(float).max
    index = tree(ndim)
    index.insert(cubes(50, ndim))
    everything = index.insert(np.repeat([-most, most], ndim))
    assert len(index.pairs()) >= 50
    assert_answers(index)
    index.update(everything, np.zeros(2 * ndim))
    assert_answers(index)
    assert index._structure.n_renoded == 1


@NDIMS
def test_all_sides_of_the_origin_are_alike(ndim):
    boxes = cubes(400, ndim, extent=40.0) - 20.0
    mirrored = np.hstack([-boxes[:, ndim:], -boxes[:, :ndim]])
    index, mirror = tree(ndim), tree(ndim)
    index.insert(boxes)
    mirror.insert(mirrored)
    np.testing.assert_array_equal(index.pairs(), mirror.pairs())
    assert index.stats().buckets == mirror.stats().buckets
    assert_answers(mirror)


# Crowds


@NDIMS
def test_identical_boxes_are_in_one_node_however_they_came(ndim):
    box = np.repeat([3.0, 4.0], ndim)
    index = tree(ndim)
    for _ in range(5):
        for _ in range(9):
            index.insert(box)
            index.query(box)
        index.insert(np.tile(box, (50, 1)))
        index.query(box)
    assert index.stats().max_bucket == 295
    assert len(index.pairs()) == 295 * 294 // 2
    index.remove(index.ids[::2])
    assert_answers(index)
    index.rebuild()
    assert index.stats().buckets == 1
    assert_answers(index)


@NDIMS
def test_crowd_that_comes_one_by_one_is_divided(ndim):
    boxes = cubes(300, ndim, extent=30.0)
    index, at_once = tree(ndim), tree(ndim)
    for box in boxes:
        index.insert(box)
        index.query(box)
    at_once.insert(boxes)
    assert index.stats().max_bucket <= index.leaf_size
    assert index.stats().buckets <= 1.3 * at_once.stats().buckets
    assert_answers(index)


@NDIMS
def test_large_objects_among_small_ones_are_above_them(ndim):
    index = tree(ndim)
    small = cubes(3000, ndim, extent=60.0, edge=0.5)
    index.insert(small)
    index.insert(cubes(5, ndim, extent=20.0, edge=40.0))
    index.validate()
    arrays = index._structure._store.arrays

    def exponent(slot):
        block = int(arrays.places[slot]) // 8
        return int(arrays.nodes[nodes.head_of(arrays, block), nodes.EXPONENT])

    assert min(exponent(slot) for slot in range(3000, 3005)) == 6  # 40 fits 64, not 32
    assert max(exponent(slot) for slot in range(3000)) <= 4
    index.update(3000, small[0])
    index.update(0, np.repeat([0.0, 100.0], ndim))
    assert_answers(index)
    assert (exponent(3000) <= 4, exponent(0)) == (True, 7)


# Motion


@NDIMS
def test_moves_within_loose_bounds_change_no_node(ndim):
    index = tree(ndim)
    edges = np.arange(8.0) * 8.0
    corners = np.stack(np.meshgrid(*[edges] * ndim), -1).reshape(-1, ndim) + 3.0
    boxes = np.hstack([corners, corners + 2.0])  # in the middle of cells of 8
    index.insert(boxes)
    index.pairs()
    moved = np.random.default_rng(0).uniform(-2.9, 2.9, (20, len(boxes), 1))
    for step in moved:
        index.update(None, boxes + step)
        index.validate()
    assert renoded(index) == 0
    assert index.stats().rebuilds == 1
    index.update(3, boxes[3] + 40.0)
    assert renoded(index) == 1
    assert_answers(index)


def test_more_looseness_means_fewer_changes_of_nodes():
    counts = []
    steps = np.random.default_rng(3).normal(0, 0.3, (10, 2000, 2))
    for looseness in (1.5, 2.0, 4.0):
        index = tree(2, looseness=looseness, leaf_size=2)
        boxes = cubes(2000, 2, extent=200.0)
        index.insert(boxes)
        for step in steps:
            boxes = boxes + np.tile(step, 2)
            index.update(None, boxes)
            index.query(boxes[0])
        assert index.stats().rebuilds == 1
        counts.append(renoded(index))
        assert_answers(index)
    assert counts[0] > 2 * counts[1] > 4 * counts[2]


@NDIMS
def test_teleports_leave_nothing_behind(ndim):
    index = tree(ndim)
    boxes = cubes(500, ndim)
    index.insert(boxes)
    for step in range(6):
        chosen = np.arange(step, 500, 11)
        boxes[chosen] += 1000.0 * (step + 1)
        index.update(chosen, boxes[chosen])
        assert_answers(index)
    assert index.stats().rebuilds == 1


@NDIMS
def test_memory_is_flat_under_churn(ndim):
    index = tree(ndim)
    rng = np.random.default_rng(7)
    index.insert(cubes(1000, ndim), np.arange(1000))
    sizes, blocks = [], []
    for round_ in range(150):
        chosen = rng.choice(1000, 100, replace=False)
        boxes = cubes(100, ndim, seed=round_)
        if round_ % 2:
            index.update(chosen, boxes)
        else:
            index.remove(chosen)
            index.insert(boxes, chosen)
        index.query(boxes[0])
        meta = index._structure._store.arrays.meta
        sizes.append(index.nbytes)
        blocks.append(meta[nodes.USED_BLOCKS] - meta[nodes.FREE_BLOCKS])
    assert max(sizes[50:]) <= 1.2 * max(sizes[:50])
    fresh = tree(ndim)
    fresh.insert(index.boxes())
    fresh.validate()
    meta = fresh._structure._store.arrays.meta
    assert max(blocks) <= 2 * meta[nodes.USED_BLOCKS]
    assert max(blocks[75:]) <= 1.1 * max(blocks[:75])
    assert_answers(index)


@NDIMS
def test_tree_shrinks_with_what_is_in_it(ndim):
    index = tree(ndim)
    index.insert(cubes(3000, ndim))
    index.query(np.zeros(2 * ndim))
    full = index._structure.nbytes
    for start in range(0, 2960, 40):
        index.remove(np.arange(start, start + 40))
        index.query(np.zeros(2 * ndim))
    assert index._structure.nbytes < full / 4
    assert index.stats().buckets <= 40
    assert_answers(index)
    index.remove(index.ids)
    index.validate()
    assert index.stats().buckets == 0


@NDIMS
def test_drifting_crowd_keeps_its_answers_and_its_leaves(ndim):
    index = tree(ndim, leaf_size=4)
    boxes = cubes(400, ndim, extent=20.0)
    velocity = np.tile(np.random.default_rng(5).normal(0, 0.5, (400, ndim)), 2)
    index.insert(boxes)
    for _ in range(12):
        boxes = boxes + velocity + 0.4
        index.update(None, boxes)
        assert_answers(index)
    assert index.stats().max_bucket <= 4
