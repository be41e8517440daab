"""What nearest, casts and planes have in common: shapes, ignored ids, layers, limits, refusals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.errors import InvalidArgumentError, InvalidBoxError, ResultTooLargeError
from spatialindex.scenes.generators import generate
from spatialindex.testing.answers import assert_same
from spatialindex.testing.samples import (
    aimed_rays,
    lattice_boxes,
    mixed_scene,
    mixed_state,
    sparse_ids,
    state_options,
)
from spatialindex.testing.twin import COPIES, Twin

if TYPE_CHECKING:
    from typing import Any

    from spatialindex.testing.twin import Factory

    Call = tuple[str, tuple[Any, ...], dict[str, Any]]

INF = math.inf
NAN = math.nan


def _calls(rng: np.random.Generator, boxes: Any, n: int) -> list[Call]:
    """Return a question of each kind with `n` rows, aimed at some boxes."""
    origins, directions = aimed_rays(rng, boxes, n)
    moving = np.concatenate((origins, origins + rng.integers(0, 3, origins.shape) / 2), axis=1)
    return [
        ("nearest", (origins, 3), {"max_distance": 5.0}),
        ("raycast", (origins, directions), {"max_t": 4.0}),
        ("raycast_all", (origins, directions), {"max_t": 4.0}),
        ("boxcast", (moving, directions), {}),
        ("boxcast_all", (moving, directions), {}),
    ]


def check_one_asked_in_order_one_out(factory: Factory, ndim: int) -> None:
    """One point, ray or box has one answer; a batch of one is a batch; one serves many."""
    rng = np.random.default_rng(101)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 40, ndim), sparse_ids(rng, 40))
    for method, (asked, ways), options in _calls(rng, twin.index.boxes(), 8):
        for sort in (True, False) if method.endswith("_all") else (None,):
            chosen = options if sort is None else {**options, "sort": sort}
            for row in range(8):
                way = ways if method == "nearest" else ways[row]
                answer = getattr(twin, method)(asked[row], way, **chosen)
                names = getattr(answer, "_fields", ())
                assert names == {
                    "nearest": ("ids", "distances"),
                    "raycast": ("ids", "t"),
                    "boxcast": ("ids", "t"),
                }.get(method, ("rows", "t")), f"{method}() names its parts {names}"
            getattr(twin, method)(asked[:1], ways if method == "nearest" else ways[:1], **chosen)
            getattr(twin, method)(asked.tolist(), ways, **chosen)
            if method != "nearest":
                getattr(twin, method)(asked[0], ways, **chosen)
                getattr(twin, method)(asked, ways[0], **chosen)
                getattr(twin, method)(asked[0], ways[:1], **chosen)
    normal = [1.0] + [0.0] * (ndim - 1)
    twin.query_planes(normal, 0.5)
    twin.query_planes([normal], [0.5])
    twin.query_planes([normal, [-1.0] * ndim], 0.5)


def check_nothing_asked_in_order(factory: Factory, ndim: int) -> None:
    """An empty index and empty batches have empty answers, in the shapes of others."""
    for n in (0, 3):
        twin = Twin(factory(ndim))
        twin.insert(lattice_boxes(np.random.default_rng(102), n, ndim))
        nothing: tuple[Any, ...] = (np.empty((0, ndim)), [])
        for none in nothing:
            assert twin.nearest(none, 2).ids.shape == (0, 2)
            for method in ("raycast", "raycast_all"):
                getattr(twin, method)(none, none)
            for method in ("boxcast", "boxcast_all"):
                getattr(twin, method)(np.empty((0, 2 * ndim)), none)
            twin.query_planes(none, [])
        point, box = [0.5] * ndim, [0.0] * ndim + [1.0] * ndim
        for many in (False, True):
            points, boxes = ([point] * 2, [box] * 2) if many else (point, box)
            twin.nearest(points)
            twin.raycast(points, points)
            twin.raycast_all(points, points)
            twin.boxcast(boxes, points)
            twin.boxcast_all(boxes, points)
        twin.clear()
        twin.nearest(point, 3)
        twin.raycast(point, point)
        twin.boxcast_all([box], [point])


def check_ignored_ids_are_not_seen(factory: Factory, ndim: int) -> None:
    """One id for all rows, one a row, -1, an unknown one, the only one, one used again."""
    rng = np.random.default_rng(103)
    twin = Twin(factory(ndim))
    ids = sparse_ids(rng, 80)
    twin.insert(lattice_boxes(rng, 80, ndim), ids)
    for method, args, options in _calls(rng, twin.index.boxes(), 16):
        ask = getattr(twin, method)
        found = ask(*args, **options)
        one = int(np.max(found[0], initial=0))
        for ignore in (None, -1, one, int(ids[0]), 1000, 2**62, np.int64(ids[1])):
            ask(*args, **options, ignore=ignore)
        ask(*args, **options, ignore=rng.choice(ids, 16))
        ask(*args, **options, ignore=rng.choice([-1, 1000, *ids.tolist()], 16).tolist())
        # each row without what it meets first, and without what it meets next
        if method in ("raycast", "boxcast"):
            first = ask(*args, **options).ids
            without = ask(*args, **options, ignore=first)
            assert not np.any((without.ids == first) & (first >= 0))
    only = Twin(factory(ndim))
    box, point = [0.0] * ndim + [1.0] * ndim, [0.5] * ndim
    here = only.insert(box, 5)
    assert only.nearest(point, 2, ignore=here).ids.tolist() == [-1, -1]
    assert only.raycast(point, point, ignore=here).ids == -1
    assert only.boxcast(box, point, ignore=here) == (-1, INF)
    assert len(only.raycast_all(point, point, ignore=here).rows) == 0
    assert len(only.boxcast_all([box, box], [point, point], ignore=[here, -1]).rows) == 1
    # an id that is free again ignores nobody, and then whoever has it
    only.remove(here)
    only.insert(box, 9)
    assert only.raycast(point, point, ignore=here).ids == 9
    only.insert(box, here)
    assert only.raycast(point, point, ignore=here).ids == 9
    assert only.raycast(point, point, ignore=9).ids == here


def check_boxes_of_objects_are_cast_past_themselves(factory: Factory, ndim: int) -> None:
    """Every object moved at once, each ignoring itself; and what is nearest to each but itself."""
    rng = np.random.default_rng(104)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 150, ndim, giants=()), sparse_ids(rng, 150))
    ids, boxes = twin.index.ids, twin.index.boxes()
    motions = rng.normal(0, 3, (150, ndim))
    hits = twin.boxcast(boxes, motions, ignore=ids)
    assert not np.any(hits.ids == ids)
    twin.boxcast_all(boxes, motions, ignore=ids)
    centers = boxes[:, :ndim] / 2 + boxes[:, ndim:] / 2
    assert not np.any(twin.nearest(centers, 4, ignore=ids).ids == ids[:, None])
    twin.raycast(centers, motions + 0.125, ignore=ids)


def check_layers_hide_from_reach(factory: Factory, ndim: int) -> None:
    """Objects on other layers are passed through, whatever else their state is."""
    rng = np.random.default_rng(105)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 150, ndim), **state_options(mixed_state(rng, 150)))
    calls = _calls(rng, twin.index.boxes(), 25)
    for _ in range(2):
        for layers in (1, 2, 3, 2**63, 4):
            for method, args, options in calls:
                getattr(twin, method)(*args, **options, layers=layers)
            twin.query_planes([[1.0] * ndim], [1.0], layers=layers)
        # layers count from the next call on, without motion
        twin.set_state(twin.index.ids[::2], layer=mixed_state(rng, 75)["layer"])


def check_unsorted_hits_are_the_same_set(factory: Factory, ndim: int) -> None:
    """``sort=False`` gives the same rows with the same times."""
    rng = np.random.default_rng(106)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 300, ndim), sparse_ids(rng, 300))
    for method, args, options in _calls(rng, twin.index.boxes(), 60):
        if method.endswith("_all"):
            assert len(getattr(twin, method)(*args, **options, sort=False).t) > 0
            getattr(twin, method)(args[0][0], args[1][0], **options, sort=False)


def check_worker_count_changes_no_order(factory: Factory, ndim: int) -> None:
    """The same arrays, order of unsorted ones included, with 1, 2 and 3 workers."""
    rng = np.random.default_rng(107)
    boxes = generate("sizes", n=800, ndim=ndim, seed=107).frame(0).boxes
    calls = _calls(rng, boxes, 150)
    calls += [(m, args, {**options, "sort": False}) for m, args, options in calls if "_all" in m]
    calls += [("query_planes", ([[1.0] * ndim], [float(boxes[0].sum())]), {})]

    def run(workers: int) -> list[Any]:
        index = factory(ndim)
        index.insert(boxes)
        return [
            getattr(index, method)(*args, workers=workers, **options)
            for method, args, options in calls
        ]

    one = run(workers=1)
    for workers in (2, 3):
        for (method, *_), answer, expected in zip(calls, run(workers), one, strict=True):
            assert_same(answer, expected, f"{method}() with {workers} workers, against one worker")


def check_bad_points_and_rays_are_refused(factory: Factory, ndim: int) -> None:
    """NaN, infinite points, directions of zeros, negative limits, counts that are none."""
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(np.random.default_rng(108), 9, ndim))
    point, way = [0.0] * ndim, [1.0] * ndim
    none, minus_none = [0.0] * ndim, [-0.0] * ndim
    bad_points: list[Any] = [[NAN, *point[1:]], [INF, *point[1:]], point[1:], "here"]
    refused: list[Call] = []
    for bad in bad_points:
        refused += [
            ("nearest", (bad,), {}),
            ("raycast", (bad, way), {}),
            ("raycast", (point, bad), {}),
            ("raycast_all", (bad, way), {}),
            ("boxcast", ([*point, *way], bad), {}),
            ("boxcast_all", ([*point, *way], bad), {}),
            ("query_planes", (bad, 1.0), {}),
        ]
    for zero in (none, minus_none):
        refused += [("raycast", (point, zero), {}), ("raycast_all", (point, zero), {})]
    refused += [
        ("raycast", ([point] * 3, [way] * 2), {}),
        ("boxcast", ([[*point, *way]] * 3, [way] * 2), {}),
    ]
    bad_limits: list[Any] = [-1.0, -5e-324, -INF, NAN, "far", [1.0, 2.0], True]
    for bad in bad_limits:
        refused += [
            ("nearest", ([point] * 3,), {"max_distance": bad}),
            ("raycast", ([point] * 3, [way] * 3), {"max_t": bad}),
            ("raycast_all", ([point] * 3, [way] * 3), {"max_t": bad}),
        ]
    bad_counts: list[Any] = [0, -1, 1.0, True, None, "3", [2]]
    refused += [("nearest", (point, bad), {}) for bad in bad_counts]
    ray: Call = ("raycast", ([point] * 3, [way] * 3), {})
    bad_ignored: list[Any] = [-2, 0.5, "me", [1, 2], [1, 2, -7], True, [[1, 2, 3]], 2**63]
    for bad in bad_ignored:
        refused += [(method, args, {"ignore": bad}) for method, args, _ in [ray]]
        refused += [("nearest", ([point] * 3, 2), {"ignore": bad})]
        refused += [("boxcast_all", ([[*point, *way]] * 3, [way] * 3), {"ignore": bad})]
    options: list[dict[str, Any]] = [{"layers": -1}, {"layers": 0.5}, {"workers": 0}]
    for bad in options:
        refused += [("nearest", (point,), bad), (*ray[:2], bad)]
        refused += [("query_planes", ([way], [1.0]), bad)]
    refused += [
        ("query_planes", ([way], [NAN]), {}),
        ("query_planes", ([way], [1.0, 2.0]), {}),
        ("query_planes", ([way, none], [1.0, 1.0]), {}),
    ]
    for method, args, chosen in refused:
        twin.refuses(InvalidArgumentError, method, *args, **chosen)
    twin.check()


def check_refusals_name_the_row(factory: Factory, ndim: int) -> None:
    """What is wrong, its value and the row it is in, in words."""
    twin = Twin(factory(ndim))
    twin.insert([0.0] * ndim + [1.0] * ndim)
    point, way, box = [0.0] * ndim, [1.0] * ndim, [0.0] * ndim + [1.0] * ndim
    nowhere, still = [NAN, *point[1:]], [0.0] * ndim
    said: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
        ("nearest", ([point, nowhere],), {}, "points[1]"),
        ("nearest", (point, 0), {}, "k is 0"),
        ("nearest", ([point, point],), {"max_distance": [1.0, -2.0]}, "max_distance[1] is -2.0"),
        ("raycast", ([point, nowhere], way), {}, "origins[1]"),
        ("raycast", (point, [way, way, still]), {}, "directions[2]"),
        ("raycast_all", (point, still), {}, "directions"),
        ("raycast", ([point] * 2, way), {"max_t": [1.0, NAN]}, "max_t[1] is nan"),
        ("boxcast", ([box, box], [way, nowhere]), {}, "motions[1]"),
        ("raycast", ([point] * 2, way), {"ignore": [0, -3]}, "ignore[1] is -3"),
        ("query_planes", ([way, still], [1.0, 1.0]), {}, "normals[1]"),
        ("query_planes", ([way, way], [1.0, NAN]), {}, "offsets[1] is nan"),
    ]
    for method, args, options, words in said:
        twin.refuses(InvalidArgumentError, method, *args, **options, says=words)
    for method in ("boxcast", "boxcast_all"):
        twin.refuses(InvalidBoxError, method, [box, box[ndim:] + box[:ndim]], way, says="boxes[1]")
        twin.refuses(InvalidBoxError, method, [NAN, *box[1:]], way)
        twin.refuses(InvalidBoxError, method, [box, [*box[:-1], INF]], way, says="boxes[1]")
        twin.refuses(InvalidBoxError, method, box[1:], way)


def check_reach_beyond_max_rows_is_refused(factory: Factory, ndim: int) -> None:
    """An answer of more than `max_rows` rows is refused, one of as many is given in full."""
    box, far = [0.0] * ndim + [1.0] * ndim, [9.0] * (2 * ndim)
    twin = Twin(factory(ndim))
    twin.insert([box] * 6 + [far])
    point, way = [-1.0] * ndim, [1.0] * ndim
    for workers in (1, 2):
        calls: list[tuple[int, str, tuple[Any, ...], dict[str, Any]]] = [
            (7, "raycast_all", (point, way), {}),
            (14, "raycast_all", ([point, point], way), {}),
            (13, "raycast_all", ([point, point], way), {"ignore": [6, -1]}),
            (6, "boxcast_all", (box, way), {}),
            (10, "boxcast_all", ([box, box], way), {"ignore": 3}),
            (7, "query_planes", ([way], [100.0]), {}),
            (12, "nearest", ([point] * 3, 4), {}),
            (1000, "nearest", (point, 1000), {}),
        ]
        for rows, method, args, options in calls:
            twin.index.max_rows = rows - 1
            twin.refuses(ResultTooLargeError, method, *args, workers=workers, **options)
            twin.refuses(MemoryError, method, *args, workers=workers, **options)
            twin.index.max_rows = rows
            getattr(twin, method)(*args, workers=workers, **options)
        twin.index.max_rows = 2**29
    # refused before it is allocated
    twin.refuses(ResultTooLargeError, "nearest", point, 2**40)
    twin.refuses(ResultTooLargeError, "nearest", [point] * 2, 2**29)
    twin.check()


def check_reach_follows_every_change(factory: Factory, ndim: int) -> None:
    """Insertion, motion, teleports, removal, return, clearing, copies: the next answer has them."""
    rng = np.random.default_rng(109)
    twin = Twin(factory(ndim))
    scene = mixed_scene(rng, 240, ndim, giants=(20.0,))
    calls = _calls(rng, scene, 16)

    def ask() -> None:
        for method, args, options in calls:
            getattr(twin, method)(*args, **options)
        twin.query_planes([[1.0] * ndim, [-1.0] + [0.0] * (ndim - 1)], [3.0, 2.0])

    for step in range(6):
        twin.insert(scene[step * 40 : step * 40 + 40])
        ask()
        ids = rng.permutation(twin.index.ids)
        twin.update(ids[:9], twin.index.boxes(ids[:9]) + 0.25)
        twin.update(ids[9:14], twin.index.boxes(ids[9:14]) + rng.choice([1e3, -1e6, 0.0]))
        twin.remove(ids[14:20])
        ask()
        twin.insert(scene[:6], ids[14:20])
        twin.set_state(ids[:4], layer=0)
        if step == 3:
            twin.rebuild()
        ask()
    for how in COPIES:
        twin = twin.copied(how)
        ask()
    twin.update(None, twin.index.boxes() + 100.0)
    ask()
    twin.clear()
    ask()
    twin.insert(scene)
    ask()


def check_a_teleport_leaves_nothing_behind(factory: Factory, ndim: int) -> None:
    """What moved far away is neither met nor near at its old place."""
    rng = np.random.default_rng(110)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 60, ndim) + 40.0)
    box, point = np.array([0.0] * ndim + [1.0] * ndim), [0.5] * ndim
    here = twin.insert(box)
    for away in (1e3, -1e9, 1e15):
        assert twin.raycast(point, [-1.0] * ndim) == (here, 0.0)
        assert twin.nearest(point).ids.tolist() == [here]
        twin.update(here, box + away)
        assert twin.raycast(point, [-1.0] * ndim, max_t=3.0) == (-1, INF)
        assert twin.boxcast(box, [0.0] * ndim) == (-1, INF)
        assert twin.nearest(point).ids.tolist() != [here]
        twin.raycast_all([point] * 2, [[1.0] * ndim, [-1.0] * ndim])
        twin.update(here, box)


def check_inputs_of_casts_are_left_alone(factory: Factory, ndim: int) -> None:
    """Arrays handed in are not written to, and any layout of them is read right."""
    rng = np.random.default_rng(111)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 50, ndim))
    for method, (asked, ways), options in _calls(rng, twin.index.boxes(), 12):
        kept = asked.copy()
        asked.flags.writeable = False
        getattr(twin, method)(asked, ways, **options)
        getattr(twin, method)(np.asfortranarray(asked), ways, **options)
        getattr(twin, method)(np.repeat(asked, 2, axis=0)[::2], ways, **options)
        getattr(twin, method)(asked.astype(np.float32), ways, **options)
        assert_same(asked, kept, f"the array handed to {method}, afterwards")
