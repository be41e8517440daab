"""Where output goes: tables and JSON to stdout, a progress bar to a terminal's stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console, RenderableType
    from rich.progress import TaskID

    from spatialindex.scenes.recording import Recording

__all__ = [
    "interruptible",
    "opened",
    "print_json",
    "print_json_line",
    "print_rich",
    "progress_bar",
    "stdout_console",
]

_PIPED_WIDTH = 160  # where there is no terminal whose width could be asked
_LEAST_WIDTH = 40  # which every table but that of `tune` can be drawn in
_REFRESH = 0.1  # seconds between two drawings of the bar


def print_json(value: Any) -> None:
    """Write JSON to stdout, and nothing else.

    JSON has no infinity: a number beyond the range of floats, such as an edge of a box from
    -1e308 to 1e308, is written as null.
    """
    from spatialindex.comparison.results import finite

    click.echo(json.dumps(finite(value), indent=2, allow_nan=False))


def print_json_line(value: Any) -> None:
    """Write JSON to stdout in one line, at once, for a reader that follows."""
    from spatialindex.comparison.results import finite

    click.echo(json.dumps(finite(value), allow_nan=False))  # which flushes


def stdout_console(least: int = _LEAST_WIDTH) -> Console:
    """Return a console as wide as the terminal, and wide where output goes elsewhere.

    It has `least` columns in any case: a terminal breaks lines that are longer than it, but what is
    cut off a table is lost. Some terminals say that they have no columns at all.
    """
    from rich.console import Console

    is_wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    console = Console(file=sys.stdout, highlight=False, width=_PIPED_WIDTH if is_wide else None)
    console.width = max(console.width, least)
    return console


def print_rich(*parts: RenderableType, least: int = _LEAST_WIDTH) -> None:
    """Draw on stdout, `least` columns wide at least."""
    console = stdout_console(least)
    for part in parts:
        console.print(part)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar on stderr while something long runs; yields what to call as it goes on.

    Without a terminal it yields None. The bar is drawn only when it is told something, never from
    a thread of its own, which would take time from what is measured.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from spatialindex.comparison.tables import printable

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    bar = Progress(
        TextColumn(printable(title), markup=False),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        auto_refresh=False,
    )
    tasks: dict[str, TaskID] = {}
    drawn = 0.0

    def tell(what: str, done: int, total: int) -> None:
        nonlocal drawn
        if what not in tasks:
            for task in tasks.values():
                bar.update(task, visible=False)
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)
        now = time.monotonic()
        if now - drawn >= _REFRESH or done == total:
            drawn = now
            bar.refresh()

    with bar:
        yield tell


def opened(scene: str) -> Recording:
    """Return the recording that a path or a specification names; a large one takes seconds."""
    from spatialindex.scenes.generators import open_scene

    with progress_bar(scene) as progress:
        if progress is not None:
            progress("opening", 0, 1)
        return open_scene(scene)


@contextmanager
def interruptible(
    progress: Callable[[str, int, int], None] | None, finished: Callable[[], str] = lambda: ""
) -> Iterator[Callable[[str, int, int], None]]:
    """Say on Ctrl-C how far a long work has come; yields what to call as it goes on.

    Parameters
    ----------
    progress : callable or None
        What is told, too.
    finished : callable
        Returns what is complete and stays so, in words.
    """
    at: list[str] = []

    def tell(what: str, done: int, total: int) -> None:
        at[:] = [f"{what}, {done:,} of {total:,} done"]
        if progress is not None:
            progress(what, done, total)

    try:
        yield tell
    except KeyboardInterrupt:
        words = "; ".join(filter(None, (*at, finished())))
        raise KeyboardInterrupt(words) from None
