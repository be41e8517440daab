"""Timing: the tasks of a group in alternation, so that they share the noise of the machine.

In a round every task has its turn, each time in another order::

    round 0   a b c     not counted: compiles, loads, grows buffers
    round 1   c b a     order rotated by the round, and turned around in every other one
    round 2   c a b
    ...

A turn is one run, or as many as fill a fiftieth of a second: what takes microseconds would
otherwise be measured on caches that are full of what the others left there. In a quick run, which
only shows that all of it works, a tenth of that is enough. Frames are played five in a turn. Every
run is *prepared*, which is not timed: a fresh index, the boxes of the next frame. Then come its
timed *steps*, each given what the one before returned. After a turn its answers are compared, not
timed again. The garbage collector rests.

A task that has used up its share of the seconds has no further rounds, after a least number of
them; how many it had is shown. One that raises is out, the others go on.
"""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.answers import EQUAL, as_keys, difference
from tests.benchmarks.model import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.model import Group

__all__ = ["LEAST_ROUNDS", "TURN", "measure"]

LEAST_ROUNDS = 3
"""Rounds that a task has whatever it takes, unless round 0 alone is longer than the budget."""

TURN = 0.02
"""Seconds that a turn is to fill."""

_MOST_RUNS = 50
_UNCOLLECTED = 2.0  # seconds, at most, without a collection between rounds


class _References:
    """The right answers: the oracle's where there is one, else those of the first who answers."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._known: dict[tuple[Hashable, int], NDArray[np.uint64]] = {}

    def judge(self, question: Hashable, frame: int, keys: NDArray[np.uint64]) -> str:
        """Return `EQUAL`, or how sorted keys differ from what is right."""
        key = (question, frame if self._group.is_moving else 0)
        right = self._known.get(key)
        if right is None:
            oracle = self._group.oracle
            right = keys if oracle is None else np.sort(as_keys(oracle(question, frame)))
            self._known[key] = right
        return difference(keys, right)

    def forget(self) -> None:
        """Drop what frames that all have passed were checked by."""
        if self._group.is_moving:
            self._known.clear()


def measure(
    group: Group,
    rounds: int,
    budget: float,
    tell: Callable[[str], None],
    *,
    turn: float = TURN,
) -> list[Result]:
    """Run all tasks of a group.

    Parameters
    ----------
    group : Group
        What to run; a number of rounds of its own goes before `rounds`.
    rounds : int
        Rounds that count.
    budget : float
        Seconds for all tasks together.
    tell : callable
        Called with what is going on, outside of what is timed.
    turn : float
        Seconds that a turn is to fill.
    """
    tell("making the scene")
    results = [Result(task) for task in group.tasks()]
    references = _References(group)
    rounds = group.rounds or rounds
    share = budget / max(1, len(results))
    collected = time.monotonic()
    with _collector_at_rest():
        for round_ in range(rounds + 1):
            able = [result for result in _ordered(results, round_) if not result.is_out]
            for result in able:
                tell(f"round {round_} of {rounds}: {result.task.label}")
                _have_turn(result, round_, group, references, turn)
                result.rounds = round_
                if round_ == 0:
                    result.is_out |= result.first > budget
                elif round_ >= LEAST_ROUNDS:
                    result.is_out |= sum(result.seconds) > share
            if not able:
                break
            references.forget()
            if time.monotonic() > collected + _UNCOLLECTED:
                gc.collect()
                collected = time.monotonic()
    for result in results:
        if result.task.figures is not None and not result.is_failed:
            with _blamed(result):
                result.figures = result.task.figures()
    return results


def _have_turn(
    result: Result, round_: int, group: Group, references: _References, turn: float
) -> None:
    """Run a task as often as a turn has runs, then compare its answers."""
    if group.runs:
        frames = range(round_ * group.runs, (round_ + 1) * group.runs)
    elif round_ == 0:
        frames = range(2)  # the second has nothing to compile, and says how many a turn has
    else:
        frames = range(max(1, min(_MOST_RUNS, round(turn / max(result.first, 1e-9)))))
    answers: list[tuple[int, Any]] = []
    with _blamed(result):
        for frame in frames:
            laps = _run(result, frame, answers, is_counted=round_ > 0)
            if round_ == 0:
                result.first = sum(laps.values())
                if result.first > turn and not group.runs:
                    break
    # not between the runs: what it takes to be right would drive out of the caches what is timed
    with _blamed(result):
        for frame, rows in answers:
            keys = as_keys(rows)
            words = references.judge(result.task.question, frame, np.sort(keys))
            if words == EQUAL and result.task.is_sorted and (keys[1:] < keys[:-1]).any():
                words = "DIFFERS: rows are not in canonical order"
            if result.answer in ("", EQUAL):
                result.answer = words


def _run(
    result: Result, frame: int, answers: list[tuple[int, Any]], *, is_counted: bool
) -> dict[str, float]:
    """Run a task once, note its times and its answer; return the seconds of its steps."""
    task = result.task
    laps: dict[str, float] = {}
    value = task.prepare(frame)
    cpu = time.process_time()
    for step in task.steps:
        started = time.perf_counter()
        value = step.run(value)
        laps[step.name] = time.perf_counter() - started
    cpu = time.process_time() - cpu
    if task.clock is not None:
        laps = task.clock(value)
    if task.rows is not None:
        answers.append((frame, task.rows(value)))
    if is_counted:
        result.laps.append(laps)
        result.cpu.append(cpu)
    return laps


@contextmanager
def _blamed(result: Result) -> Iterator[None]:
    """Take a task out that raises, whatever it may be: the others go on."""
    try:
        yield
    except Exception as error:
        lines = str(error).splitlines()
        result.fail(f"FAILED: {type(error).__name__}: {lines[0] if lines else ''}")


def _ordered(results: list[Result], round_: int) -> list[Result]:
    """Return the tasks in an order in which nobody always goes first, or behind the same one."""
    at = round_ % max(1, len(results))
    order = results[at:] + results[:at]
    return order[::-1] if round_ % 2 else order


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
