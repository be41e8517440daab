"""What is in an index, and how it changes: the base of `spatialindex.index.BoxIndex`.

It owns the object table, checks what comes in at the door, and brings the structure up to date
before a question, however many changes there were since the last one::

    insert, update, remove   -> the table, which notes what changed
    the next question        -> structure.apply(changes), once

An exception in between leaves the structure *torn*; the next question builds it anew.
"""

from __future__ import annotations

import threading
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spatialindex.checks import as_boxes
from spatialindex.constants import ALL, DEFAULT_LAYER, MAX_ROWS, NDIMS
from spatialindex.errors import InvalidArgumentError, SpatialIndexError
from spatialindex.execution import NO_LIMIT
from spatialindex.keeping import KeptAnswers
from spatialindex.objects import ObjectTable
from spatialindex.states import as_ids, as_known_ids, as_layers, is_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from spatialindex.changes import Changes
    from spatialindex.protocol import Parameter, Single, Structure

__all__ = ["Content", "seen_layers"]

_PLAIN_OPTIONS = (DEFAULT_LAYER, ALL, False, False, False, False)  # of insert, and more flags
_KEPT_SHARE = 0.05  # of the objects changed: beyond, pairs from scratch; structures know better


class Content:
    """Objects in a table, and the structure that follows it."""

    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self, ndim: int, structure: Callable[..., Structure], **parameters: Any) -> None:
        if not is_integer(ndim) or ndim not in NDIMS:
            raise InvalidArgumentError(f"ndim is {ndim!r}: boxes have 2 or 3 dimensions")
        for name, value in parameters.items():
            setattr(self, name, value)
        self._max_rows = MAX_ROWS
        if not hasattr(self, "_table"):  # else it is somebody else's, see `structure_on`
            self._table = self._make_table(int(ndim))
        self._structure = structure(self._table, **parameters)
        self._version = 0
        self._bounds: tuple[int, NDArray[np.float64] | None] = (-1, None)  # of some version
        self._is_synced = True
        self._is_torn = False  # set while changes are taken in: an exception leaves it set
        self._is_fresh = True
        self._kept = KeptAnswers()
        self._single: Single | None = None
        self._most_answers = 0
        self._lock = threading.RLock()

    def _make_table(self, ndim: int) -> ObjectTable:
        """Make the table that the index owns."""
        return ObjectTable(ndim)

    @classmethod
    def structure_on(cls, table: ObjectTable, **parameters: Any) -> Structure:
        """Make the structure of this class, its parameters checked, on somebody else's table.

        Parameters
        ----------
        table : ObjectTable
            What the structure reads; whoever owns it tells the structure of changes.
        **parameters
            Declared parameters of the class.
        """
        index = cls.__new__(cls)
        index._table = table
        index.__init__(table.ndim, **parameters)  # type: ignore[misc]
        return index._structure

    # -- what is in it ------------------------------------------------------------------------

    @property
    def max_rows(self) -> int:
        """Rows that an answer may have; more is a `ResultTooLargeError`."""
        return self._max_rows

    @max_rows.setter
    def max_rows(self, rows: int) -> None:
        if not is_integer(rows) or not 0 <= rows <= NO_LIMIT:
            raise InvalidArgumentError(f"max_rows is {rows!r}: pass a number of rows, 0 or more")
        self._max_rows = int(rows)

    def __len__(self) -> int:
        self._mend()
        return len(self._table)

    def __contains__(self, id_: object) -> bool:
        self._mend()
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
        self._mend()
        return self._table.slot_ids[self._table.ordered_slots()]

    @property
    def bounds(self) -> NDArray[np.float64] | None:
        """One box around all objects, float64 ``(2*ndim,)``, or None when there are none."""
        bounds = self._outer_bounds()
        return None if bounds is None else bounds.copy()

    def _outer_bounds(self) -> NDArray[np.float64] | None:
        """Return the bounds, worked out once until something changes; not to be written into."""
        if not len(self):
            return None
        version, bounds = self._bounds
        if version != self._version:
            version = self._version
            slots = self._table.live_slots()
            boxes = self._table.boxes
            boxes = boxes[: len(slots)] if len(slots) == self._table.high else boxes[slots]
            # column by column: along short rows, an inner loop would have two or three steps
            lower = [boxes[:, d].min() for d in range(self.ndim)]
            upper = [boxes[:, self.ndim + d].max() for d in range(self.ndim)]
            bounds = np.array([*lower, *upper])
            self._bounds = version, bounds
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
        self._mend()
        if ids is None:
            return self._table.ordered_slots()
        checked = as_known_ids(ids)
        slots = self._table.slots_of(checked if checked.ndim else checked.reshape(1), once=once)
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
        state = {
            "layer": layer,
            "mask": mask,
            "static": static,
            "asleep": asleep,
            "sensor": sensor,
        }
        return self._insert(boxes, ids, state)

    def _insert(self, boxes: ArrayLike, ids: ArrayLike | None, state: dict[str, Any]) -> Any:
        """Add objects with the options of `state`."""
        self._mend()
        checked = as_boxes(boxes, self.ndim)
        many = checked if checked.ndim == 2 else checked.reshape(1, -1)
        if many is not checked and ids is None and all(map(is_, state.values(), _PLAIN_OPTIONS)):
            self._admit(many)
            with self._change():
                id_ = self._table.insert_one(checked)
            if id_ >= 0:
                return id_
        keys = None if ids is None else as_ids(ids).reshape(-1)
        self._admit(many)
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
        self._mend()
        many = as_boxes(boxes, self.ndim).reshape(-1, 2 * self.ndim)
        one: Any = ids
        if type(one) is int and len(many) == 1:
            slot = self._table.slot_of(one)
            if slot >= 0:
                self._admit(many)
                with self._change():
                    self._table.update_one(slot, many[0])
                return
        slots = self._slots_for(ids, many)
        with self._change():
            self._table.update(slots, many)

    def _slots_for(self, ids: ArrayLike | None, boxes: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the slots of ids that are to have new checked boxes."""
        slots: NDArray[np.int32] = self._slots(ids, once=True).reshape(-1)
        if len(boxes) != len(slots):
            raise InvalidArgumentError(
                f"{len(boxes)} boxes for {len(slots)} ids; pass one box an id"
            )
        self._admit(boxes)
        return slots

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
        with self._change(is_noted=False):
            self._table.clear()
            self._kept.forget()
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
        state = {
            "layer": layer,
            "mask": mask,
            "static": static,
            "asleep": asleep,
            "sensor": sensor,
        }
        self._restate(ids, state)

    def _restate(self, ids: ArrayLike | None, state: dict[str, Any]) -> None:
        """Change what is not None in `state`."""
        slots = np.atleast_1d(self._slots(ids, once=True))
        with self._change():
            self._table.set_state(slots, state)

    def _admit(self, boxes: NDArray[np.float64]) -> None:
        """Refuse boxes that the structure was told not to take; here: none."""

    def _change(self, *, is_noted: bool = True) -> _Change:
        """Change the table: the structure is behind it then, and torn if that is interrupted.

        Unless the table notes what changes, the structure is torn in any case.
        """
        return _Change(self, is_noted)

    def _mend(self) -> None:
        """Make anew what an interrupted change has left behind the ids, slots and boxes."""
        if self._is_torn:
            self._sync()

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
        self._kept.note(changes, self._most_changed)
        if self._table.is_sparse():
            self._kept.forget()  # the slots noted as changed are renumbered
            self._table.compact()
            self._structure.rebuild()
        else:
            self._structure.apply(changes)
        self._is_fresh = False

    def _most_changed(self, rule: int) -> float:
        """Return after how many changes pairs under a rule are found afresh."""
        share: float = getattr(self._structure, "kept_share", _KEPT_SHARE)
        return share * len(self._table)

    def rebuild(self) -> None:
        """Build the structure afresh; never changes an answer, and costs nothing when it is fresh.

        Notes
        -----
        Worth a call after a bulk load that was followed by large changes.
        """
        with self._lock:
            if self._is_synced and self._is_fresh:
                return
            # changes not taken in yet are in the table: they are built with the rest, once
            self._is_synced, self._is_torn, self._single = False, True, None
            self._sync()
            self._is_fresh = True


class _Change:
    """The context of `Content._change`; one made of a generator takes three times as long."""

    __slots__ = ("_index", "_is_noted", "_version", "_was_torn")

    def __init__(self, index: Content, is_noted: bool) -> None:
        self._index = index
        self._is_noted = is_noted

    def __enter__(self) -> None:
        index = self._index
        self._was_torn, index._is_torn = index._is_torn, True
        index._is_synced = False
        index._single = None  # it holds addresses of arrays that may be replaced
        self._version = index._version
        index._version = self._version + 1  # first: a part of the change is one, too

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        index = self._index
        if kind is None:
            index._is_torn = self._was_torn or not self._is_noted
        elif issubclass(kind, SpatialIndexError):  # refused at the door: nothing has changed
            index._version = self._version
            index._is_torn = self._was_torn


def seen_layers(layers: int, name: str = "layers") -> int:
    """Check the layers that a question sees."""
    if layers is ALL:
        return ALL
    if np.ndim(layers):
        raise InvalidArgumentError(f"{name} is {layers!r}: pass one integer of bits")
    return int(as_layers(layers, 0, name=name))
