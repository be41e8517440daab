"""What meets what: closed intervals, boxes without size, predicates, infinity, huge and tiny."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from spatialindex import oracle
from spatialindex.constants import PREDICATES
from spatialindex.testing.samples import lattice_boxes, mixed_boxes, with_infinite_bounds
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from spatialindex.testing.twin import Factory

INF = math.inf
LARGEST = float(np.finfo(np.float64).max)


def check_touching_boxes_meet(factory: Factory, ndim: int) -> None:
    """A face, an edge or a corner in common is an overlap; one step of a float away is none.

    Around a box are put boxes that touch it in each of the 8 or 26 directions, at sizes and places
    where no cell or node boundary is likely to coincide with the contact, and where all do.
    """
    directions = [d for d in product((-1, 0, 1), repeat=ndim) if any(d)]
    for at, size in ((0.0, 1.0), (0.0, 2.0), (-3.5, 0.3), (0.1, 0.7), (1e6, 1.0), (-1e-3, 1e-6)):
        box = np.array([at] * ndim + [at + size] * ndim)
        touching, apart = [], []
        for direction in directions:
            lower, upper = box[:ndim].copy(), box[ndim:].copy()
            gap = [lower.copy(), upper.copy()]
            for axis, way in enumerate(direction):
                if way > 0:
                    lower[axis], upper[axis] = box[ndim + axis], box[ndim + axis] + size
                    gap[0][axis], gap[1][axis] = math.nextafter(lower[axis], INF), upper[axis]
                elif way < 0:
                    lower[axis], upper[axis] = box[axis] - size, box[axis]
                    gap[0][axis], gap[1][axis] = lower[axis], math.nextafter(upper[axis], -INF)
            touching.append([*lower, *upper])
            apart.append([*gap[0], *gap[1]])
        twin = Twin(factory(ndim))
        center = twin.insert(box)
        touch_ids, apart_ids = twin.insert(touching), twin.insert(apart)
        found = twin.query(box)
        assert set(touch_ids) <= set(found), "a box that touches was not found"
        assert not set(apart_ids) & set(found), "a box that does not touch was found"
        partners = {tuple(row) for row in twin.pairs() if center in row}
        assert partners == {(center, i) for i in touch_ids}
        twin.check()


def check_boxes_without_size(factory: Factory, ndim: int) -> None:
    """Points, segments and plates are boxes: inside, on a face, on a corner, on each other."""
    twin = Twin(factory(ndim))
    twin.insert([0.0] * ndim + [2.0] * ndim)
    places = [list(map(float, place)) for place in product((0, 1, 2, 3), repeat=ndim)]
    twin.insert([place + place for place in places])
    flat = [[0.0, *place[1:], 3.0, *place[1:]] for place in places]
    twin.insert(flat)
    twin.insert([places[0] + places[0]] * 3)
    twin.query_point(places)
    twin.query_radius(places, 0.0)
    twin.query_radius(places, 1.0)
    twin.check()


def check_minus_zero(factory: Factory, ndim: int) -> None:
    """-0.0 equals 0.0, and comes back as it was stored."""
    twin = Twin(factory(ndim))
    twin.insert([-0.0] * ndim + [0.0] * ndim)
    twin.insert([0.0] * ndim + [-0.0] * ndim)
    twin.insert([-1.0] * ndim + [-0.0] * ndim)
    twin.insert([0.0] * ndim + [1.0] * ndim)
    assert len(twin.pairs()) == 6
    twin.query([-0.0] * (2 * ndim))
    twin.query_point([-0.0] * ndim)
    twin.check()


def check_predicates(factory: Factory, ndim: int) -> None:
    """Intersects, inside and encloses, with borders in common."""
    rng = np.random.default_rng(11)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 200, ndim))
    asked = np.concatenate((lattice_boxes(rng, 50, ndim), twin.index.boxes()[:20]))
    asked[:10, ndim:] += 2.0
    for predicate in PREDICATES:
        found = twin.query(asked, predicate=predicate)
        assert len(found) > 0
        twin.count(asked, predicate=predicate)
        for row in asked[::9]:
            twin.query(row, predicate=predicate)
            twin.count(row, predicate=predicate)


def check_infinite_query_bounds(factory: Factory, ndim: int) -> None:
    """Bounds of a question may be infinite: half-spaces, slabs, all of space."""
    rng = np.random.default_rng(12)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 100, ndim))
    twin.insert(mixed_boxes(rng, 100, ndim))
    asked = with_infinite_bounds(rng, lattice_boxes(rng, 40, ndim))
    # a bound may be infinite on the wrong side, too: nothing lies there
    asked[0, 0], asked[0, ndim] = INF, INF
    asked[1, 0], asked[1, ndim] = -INF, -INF
    for predicate in PREDICATES:
        twin.query(asked, predicate=predicate)
        twin.count(asked, predicate=predicate)
        for row in asked[:: len(asked) - 1]:
            twin.query(row, predicate=predicate)
            twin.count(row, predicate=predicate)
    twin.join(asked)
    everything = twin.query(asked[-1])
    assert everything.tolist() == twin.index.ids.tolist()
    twin.query_radius(asked[2:, :ndim][np.isfinite(asked[2:, :ndim]).all(axis=1)], INF)


def check_huge_and_tiny_coordinates(factory: Factory, ndim: int) -> None:
    """From subnormal to the largest float: nothing overflows into a wrong answer."""
    twin = Twin(factory(ndim))
    for scale in (5e-324, 1e-310, 1e-160, 1e-9, 1e9, 2.0**53, 1e160, 1e300, LARGEST / 4):
        steps = np.array([[-2.0], [-1.0], [0.0], [1.0]])
        lower = np.repeat(steps, ndim, axis=1) * scale
        twin.insert(np.concatenate((lower, lower + scale), axis=1))
    far = [-LARGEST] * ndim + [LARGEST] * ndim
    twin.insert([far, far, [LARGEST] * (2 * ndim), [-LARGEST] * (2 * ndim)])
    twin.insert([LARGEST, *[0.0] * (ndim - 1), LARGEST, *[1.0] * (ndim - 1)])
    twin.check()
    for radius in (0.0, 5e-324, 1e-160, 1.0, 1e200, LARGEST, INF):
        twin.query_radius(twin.index.boxes()[:, :ndim], radius)
        twin.query_radius([0.0] * ndim, radius)


def check_one_box_of_any_size(factory: Factory, ndim: int) -> None:
    """A single box, from which a structure may choose its own sizes, from a point to all there is.

    1.7976931348622453e308 is an edge whose logarithm rounds up to that of an infinite one.
    """
    edges = [0.0, 5e-324, 1e-300, 1.0, 1e300, 1.7976931348622453e308, LARGEST]
    for edge in edges:
        for axis in range(ndim):
            flat, cube = [0.0] * (2 * ndim), [0.0] * ndim + [edge] * ndim
            flat[ndim + axis] = edge
            for box in (flat, cube, [-edge] * ndim + [edge] * ndim):
                twin = Twin(factory(ndim))
                twin.insert(box)
                twin.check()
                twin.insert(box[ndim:] + box[ndim:])
                twin.rebuild()
                twin.check()


def check_distances_are_compared_as_rounded(factory: Factory, ndim: int) -> None:
    """An object is within the radius when the float64 distance is at most the radius."""
    rng = np.random.default_rng(13)
    twin = Twin(factory(ndim))
    twin.insert(mixed_boxes(rng, 60, ndim))
    twin.insert(lattice_boxes(rng, 60, ndim))
    boxes = twin.index.boxes()
    centers = rng.normal(0, 20, (25, ndim))
    for center in centers:
        # exactly the distance of an object, and the floats next to it
        exact = float(oracle.distances(center, boxes[rng.integers(len(boxes))]))
        for radius in (exact, math.nextafter(exact, 0.0), math.nextafter(exact, INF)):
            twin.query_radius(center, radius)
    # a center from which the distance rounds down to the radius
    twin.insert([1.0, *[0.0] * (ndim - 1), 2.0, *[0.0] * (ndim - 1)], 900)
    assert 900 in twin.query_radius([-(2.0**-53), *[0.0] * (ndim - 1)], 1.0)
    assert 900 not in twin.query_radius([-(2.0**-52), *[0.0] * (ndim - 1)], 1.0)


def check_everything_at_one_point(factory: Factory, ndim: int) -> None:
    """Many equal boxes, with and without size: every pair once, no limit that drops any."""
    for size in (0.0, 1.0):
        twin = Twin(factory(ndim))
        twin.insert(np.repeat([[3.0] * ndim + [3.0 + size] * ndim], 300, axis=0))
        assert len(twin.pairs()) == 300 * 299 // 2
        twin.query_point([[3.0] * ndim, [2.0] * ndim])
        twin.update(None, np.repeat([[-1.0] * (2 * ndim)], 300, axis=0))
        twin.count([-1.0] * (2 * ndim))
        twin.remove(np.arange(0, 300, 2))
        twin.check()


def check_planet_among_bolts(factory: Factory, ndim: int) -> None:
    """Three orders of magnitude of sizes and more in one scene, at rest and moving."""
    rng = np.random.default_rng(14)
    twin = Twin(factory(ndim))
    lower = rng.uniform(-500, 500, (400, ndim))
    twin.insert(np.concatenate((lower, lower + rng.uniform(0, 2, (400, ndim))), axis=1))
    planets = twin.insert([[-r] * ndim + [r] * ndim for r in (600.0, 5e4, 1e9, 1e300)])
    twin.check()
    for planet in planets:
        twin.update(planet, [-1.0] * ndim + [400.0] * ndim)
        twin.pairs()
        twin.update(planet, [-1e12] * ndim + [-2e3] * ndim)
    twin.check()
    bolts = twin.index.ids[:400]
    twin.update(bolts[0], [-1e6] * ndim + [1e6] * ndim)
    twin.check()
