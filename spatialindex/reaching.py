"""Questions with a distance or a time: nearest objects, rays, moving boxes.

A ray is a box without size that moves, so that one formula serves all casts: origin and direction
become a box at time 0, its motion in a unit of time, and the last time. The structure finds either
the best alone, or everything that is met, whose times are worked out and put in order here.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.asked import balls, casts
from spatialindex.checks import as_directions, as_moving_boxes, as_points, as_radii
from spatialindex.constants import ALL, ID_DTYPE, SLOT_DTYPE
from spatialindex.content import Content, seen_layers
from spatialindex.errors import InvalidArgumentError
from spatialindex.execution import NO_LIMIT, check_workers, rows_within, too_large
from spatialindex.naming import UNLABELLED, named_rows, row_labels
from spatialindex.results import Hits, Neighbors, RayHits
from spatialindex.states import is_integer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from spatialindex.protocol import Region

__all__ = ["Reaching"]

_LARGEST_ID = np.iinfo(ID_DTYPE).max
_NOBODY = np.empty(0, SLOT_DTYPE)
_FOREVER, _ONCE = np.array([inf]), np.ones(1)


class Reaching(Content):
    """Nearest objects, rays and moving boxes."""

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
        """Return the k objects whose closed boxes are nearest to each point.

        Parameters
        ----------
        points : (ndim,) or (q, ndim) floats
            Finite points.
        k : int
            How many, 1 or more.
        max_distance : float or (q,) floats
            Only objects no farther than this, itself included; one serves all points.
        ignore : int or (q,) ints, optional
            An id, or one for each point, that is not seen, for questions about an object's own
            surroundings. -1, or an id that is not in the index, ignores nobody.
        layers : int
            Only objects with ``layer & layers != 0`` are seen.
        workers : int
            Number of threads; the answer does not depend on it.

        Returns
        -------
        Neighbors
            ``ids`` and ``distances`` of shape ``(k,)`` for one point, ``(q, k)`` for many: nearest
            first, equal distances by ascending id, padded with -1 and inf. Distances are Euclidean
            and 0 inside a box.

        Raises
        ------
        InvalidArgumentError, ResultTooLargeError

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[0, 0, 1, 1], [4, 0, 5, 1], [9, 9, 9, 9]])
        array([0, 1, 2])
        >>> index.nearest([2, 0.5], k=2)
        Neighbors(ids=array([0, 1]), distances=array([1., 2.]))
        >>> index.nearest([[2, 0.5], [9, 9]], k=2, max_distance=3).ids
        array([[ 0,  1],
               [ 2, -1]])
        """
        checked = as_points(points, self.ndim)
        many = checked.reshape(-1, self.ndim)
        n = len(many)
        k = _as_k(k)
        reach = _as_limits(max_distance, n, "max_distance", "a length")
        seen = seen_layers(layers)
        workers = check_workers(workers)
        if n * k > self.max_rows:
            raise too_large(self.max_rows, "pass a smaller k, or fewer points at a time,")
        self._sync()
        ignored = self._ignored(ignore, n)
        found = min(k, len(self))
        if found and n:
            region = balls(many, reach, seen)
            slots, distances = self._structure.nearest(region, found, ignored, workers=workers)
            ids = self._table.ids_in(slots)
        else:
            ids, distances = np.empty((n, 0), ID_DTYPE), np.empty((n, 0))
            found = 0
        if found < k:
            rest = (0, 0), (0, k - found)
            ids = np.pad(ids, rest, constant_values=-1)
            distances = np.pad(distances, rest, constant_values=inf)
        if checked.ndim == 1:
            return Neighbors(ids[0], distances[0])
        return Neighbors(ids, distances)

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
        """Return what each ray ``origin + t * direction``, ``0 <= t <= max_t``, meets first.

        Parameters
        ----------
        origins, directions : (ndim,) or (q, ndim) floats
            Finite; a direction need not have length 1 but is not zero. One origin serves many
            directions, and one direction many origins.
        max_t : float or (q,) floats
            The last t, itself included, in lengths of the direction; one serves all rays.
        ignore, layers, workers
            As in `nearest`.

        Returns
        -------
        RayHits
            ``ids`` and ``t`` of shape ``(q,)``, or an int and a float for one ray: the first object
            whose closed box shares a point with the ray, at equal t the lowest id; -1 and inf for
            nothing. A ray that starts in a box meets it at t = 0.

        Raises
        ------
        InvalidArgumentError
            Naming the first offending row.

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[2, 0, 3, 1], [5, 0, 6, 2]])
        array([0, 1])
        >>> index.raycast([0, 0.5], [2, 0])
        RayHits(ids=0, t=1.0)
        >>> index.raycast([0, 1], [[1, 0], [5, 1], [0, 1]])
        RayHits(ids=array([ 0,  1, -1]), t=array([ 2.,  1., inf]))
        """
        region, is_one = self._rays(origins, directions, max_t, layers)
        return self._first_hits(region, is_one, ignore, workers)

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
        """Return everything that each ray meets.

        Parameters
        ----------
        origins, directions, max_t, ignore, layers, workers
            As in `raycast`.
        sort : bool
            False returns the same hits in any order, faster.

        Returns
        -------
        Hits
            For many rays ``rows``, int64 ``(m, 2)``, of (row of the input, id), and ``t`` of shape
            ``(m,)``: by row, then t, then id. For one ray ``rows`` are just the ids, ``(n,)``.

        Raises
        ------
        InvalidArgumentError, ResultTooLargeError

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[5, 0, 6, 2], [2, 0, 3, 1]])
        array([0, 1])
        >>> index.raycast_all([0, 0.5], [2, 0])
        Hits(rows=array([1, 0]), t=array([1. , 2.5]))
        >>> index.raycast_all([[0, 0.5], [5, 5]], [[2, 0], [0, -1]]).rows
        array([[0, 1],
               [0, 0],
               [1, 0]])
        """
        region, is_one = self._rays(origins, directions, max_t, layers)
        return self._all_hits(region, is_one, ignore, sort=sort, workers=workers)

    def boxcast(
        self,
        boxes: ArrayLike,
        motions: ArrayLike,
        *,
        ignore: ArrayLike | None = None,
        layers: int = ALL,
        workers: int = 1,
    ) -> RayHits:
        """Return what each moving box ``box + t * motion``, ``0 <= t <= 1``, touches first.

        Parameters
        ----------
        boxes : (2*ndim,) or (q, 2*ndim) floats
            Closed boxes at t = 0, finite.
        motions : (ndim,) or (q, ndim) floats
            How far each moves; finite, zero is legal. One box serves many motions, and one motion
            many boxes.
        ignore, layers, workers
            As in `nearest`; ignore the object itself when its own box is cast.

        Returns
        -------
        RayHits
            As in `raycast`; t = 0 for what it touches at the start.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError
            Naming the first offending row.

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[0, 0, 1, 1], [4, 0, 5, 1]])
        array([0, 1])
        >>> index.boxcast([0, 0, 1, 1], [6, 0], ignore=0)
        RayHits(ids=1, t=0.5)
        """
        region, is_one = self._moving(boxes, motions, layers)
        return self._first_hits(region, is_one, ignore, workers)

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
        """Return everything that each moving box touches on its way.

        Parameters
        ----------
        boxes, motions, ignore, layers, workers
            As in `boxcast`.
        sort : bool
            False returns the same hits in any order, faster.

        Returns
        -------
        Hits
            As in `raycast_all`: when each is touched first.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, ResultTooLargeError

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[0, 0, 1, 1], [4, 0, 5, 1], [2, 3, 9, 9]])
        array([0, 1, 2])
        >>> index.boxcast_all([0, 0, 1, 1], [6, 0])
        Hits(rows=array([0, 1]), t=array([0. , 0.5]))
        """
        region, is_one = self._moving(boxes, motions, layers)
        return self._all_hits(region, is_one, ignore, sort=sort, workers=workers)

    # -- from what is asked to a region -------------------------------------------------------

    def _rays(
        self, origins: ArrayLike, directions: ArrayLike, max_t: ArrayLike, layers: int
    ) -> tuple[Region, bool]:
        """Return rays as a region of casts, and whether it is only one."""
        points = as_points(origins, self.ndim, name="origins")
        motions = as_directions(directions, self.ndim)
        n = _count(points, motions, "origins", "directions")
        lasts = _as_limits(max_t, n, "max_t", "a time")
        is_one = points.ndim == motions.ndim == 1
        return casts(points, motions, lasts, n, seen_layers(layers)), is_one

    def _moving(self, boxes: ArrayLike, motions: ArrayLike, layers: int) -> tuple[Region, bool]:
        """Return moving boxes as a region of casts, and whether it is only one."""
        starts = as_moving_boxes(boxes, self.ndim)
        ways = as_points(motions, self.ndim, name="motions", what="motions")
        n = _count(starts, ways, "boxes", "motions")
        is_one = starts.ndim == ways.ndim == 1
        return casts(starts, ways, _ONCE, n, seen_layers(layers)), is_one

    def _ignored(self, ignore: ArrayLike | None, n: int) -> NDArray[np.int32]:
        """Return the slot that each of `n` rows does not see, -1 for none; empty for nobody.

        Slots as they are after `_sync`, which may number them anew.
        """
        if ignore is None:
            return _NOBODY
        ids = _as_ignored(ignore, n)
        slots = self._table.find(ids.reshape(-1))
        return slots if ids.ndim else np.full(n, slots[0], SLOT_DTYPE)

    # -- from slots to an answer --------------------------------------------------------------

    def _first_hits(
        self, region: Region, is_one: bool, ignore: ArrayLike | None, workers: int
    ) -> RayHits:
        """Answer casts by what each meets first."""
        n = len(region.cull)
        workers = check_workers(workers)
        if n > self.max_rows:
            raise too_large(self.max_rows)
        self._sync()
        ignored = self._ignored(ignore, n)
        if not len(self) or not n:
            ids, times = np.full(n, -1, ID_DTYPE), np.full(n, inf)
        else:
            slots, times = self._structure.first_hits(region, ignored, workers=workers)
            ids = self._table.ids_in(slots)
        return RayHits(int(ids[0]), float(times[0])) if is_one else RayHits(ids, times)

    def _all_hits(
        self, region: Region, is_one: bool, ignore: ArrayLike | None, *, sort: bool, workers: int
    ) -> Hits:
        """Answer casts by all that each meets."""
        from spatialindex.kernels.hits import order_hits, time_hits

        n = len(region.cull)
        workers = check_workers(workers)
        self._sync()
        ignored = self._ignored(ignore, n)
        table = self._table
        # a row may meet the one it ignores
        limit = min(self.max_rows + len(ignored), NO_LIMIT)
        query = self._structure.query
        rows = rows_within(self.max_rows, query, region, limit=limit, workers=workers)
        rows = np.ascontiguousarray(rows, SLOT_DTYPE)
        times = np.empty(len(rows))
        m = time_hits(rows, region.exact, table.boxes, ignored, times, (0,) * self.ndim)
        if m > self.max_rows:
            raise too_large(self.max_rows)
        rows, times = rows[:m], times[:m]
        if sort or is_one:
            out, ordered = np.empty((m, 2), ID_DTYPE), np.empty(m)
            scratch = np.empty(m), np.empty(m, ID_DTYPE), np.empty(m + 1, np.int64)
            slot_ids = table.slot_ids if len(table.labels().of) else UNLABELLED
            starts = np.zeros(n + 1, np.int64)
            order_hits(rows, times, slot_ids, starts, *scratch, ordered, out)
            times = ordered
        else:
            out = named_rows(rows, 0, row_labels(UNLABELLED, n), table.labels(), sort=False)
        return Hits(out[:, 1].copy() if is_one else out, times)


def _as_limits(limits: Any, n: int, name: str, what: str) -> NDArray[np.float64]:
    """Check distances or times to look up to: shape ``(n,)``, or ``(1,)`` for no limit at all."""
    if type(limits) is float and limits == inf:
        return _FOREVER
    return as_radii(limits, n, name=name, what=what)


def _as_k(k: int) -> int:
    """Check a number of neighbours."""
    if not is_integer(k) or k < 1:
        raise InvalidArgumentError(f"k is {k!r}: pass how many neighbours, 1 or more")
    return int(k)


def _as_ignored(ignore: ArrayLike, n: int) -> NDArray[np.int64]:
    """Check ids to ignore: int64 of shape ``()`` or ``(n,)``, where -1 is nobody."""
    array = np.asarray(ignore)
    if array.shape == (n,) == (0,):
        return np.empty(0, ID_DTYPE)
    if isinstance(ignore, np.ma.MaskedArray) or array.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"ignore is {ignore!r}: pass an id or one an input row, -1 for nobody"
        )
    if array.ndim and array.shape != (n,):
        raise InvalidArgumentError(
            f"ignore: shape {array.shape} does not fit {n} row{'' if n == 1 else 's'}; "
            f"pass one id or shape ({n},)"
        )
    bad = (array < -1) | (array > _LARGEST_ID)
    if bad.any():
        row = int(np.argmax(bad))
        where = f"ignore[{row}]" if array.ndim else "ignore"
        raise InvalidArgumentError(
            f"{where} is {int(array.flat[row])}: ids are integers from 0 to 2**63 - 1; "
            "-1 ignores nobody"
        )
    return array.astype(ID_DTYPE)


def _count(first: NDArray[np.float64], second: NDArray[np.float64], name: str, other: str) -> int:
    """Return how many rows two arguments have together, where one without rows serves all."""
    if first.ndim == 1:
        return 1 if second.ndim == 1 else len(second)
    if second.ndim == 2 and len(first) != len(second):
        raise InvalidArgumentError(
            f"{len(first)} {name} for {len(second)} {other}; pass as many, or one for all"
        )
    return len(first)
