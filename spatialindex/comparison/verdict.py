"""Who is fastest, and which measured figures say why.

Two structures are compared on the frames that both were timed on, by the median of what a frame
takes. The verdict is clear when the difference is at least a tenth and the faster one was faster in
at least three quarters of the frames; noise of a shared machine does not do both. Reasons are
figures that were measured or counted in this comparison, nothing else.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from spatialindex.comparison.results import Row, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["decide", "milliseconds"]

_CLEAR_RATIO = 1.1
_CLEAR_SHARE = 0.75
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
    ranked = sorted(
        (row for row in rows if row.status == "ok" and row.frame is not None),
        key=lambda row: row.frame.median if row.frame else 0.0,
    )
    what = "+".join(frame_jobs)
    if not ranked:
        return Verdict(None, None, None, 0, 0, False, (), (), "no structure was timed")
    best = ranked[0]
    assert best.frame is not None
    took = f"{milliseconds(best.frame.median)} ms median ({what})"
    if len(ranked) == 1:
        words = f"fastest per frame: {best.label}, {took}; there is no other to compare it with"
        return Verdict(best.label, None, None, 0, best.frame.samples, False, (), (), words)
    against = ranked[1]
    mine, others = series[best.label], series[against.label]
    common = sorted(set(mine) & set(others))
    ratio = statistics.median(others[t] for t in common) / max(
        statistics.median(mine[t] for t in common), 1e-9
    )
    won = sum(mine[t] < others[t] for t in common)
    is_clear = ratio >= _CLEAR_RATIO and won >= _CLEAR_SHARE * len(common)
    reasons, contrary = _reasons(best, against, frame_jobs)
    faster = f"faster in {won:,} of {len(common):,} {'frames' if len(common) != 1 else 'frame'}"
    if is_clear:
        words = f"fastest per frame: {best.label}, {took}, {ratio:.3g}x ahead of {against.label}"
        words += f" ({faster})"
        if reasons:
            words += f"; because: {'; '.join(reasons)}"
        if contrary:
            words += f"; although: {'; '.join(contrary)}"
    else:
        other = milliseconds(against.frame.median if against.frame else 0.0)
        words = (
            f"no clear winner: {best.label}, {took}, and {against.label}, {other} ms, "
            f"are too close to say ({best.label} {ratio:.3g}x as fast, {faster})"
        )
    return Verdict(
        best.label, against.label, ratio, won, len(common), is_clear, reasons, contrary, words
    )


def _reasons(
    best: Row, against: Row, frame_jobs: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name what differs: in favour of the best, and against it; the largest gap first."""
    favour: list[str] = []
    contrary: list[str] = []
    gaps = []
    frame = best.frame.median if best.frame else 0.0
    for job in frame_jobs:
        mine, other = best.timing(job), against.timing(job)
        if mine is None or other is None or not _differ(mine.median, other.median):
            continue
        gap = other.median - mine.median
        if abs(gap) >= _SHARE * frame:
            figures = f"{milliseconds(mine.median)} ms against {milliseconds(other.median)} ms"
            gaps.append((gap, f"{_JOB_WORDS[job]} {figures}"))
    for gap, words in sorted(gaps, key=lambda item: -abs(item[0])):
        (favour if gap > 0.0 else contrary).append(words)
    for name, words in (
        ("candidates", "candidates a frame"),
        ("entries", "entries"),
        ("nbytes", "bytes"),
    ):
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
