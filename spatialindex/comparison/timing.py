"""Timing: contestants in alternation, frame by frame, so that they share the noise of the machine.

Each contestant plays the recording on an index of its own. In frame `t` the order is rotated by
`t`: nobody always goes first after the arrays of the frame were made. What is timed of a frame::

    build     insert of the first frame into a fresh index, and bringing it up to date
    update    remove, insert, update and set_state of the frame, and bringing it up to date
    pairs     index.pairs(among=…)
    query     index.query(batch)
    nearest   index.nearest(points, 8)
    raycast   index.raycast(origins, directions, …)

An index notes changes and does the work when the next question comes. So that updating and asking
can be told apart, *bringing it up to date* is a query of no boxes, timed with the changes: `update`
is all that a change costs until questions can be answered, and `pairs` has nothing of it.

Figures of a frame come from the frames after the first, whose work is `build`; in a recording of
one frame they come from that one, on a fresh index each time. The garbage collector rests.

The recording is played several times, each time on a fresh index, and a frame takes what it takes
in its fastest play: the worst frame is one that is slow every time, not one in which the machine
had something else to do. Each contestant has the same share of the seconds. One that has used up
its share plays no further; the others go on.

Answers are compared with those of the others once the clock has stopped: what is timed is what was
checked.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from spatialindex.comparison.batches import NEIGHBORS
from spatialindex.comparison.playback import bring_up_to_date
from spatialindex.comparison.results import FRAME_JOBS, Timing
from spatialindex.comparison.verification import difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from spatialindex.comparison.contestants import Entrant
    from spatialindex.comparison.playback import Playable, Playback
    from spatialindex.scenes.recording import Changes

    _Questions = dict[str, Callable[[Playable], Any]]

__all__ = ["Player", "frame_jobs", "time_all"]


@dataclass
class Player:
    """One contestant while it is timed."""

    label: str
    make: Callable[[], Playable]
    """Makes an empty index."""
    frames: int
    """Frames it plays: as far as its answers were checked."""
    entrant: Entrant | None = None
    """Whom faults are blamed on; None for the empty contestant, whose answers are not compared."""
    seconds: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    """Seconds of each play, by job and frame; of `build` by the number of the fresh index."""
    spent: float = 0.0
    """All its seconds."""
    at: int = 0
    """The frame that its present index is in."""
    reached: int = 0
    """The last frame that it has come to in any play."""
    plays: int = 0
    """Times that it has played to its last frame."""
    play_cost: float = 0.0
    """Seconds of the last play."""

    @property
    def is_out(self) -> bool:
        """Whether it has been found wrong or has raised."""
        return self.entrant is not None and self.entrant.status != "ok"

    def clock(self, index: Playable) -> float:
        """Return the seconds on the clock, less what the harness has done for another library."""
        uncharged: float = getattr(index, "uncharged", 0.0) if self.is_peer else 0.0
        return time.perf_counter() - uncharged

    @property
    def is_peer(self) -> bool:
        """Whether it is another library."""
        return self.entrant is not None and self.entrant.is_peer

    def add(self, job: str, key: int, seconds: float, *, is_kept: bool) -> None:
        """Note one measurement, which goes into the figures when it is kept."""
        self.spent += seconds
        if is_kept:
            self.seconds.setdefault(job, {}).setdefault(key, []).append(seconds)

    def per_frame(self, jobs: tuple[str, ...]) -> dict[int, float]:
        """Return the seconds of these jobs together, by frame: those of the fastest play."""
        parts = [self.seconds.get(job, {}) for job in jobs]
        if not parts:
            return {}
        common = set(parts[0]).intersection(*parts[1:])
        return {
            key: min(
                sum(together) for together in zip(*(part[key] for part in parts), strict=False)
            )
            for key in sorted(common)
        }

    def timing(self, *jobs: str) -> Timing | None:
        """Sum jobs up, together; None when they were not timed."""
        seconds = self.per_frame(jobs)
        if not seconds:
            return None
        worst = max(seconds, key=lambda key: seconds[key])
        return Timing(statistics.median(seconds.values()), seconds[worst], worst, len(seconds))


def frame_jobs(jobs: tuple[str, ...], frames: int) -> tuple[str, ...]:
    """Return which jobs make up a frame: a recording of one frame has build in update's place."""
    if frames > 1:
        return tuple(job for job in jobs if job in FRAME_JOBS)
    return tuple(job for job in jobs if job != "update")


def time_all(
    play: Playback,
    players: Sequence[Player],
    jobs: tuple[str, ...],
    *,
    repeats: int,
    plays: int,
    allowance: float,
    progress: Callable[[str, int, int], None] | None = None,
) -> None:
    """Time the jobs of all players; what was measured is in them afterwards.

    Parameters
    ----------
    play : Playback
        What is played and asked.
    players : sequence of Player
        Who plays.
    jobs : tuple of str
        What is timed.
    repeats : int
        Fresh indexes that `build` is timed on; one in any case, the others while the share lasts.
    plays : int
        Times that all frames are played; again only by those whose share will last for it.
    allowance : float
        Seconds each player may take. One frame is timed in any case.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    """
    steps = repeats + plays * (play.frames - 1)
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress("timing", done, steps)

    with _collector_at_rest():
        indexes: dict[str, Playable] = {}
        for turn in range(repeats):
            able = [p for p in players if not turn or (not p.is_out and p.spent < allowance / 2)]
            indexes |= _begin(play, able, turn, jobs)
            tell()
        _go_on(play, players, indexes, jobs, allowance, tell)
        for turn in range(1, plays if play.frames > 1 else 1):
            able = [p for p in players if p.plays == turn and p.spent + p.play_cost < allowance]
            if not any(player.entrant for player in able):
                break
            indexes = _begin(play, able, repeats + turn, jobs)
            _go_on(play, able, indexes, jobs, math.inf, tell)
    if progress is not None:
        progress("timing", steps, steps)


def _begin(
    play: Playback, players: Sequence[Player], turn: int, jobs: tuple[str, ...]
) -> dict[str, Playable]:
    """Build fresh indexes of the first frame and ask them once; return them by label."""
    indexes: dict[str, Playable] = {}
    answers = []
    questions = _questions(play, 0, jobs)
    for player in _rotated(players, turn):
        with _blamed(player, f"fresh index {turn}"):
            index = indexes[player.label] = _build(player, play, turn, jobs)
            player.at = 0
            is_kept = play.frames == 1
            answers.append((player, _ask(player, index, turn, questions, is_kept=is_kept)))
    _compare(answers, f"frame 0 of fresh index {turn}")
    return indexes


def _go_on(
    play: Playback,
    players: Sequence[Player],
    indexes: dict[str, Playable],
    jobs: tuple[str, ...],
    allowance: float,
    tell: Callable[[], None],
) -> None:
    """Play the frames after the first."""
    before = [player.spent for player in players]
    for t in range(1, play.frames):
        changes, questions = play.changes(t), _questions(play, t, jobs)
        answers = []
        for player in _rotated(players, t):
            if player.is_out or player.at != t - 1 or t >= player.frames:
                continue  # it has stopped earlier
            if t > 1 and player.spent > allowance:
                continue
            with _blamed(player, f"frame {t}"):
                index = indexes[player.label]
                _update(player, index, changes, play.ndim, t, jobs)
                answers.append((player, _ask(player, index, t, questions, is_kept=True)))
                player.at = t
                player.reached = max(player.reached, t)
        _compare(answers, f"frame {t}")
        tell()
        if not any(player.entrant for player, _ in answers):
            break  # only the empty contestant still plays
    for player, spent in zip(players, before, strict=True):
        player.play_cost = player.spent - spent
        player.plays += player.at == player.frames - 1


def _build(player: Player, play: Playback, turn: int, jobs: tuple[str, ...]) -> Playable:
    """Insert the first frame into a fresh index."""
    frame, index = play.frame(0), player.make()
    options = frame.options()
    started = player.clock(index)
    if len(frame.ids):
        index.insert(frame.boxes, frame.ids, **options)
    bring_up_to_date(index, play.ndim)
    player.add("build", turn, player.clock(index) - started, is_kept="build" in jobs)
    return index


def _update(
    player: Player, index: Playable, changes: Changes, ndim: int, t: int, jobs: tuple[str, ...]
) -> None:
    """Apply the changes of a frame."""
    started = player.clock(index)
    changes.apply(index)  # type: ignore[arg-type]  # it calls what Playable has
    bring_up_to_date(index, ndim)
    player.add("update", t, player.clock(index) - started, is_kept="update" in jobs)


def _questions(play: Playback, t: int, jobs: tuple[str, ...]) -> _Questions:
    """Return the calls of a frame by job, what they are asked with made beforehand."""
    questions: _Questions = {}
    if "pairs" in jobs:
        questions["pairs"] = partial(_call, "pairs", among=play.among)
    if "query" in jobs:
        questions["query"] = partial(_call, "query", play.batch(t))
    if "nearest" in jobs:
        questions["nearest"] = partial(_call, "nearest", play.points(t), NEIGHBORS)
    if "raycast" in jobs:
        origins, directions, lasts, ignored = play.rays(t)
        options = {"max_t": lasts, "ignore": ignored}
        questions["raycast"] = partial(_call, "raycast", origins, directions, **options)
    return questions


def _call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call a method of an index, the last of the arguments."""
    *given, index = arguments
    return getattr(index, name)(*given, **options)


def _ask(
    player: Player, index: Playable, key: int, questions: _Questions, *, is_kept: bool
) -> list[Any]:
    """Ask what is asked of a frame; return the answers."""
    answers = []
    for job, question in questions.items():
        started = player.clock(index)
        answers.append(question(index))
        player.add(job, key, player.clock(index) - started, is_kept=is_kept)
    return answers


def _compare(answers: Sequence[tuple[Player, list[Any]]], where: str) -> None:
    """Hold the answers of all players against each other: they were equal when checked."""
    compared = [(player.entrant, given) for player, given in answers if player.entrant]
    for entrant, given in compared[1:]:
        first, expected = compared[0]
        for mine, right in zip(given, expected, strict=True):
            words = difference(mine, right)
            if words is not None and entrant.status == "ok":
                entrant.drop("differs", f"while timed, {where}, against {first.label}: {words}")


def _rotated(players: Sequence[Player], turn: int) -> list[Player]:
    """Return the players in an order that another one begins each time."""
    start = turn % max(1, len(players))
    return [*players[start:], *players[:start]]


def _blamed(player: Player, where: str) -> AbstractContextManager[None]:
    """Blame what goes wrong on the entrant; an error of the empty contestant is ours."""
    if player.entrant is None:
        return nullcontext()
    return player.entrant.blamed("failed", f"while timed, {where}")


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keep the garbage collector from running in somebody's time."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
