"""How much of a recording can be checked within a budget of work that is counted, not clocked.

The unit is one test of two boxes by the oracle. It sorts the boxes on an axis and tests those whose
extents meet there, so the number of tests is known before one is made::

    boxes on x     [0, 2]   [1, 4]   [3, 5]      meet: (0, 1) and (1, 2), so 2 tests
    boxes on y     [0, 1]   [0, 1]   [0, 1]      meet: all 3 pairs; x is the better axis

A distance of a point and a time of a ray count as tests, one for each object: the oracle scans all.
When all frames together cost too much, evenly spaced ones are taken, the first and the last among
them. When not even two frames can be afforded, their pairs are checked for a sample of the objects:
every pair that has at least one of them in it; and of points and rays an even sample, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spatialindex import oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from spatialindex.comparison.playback import Playback

__all__ = ["MOST_PAIRS", "Plan", "box_tests", "estimated_pairs", "make_plan", "spread"]

MOST_PAIRS = 2**25
"""Pairs in a frame beyond which they are not asked for: half a GiB in every answer."""

_LEAST_SCANS = 4  # points, and rays, that are checked whatever it takes
_SAMPLE = 64  # objects whose partners are counted to estimate the pairs of a frame


@dataclass(frozen=True)
class Plan:
    """Which frames are checked, and what of them."""

    frames: tuple[int, ...]
    """Frames to check, ascending."""
    pairs: bool
    """Whether pairs are checked."""
    queries: int
    """Range queries to check in each; 0 when they are not."""
    points: tuple[int, ...]
    """Which rows of the points are checked in each; none when their neighbours are not."""
    rays: tuple[int, ...]
    """Which of the rays."""
    share: float
    """Share of the objects whose pairs are checked; 1.0 is all."""
    box_tests: int
    """What it costs the oracle."""


def make_plan(
    play: Playback,
    *,
    jobs: Collection[str],
    work: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> Plan:
    """Choose the frames to check so that the oracle needs at most about `work` box tests.

    Parameters
    ----------
    play : Playback
        What is played and asked.
    jobs : collection of str
        Which of the `ANSWERING` jobs are checked.
    work : int
        Box tests.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    """
    pair_costs = np.zeros(play.frames, dtype=np.int64)
    query_costs = np.zeros(play.frames, dtype=np.int64)
    scans = np.zeros(play.frames, dtype=np.int64)
    queries = 0
    points = len(play.checked_points(0)) if "nearest" in jobs else 0
    rays = len(play.checked_rays(0).origins) if "raycast" in jobs else 0
    for t in range(play.frames):
        frame = play.frame(t)
        if "pairs" in jobs:
            pair_costs[t] = (box_tests(frame.boxes, frame.boxes) - len(frame.ids)) // 2
        if "query" in jobs:
            asked = play.checked_batch(t)
            query_costs[t], queries = box_tests(asked, frame.boxes), len(asked)
        scans[t] = (points + rays) * len(frame.ids)
        if progress is not None:
            progress("planning", t + 1, play.frames)
    costs = pair_costs + query_costs + scans
    count = play.frames
    if int(costs.sum()) > work:
        count = max(1, min(count, int(count * work / int(costs.sum()))))
        while count > 1 and int(costs[list(spread(play.frames, count))].sum()) > work:
            count -= 1
    frames = spread(play.frames, max(count, min(2, play.frames)))
    for_pairs, for_queries, for_scans = (
        int(part[list(frames)].sum()) for part in (pair_costs, query_costs, scans)
    )
    scanned = 1.0
    if for_scans and for_pairs + for_queries + for_scans > work:
        # a quarter of it goes to scans even where the rest would take all
        scanned = min(1.0, max(work - for_pairs - for_queries, work / 4) / for_scans)
    point_rows, ray_rows = (
        spread(count, max(_LEAST_SCANS, int(count * scanned))) for count in (points, rays)
    )
    others = for_queries + for_scans * (len(point_rows) + len(ray_rows)) // max(1, points + rays)
    share = 1.0
    if for_pairs and for_pairs + others > work:
        # half of it goes to pairs even where questions alone would take more
        share = min(1.0, max(work - others, work / 2) / for_pairs)
    tests = int(for_pairs * share) + others
    return Plan(frames, "pairs" in jobs, queries, point_rows, ray_rows, share, tests)


def spread(frames: int, count: int) -> tuple[int, ...]:
    """Return `count` frames spread evenly over all, the first and the last among them.

    >>> spread(10, 4)
    (0, 3, 6, 9)
    """
    if count >= frames:
        return tuple(range(frames))
    return tuple(int(t) for t in np.linspace(0, frames - 1, count).round())


def box_tests(a: NDArray[np.float64], b: NDArray[np.float64]) -> int:
    """Count the pairs of boxes whose extents meet on the axis on which the fewest do.

    >>> boxes = np.array([[0.0, 0, 2, 1], [1, 0, 4, 1], [3, 0, 5, 1]])
    >>> box_tests(boxes, boxes)  # each with itself and both ways round
    7
    """
    ndim = a.shape[1] // 2
    counts = []
    for axis in range(ndim):
        lowers, uppers = np.sort(b[:, axis]), np.sort(b[:, axis + ndim])
        begun = np.searchsorted(lowers, a[:, axis + ndim], side="right")
        ended = np.searchsorted(uppers, a[:, axis], side="left")
        counts.append(int((begun - ended).sum()))
    return min(counts)


def estimated_pairs(boxes: NDArray[np.float64], seed: int) -> int:
    """Estimate how many pairs a frame has from the partners of a seeded sample of its objects."""
    n = len(boxes)
    if n == 0:
        return 0
    rows = np.random.default_rng(seed).permutation(n)[:_SAMPLE]
    partners = sum(int(np.count_nonzero(oracle.overlaps(boxes[row], boxes))) - 1 for row in rows)
    return int(partners / len(rows) * n / 2)
