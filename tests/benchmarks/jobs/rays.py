"""Rays: the first hit of each, and all that segments meet; and one convex region for culling.

Times of hits are compared bit by bit; those of a peer are computed from the ids that it found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import oracle
from tests.benchmarks.answers import packed
from tests.benchmarks.jobs import common
from tests.benchmarks.jobs.common import Case
from tests.benchmarks.model import Group, Step, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tests.benchmarks.peers import Peer
    from tests.benchmarks.settings import Settings
    from tests.benchmarks.structures import Structure

__all__ = ["Rays", "first_hits_of", "groups", "plane_groups", "right_first"]

_RAYS = 10_000
_SEGMENTS = 2_000
_LENGTH = 0.05  # of the extent of the scene
_SLOPE = 0.5  # of the sides of the view, to its axis


@dataclass(frozen=True)
class Rays(Case):
    """A scene, and rays from the middle of objects in all directions."""

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the objects."""
        return np.arange(len(self.boxes))

    @cached_property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper bounds of everything."""
        ndim = self.scene.ndim
        return self.boxes[:, :ndim].min(axis=0), self.boxes[:, ndim:].max(axis=0)

    @cached_property
    def extent(self) -> float:
        """The longest edge of the box around everything."""
        lower, upper = self.bounds
        return float(np.max(upper - lower))

    @cached_property
    def origins(self) -> NDArray[np.float64]:
        """Centers of the objects that rays start in."""
        ndim, boxes = self.scene.ndim, self.boxes[self.ignored]
        centers: NDArray[np.float64] = (boxes[:, :ndim] + boxes[:, ndim:]) / 2
        return centers

    @cached_property
    def ignored(self) -> NDArray[np.int64]:
        """These objects, which a ray that looks for the first hit does not see."""
        rng = np.random.default_rng((self.settings.seed, len(self.boxes)))
        return rng.integers(len(self.boxes), size=self.count)

    @cached_property
    def directions(self) -> NDArray[np.float64]:
        """Directions, as long as a segment."""
        rng = np.random.default_rng((self.settings.seed, self.count))
        ways = rng.normal(size=(self.count, self.scene.ndim))
        ways *= _LENGTH * self.extent / np.linalg.norm(ways, axis=1, keepdims=True)
        return ways

    @cached_property
    def view(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Planes of what a camera sees that looks along the first axis, a quarter of the world."""
        ndim = self.scene.ndim
        lower, upper = self.bounds
        eye = (lower + upper) / 2
        eye[0] = lower[0]
        forward = np.zeros(ndim)
        forward[0] = 1.0
        normals = [-forward, forward]  # what is behind, and what is too far
        reach = [-float(eye[0]), float(eye[0] + 0.75 * (upper[0] - lower[0]))]
        for axis in range(1, ndim):
            for side in (-1.0, 1.0):
                normal = -_SLOPE * forward
                normal[axis] = side
                normals.append(normal)
                reach.append(float(normal @ eye))
        return np.array(normals), np.array(reach)


@dataclass(frozen=True)
class _RaysFromOutside(Rays):
    """Rays from a sphere around the scene to points among the objects; they ignore nobody."""

    @cached_property
    def origins(self) -> NDArray[np.float64]:
        """Points on the sphere."""
        lower, upper = self.bounds
        rng = np.random.default_rng((self.settings.seed, self.count, 1))
        ways = rng.normal(size=(self.count, self.scene.ndim))
        ways *= np.linalg.norm(upper - lower) / np.linalg.norm(ways, axis=1, keepdims=True)
        return (lower + upper) / 2 + ways

    @cached_property
    def ignored(self) -> NDArray[np.int64]:
        """Nobody."""
        return np.full(self.count, -1, np.int64)

    @cached_property
    def directions(self) -> NDArray[np.float64]:
        """Directions, as long as it is to the point."""
        lower, upper = self.bounds
        rng = np.random.default_rng((self.settings.seed, self.count, 2))
        return rng.uniform(lower, upper, (self.count, self.scene.ndim)) - self.origins


def groups(settings: Settings) -> Iterator[Group]:
    """Make three groups a scene: first hits of rays from within and outside, hits of segments."""
    count = settings.count(_RAYS)
    yield from common.groups(
        *(settings, "rays", f"the first hit of {count:,} rays in one call"),
        *(_ours_first, _nobody, ("segments",)),
        count=count,
        right=right_first,
        case_type=Rays,
    )
    yield from common.groups(
        *(settings, "rays", f"the first hit of {count:,} rays from outside, in one call"),
        *(_ours_first, _theirs_first, ("first_hits",)),
        count=count,
        right=right_first,
        case_type=_RaysFromOutside,
    )
    count = settings.count(_SEGMENTS)
    what = f"all hits of {count:,} segments of {_LENGTH * 100:g} % of the extent, in one call"
    yield from common.groups(
        *(settings, "rays", what, _ours_all, _theirs_all, ("segments",)),
        count=count,
        right=_right_all,
        case_type=Rays,
    )


def plane_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene: what a camera sees."""
    yield from common.groups(
        *(settings, "planes", "one view of the scene, a convex region"),
        *(_ours_planes, _nobody, ("segments",)),
        right=_right_planes,
        case_type=Rays,
    )


def _nobody(peer: Peer, case: Rays) -> Iterator[Task]:
    """Make no task: peers do not answer this."""
    return iter(())


def right_first(case: Rays) -> Callable[[Any, int], Any] | None:
    """Return what finds first hits in plain NumPy, where that is affordable."""
    if not common.is_affordable(case):
        return None
    return lambda question, frame: packed(
        *oracle.raycast(
            *(case.ids, case.boxes, None, case.origins, case.directions), ignore=case.ignored
        )
    )


def first_hits_of(case: Rays, index: Any, label: str, workers: int, **options: Any) -> Task:
    """Make the task of asking a built index for the first hit of all rays at once."""

    def ask(rays: Any) -> Any:
        return index.raycast(*rays, ignore=case.ignored, workers=workers)

    return Task(
        label,
        (Step("raycast", ask),),
        prepare=lambda frame: (case.origins, case.directions),
        rows=lambda hits: packed(hits.ids, hits.t),
        is_sorted=True,
        is_ours=True,
        workers=workers,
        **options,
    )


def _ours_first(structure: Structure, case: Rays) -> Iterator[Task]:
    yield first_hits_of(
        case, structure.of(case.boxes), structure.label, workers=case.settings.workers
    )


def _theirs_first(peer: Peer, case: Rays) -> Iterator[Task]:
    ask = peer.first_hits(peer.build(peer.given(case.boxes)), case.origins, case.directions)

    def hits(found: NDArray[Any]) -> NDArray[np.int64]:
        ids = found.astype(np.int64)
        start = np.concatenate((case.origins, case.origins), axis=1)
        t = oracle.cast_times(start, case.directions, np.inf, case.boxes[ids])
        return packed(ids, np.where(ids < 0, np.inf, t))

    yield Task(peer.name, (Step("raycast", lambda _: ask()),), rows=hits)


def _right_all(case: Rays) -> Callable[[Any, int], Any] | None:
    if not common.is_affordable(case):
        return None
    return lambda question, frame: _hits(
        *oracle.raycast_all(*(case.ids, case.boxes, None, case.origins, case.directions), max_t=1.0)
    )


def _hits(rows: NDArray[np.int64], t: NDArray[np.float64]) -> NDArray[np.int64]:
    return packed(rows[:, 0], rows[:, 1], t)


def _ours_all(structure: Structure, case: Rays) -> Iterator[Task]:
    index = structure.of(case.boxes)
    workers = case.settings.workers
    yield Task(
        structure.label,
        (Step("raycast", lambda rays: index.raycast_all(*rays, max_t=1.0, workers=workers)),),
        prepare=lambda frame: (case.origins, case.directions),
        rows=lambda hits: _hits(*hits),
        is_sorted=True,
        is_ours=True,
        workers=workers,
    )


def _theirs_all(peer: Peer, case: Rays) -> Iterator[Task]:
    tree = peer.build(peer.given(case.boxes))
    given = peer.lines(case.origins, case.origins + case.directions)

    def hits(found: Any) -> NDArray[np.int64]:
        rows, ids = (np.asarray(column, np.int64) for column in found)
        start = np.concatenate((case.origins, case.origins), axis=1)
        t = oracle.cast_times(start[rows], case.directions[rows], 1.0, case.boxes[ids])
        order = np.lexsort((ids, t, rows))
        return packed(rows[order], ids[order], t[order])

    yield Task(
        peer.name,
        (Step("raycast", lambda lines: peer.segments(tree, lines)),),
        prepare=lambda frame: given,
        rows=hits,
    )


def _right_planes(case: Rays) -> Callable[[Any, int], Any]:
    return lambda question, frame: _seen(
        oracle.query_planes(case.ids, case.boxes, None, *case.view)
    )


def _seen(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.column_stack((np.zeros_like(ids), ids))


def _ours_planes(structure: Structure, case: Rays) -> Iterator[Task]:
    index = structure.of(case.boxes)
    workers = case.settings.workers
    yield Task(
        structure.label,
        (Step("planes", lambda view: index.query_planes(*view, workers=workers)),),
        prepare=lambda frame: case.view,
        rows=_seen,
        is_sorted=True,
        is_ours=True,
        workers=workers,
    )
