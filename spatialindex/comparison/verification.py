"""Every answer against the oracle, before anything is timed.

All contestants play the recording together. In a frame that is checked the oracle answers once,
and each contestant is asked for the pairs that are timed, for those of `among="active"` and
`among="all"`, and one batch of each of the questions that are timed, whose arrays have to be equal
to the oracle's: same rows, same order, same type. A contestant that differs, or raises, is out from
there on; the others go on.

An index keeps its last pairs and mends them as long as the same option is asked. So each contestant
plays on two indexes: one is asked the timed option alone, in every frame, as it is when it is
timed; the other one is asked the other options.

An example of what is said of one that differs::

    frame 12, pairs(among='all'): 3 rows are missing, first (3, 5); 1 row is too much, first (3, 4)
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import oracle
from spatialindex.comparison.batches import NEIGHBORS
from spatialindex.comparison.planning import spread
from spatialindex.constants import STATE_DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from spatialindex.comparison.batches import Rays
    from spatialindex.comparison.contestants import Entrant
    from spatialindex.comparison.planning import Plan
    from spatialindex.comparison.playback import Playback
    from spatialindex.protocol import Among
    from spatialindex.scenes.recording import Changes, Frame

    Rows = NDArray[np.int64]
    Ordered = tuple[Rows, NDArray[np.float64]]

__all__ = ["Verification", "difference", "verify"]

_COUNTED = 9  # frames in which statistics are taken; some need a counting pass of their own
_SHOWN = 3  # rows of a difference that are named


@dataclass(frozen=True)
class Verification:
    """What the oracle found; what came of it is in the entrants."""

    frames: int
    """Frames in which it answered."""
    pair_rows: int
    """Rows of pairs, over all ``among`` options that were asked."""
    query_rows: int
    """Rows of query answers."""
    neighbors: int
    """Neighbours of points."""
    hits: int
    """Rays that hit something."""


@dataclass(frozen=True)
class _Expected:
    """The oracle's answers in one frame."""

    sample: Rows | None
    """Objects whose pairs are compared; None is all."""
    pairs: dict[Among, Rows]
    """By the option, the timed one first."""
    asked: NDArray[np.float64]
    found: Rows
    points: NDArray[np.float64]
    nearest: Ordered | None
    """Ids and distances; None where they are not checked."""
    rays: Rays | None
    first: Ordered | None
    """Ids and times of the first hits."""

    @property
    def neighbors(self) -> int:
        """How many neighbours there are."""
        return 0 if self.nearest is None else int(np.count_nonzero(self.nearest[0] >= 0))

    @property
    def hits(self) -> int:
        """How many rays hit something."""
        return 0 if self.first is None else int(np.count_nonzero(self.first[0] >= 0))


@dataclass(frozen=True)
class _Seat:
    """A contestant and the indexes on which it plays."""

    entrant: Entrant
    timed: Any
    """Asked what is timed, and for no other pairs."""
    other: Any
    """Asked for the other pairs; None where no pairs are checked."""

    def apply(self, changes: Changes) -> None:
        """Play the changes of a frame."""
        for index in (self.timed, self.other):
            if index is not None:
                changes.apply(index)


def verify(
    play: Playback,
    plan: Plan,
    entrants: Sequence[Entrant],
    *,
    allowance: float,
    progress: Callable[[str, int, int], None] | None = None,
) -> Verification:
    """Play the frames up to the last planned one and compare every answer in the planned ones.

    Parameters
    ----------
    play : Playback
        What is played and asked.
    plan : Plan
        Which frames are checked, and what of them.
    entrants : sequence of Entrant
        Who is checked; what came of it is in them afterwards.
    allowance : float
        Seconds after which an entrant is checked no further. The first frame is checked in any
        case.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    """
    seats = []
    for entrant in entrants:
        make = entrant.contestant.make
        seats.append(_Seat(entrant, make(play.ndim), make(play.ndim) if plan.pairs else None))
    counted = {plan.frames[k] for k in spread(len(plan.frames), _COUNTED)}
    planned = set(plan.frames)
    total = plan.frames[-1] + 1
    pair_rows = query_rows = neighbors = hits = frames = 0
    for t in range(total):
        playing = [
            seat
            for seat in seats
            if seat.entrant.status == "ok" and seat.entrant.check_seconds <= allowance
        ]
        if not playing:
            break
        changes, expected = play.changes(t), None
        if t in planned:
            expected = _expect(play, plan, t)
            frames += 1
            pair_rows += sum(len(rows) for rows in expected.pairs.values())
            query_rows += len(expected.found)
            neighbors += expected.neighbors
            hits += expected.hits
        for seat in playing:
            started = time.perf_counter()
            with seat.entrant.blamed("failed", f"frame {t}"):
                seat.apply(changes)
                if expected is not None:
                    _check(seat, play, plan, expected, t, takes_stats=t in counted)
                elif plan.pairs:
                    seat.timed.pairs(among=play.among)  # the next frame's are made of these
            seat.entrant.check_seconds += time.perf_counter() - started
        if progress is not None:
            progress("checking", t + 1, total)
    return Verification(frames, pair_rows, query_rows, neighbors, hits)


def _check(
    seat: _Seat,
    play: Playback,
    plan: Plan,
    expected: _Expected,
    t: int,
    *,
    takes_stats: bool,
) -> None:
    """Ask one contestant everything and note the first answer that differs."""
    entrant = seat.entrant
    found: list[tuple[str, str | None]] = []
    for among, rows in expected.pairs.items():
        index = seat.timed if among == play.among or seat.other is None else seat.other
        answer = _sampled(index.pairs(among=among), expected.sample)
        found.append((f"pairs(among={among!r})", difference(answer, rows)))
    if plan.queries:
        call = f"query() of {plan.queries} boxes"
        found.append((call, difference(seat.timed.query(expected.asked), expected.found)))
    if expected.nearest is not None:
        call = f"nearest() of {len(expected.points)} points"
        near = seat.timed.nearest(expected.points, NEIGHBORS)
        found.append((call, difference(near, expected.nearest)))
    if expected.rays is not None and expected.first is not None:
        rays = expected.rays
        call = f"raycast() of {len(rays.origins)} rays"
        first = seat.timed.raycast(
            rays.origins, rays.directions, max_t=rays.lasts, ignore=rays.ignored
        )
        found.append((call, difference(first, expected.first)))
    for call, words in found:
        if words is not None:
            entrant.status = "differs"
            entrant.note = f"frame {t}, {call}: {words}"
            return
    if takes_stats and not entrant.is_peer:
        entrant.stats.append(seat.timed.stats())
    entrant.checked += 1
    entrant.last_checked = t


def _expect(play: Playback, plan: Plan, t: int) -> _Expected:
    """Let the oracle answer everything that is asked in a frame."""
    frame = play.frame(t)
    state = _state(frame)
    sample, pairs = None, {}
    if plan.pairs:
        if plan.share < 1.0:
            count = max(1, int(len(frame.ids) * plan.share))
            rng = np.random.default_rng((play.seed, t, 1))
            rows = np.sort(rng.permutation(len(frame.ids))[:count])
            sample, overlapping = frame.ids[rows], _partners(frame, rows)
        else:
            # the boxes alone: layer and mask are taken into account below, for both rules
            overlapping = oracle.pairs(frame.ids, frame.boxes)
        a, b = (np.searchsorted(frame.ids, overlapping[:, k]) for k in (0, 1))
        options: tuple[Among, ...] = ("active", "all")
        for among in (play.among, *(option for option in options if option != play.among)):
            pairs[among] = overlapping[oracle.passes(state[a], state[b], among=among)]
    asked, found = np.empty((0, 2 * play.ndim)), np.empty((0, 2), np.int64)
    if plan.queries:
        asked = play.checked_batch(t)
        found = oracle.query(frame.ids, frame.boxes, state, asked)
    points, nearest = np.empty((0, play.ndim)), None
    if plan.points:
        points = play.checked_points(t)[list(plan.points)]
        nearest = oracle.nearest(frame.ids, frame.boxes, state, points, NEIGHBORS)
    rays, first = None, None
    if plan.rays:
        rays = play.checked_rays(t).rows(np.array(plan.rays))
        first = oracle.raycast(
            *(frame.ids, frame.boxes, state),
            *(rays.origins, rays.directions),
            max_t=rays.lasts,
            ignore=rays.ignored,
        )
    return _Expected(sample, pairs, asked, found, points, nearest, rays, first)


def _partners(frame: Frame, rows: NDArray[np.intp]) -> Rows:
    """Return the overlapping pairs with a member among the objects in `rows`."""
    met = oracle.query(frame.ids, frame.boxes, None, frame.boxes[rows])
    own, other = frame.ids[rows][met[:, 0]], met[:, 1]
    both = np.stack((np.minimum(own, other), np.maximum(own, other)), axis=-1)[own != other]
    return np.unique(both, axis=0)  # rows in lexicographic order, as pairs are


def _sampled(answer: Any, sample: Rows | None) -> Any:
    """Keep the pairs of an answer that have a member in the sample."""
    if sample is None:
        return answer
    return answer[np.isin(answer, sample).any(axis=1)]


def _state(frame: Frame) -> NDArray[np.void]:
    state = np.zeros(len(frame.ids), STATE_DTYPE)
    for name, values in frame.options().items():
        state[name] = values
    return state


def difference(got: Any, expected: Rows | Ordered) -> str | None:
    """Say how an answer differs from the right one; None when they are equal.

    An answer is a relation, or ids and with each of them a distance or a time.

    >>> right = np.array([[0, 1], [0, 2]])
    >>> difference(np.array([[0, 1], [1, 2]]), right)
    '1 row is missing, first (0, 2); 1 row is too much, first (1, 2)'
    >>> difference(right[::-1], right)
    'the rows are right, but not in canonical order'
    >>> difference(right.copy(), right) is None
    True
    >>> first = np.array([3, -1]), np.array([0.5, np.inf])
    >>> difference((np.array([7, -1]), np.array([0.5, np.inf])), first)
    'row 0 is 7 at 0.5, not 3 at 0.5'
    """
    if isinstance(expected, tuple):
        return _ordered_difference(got, expected)
    if not isinstance(got, np.ndarray) or got.dtype != expected.dtype:
        kind = got.dtype if isinstance(got, np.ndarray) else type(got).__name__
        return f"the answer is {kind}, not an array of {expected.dtype}"
    if got.ndim != 2 or got.shape[1] != 2:
        return f"the answer has shape {got.shape}, not (m, 2)"
    if np.array_equal(got, expected):
        return None
    mine, right = _as_records(got), _as_records(expected)
    words = []
    for rows, what in (
        (np.setdiff1d(right, mine), "missing"),
        (np.setdiff1d(mine, right), "too much"),
    ):
        if len(rows):
            first = ", ".join(str(tuple(row.item())) for row in rows[:_SHOWN])
            words.append(f"{_rows(len(rows))} {what}, first {first}")
    repeats = len(mine) - len(np.unique(mine))
    if repeats:
        words.append(f"{_rows(repeats)} there more than once")
    return "; ".join(words) or "the rows are right, but not in canonical order"


def _ordered_difference(got: Any, expected: Ordered) -> str | None:
    """Say how ids with distances or times differ: in which rows, and what the first of them is."""
    if not (isinstance(got, tuple) and len(got) == 2):
        return f"the answer is {type(got).__name__}, not ids and floats"
    kinds = [(getattr(part, "dtype", None), np.shape(part)) for part in got]
    right = [(part.dtype, part.shape) for part in expected]
    if kinds != right:
        words = (
            ", ".join(f"{dtype} of shape {shape}" for dtype, shape in x) for x in (kinds, right)
        )
        return "the answer is {}, not {}".format(*words)
    differs = (got[0] != expected[0]) | (got[1] != expected[1])
    rows = np.flatnonzero(differs.reshape(len(differs), -1).any(axis=1))
    if len(rows) == 0:
        return None
    row = int(rows[0])
    at = int(np.argmax(np.atleast_1d(differs[row])))
    mine, correct = (
        "{} at {}".format(*(np.atleast_1d(part[row])[at].item() for part in answer))
        for answer in (got, expected)
    )
    place = f", place {at}" if differs.ndim == 2 else ""
    more = f"; {len(rows) - 1:,} more rows differ" if len(rows) > 1 else ""
    return f"row {row}{place} is {mine}, not {correct}{more}"


def _as_records(rows: Rows) -> NDArray[np.void]:
    """View rows as records, which sort and compare as a whole."""
    pair = np.dtype([("a", np.int64), ("b", np.int64)])
    records: NDArray[np.void] = np.ascontiguousarray(rows).view(pair)[:, 0]
    return records


def _rows(count: int) -> str:
    return "1 row is" if count == 1 else f"{count:,} rows are"
