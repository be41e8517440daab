"""Questions about regions: which objects meet a box, hold a point, are within a distance.

A question becomes a `Region`, a box that says where to look and numbers that decide; the structure
lists (row, slot), and the slots become sorted ids. One plain box goes a shorter way, a kernel of
few arguments, where the structure has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.asked import balls, planes
from spatialindex.checks import as_boxes, as_planes, as_points, as_radii, as_word
from spatialindex.constants import ALL, BOX_DTYPE, ID_DTYPE, NDIMS, PREDICATES
from spatialindex.content import Content, seen_layers
from spatialindex.execution import check_workers, rows_within
from spatialindex.naming import UNLABELLED, named_rows, row_labels
from spatialindex.protocol import Region

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from spatialindex.protocol import Predicate, Single

__all__ = ["Regions"]

_FLOATS = {ndim: [float] * (2 * ndim) for ndim in NDIMS}
"""Types of the bounds of a box, by number of dimensions."""


class Regions(Content):
    """The questions about regions."""

    def query(
        self,
        boxes: ArrayLike,
        *,
        predicate: Predicate = "intersects",
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return the objects that meet each box.

        Parameters
        ----------
        boxes : (2*ndim,) or (q, 2*ndim) floats
            Closed boxes; bounds may be infinite.
        predicate : {"intersects", "inside", "encloses"}
            The object shares a point with the box, lies inside it, or encloses it.
        layers : int
            Only objects with ``layer & layers != 0`` are seen.
        sort : bool
            False returns the same rows in any order, faster.
        workers : int
            Number of threads; the answer does not depend on it.

        Returns
        -------
        (n,) int64 array
            Ids, ascending, for one box.
        (m, 2) int64 array
            Rows (row of `boxes`, id), lexicographic, for many.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, ResultTooLargeError

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[0, 0, 1, 1], [1, 1, 2, 2]])
        array([0, 1])
        >>> index.query([1, 1, 5, 5])
        array([0, 1])
        >>> index.query([[0, 0, 1, 1], [2, 2, 3, 3]])
        array([[0, 0], [0, 1], [1, 1]])
        >>> index.query([0, 0, 1, 1], predicate="inside")
        array([0])
        """
        if predicate == "intersects" and layers is ALL and type(workers) is int and workers == 1:
            ids = self._ask_one(boxes)
            if ids is not None:
                return ids
        checked = as_boxes(boxes, self.ndim, infinite=True)
        many = checked.reshape(-1, 2 * self.ndim)
        region = Region(
            as_word("predicate", predicate, PREDICATES), many, many, seen_layers(layers)
        )
        return self._relation(region, is_one=checked.ndim == 1, sort=sort, workers=workers)

    def query_point(
        self, points: ArrayLike, *, layers: int = ALL, sort: bool = True, workers: int = 1
    ) -> NDArray[np.int64]:
        """Return the objects that hold each point, their faces included.

        Parameters
        ----------
        points : (ndim,) or (q, ndim) floats
            Finite points.
        layers, sort, workers
            As in `query`.

        Returns
        -------
        (n,) or (m, 2) int64 array
            Ids for one point, rows (row of `points`, id) for many, as in `query`.
        """
        checked = as_points(points, self.ndim)
        many = checked.reshape(-1, self.ndim)
        boxes = np.concatenate([many, many], axis=1)
        region = Region(0, boxes, boxes, seen_layers(layers))
        return self._relation(region, is_one=checked.ndim == 1, sort=sort, workers=workers)

    def query_radius(
        self,
        centers: ArrayLike,
        radii: ArrayLike,
        *,
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return the objects whose closed box is no farther than a radius from each center.

        Parameters
        ----------
        centers : (ndim,) or (q, ndim) floats
            Finite points.
        radii : float or (q,) floats
            Euclidean distances >= 0, infinity included; one serves all centers.
        layers, sort, workers
            As in `query`.

        Returns
        -------
        (n,) or (m, 2) int64 array
            Ids for one center, rows (row of `centers`, id) for many, as in `query`.
        """
        checked = as_points(centers, self.ndim, name="centers")
        many = checked.reshape(-1, self.ndim)
        reach = as_radii(radii, len(many))
        region = balls(many, reach, seen_layers(layers))
        return self._relation(region, is_one=checked.ndim == 1, sort=sort, workers=workers)

    def query_planes(
        self,
        normals: ArrayLike,
        offsets: ArrayLike,
        *,
        layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return the objects that reach into one convex region: for culling by a view frustum.

        An object is seen when for each plane the corner of its box that favours it has
        ``normal · corner <= offset``. That leaves out what lies wholly beyond a plane, as culling
        does; beside an edge of the region, it keeps some boxes that the region itself just misses.

        Parameters
        ----------
        normals : (p, ndim) or (ndim,) floats
            Outward normals of the planes, finite and not zero; they need not have length 1.
        offsets : float or (p,) floats
            How far each plane is along its normal, in lengths of it; may be infinite.
        layers, sort, workers
            As in `query`.

        Returns
        -------
        (n,) int64 array
            Ids, ascending. Without any plane, of all objects on the layers.

        Raises
        ------
        InvalidArgumentError, ResultTooLargeError

        Notes
        -----
        The planes are one region, so `workers` finds no work to share here. The first call after a
        change looks at all boxes once, for the bounds of everything.

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[0, 0, 1, 1], [2, 2, 3, 3], [6, 0, 7, 1]])
        array([0, 1, 2])
        >>> index.query_planes([[1, 0], [-1, -1]], [5, -3])  # x <= 5 and x + y >= 3
        array([1])
        """
        sides, limits = as_planes(normals, offsets, self.ndim)
        seen = seen_layers(layers)
        workers = check_workers(workers)
        bounds = self._outer_bounds()
        if bounds is None:
            return np.empty(0, ID_DTYPE)
        region = planes(sides, limits, bounds, seen)
        return self._relation(region, is_one=True, sort=sort, workers=workers)

    def count(
        self,
        boxes: ArrayLike,
        *,
        predicate: Predicate = "intersects",
        layers: int = ALL,
        workers: int = 1,
    ) -> Any:
        """Return how many objects meet each box, without listing them.

        Parameters
        ----------
        boxes, predicate, layers, workers
            As in `query`.

        Returns
        -------
        int or (q,) int64 array
            One count for one box.
        """
        checked = as_boxes(boxes, self.ndim, infinite=True)
        many = checked.reshape(-1, 2 * self.ndim)
        region = Region(
            as_word("predicate", predicate, PREDICATES), many, many, seen_layers(layers)
        )
        workers = check_workers(workers)
        self._sync()
        counts = self._structure.count(region, workers=workers)
        return counts if checked.ndim == 2 else int(counts[0])

    def _ask_one(self, box: Any) -> NDArray[np.int64] | None:
        """Answer one plain box with few arguments; None when it has to go the way of batches."""
        if type(box) is np.ndarray:
            if box.shape != (2 * self._table.ndim,) or box.dtype != BOX_DTYPE:
                return None
            flags = box.flags
            if not (flags.c_contiguous and flags.writeable):
                box = box.copy()  # as kernels take it
        elif type(box) in (tuple, list) and [*map(type, box)] == _FLOATS[self._table.ndim]:
            box = np.array(box)
        else:
            return None  # what else may be meant is for the door to say
        if not self._is_synced:
            self._sync()
        single = self._single
        if single is None:
            single = self._make_single()
            if single is None:
                return None
        kernel, state, dim = single
        out = np.empty(self._most_answers, ID_DTYPE)
        n = kernel(*state, box, out, dim)
        # bad boxes, which is what -1 tells, are refused with words by the way of batches
        return out[:n] if 0 <= n <= self._most_answers and n <= self._max_rows else None

    def _make_single(self) -> Single | None:
        """Ask the structure how it answers one box; kept until something changes."""
        from spatialindex.kernels.thin import HAS_HANDLES, MOST_ANSWERS

        if not HAS_HANDLES or not hasattr(self._structure, "single"):
            return None
        if not self._table.sees_all(ALL) or self._table.boxes is not self._table.cover:
            return None
        self._most_answers = MOST_ANSWERS
        with self._lock:
            single: Single | None = self._structure.single()
            self._single = single
        return single

    def _relation(
        self, region: Region, *, is_one: bool, sort: bool, workers: int
    ) -> NDArray[np.int64]:
        """Answer a batch of regions as rows (row, id), or as ids for one."""
        workers = check_workers(workers)
        self._sync()
        rows = rows_within(self.max_rows, self._structure.query, region, workers=workers)
        asked, labels = row_labels(UNLABELLED, len(region.cull)), self._table.labels()
        # few ids cost nothing to sort, and one box asked in other ways gives them sorted
        is_sorted = sort or is_one
        relation = named_rows(rows, 0, asked, labels, sort=is_sorted, workers=workers)
        return relation[:, 1].copy() if is_one else relation
