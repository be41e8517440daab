"""`advise`: which structure for a scene, decided by measuring, with reasons.

What a scene is like says who is worth trying, and makes words of figures. It decides nothing: three
rounds of `compare` do, each on more frames, with more plays, among fewer::

    round 1   everybody who may be good              a few frames, played once
    round 2   those within `_STAYS[0]` of the best   up to 25 frames, in runs, played twice
    round 3   those within `_STAYS[1]` of it, and    all frames that the budget has room for,
              variants of the best                   played up to five times

Of those that are so near, no more than `_MOST` go on, the best first.

In each round all are measured in alternation, and every answer is checked before it is timed. Of
two that are as good as one another, the one that needs no parameters is taken.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import registry
from spatialindex.comparison.facts import scene_facts
from spatialindex.comparison.planning import estimated_pairs, spread
from spatialindex.comparison.recommendations import Advice, Choice, Traits
from spatialindex.comparison.results import DEFAULT_JOBS
from spatialindex.comparison.runner import check_settings, compare, frames_to_play
from spatialindex.comparison.sampling import excerpt
from spatialindex.comparison.tuning import own_value, snapped
from spatialindex.comparison.verdict import decide, milliseconds, ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spatialindex.comparison.results import Comparison, Row
    from spatialindex.protocol import Among
    from spatialindex.scenes.recording import Recording

    Progress = Callable[[str, int, int], None]
    Candidate = tuple[str, dict[str, Any]]

__all__ = ["Advice", "Choice", "Traits", "advise", "candidates"]

_STAYS = (2.5, 1.35)  # times the best of a round: who is in the next one
_MOST = (8, 4)  # how many that are, at most
_SHARES = (0.25, 0.25)  # of the budget, for the first two rounds
_FRAMES = (8, 25)
_OBJECTS = (40_000, 200_000)  # objects times frames, likewise
_LEAST_FRAMES = 3
_PLAYS = (1, 2, 5)
_WORK = 5_000_000  # box tests that checking a round may take
_PLAIN = 1.05  # how much slower one may be that needs no parameters
_QUADRATIC, _MOST_SCANNED = "brute-force", 50_000
_SPLIT = "split"
_RESTING = 0.02  # share of the objects from which on the parts of a split index are tried
_PARTS = ("bvh", "sweep-and-prune", "hierarchical-grid", "loose-quadtree", "loose-octree")
_LOOKS = 9  # frames in which it is measured how far things move
_VARIANTS = (0.6, 1.7)  # of a parameter: about where the valley of a good value ends


def advise(
    recording: Recording,
    jobs: Iterable[str] = DEFAULT_JOBS,
    *,
    frames: int | None = None,
    among: Among | None = None,
    queries: int = 64,
    seed: int = 0,
    budget: float = 30.0,
    progress: Progress | None = None,
) -> Advice:
    """Say which structure to take for a scene: measured, ranked, with reasons.

    Parameters
    ----------
    recording : Recording
        The scene.
    jobs : iterable of {"build", "update", "pairs", "query", "nearest", "raycast"}
        What you do in a frame: the mix of questions decides who is best.
    frames : int, optional
        Frames to look at, from the first on; None takes all.
    among, queries, seed
        As for `compare`: `queries` is how many range queries, points and rays a frame asks.
    budget : float, default 30.0
        Seconds that the structures' own calls may take, all rounds together. First calls, which may
        compile, are not in it.
    progress : callable, optional
        Called as ``progress(what, done, total)`` as the work goes on.

    Returns
    -------
    Advice
        The best first. A structure that differs from the oracle is never advised.

    Raises
    ------
    InvalidArgumentError
        For an unknown job, or a number that cannot be meant.

    Examples
    --------
    >>> import spatialindex as si
    >>> rec = si.generate("sleepers", n=60, frames=4)
    >>> advice = si.advise(rec, ["update", "pairs"], budget=5.0)
    >>> advice.best.label == advice.choices[0].label
    True
    """
    settings = check_settings(jobs, among=among, queries=queries, seed=seed, budget=budget)
    last = frames_to_play(recording, frames)
    traits = _traits(recording, last, seed, progress)
    options: dict[str, Any] = {"among": among, "queries": queries, "seed": seed}
    contest = _Contest(recording, last, settings.jobs, options, settings.budget, progress)
    field = candidates(traits)
    contest.skip(traits)
    for turn in range(len(_PLAYS)):
        if not field:
            break  # nobody was right
        if turn == len(_PLAYS) - 1:
            field += _variants(field[0], excerpt(recording, last, 1))
        field = contest.hold(turn, field)
    return contest.advice(traits)


def candidates(traits: Traits) -> list[Candidate]:
    """Return who is worth trying on a scene, with the parameters that set them apart.

    Every structure that indexes its dimensions, with its defaults. Where part of the scene rests,
    or sizes are of several magnitudes, the split index with other parts for what moves, too. Brute
    force is left out where a frame of it would take seconds.
    """
    chosen: list[Candidate] = [
        (entry.name, {})
        for entry in registry.structures()
        if traits.ndim in entry.ndims
        and not (entry.name == _QUADRATIC and traits.objects > _MOST_SCANNED)
    ]
    resting = traits.static_share + traits.asleep_share
    is_split = resting >= _RESTING and traits.static_share < 1.0  # else its dynamic part is empty
    names = [name for name, _ in chosen]
    if is_split and _SPLIT in names:
        chosen += [(_SPLIT, {"dynamic": part}) for part in _PARTS if part in names]
    return chosen


def _traits(recording: Recording, last: int, seed: int, progress: Progress | None) -> Traits:
    """Look at a scene."""
    facts = scene_facts(recording, last, progress)
    frame = recording.frame(last // 2)
    n = max(1, facts.alive)
    middle = facts.longest_edges[1]
    boxes = frame.boxes[: len(frame.ids)]
    there = max(1, len(boxes))
    return Traits(
        objects=facts.alive,
        ndim=facts.ndim,
        frames=last,
        largest_to_median=facts.longest_edges[2] / middle if middle else 0.0,
        partners=2.0 * estimated_pairs(boxes, seed) / there,
        static_share=min(1.0, float(np.count_nonzero(frame.static)) / there),
        asleep_share=facts.asleep / n,
        moved_share=min(1.0, facts.moved / n),
        displacement=_displacement(recording, last, middle),
    )


def _displacement(recording: Recording, last: int, edge: float) -> float:
    """Return how far boxes that move do so in a frame, median, in edges."""
    if last < 2 or not edge:
        return 0.0
    distances = []
    for t in spread(last - 1, _LOOKS):
        before, now = recording.boxes[t], recording.boxes[t + 1]
        both = recording.alive[t] & recording.alive[t + 1]
        with np.errstate(over="ignore", invalid="ignore"):
            shift = np.abs((now - before)[both])
        moved = shift[(shift > 0).any(axis=1)]
        distances.append(moved[:, : recording.ndim].max(axis=1))
    found = np.concatenate(distances)
    return float(np.median(found)) / edge if len(found) else 0.0


def _variants(best: Candidate, sample: Recording) -> list[Candidate]:
    """Return a structure with smaller and larger values of the first thing to tune in it."""
    name, given = best
    tunables = [p for p in registry.find(name).tunables if p.name not in given]
    if not tunables:
        return []
    parameter = tunables[0]
    value = own_value(name, given, parameter, sample)
    if not value:
        return []
    low, high = (factor * value for factor in parameter.tunable or (1.0, 1.0))
    found = []
    for factor in _VARIANTS:
        other = snapped(parameter, value * factor)
        is_declared = parameter.default is None or low <= other <= high
        if other != value and is_declared:
            found.append((name, {**given, parameter.name: other}))
    return found


class _Contest:
    """The three rounds."""

    def __init__(
        self,
        recording: Recording,
        last: int,
        jobs: tuple[str, ...],
        options: dict[str, Any],
        budget: float,
        progress: Progress | None,
    ) -> None:
        self._recording, self._last, self._jobs = recording, last, jobs
        self._options, self._budget, self._progress = options, budget, progress
        self._choices: dict[str, Choice] = {}
        self._rounds: list[str] = []
        self._notes: list[str] = []
        self._left = budget
        self._final: Comparison | None = None
        self._cut_short: set[str] = set()  # timed in too few frames of the last round to be taken

    def skip(self, traits: Traits) -> None:
        """Say who is not tried at all."""
        if traits.objects > _MOST_SCANNED:
            self._notes.append(
                f"{_QUADRATIC} was not tried: {traits.objects:,} objects are far too many to scan"
            )

    def hold(self, turn: int, field: Sequence[Candidate]) -> list[Candidate]:
        """Hold a round; return who is in the next one, the best first."""
        sample = self._sample(turn)
        is_last = turn == len(_PLAYS) - 1
        budget = self._left if is_last else self._budget * _SHARES[turn]
        plays = _PLAYS[turn] if sample.frames > 1 else 1 + 2 * _PLAYS[turn]
        started = time.monotonic()
        result = compare(
            sample,
            field,
            self._jobs,
            **self._options,
            frames=self._last if is_last and sample is self._recording else None,
            budget=max(budget, 1e-3),
            work=_WORK,
            repeats=plays,
            plays=plays,
            progress=self._told(turn),
        )
        self._left = max(self._left - min(budget, time.monotonic() - started), 1e-3)
        self._final = result
        played = result.scene.frames
        self._rounds.append(
            f"round {turn + 1}: {len(field)} structure{'s' * (len(field) != 1)} on {played:,} of "
            f"{self._last:,} frame{'s' * (self._last != 1)}, checked: {result.checked.words}"
        )
        places = self._note(turn, result)
        most = None if is_last else _MOST[turn]
        stays = [row for row, ratio in places if is_last or ratio <= _STAYS[turn]][:most]
        return [(row.name, row.parameters) for row in stays]

    def _told(self, turn: int) -> Progress | None:
        progress = self._progress
        if progress is None:
            return None
        return lambda what, done, total: progress(f"round {turn + 1}: {what}", done, total)

    def _sample(self, turn: int) -> Recording:
        """Return the frames of a round; the last has all that there is time for."""
        n = max(1, self._recording.n)
        if turn < len(_FRAMES):
            wanted = min(_FRAMES[turn], max(_LEAST_FRAMES, _OBJECTS[turn] // n))
            return excerpt(self._recording, self._last, wanted)
        assert self._final is not None
        took = [row.frame.median for row in self._final.rows if row.frame and row.status == "ok"]
        a_frame = max(sum(took), 1e-9)
        # half of it is for checking; three plays, with some of each spent on what is not counted
        wanted = int(self._left / 2.0 / 3.0 / a_frame)
        if wanted < self._last:
            wanted = max(wanted, _FRAMES[1])
        return excerpt(self._recording, self._last, wanted)

    def _note(self, turn: int, result: Comparison) -> list[tuple[Row, float]]:
        """Keep what a round says of each; return those that were timed, the best first."""
        ranking = ranked(result.rows, result.series)
        self._cut_short = {entry.row.label for entry in ranking if entry.is_short}
        places = [(entry.row, entry.ratio) for entry in ranking]
        for row, ratio in places:
            assert row.frame is not None
            self._keep(row, row.frame.median, ratio, turn)
        timed = [row for row, _ in places]
        for row in result.rows:
            if row.status != "floor" and row not in timed:
                self._keep(row, None, None, turn)
        return places

    def _keep(self, row: Row, seconds: float | None, ratio: float | None, turn: int) -> None:
        note = row.note
        if ratio is not None and turn < len(_STAYS) and ratio > _STAYS[turn]:
            note = f"{ratio:.3g} times the best of round {turn + 1}"
        self._choices.pop(row.label, None)  # its place is that of this round
        self._choices[row.label] = Choice(
            *(row.label, row.name, dict(row.parameters), row.status),
            *(seconds, ratio, turn + 1, note),
        )

    def advice(self, traits: Traits) -> Advice:
        """Rank all, and say why the first one is the first."""
        final = self._final
        assert final is not None
        timed = [choice for choice in self._choices.values() if choice.seconds is not None]
        others = [choice for choice in self._choices.values() if choice.seconds is None]
        timed.sort(key=lambda choice: -choice.round)  # in a round they are the best first
        fastest = timed[0] if timed else None
        if fastest is not None and fastest.parameters:
            limit = _PLAIN * (fastest.ratio or 1.0)
            for choice in timed:
                is_as_good = choice.round == fastest.round and (choice.ratio or 0.0) <= limit
                is_known = choice.label not in self._cut_short
                if is_as_good and is_known and not choice.parameters:
                    timed.remove(choice)
                    timed.insert(0, choice)
                    break
        reasons, contrary, words = self._words(final, timed)
        return Advice(
            traits=traits,
            jobs=final.frame_jobs,
            choices=tuple(timed + others),
            reasons=reasons,
            contrary=contrary,
            words=words,
            rounds=tuple(self._rounds),
            final=final,
            notes=tuple(self._notes) + final.left_out,
        )

    def _words(
        self, final: Comparison, timed: Sequence[Choice]
    ) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Compare the first choice with the best other structure that came as far."""
        if not timed:
            return (), (), "no structure was timed"
        places = [row for row, _, _ in ranked(final.rows, final.series)]
        own = final.row(timed[0].label)
        faster = places[: places.index(own)]
        rivals = places[len(faster) + 1 :]
        rivals = [row for row in rivals if row.name != own.name] or rivals
        verdict = decide([own, *rivals], final.frame_jobs, final.series)
        words = f"take {own.label}; {verdict.words}"
        behind = [choice for choice in timed if choice.name != own.name]
        if behind and all(row.name == own.name for row in rivals):
            # no other structure came so far as to be in the verdict
            assert own.frame is not None
            words = (
                f"take {own.label}; fastest per frame: {own.label}, "
                f"{milliseconds(own.frame.median)} ms median ({'+'.join(final.frame_jobs)}), "
                f"{behind[0].ratio:.3g}x ahead of {behind[0].label} in round {behind[0].round}"
            )
        if faster:
            words += f"; with parameters, {faster[0].label} is no more than {_PLAIN - 1:.0%} faster"
        return verdict.reasons, verdict.contrary, words
