"""The nearest objects of points: of boxes, and of objects that are points, beside trees of points.

Points are asked near objects, with noise in all digits, so that equal distances are those of boxes
that a point lies in. Ours go by id there; a peer that has no such rule returns all that are equally
far, of which the lowest ids count, or is asked only where nothing is. Distances are compared bit by
bit, those of a peer being computed from the ids that it found: libraries round differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
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

__all__ = ["Near", "groups", "nearest_of", "right"]

_POINTS = 10_000
_K = 8


@dataclass(frozen=True)
class Near(Case):
    """A scene, and points to ask with."""

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Points around objects, two median edges away."""
        boxes, ndim = self.scene.boxes(), self.scene.ndim
        rng = np.random.default_rng((self.settings.seed, len(boxes), ndim))
        lower, upper = boxes[:, :ndim], boxes[:, ndim:]
        near = rng.integers(len(boxes), size=self.count)
        edge = float(np.median(upper - lower)) or 1.0
        around: NDArray[np.float64] = (lower[near] + upper[near]) / 2
        return around + rng.normal(0.0, 2.0 * edge, (self.count, ndim))


@dataclass(frozen=True)
class _NearPoints(Near):
    """Objects that are points, no two of them the same."""

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """Centers of the scene's boxes."""
        boxes, ndim = self.scene.boxes(), self.scene.ndim
        return np.unique((boxes[:, :ndim] + boxes[:, ndim:]) / 2, axis=0)

    @cached_property
    def boxes(self) -> NDArray[np.float64]:
        """The same as boxes without an extent."""
        return np.concatenate((self.places, self.places), axis=1)


def groups(settings: Settings) -> Iterator[Group]:
    """Make two groups a scene: its boxes, and their centers as points."""
    count = settings.count(_POINTS)
    what = f"the {_K} nearest of {count:,} points in one call"
    options: dict[str, Any] = {"count": count, "right": right}
    yield from common.groups(
        *(settings, "nearest", what, _ours, _theirs, ("nearest",)), case_type=Near, **options
    )
    yield from common.groups(
        *(settings, "nearest", f"{what}, objects are points"),
        *(_ours, _theirs_of_points, ("neighbors",)),
        case_type=_NearPoints,
        **options,
    )


def right(case: Near) -> Callable[[Any, int], Any] | None:
    """Return what finds the neighbours in plain NumPy, where that is affordable."""
    if not common.is_affordable(case):
        return None
    return lambda question, frame: packed(
        *oracle.nearest(np.arange(len(case.boxes)), case.boxes, None, case.points, _K)
    )


def nearest_of(case: Near, index: Any, label: str, workers: int, **options: Any) -> Task:
    """Make the task of asking a built index for what is nearest to all points at once."""
    return Task(
        label,
        (Step("nearest", partial(index.nearest, k=_K, workers=workers)),),
        prepare=lambda frame: case.points,
        rows=lambda found: packed(*found),
        is_sorted=True,
        is_ours=True,
        workers=workers,
        **options,
    )


def _ours(structure: Structure, case: Near) -> Iterator[Task]:
    yield nearest_of(case, structure.of(case.boxes), structure.label, case.settings.workers)


def _theirs(peer: Peer, case: Near) -> Iterator[Task]:
    tree = peer.build(peer.given(case.boxes))
    yield Task(
        peer.name,
        (Step("nearest", lambda points: peer.nearest(tree, points, _K)),),
        prepare=lambda frame: case.points,
        rows=lambda found: _in_order(case, found),
    )


def _theirs_of_points(peer: Peer, case: _NearPoints) -> Iterator[Task]:
    ask = peer.neighbors(case.places, case.settings.workers)
    yield Task(
        peer.name,
        (Step("nearest", lambda points: ask(points, _K)),),
        prepare=lambda frame: case.points,
        rows=lambda found: _in_order(case, found),
        workers=case.settings.workers,
    )


def _in_order(case: Near, found: Any) -> NDArray[np.int64]:
    """Turn rows and ids, as many as there are, into what ours return."""
    rows, ids = (np.asarray(column, np.int64) for column in found)
    far = oracle.distances(case.points[rows], case.boxes[ids])
    order = np.lexsort((ids, far, rows))
    rows, ids, far = rows[order], ids[order], far[order]
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = places < _K
    all_ids = np.full((len(case.points), _K), -1)
    distances = np.full(all_ids.shape, np.inf)
    all_ids[rows[kept], places[kept]] = ids[kept]
    distances[rows[kept], places[kept]] = far[kept]
    return packed(all_ids, distances)
