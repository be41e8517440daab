"""The structure of a split index: three structures over one table, asked as one.

Every slot belongs to one part, so what parts answer is put together without looking for doubles::

    pairs     of the dynamic part, of the coarse one, and across: whom the fewer touch of the more
    nearby    those at rest that what moves can touch: kept while nobody goes far (`split.nearby`)
    resting   static or asleep: pairs among themselves are not looked for unless they can count
    query     each part's rows, one after the other
    nearest   each part's best, merged; what one has found limits how far the next looks

Changes are handed to the part that they concern. A change of role, because somebody falls asleep or
grows, is a removal in one part and an addition in another.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.asked import balls, casts
from spatialindex.changes import Changes
from spatialindex.constants import ID_DTYPE, SLOT_DTYPE
from spatialindex.errors import InvariantError, ResultTooLargeError
from spatialindex.execution import NO_LIMIT, NO_ROWS, too_large
from spatialindex.indexes.asking import axes, count_verdicts
from spatialindex.kernels.decide import AMONG_BITS, AMONG_SHIFT
from spatialindex.kernels.roles import (
    COARSE,
    DYNAMIC,
    RESTING,
    ROLE_BITS,
    SLEEPING,
    STATIC,
    merge_best,
)
from spatialindex.outlines import Outlines, outlines_of
from spatialindex.protocol import Single
from spatialindex.results import PairCounts, StructureStats
from spatialindex.split.nearby import Nearby
from spatialindex.split.resting import RestNotes
from spatialindex.split.routing import Router, Summary, make_part
from spatialindex.split.views import ROLES, Roles, RoleView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable
    from spatialindex.protocol import Region, Structure
    from spatialindex.split.table import SweptTable

    _Within = tuple[int, int]  # a role, and the rule that pairs of its members need
    _Across = tuple[NDArray[np.int32], int, int, int]  # who asks, their role, the asked one, rule
    _Plan = tuple[list[_Within], list[_Across]]
    _Plans = tuple[int, dict[int, _Plan]]  # a version of the roles, and plans by rule

__all__ = ["SplitStructure"]

_DYNAMIC_PAIRS, _ACTIVE_PAIRS = 1, 2  # codes of `among` in a rule
_ACROSS = ((DYNAMIC, STATIC), (DYNAMIC, COARSE), (COARSE, STATIC))
_NO_SLOTS = np.empty(0, SLOT_DTYPE)
_MOST_COUNTED = 2**20  # rows at once where pairs across are only counted


class SplitStructure:
    """Three structures over one table.

    Parameters
    ----------
    table : SweptTable
        Whose slots are indexed.
    static, dynamic, coarse : (str, dict)
        Name and parameters of each part's structure.
    """

    # of the objects that pairs from scratch look at: 10,000 boxes, a twentieth to all moving
    kept_share = 0.1

    def __init__(
        self,
        table: SweptTable,
        *,
        static: tuple[str, dict[str, Any]],
        dynamic: tuple[str, dict[str, Any]],
        coarse: tuple[str, dict[str, Any]],
    ) -> None:
        self.table: ObjectTable = table
        self.roles = Roles(table)
        self.rest = RestNotes()
        chosen = {STATIC: static, DYNAMIC: dynamic, COARSE: coarse}
        self._views = {role: RoleView(table, self.roles, role) for role in ROLES}
        self.parts: dict[int, Structure] = {
            role: make_part(name, chosen[role], self._views[role]) for role, name in ROLES.items()
        }
        self._router = Router(table, self.roles, self.parts)
        self._nearby = Nearby(table, self.roles, self.parts[STATIC])
        self._plans: _Plans = (-1, {})

    def __getstate__(self) -> dict[str, Any]:
        # a thread that asks for pairs while this is copied may be making plans
        return self.__dict__ | {"_plans": (-1, {})}

    # -- keeping up ---------------------------------------------------------------------------

    def holds(self, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell that every box is held well, by one part or another."""
        return np.ones(len(boxes), np.bool_)

    def apply(self, changes: Changes) -> None:
        """Hand each change to the part that it concerns."""
        roles, router = self.roles, self._router
        roles.follow_table()
        if not len(changes.added) and not len(changes.removed) and not router.is_outgrown():
            slots = _union(changes.moved, changes.restated)
            codes, found = router.routed(slots)
            if found.is_same:
                self.rest.note(slots, found.any_bits, len(self.table))
                self._pass_on(changes, slots, codes, found)
                return
        self._reroute(changes)

    def _pass_on(
        self,
        changes: Changes,
        slots: NDArray[np.int32],
        codes: NDArray[np.uint8],
        found: Summary,
    ) -> None:
        """Hand each change to its part when nobody goes from one to another."""
        owner = found.all_bits & ROLE_BITS
        if owner == found.any_bits & ROLE_BITS:  # all are of one part
            self._tell(owner, changes)
            return
        for role in self.parts:
            mine = (codes & np.uint8(ROLE_BITS)) == role
            if mine.any():
                moved = _those(changes.moved, slots, mine)
                restated = _those(changes.restated, slots, mine)
                self._tell(role, Changes(_NO_SLOTS, _NO_SLOTS, moved, restated))

    def _tell(self, role: int, changes: Changes) -> None:
        """Hand changes to the part of a role."""
        if role == STATIC and any(map(len, (changes.added, changes.removed, changes.moved))):
            self._nearby.forget()
        self.parts[role].apply(changes)

    def _reroute(self, changes: Changes) -> None:
        """Hand each change to its part, and those who go from one to another to both."""
        roles, router = self.roles, self._router
        removed = changes.removed
        left = roles.codes[removed]
        self._note(removed, left)
        left = left & np.uint8(ROLE_BITS)
        roles.set(removed, 0)
        slots = changed = _union(changes.added, changes.moved, changes.restated)
        before = was = roles.codes[slots]
        if router.is_due():
            slots = self.table.live_slots()
            before = roles.codes[slots]
            roles.set(slots, router.routed_afresh(slots))
        elif len(slots):
            roles.set(slots, router.routed(slots)[0])
        self._note(changed, was | roles.codes[changed])
        if router.is_outgrown():
            self.rebuild()
            return
        goes = _Going(slots, before, roles.codes[slots])
        for role in self.parts:
            gone = removed if len(removed) and (left == role).all() else removed[left == role]
            mine = goes.of(role, gone, changes)
            if any(map(len, mine)):
                self._tell(role, mine)

    def _note(self, slots: NDArray[np.int32], codes: NDArray[np.uint8]) -> None:
        """Note changed slots with the codes that they have or had."""
        self.rest.note(slots, int(np.bitwise_or.reduce(codes, initial=0)), len(self.table))

    def rebuild(self) -> None:
        """Choose anew who belongs where and build all parts from the table."""
        self.rest.forget()
        self._nearby.forget()
        slots = self.table.live_slots()
        self.roles.clear()
        codes = self._router.routed_afresh(slots)
        self.roles.set(slots, codes)
        for part in self.parts.values():
            part.rebuild()

    def in_question(self, rule: int) -> int:
        """Return how many objects pairs under a rule are looked for among, from scratch."""
        return sum(self.roles.count(role) for role, _ in self._plan(rule)[0])

    # -- which parts pairs can be in ----------------------------------------------------------

    def _pairs_within(self, role: int, rule: int) -> bool:
        """Tell if two members of a role can be a pair under a rule."""
        roles = self.roles
        if not roles.count(role):
            return False
        among = (rule & AMONG_BITS) >> AMONG_SHIFT
        if among == _ACTIVE_PAIRS:
            return not roles.is_resting(role)
        if among == _DYNAMIC_PAIRS:
            return not roles.is_resting(role) or roles.has_sleepers(role)
        return True

    def _able(
        self, slots: NDArray[np.int32], role: int, rule: int
    ) -> tuple[NDArray[np.int32], int]:
        """Return those of some slots that can be in a pair with a member of a role, and its rule.

        That need not look at who rests where each pair has a member that does not.
        """
        roles = self.roles
        if not roles.count(role):
            return _NO_SLOTS, rule
        among = (rule & AMONG_BITS) >> AMONG_SHIFT
        if not among or role == DYNAMIC:
            return slots, rule & ~AMONG_BITS
        is_resting = roles.is_resting(role)
        if not is_resting or (among == _DYNAMIC_PAIRS and roles.has_sleepers(role)):
            return slots, rule
        codes = roles.codes[slots]
        if among == _ACTIVE_PAIRS:
            able = (codes & RESTING) == 0
        else:
            able = (codes & (RESTING | SLEEPING)) != RESTING
        return slots if able.all() else slots[able], rule & ~AMONG_BITS

    def _plan(self, rule: int) -> _Plan:
        """Return in which roles pairs can be, and who asks which part for pairs across.

        Each pair across parts is found once. The plan is good until somebody's code changes.
        """
        version, plans = self._plans
        if version != self.roles.version:
            plans = {}
            self._plans = self.roles.version, plans
        plan = plans.get(rule)
        if plan is None:
            plan = plans[rule] = self._made_plan(rule)
        return plan

    def _made_plan(self, rule: int) -> _Plan:
        """Make the plan for a rule."""
        roles = self.roles
        within = [
            (role, rule & ~AMONG_BITS if role == DYNAMIC else rule)
            for role in ROLES
            if self._pairs_within(role, rule)
        ]
        across = []
        for one, two in _ACROSS:
            if roles.count(one) and roles.count(two):
                asking, asked = (one, two) if roles.count(one) <= roles.count(two) else (two, one)
                slots, needed = self._able(roles.members(asking), asked, rule)
                if asking == DYNAMIC:
                    needed &= ~AMONG_BITS
                if len(slots):
                    across.append((slots, asking, asked, needed))
        return within, across

    def _filled(self) -> list[Structure]:
        """Return the parts that hold anything, the fullest first."""
        count = self.roles.count
        roles = sorted((role for role in ROLES if count(role)), key=lambda role: -count(role))
        return [self.parts[role] for role in roles]

    # -- answering ----------------------------------------------------------------------------

    def pairs(self, rule: int, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Find pairs within each part, and across parts from the smaller side."""
        within, across = self._plan(rule)
        tasks: list[Callable[..., NDArray[np.int32]]] = [
            partial(self.parts[role].pairs, needed) for role, needed in within
        ]
        for slots, asking, asked, needed in across:
            is_near = (asking, asked) == (DYNAMIC, STATIC)
            part = self._nearby if is_near else self.parts[asked]
            tasks.append(partial(part.touching, slots, needed))
        return _together(tasks, limit, workers)

    def touching(
        self, slots: NDArray[np.int32], rule: int, *, limit: int, workers: int = 1
    ) -> NDArray[np.int32]:
        """Ask each part for the slots that can have pairs in it."""
        tasks = []
        for role, part in self.parts.items():
            able, needed = self._able(slots, role, rule)
            if len(able):
                tasks.append(partial(part.touching, able, needed))
        return _together(tasks, limit, workers)

    def query(self, region: Region, *, limit: int, workers: int = 1) -> NDArray[np.int32]:
        """Ask each part."""
        tasks = [partial(part.query, region) for part in self._filled()]
        return _together(tasks, limit, workers)

    def count(self, region: Region, *, workers: int = 1) -> NDArray[np.int64]:
        """Add up what the parts count."""
        counts = np.zeros(len(region.cull), np.int64)
        for part in self._filled():
            counts += part.count(region, workers=workers)
        return counts

    def nearest(
        self, region: Region, k: int, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Merge the best of the parts; the next part looks no farther than the k-th so far."""
        ndim = self.table.ndim
        slots, values = _none(len(region.cull), k)
        for at, part in enumerate(self._filled()):
            if at:
                centers = np.ascontiguousarray(region.exact[:, :ndim])
                reach = np.minimum(region.exact[:, ndim], values[:, -1])
                region = balls(centers, reach, region.layers)
            most = min(k, len(part.table))
            found = part.nearest(region, most, ignored, workers=workers)
            slots, values = self._merged(k, slots, values, *found)
        return slots, values

    def first_hits(
        self, region: Region, ignored: NDArray[np.int32], *, workers: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Take the first of the parts' first; the next part looks no longer than until then."""
        ndim, n = self.table.ndim, len(region.cull)
        slots, values = _none(n, 1)
        for at, part in enumerate(self._filled()):
            if at:
                exact = region.exact
                lasts = np.minimum(exact[:, 3 * ndim], values[:, 0])
                boxes = np.ascontiguousarray(exact[:, : 2 * ndim])
                motions = np.ascontiguousarray(exact[:, 2 * ndim : 3 * ndim])
                region = casts(boxes, motions, lasts, n, region.layers)
            found, times = part.first_hits(region, ignored, workers=workers)
            slots, values = self._merged(1, slots, values, found[:, None], times[:, None])
        return slots[:, 0], values[:, 0]

    def _merged(
        self,
        k: int,
        slots: NDArray[np.int32],
        values: NDArray[np.float64],
        more_slots: NDArray[np.int32],
        more_values: NDArray[np.float64],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Merge the k best of two parts."""
        best = np.empty((len(slots), k), SLOT_DTYPE), np.empty((len(slots), k))
        merge_best(slots, values, more_slots, more_values, self.table.slot_ids, *best)
        return best

    def single(self) -> Single | None:
        """Return how one box is asked, when all parts that hold anything have a way."""
        asked = []
        for part in self._filled():
            how: Any = getattr(part, "single", None)
            way: Single | None = how() if how is not None else None
            if way is None:
                return None
            asked.append(way)
        if len(asked) == 1:
            return asked[0]
        return Single(_ask_parts, (asked,), axes(self.table)) if asked else None

    # -- figures ------------------------------------------------------------------------------

    def stats(self) -> StructureStats:
        """Return what the parts hold together; the worst quality of those that decay."""
        parts = [part.stats() for part in self.parts.values()]
        qualities = [one.quality for one in parts if one.quality is not None]
        return StructureStats(
            entries=sum(one.entries for one in parts),
            buckets=sum(one.buckets for one in parts),
            max_bucket=max(one.max_bucket for one in parts),
            wide=sum(one.wide for one in parts),
            rebuilds=sum(one.rebuilds for one in parts),
            quality=max(qualities, default=None),
        )

    def count_pairs(self, rule: int) -> PairCounts:
        """Add up what the parts count; of pairs across parts, met are those that overlap."""
        within, across = self._plan(rule)
        counts = [self.parts[role].count_pairs(rule) for role, _ in within]
        for slots, _, asked, _ in across:
            count = partial(self._count_touching, slots, self.parts[asked])
            met = count(0)
            counts.append(count_verdicts(count, rule, visits=met, candidates=met))
        return PairCounts(*(sum(column) for column in zip(*counts, strict=True)))

    def _count_touching(self, slots: NDArray[np.int32], part: Structure, rule: int) -> int:
        """Count whom slots touch in a part, a group of them at a time."""
        total, at, group = 0, 0, 1024
        while at < len(slots):
            limit = _MOST_COUNTED if group > 1 else NO_LIMIT
            try:
                total += len(part.touching(slots[at : at + group], rule, limit=limit))
            except ResultTooLargeError:
                group = max(group // 8, 1)
                continue
            at += group
        return total

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        noted = self.roles.nbytes + self.rest.nbytes + self._nearby.nbytes
        return noted + sum(part.nbytes for part in self.parts.values())

    def outlines(self) -> Outlines:
        """Return the outlines of each part, their kinds after its role: ``"static leaf"``."""
        found = []
        for role, name in ROLES.items():
            part = outlines_of(self.parts[role])
            kinds = np.array([f"{name} {kind}" for kind in part.kinds], np.str_)
            found.append(part._replace(kinds=kinds))
        return Outlines.joined(found)

    def validate(self) -> None:
        """Check that each slot has one owner, by its flags and extent, and each part itself."""
        live = self.table.live_slots()
        codes = self.roles.codes
        if np.count_nonzero(codes) != len(live) or not codes[live].all():
            raise InvariantError("split: a slot without an object has a role, or one with it none")
        sized = self._router.sized(live)
        differs = sized != codes[live]
        # what its part did not hold when it was routed is coarse as well, and that may change
        differs &= (sized | COARSE) != codes[live]
        if differs.any():
            slot = int(live[np.argmax(differs)])
            raise InvariantError(
                f"split: the slot {slot} has code {codes[slot]}, by flags and extent it is "
                f"{sized[np.argmax(differs)]}"
            )
        for role, name in ROLES.items():
            members = live[(codes[live] & ROLE_BITS) == role]
            if not np.array_equal(self.roles.members(role), members):
                raise InvariantError(f"split: the list of {name} slots is not theirs")
            if self.roles.count(role) != len(members):
                raise InvariantError(f"split: the number of {name} slots is not the one counted")
            self.parts[role].validate()
        self._nearby.validate()


class _Going:
    """Slots that have changed, with their roles before and after: what each part is told."""

    def __init__(
        self, slots: NDArray[np.int32], before: NDArray[np.uint8], after: NDArray[np.uint8]
    ) -> None:
        self._slots = slots
        self._before = before & np.uint8(ROLE_BITS)
        self._after = after & np.uint8(ROLE_BITS)
        self._goes = self._before != self._after
        self._any_goes = bool(self._goes.any())

    def of(self, role: int, gone: NDArray[np.int32], changes: Changes) -> Changes:
        """Return the changes of one part, from which `gone` were removed."""
        came = _NO_SLOTS
        stays = self._after == role
        if self._any_goes:
            came = self._slots[self._goes & stays]
            left = self._slots[self._goes & (self._before == role)]
            gone = _union(gone, left)
            stays &= ~self._goes
        return Changes(
            came,
            gone,
            _those(changes.moved, self._slots, stays),
            _those(changes.restated, self._slots, stays),
        )


def _those(
    some: NDArray[np.int32], slots: NDArray[np.int32], chosen: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Return those of `some` of the slots, both ascending, that are chosen among these."""
    if not len(some):
        return some
    if len(some) != len(slots):
        chosen = chosen[np.searchsorted(slots, some)]
    return some if chosen.all() else some[chosen]


def _union(*groups: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the slots of ascending groups, ascending, each once."""
    filled = [slots for slots in groups if len(slots)]
    if len(filled) < 2:
        return filled[0] if filled else _NO_SLOTS
    return np.unique(np.concatenate(filled))


def _together(
    tasks: Sequence[Callable[..., NDArray[np.int32]]], limit: int, workers: int
) -> NDArray[np.int32]:
    """Return the rows of all tasks, at most `limit` of them."""
    found = []
    left = limit
    for task in tasks:
        try:
            rows = task(limit=left, workers=workers)
        except ResultTooLargeError:
            raise too_large(limit) from None
        left -= len(rows)
        found.append(rows)
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else NO_ROWS.copy()


def _none(n: int, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the k best of `n` rows that have found nothing."""
    return np.full((n, k), -1, SLOT_DTYPE), np.full((n, k), np.inf)


def _ask_parts(parts: list[Single], box: Any, out: NDArray[np.int64], _dim: Any) -> int:
    """Ask all parts about one box, as `protocol.Single` has it."""
    n = 0
    for kernel, state, dim in parts:
        found = np.empty(len(out), ID_DTYPE)
        more = kernel(*state, box, found, dim)
        if more < 0:
            return -1
        if n + more > len(out):
            return len(out) + 1
        out[n : n + more] = found[:more]
        n += more
    out[:n].sort()
    return n
