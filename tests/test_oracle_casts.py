"""The oracle's casts, planes and nearest against exact rationals and definitions in Python."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from spatialindex import oracle
from spatialindex.constants import ALL
from spatialindex.oracle import meeting
from spatialindex.testing.samples import lattice_boxes, mixed_boxes, mixed_state

INF = math.inf
LARGEST = float(np.finfo(np.float64).max)
UNIT = [[0.0, 0, 1, 1]]


def exact_time(start, motion, last, box):
    """When a moving box first meets one at rest, in rationals; None for never."""
    ndim = len(motion)
    begin, end = Fraction(0), None if last == INF else Fraction(last)
    for d in range(ndim):
        back, front, lower, upper = map(
            Fraction, (start[d], start[ndim + d], box[d], box[ndim + d])
        )
        step = Fraction(motion[d])
        if step == 0:
            if lower > front or back > upper:
                return None
            continue
        enter, leave = sorted(((lower - front) / step, (upper - back) / step))
        begin = max(begin, enter)
        end = leave if end is None else min(end, leave)
    return begin if end is None or begin <= end else None


def ray_time(origin, direction, box, max_t=INF):
    return float(oracle.cast_times([*origin, *origin], direction, max_t, box))


@pytest.mark.parametrize("ndim", [2, 3])
def test_casts_on_a_lattice_are_exact(ndim):
    rng = np.random.default_rng(70 + ndim)
    boxes, starts = lattice_boxes(rng, 60, ndim), lattice_boxes(rng, 60, ndim)
    starts[::2, ndim:] = starts[::2, :ndim]
    # quotients of halves by powers of two are exact, so float64 has to say what rationals do
    motions = rng.choice([0.0, -0.0, 0.5, -1.0, 2.0, -4.0], (60, ndim))
    lasts = rng.choice([0.0, 0.25, 1.0, 3.0, INF], 60)
    got = oracle.cast_times(starts[:, None], motions[:, None], lasts[:, None], boxes[None])
    for i, k in product(range(60), range(60)):
        expected = exact_time(starts[i], motions[i], lasts[i], boxes[k])
        assert got[i, k] == (INF if expected is None else expected)
    assert 0 < np.isfinite(got).sum() < got.size
    assert np.any((got > 0) & (got < INF))


@pytest.mark.parametrize("ndim", [2, 3])
def test_casts_are_within_rounding_of_the_exact_ones(ndim):
    rng = np.random.default_rng(80 + ndim)
    boxes, starts = mixed_boxes(rng, 40, ndim), rng.normal(0, 30, (40, ndim))
    targets = boxes[rng.permutation(40), :ndim]
    with np.errstate(over="ignore"):
        motions = (targets - starts) * rng.choice([1e-3, 1.0, 1e3], (40, 1))
    hits = 0
    for start, motion in zip(starts, motions, strict=True):
        for box in boxes:
            got = ray_time(start, motion, box)
            exact = exact_time([*start, *start], motion, INF, box)
            if exact is None or got == INF:
                # the two may differ only where the exact beginning and end all but coincide
                continue
            hits += 1
            assert abs(Fraction(got) - exact) <= exact * Fraction(2) ** -50
    assert hits > 40


@pytest.mark.parametrize(
    ("origin", "direction", "expected"),
    [
        ((-1, 0.5), (1, 0), 1.0),
        ((-1, 0.5), (2, 0), 0.5),  # not normalised
        ((-1, 0.5), (-1, 0), INF),  # behind
        ((0.5, 0.5), (1, 3), 0.0),  # from inside
        ((1, 0.5), (1, 0), 0.0),  # from a face, away
        ((1, 1), (1, 1), 0.0),  # from a corner, away
        ((-1, 1), (1, 0), 1.0),  # along a face
        ((-1, 1), (1, -0.0), 1.0),
        ((-1, math.nextafter(1, 2)), (1, 0), INF),  # just above it
        ((-1, 0), (1, 1), 1.0),  # through a corner
        ((-1, 2), (1, -1), 1.0),
        ((0, 2), (1, -1), 1.0),  # through the opposite one
        ((-1, 1), (1, 1), INF),  # past it
        ((2, 3), (-1, -1), 2.0),
        ((-1, 0.5), (5e-324, 0), INF),  # too slow for any float
        ((-5e-324, 0.5), (5e-324, 0), 1.0),
        ((-LARGEST, 0.5), (LARGEST, 0), 1.0),
        ((-1, 0.5), (1e300, 0), 1e-300),
        ((-5e-324, 0.5), (1e300, 0), 0.0),  # a time below all floats
    ],
)
def test_rays_against_the_unit_square(origin, direction, expected):
    t = ray_time(origin, direction, UNIT[0])
    assert t == expected
    assert math.copysign(1, t) == 1
    if expected < INF:
        assert ray_time(origin, direction, UNIT[0], max_t=expected) == expected
        before = math.nextafter(expected, -1)
        if expected > 0:
            assert ray_time(origin, direction, UNIT[0], max_t=before) == INF


@pytest.mark.parametrize(
    ("origin", "direction", "bound", "expected"),
    [
        (-LARGEST, 1.0, LARGEST, INF),  # twice the largest float is none
        (-LARGEST, 2.0, LARGEST, LARGEST),
        (-LARGEST, LARGEST, LARGEST, 2.0),
        (LARGEST, -LARGEST, -LARGEST, 2.0),
        (-LARGEST, 5e-324, LARGEST, INF),
        (-(2.0**1023), 2.0**1020, 1.5 * 2.0**1023, 20.0),
    ],
)
def test_ways_that_overflow_have_their_time(origin, direction, bound, expected):
    box = [bound, 0.0, bound, 0.0]
    assert ray_time((origin, 0.0), (direction, 0.0), box) == expected


@pytest.mark.parametrize(
    ("motion", "expected"),
    [
        ((0, 0), (0.0, INF, 0.0)),
        ((2, 0), (0.0, 0.5, 0.0)),
        ((1, 0), (0.0, 1.0, 0.0)),
        ((0.9, 0), (0.0, INF, 0.0)),
        ((0, 1), (0.0, INF, 0.0)),
        ((2, 2), (0.0, 0.5, 0.0)),
        ((2, 8), (0.0, INF, 0.0)),
    ],
)
def test_box_casts_touch_at_the_start_slide_and_stop_short(motion, expected):
    # one that touches at the start, one ahead by 1, one to slide along
    boxes = [[1, 0, 1, 1], [2, 0, 3, 1], [-9, 1, 9, 9]]
    got = oracle.cast_times([0, 0, 1, 1], motion, 1.0, boxes)
    assert got.tolist() == list(expected)


def test_enclosing_boxes_are_never_met_later_nor_farther_nor_outside():
    rng = np.random.default_rng(90)
    for ndim in (2, 3):
        boxes = np.concatenate((mixed_boxes(rng, 300, ndim), lattice_boxes(rng, 300, ndim)))
        with np.errstate(over="ignore"):
            outer = boxes.astype(np.float32)
            outer = np.concatenate(
                (
                    np.nextafter(outer[:, :ndim], np.float32(-np.inf)),
                    np.nextafter(outer[:, ndim:], np.float32(np.inf)),
                ),
                axis=1,
            ).astype(np.float64)
        points = rng.normal(0, 20, (50, ndim))
        motions = rng.normal(0, 1, (50, ndim)) * 10.0 ** rng.uniform(-300, 300, (50, 1))
        starts = np.concatenate((points, points), axis=1)
        inner_t, outer_t = (
            oracle.cast_times(starts[:, None], motions[:, None], np.inf, b[None])
            for b in (boxes, outer)
        )
        assert np.all(outer_t <= inner_t)
        inner_d, outer_d = (oracle.distances(points[:, None], b[None]) for b in (boxes, outer))
        assert np.all(outer_d <= inner_d)
        for motion in motions:
            inside, may_be = (oracle.within_planes([motion], [1.0], b) for b in (boxes, outer))
            assert not np.any(inside & ~may_be)


def hits_of(boxes, ids, state, start, motion, last, layers, ignored):
    """Hits of one row in order, one object after the other."""
    times = [
        (exact_time(start, motion, last, box), int(i))
        for box, i, s in zip(boxes, ids, state, strict=True)
        if int(s["layer"]) & layers and i != ignored
    ]
    return sorted((t, i) for t, i in times if t is not None)


@pytest.mark.parametrize("ndim", [2, 3])
def test_all_and_first_hits_are_in_order_with_layers_and_ignored_ids(ndim):
    rng = np.random.default_rng(100 + ndim)
    boxes, state = lattice_boxes(rng, 50, ndim), mixed_state(rng, 50)
    ids = rng.permutation(50) + 2**40
    starts = lattice_boxes(rng, 30, ndim)
    motions = rng.choice([0.0, 0.5, -1.0, 2.0], (30, ndim))
    motions[~motions.any(axis=1), 0] = 1.0
    ignored = np.where(rng.random(30) < 0.5, rng.choice(ids, 30), -1)
    content = ids, boxes, state
    ties = 0
    for layers in (ALL, 1, 2**63):
        options = {"layers": layers, "ignore": ignored}
        rays = oracle.raycast_all(*content, starts[:, :ndim], motions, max_t=4.0, **options)
        first_ray = oracle.raycast(*content, starts[:, :ndim], motions, max_t=4.0, **options)
        casts = oracle.boxcast_all(*content, starts, motions, **options)
        first_cast = oracle.boxcast(*content, starts, motions, **options)
        points = np.concatenate((starts[:, :ndim],) * 2, axis=1)
        for asked, last, (rows, t), (first, when) in (
            (points, 4.0, rays, first_ray),
            (starts, 1.0, casts, first_cast),
        ):
            expected = [
                (row, float(time), i)
                for row in range(30)
                for time, i in hits_of(
                    boxes, ids, state, asked[row], motions[row], last, layers, ignored[row]
                )
            ]
            assert expected
            assert rows.tolist() == [[row, i] for row, _, i in expected]
            assert t.tolist() == [time for _, time, _ in expected]
            best = {row: (i, time) for row, time, i in reversed(expected)}
            assert first.tolist() == [best.get(row, (-1, INF))[0] for row in range(30)]
            assert when.tolist() == [best.get(row, (-1, INF))[1] for row in range(30)]
            ties += len(expected) - len({(row, time) for row, time, _ in expected})
    assert ties > 10


@pytest.mark.parametrize("ndim", [2, 3])
def test_nearest_goes_by_distance_then_id(ndim):
    rng = np.random.default_rng(110 + ndim)
    boxes, state = lattice_boxes(rng, 60, ndim), mixed_state(rng, 60)
    ids = rng.permutation(60) * 7
    points = lattice_boxes(rng, 25, ndim)[:, :ndim]
    ignored = np.where(rng.random(25) < 0.5, rng.choice(ids, 25), -1)
    limits = rng.choice([0.0, 0.5, 1.5, INF], 25)
    for k, layers in product((0, 1, 4, 60, 75), (ALL, 1, 2)):
        found, values = oracle.nearest(
            ids, boxes, state, points, k, max_distance=limits, layers=layers, ignore=ignored
        )
        assert found.shape == values.shape == (25, k)
        assert found.dtype == np.int64
        for row, point in enumerate(points):
            near = []
            for box, i, s in zip(boxes, ids, state, strict=True):
                parts = [max(box[d] - point[d], point[d] - box[ndim + d], 0.0) for d in range(ndim)]
                distance = math.sqrt(sum(part * part for part in parts))
                if int(s["layer"]) & layers and i != ignored[row] and distance <= limits[row]:
                    near.append((distance, int(i)))
            near = sorted(near)[:k]
            padding = k - len(near)
            assert found[row].tolist() == [i for _, i in near] + [-1] * padding
            assert values[row].tolist() == [d for d, _ in near] + [INF] * padding


def test_an_object_at_an_infinite_distance_is_found_before_nobody():
    far = np.array([[LARGEST, LARGEST, LARGEST, LARGEST], [LARGEST, 0, LARGEST, 0]])
    found, values = oracle.nearest([4, 2], far, None, [[-LARGEST, -LARGEST]], 3)
    assert found.tolist() == [[2, 4, -1]]
    assert values.tolist() == [[INF] * 3]
    found, _ = oracle.nearest([4, 2], far, None, [[-LARGEST, -LARGEST]], 3, max_distance=LARGEST)
    assert found.tolist() == [[-1] * 3]


@pytest.mark.parametrize("ndim", [2, 3])
def test_planes_ask_the_corner_that_favours_them(ndim):
    rng = np.random.default_rng(120 + ndim)
    boxes, state = lattice_boxes(rng, 80, ndim), mixed_state(rng, 80)
    ids = rng.permutation(80)
    sizes = []
    for n_planes in (0, 1, 2, 4, 6):
        normals = rng.choice([0.0, -0.0, 0.5, 1.0, -1.0, -3.0], (n_planes, ndim))
        offsets = rng.choice([-1.0, 0.0, 2.0, 4.5, INF], n_planes)
        for layers in (ALL, 1):
            # products and sums of halves are exact: any corner inside will do
            expected = sorted(
                int(i)
                for box, i, s in zip(boxes, ids, state, strict=True)
                if int(s["layer"]) & layers
                and all(
                    any(
                        sum(
                            n * box[d + ndim * side]
                            for d, (n, side) in enumerate(zip(normal, at, strict=True))
                        )
                        <= offset
                        for at in product((0, 1), repeat=ndim)
                    )
                    for normal, offset in zip(normals, offsets, strict=True)
                )
            )
            got = oracle.query_planes(ids, boxes, state, normals, offsets, layers=layers)
            assert got.tolist() == expected
            sizes.append(len(expected))
    assert len(set(sizes)) > 3


@pytest.mark.parametrize(
    ("normal", "offset", "is_inside"),
    [
        ((1.0, 0.0), 0.0, True),  # touches with a face
        ((1.0, 0.0), -5e-324, False),
        ((1.0, 1.0), 0.0, True),  # with a corner
        ((0.0, 0.0), 0.0, True),
        ((0.0, 0.0), -1.0, False),
        ((1.0, 1.0), INF, True),
        ((1.0, 1.0), -INF, False),
        ((LARGEST, -LARGEST), 0.0, True),
    ],
)
def test_planes_around_the_unit_square(normal, offset, is_inside):
    got = oracle.within_planes([normal], [offset], UNIT)
    assert got.tolist() == [is_inside]


def test_sums_that_overflow_both_ways_are_inside():
    box = [[LARGEST, LARGEST, LARGEST, LARGEST]]
    assert oracle.within_planes([[2.0, -2.0]], [0.0], box).tolist() == [True]
    assert oracle.within_planes([[2.0, -0.5]], [LARGEST], box).tolist() == [False]
    assert oracle.within_planes([[-2.0, 0.5]], [-LARGEST], box).tolist() == [True]


def test_blocks_change_no_ordered_answer(monkeypatch):
    rng = np.random.default_rng(130)
    content = np.arange(40), lattice_boxes(rng, 40, 2), mixed_state(rng, 40)
    starts, motions = lattice_boxes(rng, 23, 2), rng.choice([0.5, 1.0, -2.0], (23, 2))

    def answers():
        return [
            array.tobytes()
            for answer in (
                oracle.nearest(*content, starts[:, :2], 5, ignore=3),
                oracle.raycast_all(*content, starts[:, :2], motions, ignore=3),
                oracle.boxcast(*content, starts, motions),
            )
            for array in answer
        ]

    whole = answers()
    monkeypatch.setattr(meeting, "BLOCK", 90)
    assert answers() == whole


def test_nothing_asked_and_nobody_there_have_the_usual_shapes():
    none, nowhere = np.empty((0, 4)), np.empty((0, 2))
    for ids, boxes, q in (([], none, 3), ([5], UNIT, 0)):
        points, starts = np.zeros((q, 2)), np.zeros((q, 4))
        rows, t = oracle.raycast_all(ids, boxes, None, points, points + 1)
        assert (rows.shape, rows.dtype, t.shape, t.dtype) == ((0, 2), np.int64, (0,), np.float64)
        assert oracle.boxcast(ids, boxes, None, starts, points)[0].tolist() == [-1] * q
        assert oracle.nearest(ids, boxes, None, points, 2)[1].tolist() == [[INF] * 2] * q
    assert oracle.query_planes([], none, None, nowhere, []).tolist() == []
