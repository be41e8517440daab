"""Where structures are told to look: everything that is accepted touches it."""

import numpy as np
import pytest

from spatialindex.asked import balls, casts, planes
from spatialindex.constants import ALL
from spatialindex.kernels.decide import accepts

LARGEST = float(np.finfo(np.float64).max)
TINY = 5e-324
HOSTILE = np.array(
    [
        *(0.0, TINY, 3 * TINY, 2.0**-1022, 1e-300, 2.0**-53, 0.1, 1.0, 1.0 + 2.0**-52, 3.0),
        *(2.0**53, 1e155, 1e300, LARGEST / 2, np.nextafter(LARGEST, 0.0), LARGEST),
    ]
)
TIMES = np.array([0.0, TINY, 1e-300, 0.1, 1.0, 3.0, 1e10, 1e300, LARGEST, np.inf])


def hostile(rng, shape):
    """Numbers of all magnitudes and both signs, zeros of both signs among them."""
    values = rng.choice(HOSTILE, shape)
    near = rng.integers(0, 3, shape) == 0
    values = np.where(near, values * rng.random(shape), values)
    return values * rng.choice([-1.0, 1.0], shape)


def ordered(a, b):
    return np.concatenate([np.minimum(a, b), np.maximum(a, b)], axis=-1)


def around(rng, bounds):
    """Boxes with a face some floats from a bound of the hull of each row, on either side."""
    n, width = bounds.shape
    ndim = width // 2
    a, b = hostile(rng, (n, ndim)), hostile(rng, (n, ndim))
    everywhere = rng.integers(0, 2, (n, ndim)) == 0
    a, b = np.where(everywhere, -LARGEST, a), np.where(everywhere, LARGEST, b)
    axis, rows = rng.integers(0, ndim, n), np.arange(n)
    is_upper = rng.integers(0, 2, n) == 0
    face = bounds[rows, axis + ndim * is_upper]
    face = np.clip(face, -LARGEST, LARGEST)
    for _ in range(4):
        face = np.nextafter(face, np.choose(rng.integers(0, 3, n), [-LARGEST, face, LARGEST]))
    beyond = np.where(is_upper, LARGEST, -LARGEST)
    beyond = np.where(rng.integers(0, 2, n) == 0, face, beyond)
    a[rows, axis], b[rows, axis] = face, beyond
    return ordered(a, b)


def is_accepted(region, boxes):
    """Whether each row accepts its own box."""
    dim = (0,) * (boxes.shape[1] // 2)
    return np.array(
        [accepts(region.kind, region.exact, i, boxes, i, dim) for i in range(len(boxes))]
    )


def touches(cull, boxes):
    ndim = boxes.shape[1] // 2
    return np.all((cull[:, :ndim] <= boxes[:, ndim:]) & (boxes[:, :ndim] <= cull[:, ndim:]), axis=1)


def check(region, boxes, share):
    """No box is accepted that does not touch; and enough of both kinds are there to tell."""
    accepted, touching = is_accepted(region, boxes), touches(region.cull, boxes)
    np.testing.assert_array_equal(accepted & ~touching, False)
    assert accepted.mean() > share
    assert touching.mean() < 1.0


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("width", [1, 2])  # points and boxes
def test_what_a_cast_meets_touches_its_hull(ndim, width):
    rng = np.random.default_rng(ndim + width)
    n = 20_000
    starts = hostile(rng, (n, ndim))
    if width == 2:
        starts = ordered(starts, hostile(rng, (n, ndim)))
    motions = np.where(rng.integers(0, 4, (n, ndim)) == 0, 0.0, hostile(rng, (n, ndim)))
    lasts = np.where(rng.integers(0, 3, n) == 0, rng.random(n), rng.choice(TIMES, n))
    region = casts(starts, motions, lasts, n, ALL)
    check(region, around(rng, region.cull), 0.1)


@pytest.mark.parametrize("ndim", [2, 3])
def test_what_a_usual_cast_meets_touches_its_hull(ndim):
    rng = np.random.default_rng(ndim)
    n = 20_000
    starts, motions = rng.normal(size=(n, ndim)), rng.normal(size=(n, ndim))
    region = casts(starts, motions, rng.random(n), n, ALL)
    check(region, around(rng, region.cull), 0.1)


def test_a_negative_time_that_rounds_to_zero_is_within_the_hull():
    # the way to the box is over, by less than any time can tell
    starts, motions = np.array([[0.0, 0.0]]), np.array([[1e10, 0.0]])
    region = casts(starts, motions, np.array([np.inf]), 1, ALL)
    box = np.array([[-1.0, 0.0, -1e-320, 0.0]])
    assert is_accepted(region, box).all()
    assert touches(region.cull, box).all()


def test_a_time_that_is_rounded_down_is_within_the_hull():
    region = casts(np.zeros((1, 2)), np.array([[3.0, 0.0]]), np.array([0.3]), 1, ALL)
    box = np.array([[0.9, 0.0, 1.0, 0.0]])
    assert 0.3 * 3.0 < 0.9
    assert 0.9 / 3.0 == 0.3
    assert is_accepted(region, box).all()
    assert touches(region.cull, box).all()


def test_the_hull_of_a_cast_is_hardly_larger_than_its_way():
    starts, motions = np.array([[1.0, 5.0, 2.0, 6.0]]), np.array([[10.0, 0.0]])
    (cull,) = casts(starts, motions, np.array([1.0]), 1, ALL).cull
    assert cull[[1, 3]].tolist() == [5.0, 6.0]  # no motion: exactly the box
    assert 1.0 - 1e-15 <= cull[0] <= 1.0
    assert 12.0 <= cull[2] <= 12.0 + 1e-14


def test_a_row_of_a_cast_may_serve_all():
    rng = np.random.default_rng(3)
    starts, motions = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    rows = casts(np.repeat(starts[:1], 4, axis=0), motions, np.ones(4), 4, ALL)
    one = casts(starts[0], motions, np.ones(1), 4, ALL)
    np.testing.assert_array_equal(one.exact, rows.exact)
    np.testing.assert_array_equal(one.cull, rows.cull)
    rows = casts(starts, np.repeat(motions[:1], 4, axis=0), np.ones(4), 4, ALL)
    one = casts(starts, motions[0], np.ones(1), 4, ALL)
    np.testing.assert_array_equal(one.exact, rows.exact)
    np.testing.assert_array_equal(one.cull, rows.cull)


@pytest.mark.parametrize("ndim", [2, 3])
def test_what_is_within_a_radius_touches_its_hull(ndim):
    rng = np.random.default_rng(ndim)
    n = 20_000
    radii = np.abs(hostile(rng, n))
    region = balls(hostile(rng, (n, ndim)), radii, ALL)
    check(region, around(rng, region.cull), 0.05)


def scene_and_planes(rng, ndim, draw):
    """Bounds of a scene and some planes, most of which cut through it."""
    bounds = ordered(draw(ndim), draw(ndim))
    p = int(rng.integers(1, 5))
    normals = np.where(rng.integers(0, 4, (p, ndim)) == 0, 0.0, draw((p, ndim)))
    share = rng.random(ndim)
    inside = bounds[:ndim] * share + bounds[ndim:] * (1.0 - share)
    with np.errstate(all="ignore"):
        offsets = (normals * inside).sum(axis=1)
    offsets = np.where(np.isnan(offsets) | (rng.integers(0, 5, p) == 0), draw(p), offsets)
    return bounds, normals, offsets


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("values", ["hostile", "usual"])
def test_what_is_within_planes_touches_their_hull(ndim, values):
    rng = np.random.default_rng(ndim)

    def draw(shape):
        return hostile(rng, shape) if values == "hostile" else rng.normal(size=shape)

    n_accepted = n_apart = 0
    for _ in range(400):
        with np.errstate(over="ignore", invalid="ignore"):
            bounds, normals, offsets = scene_and_planes(rng, ndim, draw)
        region = planes(normals, offsets, bounds, ALL)
        (cull,) = region.cull
        assert np.all(cull[:ndim] <= cull[ndim:])
        boxes = around(rng, np.repeat(region.cull, 100, axis=0))
        boxes = np.clip(boxes, np.tile(bounds[:ndim], 2), np.tile(bounds[ndim:], 2))
        everyone = region._replace(
            cull=np.repeat(region.cull, 100, axis=0), exact=np.repeat(region.exact, 100, axis=0)
        )
        accepted, touching = is_accepted(everyone, boxes), touches(everyone.cull, boxes)
        np.testing.assert_array_equal(accepted & ~touching, False)
        n_accepted += accepted.sum()
        n_apart += (~touching).sum()
    assert n_accepted > 1000
    assert n_apart > 1000


def test_planes_cut_the_bounds_down():
    bounds = np.array([0.0, 0.0, 10.0, 10.0])
    normals, offsets = np.array([[1.0, 1.0], [-2.0, 0.0]]), np.array([4.0, -2.0])
    (cull,) = planes(normals, offsets, bounds, ALL).cull  # x + y <= 4, x >= 1
    assert 1.0 - 1e-12 < cull[0] <= 1.0
    assert 4.0 <= cull[2] < 4.0 + 1e-12
    assert cull[1] == 0.0
    assert 4.0 <= cull[3] < 4.0 + 1e-12


def test_planes_that_exclude_each_other_still_hold_what_reaches_across():
    bounds = np.array([0.0, 0.0, 10.0, 10.0])
    normals, offsets = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([3.0, -7.0])  # x <= 3, x >= 7
    region = planes(normals, offsets, bounds, ALL)
    across = np.array([[2.0, 0.0, 8.0, 1.0]])
    assert is_accepted(region, across).all()
    assert touches(region.cull, across).all()


@pytest.mark.parametrize("offset", [np.inf, 1e308, LARGEST])
def test_planes_beyond_all_floats_cut_nothing(offset):
    bounds = np.array([-LARGEST, -LARGEST, LARGEST, LARGEST])
    region = planes(np.array([[LARGEST, 1.0]]), np.array([offset]), bounds, ALL)
    np.testing.assert_array_equal(region.cull[0], bounds)


def test_without_planes_the_bounds_stay():
    bounds = np.array([-1.0, 2.0, 3.0, 4.0])
    region = planes(np.empty((0, 2)), np.empty(0), bounds, ALL)
    assert region.exact.shape == (1, 0)
    np.testing.assert_array_equal(region.cull[0], bounds)
