"""Medium scenes through insertion, motion, removal and return, against the oracle at each step."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import AMONG
from spatialindex.scenes.generators import generate, kinds
from spatialindex.testing.answers import assert_same
from spatialindex.testing.samples import (
    lattice_boxes,
    mixed_boxes,
    mixed_state,
    state_options,
    with_infinite_bounds,
)
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from spatialindex.protocol import Index
    from spatialindex.scenes.recording import Recording
    from spatialindex.testing.twin import Factory


def check_generated_scenes(factory: Factory, ndim: int) -> None:
    """Every kind of generated scene, played frame by frame: births, motion, sleep and deaths."""
    for kind in kinds():
        n = 80 if kind.name == "point" else 300
        recording = _scene(kind.name, n, ndim)
        twin = Twin(factory(ndim))
        for changes in recording.replay():
            changes.apply(twin)  # it has the methods of an index
            twin.index.validate()
            twin.check_content()
            twin.pairs()
        twin.check()


@cache
def _scene(kind: str, n: int, ndim: int) -> Recording:
    """Generate a scene, the same for all structures."""
    return generate(kind, n=n, ndim=ndim, frames=4, seed=51)


def check_a_larger_scene(factory: Factory, ndim: int) -> None:
    """Two thousand boxes of all sizes, most at rest, a few moving at a time."""
    rng = np.random.default_rng(52)
    recording = generate("sizes", n=2000, ndim=ndim, frames=4, seed=52, moving=0.05)
    twin = Twin(factory(ndim))
    for changes in recording.replay():
        changes.apply(twin)
        twin.pairs(among="all")
    twin.check(with_infinite_bounds(rng, recording.boxes[0][::40]))


def check_churn(factory: Factory, ndim: int) -> None:
    """Rounds of insertion, motion, change of state, removal and return of objects of all kinds."""
    for make in (lattice_boxes, mixed_boxes):
        rng = np.random.default_rng(53)
        twin = Twin(factory(ndim))
        for step in range(12):
            twin.insert(make(rng, 40, ndim), **state_options(mixed_state(rng, 40)))
            ids = rng.permutation(twin.index.ids)
            some, others = ids[: len(ids) // 4], ids[len(ids) // 4 : len(ids) // 2]
            twin.update(some, make(rng, len(some), ndim))
            twin.set_state(others, **state_options(mixed_state(rng, len(others))))
            if step % 2:
                twin.pairs(among=AMONG[step % 3])
            twin.remove(others)
            if step % 3 == 0:
                # back at once, elsewhere, with no question in between
                twin.insert(make(rng, len(others), ndim), others)
            elif step % 3 == 1:
                twin.update(None, twin.index.boxes() + 0.5)
            twin.check(with_infinite_bounds(rng, make(rng, 12, ndim)))
        twin.remove(rng.permutation(twin.index.ids))
        twin.check(make(rng, 5, ndim))


def check_motion_of_every_length(factory: Factory, ndim: int) -> None:
    """One object at a time is moved: not at all, within a cell, to the next, far, and back."""
    rng = np.random.default_rng(54)
    twin = Twin(factory(ndim))
    home = lattice_boxes(rng, 50, ndim)
    twin.insert(home)
    for step in (0.0, 1e-9, 0.25, 0.5, 1.0, 3.0, 1e4, 1e12, -1e12, -0.5):
        i = int(rng.integers(50))
        twin.update(i, home[i] + step)
        twin.pairs()
        twin.query(home[i])
        twin.query(home[i] + step)
        twin.index.validate()
        # grows over the others, shrinks to a point, goes home
        twin.update(i, [-20.0] * ndim + [20.0] * ndim)
        twin.pairs()
        twin.update(i, [home[i][0]] * (2 * ndim))
        twin.query(home)
        twin.update(i, home[i])
        twin.pairs()
    twin.check()


def check_order_of_insertion_changes_nothing(factory: Factory, ndim: int) -> None:
    """The same objects in another order, one by one or at once, rebuilt or not, answer the same."""
    rng = np.random.default_rng(55)
    boxes, state = mixed_boxes(rng, 120, ndim), mixed_state(rng, 120)
    whole = Twin(factory(ndim))
    whole.insert(boxes, np.arange(120), **state_options(state))
    whole.check()
    for order in (np.arange(120)[::-1], rng.permutation(120)):
        twin = Twin(factory(ndim))
        for i in order:
            twin.insert(boxes[i], i, **_one(state[i]))
        assert_same(twin.pairs(), whole.pairs(), "pairs() in another order of insertion")
        assert_same(twin.query(boxes), whole.query(boxes), "query() in another order of insertion")
        twin.rebuild()
        twin.check()


def check_determinism(factory: Factory, ndim: int) -> None:
    """The same operations give the same answers, unsorted order included, and statistics."""

    def run() -> list[Any]:
        rng = np.random.default_rng(56)
        index: Index = factory(ndim)
        seen: list[Any] = []
        for _ in range(6):
            index.insert(mixed_boxes(rng, 100, ndim), **state_options(mixed_state(rng, 100)))
            index.update(rng.permutation(index.ids)[:50], mixed_boxes(rng, 50, ndim))
            index.remove(rng.permutation(index.ids)[:30])
            seen.append(index.pairs(sort=False))
            seen.append(index.query(lattice_boxes(rng, 20, ndim), sort=False))
            seen.append(index.stats())
        return seen

    for first, second in zip(run(), run(), strict=True):
        if isinstance(first, np.ndarray):
            assert_same(second, first, "the second run")
        else:
            assert second == first


def _one(state: NDArray[np.void]) -> dict[str, Any]:
    """Return one state as scalars."""
    return {name: value.item() for name, value in state_options(state).items()}
