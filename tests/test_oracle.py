"""The oracle against definitions in plain Python, and its fast form against brute force."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from spatialindex import oracle
from spatialindex.constants import ALL, AMONG, PREDICATES, SENSORS
from spatialindex.errors import InvalidArgumentError
from spatialindex.oracle import meeting, relations
from spatialindex.testing.samples import lattice_boxes, mixed_boxes, mixed_state

METHODS = ("brute", "sorted")


def meets(a, b):
    ndim = len(a) // 2
    return all(max(a[d], b[d]) <= min(a[ndim + d], b[ndim + d]) for d in range(ndim))


def holds(a, b):
    ndim = len(a) // 2
    return all(a[d] <= b[d] and b[ndim + d] <= a[ndim + d] for d in range(ndim))


def pair_counts(a, b, among, sensors):
    """The pair rule, one pair of states, in Python integers."""
    if not (int(a["layer"]) & int(b["mask"]) and int(b["layer"]) & int(a["mask"])):
        return False
    if among == "dynamic" and a["static"] and b["static"]:
        return False
    if among == "active" and not any(not s["static"] and not s["asleep"] for s in (a, b)):
        return False
    has_sensor = bool(a["sensor"] or b["sensor"])
    return {"include": True, "exclude": not has_sensor, "only": has_sensor}[sensors]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ndim", [2, 3])
def test_pairs_are_what_the_definition_says(ndim, method):
    rng = np.random.default_rng(ndim)
    n = 40
    boxes, state = lattice_boxes(rng, n, ndim), mixed_state(rng, n)
    ids = rng.permutation(n) * 3
    for among in AMONG:
        for sensors in SENSORS:
            expected = sorted(
                sorted((int(ids[i]), int(ids[k])))
                for i, k in combinations(range(n), 2)
                if meets(boxes[i], boxes[k]) and pair_counts(state[i], state[k], among, sensors)
            )
            got = oracle.pairs(ids, boxes, state, among=among, sensors=sensors, method=method)
            assert got.tolist() == expected
            assert got.dtype == np.int64
            assert got.shape == (len(expected), 2)
            assert expected, "a scene without such pairs shows nothing"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("ndim", [2, 3])
def test_query_is_what_the_definition_says(ndim, predicate, method):
    rng = np.random.default_rng(10 + ndim)
    boxes, asked = lattice_boxes(rng, 60, ndim), lattice_boxes(rng, 50, ndim)
    asked[:3, :ndim] = -np.inf
    asked[2:5, ndim:] = np.inf
    state = mixed_state(rng, 60)
    ids = rng.permutation(60) + 2**62
    decide = {"intersects": meets, "inside": holds, "encloses": lambda q, b: holds(b, q)}[predicate]
    for layers in (ALL, 1, 2, 2**63, 0):
        expected = sorted(
            [row, int(ids[i])]
            for row, box in enumerate(asked)
            for i in range(60)
            if int(state[i]["layer"]) & layers and decide(box, boxes[i])
        )
        options = {"predicate": predicate, "layers": layers, "method": method}
        assert oracle.query(ids, boxes, state, asked, **options).tolist() == expected
        counted = oracle.count(ids, boxes, state, asked, **options)
        assert counted.tolist() == [sum(r == row for r, _ in expected) for row in range(50)]
        assert counted.dtype == np.int64
        assert bool(expected) == (layers != 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ndim", [2, 3])
def test_radius_query_includes_the_exact_distance(ndim, method):
    rng = np.random.default_rng(20 + ndim)
    boxes, centers = lattice_boxes(rng, 80, ndim), lattice_boxes(rng, 40, ndim)[:, :ndim]
    radii = rng.choice([0.0, 0.5, 1.0, 2.5, np.inf], 40)
    # halves: squares and their sums are exact, so the comparison can be made without a root
    expected = sorted(
        [row, i]
        for row in range(40)
        for i in range(80)
        if sum(
            max(boxes[i][d] - centers[row][d], centers[row][d] - boxes[i][ndim + d], 0.0) ** 2
            for d in range(ndim)
        )
        <= radii[row] ** 2
    )
    got = oracle.query_radius(np.arange(80), boxes, None, centers, radii, method=method)
    assert got.tolist() == expected
    one = oracle.query_radius(np.arange(80), boxes, None, centers, 1.0, method=method)
    each = oracle.query_radius(np.arange(80), boxes, None, centers, np.ones(40), method=method)
    assert np.array_equal(one, each)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("make", [lattice_boxes, mixed_boxes])
def test_sorted_form_equals_brute_force(make, ndim):
    rng = np.random.default_rng(30 + ndim)
    for n in (0, 1, 2, 37, 900):
        boxes, state = make(rng, n, ndim), mixed_state(rng, n)
        ids = rng.permutation(n)
        asked = make(rng, n // 2, ndim)
        asked[::7, :ndim] = -np.inf
        asked[::11, ndim:] = np.inf
        radii = rng.choice([0.0, 0.3, 2.0, 1e5, np.inf], len(asked))
        centers = make(rng, len(asked), ndim)[:, :ndim]
        for among in AMONG:
            brute, fast = (
                oracle.pairs(ids, boxes, state, among=among, method=method) for method in METHODS
            )
            assert np.array_equal(brute, fast)
        for predicate in PREDICATES:
            brute, fast = (
                oracle.query(ids, boxes, state, asked, predicate=predicate, method=method)
                for method in METHODS
            )
            assert np.array_equal(brute, fast)
        brute, fast = (
            oracle.query_radius(ids, boxes, state, centers, radii, method=method)
            for method in METHODS
        )
        assert np.array_equal(brute, fast)


def test_blocks_change_no_answer(monkeypatch):
    rng = np.random.default_rng(40)
    boxes, asked = lattice_boxes(rng, 150, 2), lattice_boxes(rng, 70, 2)
    ids = np.arange(150)

    def answers():
        return [
            relation.tobytes()
            for method in METHODS
            for relation in (
                oracle.pairs(ids, boxes, method=method),
                oracle.query(ids, boxes, None, asked, method=method),
            )
        ]

    whole = answers()
    monkeypatch.setattr(meeting, "BLOCK", 13)
    assert answers() == whole


def test_large_scenes_are_sorted_and_small_ones_are_not(monkeypatch):
    chosen = []
    monkeypatch.setattr(
        relations, "self_meetings", lambda boxes, method: chosen.append(method) or ()
    )
    for n in (10, 5000):
        oracle.pairs(np.arange(n), np.zeros((n, 4)))
    assert chosen == ["brute", "sorted"]


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e300, 1e307])
def test_distances_neither_overflow_nor_vanish(scale):
    center, box = np.array([0.0, 0.0]), np.array([3 * scale, 4 * scale, 9 * scale, 9 * scale])
    got = float(oracle.distances(center, box))
    squares = Fraction(float(3 * scale)) ** 2 + Fraction(float(4 * scale)) ** 2
    # within one unit in the last place of the true root: lower and upper neighbour enclose it
    below, above = math.nextafter(got, 0.0), math.nextafter(got, math.inf)
    assert Fraction(below) ** 2 <= squares <= Fraction(above) ** 2


def test_distance_formula_is_the_plain_one_at_usual_scales():
    rng = np.random.default_rng(50)
    boxes, centers = mixed_boxes(rng, 200, 3), rng.normal(0, 30, (200, 3))
    boxes = boxes[np.abs(boxes).max(axis=1) < 1e100]
    centers = centers[: len(boxes)]
    for got, box, center in zip(oracle.distances(centers, boxes), boxes, centers, strict=True):
        d = [max(box[k] - center[k], center[k] - box[3 + k], 0.0) for k in range(3)]
        assert got == math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])


def test_distance_beyond_the_largest_float_is_infinite():
    far = np.finfo(float).max
    box = np.array([far, far, far, far])
    assert oracle.distances(np.array([-far, -far]), box) == np.inf
    found = oracle.query_radius([4], box[None], None, [[-far, -far]], [np.inf], method="sorted")
    assert found.tolist() == [[0, 4]]
    assert len(oracle.query_radius([4], box[None], None, [[-far, -far]], [far])) == 0


def test_radius_query_by_sorting_keeps_objects_whose_rounded_distance_is_the_radius():
    # 1 + 2**-53 is no float: the distance rounds down to 1, so the object counts,
    # although the exact distance is larger than the radius
    center, radius = -(2.0**-53), 1.0
    box = np.array([[1.0, 0.0, 2.0, 0.0]])
    assert oracle.distances(np.array([center, 0.0]), box).tolist() == [1.0]
    for method in METHODS:
        got = oracle.query_radius([0], box, None, [[center, 0.0]], radius, method=method)
        assert got.tolist() == [[0, 0]]


def test_join_is_a_plain_relation_of_what_is_visible():
    rng = np.random.default_rng(60)
    a, b = lattice_boxes(rng, 50, 2), lattice_boxes(rng, 45, 2)
    state_a, state_b = mixed_state(rng, 50), mixed_state(rng, 45)
    ids_a, ids_b = rng.permutation(50), rng.permutation(45) + 100
    expected = sorted(
        [int(ids_a[i]), int(ids_b[k])]
        for i in range(50)
        for k in range(45)
        if int(state_a[i]["layer"]) & 3 and int(state_b[k]["layer"]) & 2 and meets(a[i], b[k])
    )
    for method in METHODS:
        got = oracle.join(
            ids_a, a, state_a, ids_b, b, state_b, layers=3, other_layers=2, method=method
        )
        assert got.tolist() == expected


def test_join_with_itself_has_both_orders_and_every_id_with_itself():
    boxes = [[0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 6, 6]]
    got = oracle.join([3, 4, 5], boxes, None, [3, 4, 5], boxes)
    assert got.tolist() == [[3, 3], [3, 4], [4, 3], [4, 4], [5, 5]]


def test_layer_zero_pairs_with_nothing_and_no_question_sees_it():
    state = oracle.default_state(2)
    state["layer"][0] = 0
    boxes = [[0, 0, 1, 1], [0, 0, 1, 1]]
    assert len(oracle.pairs([0, 1], boxes, state, among="all")) == 0
    assert oracle.query([0, 1], boxes, state, [[0, 0, 1, 1]]).tolist() == [[0, 1]]


def test_bounds_are_exact_and_none_when_empty():
    assert oracle.bounds(np.empty((0, 6))) is None
    boxes = [[0.1, -3, 0, 0.2, 5, 0], [-0.0, 0, 7, 0.3, 0, 9]]
    assert oracle.bounds(boxes).tolist() == [0.0, -3, 0, 0.3, 5, 9]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: oracle.pairs([0], [[0, 0, 1, 1]], among="awake"), "among='awake': use one of all"),
        (lambda: oracle.pairs([0], [[0, 0, 1, 1]], sensors="no"), "sensors='no': use one of incl"),
        (lambda: oracle.pairs([0], [[0, 0, 1, 1]], method="fast"), "method='fast': use one of br"),
        (
            lambda: oracle.query([0], [[0, 0, 1, 1]], None, [[0, 0, 1, 1]], predicate="within"),
            "predicate='within': use one of intersects, inside, encloses",
        ),
    ],
)
def test_unknown_words_are_refused_with_the_known_ones(call, message):
    with pytest.raises(InvalidArgumentError, match=message):
        call()
