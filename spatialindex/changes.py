"""What has changed of the objects in a table, by slot, until it is handed to who follows it.

Changes are noted as bits of a slot and coalesced: a slot that is removed and used again arrives as
removed *and* added, one added and removed in between does not arrive::

    slot 3 moved, moved, restated    slot 5 added, moved    slot 7 added, removed
    added 5    moved 3    restated 3
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.constants import SLOT_DTYPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ADDED", "MOVED", "RESTATED", "Changes", "PendingChanges", "row_kernels"]

ADDED, REMOVED, MOVED, RESTATED = 1, 2, 4, 8
"""Bits of what has happened to a slot."""

_KINDS = (ADDED, REMOVED, MOVED, RESTATED)  # as the fields of Changes
_TOUCHED = 128  # set in a slot as long as anything is noted of it
_MARK_MOVED = np.uint8(MOVED | _TOUCHED)
_NO_CODES = np.empty(0, np.uint8)


class Changes(NamedTuple):
    """Slots that changed since the last time, coalesced: ascending int32 arrays.

    A slot whose object was removed and that holds another one by now is in `removed` *and* in
    `added`. A slot added and removed in between is in neither. Removals go first.
    """

    added: NDArray[np.int32]
    removed: NDArray[np.int32]
    moved: NDArray[np.int32]
    restated: NDArray[np.int32]
    """Slots whose layer, mask or flags changed; structures that keep no copy of them ignore it."""


class PendingChanges:
    """Changes that nobody has been told of yet.

    Parameters
    ----------
    capacity : int
        Slots that there is room for.
    """

    def __init__(self, capacity: int = 0) -> None:
        self._codes = np.zeros(capacity, np.uint8) if capacity else _NO_CODES
        self._touched: list[NDArray[np.int32]] = []

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._codes.nbytes

    def grow(self, capacity: int) -> None:
        """Make room for slots below `capacity`."""
        codes = np.zeros(capacity, np.uint8)
        codes[: len(self._codes)] = self._codes
        self._codes = codes

    def note(self, slots: NDArray[np.int32], rows: Any, bit: int) -> None:
        """Note a change of slots, each once; a slot that is new stays just new.

        `rows` are the slots, or the slice that they are, which is faster to index by.
        """
        if not len(slots):
            return
        before = self._codes[rows]
        if not before.any():
            self._touched.append(slots)
            self._codes[rows] = bit | _TOUCHED
            return
        fresh = slots[before == 0]
        if len(fresh):
            self._touched.append(fresh)
        more = bit if bit == ADDED else np.where(before & ADDED, 0, bit).astype(np.uint8)
        self._codes[rows] = before | more | _TOUCHED

    def note_one(self, slot: int, bit: int) -> None:
        """Note a change of one slot; a slot that is new stays just new."""
        before = int(self._codes[slot])
        if not before:
            self._touched.append(np.array([slot], SLOT_DTYPE))
        if bit == ADDED or not before & ADDED:
            before |= bit
        self._codes[slot] = before | _TOUCHED

    def note_run(self, slots: NDArray[np.int32], rows: slice) -> None:
        """Note that slots in one run are added, of which nothing is noted."""
        self._touched.append(slots)
        self._codes[rows] = ADDED | _TOUCHED

    def note_removed(self, slots: NDArray[np.int32], rows: Any) -> None:
        """Note that slots, each once, are free; `rows` as in `note`."""
        before = self._codes[rows]
        fresh = slots[before == 0]
        if len(fresh):
            self._touched.append(fresh)
        was_new = (before & ADDED) != 0
        self._codes[rows] = np.where(was_new, before & REMOVED, REMOVED) | _TOUCHED

    def move_rows(
        self, boxes: NDArray[np.float64], slots: NDArray[np.int32], new: NDArray[np.float64]
    ) -> int:
        """Write ``new[i]`` to ``boxes[slots[i]]`` and note it, each slot once.

        Stops at the first slot of which something is noted already. Returns how many are done.
        """
        done = int(row_kernels().move_rows(boxes, self._codes, slots, new, _MARK_MOVED))
        if done:
            self._touched.append(slots[:done])
        return done

    def take(self) -> Changes | None:
        """Hand out the changes since the last call, None when there are none."""
        if not self._touched:
            return None
        slots = self._touched[0] if len(self._touched) == 1 else np.concatenate(self._touched)
        self._touched = []
        codes = np.empty(len(slots), np.uint8)
        any_bits, all_bits, ascend = row_kernels().take_codes(self._codes, slots, codes)
        if not ascend:
            order = np.argsort(slots, kind="stable")
            slots, codes = slots[order], codes[order]
        if any_bits == all_bits:  # one kind of change: nothing to take apart
            nothing = slots[:0]
            return Changes(*[slots if any_bits & bit else nothing for bit in _KINDS])
        return Changes(*[slots[(codes & bit) != 0] for bit in _KINDS])


@cache
def row_kernels() -> Any:
    """Return the kernels of rows, which not everybody needs who imports this module."""
    from spatialindex.kernels import rows

    return rows
