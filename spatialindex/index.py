"""The one implementation of `Index`, around any `Structure`.

It owns the object table, checks input at the door, hands coalesced changes to the structure, and
turns the slots that come back into ids in canonical order. The structure only finds things.

How ``index.pairs()`` runs: the table's changes go to the structure (``apply``); the structure lists
pairs of slots in any order; each slot becomes a label that sorts as its id does; the pairs are
packed into 64-bit keys, radix-sorted and unpacked to ids.
"""

from __future__ import annotations

import copy
import threading
from contextlib import contextmanager
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from spatialindex.checks import as_boxes, as_points, as_radii
from spatialindex.constants import (
    ALL,
    AMONG,
    BOX_DTYPE,
    DEFAULT_LAYER,
    ID_DTYPE,
    MAX_ROWS,
    NDIMS,
    PREDICATES,
    SENSORS,
)
from spatialindex.errors import (
    InvalidArgumentError,
    InvariantError,
    ResultTooLargeError,
    SpatialIndexError,
    did_you_mean,
)
from spatialindex.execution import NO_LIMIT, check_workers, too_large
from spatialindex.keeping import KeptPairs
from spatialindex.naming import UNLABELLED, named_rows, row_labels
from spatialindex.objects import ObjectTable, as_ids, as_layers
from spatialindex.protocol import Region
from spatialindex.results import IndexStats, PairCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from spatialindex.objects import Changes
    from spatialindex.protocol import (
        Among,
        Index,
        Parameter,
        Predicate,
        Sensors,
        Single,
        Structure,
    )

__all__ = ["BoxIndex"]

_PLAIN_OPTIONS = (DEFAULT_LAYER, ALL, False, False, False)  # of insert
_RADIUS_KIND = len(PREDICATES)  # kernels.decide.RADIUS: importing it would import the compiler
_KEPT_SHARE = 0.05  # of the objects changed: beyond, pairs from scratch; structures know better
_FIRST_GROUP = 256  # objects that iter_pairs asks at first; it adapts to what they yield


class BoxIndex:
    """An index of boxes around a structure; the base of every public class.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    structure : callable
        Makes the structure: ``structure(table, **parameters)``.
    **parameters
        Declared parameters, kept as attributes.

    Attributes
    ----------
    max_rows : int
        Rows that an answer may have; more is a `ResultTooLargeError`. Default 2**29.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self, ndim: int, structure: Callable[..., Structure], **parameters: Any) -> None:
        is_integer = isinstance(ndim, int | np.integer) and not isinstance(ndim, bool)
        if not is_integer or ndim not in NDIMS:
            raise InvalidArgumentError(f"ndim is {ndim!r}: boxes have 2 or 3 dimensions")
        for name, value in parameters.items():
            setattr(self, name, value)
        self.max_rows = MAX_ROWS
        self._table = ObjectTable(int(ndim))
        self._structure = structure(self._table, **parameters)
        self._version = 0
        self._is_synced = True
        self._is_torn = False  # set while changes are taken in: an exception leaves it set
        self._is_fresh = True
        self._kept = KeptPairs()
        self._single: Single | None = None
        self._most_answers = 0
        self._lock = threading.RLock()

    # -- what is in it ------------------------------------------------------------------------

    @property
    def max_rows(self) -> int:
        """Rows that an answer may have; more is a `ResultTooLargeError`."""
        return self._max_rows

    @max_rows.setter
    def max_rows(self, rows: int) -> None:
        is_integer = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
        if not is_integer or not 0 <= rows <= NO_LIMIT:
            raise InvalidArgumentError(f"max_rows is {rows!r}: pass a number of rows, 0 or more")
        self._max_rows = int(rows)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._table

    def __repr__(self) -> str:
        words = [f"ndim={self.ndim}"]
        words += [f"{p.name}={getattr(self, p.name)!r}" for p in self.parameters]
        return f"<{type(self).__name__}({', '.join(words)}) of {len(self)} objects>"

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2 or 3."""
        return self._table.ndim

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of all objects, ascending, int64 ``(n,)``."""
        return self._table.slot_ids[self._table.ordered_slots()]

    @property
    def bounds(self) -> NDArray[np.float64] | None:
        """One box around all objects, float64 ``(2*ndim,)``, or None when there are none."""
        if not len(self):
            return None
        boxes: NDArray[np.float64] = self._table.boxes[self._table.live_slots()]
        bounds: NDArray[np.float64] = np.empty(2 * self.ndim)
        bounds[: self.ndim] = boxes[:, : self.ndim].min(0)
        bounds[self.ndim :] = boxes[:, self.ndim :].max(0)
        return bounds

    @property
    def nbytes(self) -> int:
        """Memory in bytes: the object table, the structure and kept pairs."""
        self._sync()
        return self._table.nbytes + self._structure.nbytes + self._kept.nbytes

    def boxes(self, ids: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the stored boxes, bit for bit.

        Parameters
        ----------
        ids : int or (n,) ints, optional
            Whose; None: all, by ascending id.

        Returns
        -------
        (2*ndim,) or (n, 2*ndim) float64 array
            A copy, in the order of `ids`.

        Raises
        ------
        UnknownIdError
            For an id that is not in the index.
        """
        boxes: NDArray[np.float64] = self._table.boxes[self._slots(ids)].copy()
        return boxes

    def state(self, ids: ArrayLike | None = None) -> NDArray[np.void]:
        """Return layer, mask, static, asleep and sensor.

        Parameters
        ----------
        ids : int or (n,) ints, optional
            Whose; None: all, by ascending id.

        Returns
        -------
        structured array of shape () or (n,)
            A copy with those fields, in the order of `ids`.

        Raises
        ------
        UnknownIdError
            For an id that is not in the index.
        """
        return np.array(self._table.state[self._slots(ids)])

    def _slots(self, ids: ArrayLike | None, *, once: bool = False) -> Any:
        """Return the slots of ids, shape () for one id; None: all by ascending id."""
        if ids is None:
            return self._table.ordered_slots()
        checked = as_ids(ids)
        slots = self._table.slots_of(checked.reshape(-1), once=once)
        return slots if checked.ndim else slots[0]

    # -- changing it --------------------------------------------------------------------------

    def insert(
        self,
        boxes: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        layer: ArrayLike = DEFAULT_LAYER,
        mask: ArrayLike = ALL,
        static: ArrayLike = False,
        asleep: ArrayLike = False,
        sensor: ArrayLike = False,
    ) -> Any:
        """Add objects.

        Parameters
        ----------
        boxes : (2*ndim,) or (n, 2*ndim) floats
            Closed boxes ``[lower…, upper…]``; finite, lower <= upper.
        ids : int or (n,) ints, optional
            Ids from 0 to 2**63 - 1 that are not in the index. None: the next ones, from 1 + the
            highest ever used on.
        layer, mask : int or (n,) ints
            Bits of what an object is and what it pairs with. Default: layer 1, mask all bits.
        static, asleep, sensor : bool or (n,) bools
            Flags that `pairs` reads.

        Returns
        -------
        int or (n,) int64 array
            The ids, in the order of `boxes`.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, DuplicateIdError, CoverageError
            Naming the first offending row. Nothing has been inserted.

        Notes
        -----
        Cost: amortised O(1) a box; the structure takes it in at the next question.

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([0, 0, 1, 1])
        0
        >>> index.insert([[2, 0, 3, 1], [4, 0, 5, 1]], ids=[70, 7])
        array([70,  7])
        """
        checked = as_boxes(boxes, self.ndim)
        many = checked.reshape(-1, 2 * self.ndim)
        options = (layer, mask, static, asleep, sensor)
        if checked.ndim == 1 and ids is None and all(map(is_, options, _PLAIN_OPTIONS)):
            self._admit(many)
            with self._change():
                id_ = self._table.insert_one(checked)
            if id_ >= 0:
                return id_
        keys = None if ids is None else as_ids(ids).reshape(-1)
        self._admit(many)
        state = {
            "layer": layer,
            "mask": mask,
            "static": static,
            "asleep": asleep,
            "sensor": sensor,
        }
        with self._change():
            new = self._table.insert(many, keys, state)
        return new if checked.ndim == 2 else int(new[0])

    def update(self, ids: ArrayLike | None, boxes: ArrayLike) -> None:
        """Give objects new boxes; a teleport is just an update.

        Parameters
        ----------
        ids : int, (n,) ints or None
            Whose, each once; None: every object, by ascending id.
        boxes : (2*ndim,) or (n, 2*ndim) floats
            Their new boxes.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, UnknownIdError, DuplicateIdError, CoverageError
            Naming the first offending row. Nothing has been moved.

        Notes
        -----
        Cost: O(1) a box; the structure takes it in at the next question.
        """
        many = as_boxes(boxes, self.ndim).reshape(-1, 2 * self.ndim)
        one: Any = ids
        if type(one) is int and len(many) == 1:
            slot = self._table.slot_of(one)
            if slot >= 0:
                self._admit(many)
                with self._change():
                    self._table.update_one(slot, many[0])
                return
        slots = np.atleast_1d(self._slots(ids, once=True))
        if len(many) != len(slots):
            raise InvalidArgumentError(
                f"{len(many)} boxes for {len(slots)} ids; pass one box an id"
            )
        self._admit(many)
        with self._change():
            self._table.update(slots, many)

    def remove(self, ids: ArrayLike) -> None:
        """Take objects out.

        Parameters
        ----------
        ids : int or (n,) ints
            Which, each once.

        Raises
        ------
        InvalidArgumentError, UnknownIdError, DuplicateIdError
            Naming the first offending row. Nothing has been removed.
        """
        if ids is None:
            raise InvalidArgumentError("ids is None: name the objects to remove, or use clear()")
        slots = np.atleast_1d(self._slots(ids, once=True))
        with self._change():
            self._table.remove(slots)

    def clear(self) -> None:
        """Take all objects out; ids given out later go on from the highest ever used."""
        with self._change():
            self._table.clear()
            self._kept.forget()
        self._is_fresh = False
        self.rebuild()

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
        """Change what the pair filter reads; it takes effect at the next call.

        Parameters
        ----------
        ids : int, (n,) ints or None
            Whose, each once; None: every object, by ascending id.
        layer, mask : int or (n,) ints, optional
            New bits; None leaves them alone.
        static, asleep, sensor : bool or (n,) bools, optional
            New flags; None leaves them alone.

        Raises
        ------
        InvalidArgumentError, UnknownIdError, DuplicateIdError
            Naming the first offending row. Nothing has been changed.
        """
        slots = np.atleast_1d(self._slots(ids, once=True))
        state = {
            "layer": layer,
            "mask": mask,
            "static": static,
            "asleep": asleep,
            "sensor": sensor,
        }
        with self._change():
            self._table.set_state(slots, state)

    def _admit(self, boxes: NDArray[np.float64]) -> None:
        """Refuse boxes that the structure was told not to take; here: none."""

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Change the table: the structure is behind it then, and torn if that is interrupted."""
        was_torn, self._is_torn = self._is_torn, True
        self._is_synced = False
        self._single = None  # it holds addresses of arrays that may be replaced
        try:
            yield
        except SpatialIndexError:  # refused at the door: nothing has changed
            self._is_torn = was_torn
            raise
        self._is_torn = was_torn
        self._version += 1

    def _sync(self) -> None:
        """Bring the structure up to date; safe to call from several reading threads."""
        if self._is_synced:
            return
        with self._lock:
            was_torn, self._is_torn = self._is_torn, True
            if was_torn:
                self._kept.forget()
                self._table.repair()
                self._structure.rebuild()
            else:
                self._take_in(self._table.take_changes())
            self._is_torn = False
            self._is_synced = True

    def _take_in(self, changes: Changes | None) -> None:
        """Hand changes to the kept pairs and to the structure."""
        if changes is None:
            return
        share = getattr(self._structure, "kept_share", _KEPT_SHARE)
        self._kept.note(changes, share * len(self))
        if self._table.is_sparse():
            self._kept.forget()  # the slots noted as changed are renumbered
            self._table.compact()
            self._structure.rebuild()
        else:
            self._structure.apply(changes)
        self._is_fresh = False

    # -- questions ----------------------------------------------------------------------------

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
        region = Region(_code("predicate", predicate, PREDICATES), many, many, _layers(layers))
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
        region = Region(0, boxes, boxes, _layers(layers))
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
        # the distance of a box is at least its distance along each axis, rounded as this is
        with np.errstate(all="ignore"):
            far = np.nextafter(reach, np.inf)[:, None]
            lower = np.nextafter(many - far, -np.inf)
            upper = np.nextafter(many + far, np.inf)
        cull = np.concatenate([lower, upper], axis=1)
        exact = np.concatenate([many, reach[:, None]], axis=1)
        region = Region(_RADIUS_KIND, cull, exact, _layers(layers))
        return self._relation(region, is_one=checked.ndim == 1, sort=sort, workers=workers)

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
        region = Region(_code("predicate", predicate, PREDICATES), many, many, _layers(layers))
        workers = check_workers(workers)
        self._sync()
        counts = self._structure.count(region, workers=workers)
        return counts if checked.ndim == 2 else int(counts[0])

    def pairs(
        self,
        *,
        among: Among = "active",
        sensors: Sensors = "include",
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return all pairs of objects whose boxes share a point and whose filters agree.

        Parameters
        ----------
        among : {"active", "dynamic", "all"}
            "active" wants a member that is awake and not static, "dynamic" leaves out only static
            with static, "all" looks at layers and masks alone.
        sensors : {"include", "exclude", "only"}
            Whether pairs with a sensor in them count.
        sort : bool
            False returns the same rows in any order, faster.
        workers : int
            Number of threads; the answer does not depend on it.

        Returns
        -------
        (m, 2) int64 array
            Rows (a, b) with a < b, lexicographic, each pair once. Read-only: it is kept, and
            returned again as long as nothing has changed; copy it to change it.

        Raises
        ------
        InvalidArgumentError, ResultTooLargeError

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [9, 9, 9, 9]], static=[True, False, False])
        array([0, 1, 2])
        >>> index.pairs()
        array([[0, 1]])
        """
        options = _pair_options(among, sensors)
        workers = check_workers(workers)
        with self._lock:
            self._sync()
            if self._kept.rows is None or self._kept.options != options:
                pairs = self._all_pairs(options, sort=sort, workers=workers)
            elif self._kept.n_changed:
                pairs = self._changed_pairs(options, workers=workers)
            else:
                pairs = self._kept.rows
            if len(pairs) > self.max_rows:
                raise too_large(self.max_rows)
            if sort or self._kept.rows is not None:
                self._kept.keep(options, pairs)
            return pairs

    def _all_pairs(
        self, options: tuple[str, str], *, sort: bool, workers: int
    ) -> NDArray[np.int64]:
        """Return pairs from scratch."""
        self._kept.forget()
        rule = self._table.pair_rule(*options)
        rows = self._structure.pairs(rule, limit=self.max_rows, workers=workers)
        self._kept.options = options
        labels = self._table.labels()
        return named_rows(rows, 0, labels, labels, is_pair=True, sort=sort)

    def _changed_pairs(self, options: tuple[str, str], *, workers: int) -> NDArray[np.int64]:
        """Return the kept pairs, less those of changed objects, plus what these touch now."""
        table = self._table
        marks, changed = self._kept.marks(table)
        rule = table.pair_rule(*options)
        # two changed objects find each other twice
        limit = min(2 * self.max_rows, NO_LIMIT)
        rows = self._structure.touching(changed, rule, limit=limit, workers=workers)
        ids = table.slot_ids[rows]
        rows = rows[(marks[rows[:, 1]] == 0) | (ids[:, 0] < ids[:, 1])]
        labels = table.labels()
        found = named_rows(rows, 0, labels, labels, is_pair=True, sort=True)
        return self._kept.merged(table, marks, found)

    def iter_pairs(
        self,
        chunk: int,
        *,
        among: Among = "active",
        sensors: Sensors = "include",
        sort: bool = True,
        workers: int = 1,
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of `pairs` in pieces, for answers that do not fit in memory.

        Parameters
        ----------
        chunk : int
            The most rows of a piece.
        among, sensors, sort, workers
            As in `pairs`.

        Yields
        ------
        (m, 2) int64 array
            At most `chunk` rows; all pieces one after the other are ``pairs()``.

        Raises
        ------
        InvalidArgumentError
            For a bad option, and when the index is changed between two pieces.
        """
        if isinstance(chunk, bool) or not isinstance(chunk, int | np.integer) or chunk < 1:
            raise InvalidArgumentError(f"chunk is {chunk!r}: pass the most rows of a piece, >= 1")
        options = _pair_options(among, sensors)
        workers = check_workers(workers)
        self._sync()
        rule = self._table.pair_rule(*options)
        return self._pieces(int(chunk), rule, sort, workers, self._version)

    def _pieces(
        self, chunk: int, rule: int, sort: bool, workers: int, version: int
    ) -> Iterator[NDArray[np.int64]]:
        """Ask groups of objects, in the order of their ids, whom with a higher id they touch."""
        self._check_version(version)
        table = self._table
        slots = table.ordered_slots()
        ids, labels = table.slot_ids, table.labels()
        waiting = np.empty((0, 2), ID_DTYPE)
        start, group = 0, _FIRST_GROUP
        while start < len(slots):
            asked = slots[start : start + group]
            limit = NO_LIMIT if group == 1 else min(8 * chunk + 1024, NO_LIMIT)
            rows = self._try_touching(asked, rule, limit, workers)
            if rows is None:  # too many for one go: ask fewer
                group = max(group // 8, 1)
                continue
            rows = rows[ids[rows[:, 0]] < ids[rows[:, 1]]]
            found = named_rows(rows, 0, labels, labels, is_pair=True, sort=sort)
            waiting = np.concatenate([waiting, found]) if len(waiting) else found
            start += group
            if len(found) < chunk:
                group *= 2
            while len(waiting) >= chunk:
                yield waiting[:chunk].copy()
                waiting = waiting[chunk:]
                self._check_version(version)
        if len(waiting):
            yield waiting

    def _check_version(self, version: int) -> None:
        """Refuse to go on with pairs of an index that has changed."""
        if self._version != version:
            raise InvalidArgumentError(
                "the index was changed while iter_pairs was running; "
                "finish it first, or iterate over a copy()"
            )

    def _try_touching(
        self, slots: NDArray[np.int32], rule: int, limit: int, workers: int
    ) -> NDArray[np.int32] | None:
        try:
            return self._structure.touching(slots, rule, limit=limit, workers=workers)
        except ResultTooLargeError:
            return None

    def join(
        self,
        other: Index | ArrayLike,
        *,
        layers: int = ALL,
        other_layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return which objects here share a point with which of another index or of an array.

        Parameters
        ----------
        other : Index or (n, 2*ndim) floats
            An index of any structure, this one included, or boxes.
        layers, other_layers : int
            Only objects on these layers are seen, here and there; masks do not apply.
        sort, workers
            As in `query`.

        Returns
        -------
        (m, 2) int64 array
            Rows (id here, id there) or (id here, row of the boxes), lexicographic. Joined with
            itself, an index returns both orders and every id with itself.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, ResultTooLargeError
        """
        here_layers, there_layers = _layers(layers), _layers(other_layers, "other_layers")
        workers = check_workers(workers)
        self._sync()
        there: Any = other
        if not _is_index(there):
            boxes = as_boxes(there, self.ndim, infinite=True).reshape(-1, 2 * self.ndim)
            names = UNLABELLED
        elif there.ndim != self.ndim:
            raise InvalidArgumentError(
                f"other has ndim {there.ndim}, this index {self.ndim}; "
                "both need the same number of dimensions"
            )
        elif isinstance(there, BoxIndex) and len(there) > len(self):
            # the smaller side asks
            there._sync()
            names, boxes = _seen(self, here_layers)
            rows = there._structure.query(
                Region(0, boxes, boxes, there_layers), limit=self.max_rows, workers=workers
            )
            return named_rows(
                rows, 0, row_labels(names, len(boxes)), there._table.labels(), sort=sort
            )
        else:
            names, boxes = _seen(there, there_layers)
        rows = self._structure.query(
            Region(0, boxes, boxes, here_layers), limit=self.max_rows, workers=workers
        )
        return named_rows(rows, 1, self._table.labels(), row_labels(names, len(boxes)), sort=sort)

    def _ask_one(self, box: Any) -> NDArray[np.int64] | None:
        """Answer one plain box with few arguments; None when it has to go the way of batches."""
        if type(box) is not np.ndarray:
            if type(box) not in (tuple, list) or not all(type(value) is float for value in box):
                return None  # what else may be meant is for the door to say
            box = np.array(box)
        if box.shape != (2 * self._table.ndim,) or box.dtype != BOX_DTYPE:
            return None
        if not self._is_synced:
            self._sync()
        single = self._single
        if single is None:
            single = self._make_single()
            if single is None:
                return None
        out = np.empty(self._most_answers, ID_DTYPE)
        n = single.kernel(*single.state, _plain(box), out, single.dim)
        # bad boxes, which is what -1 tells, are refused with words by the way of batches
        return out[:n] if 0 <= n <= min(len(out), self.max_rows) else None

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
        rows = self._structure.query(region, limit=self.max_rows, workers=workers)
        labels = row_labels(UNLABELLED, len(region.cull))
        # few ids cost nothing to sort, and one box asked in other ways gives them sorted
        relation = named_rows(rows, 0, labels, self._table.labels(), sort=sort or is_one)
        return relation[:, 1].copy() if is_one else relation

    # -- upkeep -------------------------------------------------------------------------------

    def stats(self) -> IndexStats:
        """Return statistics, with pair counters for the options of the last `pairs` call.

        Notes
        -----
        Cost: the pair counters take a counting pass of about a `pairs` call from scratch.
        """
        with self._lock:
            self._sync()
            held = self._structure.stats()
            counts = PairCounts()
            if self._kept.options is not None:
                rule = self._table.pair_rule(*self._kept.options)
                counts = self._structure.count_pairs(rule)
            return IndexStats(
                objects=len(self),
                entries=held.entries,
                buckets=held.buckets,
                mean_bucket=held.entries / held.buckets if held.buckets else 0.0,
                max_bucket=held.max_bucket,
                wide=held.wide,
                **counts._asdict(),
                nbytes=self.nbytes,
                rebuilds=held.rebuilds,
                quality=held.quality,
            )

    def validate(self) -> None:
        """Raise `InvariantError`, naming the first invariant that is broken; for tests.

        Notes
        -----
        Cost: that of building everything anew in NumPy, several times that of `rebuild`.
        """
        with self._lock:
            self._sync()
            self._table.validate()
            self._structure.validate()
            kept = self._kept
            if kept.rows is None or kept.options is None or kept.n_changed:
                return
            rows = self._structure.pairs(self._table.pair_rule(*kept.options), limit=NO_LIMIT)
            labels = self._table.labels()
            fresh = named_rows(rows, 0, labels, labels, is_pair=True, sort=True)
            if not np.array_equal(fresh, kept.rows):
                raise InvariantError(
                    f"kept pairs: {len(kept.rows)} rows differ from the {len(fresh)} found afresh"
                )

    def rebuild(self) -> None:
        """Build the structure afresh; never changes an answer, and costs nothing when it is fresh.

        Notes
        -----
        Worth a call after a bulk load that was followed by large changes.
        """
        with self._lock:
            self._sync()
            if not self._is_fresh:
                self._is_synced, self._is_torn, self._single = False, True, None
                self._sync()
                self._is_fresh = True

    def copy(self) -> Self:
        """Return an independent copy, which goes on giving out ids from the same highest one."""
        return copy.deepcopy(self)

    __copy__ = copy

    def __getstate__(self) -> dict[str, Any]:
        # brought up to date, only kept pairs change by reads of other threads while it is copied
        with self._lock:
            self._sync()
            state = {key: value for key, value in self.__dict__.items() if key != "_lock"}
            state["_kept"] = copy.copy(self._kept)  # rows and what has changed since, together
        return state | {"_single": None}  # addresses are of this process and these arrays

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def _plain(box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a box as kernels take it: contiguous, and not marked read-only."""
    flags = box.flags
    return box if flags.c_contiguous and flags.writeable else box.copy()


def _code(name: str, value: str, words: tuple[str, ...]) -> int:
    """Return the position of a word, or refuse it and suggest the nearest."""
    if isinstance(value, str) and value in words:
        return words.index(value)
    hint = did_you_mean(value, words)
    raise InvalidArgumentError(f"{name} is {value!r}; {hint}known: {', '.join(words)}")


def _pair_options(among: str, sensors: str) -> tuple[str, str]:
    """Check the options of `pairs`."""
    return AMONG[_code("among", among, AMONG)], SENSORS[_code("sensors", sensors, SENSORS)]


def _layers(layers: int, name: str = "layers") -> int:
    """Check the layers that a question sees."""
    if layers is ALL:
        return ALL
    if np.ndim(layers):
        raise InvalidArgumentError(f"{name} is {layers!r}: pass one integer of bits")
    return int(as_layers(layers, 0, name=name))


def _is_index(other: object) -> bool:
    """Tell an index from boxes without evaluating properties."""
    return isinstance(other, BoxIndex) or hasattr(type(other), "pairs")


def _seen(index: Any, layers: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ids and boxes of the objects on some layers, by ascending id."""
    ids, boxes = index.ids, index.boxes()
    visible = (index.state()["layer"] & np.uint64(layers)) != 0
    return (ids, boxes) if visible.all() else (ids[visible], boxes[visible])
