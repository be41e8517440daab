"""What began and what ended: the pairs of one time compared with those of the time before.

>>> import spatialindex as si
>>> index = si.BruteForce(ndim=2)
>>> index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [5, 5, 6, 6]])
array([0, 1, 2])
>>> tracker = si.PairTracker()
>>> tracker.update(index.pairs(among="dynamic"))
PairEvents(began=array([[0, 1]]), ended=array([], shape=(0, 2), dtype=int64))
>>> index.update(1, [5, 5, 6, 6])
>>> tracker.update(index.pairs(among="dynamic"))
PairEvents(began=array([[1, 2]]), ended=array([[0, 1]]))

Take ``among="dynamic"``: among active pairs, an object that falls asleep would seem to part from
what it lies on.
"""

from __future__ import annotations

from functools import cache
from operator import gt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.constants import ID_DTYPE
from spatialindex.errors import InvalidArgumentError
from spatialindex.keeping import closed, opened
from spatialindex.states import as_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["NO_PAIRS", "CodedRows", "Comparison", "PairEvents", "PairTracker"]

_FEW_EVENTS = 256  # rows that there is room for at least
_NO_CODES = np.empty(0, np.uint8)
_NO_IDS = np.empty(0, ID_DTYPE)


class PairEvents(NamedTuple):
    """Pairs that began and pairs that ended, in canonical order."""

    began: NDArray[np.int64]
    """``(m, 2)`` rows that are pairs now and were not before."""
    ended: NDArray[np.int64]
    """``(m, 2)`` rows that were pairs before and are not now."""


class PairTracker:
    """Tells what began and ended from one answer of `pairs` to the next, of any index.

    Notes
    -----
    Cost: one pass over both answers, next to nothing when they are the same array, which an index
    returns as long as nothing changes. It keeps the last answer.

    Examples
    --------
    >>> import spatialindex as si
    >>> tracker = si.PairTracker()
    >>> tracker.update([[0, 1], [0, 2]]).began
    array([[0, 1], [0, 2]])
    >>> began, ended = tracker.update([[0, 2], [3, 4]])
    >>> began, ended
    (array([[3, 4]]), array([[0, 1]]))
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all pairs, without their having ended."""
        self._rows = closed(np.empty((0, 2), ID_DTYPE))
        self._comparison = Comparison()

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The last answer, ``(m, 2)``, read-only."""
        return self._rows

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._rows.nbytes

    def update(self, pairs: ArrayLike, *, renewed: ArrayLike | None = None) -> PairEvents:
        """Take the present pairs and return what began and ended since the last time.

        Parameters
        ----------
        pairs : (m, 2) ints
            Rows (a, b) of ids with a < b in canonical order, as ``index.pairs(among="dynamic")``
            returns them.
        renewed : (n,) ints, optional
            Ids that mean another object than the last time: removed and inserted again. Their old
            pairs have ended and their new ones begun.

        Returns
        -------
        PairEvents
            ``began`` and ``ended``, ``(any, 2)`` int64, in canonical order.

        Raises
        ------
        InvalidArgumentError
            For rows that are no pairs, or out of order. Nothing has been taken then.
        """
        rows = self._rows if pairs is self._rows else _checked_rows(pairs)
        again = _NO_IDS if renewed is None else np.unique(as_ids(renewed, name="renewed"))
        if rows is self._rows and not len(again):
            return PairEvents(np.empty((0, 2), ID_DTYPE), np.empty((0, 2), ID_DTYPE))
        old, new = CodedRows(self._rows, _NO_CODES), CodedRows(rows, _NO_CODES)
        began, ended, _, _ = self._comparison.of(old, new, again)
        self._rows = rows
        return PairEvents(began, ended)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rows = closed(self._rows)


class CodedRows(NamedTuple):
    """Pairs in canonical order with the codes of `kernels.events`, empty for contacts alone."""

    rows: NDArray[np.int64]
    """``(m, 2)`` ids, read-only."""
    codes: NDArray[np.uint8]
    """``(m,)``, or empty."""

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.rows.nbytes + self.codes.nbytes

    def merged(self, more: CodedRows) -> CodedRows:
        """Return these rows and others, none of which is among them."""
        if not len(more.rows) or not len(self.rows):
            return more if len(more.rows) else self
        n = len(self.rows) + len(more.rows)
        out, codes = np.empty((n, 2), ID_DTYPE), np.empty(n, np.uint8)
        with opened(self.rows), opened(more.rows):
            _kernels().merge_rows(*self, *more, out, codes)
        return CodedRows(closed(out), codes)


NO_PAIRS = CodedRows(closed(np.empty((0, 2), ID_DTYPE)), _NO_CODES)
"""No pairs."""


class Comparison:
    """Compares rows with those of the time before, with room for as many events as there were."""

    def __init__(self) -> None:
        self._room = [_FEW_EVENTS] * 4

    def of(
        self, old: CodedRows, new: CodedRows, renewed: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], ...]:
        """Return what began, ended, began with a sensor and ended with one."""
        counts = np.empty(4, np.int64)
        room = self._room
        with opened(old.rows), opened(new.rows):
            while True:
                out = [np.empty((n + 1, 2), ID_DTYPE) for n in room]
                _kernels().compare_rows(*old, *new, renewed, *out, counts)
                sizes = counts.tolist()
                if not any(map(gt, sizes, room)):
                    self._room = [max(2 * size, _FEW_EVENTS) for size in sizes]
                    return tuple([a[:n].copy() for a, n in zip(out, sizes, strict=True)])
                room = list(map(max, room, sizes))


@cache
def _kernels() -> Any:
    """Return the kernels of events, which not everybody needs who imports this module."""
    from spatialindex.kernels import events

    return events


def _checked_rows(pairs: Any) -> NDArray[np.int64]:
    """Return rows of ids that nobody else writes into."""
    array = np.asarray(pairs)
    if array.size == 0 and array.ndim < 3:
        return np.empty((0, 2), ID_DTYPE)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"pairs has shape {array.shape} and dtype {array.dtype}; pass (m, 2) rows of ids"
        )
    rows = np.ascontiguousarray(array, ID_DTYPE)
    if rows.flags.writeable and np.may_share_memory(rows, array):
        rows = rows.copy()
    rows = closed(rows)
    wrong = (rows[:, 0] < 0) | (rows[:, 0] >= rows[:, 1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidArgumentError(
            f"pairs[{row}] is {array[row].tolist()}: a pair is (a, b) of ids with a < b"
        )
    with opened(rows):
        row = int(_kernels().first_disorder(rows))
    if row >= 0:
        raise InvalidArgumentError(
            f"pairs[{row}] is {rows[row].tolist()}, which does not come after "
            f"{rows[row - 1].tolist()}; pass rows in the order of pairs() with sort=True"
        )
    return rows
