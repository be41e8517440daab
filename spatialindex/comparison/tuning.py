"""`tune`: figures against a declared parameter of a structure, refined where the least time is.

Each value is a contestant of `compare`, on a sample of the frames, checked as always. Three steps::

    walk     from the usual value in even steps of a factor, to both sides, as far as
             the structure declares, and on while it gets better; not on where it has
             become `_STEEP` times as slow as the best
    refine   between the neighbours of the best: where a parabola through the three has
             its lowest point (on a logarithmic scale), or the golden section
    settle   all that are near the best once more, in alternation, with more plays

Every batch has the best one so far in it, measured in alternation with the others: times of a batch
are scaled by what the best takes in it, so that a slower minute of the machine makes no valley.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spatialindex import registry
from spatialindex.comparison.curves import NEAR_BEST, Curve, CurvePoint
from spatialindex.comparison.facts import scene_facts
from spatialindex.comparison.results import DEFAULT_JOBS
from spatialindex.comparison.runner import check_settings, compare, frames_to_play
from spatialindex.comparison.sampling import excerpt, typical_edge
from spatialindex.errors import InvalidArgumentError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from spatialindex.comparison.facts import SceneFacts
    from spatialindex.comparison.results import Comparison, Row
    from spatialindex.protocol import Among, Parameter
    from spatialindex.scenes.recording import Recording

    Progress = Callable[[str, int, int], None]

__all__ = ["NEAR_BEST", "Curve", "CurvePoint", "own_value", "snapped", "tune"]

_USUAL = (1.5, 2.0)  # times the mean extent: where people begin with the edge of cells
_STEPS = 6  # of the walk, over the declared range
_MOST_POINTS = 24
_STEEP = 3.0  # times the best: no further in that direction
_CLOSE = 1.25  # a factor between neighbours that needs no value in between
_FLAT = 1.04  # a factor between times that is not worth looking closer
_NEAR = 1.3  # times the best: measured once more in the end
_MOST_SETTLED = 6
_OBJECTS = 200_000  # objects times frames of the sample
_LEAST_FRAMES, _MOST_FRAMES = 3, 25
_WORK = 500_000  # box tests that checking a batch may take
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def tune(
    recording: Recording,
    structure: str = "hash-grid",
    parameter: str | None = None,
    jobs: Iterable[str] = DEFAULT_JOBS,
    *,
    frames: int | None = None,
    among: Among | None = None,
    queries: int = 64,
    seed: int = 0,
    budget: float = 30.0,
    progress: Progress | None = None,
) -> Curve:
    """Measure a structure on a scene against one of its parameters, and find the best value.

    Parameters
    ----------
    recording : Recording
        The scene.
    structure : str, default "hash-grid"
        Name in the registry of a structure that declares something to tune.
    parameter : str, optional
        Which parameter; None takes the first that the structure declares as tunable.
    jobs : iterable of {"build", "update", "pairs", "query", "nearest", "raycast"}
        What a frame consists of, as for `compare`.
    frames : int, optional
        Frames that the sample is taken of, from the first on; None takes all.
    among, queries, seed
        As for `compare`.
    budget : float, default 30.0
        Seconds after which nothing further is begun. What it cuts short is said in `Curve.notes`.
    progress : callable, optional
        Called as ``progress(what, done, total)`` as the work goes on.

    Returns
    -------
    Curve
        Points by ascending value, the best, and the valley of values that are as good. Every answer
        has been checked against the oracle.

    Raises
    ------
    InvalidArgumentError
        For an unknown structure or parameter, one that is not tunable, or a number that cannot be
        meant; and when the structure gives no right answer with any value.

    Examples
    --------
    >>> import spatialindex as si
    >>> rec = si.generate("brownian", n=60, frames=3)
    >>> curve = si.tune(rec, "bvh", "leaf_size", ["pairs"], budget=5.0)
    >>> curve.structure, curve.parameter, curve.usual
    ('bvh', 'leaf_size', None)
    """
    settings = check_settings(jobs, among=among, queries=queries, seed=seed, budget=budget)
    last = frames_to_play(recording, frames)
    entry = registry.find(structure)
    if recording.ndim not in entry.ndims:
        registry.create(structure, recording.ndim)  # says what is wrong
    declared = _declared(entry, parameter)
    wanted = min(_MOST_FRAMES, max(_LEAST_FRAMES, _OBJECTS // max(1, recording.n)))
    sample = excerpt(recording, last, wanted)
    options: dict[str, Any] = {"among": among, "queries": queries, "seed": seed}
    sweep = _Sweep(
        sample, entry.name, declared, settings.jobs, options, settings.budget, last, progress
    )
    sweep.walk()
    sweep.refine()
    sweep.settle()
    return sweep.curve(scene_facts(recording, last))


def _declared(entry: registry.Entry, name: str | None) -> Parameter:
    """Return the parameter that is tuned."""
    tunables = {parameter.name: parameter for parameter in entry.tunables}
    if not tunables:
        able = [other.name for other in registry.structures() if other.tunables]
        raise InvalidArgumentError(
            f"{entry.name} declares nothing to tune; those that do: {', '.join(able)}"
        )
    if name is None:
        return next(iter(tunables.values()))
    if name not in tunables:
        hint = did_you_mean(name, tunables)
        raise InvalidArgumentError(
            f"{entry.name} declares no tunable parameter {name!r}; "
            f"{hint}it can be tuned by {', '.join(tunables)}"
        )
    return tunables[name]


def own_value(
    structure: str, given: Mapping[str, Any], parameter: Parameter, sample: Recording
) -> float:
    """Return the value of a parameter that is not given: its default, or the edge chosen.

    A length is what the structure has made of the first frame; 0 where it has made nothing of it.
    """
    if parameter.default is not None:
        default: float = parameter.default
        return default
    index: Any = registry.create(structure, sample.ndim, **given)
    frame = sample.frame(0)
    index.insert(frame.boxes, frame.ids, **frame.options())
    return float(getattr(index, "edge", None) or 0.0)


def snapped(parameter: Parameter, value: float) -> float:
    """Return the nearest value that makes a difference; 0 or infinity where floats end."""
    if not 0.0 < value < math.inf:
        return value
    if parameter.scale == "whole":
        whole: float = max(1, round(value))
        return whole
    if parameter.scale == "doubling":
        return math.ldexp(1.0, min(round(math.log2(value)), 1023))
    return float(f"{value:.4g}")  # what is pasted into code need not be longer


class _Sweep:
    """The points of one curve while they are found."""

    def __init__(
        self,
        sample: Recording,
        structure: str,
        parameter: Parameter,
        jobs: tuple[str, ...],
        options: dict[str, Any],
        budget: float,
        frames: int,
        progress: Progress | None,
    ) -> None:
        self._sample, self._structure, self._parameter = sample, structure, parameter
        self._jobs, self._options, self._frames = jobs, options, frames
        self._progress = progress
        self._deadline = time.monotonic() + budget
        self._budget = budget
        self._points: dict[float, CurvePoint] = {}
        self._own: CurvePoint | None = None
        self._failed: dict[float, str] = {}
        self._notes: list[str] = []
        self._unfinished: list[str] = []  # what there was no time for
        self._last: Comparison | None = None
        self._world = _longest(sample)
        self.usual = self._usual()
        self.start = self._start()

    # -- values ---------------------------------------------------------------------------------

    def _usual(self) -> tuple[float, float] | None:
        """Return where people begin with a length."""
        if self._parameter.default is not None:
            return None
        edge = typical_edge(self._sample)
        return None if not 0.0 < edge < math.inf else (_USUAL[0] * edge, _USUAL[1] * edge)

    def _start(self) -> float:
        if self._parameter.default is not None:
            return self._snapped(self._parameter.default)
        return self._snapped(sum(self.usual) / 2.0 if self.usual else self._chosen() or 1.0)

    def _chosen(self) -> float:
        """Return the value that the structure has without being given one, 0 for none."""
        value = own_value(self._structure, {}, self._parameter, self._sample)
        return value if self._parameter.default is None else self._snapped(value)

    def _snapped(self, value: float) -> float:
        return snapped(self._parameter, value)

    def _steps(self) -> float:
        """Return the factor between neighbours of the walk."""
        low, high = self._parameter.tunable or (0.5, 2.0)
        step = math.pow(high / low, 1.0 / _STEPS)
        return max(2.0, step) if self._parameter.scale == "doubling" else max(1.1, step)

    # -- measuring ------------------------------------------------------------------------------

    def _has_time(self) -> bool:
        return time.monotonic() < self._deadline and len(self._points) < _MOST_POINTS

    def _measure(self, values: Iterable[float], plays: int, *, has_own: bool = False) -> None:
        """Measure values in alternation with the best so far, and scale by that."""
        best = self._best.value if self._points else None
        wanted = {value for value in values if value not in self._failed}
        if best is not None:
            wanted.add(best)
        choices: list[tuple[str, dict[str, Any]]] = [
            (self._structure, {self._parameter.name: value}) for value in sorted(wanted)
        ]
        if has_own:
            choices.append((self._structure, {}))
        result = self._last = compare(
            self._sample,
            choices,
            self._jobs,
            **self._options,
            budget=max(self._budget, 10.0),
            work=_WORK,
            repeats=plays,
            plays=plays,
            progress=self._told(),
        )
        rows = {row.parameters.get(self._parameter.name): row for row in result.rows[:-1]}
        scale = 1.0
        if best is not None and (measured := self._point(best, rows[best])) is not None:
            scale = self._points[best].seconds / measured.seconds if measured.seconds else 1.0
        for value, row in rows.items():
            self._note(value, row, scale)

    def _told(self) -> Progress | None:
        """Return what tells how many values are measured, whatever a comparison is at."""
        progress, done = self._progress, len(self._points)
        if progress is None:
            return None
        most = max(done + 1, _STEPS + 8)
        return lambda what, at, total: progress(f"measuring {self._parameter.name}", done, most)

    def _note(self, value: float | None, row: Row, scale: float) -> None:
        """Keep what a row says of a value."""
        if value is None:
            point = self._point(self._chosen(), row)
            self._own = None if point is None else replace(point, seconds=point.seconds * scale)
            return
        point = self._point(value, row)
        if point is None:
            self._failed[value] = row.note
            self._notes.append(f"{self._parameter.name}={value:.6g}: {row.status}, {row.note}")
        elif value not in self._points:
            self._points[value] = replace(point, seconds=point.seconds * scale)

    def _point(self, value: float, row: Row) -> CurvePoint | None:
        work, frame = row.work, row.frame
        if row.status != "ok" or work is None or frame is None:
            return None
        figures = (work.candidates, work.entries, work.visits, work.max_bucket, work.pairs)
        return CurvePoint(value, frame.median, *figures)

    @property
    def _best(self) -> CurvePoint:
        return min(self._points.values(), key=lambda point: point.seconds)

    # -- the three steps ------------------------------------------------------------------------

    def walk(self) -> None:
        """Measure the usual value, and others to both sides of it."""
        step = self._steps()
        around = {self._snapped(self.start * step**k) for k in (-1, 0, 1)}
        if self._parameter.default is not None:
            around = {value for value in around if self._is_declared(value)}
        around.add(self._snapped(self._chosen()))
        around = {value for value in around if 0.0 < value < math.inf}
        self._measure(around, 2, has_own=self._parameter.default is None)
        if not self._points:
            known = self._own is not None
            raise InvalidArgumentError(
                f"{self._structure} was not measured with any {self._parameter.name} near "
                f"{self.start:.6g}: {'; '.join(self._notes) or 'nothing was timed'}"
                + (f"; leave {self._parameter.name} out" if known else "")
            )
        for direction in (1, -1):
            for value in self._outward(direction, step):
                if not self._has_time():
                    side = "larger" if direction > 0 else "smaller"
                    end = (max if direction > 0 else min)(self._points)
                    self._unfinished.append(f"values {side} than {end:.6g}")
                    break
                self._measure([value], 2)

    def _outward(self, direction: int, step: float) -> Iterator[float]:
        """Yield values farther and farther out, until that makes no sense any more."""
        while True:
            ends = sorted(self._points)
            end = ends[-1] if direction > 0 else ends[0]
            value = self._snapped(end * step**direction)
            is_better = end == self._best.value and self._is_worth(ends, direction, value)
            is_steep = self._points[end].seconds > _STEEP * self._best.seconds
            is_known = value in self._points or value in self._failed
            if is_known or is_steep or not 0.0 < value < math.inf:
                return
            if not (self._is_declared(value) or is_better):
                return
            yield value

    def _is_worth(self, ends: list[float], direction: int, value: float) -> bool:
        """Tell if it makes sense to go on beyond what is declared: a length may be anything.

        It does while times still fall, until cells are larger than the world.
        """
        if self._parameter.default is not None or value > self._world:
            return False
        end, before = (ends[-1], ends[-2]) if direction > 0 else (ends[0], ends[1])
        return self._points[end].seconds * _FLAT < self._points[before].seconds

    def _is_declared(self, value: float) -> bool:
        """Tell if a value is where the structure says that tuning is to look."""
        low, high = (factor * self.start for factor in self._parameter.tunable or (0.5, 2.0))
        return low / 1.01 <= value <= high * 1.01

    def refine(self) -> None:
        """Close in on the least time, between the neighbours of the best."""
        if self._parameter.scale == "doubling":
            return
        while (value := self._between()) is not None:
            if not self._has_time():
                self._unfinished.append("more values near the best")
                return
            self._measure([value], 3)
            if value in self._failed:
                return

    def _between(self) -> float | None:
        """Return a value that tells more of where the least is; None when that is known."""
        values = sorted(self._points)
        at = values.index(self._best.value)
        low, high = values[max(0, at - 1)], values[min(len(values) - 1, at + 1)]
        ends = (self._points[low].seconds, self._points[high].seconds)
        if max(ends) <= _FLAT * self._best.seconds and low < values[at] < high:
            return None
        gaps = [(values[at] / low, low), (high / values[at], high)]
        gaps.sort(reverse=True)
        if gaps[0][0] <= _CLOSE:
            return None
        guess = self._vertex(low, values[at], high)
        _, end = gaps[0]
        section = values[at] * (end / values[at]) ** (1.0 - _GOLDEN)
        for value in (guess, section):
            if value is None:
                continue
            value = self._snapped(value)
            is_new = value not in self._points and value not in self._failed
            near = min(abs(math.log(value / other)) for other in values)
            if is_new and (self._parameter.scale == "whole" or near > math.log(_CLOSE) / 4):
                return value
        return None

    def _vertex(self, low: float, middle: float, high: float) -> float | None:
        """Return where a parabola through three points is lowest, both scales logarithmic."""
        if not low < middle < high:
            return None
        x = [math.log(value) for value in (low, middle, high)]
        y = [math.log(max(self._points[value].seconds, 1e-12)) for value in (low, middle, high)]
        left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
        curvature = (right - left) / (x[2] - x[0])
        if curvature <= 0.0:
            return None
        vertex = (x[0] + x[1]) / 2.0 - left / (2.0 * curvature)
        return math.exp(min(max(vertex, x[0]), x[2]))

    def settle(self) -> None:
        """Measure the best ones once more, all with the same plays."""
        if not self._has_time():
            return
        limit = _NEAR * self._best.seconds
        near = sorted(
            (point for point in self._points.values() if point.seconds <= limit),
            key=lambda point: point.seconds,
        )[:_MOST_SETTLED]
        before = self._points
        self._points = {}
        self._measure([point.value for point in near], 5, has_own=self._own is not None)
        again = self._points
        if not again:
            self._points = before
            return
        ratios = sorted(again[value].seconds / before[value].seconds for value in again)
        scale = ratios[len(ratios) // 2]
        self._points = {
            value: again.get(value, replace(point, seconds=point.seconds * scale))
            for value, point in before.items()
            if value not in self._failed
        }

    def curve(self, scene: SceneFacts) -> Curve:
        """Return what was found."""
        assert self._last is not None
        points = tuple(self._points[value] for value in sorted(self._points))
        best = self._best
        own = self._own
        if self._parameter.default is not None:
            own = self._points.get(self._parameter.default)
        sampled = f"{self._sample.frames:,} of {self._frames:,} frames, in runs spread over them"
        if self._sample.frames < self._frames:
            self._notes.insert(0, f"measured on {sampled}")
        if self._unfinished:
            *most, last = self._unfinished
            what = " and ".join(filter(None, (", ".join(most), last)))
            self._notes.append(f"the budget is used up: {what} were not tried")
        return Curve(
            structure=self._structure,
            parameter=self._parameter.name,
            points=points,
            best=best,
            usual=self.usual,
            valley=_valley(points, best),
            ndim=self._sample.ndim,
            own=own,
            jobs=self._last.frame_jobs,
            scene=scene,
            machine=self._last.machine,
            notes=tuple(self._notes),
        )


def _longest(recording: Recording) -> float:
    """Return the longest edge of the box around everything."""
    bounds = scene_facts(recording).bounds
    half = len(bounds) // 2
    return max((bounds[half + i] - bounds[i] for i in range(half)), default=0.0)


def _valley(points: tuple[CurvePoint, ...], best: CurvePoint) -> tuple[float, float]:
    """Return the ends of the run of points around the best that are as good."""
    first = last = points.index(best)
    limit = NEAR_BEST * best.seconds
    while first > 0 and points[first - 1].seconds <= limit:
        first -= 1
    while last < len(points) - 1 and points[last + 1].seconds <= limit:
        last += 1
    return (points[first].value, points[last].value)
