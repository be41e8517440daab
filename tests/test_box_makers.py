"""Boxes of shapes: never inside the exact box, and nothing outside it that float64 can avoid.

The exact box is computed in rationals from the definition of the shape, one bound at a time. A
bound passes when float64 has no tighter one: it is not inside the exact value, and the next number
towards the inside is.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

import spatialindex as si
from spatialindex import outward

DIMS = (2, 3)
LARGEST = float(np.finfo(np.float64).max)
TINIEST = 5e-324


def refuses(message, error=si.InvalidArgumentError):
    return pytest.raises(error, match=re.escape(message))


# ---- numbers that meet in sums: near one another, far apart, tiny, huge, with short mantissas

finite = st.floats(allow_nan=False, allow_infinity=False)
short = st.builds(math.ldexp, st.integers(-9, 9), st.integers(-5, 5))
dyadic = st.builds(math.ldexp, st.integers(-(2**53), 2**53), st.integers(-1074, 970))
near_one = st.builds(math.ldexp, st.integers(2**52, 2**52 + 9), st.integers(-54, -50))
special = st.sampled_from(
    [0.0, -0.0, 0.1, 0.2, 0.3, 1.0, 2.0**53, TINIEST, -TINIEST, 2.0**-1022, LARGEST, -LARGEST]
)
numbers = st.one_of(short, special, near_one, finite, dyadic)
moderate = st.one_of(short, near_one, st.floats(-1e6, 1e6))
"""No overflow and, mostly, errors that do not underflow: the ordinary case."""


def rows_of(ndim, elements):
    return st.lists(elements, min_size=ndim, max_size=ndim)


@st.composite
def scenes(draw, *widths, elements=None):
    """Draw a dimension and, for a width in multiples of it, lists of rows of equal length."""
    ndim = draw(st.sampled_from(DIMS))
    values = draw(st.sampled_from((numbers, moderate))) if elements is None else elements
    n = draw(st.integers(1, 4))
    sized = [1 if width == 0 else ndim**width for width in widths]
    return ndim, *(draw(st.lists(rows_of(size, values), min_size=n, max_size=n)) for size in sized)


def assert_bounds(make, exact_boxes):
    """Check the boxes against exact ones, lists of 2 * ndim rationals a row."""
    ndim = len(exact_boxes[0]) // 2
    beyond = [any(abs(value) > LARGEST for value in box) for box in exact_boxes]
    if any(beyond):
        event("overflows")
        with refuses(f"boxes[{beyond.index(True)}]: ", si.InvalidBoxError):
            make()
        return
    boxes = make()
    assert boxes.shape == (len(exact_boxes), 2 * ndim)
    assert boxes.dtype == np.float64
    assert boxes.flags.carray
    for box, exact in zip(boxes.tolist(), exact_boxes, strict=True):
        for bound, value in zip(box[:ndim], exact[:ndim], strict=True):
            assert Fraction(bound) <= value, "a lower bound is inside the shape"
            assert bound == LARGEST or Fraction(nextafter(bound, inf)) > value, "not tight"
        for bound, value in zip(box[ndim:], exact[ndim:], strict=True):
            assert Fraction(bound) >= value, "an upper bound is inside the shape"
            assert bound == -LARGEST or Fraction(nextafter(bound, -inf)) < value, "not tight"


def fractions(row):
    return [Fraction(value) for value in row]


def magnitudes(table):
    return [[abs(value) for value in row] for row in table]


# ---- the makers against rationals


@given(scenes(1, 1))
@example((2, [[-LARGEST, 0.0]], [[TINIEST, 0.0]]))
@example((2, [[0.1, TINIEST]], [[0.3, 2.0**-1022]]))
def test_boxes_from_centers_are_the_tightest_that_hold_the_exact_box(scene):
    _, centers, half = scene
    half = magnitudes(half)
    assert_bounds(
        lambda: si.box_from_center(centers, half),
        [
            [c - h for c, h in zip(fractions(center), fractions(extent), strict=True)]
            + [c + h for c, h in zip(fractions(center), fractions(extent), strict=True)]
            for center, extent in zip(centers, half, strict=True)
        ],
    )


@given(scenes(1, 0))
def test_boxes_from_spheres_are_the_tightest_that_hold_the_ball(scene):
    _, centers, radii = scene
    radii = [abs(row[0]) for row in radii]
    assert_bounds(
        lambda: si.box_from_sphere(centers, radii),
        [
            [c - Fraction(radius) for c in fractions(center)]
            + [c + Fraction(radius) for c in fractions(center)]
            for center, radius in zip(centers, radii, strict=True)
        ],
    )


@given(scenes(1, 1, 0))
def test_boxes_from_capsules_are_the_tightest_that_hold_the_capsule(scene):
    _, starts, ends, radii = scene
    radii = [abs(row[0]) for row in radii]
    assert_bounds(
        lambda: si.box_from_capsule(starts, ends, radii),
        [
            [min(p, q) - Fraction(radius) for p, q in zip(fractions(a), fractions(b), strict=True)]
            + [
                max(p, q) + Fraction(radius)
                for p, q in zip(fractions(a), fractions(b), strict=True)
            ]
            for a, b, radius in zip(starts, ends, radii, strict=True)
        ],
    )


@given(scenes(1, 1, 1))
def test_boxes_from_motions_are_the_tightest_that_hold_start_and_end(scene):
    _, a, b, motions = scene
    boxes = np.hstack((np.minimum(a, b), np.maximum(a, b)))
    exact = []
    for p, q, motion in zip(a, b, motions, strict=True):
        corners = list(zip(fractions(p), fractions(q), fractions(motion), strict=True))
        exact.append(
            [min(x, y) + min(m, 0) for x, y, m in corners]
            + [max(x, y) + max(m, 0) for x, y, m in corners]
        )
    assert_bounds(lambda: si.box_from_motion(boxes, motions), exact)


def exact_oriented(centers, half, rotations, ndim):
    """Return the exact bounds of oriented boxes; rotations are flat rows."""
    exact = []
    for center, extent, flat in zip(centers, half, rotations, strict=True):
        matrix = [fractions(flat[row * ndim : (row + 1) * ndim]) for row in range(ndim)]
        reach = [
            sum(abs(entry) * h for entry, h in zip(row, fractions(extent), strict=True))
            for row in matrix
        ]
        middle = fractions(center)
        exact.append(
            [c - r for c, r in zip(middle, reach, strict=True)]
            + [c + r for c, r in zip(middle, reach, strict=True)]
        )
    return exact


def oriented(centers, half, rotations, ndim):
    return si.box_from_obb(centers, half, np.reshape(rotations, (-1, ndim, ndim)))


@given(scenes(1, 1, 2))
@example((2, [[0.0, TINIEST]], [[0.1, TINIEST]], [[0.6, 0.8, 0.8, 0.6]]))
@example((2, [[LARGEST, -LARGEST]], [[1.0, 1.0]], [[1.0, 0.0, 0.0, 1.0]]))
@example((2, [[1.0, 1.0]], [[2.0**-500, 1.0]], [[2.0**-530, 1.0, 2.0**-574, 1.0]]))
@example((2, [[-1.0, 0.0]], [[0.1, 0.2]], [[10.0, 0.0, 5.0, 2.5]]))
def test_boxes_from_oriented_boxes_are_the_tightest_that_hold_the_exact_box(scene):
    ndim, centers, half, rotations = scene
    half = magnitudes(half)
    assert_bounds(
        lambda: oriented(centers, half, rotations, ndim),
        exact_oriented(centers, half, rotations, ndim),
    )


@given(scenes(1, 1, 2, elements=moderate), st.integers(0, 3))
def test_centers_that_nearly_cancel_the_extent_are_decided_exactly(scene, steps):
    ndim, centers, half, rotations = scene
    half = magnitudes(half)
    reach = [
        [
            sum(abs(flat[row * ndim + column]) * extent[column] for column in range(ndim))
            for row in range(ndim)
        ]
        for extent, flat in zip(half, rotations, strict=True)
    ]
    centers = np.array(reach)
    for _ in range(steps):
        centers = np.nextafter(centers, inf)
    centers = centers.tolist()
    assert_bounds(
        lambda: oriented(centers, half, rotations, ndim),
        exact_oriented(centers, half, rotations, ndim),
    )


@given(st.floats(-10, 10), rows_of(2, moderate), rows_of(2, moderate))
def test_boxes_of_rotated_rectangles_are_the_tightest(angle, center, half):
    half = magnitudes([half])
    rotation = [math.cos(angle), -math.sin(angle), math.sin(angle), math.cos(angle)]
    assert_bounds(
        lambda: oriented([center], half, [rotation], 2),
        exact_oriented([center], half, [rotation], 2),
    )


@pytest.mark.parametrize("ndim", DIMS)
def test_many_rows_are_the_tightest_too(ndim):
    random = np.random.default_rng(7)
    n = 5000  # more than one chunk
    centers = random.normal(size=(n, ndim))
    half = random.random((n, ndim))
    rotations = np.linalg.qr(random.normal(size=(n, ndim, ndim)))[0]
    rotations[::3] = np.eye(ndim)[random.permutation(ndim)]
    centers[::5] = np.round(centers[::5], 1)
    half[::7] = 2.0**-540
    boxes = si.box_from_obb(centers, half, rotations)
    shown = np.r_[0:200, 4000:4200, n - 100 : n]
    assert_bounds(
        lambda: boxes[shown],
        exact_oriented(
            centers[shown].tolist(),
            half[shown].tolist(),
            rotations[shown].reshape(-1, ndim**2).tolist(),
            ndim,
        ),
    )
    for row in shown:
        assert np.array_equal(si.box_from_obb(centers[row], half[row], rotations[row]), boxes[row])


@pytest.mark.parametrize("ndim", DIMS)
def test_ordinary_oriented_boxes_are_decided_without_rationals(ndim, monkeypatch):
    def refuse(*_):
        raise AssertionError("a rational was made")

    monkeypatch.setattr(outward, "Fraction", refuse)
    random = np.random.default_rng(3)
    n = 5000
    centers = random.normal(size=(n, ndim)) * 100.0
    half = random.random((n, ndim))
    rotations = np.linalg.qr(random.normal(size=(n, ndim, ndim)))[0]
    assert len(si.box_from_obb(centers, half, rotations)) == n
    assert len(si.box_from_obb(centers, half, np.eye(ndim))) == n
    assert len(si.box_from_obb(np.round(centers), 0.5, np.eye(ndim))) == n
    with pytest.raises(AssertionError, match="a rational was made"):
        si.box_from_obb(centers, 1e-200, rotations)


@given(
    st.sampled_from(DIMS).flatmap(
        lambda ndim: st.lists(
            st.lists(rows_of(ndim, numbers), min_size=1, max_size=4), min_size=1, max_size=4
        )
    )
)
def test_hulls_of_points_are_exact(groups):
    exact = [[*map(min, zip(*g, strict=True)), *map(max, zip(*g, strict=True))] for g in groups]
    offsets = np.cumsum([0, *map(len, groups)])
    points = [point for group in groups for point in group]
    assert np.array_equal(si.box_from_points(points, offsets), exact)
    for group, box in zip(groups, exact, strict=True):
        assert np.array_equal(si.box_from_points(group), box)
        assert np.array_equal(si.box_from_points([group]), [box])
    assert np.array_equal(si.box_around(exact), si.box_from_points(points))


# ---- touching is kept, and minus zero is not made


def test_bounds_that_float64_has_are_exact():
    assert si.box_from_sphere([0.5, 1.0], 0.25).tolist() == [0.25, 0.75, 0.75, 1.25]
    assert si.box_from_center([0.3, 0.1], [0.3, 0.1]).tolist() == [0.0, 0.0, 0.6, 0.2]
    assert si.box_from_obb([5, 5], [3, 1], [[0, -1], [1, 0]]).tolist() == [4, 2, 6, 8]
    assert si.box_from_obb([1, 0], [0.25, 0.5], [[0.5, 0.5], [0.5, -0.5]]).tolist() == [
        0.625,
        -0.375,
        1.375,
        0.375,
    ]


def test_a_bound_that_float64_does_not_have_is_the_next_one_outward():
    assert Fraction(0.1) + Fraction(0.7) > 0.1 + 0.7
    assert si.box_from_sphere([0.1, 0.0], 0.7)[2] == nextafter(0.1 + 0.7, inf)
    assert si.box_from_sphere([-0.1, 0.0], 0.7)[0] == -nextafter(0.1 + 0.7, inf)
    assert si.box_from_sphere([1e300, 0.0], TINIEST)[0] == nextafter(1e300, 0.0)


def test_zero_bounds_are_plus_zero():
    for box in (
        si.box_from_center([1, 1], 1),
        si.box_from_obb([1, 1], 1, np.eye(2)),
        si.box_from_sphere([0.0, 0.0], 0.0),
        si.box_from_capsule([1, 1], [2, 2], 1),
    ):
        assert not np.signbit(box[box == 0.0]).any()


# ---- one in, one out; one for all


@pytest.mark.parametrize("ndim", DIMS)
def test_one_shape_makes_one_box(ndim):
    point, half, eye = [1.0] * ndim, [0.5] * ndim, np.eye(ndim)
    box = [0.5] * ndim + [1.5] * ndim
    for made in (
        si.box_from_corners(box[:ndim], box[ndim:]),
        si.box_from_center(point, half),
        si.box_from_center(point, 0.5),
        si.box_from_sphere(point, 0.5),
        si.box_from_capsule(point, point, 0.5),
        si.box_from_obb(point, half, eye),
        si.box_from_obb(point, 0.5, eye),
        si.box_from_points([box[:ndim], box[ndim:]]),
        si.box_from_motion(box, [0.0] * ndim),
        si.box_around(box),
        si.box_around([box, box]),
    ):
        assert made.tolist() == box
        assert made.flags.carray


@pytest.mark.parametrize("ndim", DIMS)
def test_batches_of_one_and_of_none_stay_batches(ndim):
    for n in (0, 1):
        points, boxes = np.zeros((n, ndim)), np.zeros((n, 2 * ndim))
        eyes = np.zeros((n, ndim, ndim))
        for made in (
            si.box_from_corners(points, points),
            si.box_from_center(points, points),
            si.box_from_center(points, 0),
            si.box_from_sphere(points, np.zeros(n)),
            si.box_from_sphere(points, 0),
            si.box_from_capsule(points, points, 0),
            si.box_from_obb(points, points, eyes),
            si.box_from_points(np.zeros((n, 4, ndim))),
            si.box_from_points(points, np.arange(n + 1)),
            si.box_from_motion(boxes, points),
        ):
            assert made.tolist() == boxes.tolist()
            assert made.shape == (n, 2 * ndim)


@pytest.mark.parametrize("ndim", DIMS)
def test_one_argument_serves_all_rows_of_the_others(ndim):
    random = np.random.default_rng(1)
    points, others = random.random((5, ndim)), random.random((5, ndim))
    radii, eyes = random.random(5), np.linalg.qr(random.random((5, ndim, ndim)))[0]
    boxes = si.box_from_center(points, others)
    one, other, radius, eye = points[0], others[0], radii[0], eyes[0]

    def repeat(x):
        return np.repeat(np.asarray(x)[np.newaxis], 5, axis=0)

    for make, arguments in (
        (si.box_from_corners, (one * 0.0, others)),
        (si.box_from_corners, (-points, other)),
        (si.box_from_center, (points, other)),
        (si.box_from_center, (one, others)),
        (si.box_from_sphere, (points, radius)),
        (si.box_from_sphere, (one, radii)),
        (si.box_from_capsule, (one, others, radius)),
        (si.box_from_capsule, (one, other, radii)),
        (si.box_from_capsule, (points, other, radius)),
        (si.box_from_obb, (points, other, eye)),
        (si.box_from_obb, (one, others, eye)),
        (si.box_from_obb, (one, other, eyes)),
        (si.box_from_motion, (boxes, other)),
        (si.box_from_motion, (boxes[0], others)),
    ):
        full = [x if len(np.shape(x)) and len(x) == 5 else repeat(x) for x in arguments]
        made = make(*arguments)
        assert made.shape == (5, 2 * ndim)
        assert np.array_equal(made, make(*full))
        rows = [make(*row) for row in zip(*full, strict=True)]
        assert np.array_equal(made, rows)


def test_a_scalar_half_extent_is_the_same_on_every_axis():
    centers = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    made = si.box_from_center(centers, 0.5)
    assert np.array_equal(made, si.box_from_center(centers, [0.5, 0.5, 0.5]))
    assert made[1].tolist() == [2.5, 3.5, 4.5, 3.5, 4.5, 5.5]


@pytest.mark.parametrize("ndim", DIMS)
def test_inputs_are_neither_changed_nor_returned(ndim):
    points = np.arange(5.0 * ndim).reshape(5, ndim)
    boxes = np.hstack((points, points))
    radii, eyes = np.zeros(5), np.repeat(np.eye(ndim)[np.newaxis], 5, axis=0)
    inputs = [points, boxes, radii, eyes]
    before = [x.copy() for x in inputs]
    for made in (
        si.box_from_corners(points, points),
        si.box_from_center(points, points),
        si.box_from_sphere(points, radii),
        si.box_from_capsule(points, points, radii),
        si.box_from_obb(points, points, eyes),
        si.box_from_points(points),
        si.box_from_points(points, np.arange(6)),
        si.box_from_points(points[:, np.newaxis]),
        si.box_from_motion(boxes, points),
        si.box_around(boxes),
        si.box_around(boxes[0]),
    ):
        made[...] = -1.0
    for x, copy in zip(inputs, before, strict=True):
        assert np.array_equal(x, copy)


def test_triangles_of_a_mesh_have_a_box_each():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32)
    triangles = np.array([[0, 1, 2], [1, 2, 3]])
    assert si.box_from_points(vertices[triangles]).tolist() == [
        [0, 0, 0, 1, 2, 0],
        [0, 0, 0, 1, 2, 3],
    ]


def test_a_single_point_has_a_box_of_zero_size():
    assert si.box_from_points([1, 2]).tolist() == [1, 2, 1, 2]


def test_boxes_of_queries_may_be_made_from_infinite_corners():
    assert si.box_from_corners([-inf, 0], [inf, 1], infinite=True).tolist() == [-inf, 0, inf, 1]
    with refuses("boxes: lower x is -inf; stored boxes are finite", si.InvalidBoxError):
        si.box_from_corners([-inf, 0], [inf, 1])


def test_floating_point_errors_of_the_caller_do_not_matter():
    with np.errstate(all="raise"):
        assert si.box_from_center([0.1, TINIEST], [0.3, 1e-310])[3] == 1e-310 + TINIEST
        assert len(si.box_from_obb([0.1, TINIEST], [0.3, 1e-310], np.eye(2) * 0.3)) == 4
        with refuses("box: lower x is beyond the range of float64", si.InvalidBoxError):
            si.box_from_center([-LARGEST, 0], LARGEST)


# ---- refusals


def test_corners_that_are_no_box_are_refused():
    error = si.InvalidBoxError
    with refuses("boxes[1]: lower y 3.0 exceeds upper y 2.0; swap the corners", error):
        si.box_from_corners([[0, 0], [0, 3]], [[1, 1], [1, 2]])
    with refuses("boxes[1]: upper x is nan; give the bound a value", error):
        si.box_from_corners([[0, 0], [0, 3]], [[1, 1], [np.nan, 2]])
    with refuses("uppers: 3 rows do not fit the 2 of lowers; pass as many, or one", error):
        si.box_from_corners(np.zeros((2, 2)), np.zeros((3, 2)))
    with refuses("uppers: 2 rows do not fit the 1 of lowers", error):
        si.box_from_corners(np.zeros((1, 2)), np.zeros((2, 2)))
    with refuses("uppers: shape (2, 3) is not 2D points", error):
        si.box_from_corners(np.zeros((2, 2)), np.zeros((2, 3)))
    with refuses("lowers: shape (4,) is not 2D or 3D points", error):
        si.box_from_corners(np.zeros(4), np.zeros(4))
    with refuses("uppers[0]: y 9007199254740993 is beyond 2**53", error):
        si.box_from_corners([[0, 0]], [[1, 2**53 + 1]])


def test_centers_and_half_extents_that_cannot_be_meant_are_refused():
    with refuses("centers[1]: y is nan; make it finite or drop the row"):
        si.box_from_center([[0, 0], [0, np.nan]], 1)
    with refuses("half_extents[1]: x is -1.0; a length is zero or more"):
        si.box_from_center([[0, 0], [0, 0]], [[1, 1], [-1, 1]])
    with refuses("half_extents: y is inf; make it finite or drop the row"):
        si.box_from_center([0, 0], [1, inf])
    with refuses("half_extents is nan; a length is zero or more"):
        si.box_from_center([0, 0, 0], np.nan)
    with refuses("half_extents: shape (3,) is not half extents of 2D boxes; pass one number"):
        si.box_from_center(np.zeros((3, 2)), [1, 2, 3])
    with refuses("half_extents: shape (1, 1, 2) is not half extents of 2D boxes"):
        si.box_from_center([0, 0], [[[1, 2]]])
    with refuses("half_extents: 3 rows do not fit the 2 of centers"):
        si.box_from_center(np.zeros((2, 2)), np.zeros((3, 2)))
    with refuses("centers: shape (0,) is not 2D or 3D points; pass shape (ndim,) for one"):
        si.box_from_center([], 1)
    with refuses("half_extents 9007199254740993 is beyond 2**53"):
        si.box_from_center([0, 0], 2**53 + 1)
    with refuses("half_extents: dtype <U1 is not real numbers"):
        si.box_from_center([0, 0], "1")


def test_radii_of_shapes_must_be_finite_lengths():
    for make in (si.box_from_sphere, lambda c, r: si.box_from_capsule(c, c, r)):
        with refuses("radii[1] is inf; make it finite or drop the row"):
            make([[0, 0], [0, 0]], [1, inf])
        with refuses("radii[1] is -2.0; a length is zero or more"):
            make([[0, 0], [0, 0]], [1, -2])
        with refuses("radii is nan; a length is zero or more"):
            make([[0, 0], [0, 0]], np.nan)
        with refuses("radii: shape (2, 1) is not lengths; pass one number or shape (n,)"):
            make([[0, 0], [0, 0]], [[1], [2]])
        with refuses("radii: 3 rows do not fit the 2 of "):
            make([[0, 0], [0, 0]], [1, 2, 3])
    with refuses("b: shape (3,) is not 2D points"):
        si.box_from_capsule([0, 0], [1, 1, 1], 1)
    with refuses("b[0]: x is inf"):
        si.box_from_capsule([[0, 0]], [[inf, 1]], 1)


def test_rotations_that_are_no_matrices_are_refused():
    with refuses("rotations: shape () is not 2D matrices; pass (2, 2) or (n, 2, 2), and make"):
        si.box_from_obb([0, 0], 1, 0.5)
    with refuses("rotations: shape (4,) is not 3D matrices; pass (3, 3) or (n, 3, 3), and make"):
        si.box_from_obb([0, 0, 0], 1, [0, 0, 0, 1])
    with refuses("rotations: shape (3, 3) is not 2D matrices"):
        si.box_from_obb([0, 0], 1, np.eye(3))
    with refuses("rotations[2]: entry [1, 0] is nan; make it finite or drop the row"):
        rotations = np.repeat(np.eye(2)[np.newaxis], 3, axis=0)
        rotations[2, 1, 0] = np.nan
        si.box_from_obb([0, 0], 1, rotations)
    with refuses("rotations: entry [0, 1] is inf; make it finite"):
        si.box_from_obb([0, 0], 1, [[1, inf], [0, 1]])
    with refuses("rotations: 3 rows do not fit the 2 of centers"):
        si.box_from_obb(np.zeros((2, 2)), 1, np.zeros((3, 2, 2)))


def test_points_without_a_hull_are_refused():
    with refuses("points: none to go around; pass at least one point"):
        si.box_from_points(np.empty((0, 3)))
    with refuses("points: shape (5, 0, 3) is groups of no points; pass at least one point"):
        si.box_from_points(np.empty((5, 0, 3)))
    with refuses("points: shape (5, 3, 4) is not 2D or 3D points; pass (n, k, 2) or (n, k, 3)"):
        si.box_from_points(np.empty((5, 3, 4)))
    with refuses("points: shape (5, 4) is not 2D or 3D points"):
        si.box_from_points(np.empty((5, 4)))
    with refuses("points[1]: y is nan; make it finite"):
        si.box_from_points([[0, 0], [0, np.nan]])
    with refuses("points[1]: point 2, y is inf; make it finite"):
        si.box_from_points([[[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, inf]]])


def test_offsets_that_do_not_divide_the_points_are_refused():
    points = np.zeros((5, 2))
    with refuses("offsets: they run from 0 to 4, the points from 0 to 5; begin with 0 and end"):
        si.box_from_points(points, [0, 2, 4])
    with refuses("offsets: they run from 1 to 5, the points from 0 to 5"):
        si.box_from_points(points, [1, 5])
    with refuses("offsets[1]: 2 is not below the next, 2; drop groups of no points"):
        si.box_from_points(points, [0, 2, 2, 5])
    with refuses("offsets[1]: 7 is not below the next, 5; drop groups of no points"):
        si.box_from_points(points, [0, 7, 5])
    with refuses("offsets: float64 of shape (2,) is not where groups begin; pass integers"):
        si.box_from_points(points, [0.0, 5.0])
    with refuses("offsets: int64 of shape () is not where groups begin; pass integers"):
        si.box_from_points(points, np.int64(5))
    with refuses("offsets: points of shape (1, 5, 2) are in groups already"):
        si.box_from_points(points[np.newaxis], [0, 1])


def test_motions_that_cannot_be_meant_are_refused():
    with refuses("displacements[1]: x is inf; make it finite"):
        si.box_from_motion(np.zeros((2, 4)), [[0, 0], [inf, 0]])
    with refuses("displacements: shape (3,) is not 2D displacements"):
        si.box_from_motion(np.zeros((2, 4)), [0, 0, 0])
    with refuses("displacements: 3 rows do not fit the 2 of boxes"):
        si.box_from_motion(np.zeros((2, 4)), np.zeros((3, 2)))
    with refuses("boxes[0]: lower x 1.0 exceeds upper x 0.0", si.InvalidBoxError):
        si.box_from_motion([[1, 0, 0, 0]], [0, 0])


def test_a_box_around_none_is_refused():
    with refuses("boxes: none to go around; pass at least one box", si.InvalidBoxError):
        si.box_around(np.empty((0, 4)))
    with refuses("boxes[0]: upper y is nan", si.InvalidBoxError):
        si.box_around([[0, 0, 1, np.nan]])


def test_bounds_beyond_the_range_of_float64_are_refused():
    message = "is beyond the range of float64; scale the coordinates down"
    big = 1.5e308
    for make in (
        lambda: si.box_from_center([[0, 0], [0, big]], big),
        lambda: si.box_from_sphere([[0, 0], [0, big]], big),
        lambda: si.box_from_capsule([[0, 0], [0, 0]], [[0, 0], [0, big]], big),
        lambda: si.box_from_obb([[0, 0], [0, big]], big, np.eye(2)),
        lambda: si.box_from_motion([[0, 0, 0, 0], [0, 0, 0, big]], [0, big]),
    ):
        with refuses(f"boxes[1]: upper y {message}", si.InvalidBoxError):
            make()
    with refuses(f"box: lower z {message}", si.InvalidBoxError):
        si.box_from_sphere([0, 0, -big], big)
    with refuses(f"box: lower x {message}", si.InvalidBoxError):
        si.box_from_sphere([-LARGEST, 0], TINIEST)
