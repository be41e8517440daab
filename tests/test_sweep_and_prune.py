"""Sweep-and-prune: axis and lanes, the work of sorting, what changes leave behind, validation."""

import numpy as np
import pytest

import spatialindex as si
from spatialindex import oracle
from spatialindex.errors import InvariantError
from spatialindex.kernels.sweep import lanes as places


def scattered(n, ndim, *, extent=100.0, size=1.0, seed=0):
    rng = np.random.default_rng(seed)
    lower = rng.random((n, ndim)) * extent
    return np.concatenate([lower, lower + rng.random((n, ndim)) * size], axis=1)


def filled(boxes):
    index = si.SweepAndPrune(boxes.shape[1] // 2)
    index.insert(boxes)
    return index


def check(index):
    """Compare all pairs and some regions with the oracle, and validate."""
    index.validate()
    boxes = index.boxes()
    np.testing.assert_array_equal(index.pairs(), oracle.pairs(index.ids, boxes))
    regions = boxes[::7] + 0.25
    np.testing.assert_array_equal(
        index.query(regions), oracle.query(index.ids, boxes, None, regions)
    )


# Axis and lanes


@pytest.mark.parametrize(("ndim", "axis"), [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)])
def test_tower_is_swept_along_its_height(ndim, axis):
    boxes = scattered(500, ndim)
    for d in set(range(ndim)) - {axis}:
        boxes[:, ndim + d] -= 0.99 * boxes[:, d]
        boxes[:, d] *= 0.01
    index = filled(boxes)
    assert index.axis == axis
    check(index)


@pytest.mark.parametrize("flat", [0, 1, 2])
def test_flat_world_has_lanes_along_one_of_its_wide_axes_only(flat):
    boxes = scattered(3000, 3)
    boxes[:, flat] = 0.0
    boxes[:, 3 + flat] = 1.0
    index = filled(boxes)
    across = [d for d in range(3) if d != index.axis]
    wide = next(d for d in range(3) if d not in (flat, index.axis))
    assert index.axis != flat
    assert index.lanes[across.index(flat)] == 1
    assert index.lanes[across.index(wide)] > 4
    check(index)


@pytest.mark.parametrize("ndim", [2, 3])
def test_long_boxes_are_not_swept_along_their_length(ndim):
    boxes = scattered(1000, ndim)
    boxes[:, ndim] = boxes[:, 0] + 30.0
    index = filled(boxes)
    assert index.axis != 0
    check(index)


def test_axis_stays_until_another_is_well_better():
    boxes = scattered(400, 2)
    boxes[:, [0, 2]] *= 1.2
    boxes[:, 2] = boxes[:, 0] + 0.5
    boxes[:, 3] = boxes[:, 1] + 0.5
    index = filled(boxes)
    assert index.axis == 0
    before = index._structure.sorts
    for stretch, axis in ((1.4, 0), (3.0, 1)):
        taller = boxes.copy()
        taller[:, 1] *= stretch
        taller[:, 3] = taller[:, 1] + 0.5
        index.update(None, taller)
        assert index.axis == axis
        check(index)
    assert index._structure.sorts == before + 2  # both sorted from scratch, with a choice


def test_rebuild_chooses_the_axis_whatever_it_was():
    boxes = scattered(400, 2)
    boxes[:, 2] += 0.2 * boxes[:, 0]
    boxes[:, 0] *= 1.2
    index = filled(boxes)
    assert index.axis == 0
    turned = boxes[:, [1, 0, 3, 2]]
    index.update(None, turned)
    assert index.axis == 0
    index.rebuild()
    assert index.axis == 1
    check(index)


def test_empty_index_has_neither_axis_nor_lanes():
    index = si.SweepAndPrune(3)
    assert index.axis is None
    assert index.lanes == ()
    index.insert([0, 0, 0, 1, 1, 1])
    assert index.axis is not None
    assert index.lanes == (1, 1)
    index.remove([0])
    assert index.axis is None
    index.validate()


@pytest.mark.parametrize("ndim", [2, 3])
def test_pair_that_shares_many_lanes_is_reported_once(ndim):
    boxes = scattered(2000, ndim, size=4.0)
    boxes[:40, ndim:] += 60.0
    index = filled(boxes)
    assert min(index.lanes) > 1
    assert index.stats().entries > 1.1 * len(boxes)
    check(index)


@pytest.mark.parametrize("ndim", [2, 3])
def test_far_outliers_do_not_crowd_the_others(ndim):
    boxes = scattered(4000, ndim)
    boxes[::1000] += 1e9
    index = filled(boxes)
    check(index)
    assert index.stats().candidates < 40 * len(boxes)


@pytest.mark.parametrize("ndim", [2, 3])
def test_two_far_clusters_are_swept_each_by_itself(ndim):
    # a key between the ends of the world would not tell the members of a cluster apart
    boxes = scattered(3000, ndim, extent=1.0, size=0.01)
    boxes[1500:] += 1e4
    index = filled(boxes)
    check(index)
    assert index.stats().candidates < 100 * len(boxes)


@pytest.mark.parametrize("ndim", [2, 3])
def test_large_objects_are_entries_of_few_lanes_each(ndim):
    boxes = scattered(2000, ndim, size=0.1)
    boxes[:20, :ndim] = 0.0
    boxes[:20, ndim:] = 100.0
    index = filled(boxes)
    check(index)
    assert index.stats().entries <= 6 * len(boxes) + 64


@pytest.mark.parametrize("ndim", [2, 3])
def test_everything_at_one_point(ndim):
    index = filled(np.tile(np.ones(2 * ndim), (300, 1)))
    assert len(index.pairs()) == 300 * 299 // 2
    assert index.query_point(np.ones(ndim)).tolist() == list(range(300))
    index.update(7, np.full(2 * ndim, 2.0))
    assert len(index.pairs()) == 299 * 298 // 2
    index.validate()


# Questions


@pytest.mark.parametrize("ndim", [2, 3])
def test_long_boxes_that_begin_far_away_are_found(ndim):
    boxes = scattered(1500, ndim)
    boxes[::100, :ndim] = 0.0
    for d in range(ndim):
        boxes[100 * d :: 100 * ndim, ndim + d] = 100.0
    index, plain = filled(boxes), si.BruteForce(ndim)
    plain.insert(boxes)
    regions = scattered(200, ndim, size=3.0, seed=1)
    np.testing.assert_array_equal(index.query(regions), plain.query(regions))
    np.testing.assert_array_equal(index.count(regions), plain.count(regions))
    for got, expected in zip(
        index.nearest(regions[:, :ndim], k=5), plain.nearest(regions[:, :ndim], k=5), strict=True
    ):
        np.testing.assert_array_equal(got, expected)


# The work of sorting


def coherent(boxes, rng, share=0.1):
    ndim = boxes.shape[1] // 2
    way = rng.normal(size=(len(boxes), ndim)) * share * np.median(boxes[:, ndim:] - boxes[:, :ndim])
    return boxes + np.concatenate([way, way], axis=1)


@pytest.mark.parametrize("ndim", [2, 3])
def test_coherent_motion_is_sorted_from_the_old_order_with_linear_work(ndim):
    rng = np.random.default_rng(3)
    boxes = scattered(4000, ndim)
    index = filled(boxes)
    entries = index.stats().entries
    structure = index._structure
    for _ in range(10):
        boxes = coherent(boxes, rng)
        index.update(None, boxes)
        before = structure.sort_work
        check(index)
        assert 0 < structure.sort_work - before < entries
    assert structure.sorts == 1


@pytest.mark.parametrize("ndim", [2, 3])
def test_rest_takes_no_sort_work(ndim):
    boxes = scattered(1000, ndim)
    index = filled(boxes)
    index.pairs()
    index.update(None, boxes)
    check(index)
    assert index._structure.sort_work == 0
    assert index._structure.sorts == 1


def exploded(boxes, ndim):
    return 50.0 + 40.0 * (boxes - 50.0)


def mirrored(boxes, ndim):
    return 100.0 - boxes[:, [*range(ndim, 2 * ndim), *range(ndim)]]


def shuffled(boxes, ndim):
    return boxes[::-1].copy()


def mirrored_in_its_lanes(boxes, ndim):
    """Reverse the order along the sweep axis, and change no lane."""
    axis = filled(boxes).axis
    turned = boxes.copy()
    turned[:, axis] = 100.0 - boxes[:, ndim + axis]
    turned[:, ndim + axis] = 100.0 - boxes[:, axis]
    return turned


@pytest.mark.parametrize("change", [exploded, mirrored, shuffled, mirrored_in_its_lanes])
@pytest.mark.parametrize("ndim", [2, 3])
def test_incoherent_motion_is_sorted_from_scratch_before_work_is_quadratic(ndim, change):
    boxes = scattered(4000, ndim)
    index = filled(boxes)
    index.pairs()
    structure = index._structure
    stats = index.stats()
    most = 4 * stats.entries + 64 + 8 * stats.max_bucket  # and those of the block that exceeds it
    index.update(None, change(boxes, ndim))
    check(index)
    assert structure.sort_work <= most
    assert structure.sorts == 2


@pytest.mark.parametrize("ndim", [2, 3])
def test_each_frame_of_an_explosion_takes_linear_work(ndim):
    boxes = si.generate("explosion", n=1500, ndim=ndim, frames=12, seed=2).boxes
    index = filled(boxes[0])
    structure = index._structure
    for frame in boxes[1:]:
        stats, before = index.stats(), structure.sort_work
        index.update(None, frame)
        index.pairs()
        most = 4 * stats.entries + 64 + 8 * stats.max_bucket
        assert structure.sort_work - before <= most
    check(index)


@pytest.mark.parametrize("ndim", [2, 3])
def test_few_come_and_go_while_all_move(ndim):
    # found by random operations: what had just come was taken for something that has moved
    rng = np.random.default_rng(8)
    index = filled(scattered(2000, ndim))
    index.pairs()
    for step in range(6):
        index.remove(rng.choice(index.ids, 15, replace=False))
        index.insert(scattered(20, ndim, seed=step + 20))
        index.update(None, coherent(index.boxes(), rng))
        check(index)
    assert index._structure.sorts == 1


def test_lanes_are_chosen_anew_from_time_to_time():
    rng = np.random.default_rng(5)
    boxes = scattered(300, 2)
    index = filled(boxes)
    for _ in range(40):
        boxes = coherent(boxes, rng, share=0.01)
        index.update(None, boxes)
        index.pairs()
    assert index._structure.sorts == 2


# Changes one by one


@pytest.mark.parametrize("ndim", [2, 3])
def test_few_changes_are_made_without_sorting(ndim):
    rng = np.random.default_rng(2)
    boxes = scattered(3000, ndim)
    index = filled(boxes)
    index.query(boxes[0])  # there is a tree to keep up from here on
    for step in range(12):
        moved = rng.choice(index.ids, 40, replace=False)
        index.update(moved, scattered(40, ndim, seed=step))
        index.remove(rng.choice(index.ids, 10, replace=False))
        index.insert(scattered(10, ndim, seed=step + 50))
        check(index)
    assert index._structure.sorts == 1


@pytest.mark.parametrize("ndim", [2, 3])
def test_full_lane_is_built_anew(ndim):
    boxes = scattered(2000, ndim)
    index = filled(boxes)
    index.pairs()
    for step in range(20):  # all to the same place, where soon there is no gap
        index.insert(scattered(50, ndim, extent=0.5, size=0.1, seed=step) + 50.0)
        index.query_point(np.zeros(ndim))
    assert index._structure.sorts > 1
    check(index)


def test_memory_does_not_grow_by_churn():
    rng = np.random.default_rng(4)
    index = filled(scattered(2000, 2))
    index.pairs()
    sizes = []
    for step in range(60):
        index.remove(rng.choice(index.ids, 100, replace=False))
        index.insert(scattered(100, 2, seed=step))
        index.query_point([0.0, 0.0])
        sizes.append(index._structure.nbytes)
    check(index)
    assert max(sizes) < 2 * sizes[0]


def test_memory_follows_what_is_left():
    index = filled(scattered(20_000, 2))
    index.pairs()
    full = index._structure.nbytes
    index.remove(index.ids[100:])
    check(index)
    assert index._structure.nbytes < full / 5


# Validation


def broken_home(arrays):
    arrays.homes[0] += 1


def broken_range(arrays):
    arrays.ranges[0, 0] += 1


def broken_bit(arrays):
    arrays.first[0, 0] ^= 1


def broken_bounds(arrays):
    arrays.bounds[0, 0, 0] += 1000


def broken_exactness(arrays):
    arrays.exact[:] = 255


def broken_start(arrays):
    arrays.starts[0] = 1e6


def broken_end(arrays):
    last = arrays.offsets[1] - 1
    arrays.starts[last], arrays.slots[last], arrays.bounds[last] = 1e6, -1, np.nan


def broken_count(arrays):
    arrays.meta[places.ENTRIES] += 1


def broken_entry(arrays):
    arrays.slots[0, 0] = -1
    arrays.bounds[0, :, 0] = np.nan


def broken_gap(arrays):
    used = ~np.isnan(arrays.starts)
    block, lane = np.argwhere((arrays.slots == -1) & used[:, None])[0]
    arrays.bounds[block, 0, lane] = 0.0


@pytest.mark.parametrize(
    ("breaks", "message"),
    [
        (broken_home, "not where its home"),
        (broken_range, "does not remember the lanes"),
        (broken_bit, "first-lane bit is wrong"),
        (broken_bounds, "do not hold its box"),
        (broken_exactness, "marked as exact"),
        (broken_start, "starts later"),
        (broken_end, "not followed by one that is not"),
        (broken_count, "entries are counted"),
        (broken_entry, "entries are there"),
        (broken_gap, "empty lane of a block has bounds"),
    ],
)
def test_validate_names_what_is_broken(breaks, message):
    index = filled(scattered(500, 2))
    index.validate()
    breaks(index._structure._store.arrays)
    with pytest.raises(InvariantError, match=message):
        index.validate()


def test_validate_finds_a_tree_that_does_not_enclose():
    index = filled(scattered(500, 2))
    index.query_point([0.0, 0.0])
    index._structure._store.present_tree.nodes[-1, 0, 0] += 1
    with pytest.raises(InvariantError, match="does not enclose"):
        index.validate()


def test_validate_finds_entries_of_what_is_gone():
    index = filled(scattered(500, 2))
    index.pairs()
    index._table.remove(np.array([3], np.int32))
    index._table.take_changes()
    index._is_synced = True
    with pytest.raises(InvariantError, match="free slot remembers a home"):
        index.validate()
