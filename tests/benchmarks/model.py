"""What jobs are made of: tasks, groups of them, and what came out."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Figures", "Group", "Result", "Step", "Task"]

Figures = Mapping[str, float | int | str | None]
"""Numbers and words by name."""


@dataclass(frozen=True)
class Step:
    """One timed part of a task."""

    name: str
    """What it is called in tables."""
    run: Callable[[Any], Any]
    """Is given what the step before returned, the first one what was prepared."""


@dataclass(frozen=True)
class Task:
    """One contestant's way to do what the group is about."""

    label: str
    """What tables call it: the structure or the library, and what sets it apart."""
    steps: tuple[Step, ...]
    """What is timed, in order."""
    prepare: Callable[[int], Any] = lambda frame: None
    """Makes what the first step is given; of frames it is told which, counted from 0."""
    rows: Callable[[Any], Any] | None = None
    """Turns what the last step returned into rows ``(m, 2)``; None: there is no answer."""
    question: Hashable = None
    """Tasks of the same question must have the same answer."""
    is_sorted: bool = False
    """Whether rows have to come in lexicographic order."""
    is_ours: bool = False
    """Whether it is a structure of this library: a wrong answer fails the run."""
    parts: int = 1
    """What a time is divided by: queries, objects, operations."""
    workers: int = 1
    """Threads that it was told to use; 0: another process does the work."""
    baseline: str | None = None
    """Label of the task that its time is divided by; None: that of the group."""
    budget: float | None = None
    """Seconds that it may take, a part."""
    clock: Callable[[Any], dict[str, float]] | None = None
    """Reads the seconds of each step off the answer, where another process has measured them."""
    figures: Callable[[], Figures] | None = None
    """Figures beside times, asked for at the end."""


@dataclass
class Result:
    """A task and what came out."""

    task: Task
    laps: list[dict[str, float]] = field(default_factory=list)
    """Seconds of each step, for every run that counts."""
    cpu: list[float] = field(default_factory=list)
    """Processor seconds of this process, all its threads together, likewise."""
    rounds: int = 0
    """Rounds that count."""
    first: float = 0.0
    """Seconds of the last run that does not count."""
    answer: str = ""
    """`EQUAL`, how it differs, how it failed, or nothing when there is no answer to compare."""
    figures: Figures = field(default_factory=dict)
    is_out: bool = False
    is_failed: bool = False

    @property
    def seconds(self) -> list[float]:
        """Seconds of all steps together, for every run that counts."""
        return [sum(lap.values()) for lap in self.laps]

    @property
    def median(self) -> float | None:
        """Median of the runs, a part; None when there were none."""
        return statistics.median(self.seconds) / self.task.parts if self.laps else None

    @property
    def is_wrong(self) -> bool:
        """Whether its answer is not that of the others, or there is none."""
        return self.is_failed or self.answer.startswith("DIFFERS")

    @property
    def threads(self) -> float:
        """Processor seconds a second, about the number of threads that were busy."""
        total = sum(self.seconds)
        return sum(self.cpu) / total if total else 0.0

    def step(self, name: str) -> float | None:
        """Return the median of one step, a part; None when it has no such step."""
        laps = [lap[name] for lap in self.laps if name in lap]
        return statistics.median(laps) / self.task.parts if laps else None

    def fail(self, words: str) -> None:
        """Take it out for good."""
        self.answer, self.is_failed, self.is_out = words, True, True


@dataclass(frozen=True)
class Group:
    """Tasks that are measured together, in alternation."""

    job: str
    scene: str
    """Name of the scene."""
    n: int
    """Objects."""
    ndim: int
    """Number of dimensions."""
    what: str
    """What is timed, in a few words."""
    tasks: Callable[[], list[Task]]
    """Makes the tasks, and the scene with them, when their turn has come."""
    part: str = "call"
    """What one of the parts is called that times are divided by."""
    baselines: tuple[str, ...] = ()
    """Labels of what times are compared with: the first of them that takes part."""
    rounds: int = 0
    """Rounds, when it has to be a certain number of them."""
    runs: int = 0
    """Runs of a turn, when it has to be a certain number of them."""
    is_moving: bool = False
    """Whether every run of a task is another frame, with an answer of its own."""
    is_timed: bool = True
    """False where figures are all that counts."""
    oracle: Callable[[Hashable, int], Any] | None = None
    """Rows of the right answer to a question in a frame; None: the tasks check one another."""
    conclude: Callable[[list[Result]], Figures] | None = None
    """Figures that follow from all of them."""
