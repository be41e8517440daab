"""Hypothesis strategies for boxes, ids, states and questions.

They are made to hit what goes wrong: a lattice of small integers and halves, where boxes touch,
coincide and have no size; planets among bolts; coordinates that are huge, tiny, subnormal or minus
zero; ids that are dense and ids up to 2**62. Examples shrink towards small integers at the origin.

Needs hypothesis: ``pip install "spatialindex[test]"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from spatialindex.constants import ALL, BOX_DTYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hypothesis.strategies import SearchStrategy
    from numpy.typing import NDArray

__all__ = [
    "box_batches",
    "boxes",
    "coordinates",
    "directions",
    "ids",
    "limits",
    "planes",
    "points",
    "query_boxes",
    "states",
]

LARGEST = float(np.finfo(BOX_DTYPE).max)
SPECIAL = (-0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 0.1, 1e-9, 2.0**53, 1e18, 1e300, -1e300)


def coordinates() -> SearchStrategy[float]:
    """Draw one finite coordinate: mostly on a small lattice, now and then anywhere."""
    whole = st.integers(-4, 4).map(float)
    halves = st.integers(-8, 8).map(lambda k: k / 2)
    anywhere = st.floats(-LARGEST, LARGEST)
    return st.one_of(whole, halves, st.floats(-10, 10), st.sampled_from(SPECIAL), anywhere)


def points(ndim: int) -> SearchStrategy[list[float]]:
    """Draw one finite point."""
    return st.lists(coordinates(), min_size=ndim, max_size=ndim)


def boxes(ndim: int) -> SearchStrategy[list[float]]:
    """Draw one box, ``[lower …, upper …]``: lattice, point, planet, or any two corners."""
    lattice = st.lists(
        st.tuples(st.integers(-4, 4), st.integers(0, 2)), min_size=ndim, max_size=ndim
    ).map(lambda axes: [float(a) for a, _ in axes] + [float(a + size) for a, size in axes])
    point = points(ndim).map(lambda p: p + p)
    planet = st.sampled_from([50.0, 3000.0, 1e12]).map(lambda r: [-r] * ndim + [r] * ndim)
    corners = st.tuples(points(ndim), points(ndim)).map(lambda pair: _between(*pair))
    return st.one_of(lattice, lattice, corners, point, planet)


def box_batches(
    ndim: int, min_size: int = 0, max_size: int = 8
) -> SearchStrategy[NDArray[np.float64]]:
    """Draw a batch of boxes as rows of an array; equal ones are common."""
    different = st.lists(boxes(ndim), min_size=min_size, max_size=max_size)
    equal = st.tuples(boxes(ndim), st.integers(min_size, max_size)).map(lambda t: [t[0]] * t[1])
    return st.one_of(different, different, equal).map(lambda rows: _rows(rows, ndim))


def query_boxes(
    ndim: int, min_size: int = 0, max_size: int = 4
) -> SearchStrategy[NDArray[np.float64]]:
    """Draw a batch of boxes to ask with; any of their bounds may be infinite."""
    openings = st.lists(st.booleans(), min_size=2 * ndim, max_size=2 * ndim)

    def opened(drawn: tuple[list[float], list[bool]]) -> list[float]:
        box, is_open = drawn
        infinite = [-np.inf] * ndim + [np.inf] * ndim
        return [far if wide else b for b, far, wide in zip(box, infinite, is_open, strict=True)]

    one = st.one_of(boxes(ndim), st.tuples(boxes(ndim), openings).map(opened))
    rows = st.lists(one, min_size=min_size, max_size=max_size)
    return rows.map(lambda drawn: _rows(drawn, ndim))


def directions(ndim: int) -> SearchStrategy[list[float]]:
    """Draw the direction of a ray: along an axis, diagonal, or any; never all zeros."""
    usual = st.lists(
        st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0, -0.0]), min_size=ndim, max_size=ndim
    )
    return st.one_of(usual, usual, points(ndim)).filter(any)


def limits() -> SearchStrategy[float]:
    """Draw the largest distance or the last time of a question, infinity included."""
    return st.one_of(
        st.just(np.inf), st.integers(0, 8).map(lambda k: k / 2), coordinates().map(abs)
    )


def planes(ndim: int, max_size: int = 4) -> SearchStrategy[list[tuple[list[float], float]]]:
    """Draw normals with their offsets; offsets may be infinite."""
    offsets = st.one_of(coordinates(), st.sampled_from([np.inf, -np.inf]))
    return st.lists(st.tuples(directions(ndim), offsets), max_size=max_size)


def ids(taken: Iterable[int] = ()) -> SearchStrategy[int]:
    """Draw an id that is not among those `taken`: dense small ones, and sparse ones to 2**62."""
    known = set(taken)
    return st.one_of(st.integers(0, 40), st.integers(0, 2**62)).filter(lambda i: i not in known)


def states() -> SearchStrategy[dict[str, Any]]:
    """Draw keyword arguments of `insert`, for one object or, as scalars, for all of a batch."""
    return st.fixed_dictionaries(
        {},
        optional={
            "layer": _bits((1, 0, 2, 3, 2**63, ALL)),
            "mask": _bits((ALL, 0, 1, 2, 2**63 + 1)),
            "static": st.booleans(),
            "asleep": st.booleans(),
            "sensor": st.booleans(),
        },
    )


def _bits(usual: Sequence[int]) -> SearchStrategy[int]:
    return st.one_of(st.sampled_from(usual), st.integers(0, ALL))


def _between(a: list[float], b: list[float]) -> list[float]:
    """Return the box of which `a` and `b` are opposite corners."""
    lower = [min(x, y) for x, y in zip(a, b, strict=True)]
    return lower + [max(x, y) for x, y in zip(a, b, strict=True)]


def _rows(rows: list[list[float]], ndim: int) -> NDArray[np.float64]:
    return np.array(rows, BOX_DTYPE).reshape(-1, 2 * ndim)
