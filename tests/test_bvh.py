"""The trees: building, changing, repairing, deep ones, what is passed over, validating."""

from functools import partial

import numpy as np
import pytest

import spatialindex as si
from spatialindex.indexes.bvh import moving
from spatialindex.indexes.bvh.store import TreeStore
from spatialindex.kernels.simd import LANES
from spatialindex.kernels.tree import nodes, refit
from spatialindex.kernels.tree.casts import TOGETHER

BUILDS = ["auto", "sah", "median", "morton"]
NOTHING = np.empty((0, 4))


def random_boxes(n, ndim=2, seed=0, extent=100.0, size=3.0):
    rng = np.random.default_rng(seed)
    lower = rng.random((n, ndim)) * extent
    return np.hstack([lower, lower + rng.random((n, ndim)) * size])


def filled(boxes, **parameters):
    """Return a tree of boxes, built, and brute force with the same."""
    ndim = boxes.shape[1] // 2
    tree, twin = si.BVH(ndim, **parameters), si.BruteForce(ndim)
    for index in (tree, twin):
        index.insert(boxes)
    tree.validate()
    return tree, twin


def assert_same_answers(tree, twin, seed=0):
    """Ask everything that walks a tree in a way of its own."""
    tree.validate()
    rng = np.random.default_rng(seed)
    ndim = tree.ndim
    around = tree.bounds
    lower = around[:ndim] + rng.random((20, ndim)) * (around[ndim:] - around[:ndim])
    asked = np.hstack([lower, lower + rng.random((20, ndim)) * (around[ndim:] - around[:ndim]) / 4])
    ways = rng.normal(size=(20, ndim))
    far = around[ndim:] - around[:ndim] + 1.0
    for question in (
        lambda index: index.pairs(),
        lambda index: index.query(asked),
        lambda index: index.query(asked[0]),
        lambda index: index.count(asked),
        lambda index: index.nearest(lower, k=5),
        lambda index: index.raycast(lower, ways),
        lambda index: index.raycast_all(lower, ways),
        lambda index: index.boxcast_all(asked, ways * far),
        lambda index: index.query_planes(ways[:4], (ways[:4] * lower[:4]).sum(axis=1)),
    ):
        found, expected = question(tree), question(twin)
        if isinstance(found, tuple):
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_array_equal(found, expected)


def arrays_of(index):
    return index._structure._store.arrays


HOSTILE = {
    "identical": np.tile([3.0, 4.0, 3.0, 4.0], (300, 1)),
    "line": np.hstack([np.arange(300.0)[:, None] * [1, 0]] * 2),
    "planet": np.vstack([random_boxes(200), [[-1e9, -1e9, 1e9, 1e9]]]),
    "powers": np.hstack([2.0 ** np.arange(300)[:, None] * [-1, -1], np.ones((300, 2))]),
    "beyond float32": np.hstack(
        [np.full((40, 2), -1e300), np.linspace(0, 1e300, 80).reshape(40, 2)]
    ),
    "subnormal": np.hstack([np.zeros((40, 2)), np.arange(80.0).reshape(40, 2) * 5e-324]),
    "infinitely thin": np.hstack([random_boxes(64)[:, :2]] * 2),
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_every_builder_builds_hostile_content_right(content, build):
    for leaf_size in (1, 3, 8):
        assert_same_answers(*filled(content, build=build, leaf_size=leaf_size))


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("n", [1, 2, 8, 9, 64, 65, 513, 700])
def test_every_builder_builds_any_number_right(n, build):
    assert_same_answers(*filled(random_boxes(n, 3), build=build))


def test_packed_builders_fill_all_blocks_but_the_last_of_a_level():
    for build in ("median", "morton"):
        tree, _ = filled(random_boxes(1000), build=build)
        assert tree.stats().buckets == 125
        assert arrays_of(tree).meta[nodes.USED_BLOCKS] == 125 + 16 + 2 + 1


def test_many_objects_are_cut_at_medians_and_few_by_surface():
    for n, build in ((500, "sah"), (10_000, "median")):
        boxes = random_boxes(n)
        auto, like = si.BVH(2), si.BVH(2, build=build)
        for index in (auto, like):
            index.insert(boxes)
            index.query(NOTHING)
        used = int(arrays_of(auto).meta[nodes.USED_BLOCKS])
        for one, other in zip(arrays_of(auto)[:4], arrays_of(like)[:4], strict=True):
            np.testing.assert_array_equal(one[:used], other[:used])


def make_chain(index, boxes, depth):
    """Hang all boxes in a chain: each inner block has leaves and the next inner block."""
    store = index._structure._store
    ndim, leaves = index.ndim, LANES - 1
    n = len(boxes)
    store.reset(depth + n)
    arrays, dim = store.arrays, (0,) * ndim
    block, slot = 0, 0
    for level in range(depth - 1):
        last = level == depth - 2
        for lane in range(min(LANES if last else leaves, n - slot)):
            leaf = nodes.take_block(arrays, 1, -1, dim)
            nodes.hang(arrays, leaf, block, lane)
            arrays.bounds[leaf, :, 0] = boxes[slot]
            arrays.items[leaf, 0], arrays.size[leaf], arrays.exact[leaf] = slot, 1, 1
            arrays.places[slot] = LANES * leaf
            arrays.size[block] = lane + 1
            slot += 1
        if not last:
            child = nodes.take_block(arrays, 0, -1, dim)
            nodes.hang(arrays, child, block, int(arrays.size[block]))
            arrays.size[block] += 1
            block = child
    assert slot == n
    arrays.meta[nodes.ENTRIES], arrays.meta[nodes.DEPTH] = n, depth
    store.refit()


@pytest.mark.parametrize("ndim", [2, 3])
def test_a_tree_as_deep_as_it_can_be_answers_everything(ndim):
    depth = nodes.MOST_DEPTH
    rng = np.random.default_rng(1)
    # all of them meet, which fills the stacks: integers are exact
    lower = -rng.integers(1, 50, ((LANES - 1) * (depth - 1) + 1, ndim)).astype(float)
    boxes = np.hstack([lower, -lower])
    tree, twin = filled(boxes)
    make_chain(tree, boxes, depth)
    assert_same_answers(tree, twin)
    assert len(tree.pairs()) == len(boxes) * (len(boxes) - 1) // 2


@pytest.mark.parametrize("n", [nodes.WAITING - 7, nodes.WAITING, nodes.WAITING + 1, 700])
def test_more_leaves_than_wait_for_one_another_are_all_looked_at(n):
    tree, twin = filled(np.tile([-1.0, -1.0, 1.0, 1.0], (n, 1)), leaf_size=1)  # everything meets
    assert_same_answers(tree, twin)
    assert tree.count([0, 0, 0, 0]) == n


@pytest.mark.parametrize("n", [1, 2, TOGETHER - 1, TOGETHER, TOGETHER + 1, 5 * TOGETHER + 3])
def test_any_number_of_casts_go_together(n):
    rng = np.random.default_rng(n)
    lower = rng.uniform(0, 20, (900, 2))
    boxes = np.hstack((lower, lower + rng.random((900, 2))))
    layers = 1 << rng.integers(0, 2, 900)
    tree, plain = si.BVH(2), si.BruteForce(2)
    for index in (tree, plain):
        index.insert(boxes, layer=layers)
    # some go away from everything, some end before they begin, some start inside
    origins, ways = rng.uniform(-5, 25, (n, 2)), rng.normal(size=(n, 2))
    last = rng.choice([0.0, 0.5, np.inf], n)
    ignore = rng.integers(-1, 900, n)
    for seen in (1, 3):
        found = tree.raycast(origins, ways, max_t=last, ignore=ignore, layers=seen)
        right = plain.raycast(origins, ways, max_t=last, ignore=ignore, layers=seen)
        np.testing.assert_array_equal(found.ids, right.ids)
        np.testing.assert_array_equal(found.t, right.t)


def test_insertion_one_by_one_makes_no_deep_tree():
    boxes = HOSTILE["powers"]
    tree, twin = si.BVH(2, leaf_size=1), si.BruteForce(2)
    for box in boxes:
        for index in (tree, twin):
            index.insert(box)
        tree.query(box)
    assert_same_answers(tree, twin)
    assert arrays_of(tree).meta[nodes.DEPTH] <= 7


def test_a_tree_that_became_too_deep_is_built_anew(monkeypatch):
    monkeypatch.setattr(moving, "_DEEPEST", 3)
    tree, twin = filled(random_boxes(600))
    before = tree.stats().rebuilds
    for index in (tree, twin):
        index.update([0], [[0.0, 0.0, 1.0, 1.0]])
    assert_same_answers(tree, twin)
    assert tree.stats().rebuilds == before + 1


@pytest.mark.slow
def test_a_million_identical_boxes_answer_questions_and_refuse_their_pairs():
    n = 10**6
    tree = si.BVH(2)
    tree.insert(np.tile([1.0, 2.0, 3.0, 4.0], (n, 1)))
    tree.max_rows = 2 * n
    assert tree.count([3, 4, 5, 5]) == n
    assert len(tree.query([0, 0, 1, 2])) == n
    assert not len(tree.query([3.5, 0, 4, 9]))
    np.testing.assert_array_equal(tree.nearest([2, 2], k=3).ids, [0, 1, 2])
    assert tree.raycast([0, 3], [1, 0]) == (0, 1.0)
    with pytest.raises(si.ResultTooLargeError, match="more than 2000000 rows"):
        tree.pairs()
    tree.update([5], [[1.5, 2, 3, 4]])
    np.testing.assert_array_equal(tree.nearest([1, 3], k=6).ids, [0, 1, 2, 3, 4, 6])


# -- keeping up -----------------------------------------------------------------------------------


def test_refit_stops_where_nothing_changes():
    tree, _ = filled(random_boxes(5000))
    arrays, table = arrays_of(tree), tree._table
    depth = int(arrays.meta[nodes.DEPTH])
    dim, slots = (0, 0), np.arange(5000, dtype=np.int32)
    assert refit.refit_slots(arrays, slots, table.state, dim) == len(slots)
    # as far as the bounds reach beyond those of the parent, and no farther
    leaf = int(arrays.places[0]) // LANES
    place = int(arrays.parent[leaf])
    above = arrays.bounds[place // LANES, :, place % LANES].astype(float)
    inside = np.hstack([above[:2], above[:2]])
    table.boxes[0] = inside
    refit.write_slots(arrays, slots[:1], table.boxes, dim)
    assert refit.refit_slots(arrays, slots[:1], table.state, dim) <= 2
    table.boxes[0] = [-1e6, -1e6, 1e6, 1e6]
    refit.write_slots(arrays, slots[:1], table.boxes, dim)
    assert refit.refit_slots(arrays, slots[:1], table.state, dim) == depth
    tree.validate()


@pytest.mark.parametrize("share", [0.01, 0.04, 0.3, 1.0])
@pytest.mark.parametrize("step", [0.1, 30.0])
def test_tree_follows_what_moves(share, step):
    boxes = random_boxes(700, 3)
    tree, twin = filled(boxes, build="median")
    rng = np.random.default_rng(3)
    for frame in range(8):
        ids = np.sort(rng.permutation(700)[: int(700 * share)])
        moved = twin.boxes(ids) + np.tile(rng.normal(size=(len(ids), 3)) * step, 2)
        for index in (tree, twin):
            index.update(ids, moved)
        assert_same_answers(tree, twin, frame)


@pytest.mark.parametrize("parameters", [{}, {"leaf_size": 1}, {"leaf_size": 3}])
def test_churn_for_ever_takes_no_more_memory(parameters):
    rng = np.random.default_rng(4)
    tree, twin = filled(random_boxes(400), **parameters)
    sizes = []
    for turn in range(120):
        ids = np.sort(rng.choice(tree.ids, 30, replace=False))
        new = random_boxes(30, seed=turn)
        for index in (tree, twin):
            index.remove(ids)
            index.insert(new, ids=ids)
        tree.query(NOTHING)
        sizes.append(tree._structure.nbytes)
        if turn % 20 == 0:
            assert_same_answers(tree, twin, turn)
    assert_same_answers(tree, twin)
    assert max(sizes[60:]) <= max(sizes[:60])


def test_emptied_tree_keeps_one_block():
    tree, _ = filled(random_boxes(500))
    for start in range(0, 500, 20):
        tree.remove(np.arange(start, start + 20))
        tree.validate()
    arrays = arrays_of(tree)
    assert arrays.meta[nodes.USED_BLOCKS] - arrays.meta[nodes.FREE_BLOCKS] == 1
    assert not len(tree.pairs())
    tree.insert([[0, 0, 1, 1]], ids=[7])
    np.testing.assert_array_equal(tree.query([1, 1, 2, 2]), [7])


def teleport(tree, frames, seed=5):
    """Let one in eighty objects jump anywhere in each frame; return the quality after each."""
    rng = np.random.default_rng(seed)
    n, qualities = len(tree), []
    for frame in range(frames):
        ids = np.sort(rng.permutation(n)[: n // 80])
        tree.update(ids, random_boxes(len(ids), seed=100 + frame, size=1.0))
        tree.query(NOTHING)
        qualities.append(tree.stats().quality)
    return np.array(qualities)


def test_quality_decays_is_repaired_and_is_restored_by_rebuild(monkeypatch):
    monkeypatch.setattr(moving, "_REGION", 256)
    make = partial(filled, random_boxes(2000, size=1.0))
    with monkeypatch.context() as patch:
        patch.setattr(moving, "_WORN", np.inf)
        worn, _ = make()
        left_alone = teleport(worn, 120)
    tree, _ = make()
    assert tree.stats().quality == 1.0
    repaired = teleport(tree, 120)
    tree.validate()
    assert tree.stats().rebuilds == worn.stats().rebuilds == 1
    assert left_alone[-20:].min() > 1.2
    assert repaired[-20:].max() < left_alone[-20:].min()
    tree.rebuild()
    assert tree.stats().quality == 1.0


def test_repair_does_work_in_proportion_to_changes(monkeypatch):
    monkeypatch.setattr(moving, "_REGION", 128)
    tree, _ = filled(random_boxes(3000, size=1.0))
    built = []
    run = TreeStore._run

    def counted(store, work, n, block):
        built[-1] += n
        run(store, work, n, block)

    monkeypatch.setattr(TreeStore, "_run", counted)
    rng = np.random.default_rng(6)
    for frame in range(200):
        built.append(0)
        ids = np.sort(rng.permutation(3000)[:5])
        tree.update(ids, random_boxes(5, seed=frame, size=1.0))
        tree.query(NOTHING)
    assert 0 < sum(built) <= 200 * moving._PACE * 5
    # what a frame has not used is left to the next, up to a region
    assert max(built) <= 128 + moving._PACE * 5
    tree.validate()


def test_new_answers_come_from_a_copy_too():
    tree, twin = filled(random_boxes(300))
    other = tree.copy()
    other.update([3], [[0, 0, 100, 100]])
    assert_same_answers(tree, twin)
    other.validate()


# -- what is passed over --------------------------------------------------------------------------


def test_what_rests_is_not_visited():
    tree, _ = filled(random_boxes(2000))
    everything = len(tree.pairs(among="all"))
    assert tree.stats().visits > everything
    tree.set_state(None, static=True)
    assert not len(tree.pairs())
    assert tree.stats().visits == 0
    tree.set_state([17], static=False)
    tree.validate()
    found = tree.pairs()
    assert (found == 17).any(axis=1).all()
    stats = tree.stats()
    assert 0 < stats.visits < 1000
    assert stats.pairs + stats.resting <= stats.candidates == stats.visits


def test_sleeping_counts_as_resting_among_active_only():
    tree, twin = filled(random_boxes(2000))
    for index in (tree, twin):
        index.set_state(None, asleep=True)
        index.set_state([5, 6], asleep=False)
    tree.validate()
    for among in ("active", "dynamic", "all"):
        np.testing.assert_array_equal(tree.pairs(among=among), twin.pairs(among=among))
    tree.pairs(among="active")
    active = tree.stats().visits
    tree.pairs(among="dynamic")
    assert active < tree.stats().visits / 10


def test_what_no_mask_wants_is_not_visited():
    n = 2000
    boxes = random_boxes(n)
    tree = si.BVH(2)
    tree.insert(boxes, layer=2, mask=1)
    assert not len(tree.pairs())
    assert tree.stats().visits == 0
    tree.set_state([0], layer=1, mask=2)
    tree.validate()
    expected = si.BruteForce(2)
    expected.insert(boxes)
    touched = expected.query(boxes[0])
    assert sorted(tree.pairs().max(axis=1)) == sorted(touched[touched != 0])
    assert 0 < tree.stats().visits < n


def test_questions_pass_over_other_layers():
    boxes = random_boxes(3000)
    tree, twin = si.BVH(2), si.BruteForce(2)
    layer = np.where(boxes[:, 0] < 50, 1, 2)
    for index in (tree, twin):
        index.insert(boxes, layer=layer)
    asked = random_boxes(300, seed=9, size=20)
    for layers in (1, 2, 3, 4):
        np.testing.assert_array_equal(
            tree.query(asked, layers=layers), twin.query(asked, layers=layers)
        )
        one, other = (index.nearest(asked[:, :2], 4, layers=layers) for index in (tree, twin))
        np.testing.assert_array_equal(one.ids, other.ids)


def test_answers_do_not_depend_on_the_number_of_workers():
    tree, _ = filled(random_boxes(3000, 3))
    asked = random_boxes(2000, 3, seed=2, size=10)
    np.testing.assert_array_equal(tree.query(asked), tree.query(asked, workers=3))
    np.testing.assert_array_equal(tree.count(asked), tree.count(asked, workers=3))
    one, other = tree.nearest(asked[:, :3], 4), tree.nearest(asked[:, :3], 4, workers=3)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.distances, other.distances)
    rows = tree.pairs()
    again = tree.copy()
    again.pairs(among="all")
    np.testing.assert_array_equal(again.pairs(workers=3), rows)


# -- the k-d tree ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [15, 16, 65, 200, 1030, 2100, 4099])
def test_unsorted_rows_come_in_one_order_whatever_the_number_of_workers(n):
    # sixteen regions go down together: the same sixteen, however a batch is cut for threads
    tree, twin = filled(random_boxes(3000, seed=n))
    asked = random_boxes(n, seed=n + 1, size=10.0)
    rows = tree.query(asked, sort=False)
    assert np.array_equal(rows[np.lexsort(rows.T[::-1])], twin.query(asked))
    for workers in (2, 3, 7):
        assert np.array_equal(tree.query(asked, sort=False, workers=workers), rows)
        assert np.array_equal(tree.count(asked, workers=workers), twin.count(asked))


def test_kd_tree_is_built_anew_by_changes_of_boxes_alone():
    tree = si.KDTree(2)
    tree.insert(random_boxes(500))
    tree.query(NOTHING)
    assert tree.stats().rebuilds == 1
    tree.set_state([1, 2], static=True, layer=6)
    tree.validate()
    assert tree.stats().rebuilds == 1
    tree.update([4], [[0, 0, 1, 1]])
    tree.validate()
    assert tree.stats().rebuilds == 2
    assert tree.stats().buckets == 63


# -- parameters and validation --------------------------------------------------------------------


@pytest.mark.parametrize("leaf_size", [0, 9, 2.0, True, "8"])
def test_bad_leaf_sizes_are_refused(leaf_size):
    for make in (si.BVH, si.KDTree):
        with pytest.raises(si.InvalidArgumentError, match="pass a number of objects, 1 to 8"):
            make(2, leaf_size=leaf_size)


def test_unknown_builders_are_refused():
    with pytest.raises(
        si.InvalidArgumentError, match=r"did you mean 'median'.*sah, median, morton"
    ):
        si.BVH(2, build="medain")


def flip(name, value):
    """Make a change of the first leaf that a block of `name` can have."""

    def change(arrays):
        leaf = int(np.flatnonzero(arrays.is_leaf)[0])
        getattr(arrays, name)[leaf] = value(getattr(arrays, name)[leaf])

    return change


def break_bounds(arrays):
    arrays.bounds[0, 0, 0] += 1


def break_lane(arrays):
    arrays.bounds[int(np.flatnonzero(arrays.is_leaf)[0]), 0, 0] += 50


def break_place(arrays):
    arrays.places[0] += LANES


def break_free_list(arrays):
    arrays.meta[nodes.FREE_BLOCKS] += 1


def break_depth(arrays):
    arrays.meta[nodes.DEPTH] = 2


def break_item(arrays):
    leaf = int(np.flatnonzero(arrays.is_leaf)[0])
    arrays.items[leaf, 0] = arrays.items[leaf, 1]


BROKEN = {
    "bounds of a block": (break_bounds, "bounds of a block are not those of what it holds"),
    "bounds of an object": (break_lane, "bounds of an object do not hold its box"),
    "place": (break_place, "is not where its place says"),
    "free list": (break_free_list, "blocks are free, not as many as are counted"),
    "depth": (break_depth, "is said to be the most"),
    "slot": (break_item, "the leaves hold"),
    "parent": (flip("parent", lambda x: x + 1), "does not know where it hangs"),
    "leaf": (flip("is_leaf", lambda x: 0), "hangs as an inner block"),
    "size": (flip("size", lambda x: x - 1), "number of objects is not the one counted"),
    "exact": (flip("exact", lambda x: 255), "marked as exact"),
    "layers": (flip("layers", lambda x: x | np.uint64(8)), "the layers of a block"),
    "masks": (flip("masks", lambda x: x & np.uint64(8)), "the masks of a block"),
    "rest": (flip("resting", lambda x: 3), "the rest of a block"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_validate_names_what_is_broken(change, message):
    tree, _ = filled(random_boxes(300))
    change(arrays_of(tree))
    with pytest.raises(si.InvariantError, match=message):
        tree.validate()
