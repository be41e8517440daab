"""``spatialindex tune``: figures against a declared parameter of a structure."""

from __future__ import annotations

from typing import Any

import click

from spatialindex.cli.options import job_names, jobs_option, json_option, measuring
from spatialindex.cli.show import interruptible, opened, print_json, print_rich, progress_bar

__all__ = ["tune"]

_TABLE_WIDTH = 84  # of the figures and the bars beside them


@click.command(short_help="Find the best value of a structure's parameter.")
@click.argument("scene", metavar="SCENE")
@click.option("--structure", default="hash-grid", show_default=True, help="Structure to tune.")
@click.option(
    "--parameter",
    metavar="NAME",
    help="Parameter to vary, of those that the structure declares; the first when left out.",
)
@jobs_option("What a frame is made of")
@measuring(frames="Look at", budget=30.0, budget_words="Time after which nothing further is begun")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also draw the curve, into a .png, .svg or .pdf file.",
)
@json_option
def tune(
    scene: str,
    structure: str,
    parameter: str | None,
    jobs: str | None,
    plot: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure a structure against one of its parameters; find the best value.

    SCENE is a path (.npz, .aabbs) or a specification such as clustered:n=10000,frames=20. Time,
    candidates and entries are measured on a sample of the frames, every answer checked, in steps
    that close in on the least time.
    """
    from spatialindex.comparison.plotting import check_plot
    from spatialindex.comparison.tuning import tune as run

    if plot is not None:
        check_plot(plot)
    recording = opened(scene)
    asked = job_names(jobs)
    with progress_bar(recording.name or scene) as bar, interruptible(bar) as progress:
        curve = run(recording, structure, parameter, asked, progress=progress, **options)
    if plot is not None:
        curve.plot(plot)
    if as_json:
        print_json(curve.as_dict())
    else:
        print_rich(curve.table(), least=_TABLE_WIDTH)
