"""Pairs of a step: of those in motion, and of those at rest, which are left alone.

What is asleep lies on what is asleep or static, and nothing of that changes until one of them does.
So a step compares the rows of active pairs, and of resting ones only what has come and gone::

    at the step before    active (1, 2) (1, 5)    resting (3, 4) (4, 9) ...
    5 falls asleep, 3 is removed
    now                   active (1, 2)           resting (1, 5) (4, 9) ...
    left (3, 4)   came (1, 5)
    compared   (1, 2) (1, 5) (3, 4)   with   (1, 2) (1, 5)         ended: (3, 4)

Whose changes can matter to resting pairs is noted while they are handed to the parts (`RestNotes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.constants import ID_DTYPE
from spatialindex.keeping import closed, gathered, marked, opened
from spatialindex.kernels.events import part_rows
from spatialindex.kernels.roles import RESTING
from spatialindex.split.tracker import NO_PAIRS, CodedRows, Comparison

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["RestNotes", "RestingChange", "StepPairs"]

_FEW_NOTES = 1024  # slots that are noted whatever the number of objects


class RestNotes:
    """Slots that have changed since the last step, and whether one of them was or is at rest.

    Attributes
    ----------
    is_known : bool
        False before the first step, and when slots were numbered anew since the last one: resting
        pairs are then found from scratch.
    is_disturbed : bool
        Whether one of the slots was or is at rest.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Let nothing be known."""
        self._start(is_known=False)

    def settle(self) -> None:
        """Begin anew after a step."""
        self._start(is_known=True)

    def _start(self, *, is_known: bool) -> None:
        self.is_known = is_known
        self.is_disturbed = False
        self._slots: list[NDArray[np.int32]] = []
        self._n_slots = 0

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(slots.nbytes for slots in self._slots)

    def note(self, slots: NDArray[np.int32], any_bits: int, n_objects: int) -> None:
        """Note slots with the bits that any code has that they have or had.

        Too many are not worth noting.
        """
        if not self.is_known or not len(slots):
            return
        self.is_disturbed = self.is_disturbed or bool(any_bits & RESTING)
        self._slots.append(slots)
        self._n_slots += len(slots)
        if self._n_slots > 4 * n_objects + _FEW_NOTES:
            self._slots = [gathered(self._slots)]
            self._n_slots = len(self._slots[0])
            if self._n_slots > 2 * n_objects + _FEW_NOTES:
                self.forget()

    def marks(self, table: ObjectTable) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return marks of the slots noted, and those of them that hold an object, ascending."""
        return marked(self._slots, table)


class RestingChange(NamedTuple):
    """Resting pairs now, and what of them has left and come since the step before.

    A pair that both left and came has stayed.
    """

    now: CodedRows
    left: CodedRows
    came: CodedRows


class StepPairs:
    """The pairs of the last step.

    Attributes
    ----------
    active, resting : CodedRows
        Pairs with a member in motion, and pairs of sleepers with others at rest.
    """

    def __init__(self) -> None:
        self.active = self.resting = NO_PAIRS
        self._comparison = Comparison()

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.active.nbytes + self.resting.nbytes

    def __len__(self) -> int:
        return len(self.active.rows) + len(self.resting.rows)

    def members(self) -> NDArray[np.int64]:
        """Return the ids in pairs, ascending, each once."""
        return np.unique(np.concatenate([self.active.rows, self.resting.rows]))

    def same_resting(self) -> RestingChange:
        """Return that no resting pair has come or gone."""
        return RestingChange(self.resting, NO_PAIRS, NO_PAIRS)

    def new_resting(self, now: CodedRows) -> RestingChange:
        """Return the change to resting pairs found from scratch."""
        return RestingChange(now, self.resting, now)

    def changed_resting(
        self, table: ObjectTable, marks: NDArray[np.uint8], came: CodedRows
    ) -> RestingChange:
        """Return the change to resting pairs less those of marked slots, and what these have."""
        old = self.resting
        n = len(old.rows)
        kept, kept_codes = np.empty((n + 1, 2), ID_DTYPE), np.empty(n + 1, np.uint8)
        gone, gone_codes = np.empty((n + 1, 2), ID_DTYPE), np.empty(n + 1, np.uint8)
        with opened(old.rows):
            members = table.member_slots(old.rows)
            k = part_rows(*old, members, marks, kept, kept_codes, gone, gone_codes)
        stays = CodedRows(closed(kept[:k]), kept_codes[:k])
        left = CodedRows(closed(gone[: n - k]), gone_codes[: n - k])
        return RestingChange(stays.merged(came), left, came)

    def compared(
        self, active: CodedRows, resting: RestingChange, renewed: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], ...]:
        """Compare the pairs of the next step with these.

        Returns what began, ended, began with a sensor and ended with one. `renewed`, ascending, are
        ids that mean another object now.
        """
        is_same = active.rows is self.active.rows  # whatever changes a code makes new rows
        if is_same and not len(resting.left.rows) and not len(resting.came.rows):
            return tuple(np.empty((0, 2), ID_DTYPE) for _ in range(4))
        old, new = self.active.merged(resting.left), active.merged(resting.came)
        return self._comparison.of(old, new, renewed)

    def take(self, active: CodedRows, resting: RestingChange) -> None:
        """Let the pairs of the next step be these."""
        self.active, self.resting = active, resting.now

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.active = self.active._replace(rows=closed(self.active.rows))
        self.resting = self.resting._replace(rows=closed(self.resting.rows))
