"""A scene that is being played, drawn for a terminal: the live panel, plain lines, the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from spatialindex.comparison.tables import printable
from spatialindex.comparison.verdict import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from spatialindex.comparison.playing import Album, PlayedFrame

__all__ = ["draw_frame", "line_of", "summary"]

_WIDEST = 76  # columns of the panel


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _tenths(value: float) -> str:
    return f"{value:,.1f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


_ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("static", "static", _whole),
    ("moving", "moving", _whole),
    ("resting", "resting", _whole),
    ("asleep", "asleep", _whole),
    ("coarse", "oversized", _whole),
    ("entries", "entries", _whole),
    ("mean_bucket", "mean bucket", _tenths),
    ("max_bucket", "largest bucket", _whole),
    ("candidates", "candidates", _whole),
    ("pairs", "active pairs", _whole),
    ("masked_share", "masked", _percent),
    ("began", "began", _whole),
    ("ended", "ended", _whole),
    ("sensor_began", "sensor began", _whole),
    ("sensor_ended", "sensor ended", _whole),
    ("update_time", "update ms", milliseconds),
    ("pairs_time", "pairs ms", milliseconds),
    ("events_time", "events ms", milliseconds),
)
"""Rows of the panel: a figure, its name, how it is written."""

_WATCHED = ("max_bucket", "candidates")


def draw_frame(album: Album, name: str, frames: int, width: int) -> RenderableType:
    """Return the panel of the last frame in an album, 22 lines and a warning.

    Parameters
    ----------
    album : Album
        The frames so far, one at least.
    name : str
        Of the scene.
    frames : int
        How many will be played.
    width : int
        Columns of the terminal.
    """
    played = album.last
    assert played is not None
    table = Table(box=None, pad_edge=False, expand=True, padding=(0, 1, 0, 0))
    table.add_column(Text(f"{played.objects:,} objects", "bold"), no_wrap=True)
    for head in ("now", "mean", "most", "in frame"):
        table.add_column(head, justify="right", no_wrap=True)
    for figure, words, write in _ROWS:
        most, at = album.highest(figure)
        is_warned = figure in _WATCHED and any(_named(words, said) for said in played.warnings)
        cells = (write(getattr(played, figure)), write(album.mean(figure)), write(most), f"{at:,}")
        table.add_row(words, *cells, style="bold red" if is_warned else "")
    title = Text(f" {printable(name) or 'scene'}: frame {played.frame:,} of {frames:,} ", "bold")
    panel = Panel(table, title=title, width=min(width, _WIDEST), padding=(0, 1))
    if not album.warnings:
        return panel
    return Group(panel, Text(f"warning: {album.warnings[-1]}", "red", overflow="fold"))


def _named(words: str, warning: str) -> bool:
    """Tell if a warning is about a figure."""
    return f": {words} jumped" in warning


def line_of(played: PlayedFrame) -> str:
    """Return a frame as one line."""
    return (
        f"frame {played.frame:>4}: {played.objects:,} objects ({played.static:,} static, "
        f"{played.moving:,} moving, {played.resting:,} resting, {played.asleep:,} asleep, "
        f"{played.coarse:,} oversized), {played.entries:,} entries, "
        f"bucket {played.mean_bucket:.1f} mean {played.max_bucket:,} largest, "
        f"{played.candidates:,} candidates, {played.pairs:,} active pairs, "
        f"{_percent(played.masked_share)} masked, "
        f"+{played.began:,} -{played.ended:,}, "
        f"sensors +{played.sensor_began:,} -{played.sensor_ended:,}, "
        f"{milliseconds(played.update_time)} + {milliseconds(played.pairs_time)} + "
        f"{milliseconds(played.events_time)} ms"
    )


def summary(album: Album, name: str, frames: int) -> str:
    """Return what was played, in a few lines.

    Parameters
    ----------
    album : Album
        The frames that were played.
    name : str
        Of the scene.
    frames : int
        How many were to be played.
    """
    first = f"{printable(name) or 'scene'}: {album.frames:,} of {frames:,} frames played"
    if album.last is None:
        return first
    lines = [
        f"{first}, {album.last.objects:,} objects at last",
        f"a frame took {milliseconds(album.mean('time'))} ms in the mean: "
        f"update {milliseconds(album.mean('update_time'))}, "
        f"pairs {milliseconds(album.mean('pairs_time'))}, "
        f"events {milliseconds(album.mean('events_time'))}; "
        f"most in frame {album.highest('time')[1]}, {milliseconds(album.highest('time')[0])}",
        f"active pairs {_tenths(album.mean('pairs'))} in the mean; "
        f"{_whole(album.total('began'))} began, {_whole(album.total('ended'))} ended, "
        f"with sensors {_whole(album.total('sensor_began'))} and "
        f"{_whole(album.total('sensor_ended'))}",
    ]
    for figure, words in (("max_bucket", "largest bucket"), ("candidates", "most candidates")):
        most, at = album.highest(figure)
        lines.append(f"{words} {_whole(most)}, in frame {at}")
    if album.warnings:
        lines.append(f"{len(album.warnings)} warning{'s' * (len(album.warnings) != 1)}:")
        lines += [f"  {said}" for said in album.warnings]
    return "\n".join(lines)
