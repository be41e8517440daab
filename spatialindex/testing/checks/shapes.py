"""What goes in and comes out: one and many, dtypes, order, empty batches, arrays of callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import PREDICATES
from spatialindex.protocol import Index
from spatialindex.testing.answers import assert_same
from spatialindex.testing.samples import lattice_boxes, mixed_state, state_options
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from spatialindex.testing.twin import Factory


def check_is_an_index(factory: Factory, ndim: int) -> None:
    """It has every member of the protocol, and starts empty."""
    index = factory(ndim)
    missing = [name for name in dir(Index) if not name.startswith("_") and not hasattr(index, name)]
    assert not missing, f"members of Index that are missing: {', '.join(missing)}"
    assert isinstance(index, Index)
    assert index.ndim == ndim
    assert len(index) == 0
    assert index.bounds is None
    assert index.nbytes >= 0


def check_one_in_one_out(factory: Factory, ndim: int) -> None:
    """One box inserts as an int and asks for ids ``(n,)``; a batch of one is a batch."""
    twin = Twin(factory(ndim))
    twin.insert([0.0] * ndim + [1.0] * ndim)
    twin.insert([[0.5] * ndim + [2.0] * ndim])
    twin.insert([9.0] * ndim + [9.0] * ndim, 7)
    twin.insert([[8.0] * ndim + [9.0] * ndim], [5])
    box, point = [0.0] * ndim + [1.0] * ndim, [1.0] * ndim
    for predicate in PREDICATES:
        for sort in (True, False):
            twin.query(box, predicate=predicate, sort=sort)
            twin.query([box], predicate=predicate, sort=sort)
            twin.query([box, box], predicate=predicate, sort=sort)
        twin.count(box, predicate=predicate)
        twin.count([box], predicate=predicate)
    twin.query_point(point)
    twin.query_point([point])
    twin.query_radius(point, 3.0)
    twin.query_radius([point], 3.0)
    twin.query_radius([point, point], 3.0)
    twin.query_radius([point, point], [0.0, np.inf])
    # a join is a relation whatever comes in
    twin.join(box)
    twin.join([box])
    twin.update(5, [0.0] * (2 * ndim))
    twin.set_state(5, layer=4)
    twin.remove(7)
    twin.check()


def check_corner_form(factory: Factory, ndim: int) -> None:
    """Boxes of shape ``(…, 2, ndim)`` are the same boxes."""
    rows = lattice_boxes(np.random.default_rng(1), 12, ndim)
    corners = rows.reshape(-1, 2, ndim)
    a, b = factory(ndim), factory(ndim)
    assert_same(b.insert(corners), a.insert(rows), "insert(corner form)")
    assert_same(b.boxes(), a.boxes(), "boxes()")
    assert_same(b.insert(corners[0]), a.insert(rows[0]), "insert(one in corner form)")
    b.update(3, corners[5])
    a.update(3, rows[5])
    assert_same(b.query(corners), a.query(rows), "query(corner form)")
    assert_same(b.query(corners[1]), a.query(rows[1]), "query(one in corner form)")
    assert_same(b.pairs(), a.pairs(), "pairs()")


def check_empty_index_and_empty_batches(factory: Factory, ndim: int) -> None:
    """Nothing in gives nothing out, in the shapes of something."""
    for n in (0, 3):
        twin = Twin(factory(ndim))
        twin.insert(np.zeros((n, 2 * ndim)))
        no_boxes, no_points = np.empty((0, 2 * ndim)), np.empty((0, ndim))
        twin.insert(no_boxes)
        twin.insert(no_boxes, [])
        twin.update([], no_boxes)
        twin.update(None, np.ones((n, 2 * ndim)))
        twin.remove([])
        twin.set_state([], layer=2)
        twin.set_state([], layer=[])
        twin.query(no_boxes)
        twin.query_point(no_points)
        twin.query_radius(no_points, 1.0)
        twin.query_radius(no_points, [])
        twin.count(no_boxes)
        twin.join(no_boxes)
        twin.join(Twin(factory(ndim)))
        twin.join(twin)
        twin.check()
        twin.check(np.ones((2, 2 * ndim)))
        twin.rebuild()
        twin.clear()
        twin.check()
        assert list(twin.index.iter_pairs(5)) == []


def check_content_goes_by_ascending_id(factory: Factory, ndim: int) -> None:
    """`ids`, `boxes()`, `state()` and ``update(None, …)`` go by ascending id."""
    rng = np.random.default_rng(2)
    twin = Twin(factory(ndim))
    ids = np.array([50, 3, 2**40, 0, 17, 8])
    twin.insert(lattice_boxes(rng, 6, ndim), ids, **state_options(mixed_state(rng, 6)))
    twin.check_content()
    twin.boxes(ids)
    twin.boxes(ids[:1])
    twin.boxes([])
    twin.state(ids[::-1])
    twin.state([])
    for i in (17, np.int64(0), 2**40):
        twin.boxes(i)
        twin.state(i)
    twin.update(None, lattice_boxes(rng, 6, ndim))
    twin.remove([17, 50])
    twin.update(None, lattice_boxes(rng, 4, ndim))
    twin.check()


def check_unsorted_answers_are_the_same_set(factory: Factory, ndim: int) -> None:
    """``sort=False`` gives up the order and nothing else."""
    rng = np.random.default_rng(3)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 150, ndim), rng.permutation(1000)[:150])
    twin.insert([-50.0] * ndim + [50.0] * ndim)
    asked = lattice_boxes(rng, 40, ndim)
    for predicate in PREDICATES:
        twin.query(asked, predicate=predicate, sort=False)
        twin.query(asked[0], predicate=predicate, sort=False)
    twin.query_point(asked[:, :ndim], sort=False)
    twin.query_radius(asked[:, :ndim], 1.5, sort=False)
    twin.join(asked, sort=False)
    twin.join(twin, sort=False)
    for among in ("active", "dynamic", "all"):
        twin.pairs(among=among, sort=False)
        twin.pairs(among=among)


def check_arrays_of_any_layout(factory: Factory, ndim: int) -> None:
    """Read-only, strided, transposed, integer and float32 input is read as what it says."""
    rows = lattice_boxes(np.random.default_rng(4), 20, ndim) * 2
    read_only = rows.copy()
    read_only.flags.writeable = False
    strided = np.repeat(rows, 2, axis=0)[::2]
    layouts = (
        rows.tolist(),
        read_only,
        strided,
        np.asfortranarray(rows),
        rows.astype(np.int32),
        rows.astype(np.float32),
        rows.astype(">f8"),
    )
    for layout in layouts:
        twin = Twin(factory(ndim))
        twin.insert(layout, np.arange(20, dtype=np.uint16)[::-1])
        twin.query(layout)
        twin.update(None, layout)
        twin.pairs()
        twin.check_content()


def check_arrays_belong_to_their_owners(factory: Factory, ndim: int) -> None:
    """Input is copied, answers are the caller's: writing to either changes nothing inside."""
    rng = np.random.default_rng(5)
    twin = Twin(factory(ndim))
    rows, ids = lattice_boxes(rng, 30, ndim), np.arange(30)
    layer = np.full(30, 3, np.uint64)
    kept = rows.copy()
    twin.insert(rows, ids, layer=layer)
    asked = lattice_boxes(rng, 5, ndim)
    twin.query(asked)
    assert_same(rows, kept, "the array handed to insert, afterwards")
    rows[:], ids[:], layer[:] = 0.0, 0, 0
    twin.check_content()
    index = twin.index
    answers = [index.ids, index.boxes(), index.pairs(among="all"), index.query(asked)]
    for answer in answers:
        if answer.flags.writeable:
            answer[:] = 1
    state = index.state()
    if state.flags.writeable:
        state["layer"] = 0
    twin.check(asked)


def check_answers_are_snapshots(factory: Factory, ndim: int) -> None:
    """An answer can be walked while the objects in it are removed."""
    rng = np.random.default_rng(6)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 60, ndim))
    whole = [-np.inf] * ndim + [np.inf] * ndim
    walked = twin.query(whole)
    before = walked.copy()
    for i in walked[::2]:
        twin.remove(i)
    assert_same(walked, before, "an answer, after its objects were removed")
    twin.query(whole)
    for _, b in twin.pairs():
        if b in twin.index:
            twin.remove(b)
    assert_same(twin.pairs(), np.empty((0, 2), np.int64), "pairs() after removing one of each")
    twin.check()
