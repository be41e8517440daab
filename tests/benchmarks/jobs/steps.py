"""Steps: update, then what began and ended since the step before.

`SplitIndex.step` beside single structures whose pairs a `PairTracker` compares. A generated scene
of n objects makes three worlds:

*movers*   n static boxes and n/1000 that move, beside n/100 static ones and the same movers at the
           same density: what rests should not matter. The single grid has them with their flags,
           once as it comes and once with pairs from scratch; and without flags, as plain objects.
*sleepers* a pile of n/100 objects, of which 95 % are asleep, beside the same pile awake. Those not
           asleep are together, as in engines, which wake what is touched, or scattered about.
*giants*   n/20 moving bolts with a planet, a wall from end to end and a box where no cell can be,
           beside the bolts alone.

Recordings are played with the flags that they have.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.scenes.generators import generate
from spatialindex.split.tracker import PairTracker
from tests.benchmarks.film import TURN
from tests.benchmarks.model import Figures, Group, Result, Step, Task
from tests.benchmarks.scenes import scenes
from tests.benchmarks.structures import Structure, structures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.scenes import Scene
    from tests.benchmarks.settings import Settings

__all__ = ["groups"]

_SPLIT = "split"
_SINGLE = "hash-grid"
_AWAKE = 0.05
_LEAST = 40  # movers, and objects of a pile
_ROUNDS = 5
_QUICK_ROUNDS = 1
_STEP = 0.1  # of the median edge: how far a mover is from its place


class _World:
    """Objects of which some move a little around their places, other steps in every frame."""

    def __init__(
        self,
        boxes: NDArray[np.float64],
        movers: NDArray[np.intp],
        seed: int,
        **state: NDArray[np.bool_],
    ) -> None:
        self.boxes = boxes
        self.movers = movers
        self.state = state
        self._seed = seed
        ndim = boxes.shape[1] // 2
        self._reach = _STEP * float(np.median(boxes[:, ndim:] - boxes[:, :ndim]))
        self.moved = lru_cache(maxsize=2 * TURN)(self._moved)

    def _moved(self, frame: int) -> NDArray[np.float64]:
        """Return the boxes of the movers in a frame."""
        ndim = self.boxes.shape[1] // 2
        rng = np.random.default_rng((self._seed, frame))
        places = self.boxes[self.movers]
        return places + np.tile(rng.normal(0.0, self._reach, (len(places), ndim)), 2)


def groups(settings: Settings) -> Iterator[Group]:
    """Make three groups a generated scene, and one a recording."""
    rounds = _QUICK_ROUNDS if settings.is_quick else max(_ROUNDS, settings.rounds)
    for scene in scenes(settings):
        frames = {"part": "frame", "runs": TURN, "is_moving": True}
        about = (scene.name, scene.n, scene.ndim)
        if not scene.is_generated:
            playable = min(rounds, (scene.recording().frames - 1) // TURN - 1)
            if playable > 0:
                yield Group(
                    "steps",
                    *about,
                    "update + step, as recorded",
                    partial(_recorded, settings, scene),
                    rounds=playable,
                    baselines=(_SPLIT,),
                    conclude=_against_singles,
                    **frames,
                )
            continue
        for what, tasks in (
            ("movers among static objects", _movers),
            ("sleepers in a pile", _sleepers),
            ("giants among bolts", _giants),
        ):
            yield Group(
                "steps",
                *about,
                f"update + step, {what}",
                partial(tasks, settings, scene),
                rounds=rounds,
                conclude=_ratios,
                **frames,
            )


def _movers(settings: Settings, scene: Scene) -> list[Task]:
    """Make tasks of few movers in a large static world, and in a small one."""
    boxes = scene.boxes()
    n, ndim = len(boxes), scene.ndim
    n_movers = max(_LEAST, n // 1000)
    # a corner that holds a hundredth, or nearly
    side = 0.01 ** (1.0 / ndim)
    extent = boxes[:, :ndim].min(axis=0), boxes[:, :ndim].max(axis=0)
    corner = extent[0] + side * (extent[1] - extent[0])
    small = boxes[(boxes[:, :ndim] <= corner).all(axis=1)]
    worlds = []
    for static in (boxes, small):
        rng = np.random.default_rng(settings.seed)
        at = rng.integers(len(static), size=n_movers)
        edges = np.tile(static[at, ndim:] - static[at, :ndim], 2)
        moving = static[at] + rng.uniform(-1.0, 1.0, (n_movers, 1)) * edges
        is_static = np.arange(len(static) + n_movers) < len(static)
        movers = np.flatnonzero(~is_static)
        worlds.append(_World(np.vstack([static, moving]), movers, settings.seed, static=is_static))
    large, few = worlds
    plain = _World(large.boxes, large.movers, settings.seed)
    base = f"{_SPLIT} {n:,} static"
    tasks = [
        _task(settings, _SPLIT, large, f"{n:,} static", f"{_SPLIT} {len(small):,} static"),
        _task(settings, _SPLIT, few, f"{len(small):,} static"),
        _task(settings, _SINGLE, large, "with flags", base),
        _task(settings, _SINGLE, large, "with flags, afresh", base, force=_never_keep),
        _task(settings, _SINGLE, plain, "without flags", base),
    ]
    return [task for task in tasks if task is not None]


def _sleepers(settings: Settings, scene: Scene) -> list[Task]:
    """Make tasks of a pile that mostly sleeps, and of one that is awake."""
    n = max(_LEAST, scene.n // 100)
    boxes = generate("stack", n, scene.ndim, 1, settings.seed).frame(0).boxes
    rng = np.random.default_rng(settings.seed)
    few = max(1, int(_AWAKE * len(boxes)))
    worlds = {"awake": _World(boxes, np.arange(len(boxes)), settings.seed)}
    for words, order in (
        ("95 % asleep, those awake together", np.argsort(boxes[:, 0], kind="stable")),
        ("95 % asleep, those awake scattered", rng.permutation(len(boxes))),
    ):
        asleep = np.ones(len(boxes), np.bool_)
        asleep[order[:few]] = False
        worlds[words] = _World(boxes, np.flatnonzero(~asleep), settings.seed, asleep=asleep)
    tasks = [
        _task(settings, name, world, words, f"{name} awake")
        for name in (_SPLIT, _SINGLE)
        for words, world in worlds.items()
    ]
    return [task for task in tasks if task is not None]


def _giants(settings: Settings, scene: Scene) -> list[Task]:
    """Make tasks of bolts with giants and without."""
    n, ndim = max(_LEAST, scene.n // 20), scene.ndim
    bolts = generate("uniform", n, ndim, 1, settings.seed).frame(0).boxes
    low, high = bolts[:, :ndim].min(axis=0), bolts[:, ndim:].max(axis=0)
    planet = np.r_[low - 1e12, np.append(high[:-1] + 1e12, low[-1])]  # the ground under all
    wall = np.r_[low[0], (low[1:] + high[1:]) / 2, low[0] + 1e6, (low[1:] + high[1:]) / 2 + 0.1]
    beyond = np.r_[[1e300] * ndim, [1.5e300] * ndim]
    boxes = np.vstack([bolts, planet, wall, beyond])
    static = np.arange(len(boxes)) >= n
    worlds = {
        "with giants": _World(boxes, np.arange(n), settings.seed, static=static),
        "bolts alone": _World(bolts, np.arange(n), settings.seed),
    }
    tasks = [
        _task(settings, name, world, words, f"{name} bolts alone")
        for name in (_SPLIT, _SINGLE)
        for words, world in worlds.items()
    ]
    return [task for task in tasks if task is not None]


def _recorded(settings: Settings, scene: Scene) -> list[Task]:
    """Make a task a structure that plays a recording, with flags."""
    recording = scene.recording()
    changes = lru_cache(maxsize=2 * TURN)(recording.changes)

    def task(structure: Structure) -> Task:
        playing: list[Any] = []

        def prepare(frame: int) -> Any:
            if not playing:
                index = structure.empty(scene.ndim)
                changes(0).apply(index)
                playing.append(_Stepper(index, settings.workers))
                playing[0].step()
            changes(frame + 1)
            return playing[0], changes(frame + 1)

        def update(state: Any) -> Any:
            stepping, changed = state
            changed.apply(stepping.index)
            return stepping

        return _of_steps(structure.label, prepare, update, settings, None, None)

    return [task(one) for one in structures(settings, scene.ndim, scene.n, is_quadratic=True)]


class _Stepper:
    """An index and how it makes a step."""

    def __init__(self, index: Any, workers: int) -> None:
        self.index = index
        self._workers = workers
        self._tracker = PairTracker()

    def step(self) -> NDArray[np.int64]:
        """Return the rows that began, and then those that ended."""
        if hasattr(self.index, "step"):
            report = self.index.step(workers=self._workers)
            parts = [report.began, report.sensor_began, report.ended, report.sensor_ended]
            return np.concatenate(parts)
        pairs = self.index.pairs(among="dynamic", workers=self._workers)
        return np.concatenate(self._tracker.update(pairs))


def _task(
    settings: Settings,
    name: str,
    world: _World,
    words: str,
    baseline: str | None = None,
    *,
    force: Callable[[Any], None] | None = None,
) -> Task | None:
    """Make the task of a structure in a world; None when it does not take part."""
    if settings.structures and name not in settings.structures:
        return None
    playing: list[Any] = []

    def prepare(frame: int) -> Any:
        if not playing:
            index = Structure(name).empty(world.boxes.shape[1] // 2)
            index.insert(world.boxes, **world.state)
            playing.append(_Stepper(index, settings.workers))
            playing[0].step()
            if force is not None:
                force(index)
        return playing[0], world.moved(frame)

    def update(state: Any) -> Any:
        stepping, boxes = state
        stepping.index.update(world.movers, boxes)
        return stepping

    return _of_steps(f"{name} {words}", prepare, update, settings, baseline, id(world))


def _of_steps(
    label: str,
    prepare: Callable[[int], Any],
    update: Callable[[Any], Any],
    settings: Settings,
    baseline: str | None,
    question: int | None,
) -> Task:
    return Task(
        label,
        (Step("update", update), Step("step", lambda stepping: stepping.step())),
        prepare=prepare,
        rows=lambda rows: rows,
        question=question,
        is_ours=True,
        workers=settings.workers,
        baseline=baseline,
    )


def _never_keep(index: Any) -> None:
    index._structure.kept_share = -1.0


def _ratios(results: list[Result]) -> Figures:
    """Compare each task with the one it is measured against."""
    medians = {result.task.label: result.median for result in results}
    figures: dict[str, float] = {}
    for result in results:
        base = medians.get(result.task.baseline or "")
        if base and result.median is not None and result.task.label != result.task.baseline:
            figures[f"{result.task.label} / {result.task.baseline}"] = result.median / base
    return figures


def _against_singles(results: list[Result]) -> Figures:
    """Compare the split index with the fastest single structure."""
    medians = {result.task.label: result.median for result in results if result.median}
    split = medians.pop(_SPLIT, None)
    if not split or not medians:
        return {}
    fastest = min(medians, key=lambda label: medians[label])
    return {f"{_SPLIT} / {fastest}, the fastest single structure": split / medians[fastest]}
