"""``spatialindex advise``: which structure for a scene, with measured reasons."""

from __future__ import annotations

from typing import Any

import click

from spatialindex.cli.group import DIFFERS
from spatialindex.cli.show import interruptible, print_json, print_rich, progress_bar

__all__ = ["advise"]


@click.command(short_help="Say which structure to take for a scene.")
@click.argument("scene", metavar="SCENE")
@click.option(
    "--jobs",
    metavar="A,B",
    help="What you do in a frame, of build, update, pairs, query, nearest and raycast; the first "
    "four when left out.",
)
@click.option(
    "--among",
    type=click.Choice(["active", "dynamic", "all"]),
    help="Which pairs are timed; active when left out, all where nothing is ever active.",
)
@click.option(
    "--frames", type=click.IntRange(min=1), metavar="N", help="Look at the first N frames only."
)
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="N",
    help="Range queries asked in every frame, as one batch; as many points and rays.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the queries."
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for the structures' own calls; what it cuts short is said.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout; times in seconds.")
def advise(scene: str, jobs: str | None, as_json: bool, **options: Any) -> int:
    """Say which structure to take for a scene, and why: measured in three rounds.

    SCENE is a path (.npz, .aabbs) or a specification such as sleepers:n=10000,frames=20. Name with
    --jobs what you do in a frame. Every answer is checked; when a structure differs, the exit code
    is 1.
    """
    from spatialindex.comparison.advice import advise as run
    from spatialindex.comparison.results import DEFAULT_JOBS
    from spatialindex.scenes.generators import open_scene

    recording = open_scene(scene)
    asked = DEFAULT_JOBS if jobs is None else [job.strip() for job in jobs.split(",")]
    with progress_bar(recording.name or scene) as bar, interruptible(bar) as progress:
        advice = run(recording, asked, progress=progress, **options)
    if as_json:
        print_json(advice.as_dict())
    else:
        print_rich(advice.table())
    is_right = all(choice.status not in ("differs", "failed") for choice in advice.choices)
    return 0 if is_right else DIFFERS
