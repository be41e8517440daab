"""The two interfaces that everything follows from, and how parameters are declared.

`Index` is public and speaks *ids*: it owns the objects, checks input and puts answers into their
canonical order. It is written once, in `spatialindex.index`, around any structure.

`Structure` is the extension point and speaks *slots*, the rows of an `ObjectTable` that it reads
but does not own. It decides nothing about meaning: which pairs count, what a question sees and how
a distance is computed are arguments, shared by all structures.

A worked example: ``index.update([7], box)`` finds id 7 in slot 3 of the table, writes the box there
and notes "slot 3 moved". The next ``index.pairs()`` hands ``Changes(moved=[3])`` to the structure,
asks it for the pairs of slots, maps them to ids and sorts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from spatialindex.changes import Changes
from spatialindex.constants import ALL, MAX_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from spatialindex.objects import ObjectTable
    from spatialindex.outlines import Outlines
    from spatialindex.results import (
        Hits,
        IndexStats,
        Neighbors,
        PairCounts,
        RayHits,
        StructureStats,
    )

__all__ = [
    "Among",
    "Changes",
    "Index",
    "Parameter",
    "Predicate",
    "Region",
    "Sensors",
    "Single",
    "Structure",
]

Among = Literal["active", "dynamic", "all"]
Sensors = Literal["include", "exclude", "only"]
Predicate = Literal["intersects", "inside", "encloses"]


@dataclass(frozen=True)
class Parameter:
    """A declared parameter of a structure: what the command line, tuning and docs show of it."""

    name: str
    """Keyword of the class, and attribute of its objects."""
    default: Any
    """Value when it is not given."""
    summary: str
    """One sentence for people."""
    choices: tuple[str, ...] = ()
    """Legal values of a word; empty for numbers."""
    tunable: tuple[float, float] | None = None
    """Factors of the usual value between which tuning looks; None: not a thing to tune. The usual
    value is the default. A default of None stands for a length, 1.75 times the mean extent."""
    scale: Literal["real", "whole", "doubling"] = "real"
    """Which values make a difference: all, whole numbers, or powers of two."""


class Region(NamedTuple):
    """A batch of `q` regions, asked of a structure.

    `cull` says where to look and `exact` decides, so that a structure that walks `cull` and decides
    with `spatialindex.kernels.decide.accepts` is right for every kind of question, those to come
    included.
    """

    kind: int
    """`decide.INTERSECTS`, `INSIDE`, `ENCLOSES`, `RADIUS`, `PLANES` or `CAST`."""
    cull: NDArray[np.float64]
    """``(q, 2*ndim)``: boxes that every accepted object touches; bounds may be infinite."""
    exact: NDArray[np.float64]
    """``(q, k)``: what decides. The box itself; center and radius; planes one after the other, each
    normal and offset; or for a cast the box at time 0, its motion in a unit of time and the last
    time, where a ray is a box without size."""
    layers: int
    """Objects with ``layer & layers == 0`` are not seen."""


class Single(NamedTuple):
    """How a structure answers one box with a kernel of few arguments.

    A structure may have a method ``single() -> Single | None``; without it one box is asked as a
    batch of one. ``kernel(*state, box, out, dim)`` writes ascending ids to `out`, int64
    ``(kernels.thin.MOST_ANSWERS,)``, and returns how many there are, -1 for a box that is none; the
    answer counts when `out` holds it.
    """

    kernel: Callable[..., int]
    state: tuple[Any, ...]
    dim: tuple[int, ...]


@runtime_checkable
class Structure(Protocol):
    """What a structure has to do. Slots are int32 rows of the table it was made for.

    A class is made as ``Class(table, **parameters)``. The table's ``cover`` boxes are what pairs
    are decided on and what has to be covered; its ``boxes`` decide questions. Both are reallocated
    when the table grows: read them anew in every method. Arrays of rows that a method returns are
    the caller's, to keep and to write into.

    A method ``outlines() -> Outlines`` is optional, see `spatialindex.outlines`. So are shares of
    the objects that tell how pairs are found after changes. Up to a ``kept_share`` changed objects,
    kept pairs are brought up to date by `touching`; of more than a ``sweep_share`` by a method
    ``pairs_with(slots, marks, rule, *, limit, workers)``, which returns the pairs with a member in
    `slots`, each once, where ``marks[slot]``, uint8, is 1 for these and no other object. Beyond the
    ``kept_share`` it is `pairs`.
    """

    table: ObjectTable

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell for each box of shape ``(n, 2*ndim)`` if the structure would hold it well."""
        ...

    def apply(self, changes: Changes) -> None:
        """Bring the structure up to date; it must remember where removed slots were."""
        ...

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Return ``(m, 2)`` slots of the pairs that `rule` passes, each once, in any order.

        Raises `ResultTooLargeError` when there are more than `limit`.
        """
        ...

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Return ``(m, 2)`` rows (slot asked, slot found) under the pair rule, in any order.

        Two slots that are both asked find each other twice, once from each side.
        """
        ...

    def query(self, region: Region, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Return ``(m, 2)`` rows (row of the region, slot), each once, in any order."""
        ...

    def count(self, region: Region, *, workers: int = 1) -> NDArray[np.int64]:
        """Return how many objects each row of the region accepts, shape ``(q,)``."""
        ...

    def nearest(
        self, region: Region, k: int, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return slots and distances ``(q, k)`` of the nearest that a `RADIUS` region accepts.

        Ordered by distance (`decide.distance_to_box`), then by id; padded with slot -1 and distance
        inf. Row `i` does not see slot ``ignored[i]``; -1 is nobody, and an empty array ignores
        nobody at all.
        """
        ...

    def first_hits(
        self, region: Region, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return slots and times ``(q,)`` of what each row of a `CAST` region meets first.

        By time (`decide.cast_time`), then by id; slot -1 and time inf where there is nothing.
        `ignored` as in `nearest`.
        """
        ...

    def rebuild(self) -> None:
        """Become as if built from the table's present content."""
        ...

    def validate(self) -> None:
        """Raise `InvariantError` naming the first broken invariant."""
        ...

    def stats(self) -> StructureStats:
        """Return what the structure holds."""
        ...

    def count_pairs(self, rule: int) -> PairCounts:
        """Count the work of `pairs` under `rule` exactly, by a pass of its own."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory of the structure in bytes, without the table."""
        ...


@runtime_checkable
class Index(Protocol):
    """A spatial index of axis-aligned boxes: the same methods and the same answers everywhere.

    `isinstance(x, Index)` looks every member up: fine at a door, not in a hot path.
    """

    max_rows: int = MAX_ROWS

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2 or 3."""
        ...

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of all objects, ascending."""
        ...

    @property
    def bounds(self) -> NDArray[np.float64] | None:
        """One box around all objects, or None when there are none."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory in bytes, the object table included."""
        ...

    def __len__(self) -> int: ...
    def __contains__(self, id_: object) -> bool: ...

    def insert(
        self,
        boxes: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        layer: ArrayLike = 1,
        mask: ArrayLike = ALL,
        static: ArrayLike = False,
        asleep: ArrayLike = False,
        sensor: ArrayLike = False,
    ) -> Any:
        """Add objects; returns their ids."""
        ...

    def update(self, ids: ArrayLike | None, boxes: ArrayLike) -> None:
        """Give objects new boxes."""
        ...

    def remove(self, ids: ArrayLike) -> None:
        """Take objects out."""
        ...

    def clear(self) -> None:
        """Take all objects out."""
        ...

    def set_state(
        self,
        ids: ArrayLike | None,
        *,
        layer: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        static: ArrayLike | None = None,
        asleep: ArrayLike | None = None,
        sensor: ArrayLike | None = None,
    ) -> None:
        """Change what the pair filter reads."""
        ...

    def boxes(self, ids: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return stored boxes."""
        ...

    def state(self, ids: ArrayLike | None = None) -> NDArray[np.void]:
        """Return layers, masks and flags."""
        ...

    def query(
        self,
        boxes: ArrayLike,
        *,
        predicate: Predicate = "intersects",
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return the objects that meet each box."""
        ...

    def query_point(
        self, points: ArrayLike, *, layers: int = ALL, sort: bool = True, workers: int = 1
    ) -> NDArray[np.int64]:
        """Return the objects that hold each point."""
        ...

    def query_radius(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        *,
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return the objects within a distance of each center."""
        ...

    def query_planes(
        self,
        normals: ArrayLike,
        offsets: ArrayLike,
        *,
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return the objects that reach into one convex region of planes."""
        ...

    def count(
        self,
        boxes: ArrayLike,
        *,
        predicate: Predicate = "intersects",
        layers: int = ALL,
        workers: int = 1,
    ) -> Any:
        """Return how many objects meet each box."""
        ...

    def nearest(
        self,
        points: ArrayLike,
        k: int = 1,
        *,
        max_distance: ArrayLike = inf,
        ignore: ArrayLike | None = None,
        layers: int = ALL,
        workers: int = 1,
    ) -> Neighbors:
        """Return the k objects that are nearest to each point."""
        ...

    def raycast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        max_t: ArrayLike = inf,
        ignore: ArrayLike | None = None,
        layers: int = ALL,
        workers: int = 1,
    ) -> RayHits:
        """Return what each ray meets first."""
        ...

    def raycast_all(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        max_t: ArrayLike = inf,
        ignore: ArrayLike | None = None,
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> Hits:
        """Return everything that each ray meets."""
        ...

    def boxcast(
        self,
        boxes: ArrayLike,
        motions: ArrayLike,
        *,
        ignore: ArrayLike | None = None,
        layers: int = ALL,
        workers: int = 1,
    ) -> RayHits:
        """Return what each moving box touches first."""
        ...

    def boxcast_all(
        self,
        boxes: ArrayLike,
        motions: ArrayLike,
        *,
        ignore: ArrayLike | None = None,
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> Hits:
        """Return everything that each moving box touches on its way."""
        ...

    def pairs(
        self,
        *,
        among: Among = "active",
        sensors: Sensors = "include",
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return all pairs of objects whose boxes meet and whose filters agree."""
        ...

    def iter_pairs(
        self,
        chunk: int,
        *,
        among: Among = "active",
        sensors: Sensors = "include",
        sort: bool = True,
        workers: int = 1,
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of `pairs` in pieces."""
        ...

    def join(
        self,
        other: Any,
        *,
        layers: int = ALL,
        other_layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return which objects here meet which of another index or array of boxes."""
        ...

    def stats(self) -> IndexStats:
        """Return statistics."""
        ...

    def outlines(self) -> Outlines:
        """Return the parts of the structure as boxes, for pictures."""
        ...

    def validate(self) -> None:
        """Raise `InvariantError` when an invariant is broken."""
        ...

    def rebuild(self) -> None:
        """Build the structure afresh."""
        ...

    def copy(self) -> Index:
        """Return an independent copy."""
        ...
