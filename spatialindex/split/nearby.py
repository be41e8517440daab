"""Neighbours at rest: who of a part that stays as it is is near each of those who ask it.

An object that moves about its place meets the same few at rest in each frame. They are looked up
once, for a *fat* box around it, and as long as it stays in there they are all that it can touch::

    mover   box [4, 5]   fat [3.5, 5.5]   near: 17 at [5, 6], 3 at [5.4, 8]
    then at [4.3, 5.3]   inside of it: of 17 and 3, it touches 17
    then at [4.7, 5.7]   outside: the part is asked

A list says nothing about the object that it was made for: it holds whom any box inside of the fat
one can touch, also that of another object in the same slot. Layers, masks and flags are judged anew
each time. So a list is good until somebody in the part comes, goes or moves; then all are dropped.

Making lists costs as much as asking with the boxes themselves in several calls. So they are made
when nobody in the part has changed for some calls, and made anew when most boxes have left them.
When they have not lasted for long enough, the next ones have to wait for twice as many calls.

Verlet, "Computer Experiments on Classical Fluids" (Physical Review 159, 1967) has such lists of
particles; the fat boxes are those of the dynamic trees of Bullet and Box2D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.constants import ALL, SLOT_DTYPE
from spatialindex.errors import InvariantError, ResultTooLargeError
from spatialindex.execution import collect_rows
from spatialindex.indexes.asking import ask_neighbours, axes
from spatialindex.kernels.decide import INTERSECTS
from spatialindex.kernels.nearby import begin_lists, fatten, fill_lists, part_askers, scan_lists
from spatialindex.kernels.roles import ROLE_BITS, STATIC
from spatialindex.kernels.simd import LANES
from spatialindex.protocol import Region

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.protocol import Structure
    from spatialindex.split.table import SweptTable
    from spatialindex.split.views import Roles

__all__ = ["Nearby"]

SOONEST = 4
"""Calls without a change in the part before lists are made, unless earlier ones did not last."""

_MARGIN = 0.5  # of the mean edge, on each side
_MOST_NEAR = 64  # a list, on average
_LATEST = 256  # calls without a change: the most that are waited for
_WORTH_MAKING = 20  # calls after which lists have saved more than they cost


class _Lists(NamedTuple):
    """Lists as kernels take them, see `kernels.nearby`."""

    rows: NDArray[np.int32]
    """By slot: which list it has, -1 for none."""
    fat: NDArray[np.float64]
    """``(n, 2*ndim)``, by list."""
    starts: NDArray[np.int32]
    bounds: NDArray[np.float32]
    slots: NDArray[np.int32]
    exact: NDArray[np.uint8]
    n_near: int
    """How many slots there are in all lists."""


class Nearby:
    """Lists of whom the slots that ask a part are near to, kept while the part does not change.

    Parameters
    ----------
    table : SweptTable
        Whose slots ask.
    roles : Roles
        Who is in the part.
    part : Structure
        The static part.
    """

    def __init__(self, table: SweptTable, roles: Roles, part: Structure) -> None:
        self._table = table
        self._roles = roles
        self._part = part
        self._start()

    def _start(self) -> None:
        self._lists: _Lists | None = None  # swapped as a whole
        self._wait = SOONEST  # calls without a change before lists are made
        self._calls = 0  # since the last change, or since lists were made

    def __getstate__(self) -> dict[str, Any]:
        # a thread that asks for pairs while this is copied may be making lists
        return {"_table": self._table, "_roles": self._roles, "_part": self._part}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        lists = self._lists
        return 0 if lists is None else sum(array.nbytes for array in lists[:-1])

    def forget(self) -> None:
        """Drop all lists: somebody in the part comes, goes or moves."""
        if self._lists is not None:
            self._drop()
        self._calls = 0

    def _drop(self) -> None:
        """Drop all lists; others come sooner or later as these were worth making or not."""
        self._lists = None
        is_worth = self._calls >= _WORTH_MAKING
        self._wait = SOONEST if is_worth else min(2 * self._wait, _LATEST)

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Ask with each slot's box, as the part itself does."""
        lists = self._lists
        if lists is None and self._calls >= self._wait:
            lists = self._made(slots, workers)
        self._calls += 1
        if lists is None:
            return self._part.touching(slots, rule, limit=limit, workers=workers)
        return self._by_lists(lists, slots, rule, limit=limit, workers=workers)

    def _made(self, slots: NDArray[np.int32], workers: int) -> _Lists | None:
        """Make lists for slots, if there can be any, and return them."""
        self._calls = 0
        table, part = self._table, self._part
        # regions are decided on the present boxes, and do not see what is on no layer
        swept = self._roles.codes[table.swept_slots()] & ROLE_BITS
        if (swept == STATIC).any() or not table.sees_all(ALL):
            return None
        fat = table.covers_of(slots)
        fatten(fat, _MARGIN, axes(table))
        limit = _MOST_NEAR * len(slots)
        try:
            found = part.query(Region(INTERSECTS, fat, fat, ALL), limit=limit, workers=workers)
        except ResultTooLargeError:
            self._drop()
            return None
        rows = np.full(len(table.slot_ids), -1, SLOT_DTYPE)
        rows[slots] = np.arange(len(slots), dtype=SLOT_DTYPE)
        starts = np.zeros(len(slots) + 1, SLOT_DTYPE)
        n_blocks = begin_lists(found, starts)
        blocks = (
            np.full((n_blocks, 2 * table.ndim, LANES), np.nan, np.float32),
            np.full((n_blocks, LANES), -1, SLOT_DTYPE),
            np.zeros(n_blocks, np.uint8),
        )
        counts = np.zeros(len(slots), SLOT_DTYPE)
        fill_lists(found, starts, counts, *blocks, table.cover, axes(table))
        self._lists = _Lists(rows, fat, starts, *blocks, len(found))
        return self._lists

    def _by_lists(
        self, lists: _Lists, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int
    ) -> NDArray[np.int32]:
        """Ask the lists of slots that are inside of their fat boxes, and the part for others."""
        table, dim = self._table, axes(self._table)
        listed, stale = np.empty_like(slots), np.empty_like(slots)
        n = int(part_askers(slots, lists.rows, lists.fat, table.cover, dim, listed, stale))
        if 2 * n < len(slots):
            self._drop()
            self._calls = 0
            return self._part.touching(slots, rule, limit=limit, workers=workers)
        ask = ask_neighbours(table, listed[:n], rule)
        blocks = (lists.bounds, lists.slots, lists.exact, lists.starts, lists.rows)

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return int(scan_lists(*blocks, ask, start, stop, out, limit, dim))

        found = collect_rows(fill, n, limit=limit, workers=workers, guess=lists.n_near)
        if n == len(slots):
            return found
        left = limit - len(found)
        others = self._part.touching(stale[: len(slots) - n], rule, limit=left, workers=workers)
        return np.concatenate([found, others])

    def validate(self) -> None:
        """Raise `InvariantError` when a list lacks somebody, or has somebody else's box."""
        lists, table, ndim = self._lists, self._table, self._table.ndim
        if lists is None:
            return
        members = self._part.table.live_slots()
        covers = table.covers_of(members)
        for slot in np.flatnonzero(lists.rows >= 0):
            row = lists.rows[slot]
            fat = lists.fat[row]
            met = (fat[:ndim] <= covers[:, ndim:]) & (covers[:, :ndim] <= fat[ndim:])
            blocks = slice(lists.starts[row], lists.starts[row + 1])
            near = lists.slots[blocks].reshape(-1)
            bounds = np.moveaxis(lists.bounds[blocks], 1, 2).reshape(-1, 2 * ndim)[near >= 0]
            near = near[near >= 0]
            if not np.array_equal(np.sort(near), members[met.all(axis=1)]):
                raise InvariantError(f"split: the list of neighbours of slot {slot} is not theirs")
            boxes = table.covers_of(near)
            if (bounds[:, :ndim] > boxes[:, :ndim]).any() or (
                bounds[:, ndim:] < boxes[:, ndim:]
            ).any():
                raise InvariantError(f"split: a neighbour of slot {slot} is elsewhere by now")
