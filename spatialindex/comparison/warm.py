"""First calls: compile what a structure needs, or load it from the compiler's cache, and time that.

A structure compiles when it is first asked something, a second or so a kernel. `warm_up` asks a
small index every question, or all that a comparison is about, after every kind of change: many
objects and one, with dense ids and with sparse ones, among them a box as large as a world, since
structures take other ways for each. So nothing is left to be compiled when times are taken. Kernels
that structures share are paid for by the first of them; a process that has asked before has nothing
left to pay, and does not ask again.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from spatialindex.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from spatialindex.protocol import Index
    from spatialindex.split.index import SplitIndex

__all__ = ["warm_up", "warm_up_steps"]

_OBJECTS = 600  # so many that one and several of them are few, and a batch of them is large
_CROWD = 260  # boxes at one place, whose pairs are worth sorting by several threads

_WHEN_NAMED = frozenset({"nearest", "raycast"})  # asked only when they are among the jobs

_ASKED: WeakKeyDictionary[type, set[tuple[str, frozenset[str] | None]]] = WeakKeyDictionary()
"""By class of index: dimensions and parameters, and of `_WHEN_NAMED` what was asked; None: all."""


def warm_up(make: Callable[[], Index], jobs: Collection[str] | None = None) -> float:
    """Ask every question of small indexes that `make` returns, empty ones; return the seconds.

    Parameters
    ----------
    make : callable
        Makes an empty index of the structure that is to be compiled, for one number of dimensions.
    jobs : collection of str, optional
        What a comparison is about. ``"nearest"`` and ``"raycast"`` are asked only when they are
        among them, and moving boxes, planes, steps and several threads not at all, so that nobody
        waits for what is not timed. None asks everything.

    Returns
    -------
    float
        Seconds; next to none where this process has asked the same before.
    """
    started = time.perf_counter()
    index = make()
    for name, options in _parts(index):  # by name: there may be another class under it by now
        warm_up(partial(create, name, index.ndim, **options), jobs)
    parameters = {p.name: getattr(index, p.name) for p in getattr(index, "parameters", ())}
    of = f"{index.ndim} {parameters}"
    about = None if jobs is None else _WHEN_NAMED.intersection(jobs)
    asked = _ASKED.setdefault(type(index), set())
    if asked.isdisjoint({(of, None), (of, about)}):
        _ask_all(make, index, jobs)
        asked.add((of, about))
    return time.perf_counter() - started


def _ask_all(make: Callable[[], Index], index: Index, jobs: Collection[str] | None) -> None:
    """Ask every question, after every kind of change, of an empty index."""
    boxes = _boxes(_OBJECTS, index.ndim)
    numbers = np.arange(_OBJECTS)
    for ids in (numbers, numbers * 200, numbers * 2**30):  # a map serves sparse ids
        index.insert(boxes, ids, static=ids == ids[1], sensor=ids == ids[2])
        _ask(index, boxes, jobs)
        for change in _changes(index, ids, boxes):
            index.pairs()  # are kept, and mended after a few changes
            change()
        _ask(index, boxes, jobs)
        index.remove(ids[3:-2])
        _ask(index, boxes, jobs)
        index.clear()
    _ask(index, boxes, jobs)
    if jobs is None:
        for is_sorted in (True, False):
            index.insert(np.repeat(boxes[:1], _CROWD, axis=0))
            index.pairs(sort=is_sorted, workers=2)
            index.clear()
        if hasattr(index, "step"):
            warm_up_steps(cast("Callable[[], SplitIndex]", make))


def _parts(index: Index) -> list[tuple[str, dict[str, Any]]]:
    """Return name and parameters of the structures that a split index is made of."""
    parts = [getattr(index, role, None) for role in ("static", "dynamic", "coarse")]
    named = [(part, {}) if isinstance(part, str) else part for part in parts if part is not None]
    return list(dict(named).items())


def _changes(
    index: Index, ids: NDArray[np.int64], boxes: NDArray[np.float64]
) -> tuple[Callable[[], Any], ...]:
    """Return changes of one, a few, many and all objects, each of which is taken in differently."""
    one, few, many = slice(1), slice(20, 440, 70), slice(20, 500, 6)
    apart = 2.0 * np.arange(_OBJECTS)[:, None]
    return (
        lambda: index.update(ids[one], boxes[one] + 1000.0),  # entered and left by itself
        lambda: index.update(ids[few], boxes[few] + 0.25),
        lambda: index.update(ids[few], boxes[few] + 1000.0),
        lambda: index.update(ids[many], boxes[many] + 0.25),
        lambda: index.update(ids[many], boxes[many] * 3.0),
        lambda: index.update(ids[many], boxes[many] + apart[many]),
        lambda: index.update(ids[1:2], boxes[1:2] + 500.0),
        lambda: index.set_state(ids[few], asleep=True, layer=2),
        lambda: index.update(ids[few], boxes[few]),
        lambda: index.set_state(ids[few], asleep=False),
        lambda: index.set_state(ids[many], asleep=True),
        lambda: index.update(ids, boxes + 0.5),  # as good as building anew
        lambda: index.remove(ids[few]),
        lambda: index.insert(boxes[few] + 0.5, ids[few]),
        lambda: index.remove(ids[many]),
        lambda: index.insert(boxes[many], ids[many]),
        lambda: index.update(int(ids[0]), boxes[1]),
        lambda: index.remove(ids[-2:]),  # the large one among them
        lambda: _wear(index, ids[20:420:50], boxes[:-2]),
    )


def _wear(index: Index, ids: NDArray[np.int64], boxes: NDArray[np.float64]) -> None:
    """Let a few grow and shrink among the others, until a structure that decays is repaired."""
    index.rebuild()  # what was large is gone
    for far in range(1, 17):
        grown = boxes[(233 * far + 71 * np.arange(len(ids))) % len(boxes)]
        grown[:, index.ndim :] += 100.0 * (far % 3)
        index.update(ids, grown)
        index.query(boxes[0])


def warm_up_steps(make: Callable[[], SplitIndex]) -> None:
    """Compile what steps need, or load it, in a small world, so that the first frame need not."""
    world = make()
    n = 64
    boxes = _boxes(n, world.ndim)
    at = np.arange(n)
    ids = world.insert(
        boxes, static=at < n // 4, asleep=at > n - 8, sensor=at == 18, continuous=at == 19
    )
    changes: tuple[Callable[[], Any], ...] = (
        lambda: None,
        lambda: world.update(ids[19:21], boxes[19:21] + 0.5),
        lambda: world.update(ids[16:50:2], boxes[16:50:2] + 0.25),
        lambda: world.set_state(ids[30:34], asleep=True),
        lambda: world.update(ids[30:31], boxes[30:31] + 0.5),
        lambda: world.set_state(ids[31:34], asleep=False),
        lambda: world.teleport(ids[19:21], boxes[19:21]),
        lambda: world.remove(ids[40:44]),
        lambda: world.insert(boxes[40:44]),
    )
    for change in changes:
        change()
        report = world.step()
        report.stats  # noqa: B018
    # fewer move than rest, and stay about their places: their neighbours at rest are listed
    world.set_state(ids[:40:2], static=True)
    movers = world.ids[world.route() == "dynamic"]
    places = world.boxes(movers)
    for frame in range(8):
        world.update(movers, places + 0.1 * (frame % 2))
        world.step()


def _boxes(n: int, ndim: int) -> NDArray[np.float64]:
    """Return boxes that touch their neighbours in a row, and one around far more than all."""
    lower = np.arange(float(n))[:, None] + np.zeros(ndim)
    boxes = np.concatenate((lower, lower + 1.0), axis=1)
    boxes[-1, :ndim], boxes[-1, ndim:] = -1e6, 1e6
    return boxes


def _ask(index: Index, boxes: NDArray[np.float64], jobs: Collection[str] | None) -> None:
    """Ask everything that an index can be asked, many at once and one alone."""
    centers = boxes[:, : index.ndim]
    for among in ("all", "dynamic", "active"):
        index.pairs(among=among)
    index.pairs(sensors="only", workers=2)
    index.pairs(sort=False)
    for asked, points in ((boxes, centers), (boxes[0], centers[0])):
        for predicate in ("intersects", "inside", "encloses"):
            index.query(asked, predicate=predicate)
            index.count(asked, predicate=predicate)
        index.query(asked, layers=2)
        index.query_point(points)
        index.query_radius(points, 1.0)
        if jobs is None or "nearest" in jobs:
            index.nearest(points, 3)
        if jobs is None or "raycast" in jobs:
            index.raycast(points, np.ones(index.ndim), ignore=0)
        if jobs is None:
            index.raycast_all(points, np.ones(index.ndim), ignore=0)
            index.boxcast(asked, np.ones(index.ndim))
            index.boxcast_all(asked, np.ones(index.ndim))
    if jobs is None:
        index.query_planes(np.eye(index.ndim), np.ones(index.ndim))
    for _ in index.iter_pairs(100):
        pass
    index.join(boxes)
    index.join(index)
    index.stats()
    index.rebuild()
    index.validate()
