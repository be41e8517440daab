"""``spatialindex tune``: figures against a declared parameter of a structure."""

from __future__ import annotations

from typing import Any

import click

from spatialindex.cli.show import interruptible, print_json, print_rich, progress_bar

__all__ = ["tune"]


@click.command(short_help="Find the best value of a structure's parameter.")
@click.argument("scene", metavar="SCENE")
@click.option("--structure", default="hash-grid", show_default=True, help="Structure to tune.")
@click.option(
    "--parameter",
    metavar="NAME",
    help="Parameter to vary, of those that the structure declares; the first when left out.",
)
@click.option(
    "--jobs",
    metavar="A,B",
    help="What a frame is made of, of build, update, pairs, query, nearest and raycast; the first "
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
    help="Time after which nothing further is begun; what it cuts short is said.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also draw the curve, into a .png, .svg or .pdf file.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout; times in seconds.")
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
    from spatialindex.comparison.results import DEFAULT_JOBS
    from spatialindex.comparison.tuning import tune as run
    from spatialindex.scenes.generators import open_scene

    if plot is not None:
        check_plot(plot)
    recording = open_scene(scene)
    asked = DEFAULT_JOBS if jobs is None else [job.strip() for job in jobs.split(",")]
    with progress_bar(recording.name or scene) as bar, interruptible(bar) as progress:
        curve = run(recording, structure, parameter, asked, progress=progress, **options)
    if plot is not None:
        curve.plot(plot)
    if as_json:
        print_json(curve.as_dict())
    else:
        print_rich(curve.table())
