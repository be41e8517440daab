"""A hypothesis state machine that drives an index and its model through everything they can do.

Hypothesis draws a sequence of insertions, updates, removals, changes of state, copies, refused
calls and questions, checks every answer bit for bit against the model, and shrinks a sequence that
fails to a short one. Run it as a unittest case or with hypothesis' own runner::

    from hypothesis.stateful import run_state_machine_as_test
    from spatialindex.testing import make_state_machine

    def test_my_structure():
        run_state_machine_as_test(make_state_machine(MyIndex, ndim=2))

Needs hypothesis: ``pip install "spatialindex[test]"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from spatialindex.constants import ALL, AMONG, PREDICATES, SENSORS
from spatialindex.errors import (
    DuplicateIdError,
    InvalidArgumentError,
    InvalidBoxError,
    UnknownIdError,
)
from spatialindex.testing import strategies as draw
from spatialindex.testing.answers import assert_same
from spatialindex.testing.twin import COPIES, Twin

if TYPE_CHECKING:
    from spatialindex.testing.twin import Factory

__all__ = ["make_state_machine"]

AMONGS = st.sampled_from(AMONG)
LAYERS = st.sampled_from((ALL, 1, 2, 3, 2**63))
PICKS = st.lists(st.integers(0, 99), max_size=6)
"""Places among the ids that exist, taken modulo their number: shrinks well."""


def make_state_machine(factory: Factory, ndim: int) -> type[RuleBasedStateMachine]:
    """Return a state machine class for the indexes that a factory makes.

    Parameters
    ----------
    factory : callable
        ``factory(ndim)`` returns an empty index.
    ndim : {2, 3}
        Number of dimensions.

    Returns
    -------
    class
        A `hypothesis.stateful.RuleBasedStateMachine`; its ``TestCase`` is a unittest case.
    """
    box = draw.boxes(ndim)
    batches = draw.box_batches(ndim)
    asked = draw.query_boxes(ndim)
    not_a_number = np.full(2 * ndim, np.nan)

    class IndexMachine(RuleBasedStateMachine):
        """An index and its model."""

        @initialize()
        def start(self) -> None:
            self.twin = Twin(factory(ndim))

        def picked(self, picks: list[int]) -> list[int]:
            """Return distinct ids that exist, in the order of `picks`."""
            known = self.twin.model.ids.tolist()
            return list(dict.fromkeys(known[k % len(known)] for k in picks)) if known else []

        def ignored(self, data: st.DataObject) -> int | None:
            """Return an id that exists, or None."""
            known: list[int | None] = [None, *self.twin.model.ids.tolist()]
            chosen: int | None = data.draw(st.sampled_from(known))
            return chosen

        # changes

        @rule(row=box, state=draw.states())
        def insert_one(self, row: list[float], state: dict[str, Any]) -> None:
            self.twin.insert(row, **state)

        @rule(rows=batches, state=draw.states())
        def insert_many(self, rows: Any, state: dict[str, Any]) -> None:
            self.twin.insert(rows, **state)

        @rule(data=st.data(), rows=batches)
        def insert_with_ids(self, data: st.DataObject, rows: Any) -> None:
            free = draw.ids(self.twin.model.ids.tolist())
            drawn = st.lists(free, min_size=len(rows), max_size=len(rows), unique=True)
            self.twin.insert(rows, np.array(data.draw(drawn), np.int64))

        @rule(picks=PICKS, data=st.data())
        def update(self, picks: list[int], data: st.DataObject) -> None:
            chosen = self.picked(picks)
            size = len(chosen)
            rows = data.draw(draw.box_batches(ndim, size, size))
            self.twin.update(np.array(chosen, np.int64), rows)

        @rule(shift=st.sampled_from((0.0, 0.5, -1.0, 1e3)))
        def move_all(self, shift: float) -> None:
            self.twin.update(None, self.twin.model.boxes() + shift)

        @rule(picks=PICKS)
        def remove(self, picks: list[int]) -> None:
            self.twin.remove(np.array(self.picked(picks), np.int64))

        @rule(picks=PICKS, state=draw.states())
        def set_state(self, picks: list[int], state: dict[str, Any]) -> None:
            self.twin.set_state(np.array(self.picked(picks), np.int64), **state)

        @rule(picks=PICKS, row=box)
        def replace_at_once(self, picks: list[int], row: list[float]) -> None:
            for i in self.picked(picks):
                self.twin.remove(i)
                self.twin.insert(row, i)

        @rule()
        def clear(self) -> None:
            self.twin.clear()

        @rule()
        def rebuild(self) -> None:
            self.twin.rebuild()

        @rule(how=st.sampled_from(tuple(COPIES)), picks=PICKS, row=box)
        def go_on_with_a_copy(self, how: str, picks: list[int], row: list[float]) -> None:
            original = self.twin
            self.twin = original.copied(how)
            chosen = self.picked(picks)
            original.update(np.array(chosen, np.int64), np.array([row] * len(chosen)))
            original.insert(row)
            original.pairs(among="all")
            original.clear()

        # refused calls

        @rule(rows=draw.box_batches(ndim, 1), at=st.integers(0, 99))
        def refuse_a_bad_row(self, rows: Any, at: int) -> None:
            bad = rows.copy()
            bad[at % len(bad), at % (2 * ndim)] = np.nan
            self.twin.refuses(InvalidBoxError, "insert", bad, says=f"boxes[{at % len(bad)}]")
            some = self.twin.model.ids[: len(bad)]
            if len(some) == len(bad):
                self.twin.refuses(InvalidBoxError, "update", some, bad)
            self.twin.refuses(InvalidBoxError, "query", bad)

        @rule(picks=PICKS, row=box, data=st.data())
        def refuse_a_bad_id(self, picks: list[int], row: list[float], data: st.DataObject) -> None:
            chosen = self.picked(picks)
            rows = np.array([row] * (len(chosen) + 1))
            unknown = [*chosen, data.draw(draw.ids(self.twin.model.ids.tolist()))]
            self.twin.refuses(UnknownIdError, "update", unknown, rows)
            self.twin.refuses(UnknownIdError, "remove", unknown)
            self.twin.refuses(UnknownIdError, "set_state", unknown, layer=2)
            if chosen:
                twice = [*chosen, chosen[0]]
                self.twin.refuses(DuplicateIdError, "update", twice, rows)
                self.twin.refuses(DuplicateIdError, "remove", twice)
                self.twin.refuses(DuplicateIdError, "insert", rows, unknown[::-1])
            self.twin.refuses(InvalidArgumentError, "insert", row, -1)
            self.twin.refuses(InvalidBoxError, "insert", not_a_number)

        # questions

        @rule(among=AMONGS, sensors=st.sampled_from(SENSORS), sort=st.booleans())
        def pairs(self, among: str, sensors: str, sort: bool) -> None:
            self.twin.pairs(among=among, sensors=sensors, sort=sort)

        @rule(among=AMONGS, chunk=st.integers(1, 5))
        def iter_pairs(self, among: Any, chunk: int) -> None:
            pieces = list(self.twin.index.iter_pairs(chunk, among=among))
            rows = np.concatenate([np.empty((0, 2), np.int64), *pieces])
            assert_same(rows, self.twin.model.pairs(among=among), f"iter_pairs({chunk})")

        @rule(rows=asked, predicate=st.sampled_from(PREDICATES), layers=LAYERS, sort=st.booleans())
        def query(self, rows: Any, predicate: str, layers: int, sort: bool) -> None:
            self.twin.query(rows, predicate=predicate, layers=layers, sort=sort)
            self.twin.count(rows, predicate=predicate, layers=layers)
            for row in rows:
                self.twin.query(row, predicate=predicate, layers=layers, sort=sort)
                self.twin.count(row, predicate=predicate, layers=layers)

        @rule(point=draw.points(ndim), layers=LAYERS)
        def query_point(self, point: list[float], layers: int) -> None:
            self.twin.query_point(point, layers=layers)
            self.twin.query_point([point], layers=layers)

        @rule(
            point=draw.points(ndim),
            radius=st.one_of(draw.coordinates().map(abs), st.just(np.inf)),
            layers=LAYERS,
        )
        def query_radius(self, point: list[float], radius: float, layers: int) -> None:
            self.twin.query_radius(point, radius, layers=layers)
            self.twin.query_radius([point, point], [radius, 1.0], layers=layers)

        @rule(
            spots=st.lists(draw.points(ndim), min_size=1, max_size=3),
            k=st.integers(1, 9),
            limit=draw.limits(),
            layers=LAYERS,
            data=st.data(),
        )
        def nearest(
            self, spots: Any, k: int, limit: float, layers: int, data: st.DataObject
        ) -> None:
            options = {"max_distance": limit, "layers": layers, "ignore": self.ignored(data)}
            self.twin.nearest(spots, k, **options)
            self.twin.nearest(spots[0], k, **options)

        @rule(
            rays=st.lists(st.tuples(draw.points(ndim), draw.directions(ndim)), min_size=1),
            limit=draw.limits(),
            layers=LAYERS,
            sort=st.booleans(),
            data=st.data(),
        )
        def raycast(
            self, rays: Any, limit: float, layers: int, sort: bool, data: st.DataObject
        ) -> None:
            origins, ways = map(list, zip(*rays, strict=True))
            options = {"max_t": limit, "layers": layers, "ignore": self.ignored(data)}
            self.twin.raycast(origins, ways, **options)
            self.twin.raycast_all(origins, ways, sort=sort, **options)
            self.twin.raycast(origins[0], ways[0], **options)
            self.twin.raycast_all(origins[0], ways[0], sort=sort, **options)

        @rule(
            casts=st.lists(st.tuples(box, draw.points(ndim)), min_size=1),
            layers=LAYERS,
            sort=st.booleans(),
            data=st.data(),
        )
        def boxcast(self, casts: Any, layers: int, sort: bool, data: st.DataObject) -> None:
            rows, ways = map(list, zip(*casts, strict=True))
            options = {"layers": layers, "ignore": self.ignored(data)}
            self.twin.boxcast(rows, ways, **options)
            self.twin.boxcast_all(rows, ways, sort=sort, **options)
            self.twin.boxcast(rows[0], ways[0], **options)
            self.twin.boxcast_all(rows[0], ways[0], sort=sort, **options)

        @rule(sides=draw.planes(ndim), layers=LAYERS, sort=st.booleans())
        def query_planes(self, sides: Any, layers: int, sort: bool) -> None:
            normals = np.array([normal for normal, _ in sides]).reshape(-1, ndim)
            offsets = np.array([offset for _, offset in sides])
            self.twin.query_planes(normals, offsets, layers=layers, sort=sort)

        @rule(rows=asked, layers=LAYERS, sort=st.booleans())
        def join_boxes(self, rows: Any, layers: int, sort: bool) -> None:
            self.twin.join(rows, layers=layers, sort=sort)

        @rule(layers=LAYERS, other_layers=LAYERS)
        def join_itself(self, layers: int, other_layers: int) -> None:
            self.twin.join(self.twin, layers=layers, other_layers=other_layers)

        @rule(rows=batches, layers=LAYERS, other_layers=LAYERS)
        def join_another(self, rows: Any, layers: int, other_layers: int) -> None:
            other = Twin(factory(ndim))
            other.insert(rows, layer=3)
            self.twin.join(other, layers=layers, other_layers=other_layers)
            other.join(self.twin, layers=other_layers, other_layers=layers)

        @rule()
        def check_everything(self) -> None:
            self.twin.check()

        @invariant()
        def is_sound(self) -> None:
            self.twin.index.validate()
            self.twin.check_content()

    return IndexMachine
