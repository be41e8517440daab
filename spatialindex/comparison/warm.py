"""First calls: compile what a structure needs, or load it from the compiler's cache, and time that.

A structure compiles when it is first asked something, a second or so a kernel. `warm_up` asks a
small index every question, or all that a comparison is about, after every kind of change: many
objects and one, with dense ids and with sparse ones, among them a box as large as a world, since
structures take other ways for each. So nothing is left to be compiled when times are taken. Kernels
that structures share are paid for by the first of them; in a process that has asked before nothing
is left to pay.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from spatialindex.protocol import Index
    from spatialindex.split.index import SplitIndex

__all__ = ["warm_up", "warm_up_steps"]

_OBJECTS = 256  # enough for one change to be few of them


def warm_up(make: Callable[[], Index], jobs: Collection[str] | None = None) -> float:
    """Ask every question of small indexes that `make` returns, empty ones; return the seconds.

    Parameters
    ----------
    make : callable
        Makes an empty index of the structure that is to be compiled, for one number of dimensions.
    jobs : collection of str, optional
        What a comparison is about. ``"nearest"`` and ``"raycast"`` are asked only when they are
        among them, and moving boxes and planes not at all, so that nobody waits for what is not
        timed. None asks everything.
    """
    started = time.perf_counter()
    index = make()
    boxes = _boxes(_OBJECTS, index.ndim)
    for ids in (np.arange(_OBJECTS), np.arange(_OBJECTS) * 2**30):  # a map serves sparse ids
        index.insert(boxes, ids, static=ids == ids[1], sensor=ids == ids[2])
        _ask(index, boxes, jobs)
        index.update(ids[:1], boxes[:1] + 1000.0)  # one: entered and left by itself
        _ask(index, boxes, jobs)
        index.update(ids, boxes + 0.5)  # all: as good as building anew
        index.set_state(ids[:3], asleep=True, layer=2)
        _ask(index, boxes, jobs)
        index.update(int(ids[0]), boxes[1])
        index.remove(ids[-2:])  # the large one among them
        _ask(index, boxes, jobs)
        index.remove(ids[3:-2])
        _ask(index, boxes, jobs)
        index.clear()
    _ask(index, boxes, jobs)
    return time.perf_counter() - started


def warm_up_steps(make: Callable[[], SplitIndex]) -> None:
    """Compile what steps need, or load it, in a small world, so that the first frame need not."""
    world = make()
    n = 64
    boxes = _boxes(n, world.ndim)
    ids = world.insert(boxes, static=np.arange(n) < n // 4, asleep=np.arange(n) > n - 8)
    changes: tuple[Callable[[], Any], ...] = (
        lambda: None,
        lambda: world.update(ids[20:21], boxes[20:21] + 0.5),
        lambda: world.update(ids[16:50], boxes[16:50] + 0.25),
        lambda: world.set_state(ids[30:34], asleep=True),
        lambda: world.remove(ids[40:44]),
        lambda: world.insert(boxes[40:44]),
    )
    for change in changes:
        change()
        report = world.step()
        report.stats  # noqa: B018


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
