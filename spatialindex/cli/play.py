"""``spatialindex play``: a scene through a split index, with its statistics as it goes."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from spatialindex.cli.show import opened, print_json_line, stdout_console
from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spatialindex.comparison.playing import Album, PlayedFrame
    from spatialindex.scenes.recording import Recording

__all__ = ["play"]

_REFRESH = 1 / 30  # seconds between two drawings of the panel, at least
_FPS = 30.0  # of a scene that does not say how far apart its frames are

_LONGEST_WAIT = 3600.0  # seconds; a mistake beyond that, and clocks end somewhere

_PART = "NAME[:KEY=VALUE,...]"


@click.command(short_help="Play a scene through a split index.")
@click.argument("scene", metavar="SCENE")
@click.option(
    "--static", default="bvh", show_default=True, help="Static and sleeping part.", metavar=_PART
)
@click.option(
    "--dynamic",
    "--moving",
    "dynamic",
    default="hash-grid",
    show_default=True,
    help="Part of the others.",
    metavar=_PART,
)
@click.option(
    "--coarse",
    default="hierarchical-grid",
    show_default=True,
    help="Oversized part.",
    metavar=_PART,
)
@click.option(
    "--frames", type=click.IntRange(min=1), metavar="N", help="Play the first N frames only."
)
@click.option(
    "--fps",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Frames a second; in a terminal the pace of the recording when left out, or 30, "
    "elsewhere as fast as can be.",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="X",
    help="Times the pace of the recording, in place of --fps.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one line of JSON a frame to stdout.")
def play(
    scene: str,
    static: str,
    dynamic: str,
    coarse: str,
    frames: int | None,
    fps: float | None,
    speed: float | None,
    as_json: bool,
) -> None:
    """Play a scene through a split index, with a panel of its statistics.

    SCENE is a path (.npz, .aabbs) or a specification such as explosion:n=1000,frames=100. Where
    there is no terminal, each frame is a line. Ctrl-C ends it and sums up.
    """
    from spatialindex.cli.choices import structure_of
    from spatialindex.comparison.panel import summary
    from spatialindex.comparison.playing import Album
    from spatialindex.comparison.warm import warm_up_steps
    from spatialindex.split.index import SplitIndex

    if fps is not None and speed is not None:
        raise InvalidArgumentError("--fps and --speed both say how fast; give one of them")
    given = {"static": static, "dynamic": dynamic, "coarse": coarse}
    parts = {role: structure_of(f"--{role}", words) for role, words in given.items()}
    recording = opened(scene)
    is_live = not as_json and stdout_console().is_interactive
    wait = _seconds_a_frame(recording, fps, speed, is_paced=is_live)
    total = min(frames or recording.frames, recording.frames)
    world = SplitIndex(recording.ndim, **parts)
    name = recording.name or scene
    album = Album()
    try:
        screen: Any = (
            _Live(name, total) if is_live else nullcontext(_Json() if as_json else _Lines())
        )
        with screen as shown:
            warm_up_steps(lambda: SplitIndex(recording.ndim, **parts))
            for played in _paced(recording, world, total, wait):
                album.add(played)
                shown.show(played, album)
    except KeyboardInterrupt:
        click.echo(summary(album, name, total), err=as_json)
        raise
    if not as_json:
        click.echo(summary(album, name, total))


def _paced(recording: Recording, world: Any, total: int, wait: float) -> Iterator[PlayedFrame]:
    """Play frames, none before its time; frames that are late are not left out."""
    from spatialindex.comparison.playing import play as run

    due = time.monotonic()
    for played in run(recording, world, total):
        now = time.monotonic()
        if now < due:
            time.sleep(due - now)
        due = max(due, now - wait) + wait  # late by more than a frame: it is not made up for
        yield played


def _seconds_a_frame(
    recording: Recording, fps: float | None, speed: float | None, *, is_paced: bool
) -> float:
    """Return how far apart frames are shown."""
    if fps is not None:
        wait, asked = 1.0 / fps, f"--fps {fps:g}"
    elif speed is None and not is_paced:
        return 0.0
    else:
        wait, asked = (recording.dt or 1.0 / _FPS) / (speed or 1.0), f"--speed {speed or 1:g}"
    if not wait <= _LONGEST_WAIT:  # nan among them
        raise InvalidArgumentError(
            f"{asked}: frames would be {wait:.4g} s apart; pass a pace of at most "
            f"{_LONGEST_WAIT:,.0f} s a frame"
        )
    return wait


class _Json:
    """Writes a frame as a line of JSON."""

    def show(self, played: PlayedFrame, album: Album) -> None:
        print_json_line({"format": 1, **played.as_dict()})


class _Lines:
    """Writes a frame as a line, and its warnings below."""

    def show(self, played: PlayedFrame, album: Album) -> None:
        from spatialindex.comparison.panel import line_of

        click.echo("\n".join([line_of(played), *(f"warning: {said}" for said in played.warnings)]))


class _Live:
    """Draws the panel in place; a context that leaves the terminal as it was."""

    def __init__(self, name: str, total: int) -> None:
        from rich.live import Live
        from rich.text import Text

        self._name, self._total = name, total
        self._console = stdout_console()
        self._drawn = 0.0
        self._live = Live(
            Text("compiling, or loading what is compiled ..."),
            console=self._console,
            auto_refresh=False,
            transient=True,
        )

    def __enter__(self) -> _Live:
        self._live.__enter__()
        self._live.refresh()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._live.__exit__(*raised)

    def show(self, played: PlayedFrame, album: Album) -> None:
        """Draw a frame, unless the last drawing is too new."""
        from spatialindex.comparison.panel import draw_frame

        now = time.monotonic()
        if now - self._drawn >= _REFRESH or played.frame == self._total - 1 or played.warnings:
            self._drawn = now
            panel = draw_frame(album, self._name, self._total, self._console.width)
            self._live.update(panel, refresh=True)
