"""What answers and statistics look like.

A relation is an ``(m, 2)`` int64 array and needs no class; where there are distances or times
beside it, the two are a named tuple. Statistics have the same names for every structure, so that a
table can hold them side by side.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Hits", "IndexStats", "Neighbors", "PairCounts", "RayHits", "StructureStats"]


class Neighbors(NamedTuple):
    """The nearest objects of each point, nearest first, equal distances by ascending id."""

    ids: NDArray[np.int64]
    """``(q, k)``, or ``(k,)`` for one point; -1 where there are no more."""
    distances: NDArray[np.float64]
    """Of the same shape: from the point to the closed box, 0 inside; inf where there is none."""


class RayHits(NamedTuple):
    """What each ray or moving box meets first; at equal times, the lowest id."""

    ids: Any
    """int64 ``(q,)``, or an int for one; -1 for nothing."""
    t: Any
    """float64 ``(q,)``, or a float for one: when, in lengths of the direction; inf for nothing."""


class Hits(NamedTuple):
    """All that each ray or moving box meets: by row, then time, then id."""

    rows: NDArray[np.int64]
    """``(m, 2)`` rows (row of the input, id), or for one ray just the ids, ``(n,)``."""
    t: NDArray[np.float64]
    """``(m,)`` or ``(n,)``: when each is met first, in lengths of the direction."""


class StructureStats(NamedTuple):
    """What a structure holds at the moment."""

    entries: int
    """Memberships, wide objects apart."""
    buckets: int
    """Occupied cells or nodes."""
    max_bucket: int
    """Memberships of the fullest bucket."""
    wide: int = 0
    """Objects scanned apart because they cover too much of the structure."""
    rebuilds: int = 0
    """Times the whole structure was built since it was made."""
    quality: float | None = None
    """Cost now over the cost after the last build, for structures that decay."""


class PairCounts(NamedTuple):
    """The work and the outcome of one `pairs` call from scratch."""

    visits: int = 0
    """Pairs met, repeats included."""
    candidates: int = 0
    """Distinct pairs met."""
    pairs: int = 0
    """Pairs reported."""
    masked: int = 0
    """Overlapping pairs left out by layer and mask or by the ``sensors`` option."""
    resting: int = 0
    """Overlapping pairs left out because of static or sleeping members."""


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Statistics of an index; the same names for every structure.

    The pair counters (`visits` to `resting`) tell what a `pairs` call with the options of the last
    one meets in the present content; before the first call they are zero.
    """

    objects: int
    """Objects in the index."""
    entries: int
    """Memberships in buckets, wide objects apart."""
    buckets: int
    """Occupied cells or nodes."""
    mean_bucket: float
    """Memberships an occupied bucket."""
    max_bucket: int
    """Memberships of the fullest bucket."""
    wide: int
    """Objects scanned apart because they cover too much of the structure."""
    visits: int
    """Pairs met, repeats included."""
    candidates: int
    """Distinct pairs met."""
    pairs: int
    """Pairs reported."""
    masked: int
    """Overlapping pairs left out by layer and mask or by the ``sensors`` option."""
    resting: int
    """Overlapping pairs left out because of static or sleeping members."""
    nbytes: int
    """Memory of the index, its object table included."""
    rebuilds: int
    """Times the whole structure was built since it was made."""
    quality: float | None
    """Cost now over the cost after the last build, for structures that decay."""

    def as_dict(self) -> dict[str, int | float | None]:
        """Return the figures by name, for tables and JSON."""
        return asdict(self)
