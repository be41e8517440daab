"""Outlines: what the parts of each structure are. That they hold what they list is conformance."""

import numpy as np

import spatialindex as si

BOXES = np.array([[0.0, 0, 3, 1], [3, 0, 3.5, 1], [40, 40, 41, 41]])


def outlined(index, boxes=BOXES, **options):
    index.insert(boxes, **options)
    return index.outlines()


def rows(outlines, kind):
    """List (level, box, count) of the parts of a kind."""
    mine = outlines.kinds == kind
    columns = outlines.levels[mine], outlines.boxes[mine], outlines.counts[mine]
    return [
        (int(level), box.tolist(), int(count)) for level, box, count in zip(*columns, strict=True)
    ]


def test_cells_are_on_the_lattice_and_wide_objects_apart():
    outlines = outlined(si.HashGrid(cell_size=2.0, max_cells=4), [*BOXES, [-50, 0, 60, 1]])
    assert rows(outlines, "cell") == [
        (0, [0, 0, 2, 2], 1),
        (0, [2, 0, 4, 2], 2),
        (0, [40, 40, 42, 42], 1),
    ]
    assert rows(outlines, "wide") == [(0, [-50, 0, 60, 1], 1)]


def test_cells_of_a_level_have_its_edge():
    outlines = outlined(si.HierarchicalGrid(cell_size=1.0))
    assert rows(outlines, "cell")[:2] == [(0, [3, 0, 4, 1], 1), (0, [3, 1, 4, 2], 1)]
    assert (2, [0, 0, 4, 4], 1) in rows(outlines, "cell")


def test_cells_without_an_end_end_at_the_origin():
    box = [-1e308, 1e307, 1e308, 1.5e308]
    outlines = outlined(si.HierarchicalGrid(), [box])
    assert set(outlines.levels.tolist()) == {1024}
    assert outlines.boxes.tolist() == [[-np.inf, 0, 0, np.inf], [0, 0, np.inf, np.inf]]


def test_nodes_hold_their_children_from_the_root_down():
    rng = np.random.default_rng(2)
    lower = rng.uniform(0, 100, (200, 2))
    outlines = outlined(si.BVH(leaf_size=1), np.hstack([lower, lower + 1]))
    level, root, _ = rows(outlines, "node")[0]
    assert level == 0
    assert root == [*outlines.boxes[:, :2].min(0), *outlines.boxes[:, 2:].max(0)]
    deepest = int(outlines.levels.max())
    for depth in range(1, deepest + 1):
        above = np.array([box for at, box, _ in rows(outlines, "node") if at == depth - 1])
        for box in outlines.boxes[outlines.levels == depth]:
            inside = (above[:, :2] <= box[:2]) & (box[2:] <= above[:, 2:])
            assert inside.all(axis=1).any()
    assert outlines.counts[outlines.kinds == "leaf"].tolist() == [1] * 200
    assert not outlines.counts[outlines.kinds == "node"].any()


def test_loose_bounds_are_cells_with_a_margin():
    outlines = outlined(si.LooseQuadtree(looseness=3.0, leaf_size=1))
    for level, box, _ in rows(outlines, "loose"):
        edge = 2.0**level
        assert box[2] - box[0] == box[3] - box[1] == 3 * edge
        cell = [box[0] + edge, box[1] + edge, box[2] - edge, box[3] - edge]
        assert (level, cell, 0) in rows(outlines, "cell")
    assert outlines.counts.sum() == len(BOXES)


def test_what_is_too_large_for_any_cell_is_everywhere():
    outlines = outlined(si.LooseQuadtree(), [[-1e308, -1e308, 1e308, 1e308]])
    assert rows(outlines, "loose") == [(1024, [-np.inf, -np.inf, np.inf, np.inf], 1)]


def test_blocks_of_a_lane_are_in_the_order_of_the_sweep():
    rng = np.random.default_rng(3)
    lower = rng.uniform(0, 100, (600, 2))
    index = si.SweepAndPrune()
    outlines = outlined(index, np.hstack([lower, lower + 1]))
    assert len(index.lanes) == 1
    assert index.lanes[0] > 1
    across = 1 - index.axis
    for level, lane, _ in rows(outlines, "lane"):
        blocks = np.array([box for at, box, _ in rows(outlines, "block") if at == level])
        assert (np.diff(blocks[:, index.axis]) >= 0).all()
        assert (blocks[:, [across, 2 + across]] == [lane[across], lane[2 + across]]).all()
    assert outlines.counts.max() <= 8


def test_split_outlines_are_named_by_role_and_follow_hulls():
    world = si.SplitIndex(static="bvh", dynamic="hash-grid")
    outlines = outlined(world, BOXES, static=[True, False, False], continuous=[False, False, True])
    of = outlines.kinds[outlines.members[:, 0]].tolist()
    kinds = dict(zip(outlines.members[:, 1].tolist(), of, strict=True))
    assert kinds == {0: "static leaf", 1: "dynamic cell", 2: "dynamic cell"}
    world.update(2, [80, 40, 81, 41])
    outlines = world.outlines()
    boxes = outlines.boxes[outlines.members[outlines.members[:, 1] == 2, 0]]
    assert boxes[:, 0].min() <= 40
    assert boxes[:, 2].max() >= 81


def test_without_parts_everything_is_one():
    assert rows(outlined(si.BruteForce()), "list") == [(0, [0, 0, 41, 41], 3)]
