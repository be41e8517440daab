"""The object table: which ids exist, in which slot, with which exact box and state.

Ids are the caller's int64 numbers; a *slot* is an int32 row of the table's arrays, which is what
structures keep. As long as ids are dense, a slot simply *is* its id and nothing is looked up. The
first id that would leave most of the table empty turns on a hash map::

    insert ids 0, 1, 2      slots 0, 1, 2    no map
    insert id 10**12        slot 3           map {0: 0, 1: 1, 2: 2, 10**12: 3}
    remove id 1             slot 1 is free   map {0: 0, 2: 2, 10**12: 3}

Changes are noted until `take_changes` hands them out, see `spatialindex.changes`.

All methods check everything before they change anything: a call that raises has changed nothing.
The table does not know any structure, and nothing of it shrinks but by `clear`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from spatialindex.changes import ADDED, MOVED, RESTATED, PendingChanges, row_kernels
from spatialindex.constants import (
    ALL,
    AMONG,
    DEFAULT_LAYER,
    ID_DTYPE,
    NDIMS,
    SENSORS,
    SLOT_DTYPE,
    STATE_DTYPE,
)
from spatialindex.errors import (
    DuplicateIdError,
    InvalidArgumentError,
    InvariantError,
    UnknownIdError,
)
from spatialindex.execution import reuse_freed_memory
from spatialindex.states import DEFAULTS, DOORS, IDS_ARE, LARGEST_ID, is_integer, refuse_repeats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from spatialindex.changes import Changes

__all__ = ["Labels", "ObjectTable"]

_MANY = 8192  # slots whose arrays are worth reusing memory for
_SPARE_SLOTS = 1024  # slots an identity table may leave empty whatever its size
_LARGEST_LABEL = 2**32 - 1
_NO_BOXES = {ndim: np.empty((0, 2 * ndim)) for ndim in NDIMS}  # nothing is written to any of these
_NO_STATE = np.empty(0, STATE_DTYPE)
_NO_IDS = np.empty(0, ID_DTYPE)
_NO_SLOTS = np.empty(0, SLOT_DTYPE)
_NO_MEMBERS = np.empty((0, 2), SLOT_DTYPE)


class Labels(NamedTuple):
    """Numbers below ``2**32`` that sort things as their ids do, and the way back to ids."""

    of: NDArray[np.int64]
    """The label of each slot or row; empty when a slot or row is its own label."""
    names: NDArray[np.int64]
    """The id of each label; empty when a label is the id."""
    bits: int
    """Every label is below ``2**bits``."""


_PLAIN = np.array(tuple(DEFAULTS.values()), STATE_DTYPE)


class ObjectTable:
    """Ids, exact boxes and states of the objects of one index.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.

    Attributes
    ----------
    boxes : float64 array of shape (capacity, 2*ndim)
        Exact boxes by slot; what decides questions. Reallocated when the table grows.
    state : structured array of shape (capacity,)
        Layer, mask and flags by slot, of `constants.STATE_DTYPE`.
    slot_ids : int64 array of shape (capacity,)
        The id in each slot, -1 in a free one.
    high : int
        All slots in use are below.
    """

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim
        self.next_id = 0
        self.clear()

    def clear(self) -> None:
        """Forget all objects; the highest id given out stays."""
        none = _NO_BOXES[self.ndim], _NO_STATE, _NO_IDS, PendingChanges()
        # at once: an interrupt finds all of the objects here or none
        self.boxes, self.state, self.slot_ids, self._pending = none
        self.high = 0
        self._count = 0
        # the hash map, used once ids are not dense any more
        self._is_mapped = False
        self._map_ids = _NO_IDS
        self._map_slots = _NO_SLOTS
        self._free = _NO_SLOTS  # a stack of free slots and its height
        self._n_free = 0
        # what the pair filter can leave out; never taken back but by clear, which costs nothing
        self._has_layers = self._has_layerless = False
        self._has_static = self._has_asleep = self._has_sensors = False
        self._order: NDArray[np.int32] | None = None
        self._labels: Labels | None = None

    def __len__(self) -> int:
        return self._count

    def __contains__(self, id_: Any) -> bool:
        if not is_integer(id_) or not 0 <= id_ <= LARGEST_ID:
            return False
        return bool(self.find(np.array([id_], ID_DTYPE))[0] >= 0)

    @property
    def cover(self) -> NDArray[np.float64]:
        """Boxes by slot that structures cover and that decide pairs, ``(capacity, 2*ndim)``."""
        return self.boxes

    def covers_of(self, slots: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return a copy of what slots cover, ``(n, 2*ndim)``; ``cover[slots]`` takes five times."""
        return self.cover.take(slots, axis=0)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        arrays = [self.boxes, self.state, self.slot_ids, self._map_ids, self._map_slots]
        arrays.append(self._free)
        if self._order is not None:
            arrays.append(self._order)
        if self._labels is not None:
            arrays += [self._labels.of, self._labels.names]
        return self._pending.nbytes + sum(array.nbytes for array in arrays)

    # -- looking up ---------------------------------------------------------------------------

    def live_slots(self) -> NDArray[np.int32]:
        """Slots in use, ascending, int32 ``(n,)``."""
        if self._count == self.high:
            return np.arange(self.high, dtype=SLOT_DTYPE)
        return np.flatnonzero(self.slot_ids[: self.high] >= 0).astype(SLOT_DTYPE)

    def ordered_slots(self) -> NDArray[np.int32]:
        """Slots by ascending id, int32 ``(n,)``; sorted once until the ids change."""
        if self._order is None:
            slots = self.live_slots()
            if self._is_mapped:
                slots = slots[np.argsort(self.slot_ids[slots], kind="stable")]
            self._order = slots
        return self._order

    def slots_of(self, ids: NDArray[np.int64], *, once: bool) -> NDArray[np.int32]:
        """Return the slots of ids of shape ``(n,)``.

        Raises `UnknownIdError` for an id that is not there, `InvalidArgumentError` if that is
        negative and, with `once`, `DuplicateIdError` for an id that is in the batch twice.
        """
        slots, are_there, ascend = self._find(ids)
        if not are_there:
            row = int(np.flatnonzero(slots < 0)[0])
            where, id_ = f"ids[{row}]" if len(ids) > 1 else "id", int(ids[row])
            if id_ < 0:
                raise InvalidArgumentError(f"{where} is {id_}: {IDS_ARE}")
            raise UnknownIdError(
                f"{where} is {id_}, which is not in the index of {len(self)} objects; "
                "insert it first"
            )
        if once and not ascend:
            refuse_repeats(ids)
        return slots

    def find(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the slot of each id, -1 where there is none."""
        return self._find(ids)[0]

    def _find(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int32], bool, bool]:
        """Return the slot of each id, or -1, whether all are there, and whether ids ascend."""
        slots = np.empty(len(ids), SLOT_DTYPE)
        if self._is_mapped:
            return slots, *_map_kernels().find_ids(self._map_ids, self._map_slots, ids, slots)
        return slots, *row_kernels().find_rows(self.slot_ids, self.high, ids, slots)

    def ids_in(self, slots: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the ids in slots, of the same shape; -1 for slot -1. There is some object."""
        if not self._is_mapped:
            return slots.astype(ID_DTYPE)
        ids: NDArray[np.int64] = self.slot_ids.take(slots, mode="clip")
        ids |= slots >> 31  # all bits where it is -1
        return ids

    def member_slots(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the slots of ids in ``(m, 2)`` rows, -1 for ids that are gone; none: the ids."""
        if not self._is_mapped:
            return _NO_MEMBERS
        return self.find(rows.reshape(-1)).reshape(-1, 2)

    def labels(self) -> Labels:
        """Return numbers that sort as ids do and fit 32 bits."""
        if not self._is_mapped:
            return Labels(_NO_IDS, _NO_IDS, max(self.high - 1, 0).bit_length())
        if self.next_id <= _LARGEST_LABEL:
            return Labels(self.slot_ids, _NO_IDS, self.next_id.bit_length())
        if self._labels is None:
            slots = self.ordered_slots()
            of_slot = np.zeros(len(self.slot_ids), ID_DTYPE)
            of_slot[slots] = np.arange(len(slots))
            self._labels = Labels(of_slot, self.slot_ids[slots], len(slots).bit_length())
        return self._labels

    def pair_rule(self, among: str, sensors: str) -> int:
        """Return the rule of `kernels.decide` for these options, 0 when nothing can be left out."""
        if among == "active" and not self._has_asleep:
            among = "dynamic"  # the same then, under one rule
        rule = 1 if self._has_layers or self._has_layerless else 0
        if self._has_static or among == "active":
            rule |= AMONG.index(among) << 1
        if self._has_sensors or sensors == "only":
            rule |= SENSORS.index(sensors) << 3
        return rule

    def sees_all(self, layers: int) -> bool:
        """Tell if a question with these layers can skip looking at the objects' layers."""
        if self._has_layerless:
            return False
        return layers == ALL or (not self._has_layers and bool(layers & DEFAULT_LAYER))

    # -- changing -----------------------------------------------------------------------------

    def insert(
        self, boxes: NDArray[np.float64], ids: NDArray[np.int64] | None, state: Mapping[str, Any]
    ) -> NDArray[np.int64]:
        """Add objects with checked boxes ``(n, 2*ndim)`` and return their ids.

        `ids` None gives out the next ones. `state` holds every field of `constants.STATE_DTYPE`.
        """
        n, is_run = len(boxes), ids is None
        values = {
            key: DOORS[key](value, n, name=key)
            for key, value in state.items()
            if value is not DEFAULTS[key]
        }
        if ids is None:
            if n and self.next_id + n - 1 > LARGEST_ID:
                raise InvalidArgumentError(
                    "no id is left to give out above the highest used; pass ids of your own"
                )
            largest = self.next_id + n - 1
            ids = np.arange(self.next_id, largest + 1, dtype=ID_DTYPE)
        elif len(ids) != n:
            raise InvalidArgumentError(f"{len(ids)} ids for {n} boxes; pass one id a box")
        else:
            largest = int(ids.max(initial=-1))
            refuse_repeats(ids)
            there = self.find(ids) >= 0
            if there.any():
                row = int(np.flatnonzero(there)[0])
                where = f"ids[{row}]" if n > 1 else "id"
                raise DuplicateIdError(
                    f"{where} is {int(ids[row])}, which is in the index already; "
                    "update it or choose another id"
                )
        if not n:
            return ids
        slots = self._allot(ids, largest)
        is_run = is_run and not self._is_mapped
        rows = slice(largest + 1 - n, largest + 1) if is_run else _as_rows(slots)
        self._note_state(values)  # first: an interrupt may leave them in slots without an object
        self.boxes[rows] = boxes
        self.state["layer"][rows] = values.get("layer", DEFAULT_LAYER)
        self.state["mask"][rows] = values.get("mask", ALL)
        for key, is_used in (
            ("static", self._has_static),
            ("asleep", self._has_asleep),
            ("sensor", self._has_sensors),
        ):
            if key in values or is_used:  # else the flag has never been set in any slot
                self.state[key][rows] = values.get(key, False)
        self.slot_ids[rows] = ids  # last: now they exist
        self._count += n
        self.next_id = max(self.next_id, largest + 1)
        self._order = self._labels = None
        if is_run:  # of ids never used before: nothing is pending of their slots
            self._pending.note_run(slots, rows)
        else:
            self._pending.note(slots, rows, ADDED)
        return ids

    def update(self, slots: NDArray[np.int32], boxes: NDArray[np.float64]) -> None:
        """Give slots, each once, new checked boxes."""
        rows = _as_rows(slots)
        if rows is slots:
            done = self._pending.move_rows(self.boxes, slots, boxes)
            if done == len(slots):
                return
            slots = rows = slots[done:]
            boxes = boxes[done:]
        self.boxes[rows] = boxes
        self._pending.note(slots, rows, MOVED)

    def remove(self, slots: NDArray[np.int32]) -> None:
        """Free slots, each once."""
        if not len(slots):
            return
        if self._is_mapped:
            _map_kernels().remove_ids(self._map_ids, self._map_slots, self.slot_ids[slots])
            self._free[self._n_free : self._n_free + len(slots)] = slots
            self._n_free += len(slots)
        rows = _as_rows(slots)
        self.slot_ids[rows] = -1
        self._count -= len(slots)
        self._order = self._labels = None
        self._pending.note_removed(slots, rows)

    def set_state(self, slots: NDArray[np.int32], state: Mapping[str, Any]) -> None:
        """Change fields of the state of slots, each once; None leaves a field alone."""
        values = {
            key: DOORS[key](value, len(slots), name=key)
            for key, value in state.items()
            if value is not None
        }
        rows = _as_rows(slots)
        self._note_state(values)  # first: what an interrupt leaves of the change counts
        for key, value in values.items():
            self.state[key][rows] = value
        if values:
            self._pending.note(slots, rows, RESTATED)

    # -- one object: the same without arrays, for calls that cost more than their work ------------

    def slot_of(self, id_: int) -> int:
        """Return the slot of one id; -1 when that takes more than a look."""
        if self._is_mapped or not 0 <= id_ < self.high or self.slot_ids[id_] < 0:
            return -1
        return id_

    def insert_one(self, box: NDArray[np.float64]) -> int:
        """Add one object with a checked box and no options; -1 when that takes more than a look."""
        id_ = self.next_id
        if self._is_mapped or id_ >= 2 * (self._count + 1) + _SPARE_SLOTS:
            return -1
        self._reserve(id_ + 1)
        self.boxes[id_] = box
        self.state[id_] = _PLAIN
        self.slot_ids[id_] = id_
        self._count += 1
        self.next_id = self.high = id_ + 1
        self._order = self._labels = None
        self._pending.note_one(id_, ADDED)
        return id_

    def update_one(self, slot: int, box: NDArray[np.float64]) -> None:
        """Give one slot a new checked box."""
        self.boxes[slot] = box
        self._pending.note_one(slot, MOVED)

    def note_moved(self, slots: NDArray[np.int32]) -> None:
        """Note that what slots cover, each once, has changed, whether their boxes have or not."""
        self._pending.note(slots, slots, MOVED)

    def take_changes(self) -> Changes | None:
        """Hand out the changes since the last call, None when there are none."""
        return self._pending.take()

    def _note_state(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Remember which parts of the pair filter can matter from now on."""
        layer, mask = values.get("layer"), values.get("mask")
        if layer is not None and (layer != DEFAULT_LAYER).any():
            self._has_layers = True
            self._has_layerless = self._has_layerless or bool((layer == 0).any())
        if mask is not None and (mask != ALL).any():
            self._has_layers = True
        self._has_static = self._has_static or _any(values.get("static"))
        self._has_asleep = self._has_asleep or _any(values.get("asleep"))
        self._has_sensors = self._has_sensors or _any(values.get("sensor"))

    def is_sparse(self) -> bool:
        """Tell if most slots are empty: time for `compact`."""
        return len(self.slot_ids) > 4 * self._count + 4 * _SPARE_SLOTS

    def compact(self) -> None:
        """Give all objects new slots, without gaps; forgets changes not handed out."""
        fresh = self._compacted()
        self.__dict__.update(fresh.__dict__)  # at once: an interrupt finds the old or the new

    def _compacted(self) -> Self:
        """Return a table of the same objects without gaps."""
        slots = self.ordered_slots()
        state = self.state[slots]
        fresh = type(self)(self.ndim)
        values = {key: state[key] for key in STATE_DTYPE.names or ()}
        fresh.insert(self.boxes[slots], self.slot_ids[slots], values)
        fresh.next_id = self.next_id
        fresh.take_changes()
        return fresh

    def repair(self) -> None:
        """Make all that is derived from ids, slots and boxes anew, after an interrupted change.

        An object exists as soon as its slot has its id, and no longer.
        """
        live = np.flatnonzero(self.slot_ids >= 0)
        self._count = len(live)
        self.high = int(live[-1]) + 1 if len(live) else 0
        if len(live):
            self.next_id = max(self.next_id, int(self.slot_ids.max()) + 1)
        self._pending = PendingChanges(len(self.slot_ids))
        self._order = self._labels = None
        self._map_ids = _NO_IDS
        if self._is_mapped:
            self._start_map()

    def validate(self) -> None:
        """Raise `InvariantError` when ids, slots, count and map do not agree."""
        live = np.flatnonzero(self.slot_ids >= 0)
        ids = self.slot_ids[live]
        if len(live) != self._count:
            raise InvariantError(f"table: {len(live)} slots are in use, the count is {self._count}")
        if len(live) and live[-1] >= self.high:
            raise InvariantError(f"table: slot {live[-1]} is in use, beyond the {self.high} known")
        if len(np.unique(ids)) != len(ids):
            raise InvariantError("table: an id is in two slots")
        if len(ids) and ids.max() >= self.next_id:
            raise InvariantError(f"table: id {ids.max()} is beyond the next one, {self.next_id}")
        if not np.array_equal(self.find(ids), live):
            raise InvariantError("table: an id does not lead to its slot")
        if self._is_mapped:
            free = np.sort(self._free[: self._n_free])
            if not np.array_equal(free, np.setdiff1d(np.arange(self.high), live)):
                raise InvariantError("table: the free slots are not those without an object")
            if np.count_nonzero(self._map_ids >= 0) != self._count:
                raise InvariantError("table: the map holds other ids than the slots")
        lower, upper = self.boxes[live, : self.ndim], self.boxes[live, self.ndim :]
        if not (np.isfinite(self.boxes[live]).all() and (lower <= upper).all()):
            raise InvariantError("table: a stored box is not finite or inverted")

    # -- slots --------------------------------------------------------------------------------

    def _allot(self, ids: NDArray[np.int64], largest: int) -> NDArray[np.int32]:
        """Choose a slot for each new id and make room for it."""
        n = len(ids)
        if not self._is_mapped:
            if largest < 2 * (self._count + n) + _SPARE_SLOTS:
                self._reserve(largest + 1)
                self.high = max(self.high, largest + 1)
                return ids.astype(SLOT_DTYPE)
            self._start_map()
        n_reused = min(n, self._n_free)
        reused = self._free[self._n_free - n_reused : self._n_free]
        fresh = np.arange(self.high, self.high + n - n_reused, dtype=SLOT_DTYPE)
        slots = np.concatenate([reused, fresh])
        self._reserve(self.high + len(fresh))
        self._reserve_map(self._count + n)
        _map_kernels().add_ids(self._map_ids, self._map_slots, ids, slots)
        self._n_free -= n_reused
        self.high += len(fresh)
        return slots

    def _start_map(self) -> None:
        """Go over from slots that are ids to slots that are looked up."""
        self._is_mapped = True
        free = np.flatnonzero(self.slot_ids[: self.high] < 0).astype(SLOT_DTYPE)
        self._n_free = len(free)
        self._free = np.empty(len(self.slot_ids), SLOT_DTYPE)
        self._free[: len(free)] = free[::-1]
        self._reserve_map(self._count)

    def _reserve(self, capacity: int) -> None:
        """Make room for slots below `capacity`, at least doubling."""
        old = len(self.slot_ids)
        if capacity <= old:
            return
        # the first batch gets what it needs: bulk loads are not charged for growth to come
        capacity = max(capacity, old + old // 2, 16)
        if capacity >= _MANY:
            reuse_freed_memory()
        boxes = np.empty((capacity, 2 * self.ndim))
        state = np.zeros(capacity, STATE_DTYPE)
        slot_ids = np.empty(capacity, ID_DTYPE)
        slot_ids[old:] = -1
        if old:
            boxes[:old], state[:old], slot_ids[:old] = self.boxes, self.state, self.slot_ids
        self._pending.grow(capacity)  # first: it may have room for more slots than there are
        self.boxes, self.state, self.slot_ids = boxes, state, slot_ids
        if self._is_mapped:
            free = np.empty(capacity, SLOT_DTYPE)
            free[: self._n_free] = self._free[: self._n_free]
            self._free = free

    def _reserve_map(self, entries: int) -> None:
        """Make room in the hash map, at most half full."""
        if len(self._map_ids) and 2 * entries <= len(self._map_ids):
            return  # a map without places could not be searched, not even for nothing
        size = 1 << (2 * max(entries, 8)).bit_length()
        self._map_ids = np.full(size, -1, ID_DTYPE)
        self._map_slots = np.empty(size, SLOT_DTYPE)
        slots = self.live_slots()
        _map_kernels().add_ids(self._map_ids, self._map_slots, self.slot_ids[slots], slots)


@cache
def _map_kernels() -> Any:
    """Return the kernels of the hash map, which hardly anybody needs."""
    from spatialindex.kernels import idmap

    return idmap


def _any(values: NDArray[Any] | None) -> bool:
    return values is not None and bool(values.any())


def _as_rows(slots: NDArray[np.int32]) -> Any:
    """Return a slice for slots in one ascending run, which is several times faster to index by."""
    n = len(slots)
    if n and slots[-1] - slots[0] == n - 1 and (n == 1 or (slots[1:] > slots[:-1]).all()):
        return slice(int(slots[0]), int(slots[0]) + n)
    return slots
