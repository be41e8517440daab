"""The oracle: what every answer is, in plain NumPy, without any structure.

Conformance tests and comparisons hold the answers of structures against this package. It shares no
code with the kernels, keeps nothing between calls and is written to be read, not to be fast. Boxes
are rows ``[lower_0 … lower_{d-1}, upper_0 … upper_{d-1}]`` of float64, closed, and two of them
overlap when ``lower_a <= upper_b`` and ``lower_b <= upper_a`` on every axis::

    a = [0, 0, 2, 1]      0 <= 2 and 2 <= 2   on x: they share x = 2
    b = [2, 0, 3, 1]      0 <= 1 and 0 <= 1   on y: they share all of y
                          so (a, b) is a pair: touching counts

Who meets whom is found in one of two ways. *Brute force* asks all of each other, in blocks that
bound the memory. *Sorted* sorts the lower bounds on one axis; the boxes that begin inside another's
extent are a contiguous run of that order, found by `numpy.searchsorted`. Two extents meet exactly
when one of them begins inside the other, so both ways meet the same pairs, and the decision on the
remaining axes is the same. The tests hold the one against the other.

`deciding` holds what one answer is, `meeting` how those who may meet are found, `relations` and
`ordered` whole answers: sets, and those with an order of their own.

It takes its arguments to be checked already; `spatialindex.boxes` and the index are the doors.
"""

from __future__ import annotations

from spatialindex.oracle.deciding import (
    cast_times,
    default_state,
    distances,
    encloses,
    overlaps,
    passes,
    seen,
    within_planes,
)
from spatialindex.oracle.ordered import boxcast, boxcast_all, nearest, raycast, raycast_all
from spatialindex.oracle.relations import (
    bounds,
    count,
    join,
    pairs,
    query,
    query_planes,
    query_radius,
)

__all__ = [
    "bounds",
    "boxcast",
    "boxcast_all",
    "cast_times",
    "count",
    "default_state",
    "distances",
    "encloses",
    "join",
    "nearest",
    "overlaps",
    "pairs",
    "passes",
    "query",
    "query_planes",
    "query_radius",
    "raycast",
    "raycast_all",
    "seen",
    "within_planes",
]
