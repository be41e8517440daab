"""The pairs of the last calls, kept until something changes, and what has changed since.

Most objects of most scenes rest or move where nobody is. After a few changes the next pairs are the
kept ones, less the rows of changed objects, plus what the changed objects touch now: what is asked
follows what changed, and one pass over the kept rows merges it in. When much has changed, pairs
from scratch are cheaper; where that border lies is a measured constant of each structure.

Pairs are kept under the rule they passed (`ObjectTable.pair_rule`), for a few rules at once: an
engine wants active pairs to solve, and pairs among all that is not static for what began and ended.
Options that mean the same in a table without sleepers or sensors share their rows.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.constants import ID_DTYPE, SLOT_DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from spatialindex.changes import Changes
    from spatialindex.objects import ObjectTable

__all__ = ["KeptAnswers", "KeptPairs", "closed", "gathered", "marked", "opened"]

_NO_SLOTS = np.empty(0, SLOT_DTYPE)
_MOST_RULES = 4  # kept at once: beyond, those that were asked for longest ago go


class KeptPairs:
    """Rows of one answer of `pairs`, and slots changed since.

    Parameters
    ----------
    rows : (m, 2) int64 array
        The answer in canonical order; it becomes read-only.

    Attributes
    ----------
    n_changed : int
        Number of changes since, an object that changed at several times counted each time.
    """

    def __init__(self, rows: NDArray[np.int64]) -> None:
        rows.flags.writeable = False
        self.rows = rows
        self.n_changed = 0
        self._changed: list[NDArray[np.int32]] = []

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.rows = closed(self.rows)

    def __copy__(self) -> KeptPairs:
        other = KeptPairs(self.rows)
        other.n_changed = self.n_changed
        other._changed = list(self._changed)
        return other

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.rows.nbytes + sum(slots.nbytes for slots in self._changed)

    def note(self, changes: Changes) -> None:
        """Note changed slots."""
        for slots in changes:
            if len(slots):
                self._changed.append(slots)
                self.n_changed += len(slots)

    def marks(self, table: ObjectTable) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return marks of all changed slots, and those that hold an object, ascending."""
        return marked(self._changed, table)

    def merged(
        self, table: ObjectTable, marks: NDArray[np.uint8], found: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the rows without marked members and with `found`, both in canonical order."""
        out = np.empty((len(self.rows) + len(found) + 1, 2), ID_DTYPE)
        with opened(self.rows):
            n = _kernels().merge_kept(self.rows, table.member_slots(self.rows), marks, found, out)
        return out[:n]


@cache
def _kernels() -> Any:
    """Return the kernels of kept pairs, which not everybody needs who imports this module."""
    from spatialindex.kernels import keeping

    return keeping


def gathered(groups: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the slots of groups, each of them ascending, as one: ascending, each once."""
    if len(groups) > 1:
        return np.unique(np.concatenate(groups))
    return groups[0] if groups else _NO_SLOTS


def marked(
    groups: list[NDArray[np.int32]], table: ObjectTable
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return marks of the slots of groups, and those that hold an object, ascending."""
    slots = gathered(groups)
    marks = np.zeros(max(len(table.slot_ids), 1), np.uint8)
    live = np.empty(len(slots) + 1, SLOT_DTYPE)
    return marks, live[: _kernels().mark_slots(slots, table.slot_ids, marks, live)]


def closed(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows read-only for users, as copies forget, of memory that kernels can be given.

    Pickles may bring back rows that lie in a bytes object, and cannot ever be written to.
    """
    try:
        rows.flags.writeable = True
    except ValueError:
        rows = rows.copy()
    rows.flags.writeable = False
    return rows


class opened:  # noqa: N801 - a context manager
    """Let a kernel read rows that are read-only for users: to it they are as any others."""

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self._rows = rows

    def __enter__(self) -> None:
        self._rows.flags.writeable = True

    def __exit__(self, *_: object) -> None:
        self._rows.flags.writeable = False


class KeptAnswers:
    """Kept pairs by pair rule.

    Attributes
    ----------
    options : tuple or None
        What the last call of `pairs` asked for, remembered when its rows are forgotten.
    """

    def __init__(self) -> None:
        self.options: tuple[str, str] | None = None
        self._of_rule: dict[int, KeptPairs] = {}  # the rule asked for last comes last

    def __copy__(self) -> KeptAnswers:
        other = KeptAnswers()
        other.options = self.options
        other._of_rule = {rule: kept.__copy__() for rule, kept in self}
        return other

    def __len__(self) -> int:
        return len(self._of_rule)

    def __iter__(self) -> Iterator[tuple[int, KeptPairs]]:
        return iter(list(self._of_rule.items()))  # another thread may ask for pairs meanwhile

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(kept.nbytes for _, kept in self)

    def of(self, rule: int) -> KeptPairs | None:
        """Return what is kept of the pairs under a rule, None when nothing is."""
        return self._of_rule.get(rule)

    def keep(self, rule: int, rows: NDArray[np.int64]) -> None:
        """Keep an answer in canonical order, which is up to date; it becomes read-only."""
        kept = self._of_rule.pop(rule, None)
        is_same = kept is not None and kept.rows is rows and not kept.n_changed
        self._of_rule[rule] = kept if kept is not None and is_same else KeptPairs(rows)
        if len(self._of_rule) > _MOST_RULES:
            del self._of_rule[next(iter(self._of_rule))]

    def note(self, changes: Changes, most: Callable[[int], float]) -> None:
        """Note changed slots; rows with more than ``most(rule)`` changes are not worth keeping."""
        for rule, kept in list(self._of_rule.items()):
            kept.note(changes)
            if kept.n_changed > most(rule):
                del self._of_rule[rule]

    def forget(self, rule: int | None = None) -> None:
        """Drop the rows of a rule, None for all of them, not what was asked."""
        if rule is None:
            self._of_rule = {}
        else:
            self._of_rule.pop(rule, None)
