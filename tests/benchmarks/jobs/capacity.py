"""How many boxes fit into a frame of a sixtieth of a second, and what resting ones cost.

Two worlds in which every box moves in every frame, up to a quarter of its side along each axis:

*loose*  unit cubes at 0.1 a unit volume in a cube, an engine's usual figure;
*ball*   unit cubes at random in a ball, so dense that there are about five pairs a box.

Their number is changed until the median frame, update and all pairs in canonical order, takes as
long as one may. In the loose world of that many boxes, one in a hundred moves then: what the others
cost each is the time of a frame shared out among them.
"""

from __future__ import annotations

import statistics
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.jobs import common
from tests.benchmarks.model import Figures, Group, Step, Task
from tests.benchmarks.structures import structures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["groups"]

_FRAME = 1 / 60  # seconds
_LOOSE = 0.1  # cubes a unit volume
_PAIRS = 5  # a box of the ball
_REACH = 0.25  # of the side
_MOVING = 0.01
_TRIES, _CLOSE = 6, 0.03  # sizes tried, and how near the frame has to be to be done
_WARM, _FRAMES = 3, 11
_QUICK_FRAMES = 2
_CHECKED = 2_000  # boxes of which all answers are compared
_FIRST = 20_000


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a world and number of dimensions."""
    for ndim in settings.ndims:
        for name, make in (("loose", _loose), ("ball", _ball)):
            yield Group(
                "capacity",
                name,
                _first(settings),
                ndim,
                "boxes in a frame of 16.7 ms, all moving: update and all pairs",
                partial(_tasks, settings, make, ndim),
                rounds=1,
                runs=1,
                is_timed=False,
            )


def _first(settings: Settings) -> int:
    """Return how many boxes are tried at first."""
    return settings.sizes[0] if settings.is_quick else _FIRST


def _tasks(settings: Settings, make: Callable[..., Any], ndim: int) -> list[Task]:
    names = structures(settings, ndim, _FIRST, is_quadratic=True)
    return [_task(settings, structure, make, ndim) for structure in names]


def _task(settings: Settings, structure: Structure, make: Callable[..., Any], ndim: int) -> Task:
    found: dict[str, float] = {}
    frames = _QUICK_FRAMES if settings.is_quick else _FRAMES

    def look(_: Any) -> Any:
        if not found:  # a search of its own, not to be repeated
            n, tried = _first(settings), []
            for _ in range(1 if settings.is_quick else _TRIES):
                seconds, n_pairs = _played(structure, make(n, ndim, settings.seed), 1.0, frames)
                tried.append((n, seconds, n_pairs))
                if abs(seconds / _FRAME - 1) <= _CLOSE:
                    break
                n = max(64, int(n * min(_FRAME / seconds, 8.0)))
            fit = [one for one in tried if one[1] <= (1 + _CLOSE) * _FRAME]
            n, seconds, n_pairs = max(fit) if fit else min(tried)
            found["boxes in a frame"] = n
            found["ms"] = 1e3 * seconds
            found["pairs a box"] = n_pairs / n
            resting = _played(structure, make(n, ndim, settings.seed), _MOVING, frames)[0]
            found["1 % moving, ns a resting box"] = 1e9 * resting / (n * (1 - _MOVING))
        return structure.of(make(_CHECKED, ndim, settings.seed)).pairs()

    def figures() -> Figures:
        return found

    return Task(
        structure.label,
        (Step("look", look),),
        rows=common.itself,
        is_sorted=True,
        is_ours=True,
        figures=figures,
    )


def _played(
    structure: Structure, boxes: NDArray[np.float64], share: float, frames: int
) -> tuple[float, int]:
    """Return the seconds of the median frame, and how many pairs there are in the last one."""
    n, ndim = len(boxes), boxes.shape[1] // 2
    rng = np.random.default_rng(n)
    index = structure.of(boxes)
    pairs = index.pairs()
    laps = []
    for _ in range(_WARM + frames):
        ids = rng.choice(n, max(1, int(n * share)), replace=False) if share < 1.0 else np.arange(n)
        boxes[ids] += np.tile(rng.uniform(-_REACH, _REACH, (len(ids), ndim)), 2)
        moved = boxes[ids]
        began = perf_counter()
        index.update(ids, moved)
        pairs = index.pairs()
        laps.append(perf_counter() - began)
    return statistics.median(laps[_WARM:]), len(pairs)


def _cubes(lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit cubes by their lower corners."""
    return np.hstack([lower, lower + 1.0])


def _loose(n: int, ndim: int, seed: int) -> NDArray[np.float64]:
    """Return unit cubes anywhere in a cube."""
    side = (n / _LOOSE) ** (1 / ndim)
    return _cubes(np.random.default_rng(seed).uniform(0.0, side, (n, ndim)))


def _ball(n: int, ndim: int, seed: int) -> NDArray[np.float64]:
    """Return unit cubes anywhere in a ball: within reach, 2 each way, of twice as many as pairs."""
    rng = np.random.default_rng(seed)
    volume = n * 2.0**ndim / (2 * _PAIRS)
    radius = (volume / {2: np.pi, 3: 4 * np.pi / 3}[ndim]) ** (1 / ndim)
    ways = rng.normal(size=(n, ndim))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return _cubes(radius * rng.random((n, 1)) ** (1 / ndim) * ways)
