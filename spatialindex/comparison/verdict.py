"""Who is fastest, and which measured figures say why.

Structures are compared on the frames that they were all timed on, by the median of what a frame
takes; one whose time was up early is compared on the frames that it has. The verdict is clear when
the difference is at least a tenth and the faster one was faster in at least three quarters of the
frames; noise of a shared machine does not do both. Reasons are figures that were measured or
counted in this comparison, nothing else.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

from spatialindex.comparison.results import Row, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Ranked", "decide", "is_whole", "milliseconds", "ranked"]

_CLEAR_RATIO = 1.1
_CLEAR_SHARE = 0.75
_WHOLE = 0.75  # share of the frames of the others that makes somebody one of them
_TELLING_FRAMES = 5  # of one that was cut short, from which on being ahead in them says something
_TELLING = 1.2  # a figure is a reason when it differs by this factor
_SHARE = 0.1  # and a time when the difference is this share of what a frame takes

_JOB_WORDS = {
    "build": "building",
    "update": "updating",
    "pairs": "pairs",
    "query": "queries",
    "nearest": "nearest",
    "raycast": "rays",
}


def decide(
    rows: Sequence[Row], frame_jobs: tuple[str, ...], series: Mapping[str, Mapping[int, float]]
) -> Verdict:
    """Rank the rows that were timed.

    Parameters
    ----------
    rows : sequence of Row
        All rows; those whose status is not ``"ok"`` are not ranked.
    frame_jobs : tuple of str
        The jobs that make up a frame.
    series : mapping
        Seconds a frame, by label and frame.
    """
    ranking = ranked(rows, series)
    what = "+".join(frame_jobs)
    if not ranking:
        return Verdict(None, None, None, 0, 0, False, (), (), "no structure was timed")
    best = ranking[0].row
    assert best.frame is not None
    took = f"{milliseconds(best.frame.median)} ms median ({what})"
    if len(ranking) == 1:
        words = f"fastest per frame: {best.label}, {took}; there is no other to compare it with"
        return Verdict(best.label, None, None, 0, best.frame.samples, False, (), (), words)
    against, ratio = ranking[1].row, ranking[1].ratio
    mine, others = series[best.label], series[against.label]
    common = sorted(set(mine) & set(others))
    won = sum(mine[t] < others[t] for t in common)
    took = f"{milliseconds(_median(mine, common))} ms median ({what})"
    is_clear = ratio >= _CLEAR_RATIO and won >= _CLEAR_SHARE * len(common)
    ahead = [
        entry
        for entry in ranking
        if entry.ratio * _CLEAR_RATIO <= 1.0 and len(series[entry.row.label]) >= _TELLING_FRAMES
    ]
    reasons, contrary = _reasons(best, against, frame_jobs, is_whole=not ranking[1].is_short)
    faster = f"faster in {won:,} of {len(common):,} {'frames' if len(common) != 1 else 'frame'}"
    if is_clear and not ahead:
        words = f"fastest per frame: {best.label}, {took}, {ratio:.3g}x ahead of {against.label}"
        words += f" ({faster})"
        if reasons:
            words += f"; because: {'; '.join(reasons)}"
        if contrary:
            words += f"; although: {'; '.join(contrary)}"
    elif ahead:
        words = f"no clear winner: {best.label}, {took}, but "
        words += " and ".join(_cut_short(entry, series) for entry in ahead)
        words += "; a larger budget tells"
    else:
        other = milliseconds(_median(others, common))
        words = (
            f"no clear winner: {best.label}, {took}, and {against.label}, {other} ms, "
            f"are too close to say ({best.label} {ratio:.2f}x as fast, {faster})"
        )
    is_clear = is_clear and not ahead
    return Verdict(
        best.label, against.label, ratio, won, len(common), is_clear, reasons, contrary, words
    )


class Ranked(NamedTuple):
    """A row with its place."""

    row: Row
    ratio: float
    """What a frame takes over that of the first, median over the frames of both."""
    is_short: bool
    """Whether the budget ended before it had been timed in most of the frames."""


def ranked(rows: Sequence[Row], series: Mapping[str, Mapping[int, float]]) -> list[Ranked]:
    """Rank the rows that were timed, the fastest first, on frames that they were all timed on.

    Those that were timed in far fewer frames than others, their budget being used up, come last,
    compared with the first on the frames that they have: these may be the easy ones.
    """
    timed = [row for row in rows if row.status == "ok" and row.frame is not None]
    if not timed:
        return []
    most = max(len(series[row.label]) for row in timed)
    whole = [row for row in timed if is_whole(len(series[row.label]), most)]
    common = set.intersection(*(set(series[row.label]) for row in whole))
    medians = {row.label: _median(series[row.label], common) for row in whole}
    whole.sort(key=lambda row: medians[row.label])
    first = whole[0]
    entries = [
        Ranked(row, medians[row.label] / max(medians[first.label], 1e-12), False) for row in whole
    ]
    for row in timed:
        if row not in whole:
            both = set(series[row.label]) & common
            least = max(_median(series[first.label], both), 1e-12)
            entries.append(Ranked(row, _median(series[row.label], both) / least, True))
    return sorted(entries, key=lambda entry: (entry.is_short, entry.ratio))


def is_whole(count: int, most: int) -> bool:
    """Tell if somebody was measured in about as many frames as the others were."""
    return count >= _WHOLE * most


def _median(seconds: Mapping[int, float], frames: Iterable[int]) -> float:
    return statistics.median(seconds[t] for t in frames)


def _cut_short(entry: Ranked, series: Mapping[str, Mapping[int, float]]) -> str:
    """Say of one that was timed in few frames that it was ahead in them."""
    count = len(series[entry.row.label])
    ahead = 1.0 / max(entry.ratio, 1e-12)
    timed = f"{entry.row.label}, timed in {count:,} frame{'s' * (count != 1)} only"
    return f"{timed}, is {ahead:.2f}x ahead there"


def _reasons(
    best: Row, against: Row, frame_jobs: tuple[str, ...], *, is_whole: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name what differs: in favour of the best, and against it; the largest gap first.

    Figures of other frames are no reasons: times where one was cut short, counts where one was
    counted in fewer.
    """
    favour: list[str] = []
    contrary: list[str] = []
    gaps = []
    frame = best.frame.median if best.frame else 0.0
    for job in frame_jobs if is_whole else ():
        mine, other = best.timing(job), against.timing(job)
        if mine is None or other is None or not _differ(mine.median, other.median):
            continue
        gap = other.median - mine.median
        if abs(gap) >= _SHARE * frame:
            figures = f"{milliseconds(mine.median)} ms against {milliseconds(other.median)} ms"
            gaps.append((gap, f"{_JOB_WORDS[job]} {figures}"))
    for gap, words in sorted(gaps, key=lambda item: -abs(item[0])):
        (favour if gap > 0.0 else contrary).append(words)
    is_counted_alike = _count(best, "frames") == _count(against, "frames")
    for name, words in (
        ("candidates", "candidates a frame"),
        ("entries", "entries"),
        ("nbytes", "bytes"),
    ):
        if not is_counted_alike:
            break
        mine_count, other_count = _count(best, name), _count(against, name)
        if mine_count is not None and other_count is not None and _differ(mine_count, other_count):
            figures = f"{mine_count:,} {words} against {other_count:,}"
            (favour if mine_count < other_count else contrary).append(figures)
    return tuple(favour), tuple(contrary)


def _count(row: Row, name: str) -> int | None:
    count: int | None = None if row.work is None else getattr(row.work, name)
    return count


def _differ(a: float, b: float) -> bool:
    low, high = min(a, b), max(a, b)
    return high > _TELLING * low


def milliseconds(seconds: float) -> str:
    """Write seconds as milliseconds with three figures, as tables and verdicts do.

    >>> milliseconds(0.00041234), milliseconds(0.0), milliseconds(12.3456)
    ('0.412', '0.000', '12,346')
    """
    value = seconds * 1e3
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    if value >= 1:
        return f"{value:.2f}"
    return f"{value:.3f}"
