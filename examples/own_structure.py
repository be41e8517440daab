"""A structure of your own: all there is to write, and the suite that says whether it is right.

    python examples/own_structure.py

`SweepStructure` keeps the boxes sorted by their lower x. A box meets only boxes that begin before
it ends, and in sorted order those come first. All of it is NumPy, which is slow and short.
"""

import numpy as np

import spatialindex as si
from spatialindex import oracle
from spatialindex.constants import AMONG, SENSORS
from spatialindex.execution import too_large
from spatialindex.index import BoxIndex
from spatialindex.kernels import decide
from spatialindex.protocol import Changes, Region
from spatialindex.registry import Entry
from spatialindex.results import PairCounts, StructureStats
from spatialindex.testing import check_index

NO_ROWS = np.empty((0, 2), np.int32)


class SweepStructure:
    """Slots in the order of their lower x."""

    # -- keeping up -------------------------------------------------------------------------------

    def __init__(self, table):
        self.table = table  # read it anew in every method: its arrays grow
        self.slots = np.empty(0, np.int32)
        self.lower = np.empty(0)

    def apply(self, changes: Changes):
        """Take in what was added, removed and moved since the last question."""
        kept = np.setdiff1d(self.slots, changes.removed)
        self.sort(np.union1d(kept, changes.added))  # those that moved are sorted anew, too

    def rebuild(self):
        self.sort(self.table.live_slots())

    def sort(self, slots):
        lower = self.table.cover[slots, 0]
        order = np.argsort(lower, kind="stable")
        self.slots, self.lower = slots[order].astype(np.int32), lower[order]

    def holds(self, boxes):
        """Tell which boxes it would hold well: all."""
        return np.ones(len(boxes), np.bool_)

    # -- finding candidates -----------------------------------------------------------------------

    def begun_by(self, x):
        """Return the slots of boxes that begin at x or before."""
        return self.slots[: np.searchsorted(self.lower, x, side="right")]

    def meetings(self):
        """Return rows (a, b) of slots whose extents on x meet, each once."""
        rows = [NO_ROWS]
        for place, slot in enumerate(self.slots):
            later = self.begun_by(self.table.cover[slot, self.table.ndim])[place + 1 :]
            rows.append(np.stack([np.full_like(later, slot), later], axis=1))
        return np.concatenate(rows)

    # -- deciding, as every structure does --------------------------------------------------------

    def pairs(self, rule, *, limit, workers=1):
        rows = self.overlapping(self.meetings())
        return limited(rows[self.passing(rows, rule)], limit)

    def touching(self, slots, rule, *, limit, workers=1):
        rows = [NO_ROWS]
        for slot in slots:
            begun = self.begun_by(self.table.cover[slot, self.table.ndim])
            others = begun[begun != slot]
            rows.append(np.stack([np.full_like(others, slot), others], axis=1))
        found = self.overlapping(np.concatenate(rows))
        return limited(found[self.passing(found, rule)], limit)

    def query(self, region: Region, *, limit, workers=1):
        rows = [NO_ROWS]
        for row, cull in enumerate(region.cull):
            begun = self.begun_by(cull[self.table.ndim])
            begun = begun[oracle.seen(self.table.state[begun], region.layers)]
            found = begun[self.accepted(region, row, self.table.boxes[begun])]
            rows.append(np.stack([np.full_like(found, row), found], axis=1))
        return limited(np.concatenate(rows), limit)

    def count(self, region: Region, *, workers=1):
        rows = self.query(region, limit=2**62)
        return np.bincount(rows[:, 0], minlength=len(region.cull)).astype(np.int64)

    def nearest(self, region: Region, k, ignored, *, workers=1):
        return self.best(region, k, ignored)

    def first_hits(self, region: Region, ignored, *, workers=1):
        slots, times = self.best(region, 1, ignored)
        return slots[:, 0], times[:, 0]

    def best(self, region, k, ignored):
        """Return slots and values (q, k) of the least that each row accepts; ties go by id."""
        slots = np.full((len(region.cull), k), -1, np.int32)
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

    def overlapping(self, rows):
        cover = self.table.cover  # the boxes that decide pairs
        return rows[oracle.overlaps(cover[rows[:, 0]], cover[rows[:, 1]])]

    def passing(self, rows, rule):
        """Tell which pairs the pair rule lets pass."""
        among = AMONG[(rule >> decide.AMONG_SHIFT) & 3]
        sensors = SENSORS[(rule >> decide.SENSORS_SHIFT) & 3]
        a, b = self.table.state[rows].T
        return oracle.passes(a, b, among=among, sensors=sensors)

    def value(self, region, row, boxes):
        """Return distances from a center, or times until they are met."""
        exact, ndim = region.exact[row], self.table.ndim
        if region.kind == decide.RADIUS:
            return oracle.distances(exact[:ndim], boxes)
        start, motion, last = exact[: 2 * ndim], exact[2 * ndim : 3 * ndim], exact[3 * ndim]
        return oracle.cast_times(start, motion, last, boxes)

    def accepted(self, region, row, boxes):
        """Tell which boxes the exact region accepts."""
        exact, ndim = region.exact[row], self.table.ndim
        if region.kind == decide.RADIUS:
            return self.value(region, row, boxes) <= exact[ndim]
        if region.kind == decide.CAST:
            return self.value(region, row, boxes) < np.inf
        if region.kind == decide.PLANES:
            planes = exact.reshape(-1, ndim + 1)
            return oracle.within_planes(planes[:, :ndim], planes[:, ndim], boxes)
        if region.kind == decide.INSIDE:
            return oracle.encloses(exact, boxes)
        if region.kind == decide.ENCLOSES:
            return oracle.encloses(boxes, exact)
        return oracle.overlaps(exact, boxes)

    # -- telling ----------------------------------------------------------------------------------

    def count_pairs(self, rule):
        met = self.meetings()
        rows = self.overlapping(met)
        passed = int(self.passing(rows, rule).sum())
        # masked is what the rule leaves out although nothing is asked of static and asleep
        matched = int(self.passing(rows, rule & ~decide.AMONG_BITS).sum())
        return PairCounts(len(met), len(met), passed, len(rows) - matched, matched - passed)

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


def limited(rows, limit):
    """Refuse an answer of more rows than the index allows."""
    if len(rows) > limit:
        raise too_large(limit)
    return rows


class Sweep(BoxIndex):
    """Boxes sorted by their lower x."""

    def __init__(self, ndim=2):
        super().__init__(ndim, SweepStructure)


def main():
    index = Sweep(ndim=2)
    index.insert([[0, 0, 2, 2], [2, 1, 4, 3], [9, 9, 10, 10]])
    print("pairs:", index.pairs().tolist())

    check_index(Sweep, ndims=(2,))  # raises with everything that is wrong
    print("keeps the contract in 2D")

    si.register(Entry("sweep", f"{__name__}:Sweep", "sorted by lower x"))
    recording = si.generate("brownian", n=200, frames=5)
    result = si.compare(recording, ["brute-force", "sweep"], budget=10.0)
    print("agrees with the oracle:", result.agrees)
    for label in ("brute-force", "sweep"):
        row = result.row(label)
        print(f"{label}: {row.work.candidates} candidates, {row.work.pairs} pairs")


if __name__ == "__main__":
    main()
