"""Options that several commands have, each written once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["job_names", "jobs_option", "json_option", "measuring"]

_JOBS = "build, update, pairs, query, nearest and raycast; the first four when left out."


def jobs_option(words: str) -> Callable[[Any], Any]:
    """Return the option of jobs; `words` say what they are named for."""
    return click.option("--jobs", metavar="A,B", help=f"{words}, of {_JOBS}")


def job_names(text: str | None) -> Sequence[str]:
    """Return the names in ``a,b``; those that are taken by themselves when None."""
    from spatialindex.comparison.results import DEFAULT_JOBS

    if text is None:
        return DEFAULT_JOBS
    names = [word.strip() for word in text.split(",") if word.strip()]
    if not names:
        raise InvalidArgumentError(
            f"--jobs {text!r} names none; leave it out to take {', '.join(DEFAULT_JOBS)}"
        )
    return names


def measuring(*, frames: str, budget: float, budget_words: str) -> Callable[[Any], Any]:
    """Return the options of a measurement: which pairs, frames and queries, and for how long.

    `frames` is a verb, what is done with the first of them; `budget` is in seconds, and
    `budget_words` say what it is for.
    """
    options = (
        click.option(
            "--among",
            type=click.Choice(["active", "dynamic", "all"]),
            help="Which pairs are timed; active when left out, all where nothing is ever active.",
        ),
        click.option(
            "--frames",
            type=click.IntRange(min=1),
            metavar="N",
            help=f"{frames} the first N frames only.",
        ),
        click.option(
            "--queries",
            type=click.IntRange(min=1),
            default=64,
            show_default=True,
            metavar="N",
            help="Range queries asked in every frame, as one batch; as many points and rays.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of the queries.",
        ),
        click.option(
            "--budget",
            type=click.FloatRange(min=0, min_open=True),
            default=budget,
            show_default=True,
            metavar="SECONDS",
            help=f"{budget_words}; what it cuts short is said.",
        ),
    )

    def decorated(command: Any) -> Any:
        for option in reversed(options):  # help shows the last one applied first
            command = option(command)
        return command

    return decorated


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Write JSON to stdout; times in seconds."
)
