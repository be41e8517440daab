"""The pairs of the last call, kept until something changes, and what has changed since.

Most objects of most scenes rest or move where nobody is. After a few changes the next pairs are the
kept ones, less the rows of changed objects, plus what the changed objects touch now: what is asked
follows what changed, and one pass over the kept rows merges it in. When much has changed, pairs
from scratch are cheaper; where that border lies is a measured constant of each structure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.constants import ID_DTYPE, SLOT_DTYPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.objects import Changes, ObjectTable

__all__ = ["KeptPairs"]

_NO_SLOTS = np.empty((0, 2), SLOT_DTYPE)


class KeptPairs:
    """Rows of one answer of `pairs`, the options they were asked with, and slots changed since.

    Attributes
    ----------
    rows : (m, 2) int64 array or None
        The answer, read-only.
    options : tuple or None
        What was asked last, kept when the rows are forgotten.
    """

    def __init__(self) -> None:
        self.rows: NDArray[np.int64] | None = None
        self.options: tuple[str, str] | None = None
        self._changed: list[NDArray[np.int32]] = []

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.rows is not None:
            self.rows.flags.writeable = False  # copies and pickles forget it

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        changed = sum(slots.nbytes for slots in self._changed)
        return changed + (0 if self.rows is None else self.rows.nbytes)

    @property
    def n_changed(self) -> int:
        """Number of changes since, an object that changed at several times counted each time."""
        return sum(len(slots) for slots in self._changed)

    def note(self, changes: Changes, most: float) -> None:
        """Note changed slots; with more than `most` of them the rows are not worth keeping."""
        if self.rows is None:
            return
        self._changed += [slots for slots in changes if len(slots)]
        if self.n_changed > most:
            self.forget()

    def forget(self) -> None:
        """Drop the rows, not what was asked."""
        self.rows = None
        self._changed = []

    def keep(self, options: tuple[str, str], rows: NDArray[np.int64]) -> None:
        """Keep an answer in canonical order; it becomes read-only."""
        rows.flags.writeable = False
        self.rows, self.options = rows, options
        self._changed = []

    def marks(self, table: ObjectTable) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return marks of all changed slots, and those that hold an object, ascending."""
        marks = np.zeros(max(len(table.slot_ids), 1), np.uint8)
        slots = self._changed[0]
        if len(self._changed) > 1:
            slots = np.unique(np.concatenate(self._changed))
        marks[slots] = 1
        return marks, slots[table.slot_ids[slots] >= 0]

    def merged(
        self, table: ObjectTable, marks: NDArray[np.uint8], found: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the rows without marked members and with `found`, both in canonical order."""
        from spatialindex.kernels.keeping import merge_kept

        assert self.rows is not None
        out = np.empty((len(self.rows) + len(found) + 1, 2), ID_DTYPE)
        slots = table.member_slots(self.rows)
        # the kept rows are read-only for users; to the kernel they are as any others
        self.rows.flags.writeable = True
        n = merge_kept(self.rows, _NO_SLOTS if slots is None else slots, marks, found, out)
        self.rows.flags.writeable = False
        return out[:n]
