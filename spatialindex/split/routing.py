"""Who belongs where: which structures there are, and which of them an object is given to.

An object that is static or asleep goes to the *static* part, any other to the *dynamic* one. Either
goes to the *coarse* part instead when the structure of its part would not hold it (`holds`), or
when its longest edge is far above that of the others: a planet among bolts. What is far
above is chosen from the boxes, and chosen again when their number has doubled or when much has
become coarse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.errors import InvalidArgumentError, did_you_mean
from spatialindex.kernels.roles import (
    COARSE,
    DYNAMIC,
    ROLE_BITS,
    STATIC,
    longest_edges,
    route_slots,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable
    from spatialindex.protocol import Structure
    from spatialindex.split.views import Roles, RoleView

__all__ = ["NAME", "Router", "checked_part", "make_part"]

NAME = "split"
"""Of the split index in the registry: it is no part of itself."""

_FAR_ABOVE = 32.0  # times the typical longest edge
_MOST_COARSE = 16  # one in so many, at most, is coarse for its size when that is chosen


def checked_part(role: str, part: Any) -> tuple[str, dict[str, Any]]:
    """Check the structure that was named for a role and return its name and parameters."""
    from spatialindex.registry import structures

    name, parameters = (part, {}) if isinstance(part, str) else _taken_apart(role, part)
    known = [entry.name for entry in structures() if entry.name != NAME]
    if name == NAME:
        raise InvalidArgumentError(
            f"{role} is {name!r}: a split index is no part of another; known: {', '.join(known)}"
        )
    if name not in known:
        hint = did_you_mean(name, known)
        raise InvalidArgumentError(
            f"{role}: unknown structure {name!r}; {hint}known: {', '.join(known)}"
        )
    return name, dict(parameters)


def _taken_apart(role: str, part: Any) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of a part that is not just a name."""
    is_pair = isinstance(part, tuple | list) and len(part) == 2
    if not is_pair or not isinstance(part[0], str) or not isinstance(part[1], dict):
        raise InvalidArgumentError(
            f"{role} is {part!r}: pass the name of a structure, or a name and a dict of parameters"
        )
    return part[0], part[1]


def make_part(role: str, part: tuple[str, dict[str, Any]], view: RoleView) -> Structure:
    """Make the structure of a role over its view of the table."""
    from spatialindex.registry import create, find

    name, parameters = part
    try:
        create(name, view.ndim, **parameters)  # which says what is wrong with the parameters
        maker = getattr(find(name).load(), "structure_on", None)
        if maker is None:
            raise InvalidArgumentError(
                f"{name} is not made of a structure; derive its class from BoxIndex"
            )
        structure: Structure = maker(view, **parameters)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{role}: {error}") from None
    return structure


class Summary(NamedTuple):
    """What the codes that some slots are to have amount to."""

    is_same: bool
    """Whether all have them already."""
    any_bits: int
    """Bits that any of the codes has."""
    all_bits: int
    """Bits that all of them have."""


class Router:
    """Gives slots their codes.

    Parameters
    ----------
    table : ObjectTable
        Whose slots are routed.
    roles : Roles
        What they are at present.
    parts : dict
        The structures by role.

    Attributes
    ----------
    limit : float
        Boxes with a longer edge are coarse.
    """

    def __init__(self, table: ObjectTable, roles: Roles, parts: dict[int, Structure]) -> None:
        self._table = table
        self._roles = roles
        self._parts = parts
        self.limit = np.inf
        self._n_chosen = 0  # objects when the limit was chosen
        self._n_coarse = 0  # coarse ones when all was routed afresh
        self._forget()

    def _forget(self) -> None:
        """Forget what parts are known to hold: by role, lower and upper bounds, and edges."""
        ndim = self._table.ndim
        self._sure = np.full((COARSE + 1, 3 * ndim), -np.inf)
        self._sure[:, :ndim] = np.inf

    def is_due(self) -> bool:
        """Tell if the number of objects has doubled since the limit was chosen."""
        return len(self._table) > 2 * self._n_chosen

    def is_outgrown(self) -> bool:
        """Tell if many more are coarse than when all was routed afresh."""
        most = 2 * self._n_coarse + len(self._table) // _MOST_COARSE + 64
        return self._roles.count(COARSE) > most

    def routed_afresh(self, slots: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Choose the limit anew and return the codes that slots, all there are, are to have."""
        self._choose(slots)
        self._forget()
        codes, _ = self.routed(slots)
        self._n_coarse = int(np.count_nonzero((codes & ROLE_BITS) == COARSE))
        return codes

    def routed(self, slots: NDArray[np.int32]) -> tuple[NDArray[np.uint8], Summary]:
        """Return the codes that slots are to have, and their summary.

        A part is asked if it holds boxes that are larger, or elsewhere, than those that it is known
        to hold. What it does not hold well after all, since cells lie in another way, is still in
        it: this is about who is better off where, and decides no answer.
        """
        codes, is_sure, found = self._sized(slots)
        if found.is_same:
            return codes, found
        table = self._table
        for role in (STATIC, DYNAMIC):
            mine = ((codes & ROLE_BITS) == role) & (is_sure == 0)
            if not mine.any():
                continue
            asked = slots if mine.all() else slots[mine]
            is_dense = len(asked) == table.high
            boxes = table.cover[: table.high] if is_dense else table.covers_of(asked)
            held = self._parts[role].holds(boxes)
            if held.all():
                self._widen(role, boxes)
            else:
                codes[np.flatnonzero(mine)[~held]] |= COARSE
        is_same = np.array_equal(codes, self._roles.codes[slots])
        any_bits = int(np.bitwise_or.reduce(codes, initial=0))
        all_bits = int(np.bitwise_and.reduce(codes, initial=0xFF))
        return codes, Summary(is_same, any_bits, all_bits)

    def _widen(self, role: int, boxes: NDArray[np.float64]) -> None:
        """Widen what a part is known to hold by some boxes that it does, if it holds the widest.

        That would be as long as any of them in each direction, and lie at either end of all.
        """
        ndim, known = self._table.ndim, self._sure[role]
        lower = np.minimum(known[:ndim], boxes[:, :ndim].min(axis=0))
        upper = np.maximum(known[ndim : 2 * ndim], boxes[:, ndim:].max(axis=0))
        with np.errstate(over="ignore"):
            edges = np.maximum(known[2 * ndim :], (boxes[:, ndim:] - boxes[:, :ndim]).max(axis=0))
            spare = (upper - lower) / 2  # for those who go a little farther in each frame
            for lowest, highest in ((lower - spare, upper + spare), (lower, upper)):
                widest = np.array([[*lowest, *(lowest + edges)], [*(highest - edges), *highest]])
                if np.isfinite(widest).all() and self._parts[role].holds(widest).all():
                    self._sure[role] = np.concatenate([lowest, highest, edges])
                    return

    def sized(self, slots: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Return the codes that slots have by their flags and extents, whatever parts hold."""
        return self._sized(slots)[0]

    def _sized(
        self, slots: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Summary]:
        """Return codes by flags and extents, who is sure to be held, and what they amount to."""
        table = self._table
        codes, is_sure = np.empty(len(slots), np.uint8), np.empty(len(slots), np.uint8)
        found = route_slots(
            *(slots, table.cover, table.state, self.limit, self._sure, self._roles.codes),
            *((0,) * table.ndim, codes, is_sure),
        )
        return codes, is_sure, Summary(*found)

    def _choose(self, slots: NDArray[np.int32]) -> None:
        """Choose the limit from the boxes of all slots."""
        table, n = self._table, len(slots)
        self._n_chosen = n
        self.limit = np.inf
        if n:
            edges = np.empty(n)
            longest_edges(table.cover, slots, (0,) * table.ndim, edges)
            middle, high = (n - 1) // 2, (n - 1) * (_MOST_COARSE - 1) // _MOST_COARSE
            edges.partition((middle, high))
            self.limit = max(_FAR_ABOVE * float(edges[middle]), float(edges[high]))
