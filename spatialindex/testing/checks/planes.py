"""What lies within planes: touching, frustums, none, contradictions, all magnitudes."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.testing.answers import assert_same
from spatialindex.testing.samples import lattice_boxes, mixed_boxes, mixed_scene
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.testing.twin import Factory

INF = math.inf
LARGEST = float(np.finfo(np.float64).max)


def check_planes_that_touch(factory: Factory, ndim: int) -> None:
    """A plane through a face, an edge or a corner sees the box; one float away it does not."""
    twin = Twin(factory(ndim))
    twin.insert([-1.0] * ndim + [1.0] * ndim)
    for normal in filter(any, product((-2.0, -1.0, 0.0, 0.5), repeat=ndim)):
        touching = -sum(abs(x) for x in normal)
        assert twin.query_planes([normal], [touching]).tolist() == [0]
        assert twin.query_planes([normal], [math.nextafter(touching, -INF)]).tolist() == []
        twin.query_planes([normal, normal], [touching, INF])


def check_planes_on_a_lattice(factory: Factory, ndim: int) -> None:
    """Planes through corners of many boxes, one and several, with zeros of both signs."""
    rng = np.random.default_rng(91)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 200, ndim), layer=rng.integers(0, 4, 200))
    for n_planes in (1, 1, 2, 2, 3, 4, 6, 20):
        normals = rng.choice([0.0, -0.0, 0.5, 1.0, -1.0, -2.0], (n_planes, ndim))
        normals[~normals.any(axis=1), 0] = 1.0
        offsets = rng.integers(-4, 9, n_planes) / 2 + n_planes
        for layers in (3, 1):
            twin.query_planes(normals, offsets, layers=layers)
            twin.query_planes(normals, offsets, layers=layers, sort=False)


def check_no_planes_and_no_limits(factory: Factory, ndim: int) -> None:
    """Without planes, or with infinite offsets, everything on the layers; with -inf nothing."""
    rng = np.random.default_rng(92)
    twin = Twin(factory(ndim))
    nothing = np.empty((0, ndim)), np.empty(0)
    assert len(twin.query_planes(*nothing)) == 0
    twin.insert(mixed_boxes(rng, 70, ndim))
    twin.insert(lattice_boxes(rng, 50, ndim), layer=2)
    assert_same(twin.query_planes(*nothing), twin.index.ids, "query_planes() without planes")
    assert len(twin.query_planes(*nothing, layers=2)) == 50
    normals = np.concatenate((np.eye(ndim), -np.eye(ndim)))
    everything = twin.query_planes(normals, [INF] * (2 * ndim))
    assert_same(everything, twin.index.ids, "query_planes() with infinite offsets")
    twin.query_planes(normals, [INF] * (2 * ndim - 1) + [0.0])
    assert len(twin.query_planes(normals, [INF] * (2 * ndim - 1) + [-INF])) == 0


def check_planes_that_contradict_each_other(factory: Factory, ndim: int) -> None:
    """Each plane is asked its own corner: a box that reaches across both is seen, no other."""
    twin = Twin(factory(ndim))
    rest = [0.0] * (ndim - 1), [1.0] * (ndim - 1)
    for lower, upper in ((0, 1), (0, 9), (4, 9), (1, 5), (5, 6), (2, 4), (-50, 50)):
        twin.insert([float(lower), *rest[0], float(upper), *rest[1]])
    left, right = [1.0] + [0.0] * (ndim - 1), [-1.0] + [0.0] * (ndim - 1)
    # x <= 1 and x >= 5
    assert twin.query_planes([left, right], [1.0, -5.0]).tolist() == [1, 3, 6]
    assert twin.query_planes([left, right], [-60.0, -60.0]).tolist() == []
    assert twin.query_planes([left, right], [-50.0, -50.0]).tolist() == [6]
    rng = np.random.default_rng(93)
    twin.insert(mixed_scene(rng, 200, ndim))
    for _ in range(5):
        normals = rng.normal(0, 1, (3, ndim))
        twin.query_planes(np.concatenate((normals, -normals)), rng.uniform(-9, 3, 6))


def check_frustums(factory: Factory, ndim: int) -> None:
    """Views of a large scene from within and from outside, wide and narrow, near and far."""
    rng = np.random.default_rng(94)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 2000, ndim))
    for angle in (0.02, 0.3, 1.0):
        for eye in (np.zeros(ndim), np.full(ndim, -45.0), rng.uniform(-20, 20, ndim)):
            ahead = rng.normal(0, 1, ndim)
            for depth in (3.0, 60.0):
                normals, offsets = _frustum(eye, ahead / np.linalg.norm(ahead), angle, depth)
                twin.query_planes(normals, offsets)
    twin.update(np.arange(900), mixed_scene(rng, 900, ndim, giants=()))
    twin.query_planes(normals, offsets)


def _frustum(
    eye: NDArray[np.float64], ahead: NDArray[np.float64], angle: float, depth: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return near, far and side planes of a view: normals point out of it."""
    ndim = len(eye)
    # directions across the view, of which the sides are tilted by the angle
    across = [np.array([-ahead[1], ahead[0], *[0.0] * (ndim - 2)])]
    if ndim == 3:
        across.append(np.cross(ahead, across[0]))
    sides = [s * side - angle * ahead for side in across for s in (1.0, -1.0)]
    normals = np.array([-ahead, ahead, *sides])
    offsets = normals @ eye
    offsets[0] -= 0.1
    offsets[1] += depth
    return normals, offsets


def check_planes_at_all_magnitudes(factory: Factory, ndim: int) -> None:
    """Normals and offsets from subnormal to the largest float: products and sums overflow."""
    rng = np.random.default_rng(95)
    twin = Twin(factory(ndim))
    twin.insert(mixed_boxes(rng, 100, ndim))
    twin.insert(lattice_boxes(rng, 60, ndim))
    twin.insert(lattice_boxes(rng, 20, ndim) * 1e-310)
    twin.insert([[LARGEST] * (2 * ndim), [-LARGEST] * (2 * ndim)])
    twin.insert([-LARGEST] * ndim + [LARGEST] * ndim)
    sizes = [0.0, 5e-324, 1e-310, 1e-160, 1.0, 1e9, 1e160, 1e300, LARGEST]
    for _ in range(40):
        normals = rng.choice(sizes, (2, ndim)) * rng.choice([1.0, -1.0], (2, ndim))
        normals[~normals.any(axis=1), 0] = 5e-324
        offsets = rng.choice([*sizes, INF], 2) * rng.choice([1.0, 1.0, -1.0], 2)
        twin.query_planes(normals, offsets)
        twin.query_planes(normals[:1], offsets[:1])


def check_sums_with_planes_are_compared_as_rounded(factory: Factory, ndim: int) -> None:
    """A box is within a plane when the float64 sum of its products is at most the offset."""
    rng = np.random.default_rng(96)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 150, ndim, giants=(1e4,)))
    boxes = twin.index.boxes()
    for _ in range(12):
        normal = rng.normal(0, 1, ndim) * 10.0 ** rng.integers(-3, 4)
        box = boxes[rng.integers(len(boxes))]
        exact = 0.0
        for axis in range(ndim):
            exact += normal[axis] * box[axis if normal[axis] > 0.0 else axis + ndim]
        for offset in (exact, math.nextafter(exact, INF), math.nextafter(exact, -INF)):
            twin.query_planes([normal], [offset])
            twin.query_planes([normal, -normal], [offset, 1.0 - exact])
