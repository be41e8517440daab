"""Who belongs to which part, and the table as each part sees it.

All parts are structures over the same slots and boxes; a part differs from a structure that has a
table for itself in what `live_slots` and `len` say::

    table    slots 0 1 2 3 4        codes  static dynamic static coarse dynamic
    part "dynamic"                  live_slots() -> 1 4, len -> 2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.constants import SLOT_DTYPE
from spatialindex.kernels.roles import COARSE, DYNAMIC, RESTING, ROLE_BITS, SENSOR, SLEEPING, STATIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["ROLES", "RoleView", "Roles"]

ROLES = {STATIC: "static", DYNAMIC: "dynamic", COARSE: "coarse"}
"""Names of the roles by code, in the order in which parts are asked."""

_CODES = np.arange(32)
_SPARE = 1024  # slots that have joined a role before its list is made from scratch


class Roles:
    """A code for each slot, see `kernels.roles`, how many have each, and lists of members.

    Lists follow changes only when they are asked for, in proportion to the list.

    Attributes
    ----------
    codes : uint8 array of shape (capacity,)
        The code of each slot, 0 for one that no part holds.
    version : int
        Grows when a code changes.
    """

    def __init__(self, table: ObjectTable) -> None:
        self._table = table
        self.version = 0
        self.clear()

    def clear(self) -> None:
        """Let no slot have a role."""
        self.version += 1
        self.codes = np.zeros(len(self._table.slot_ids), np.uint8)
        self._counts = np.zeros(len(_CODES), np.int64)
        self._n = dict.fromkeys(ROLES, 0)
        self._n_resting = dict.fromkeys(ROLES, 0)
        self._n_sleeping = dict.fromkeys(ROLES, 0)
        self._has_sensors = False
        self._forget_lists()

    def _forget_lists(self) -> None:
        """Let lists of members be made from scratch when they are asked for."""
        # by role: an ascending list that may have members too many, and slots that joined since
        self._listed: dict[int, NDArray[np.int32] | None] = dict.fromkeys(ROLES, None)
        self._joined: dict[int, list[NDArray[np.int32]]] = {role: [] for role in ROLES}
        self._is_exact = dict.fromkeys(ROLES, False)

    def __getstate__(self) -> dict[str, Any]:
        # a thread that asks for pairs while this is copied brings lists up to date, part by part
        lists = ("_listed", "_joined", "_is_exact")
        return {key: value for key, value in self.__dict__.items() if key not in lists}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget_lists()

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        lists = [listed for listed in self._listed.values() if listed is not None]
        lists += [slots for joined in self._joined.values() for slots in joined]
        return self.codes.nbytes + sum(slots.nbytes for slots in lists)

    def count(self, role: int) -> int:
        """Return how many slots have a role."""
        return self._n[role]

    def is_resting(self, role: int) -> bool:
        """Tell if all members of a role are static or asleep."""
        return self._n_resting[role] == self._n[role]

    def has_sleepers(self, role: int) -> bool:
        """Tell if members of a role are asleep and not static."""
        return self._n_sleeping[role] > 0

    def has_sensors(self) -> bool:
        """Tell if there are sensors."""
        return self._has_sensors

    def _sum_up(self) -> None:
        """Work out from the counts of codes what is asked of them."""
        roles = _CODES & ROLE_BITS
        self._has_sensors = bool(self._counts[(_CODES & SENSOR) != 0].any())
        for role in ROLES:
            mine = np.where(roles == role, self._counts, 0)
            self._n[role] = int(mine.sum())
            self._n_resting[role] = int(mine[(_CODES & RESTING) != 0].sum())
            self._n_sleeping[role] = int(mine[(_CODES & SLEEPING) != 0].sum())

    def follow_table(self) -> None:
        """Have a code for as many slots as the table has."""
        capacity = len(self._table.slot_ids)
        if len(self.codes) < capacity:
            grown = np.zeros(capacity, np.uint8)
            grown[: len(self.codes)] = self.codes
            self.codes = grown

    def set(self, slots: NDArray[np.int32], codes: NDArray[np.uint8] | int) -> None:
        """Give slots, each once, new codes; 0 takes them out of their parts."""
        before = self.codes[slots]
        after = np.broadcast_to(np.asarray(codes, np.uint8), len(slots))
        if np.array_equal(before, after):
            return
        self.version += 1
        self.codes[slots] = after
        self._counts += np.bincount(after, minlength=len(_CODES))
        self._counts -= np.bincount(before, minlength=len(_CODES))
        self._counts[0] = 0
        self._sum_up()
        old, new = before & ROLE_BITS, after & ROLE_BITS
        differs = old != new
        if not differs.any():
            return
        for role in ROLES:
            self._is_exact[role] &= not (old[differs] == role).any()
            joined = slots[differs & (new == role)]
            if len(joined):
                self._join(role, joined)

    def _join(self, role: int, slots: NDArray[np.int32]) -> None:
        """Note that slots have got a role."""
        if self._listed[role] is None:
            return
        self._is_exact[role] = False
        self._joined[role].append(slots)
        if sum(map(len, self._joined[role])) > self.count(role) + _SPARE:
            self._listed[role], self._joined[role] = None, []

    def members(self, role: int) -> NDArray[np.int32]:
        """Return the slots with a role, ascending, int32; not to be written into."""
        listed = self._listed[role]
        if listed is None:
            found = np.flatnonzero((self.codes & ROLE_BITS) == role).astype(SLOT_DTYPE)
        elif self._is_exact[role]:
            return listed
        else:
            joined = self._joined[role]
            found = np.unique(np.concatenate([listed, *joined])) if joined else listed
            found = found[(self.codes[found] & ROLE_BITS) == role]
        self._listed[role], self._joined[role], self._is_exact[role] = found, [], True
        return found


class RoleView:
    """The slots of one role of a table, as the table of a structure."""

    def __init__(self, table: ObjectTable, roles: Roles, role: int) -> None:
        self._table = table
        self._roles = roles
        self._role = role
        self.ndim = table.ndim

    def __len__(self) -> int:
        return self._roles.count(self._role)

    def live_slots(self) -> NDArray[np.int32]:
        """Slots of this role, ascending, int32 ``(n,)``."""
        return self._roles.members(self._role).copy()

    def ordered_slots(self) -> NDArray[np.int32]:
        """Slots of this role by ascending id, int32 ``(n,)``."""
        slots = self._roles.members(self._role)
        return slots[np.argsort(self._table.slot_ids[slots], kind="stable")]

    @property
    def high(self) -> int:
        """All slots in use are below."""
        return self._table.high

    @property
    def boxes(self) -> NDArray[np.float64]:
        """Exact boxes by slot."""
        return self._table.boxes

    @property
    def cover(self) -> NDArray[np.float64]:
        """Boxes by slot that structures cover and that decide pairs."""
        return self._table.cover

    @property
    def state(self) -> NDArray[np.void]:
        """Layer, mask and flags by slot."""
        return self._table.state

    @property
    def slot_ids(self) -> NDArray[np.int64]:
        """The id in each slot, -1 in a free one."""
        return self._table.slot_ids

    def covers_of(self, slots: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return a copy of what slots cover, ``(n, 2*ndim)``."""
        return self._table.covers_of(slots)

    def pair_rule(self, among: str, sensors: str) -> int:
        """Return the rule of `kernels.decide` for these options."""
        return self._table.pair_rule(among, sensors)

    def sees_all(self, layers: int) -> bool:
        """Tell if a question with these layers can skip looking at the objects' layers."""
        return self._table.sees_all(layers)

    def __getattr__(self, name: str) -> Any:
        # what else there is of the table is the same for all parts
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._table, name)
