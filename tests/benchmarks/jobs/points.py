"""Objects that are points, asked with balls: where trees of points answer the same question.

Coordinates are multiples of 1/64 below 2**20, and so are the radii: squares and their sums are
exact, so that it does not matter who computes a distance and who compares its square, and a few
points lie exactly at the rim, which belongs to the ball.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import oracle
from tests.benchmarks.answers import listed
from tests.benchmarks.jobs import common
from tests.benchmarks.jobs.common import Case
from tests.benchmarks.model import Group, Step, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.peers import Peer
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["groups"]

_QUERIES = 10_000
_LATTICE = 64.0  # steps a unit
_RADIUS = 1.5  # mean distances of neighbours


@dataclass(frozen=True)
class _Balls(Case):
    """Points, and balls around some of them."""

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Centers of the scene's boxes, on the lattice."""
        ndim = self.scene.ndim
        boxes = self.scene.boxes()
        centers: NDArray[np.float64] = np.rint(boxes[:, :ndim] * _LATTICE) / _LATTICE
        return centers

    @cached_property
    def boxes(self) -> NDArray[np.float64]:
        """The same as boxes without an extent."""
        return np.concatenate((self.points, self.points), axis=1)

    @cached_property
    def centers(self) -> NDArray[np.float64]:
        """Centers of the balls: of the points themselves, so that some others lie at the rim."""
        rng = np.random.default_rng(self.settings.seed)
        return self.points[rng.integers(len(self.points), size=self.count)]

    @cached_property
    def radii(self) -> NDArray[np.float64]:
        """Radii that a few neighbours lie within."""
        span = np.ptp(self.points, axis=0)
        spacing = float(np.prod(span) / len(self.points)) ** (1.0 / self.scene.ndim)
        radius = max(1.0, np.rint(_RADIUS * spacing * _LATTICE)) / _LATTICE
        return np.full(self.count, radius)


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene."""
    count = settings.count(_QUERIES)
    yield from common.groups(
        settings,
        "points",
        f"{count:,} balls in one call, objects are points",
        _ours,
        _theirs,
        ("balls",),
        count=count,
        right=_right,
        case_type=_Balls,
    )


def _right(case: _Balls) -> Callable[[Any, int], Any]:
    return lambda question, frame: oracle.query_radius(
        np.arange(len(case.boxes)), case.boxes, None, case.centers, case.radii
    )


def _ours(structure: Structure, case: _Balls) -> Iterator[Task]:
    index = structure.of(case.boxes)
    workers = case.settings.workers
    yield Task(
        structure.label,
        (Step("query", lambda centers: index.query_radius(centers, case.radii, workers=workers)),),
        prepare=lambda frame: case.centers,
        rows=common.itself,
        is_sorted=True,
        is_ours=True,
        workers=workers,
    )


def _theirs(peer: Peer, case: _Balls) -> Iterator[Task]:
    ask = peer.balls(case.points, case.settings.workers)
    yield Task(
        peer.name,
        (Step("query", lambda centers: ask(centers, case.radii)),),
        prepare=lambda frame: case.centers,
        rows=listed,
        workers=case.settings.workers,
    )
