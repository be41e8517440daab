"""A structure from outside the package: what it takes, and that the suite tells good from broken.

`SortedByX` is all that somebody has to write: a class of NumPy code around the object table.
`XSorted` makes an index of it. The broken ones after it are what the suite is there to find.
"""

from functools import partial

import numpy as np
import pytest

import spatialindex as si
from spatialindex import oracle
from spatialindex.constants import AMONG, SENSORS, SLOT_DTYPE
from spatialindex.execution import too_large
from spatialindex.index import BoxIndex
from spatialindex.kernels import decide
from spatialindex.registry import Entry, unregister
from spatialindex.results import PairCounts, StructureStats
from spatialindex.testing import (
    check_index,
    conformance,
    conformance_checks,
    make_state_machine,
)
from spatialindex.testing.checks import batches, geometry
from spatialindex.testing.twin import Twin

CHECKS = dict(conformance_checks())


class SortedByX:
    """Slots in the order of their lower x.

    A box meets only boxes that begin before it ends; those are the front of the order, found by
    bisection. ``lower x  0 1 1 4 6`` and a query that ends at 1.5: the first three are tested.
    """

    def __init__(self, table):
        self.table = table
        self.slots = np.empty(0, SLOT_DTYPE)
        self.lower = np.empty(0)

    def holds(self, boxes):
        return np.ones(len(boxes), bool)

    def apply(self, changes):
        kept = np.setdiff1d(self.slots, changes.removed)
        self.sort(np.union1d(kept, changes.added))

    def sort(self, slots):
        lower = self.table.cover[slots, 0]
        order = np.argsort(lower, kind="stable")
        self.slots, self.lower = slots[order].astype(SLOT_DTYPE), lower[order]

    def rebuild(self):
        self.sort(self.table.live_slots())

    def begun_by(self, x):
        """Slots of boxes that begin at `x` or before."""
        return self.slots[: np.searchsorted(self.lower, x, side="right")]

    def meetings(self):
        """Rows (a, b) of slots whose extents on x meet, each once."""
        rows = [np.empty((0, 2), SLOT_DTYPE)]
        ends = self.table.cover[self.slots, self.table.ndim]
        for place, (a, end) in enumerate(zip(self.slots, ends, strict=True)):
            later = self.begun_by(end)[place + 1 :]
            rows.append(np.stack((np.full_like(later, a), later), -1))
        return np.concatenate(rows)

    def overlapping(self, rows):
        cover = self.table.cover
        return rows[oracle.overlaps(cover[rows[:, 0]], cover[rows[:, 1]])]

    def passing(self, rows, rule):
        among = AMONG[(rule >> decide.AMONG_SHIFT) & 3]
        sensors = SENSORS[(rule >> decide.SENSORS_SHIFT) & 3]
        a, b = self.table.state[rows].T
        return oracle.passes(a, b, among=among, sensors=sensors)

    def limited(self, rows, limit):
        if len(rows) > limit:
            raise too_large(limit)
        return rows

    def pairs(self, rule, *, limit, workers=1):
        rows = self.overlapping(self.meetings())
        return self.limited(rows[self.passing(rows, rule)], limit)

    def touching(self, slots, rule, *, limit, workers=1):
        rows = [np.empty((0, 2), SLOT_DTYPE)]
        for slot in slots:
            begun = self.begun_by(self.table.cover[slot, self.table.ndim])
            others = begun[begun != slot]
            rows.append(np.stack((np.full_like(others, slot), others), -1))
        found = self.overlapping(np.concatenate(rows))
        return self.limited(found[self.passing(found, rule)], limit)

    def value(self, region, row, boxes):
        """Distances from a center, or times until they are met."""
        exact, ndim = region.exact[row], self.table.ndim
        if region.kind == decide.RADIUS:
            return oracle.distances(exact[:ndim], boxes)
        start, motion, last = exact[: 2 * ndim], exact[2 * ndim : 3 * ndim], exact[3 * ndim]
        return oracle.cast_times(start, motion, last, boxes)

    def accepts(self, region, row, slots):
        boxes, exact, ndim = self.table.boxes[slots], region.exact[row], self.table.ndim
        if region.kind == decide.INTERSECTS:
            return oracle.overlaps(exact, boxes)
        if region.kind == decide.INSIDE:
            return oracle.encloses(exact, boxes)
        if region.kind == decide.ENCLOSES:
            return oracle.encloses(boxes, exact)
        if region.kind == decide.PLANES:
            planes = exact.reshape(-1, ndim + 1)
            return oracle.within_planes(planes[:, :ndim], planes[:, ndim], boxes)
        values = self.value(region, row, boxes)
        return values < np.inf if region.kind == decide.CAST else values <= exact[ndim]

    def query(self, region, *, limit, workers=1):
        rows = [np.empty((0, 2), SLOT_DTYPE)]
        for row, cull in enumerate(region.cull):
            begun = self.begun_by(cull[self.table.ndim])
            begun = begun[oracle.seen(self.table.state[begun], region.layers)]
            found = begun[self.accepts(region, row, begun)]
            rows.append(np.stack((np.full_like(found, row), found), -1))
        return self.limited(np.concatenate(rows), limit)

    def count(self, region, *, workers=1):
        rows = self.query(region, limit=2**62)
        return np.bincount(rows[:, 0], minlength=len(region.cull)).astype(np.int64)

    def nearest(self, region, k, ignored, *, workers=1):
        return self.best(region, k, ignored)

    def first_hits(self, region, ignored, *, workers=1):
        slots, times = self.best(region, 1, ignored)
        return slots[:, 0], times[:, 0]

    def best(self, region, k, ignored):
        slots = np.full((len(region.cull), k), -1, SLOT_DTYPE)
        values = np.full((len(region.cull), k), np.inf)
        rows = self.query(region, limit=2**62)
        for row in range(len(region.cull)):
            found = rows[rows[:, 0] == row, 1]
            if len(ignored):
                found = found[found != ignored[row]]
            value = self.value(region, row, self.table.boxes[found])
            order = np.lexsort((self.table.slot_ids[found], value))[:k]
            slots[row, : len(order)], values[row, : len(order)] = found[order], value[order]
        return slots, values

    def count_pairs(self, rule):
        met = self.meetings()
        rows = self.overlapping(met)
        passed = int(self.passing(rows, rule).sum())
        # what passes when nothing is asked of static and sleeping members is not masked
        awake = int(self.passing(rows, rule & ~(3 << decide.AMONG_SHIFT)).sum())
        return PairCounts(len(met), len(met), passed, len(rows) - awake, awake - passed)

    def validate(self):
        if not np.array_equal(np.sort(self.slots), self.table.live_slots()):
            raise si.InvariantError("the order holds other slots than the table")
        if not np.array_equal(self.lower, self.table.cover[self.slots, 0]):
            raise si.InvariantError("a lower x in the order is not that of the box")

    def stats(self):
        n = len(self.slots)
        return StructureStats(entries=n, buckets=min(n, 1), max_bucket=n)

    @property
    def nbytes(self):
        return self.slots.nbytes + self.lower.nbytes


class XSorted(BoxIndex):
    """An index around the structure above."""

    def __init__(self, ndim=2):
        super().__init__(ndim, SortedByX)


@pytest.mark.parametrize("ndim", [2, 3])
def test_structure_from_outside_keeps_the_contract(ndim):
    check_index(XSorted, ndims=(ndim,))


def test_structure_from_outside_goes_through_the_state_machine():
    from hypothesis import settings
    from hypothesis.stateful import run_state_machine_as_test

    machine = make_state_machine(XSorted, 2)
    run_state_machine_as_test(machine, settings=settings(max_examples=20, stateful_step_count=15))


def test_structure_from_outside_can_be_registered():
    si.register(Entry("x-sorted", f"{__name__}:XSorted", "sorted by lower x"))
    try:
        index = si.create("x-sorted", ndim=3)
        assert isinstance(index, XSorted)
        assert isinstance(index, si.Index)
        assert "x-sorted" in [entry.name for entry in si.structures()]
    finally:
        unregister("x-sorted")
    with pytest.raises(si.InvalidArgumentError, match="unknown structure 'x-sorted'"):
        si.create("x-sorted")


@pytest.mark.parametrize("wrong", ["bvh", XSorted])
def test_only_an_entry_can_be_registered(wrong):
    before = si.structures()
    with pytest.raises(si.InvalidArgumentError, match=r"^register was given .*: pass an entry"):
        si.register(wrong)
    assert si.structures() == before


def test_structure_from_outside_fulfils_the_protocol():
    assert isinstance(XSorted(2)._structure, si.Structure)


# Broken structures: one mistake each


class DropsTouching(SortedByX):
    def overlapping(self, rows):
        cover, ndim = self.table.cover, self.table.ndim
        a, b = cover[rows[:, 0]], cover[rows[:, 1]]
        return rows[((a[:, :ndim] < b[:, ndim:]) & (b[:, :ndim] < a[:, ndim:])).all(axis=1)]


class ForgetsRemovals(SortedByX):
    def apply(self, changes):
        self.sort(np.union1d(self.slots, changes.added))

    def validate(self):
        pass


class ForgetsMotion(SortedByX):
    def apply(self, changes):
        if len(changes.added) or len(changes.removed):
            super().apply(changes)

    def validate(self):
        pass


class ReportsTwice(SortedByX):
    def pairs(self, rule, **options):
        rows = super().pairs(rule, **options)
        return np.concatenate((rows, rows[-1:]))


class FindsItself(SortedByX):
    def pairs(self, rule, **options):
        rows = super().pairs(rule, **options)
        return np.concatenate((rows, np.repeat(self.slots[:1, None], 2, axis=1)))


class ListsAtMostAHundred(SortedByX):
    def pairs(self, rule, **options):
        return super().pairs(rule, **options)[:100]


class IgnoresTheLimit(SortedByX):
    def limited(self, rows, limit):
        return rows


class IgnoresTheRule(SortedByX):
    def passing(self, rows, rule):
        return np.ones(len(rows), bool)


class ShowsLayerZero(SortedByX):
    def query(self, region, **options):
        layers = 2**64 - 1
        self.table.state["layer"][self.table.state["layer"] == 0] = layers
        return super().query(region._replace(layers=layers), **options)


class MeasuresTheLongestAxis(SortedByX):
    def accepts(self, region, row, slots):
        if region.kind != decide.RADIUS:
            return super().accepts(region, row, slots)
        return oracle.overlaps(region.cull[row], self.table.boxes[slots])


class CountsOneTooMany(SortedByX):
    def count(self, region, *, workers=1):
        return super().count(region) + 1


class SplitsByWorkers(SortedByX):
    def pairs(self, rule, *, limit, workers=1):
        return super().pairs(rule, limit=limit)[:: -1 if workers > 1 else 1]


class LearnsFromQuestions(SortedByX):
    asked = 0

    def query(self, region, **options):
        self.asked += len(region.cull)
        return super().query(region, **options)

    def stats(self):
        return super().stats()._replace(rebuilds=self.asked)


class LeaksOnMotion(SortedByX):
    leaked = 0

    def apply(self, changes):
        self.leaked += 64 * len(changes.moved)
        super().apply(changes)

    @property
    def nbytes(self):
        return super().nbytes + self.leaked


class BreaksTies(SortedByX):
    def best(self, region, k, ignored):
        ids = self.table.slot_ids
        self.table.slot_ids = -ids
        try:
            return super().best(region, k, ignored)
        finally:
            self.table.slot_ids = ids


class SeesWhatIsIgnored(SortedByX):
    def best(self, region, k, ignored):
        return super().best(region, k, np.empty(0, SLOT_DTYPE))


class MissesWhatIsGrazed(SortedByX):
    def accepts(self, region, row, slots):
        found = super().accepts(region, row, slots)
        if region.kind == decide.CAST:
            box, ndim = self.table.boxes[slots], self.table.ndim
            start, still = region.exact[row], region.exact[row, 2 * ndim : 3 * ndim] == 0
            inside = (box[:, :ndim] < start[ndim : 2 * ndim]) & (start[:ndim] < box[:, ndim:])
            found &= (inside | ~still).all(axis=1)
        return found


class MultipliesByReciprocals(SortedByX):
    def value(self, region, row, boxes):
        values = super().value(region, row, boxes)
        if region.kind == decide.CAST:
            with np.errstate(all="ignore"):
                values = np.where(values > 0, 1.0 / (1.0 / values), values)
        return values


class ForgetsTheLastTime(SortedByX):
    def best(self, region, k, ignored):
        exact = region.exact.copy()
        if region.kind == decide.CAST:
            exact[:, -1] = np.inf
        return super().best(region._replace(exact=exact), k, ignored)


class DropsInfiniteDistances(SortedByX):
    def best(self, region, k, ignored):
        slots, values = super().best(region, k, ignored)
        slots[values == np.inf] = -1
        return slots, values


class AsksOnlyThisFarAround(SortedByX):
    def best(self, region, k, ignored):
        ndim = self.table.ndim
        if region.kind == decide.RADIUS:
            exact = np.concatenate((region.exact[:, :-1], np.minimum(region.exact[:, -1:], 50)), 1)
            cull = np.concatenate((exact[:, :ndim] - 50, exact[:, :ndim] + 50), 1)
            region = region._replace(exact=exact, cull=cull)
        return super().best(region, k, ignored)


class MeetsTheRegionOfPlanes(SortedByX):
    def accepts(self, region, row, slots):
        found = super().accepts(region, row, slots)
        if region.kind == decide.PLANES:
            planes = region.exact[row].reshape(-1, self.table.ndim + 1)
            opposed = (planes[:, None, :-1] == -planes[None, :, :-1]).all(axis=-1)
            sums = planes[:, None, -1] + planes[None, :, -1]
            if (opposed & (sums < 0)).any():
                return np.zeros_like(found)
        return found


# Broken indexes: one mistake each


class InsertsRowByRow(XSorted):
    def insert(self, boxes, ids=None, **state):
        rows = si.as_boxes(boxes, self.ndim)
        if rows.ndim == 1 or ids is None or len(np.atleast_1d(ids)) != len(rows):
            return super().insert(boxes, ids, **state)
        for k in range(len(rows)):
            of_row = {name: np.broadcast_to(v, len(rows))[k] for name, v in state.items()}
            super().insert(rows[k], np.asarray(ids)[k], **of_row)
        return np.asarray(ids, np.int64)


class ForgetsTheHighestId(XSorted):
    def clear(self):
        super().clear()
        self._table.next_id = 0


class CopiesByReference(XSorted):
    def __deepcopy__(self, memo):
        return self


class KeepsPairsTooLong(XSorted):
    def set_state(self, ids, **state):
        kept = self.pairs().copy()
        super().set_state(ids, **state)
        self._sync()
        self._kept.keep(self._table.pair_rule("active", "include"), kept)


class SwapsRows(XSorted):
    def query(self, boxes, **options):
        found = super().query(boxes, **options)
        return found[::-1] if options.get("sort", True) else found


class AnswersInInt32(XSorted):
    def query(self, boxes, **options):
        return super().query(boxes, **options).astype(np.int32)


class SortsHitsById(XSorted):
    def raycast_all(self, *rays, **options):
        rows, t = super().raycast_all(*rays, **options)
        order = np.lexsort((rows[:, 1], rows[:, 0])) if rows.ndim == 2 else np.argsort(rows)
        return rows[order], t[order]


class NamesNoParts(XSorted):
    def nearest(self, *points, **options):
        return tuple(super().nearest(*points, **options))


class AcceptsStandingRays(XSorted):
    def raycast(self, origins, directions, **options):
        if not np.any(directions):
            return super().boxcast(np.tile(origins, 2), directions)
        return super().raycast(origins, directions, **options)


class RefusesInfinity(XSorted):
    def query(self, boxes, **options):
        si.as_boxes(boxes, self.ndim)
        return super().query(boxes, **options)


class AcceptsInvertedQuestions(XSorted):
    def query(self, boxes, **options):
        rows = np.asarray(boxes, float)
        if rows.shape[-1] == 2 * self.ndim and not np.isnan(rows).any():
            lower, upper = rows[..., : self.ndim], rows[..., self.ndim :]
            rows = np.concatenate((np.minimum(lower, upper), np.maximum(lower, upper)), -1)
            return super().query(rows, **options)
        return super().query(boxes, **options)


def around(structure):
    """Make a factory of indexes around a broken structure."""
    return partial(BoxIndex, structure=structure)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (around(DropsTouching), "touching_boxes_meet"),
        (around(DropsTouching), "boxes_without_size"),
        (around(ForgetsRemovals), "an_id_used_again_is_a_new_object"),
        (around(ForgetsRemovals), "answers_are_snapshots"),
        (around(ForgetsMotion), "motion_of_every_length"),
        (around(ForgetsMotion), "generated_scenes"),
        (around(ReportsTwice), "minus_zero"),
        (around(FindsItself), "pair_rule"),
        (around(ListsAtMostAHundred), "everything_at_one_point"),
        (around(IgnoresTheLimit), "answers_beyond_max_rows_are_refused"),
        (around(IgnoresTheRule), "pair_rule"),
        (around(IgnoresTheRule), "layers_and_masks_agree_both_ways"),
        (around(IgnoresTheRule), "resting_objects"),
        (around(IgnoresTheRule), "sensor_pairs"),
        (around(ShowsLayerZero), "layer_zero_is_seen_by_nobody"),
        (around(ShowsLayerZero), "questions_see_layers_only"),
        (around(MeasuresTheLongestAxis), "distances_are_compared_as_rounded"),
        (around(CountsOneTooMany), "predicates"),
        (around(SplitsByWorkers), "worker_count_changes_nothing"),
        (around(LearnsFromQuestions), "reads_leave_nothing_behind"),
        (around(LeaksOnMotion), "memory_follows_content"),
        (around(BreaksTies), "hits_at_the_same_time_go_by_id"),
        (around(BreaksTies), "nearest_at_the_same_distance_go_by_id"),
        (around(BreaksTies), "nearest_of_identical_boxes"),
        (around(SeesWhatIsIgnored), "ignored_ids_are_not_seen"),
        (around(MissesWhatIsGrazed), "rays_against_one_box"),
        (around(MissesWhatIsGrazed), "box_casts_against_one_box"),
        (around(MultipliesByReciprocals), "last_times_are_compared_as_rounded"),
        (around(ForgetsTheLastTime), "rays_against_one_box"),
        (around(DropsInfiniteDistances), "nearest_at_all_magnitudes"),
        (around(AsksOnlyThisFarAround), "nearest_from_far_away"),
        (around(MeetsTheRegionOfPlanes), "planes_that_contradict_each_other"),
        (SortsHitsById, "rays_on_a_lattice"),
        (NamesNoParts, "one_asked_in_order_one_out"),
        (AcceptsStandingRays, "bad_points_and_rays_are_refused"),
        (InsertsRowByRow, "duplicate_ids_are_refused"),
        (ForgetsTheHighestId, "ids_given_out"),
        (CopiesByReference, "copies_are_independent"),
        (KeepsPairsTooLong, "changes_of_state_need_no_motion"),
        (SwapsRows, "predicates"),
        (AnswersInInt32, "one_in_one_out"),
        (RefusesInfinity, "infinite_query_bounds"),
        (AcceptsInvertedQuestions, "bad_questions_are_refused"),
    ],
)
def test_suite_fails_on_a_broken_structure(broken, name, ndim):
    with pytest.raises((AssertionError, si.SpatialIndexError)):
        CHECKS[name](broken, ndim)


def test_state_machine_fails_on_a_broken_structure():
    from hypothesis import Phase, settings
    from hypothesis.stateful import run_state_machine_as_test

    machine = make_state_machine(around(DropsTouching), 2)
    quick = settings(max_examples=100, phases=[Phase.generate], print_blob=False)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(machine, settings=quick)


def test_whole_suite_reports_what_a_broken_structure_fails(monkeypatch):
    monkeypatch.setattr(conformance, "_MODULES", (geometry, batches))
    with pytest.raises(ExceptionGroup, match="conformance checks failed") as caught:
        check_index(around(DropsTouching), ndims=(2,))
    notes = " ".join(note for error in caught.value.exceptions for note in error.__notes__)
    assert "touching_boxes_meet" in notes
    assert "infinite_query_bounds" not in notes


def test_messages_show_what_is_missing_and_what_is_too_much():
    twin = Twin(around(DropsTouching)(2))
    twin.insert([[0, 0, 1, 1], [1, 0, 2, 1], [0.5, 0.5, 0.75, 0.75]])
    with pytest.raises(AssertionError, match=r"pairs\(\): 1 row is missing: \[\[0, 1\]\]$"):
        twin.pairs()
    twin = Twin(around(ReportsTwice)(2))
    twin.insert([[0, 0, 1, 1], [1, 0, 2, 1]])
    with pytest.raises(AssertionError, match=r"pairs\(\): 1 row is there twice$"):
        twin.pairs()
    twin = Twin(SwapsRows(2))
    twin.insert([[0, 0, 1, 1], [1, 0, 2, 1]])
    with pytest.raises(AssertionError, match=r"row 0 is \[1\], expected \[0\]$"):
        twin.query([1, 0, 1, 1])
    with pytest.raises(AssertionError, match="was accepted, expected UnknownIdError"):
        twin.refuses(si.UnknownIdError, "update", [0], [[0, 0, 1, 1]])
    twin = Twin(SortsHitsById(2))
    twin.insert([[5, 0, 6, 1], [2, 0, 3, 1], [8, 0, 9, 1]])
    with pytest.raises(AssertionError, match=r", 0: row 0 is 0, expected 1; 2 rows of 3 differ$"):
        twin.raycast_all([0, 0], [1, 0])
    with pytest.raises(AssertionError, match=r"0: row 0 is \[0, 0\], expected \[0, 1\]; 2 rows of"):
        twin.raycast_all([[0, 0]], [[1, 0]])
    twin = Twin(around(BreaksTies)(2))
    twin.insert([[5, 0, 6, 1], [5, 0, 6, 1]])
    with pytest.raises(AssertionError, match=r"nearest\(.*\), ids: row 0 is 1, expected 0$"):
        twin.nearest([0, 0])
    twin = Twin(AnswersInInt32(2))
    with pytest.raises(AssertionError, match="got dtype int32, expected int64"):
        twin.query([1, 0, 1, 1])
