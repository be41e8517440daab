"""An object table that keeps hulls of motion.

A *continuous* object pairs by the hull of its boxes since the last step, so that a bullet meets the
wall that it has passed in between; questions see its present box::

    after a step        box [0, 1]   cover [0, 1]
    update to [8, 9]    box [8, 9]   cover [0, 9]
    update to [5, 6]    box [5, 6]   cover [0, 9]
    settle              box [5, 6]   cover [5, 6], and the slot counts as moved

Nothing of this costs anything until the first object is continuous. From then on each change writes
a box twice; while no hull is larger than its box, `cover` is `boxes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.errors import InvariantError
from spatialindex.objects import ObjectTable
from spatialindex.states import as_flags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["SweptTable"]

_NO_FLAGS = np.empty(0, np.bool_)
_NO_SLOTS = np.empty(0, SLOT_DTYPE)


class SweptTable(ObjectTable):
    """Ids, boxes, states, and covers of what is continuous."""

    def clear(self) -> None:
        """Forget all objects; the highest id given out stays."""
        super().clear()
        self._covers: NDArray[np.float64] | None = None  # by slot, once an object was continuous
        self._is_continuous = _NO_FLAGS
        self._swept: list[NDArray[np.int32]] = []  # slots whose cover may be a hull

    @property
    def cover(self) -> NDArray[np.float64]:
        """Boxes by slot that structures cover and that decide pairs, ``(capacity, 2*ndim)``."""
        return self._covers if self._swept and self._covers is not None else self.boxes

    @property
    def is_swept(self) -> bool:
        """Whether the cover of a slot may be larger than its box."""
        return bool(self._swept)

    def swept_slots(self) -> NDArray[np.int32]:
        """Return the slots whose cover may be larger than their box, ascending, int32."""
        return np.unique(np.concatenate(self._swept)) if self._swept else _NO_SLOTS

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        covers = 0 if self._covers is None else self._covers.nbytes
        swept = sum(slots.nbytes for slots in self._swept)
        return super().nbytes + covers + self._is_continuous.nbytes + swept

    def continuous(self, slots: Any) -> NDArray[np.bool_]:
        """Tell which of some slots are continuous."""
        if self._covers is None:
            return np.zeros(np.shape(slots), np.bool_)
        return np.asarray(self._is_continuous[slots])

    # -- changing -----------------------------------------------------------------------------

    def insert(
        self, boxes: NDArray[np.float64], ids: NDArray[np.int64] | None, state: Mapping[str, Any]
    ) -> NDArray[np.int64]:
        """Add objects; `state` may have the field ``continuous`` as well."""
        plain = dict(state)
        said = plain.pop("continuous", False)
        flags = None if said is False else as_flags(said, len(boxes), name="continuous")
        new = super().insert(boxes, ids, plain)
        if flags is not None and flags.any():
            self._start()
        if self._covers is not None:
            slots = self.find(new)
            self._covers[slots] = boxes
            self._is_continuous[slots] = False if flags is None else flags
        return new

    def insert_one(self, box: NDArray[np.float64]) -> int:
        """Add one object with a checked box and no options; -1 when that takes more."""
        slot = super().insert_one(box)
        if slot >= 0 and self._covers is not None:
            self._covers[slot] = box
            self._is_continuous[slot] = False
        return slot

    def update(self, slots: NDArray[np.int32], boxes: NDArray[np.float64]) -> None:
        """Give slots, each once, new checked boxes."""
        super().update(slots, boxes)
        self._sweep(slots)

    def update_one(self, slot: int, box: NDArray[np.float64]) -> None:
        """Give one slot a new checked box."""
        super().update_one(slot, box)
        if self._covers is not None:
            self._sweep(np.array([slot], SLOT_DTYPE))

    def teleport(self, slots: NDArray[np.int32], boxes: NDArray[np.float64]) -> None:
        """Give slots new boxes that they have not moved to: their hulls begin there."""
        super().update(slots, boxes)
        if self._covers is not None:
            self._covers[slots] = boxes

    def set_state(self, slots: NDArray[np.int32], state: Mapping[str, Any]) -> None:
        """Change fields of the state of slots; `state` may have ``continuous`` as well."""
        plain = dict(state)
        said = plain.pop("continuous", None)
        flags = None if said is None else as_flags(said, len(slots), name="continuous")
        super().set_state(slots, plain)
        if flags is None:
            return
        if flags.any():
            self._start()
        if self._covers is not None:
            self._is_continuous[slots] = flags
            self._shrink(slots[~np.broadcast_to(flags, len(slots))])

    def remove(self, slots: NDArray[np.int32]) -> None:
        """Free slots, each once."""
        super().remove(slots)
        if self._covers is not None:
            self._is_continuous[slots] = False

    def settle(self) -> None:
        """Let all hulls shrink to the present boxes, as after a step."""
        if self._swept:
            slots = self.swept_slots()
            self._shrink(slots[self.slot_ids[slots] >= 0])
            self._swept = []

    def _start(self) -> None:
        """Keep covers from now on."""
        if self._covers is None:
            self._covers = self.boxes.copy()
            self._is_continuous = np.zeros(len(self.boxes), np.bool_)

    def _sweep(self, slots: NDArray[np.int32]) -> None:
        """Bring covers up to date with boxes."""
        if self._covers is None or not len(slots):
            return
        from spatialindex.kernels.roles import sweep_covers

        dim = (0,) * self.ndim
        if sweep_covers(self.boxes, self._covers, self._is_continuous, slots, dim):
            self._swept.append(slots[self._is_continuous[slots]])

    def _shrink(self, slots: NDArray[np.int32]) -> None:
        """Let covers be boxes again; slots for which that is a change count as moved."""
        covers = self._covers
        if covers is None:
            return
        slots = slots[(covers[slots] != self.boxes[slots]).any(axis=1)]
        covers[slots] = self.boxes[slots]
        self.note_moved(slots)

    # -- upkeep -------------------------------------------------------------------------------

    def _reserve(self, capacity: int) -> None:
        """Make room for slots below `capacity`, at least doubling."""
        super()._reserve(capacity)
        covers = self._covers
        if covers is not None and len(covers) < len(self.boxes):
            old = len(covers)
            self._covers = np.empty_like(self.boxes)
            self._covers[:old] = covers
            flags = np.zeros(len(self.boxes), np.bool_)
            flags[:old] = self._is_continuous
            self._is_continuous = flags

    def _compacted(self) -> Self:
        """Return a table of the same objects, with their covers, without gaps."""
        fresh = super()._compacted()
        if self._covers is not None:
            slots = self.ordered_slots()
            covers, flags = self._covers[slots], self._is_continuous[slots]
            fresh._restore(fresh.ordered_slots(), covers, flags)
        return fresh

    def repair(self) -> None:
        """Make all that is derived anew, after an interrupted change; hulls hold what they held."""
        super().repair()
        if self._covers is None:
            return
        known = min(len(self._covers), len(self._is_continuous), len(self.boxes))
        found = np.flatnonzero(self._is_continuous[:known] & (self.slot_ids[:known] >= 0))
        slots = found.astype(SLOT_DTYPE)
        d = self.ndim
        old, now = self._covers[slots], self.boxes[slots]
        lower, upper = np.minimum(old[:, :d], now[:, :d]), np.maximum(old[:, d:], now[:, d:])
        self._restore(slots, np.hstack([lower, upper]), np.ones(len(slots), np.bool_))

    def _restore(
        self, slots: NDArray[np.int32], covers: NDArray[np.float64], flags: NDArray[np.bool_]
    ) -> None:
        """Start anew with the covers and flags of some slots; all others are plain."""
        self._covers = self.boxes.copy()
        self._covers[slots] = covers
        self._is_continuous = np.zeros(len(self.boxes), np.bool_)
        self._is_continuous[slots] = flags
        self._swept = [slots[flags]] if flags.any() else []

    def validate(self) -> None:
        """Raise `InvariantError` when ids, slots, count and map, or covers, do not agree."""
        super().validate()
        if self._covers is None:
            return
        live = self.live_slots()
        covers, boxes = self._covers[live], self.boxes[live]
        differs = (covers != boxes).any(axis=1)
        known = np.zeros(len(self.boxes), np.bool_)
        for slots in self._swept:
            known[slots] = True
        if (differs & ~(self._is_continuous[live] & known[live])).any():
            raise InvariantError("table: the cover of a slot that has no hull is not its box")
        d = self.ndim
        if (covers[:, :d] > boxes[:, :d]).any() or (covers[:, d:] < boxes[:, d:]).any():
            raise InvariantError("table: a hull does not hold the present box")
        if self._is_continuous[self.slot_ids < 0].any():
            raise InvariantError("table: a free slot is continuous")
