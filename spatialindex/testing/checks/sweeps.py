"""What moving boxes touch and when: at the start, sliding along, far away, of any size."""

from __future__ import annotations

import math
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.testing.answers import assert_same
from spatialindex.testing.samples import aimed_rays, lattice_boxes, mixed_boxes, mixed_scene
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from spatialindex.testing.twin import Factory

INF = math.inf
LARGEST = float(np.finfo(np.float64).max)

CASTS = [
    # place of the box from 0 to 1, motion, and when it touches the box from -1 to 1
    ((0.5, 0.5), (0.0, 0.0), 0.0),  # no motion: what it touches where it is
    ((1.0, 0.0), (0.0, 0.0), 0.0),
    ((1.0, 1.0), (0.0, -0.0), 0.0),
    ((2.0, 0.0), (0.0, 0.0), INF),
    ((math.nextafter(1.0, 2.0), 0.0), (0.0, 0.0), INF),
    ((1.0, 0.0), (1.0, 0.0), 0.0),  # touches at the start, and leaves
    ((1.0, 1.0), (4.0, 4.0), 0.0),
    ((3.0, 0.0), (-4.0, 0.0), 0.5),
    ((3.0, 0.0), (-2.0, 0.0), 1.0),  # at the end of its motion
    ((3.0, 0.0), (-1.9375, 0.0), INF),  # stops short
    ((3.0, 0.0), (4.0, 0.0), INF),
    ((3.0, 1.0), (-8.0, 0.0), 0.25),  # slides along a face
    ((3.0, -2.0), (-8.0, 0.0), 0.25),
    ((3.0, math.nextafter(1.0, 2.0)), (-8.0, 0.0), INF),
    ((3.0, 3.0), (-4.0, -4.0), 0.5),  # corner to corner
    ((3.0, -2.0), (-4.0, -4.0), INF),
    ((3.0, 5.0), (-4.0, -8.0), 0.5),
    ((1e300, 0.0), (-1e300, 0.0), 1.0),
    ((LARGEST, LARGEST), (-LARGEST, -LARGEST), 1.0),
]


def check_box_casts_against_one_box(factory: Factory, ndim: int) -> None:
    """Known times of touching at the start, sliding, stopping short, along every axis.

    A motion of zero asks where the box is; a motion of `t` times its length has its time there.
    """
    twin = Twin(factory(ndim))
    here = twin.insert([-1.0] * ndim + [1.0] * ndim)
    places, ways, times = (np.array(column) for column in zip(*CASTS, strict=True))
    for axes in permutations(range(ndim), 2):
        for signs in product((1.0, -1.0), repeat=2):
            near, motions = np.zeros((2, len(CASTS), ndim))
            near[:, axes], motions[:, axes] = places * signs, ways * signs
            far = near.copy()
            far[:, axes] += signs
            rows = np.concatenate((np.minimum(near, far), np.maximum(near, far)), axis=1)
            ids, t = twin.boxcast(rows, motions)
            twin.boxcast_all(rows, motions)
            for row, when in enumerate(times.tolist()):
                cast = rows[row].tolist(), motions[row].tolist()
                assert t[row] == when, f"box cast {cast}: t is {t[row]}, expected {when}"
                assert ids[row] == (-1 if when == INF else here)
                twin.boxcast(*cast)
                twin.boxcast_all(*cast)


def check_a_cast_without_motion_is_a_query(factory: Factory, ndim: int) -> None:
    """A box that does not move touches at time 0 what a query of it finds."""
    rng = np.random.default_rng(71)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 120, ndim))
    twin.insert(mixed_boxes(rng, 60, ndim))
    asked = np.concatenate((lattice_boxes(rng, 40, ndim), mixed_boxes(rng, 20, ndim)))
    for zero in (0.0, -0.0):
        rows, t = twin.boxcast_all(asked, np.full((60, ndim), zero))
        assert_same(rows, twin.query(asked), "boxcast_all() without motion, as query() has it")
        assert not t.any()
        twin.boxcast(asked, np.full((60, ndim), zero))


def check_a_box_without_size_is_cast_as_a_ray(factory: Factory, ndim: int) -> None:
    """A point moved is a ray that ends at t = 1."""
    rng = np.random.default_rng(72)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 120, ndim))
    origins, directions = aimed_rays(rng, twin.index.boxes(), 60)
    points = np.concatenate((origins, origins), axis=1)
    for one, other in zip(
        twin.boxcast_all(points, directions),
        twin.raycast_all(origins, directions, max_t=1.0),
        strict=True,
    ):
        assert_same(one, other, "boxcast_all() of points, as raycast_all() has it")


def check_box_casts_of_any_size(factory: Factory, ndim: int) -> None:
    """From points to boxes around everything, moved by nothing to across everything."""
    rng = np.random.default_rng(73)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 200, ndim))
    starts, motions = aimed_rays(rng, twin.index.boxes(), 60)
    for size in (0.0, 1e-9, 0.5, 8.0, 100.0, 1e6):
        boxes = np.concatenate((starts, starts + size * rng.integers(0, 2, (60, ndim))), axis=1)
        for length in (0.0, 0.25, 1.0, 1e3, 1e12):
            twin.boxcast(boxes, motions * length)
        twin.boxcast_all(boxes, motions)
        twin.boxcast_all(boxes[::5], motions[::5] * 1e12)


def check_box_casts_of_huge_and_tiny_motions(factory: Factory, ndim: int) -> None:
    """Motions from subnormal to the largest float, whose ends overflow, of boxes anywhere."""
    rng = np.random.default_rng(74)
    twin = Twin(factory(ndim))
    twin.insert(mixed_boxes(rng, 150, ndim))
    twin.insert(lattice_boxes(rng, 50, ndim))
    twin.insert([-LARGEST] * ndim + [LARGEST] * ndim)
    twin.insert([[LARGEST] * (2 * ndim), [-LARGEST] * (2 * ndim)])
    asked = twin.index.boxes()[::3]
    lengths = [0.0, -0.0, 5e-324, 1e-300, 1.0, 1e9, 1e300, LARGEST]
    for _ in range(4):
        motions = rng.choice(lengths, (len(asked), ndim)) * rng.choice([1, -1], (len(asked), ndim))
        twin.boxcast(asked, motions)
        twin.boxcast_all(asked, motions)


def check_box_casts_in_a_large_scene(factory: Factory, ndim: int) -> None:
    """Two hundred moving boxes among two thousand, with giants seen and unseen."""
    rng = np.random.default_rng(75)
    twin = Twin(factory(ndim))
    boxes = mixed_scene(rng, 2000, ndim)
    is_giant = (boxes[:, ndim] - boxes[:, 0]) > 20.0
    twin.insert(boxes, layer=np.where(is_giant, 2, 1))
    starts, motions = aimed_rays(rng, boxes[~is_giant], 200)
    asked = np.concatenate((starts, starts + rng.uniform(0, 2, (200, ndim))), axis=1)
    for layers in (3, 1):
        twin.boxcast(asked, motions, layers=layers)
        twin.boxcast_all(asked, motions, layers=layers)
    some = rng.choice(2000, 900, replace=False)
    twin.update(some, mixed_scene(rng, 900, ndim, giants=()))
    twin.remove(some[:100])
    twin.boxcast(asked, motions * 8.0, layers=1)
