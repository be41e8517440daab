"""``spatialindex advise``: which structure for a scene, with measured reasons."""

from __future__ import annotations

from typing import Any

import click

from spatialindex.cli.group import DIFFERS
from spatialindex.cli.options import job_names, jobs_option, json_option, measuring
from spatialindex.cli.show import interruptible, opened, print_json, print_rich, progress_bar

__all__ = ["advise"]


@click.command(short_help="Say which structure to take for a scene.")
@click.argument("scene", metavar="SCENE")
@jobs_option("What you do in a frame")
@measuring(frames="Look at", budget=30.0, budget_words="Time for the structures' own calls")
@json_option
def advise(scene: str, jobs: str | None, as_json: bool, **options: Any) -> int:
    """Say which structure to take for a scene, and why: measured in three rounds.

    SCENE is a path (.npz, .aabbs) or a specification such as sleepers:n=10000,frames=20. Name with
    --jobs what you do in a frame. Every answer is checked; when a structure differs, the exit code
    is 1.
    """
    from spatialindex.comparison.advice import advise as run

    recording = opened(scene)
    asked = job_names(jobs)
    with progress_bar(recording.name or scene) as bar, interruptible(bar) as progress:
        advice = run(recording, asked, progress=progress, **options)
    if as_json:
        print_json(advice.as_dict())
    else:
        print_rich(advice.table())
    is_right = all(choice.status not in ("differs", "failed") for choice in advice.choices)
    return 0 if is_right else DIFFERS
