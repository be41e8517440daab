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
when nobody in the part has changed for some calls, and dropped when many have left their fat
boxes. When they have not paid by then, the next ones have to wait for twice as many calls.

A step of 1,000 objects about their places among a million at rest takes 0.31 ms with lists and 0.42
without, in 3D 0.35 and 0.57; what goes half an edge a step costs as much as without, within 2 %
(``python -m tests.benchmarks --job steps --scene uniform --n 1000000 --structures split``).

Verlet, "Computer Experiments on Classical Fluids" (Physical Review 159, 1967) has such lists of
particles; the fat boxes are those of the dynamic trees of Bullet and Box2D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex import oracle
from spatialindex.constants import ALL, SLOT_DTYPE
from spatialindex.errors import InvariantError, ResultTooLargeError
from spatialindex.execution import collect_rows
from spatialindex.indexes.asking import ask_neighbours, axes
from spatialindex.kernels.decide import INTERSECTS
from spatialindex.kernels.nearby import begin_lists, fill_lists, part_askers, scan_lists
from spatialindex.kernels.roles import ROLE_BITS, STATIC, longest_edges
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

_MARGIN = 0.75  # of the median of the longest edges, on each side
_MOST_NEAR = 64  # a list, on average
_MOST_STALE = 1 / 3  # of the askers: with more, lists save nothing
_LATEST = 256  # calls without a change: the most that are waited for
_COST = 8  # askers spared the way to the part that a list costs, and one more a slot in it


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
        self._calls = 0  # since the last change, or since lists were dropped
        self._spared = 0  # askers that had lists, less as many others, since these were made

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
        self._calls = 0
        if self._lists is not None:
            self._drop(self._lists)

    def _drop(self, lists: _Lists) -> None:
        """Drop lists; others come sooner or later as these were worth making or not."""
        self._lists = None
        self._calls = 0
        self._put_off(is_worth=self._spared >= lists.n_near + _COST * len(lists.fat))

    def _put_off(self, *, is_worth: bool) -> None:
        """Wait for longer and longer before lists are made, as long as they are not worth it."""
        self._wait = SOONEST if is_worth else min(2 * self._wait, _LATEST)

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Ask with each slot's box, as the part itself does."""
        lists = self._lists
        if lists is None:
            self._calls += 1
            if self._calls > self._wait:
                self._calls = 0
                lists = self._lists = self._made(slots, workers)
        if lists is None:
            return self._part.touching(slots, rule, limit=limit, workers=workers)
        return self._by_lists(lists, slots, rule, limit=limit, workers=workers)

    def _made(self, slots: NDArray[np.int32], workers: int) -> _Lists | None:
        """Make lists for slots, if there can be any, and return them."""
        table, part = self._table, self._part
        # regions are decided on the present boxes, and do not see what is on no layer
        swept = self._roles.codes[table.swept_slots()] & ROLE_BITS
        if (swept == STATIC).any() or self._has_layerless():
            return None
        fat = self._fat_boxes(slots)
        limit = _MOST_NEAR * len(slots)
        try:
            found = part.query(Region(INTERSECTS, fat, fat, ALL), limit=limit, workers=workers)
        except ResultTooLargeError:
            self._put_off(is_worth=False)
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
        self._spared = 0
        return _Lists(rows, fat, starts, *blocks, len(found))

    def _has_layerless(self) -> bool:
        """Tell if somebody in the part is on no layer."""
        if self._table.sees_all(ALL):
            return False
        layers = self._table.state["layer"][self._roles.members(STATIC)]
        return bool((layers == 0).any())

    def _fat_boxes(self, slots: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the boxes of slots with the same margin all around.

        Small ones go as far as others, and flat ones in all directions.
        """
        table, ndim = self._table, self._table.ndim
        edges = np.empty(len(slots))
        longest_edges(table.cover, slots, axes(table), edges)
        edges.partition(len(slots) // 2)
        margin = _MARGIN * edges[len(slots) // 2]
        fat = table.covers_of(slots)
        with np.errstate(over="ignore"):
            fat[:, :ndim] -= margin
            fat[:, ndim:] += margin
        return fat

    def _by_lists(
        self, lists: _Lists, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int
    ) -> NDArray[np.int32]:
        """Ask the lists of slots that are inside of their fat boxes, and the part for others."""
        table, dim = self._table, axes(self._table)
        listed, stale = np.empty_like(slots), np.empty_like(slots)
        n = int(part_askers(slots, lists.rows, lists.fat, table.cover, dim, listed, stale))
        n_stale = len(slots) - n
        if n_stale > _MOST_STALE * len(slots):
            self._drop(lists)
            return self._part.touching(slots, rule, limit=limit, workers=workers)
        self._spared += n - n_stale
        ask = ask_neighbours(table, listed[:n], rule)
        blocks = (lists.bounds, lists.slots, lists.exact, lists.starts, lists.rows)

        def fill(start: int, stop: int, out: NDArray[np.int32]) -> int:
            return int(scan_lists(*blocks, ask, start, stop, out, limit, dim))

        found = collect_rows(fill, n, limit=limit, workers=workers, guess=lists.n_near)
        if not n_stale:
            return found
        left = limit - len(found)
        others = self._part.touching(stale[:n_stale], rule, limit=left, workers=workers)
        return np.concatenate([found, others])

    def validate(self) -> None:
        """Raise `InvariantError` when a list lacks somebody, or has somebody else's box."""
        lists, table, ndim = self._lists, self._table, self._table.ndim
        if lists is None:
            return
        members = self._part.table.live_slots()
        near = oracle.query(members, table.covers_of(members), None, lists.fat)
        of = np.repeat(np.arange(len(lists.fat)), LANES * np.diff(lists.starts))
        slots = lists.slots.reshape(-1)
        filled = np.flatnonzero(slots >= 0)
        filled = filled[np.lexsort((slots[filled], of[filled]))]
        if not np.array_equal(np.column_stack([of, slots])[filled], near):
            raise InvariantError("split: a list of neighbours is not of all that are near")
        bounds = np.moveaxis(lists.bounds, 1, 2).reshape(-1, 2 * ndim)[filled]
        covers = table.covers_of(slots[filled])
        outside = (bounds[:, :ndim] > covers[:, :ndim]) | (bounds[:, ndim:] < covers[:, ndim:])
        if outside.any():
            slot = slots[filled][np.argmax(outside.any(axis=1))]
            raise InvariantError(
                f"split: slot {slot} is elsewhere than lists of neighbours have it"
            )
