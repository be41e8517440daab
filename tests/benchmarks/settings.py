"""What a run was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.benchmarks.timing import TURN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.model import Group

__all__ = ["Job", "Settings"]

QUICK_N = 2_000
"""Objects of a quick run."""

_QUICK_SHARE = 50  # a quick run does one in so many of the queries and operations of a full one


@dataclass(frozen=True)
class Job:
    """Something that can be measured, chosen by name."""

    name: str
    summary: str
    """What it measures, in a sentence."""
    groups: Callable[[Settings], Iterator[Group]]
    """Makes its groups; scenes are made when a group's turn has come."""
    sizes: tuple[int, ...]
    """Numbers of objects, when none are asked for."""
    scenes: tuple[str, ...] = ("uniform",)
    """Scenes, when none are asked for."""


@dataclass(frozen=True)
class Settings:
    """Choices of the command line; a tuple that is empty is for each job to fill."""

    sizes: tuple[int, ...] = ()
    ndims: tuple[int, ...] = (2, 3)
    scenes: tuple[str, ...] = ()
    structures: tuple[str, ...] = ()
    """Names in the registry; empty: all of them."""
    peers: tuple[str, ...] | None = None
    """Names of other libraries; None: all that are installed."""
    baseline: str | None = None
    """Label of what times are compared with; None: what the job compares with."""
    rounds: int = 5
    budget: float = 60.0
    """Seconds for a group."""
    workers: int = 1
    """Threads of our calls."""
    seed: int = 1
    is_quick: bool = False

    def of(self, job: Job) -> Settings:
        """Fill what was left open with what the job has."""
        sizes = (QUICK_N,) if self.is_quick else job.sizes
        return replace(self, sizes=self.sizes or sizes, scenes=self.scenes or job.scenes)

    @property
    def turn(self) -> float:
        """Seconds that a turn is to fill."""
        return TURN / 10 if self.is_quick else TURN

    def count(self, full: int) -> int:
        """Return how many queries or operations to do where a full run does `full`."""
        return max(4, full // _QUICK_SHARE) if self.is_quick else full
