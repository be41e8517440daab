"""What rays meet and when: hard directions, hard starts, the last time, ties, many objects."""

from __future__ import annotations

import math
from itertools import permutations, product
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.testing.samples import (
    aimed_rays,
    lattice_boxes,
    mixed_boxes,
    mixed_scene,
    sparse_ids,
)
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from spatialindex.testing.twin import Factory

INF = math.inf
LARGEST = float(np.finfo(np.float64).max)
TINY = 5e-324

RAYS = [
    # origin, direction, and when it meets the box from -1 to 1
    ((-3.0, 0.0), (1.0, 0.0), 2.0),
    ((-3.0, 0.0), (4.0, 0.0), 0.5),  # directions are not normalised
    ((-3.0, 0.0), (-1.0, 0.0), INF),  # behind the origin
    ((-3.0, 2.0), (1.0, 0.0), INF),
    ((0.0, 0.5), (1.0, 3.0), 0.0),  # from inside
    ((-1.0, 0.0), (1.0, 0.0), 0.0),  # from a face, inward and outward
    ((1.0, 0.0), (1.0, 0.0), 0.0),
    ((1.0, 1.0), (1.0, 1.0), 0.0),  # from a corner, outward
    ((-3.0, 1.0), (1.0, 0.0), 2.0),  # in a face plane
    ((-3.0, 1.0), (1.0, -0.0), 2.0),
    ((0.5, 1.0), (1.0, 0.0), 0.0),
    ((2.0, 1.0), (1.0, 0.0), INF),
    ((-3.0, math.nextafter(1.0, 2.0)), (1.0, 0.0), INF),  # as near to one as can be
    ((-3.0, -3.0), (1.0, 1.0), 2.0),  # through a corner, along the diagonal
    ((-1.0, 3.0), (1.0, -1.0), 2.0),  # through a corner and nothing else
    ((-2.0, 4.0), (0.5, -0.5), 6.0),
    ((-1.0, math.nextafter(3.0, 4.0)), (1.0, -1.0), INF),
    ((-3.0, 0.0), (TINY, 0.0), INF),  # later than any float
    ((-3.0, 0.0), (TINY, 1.0), INF),
    ((-3.0, 0.0), (1e-300, 0.0), 2.0 / 1e-300),
    ((-3.0, 0.0), (1e300, TINY), 2.0 / 1e300),
    ((-LARGEST, 0.0), (LARGEST, 0.0), 1.0),
    ((-LARGEST, -LARGEST), (LARGEST, LARGEST), 1.0),
    ((-LARGEST, 0.0), (1.0, 0.0), LARGEST),
]


def check_rays_against_one_box(factory: Factory, ndim: int) -> None:
    """Known times of hard rays at one box, along every axis, mirrored and not.

    Parallel to an axis, from inside, from a face, in a face plane, through a corner and just
    beside it, with minus zero, subnormal and huge directions; with the last time at the hit, and
    one float before it.
    """
    twin = Twin(factory(ndim))
    here = twin.insert([-1.0] * ndim + [1.0] * ndim)
    places, ways, times = (np.array(column) for column in zip(*RAYS, strict=True))
    for axes in permutations(range(ndim), 2):
        for signs in product((1.0, -1.0), repeat=2):
            origins, directions = np.zeros((2, len(RAYS), ndim))
            origins[:, axes], directions[:, axes] = places * signs, ways * signs
            ids, t = twin.raycast(origins, directions)
            twin.raycast_all(origins, directions)
            for row, when in enumerate(times.tolist()):
                ray = origins[row].tolist(), directions[row].tolist()
                assert t[row] == when, f"ray {ray}: t is {t[row]}, expected {when}"
                assert ids[row] == (-1 if when == INF else here)
                if when < INF:
                    assert twin.raycast(*ray, max_t=when) == (here, when)
                if 0.0 < when < INF:
                    before = math.nextafter(when, 0.0)
                    assert twin.raycast(*ray, max_t=before) == (-1, INF)
                    twin.raycast_all(*ray, max_t=before)


def check_rays_on_a_lattice(factory: Factory, ndim: int) -> None:
    """Rays between corners, edges and faces of boxes that touch and coincide."""
    rng = np.random.default_rng(61)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 150, ndim), sparse_ids(rng, 150))
    origins, directions = aimed_rays(rng, twin.index.boxes(), 80)
    for max_t in (INF, 0.0, 0.5, 1.0, 7.0):
        twin.raycast(origins, directions, max_t=max_t)
        assert len(twin.raycast_all(origins, directions, max_t=max_t)[1]) > 0
    for origin, direction in zip(origins[:10], directions[:10], strict=True):
        twin.raycast(origin, direction)
        twin.raycast_all(origin, direction)


def check_last_times_are_compared_as_rounded(factory: Factory, ndim: int) -> None:
    """An object is met when the float64 time is at most `max_t`: at it, and a float before it."""
    rng = np.random.default_rng(62)
    twin = Twin(factory(ndim))
    twin.insert(mixed_scene(rng, 120, ndim, giants=()))
    rays = aimed_rays(rng, twin.index.boxes(), 30)
    rows, t = twin.raycast_all(*rays)
    for row in range(30):
        times = t[rows[:, 0] == row]
        for when in times[times > 0.0][::7].tolist():
            for max_t in (when, math.nextafter(when, 0.0), math.nextafter(when, INF)):
                twin.raycast_all(rays[0][row], rays[1][row], max_t=max_t)
                twin.raycast(rays[0][row], rays[1][row], max_t=max_t)
    # one last time a ray
    last = rng.choice([0.0, TINY, 0.25, 1.0, 3.0, INF], 30)
    twin.raycast_all(*rays, max_t=last)
    twin.raycast(*rays, max_t=last)


def check_rays_from_far_away(factory: Factory, ndim: int) -> None:
    """From origins up to the largest float, where differences of coordinates overflow."""
    rng = np.random.default_rng(63)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 60, ndim))
    far = LARGEST
    twin.insert([[far] * (2 * ndim), [-far] * (2 * ndim), [-far] * ndim + [far] * ndim])
    twin.insert([far / 2] * ndim + [far] * ndim)
    targets = twin.index.boxes()[::3, :ndim]
    for distance in (1e3, 1e9, 2.0**53, 1e18, 1e160, 1e300, far):
        for direction in (np.eye(ndim)[0], np.ones(ndim), -np.eye(ndim)[ndim - 1]):
            with np.errstate(over="ignore"):
                origins = np.clip(targets - direction * distance, -far, far)
            for length in (1.0, distance, TINY, far):
                ways = np.broadcast_to(direction * length, origins.shape)
                twin.raycast(origins, ways)
                twin.raycast_all(origins, ways, max_t=distance)
                twin.raycast(origins, ways, max_t=1.0)


def check_rays_of_any_length(factory: Factory, ndim: int) -> None:
    """Directions from subnormal to the largest float, the axes of different magnitude."""
    rng = np.random.default_rng(64)
    lengths = [0.0, -0.0, TINY, 1e-310, 1e-160, 1.0, 1e160, LARGEST]
    for scale in (TINY, 1e-300, 1.0, 1e300):
        twin = Twin(factory(ndim))
        twin.insert(lattice_boxes(rng, 80, ndim) * 2.0 * scale)
        directions = rng.choice(lengths, (60, ndim)) * rng.choice([1.0, -1.0], (60, ndim))
        directions = directions[directions.any(axis=1)]
        origins = twin.index.boxes()[: len(directions), :ndim]
        origins = origins + rng.integers(-3, 4, origins.shape) * scale
        ways = directions[: len(origins)]
        for max_t in (INF, 1.0, 1e300, 1e-300):
            twin.raycast(origins, ways, max_t=max_t)
            twin.raycast_all(origins, ways, max_t=max_t)


def check_rays_meet_boxes_without_size(factory: Factory, ndim: int) -> None:
    """Points, segments and plates are met exactly: from them, along them, through them."""
    twin = Twin(factory(ndim))
    places = np.array(list(product((0.0, 1.0, 2.0), repeat=ndim)))
    twin.insert(np.concatenate((places, places), axis=1))
    segments = np.concatenate((places, places), axis=1)
    segments[:, 2 * ndim - 1] += 1.0
    twin.insert(segments)
    plates = segments.copy()
    plates[:, ndim] += 1.0
    twin.insert(plates)
    axes = np.concatenate((np.eye(ndim), -np.eye(ndim), [np.ones(ndim)]))
    for direction in axes:
        for back in (0.0, 2.0, -0.5):
            ways = np.broadcast_to(direction, places.shape)
            twin.raycast(places - back * direction, ways)
            twin.raycast_all(places - back * direction, ways)
    ids, t = twin.raycast([-3.0] * ndim, [1.0] * ndim)
    assert (ids, t) == (0, 3.0), "the point at the origin is the first on the diagonal"


def check_hits_at_the_same_time_go_by_id(factory: Factory, ndim: int) -> None:
    """Of boxes that a ray or a box meets at once the one of the lowest id is the first."""
    rng = np.random.default_rng(65)
    ids = sparse_ids(rng, 300)
    twin = Twin(factory(ndim))
    box = np.array([1.0] * ndim + [2.0] * ndim)
    # a wall of boxes that begin at x = 1 and are wide enough to be met together
    boxes = np.repeat(box[None], 300, axis=0)
    boxes[:, 1:ndim] -= rng.integers(0, 3, (300, ndim - 1))
    boxes[:, ndim:] += rng.integers(0, 40, (300, ndim))
    twin.insert(boxes, ids)
    origin, direction = [-1.0] + [1.5] * (ndim - 1), [2.0] + [0.0] * (ndim - 1)
    for gone in np.sort(ids)[:5].tolist():
        assert twin.raycast(origin, direction) == (gone, 1.0)
        assert twin.boxcast([*origin, 0.0, *origin[1:]], direction) == (gone, 0.5)
        twin.raycast_all(origin, direction)
        twin.boxcast_all([*origin, *origin], direction)
        twin.remove(gone)
    twin.update(None, twin.index.boxes() - 3.0)
    twin.raycast(origin, direction)
    twin.raycast_all(origin, direction)


def check_rays_in_a_large_scene(factory: Factory, ndim: int) -> None:
    """Two hundred long and short rays through two thousand boxes, with giants seen and unseen."""
    rng = np.random.default_rng(66)
    twin = Twin(factory(ndim))
    boxes = mixed_scene(rng, 2000, ndim)
    is_giant = (boxes[:, ndim] - boxes[:, 0]) > 20.0
    twin.insert(boxes, layer=np.where(is_giant, 2, 1))
    origins, directions = aimed_rays(rng, boxes[~is_giant], 200)
    # from all around, across everything
    origins[:60] = rng.uniform(-60, 60, (60, ndim))
    directions[:60] = -origins[:60]
    for layers in (3, 1):
        twin.raycast_all(origins, directions, max_t=1.0, layers=layers)
        twin.raycast(origins, directions, layers=layers)
        twin.raycast(origins, directions, layers=layers, max_t=0.125)
    twin.raycast_all(origins[:40], directions[:40], layers=1)
    # most of them move, and some far away
    some = rng.choice(2000, 900, replace=False)
    twin.update(some, mixed_scene(rng, 900, ndim, giants=()))
    twin.update(some[:9], boxes[some[:9]] + 1e7)
    twin.raycast(origins, directions, layers=1)
    twin.raycast(boxes[some[:9], :ndim], np.ones((9, ndim)))


def check_rays_among_all_magnitudes(factory: Factory, ndim: int) -> None:
    """Boxes of nine orders of magnitude, some of them very far out."""
    rng = np.random.default_rng(67)
    twin = Twin(factory(ndim))
    twin.insert(mixed_boxes(rng, 250, ndim))
    rays = aimed_rays(rng, twin.index.boxes(), 80)
    for max_t in (INF, 1.0, 1e-3):
        twin.raycast(*rays, max_t=max_t)
        twin.raycast_all(*rays, max_t=max_t)
