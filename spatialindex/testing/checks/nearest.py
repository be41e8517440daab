"""What is nearest: ties, many and few, limits, from inside, far away, at all magnitudes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from spatialindex import oracle
from spatialindex.testing.samples import lattice_boxes, mixed_boxes, mixed_scene, sparse_ids
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from spatialindex.testing.twin import Factory

INF = math.inf
LARGEST = float(np.finfo(np.float64).max)


def check_nearest_at_the_same_distance_go_by_id(factory: Factory, ndim: int) -> None:
    """On a lattice, where most distances occur many times, with ids in no order of place."""
    rng = np.random.default_rng(81)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 200, ndim), sparse_ids(rng, 200))
    points = rng.integers(-8, 9, (40, ndim)) / 2
    for k in (1, 2, 8, 31):
        twin.nearest(points, k)
    # unit cells that all touch the origin, and four that are as far from it along the axes
    twin = Twin(factory(ndim))
    corners = np.indices((2,) * ndim).reshape(ndim, -1).T - 1.0
    twin.insert(np.concatenate((corners, corners + 1.0), axis=1), np.arange(len(corners))[::-1])
    found, distances = twin.nearest([0.0] * ndim, len(corners))
    assert found.tolist() == list(range(len(corners)))
    assert not distances.any()
    apart = np.concatenate((np.eye(ndim), -np.eye(ndim))) * 3.0
    twin.insert(np.concatenate((apart, apart), axis=1), 100 - np.arange(2 * ndim))
    found, distances = twin.nearest([0.0] * ndim, len(corners) + 2)
    assert found[-2:].tolist() == [101 - 2 * ndim, 102 - 2 * ndim]
    assert distances[-2:].tolist() == [3.0, 3.0]


def check_nearest_fewer_and_more_than_there_are(factory: Factory, ndim: int) -> None:
    """From one to more than all objects, padded with id -1 and distance inf."""
    rng = np.random.default_rng(82)
    twin = Twin(factory(ndim))
    points = rng.uniform(-9, 9, (7, ndim))
    for n in (0, 1, 8, 41):
        twin.insert(lattice_boxes(rng, n, ndim), layer=rng.integers(0, 3, n))
        for k in (1, 2, 8, 9, 50, 1000):
            twin.nearest(points, k)
            twin.nearest(points[0], k)
            twin.nearest(points, k, layers=2, max_distance=4.0)
    twin.nearest(points[0], 100_000)
    twin.nearest(points, np.int64(3))
    assert twin.nearest(points).ids.shape == (7, 1)


def check_largest_distances_are_compared_as_rounded(factory: Factory, ndim: int) -> None:
    """An object counts when its float64 distance is at most `max_distance`, and not beyond."""
    rng = np.random.default_rng(83)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 150, ndim, giants=()))
    points = rng.normal(0, 15, (12, ndim))
    for point in points:
        for exact in twin.nearest(point, 20).distances[[0, 1, 4, 19]].tolist():
            for limit in (exact, math.nextafter(exact, INF), math.nextafter(exact, 0.0)):
                twin.nearest(point, 30, max_distance=limit)
                twin.nearest(point, 1, max_distance=limit)
    for limit in (0.0, 5e-324, 1.0, INF):
        twin.nearest(points, 5, max_distance=limit)
    # the distance from here to an object at x = 1 is rounded down to 1
    twin = Twin(factory(ndim))
    twin.insert([1.0, *[0.0] * (ndim - 1), 2.0, *[0.0] * (ndim - 1)])
    here, beyond = ([-(2.0**-e), *[0.0] * (ndim - 1)] for e in (53, 52))
    assert twin.nearest(here, max_distance=1.0).ids.tolist() == [0]
    assert twin.nearest(beyond, max_distance=1.0).ids.tolist() == [-1]


def check_nearest_from_inside(factory: Factory, ndim: int) -> None:
    """Boxes that hold the point are at distance 0, by id, before all others."""
    rng = np.random.default_rng(84)
    twin = Twin(factory(ndim))
    half = rng.permutation(np.arange(1.0, 61.0))[:, None]
    twin.insert(np.concatenate((np.repeat(-half, ndim, 1), np.repeat(half, ndim, 1)), axis=1))
    twin.insert(lattice_boxes(rng, 60, ndim) + 20.0)
    points = np.repeat(rng.uniform(-70, 70, (20, 1)), ndim, 1)
    points = np.concatenate((points, np.zeros((1, ndim)), np.full((1, ndim), 30.0)))
    for k in (1, 5, 60, 100):
        twin.nearest(points, k)
    assert twin.nearest([0.0] * ndim, 60).ids.tolist() == list(range(60))


def check_nearest_of_identical_boxes(factory: Factory, ndim: int) -> None:
    """Hundreds of boxes at one place, with and without size: the lowest ids."""
    rng = np.random.default_rng(85)
    for size in (0.0, 1.0):
        twin = Twin(factory(ndim))
        ids = sparse_ids(rng, 400)
        twin.insert(np.repeat([[3.0] * ndim + [3.0 + size] * ndim], 400, axis=0), ids)
        for point in ([3.0] * ndim, [0.0] * ndim, [-1e9] * ndim):
            for k in (1, 7, 399, 405):
                twin.nearest(point, k)
            assert twin.nearest(point, 7).ids.tolist() == sorted(ids.tolist())[:7]
            twin.nearest([point, [3.5] * ndim], 3, ignore=np.sort(ids)[:2])


def check_nearest_from_far_away(factory: Factory, ndim: int) -> None:
    """Points far outside of everything, and objects far from everything else."""
    rng = np.random.default_rng(86)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 150, ndim, giants=()))
    far = np.concatenate((np.eye(ndim), -np.eye(ndim), np.ones((1, ndim))))
    for scale in (1e2, 1e5, 1e9, 1e16, 1e160, LARGEST):
        for k in (1, 6):
            twin.nearest(far * scale, k)
            twin.nearest(far * scale, k, max_distance=scale)
    lonely = rng.permutation(far * 1e8)
    twin.insert(np.concatenate((lonely, lonely + 1.0), axis=1))
    for scale in (1e2, 1e7, 6e7, 1e8, 1e9):
        twin.nearest(far * scale, 4)
        twin.nearest(far * scale, 160)


def check_nearest_at_all_magnitudes(factory: Factory, ndim: int) -> None:
    """Distances from subnormal to those that overflow, which are infinite and found even so."""
    rng = np.random.default_rng(87)
    twin = Twin(factory(ndim))
    scales = (5e-324, 1e-310, 1e-160, 1e-9, 1.0, 1e9, 1e160, 1e300, LARGEST / 4)
    for scale in scales:
        lower = rng.integers(-3, 3, (6, ndim)) * scale
        twin.insert(np.concatenate((lower, lower + scale), axis=1))
    twin.insert([[LARGEST] * (2 * ndim), [-LARGEST] * (2 * ndim)])
    points = np.concatenate([np.outer((-2.5, 0.0, 1.0, 3.0), np.ones(ndim)) * s for s in scales])
    points = np.concatenate((points, [[LARGEST] * ndim, [-LARGEST] * ndim]))
    for k in (1, 3, 20, 60):
        twin.nearest(points, k)
        twin.nearest(points, k, max_distance=LARGEST)
    for limit in (0.0, 5e-324, 1e-160, 1e160):
        twin.nearest(points, 4, max_distance=limit)
    # across all of space: every distance is infinite, and nobody is still somebody
    twin = Twin(factory(ndim))
    twin.insert(np.repeat([[LARGEST] * (2 * ndim)], 20, axis=0), 100 - np.arange(20))
    found, distances = twin.nearest([-LARGEST] * ndim, 12)
    assert found.tolist() == list(range(81, 93))
    assert np.isinf(distances).all()
    assert (twin.nearest([-LARGEST] * ndim, 12, max_distance=LARGEST).ids == -1).all()


def check_nearest_in_a_large_scene(factory: Factory, ndim: int) -> None:
    """A hundred points among two thousand boxes, at first and after motion."""
    rng = np.random.default_rng(88)
    twin = Twin(factory(ndim))
    boxes = mixed_scene(rng, 2000, ndim)
    is_giant = (boxes[:, ndim] - boxes[:, 0]) > 20.0
    twin.insert(boxes, layer=np.where(is_giant, 2, 1))
    points = np.concatenate((rng.uniform(-40, 40, (90, ndim)), boxes[:30, :ndim]))
    for k, layers in ((1, 3), (1, 1), (8, 1), (8, 3), (40, 1)):
        twin.nearest(points, k, layers=layers)
    twin.nearest(points, 8, max_distance=0.75, layers=1)
    twin.nearest(points[:5], 2100)
    some = rng.choice(2000, 900, replace=False)
    twin.update(some, mixed_scene(rng, 900, ndim, giants=()))
    twin.remove(some[:300])
    # a teleport leaves nothing where it began
    twin.update(some[300:400], boxes[some[300:400]] + 5e3)
    for k in (1, 8):
        twin.nearest(points, k, layers=1)
        twin.nearest(points + 5e3, k, layers=1)


def check_nearest_among_all_sizes(factory: Factory, ndim: int) -> None:
    """Boxes of nine orders of magnitude: the order is that of the float64 distances."""
    rng = np.random.default_rng(89)
    twin = Twin(factory(ndim))
    twin.insert(mixed_boxes(rng, 250, ndim))
    points = rng.normal(0, 15, (30, ndim))
    found, distances = twin.nearest(points, 250)
    for row in (0, 29):
        exact = oracle.distances(points[row], twin.index.boxes(found[row]))
        assert exact.tolist() == distances[row].tolist()
    twin.nearest(points * 1e3, 9)
    twin.nearest(twin.index.boxes()[::6, :ndim], 9)
