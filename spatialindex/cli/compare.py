"""``spatialindex compare``: structures side by side, checked and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spatialindex.cli.group import DIFFERS
from spatialindex.cli.show import (
    interruptible,
    print_json,
    print_rich,
    progress_bar,
    stdout_console,
)

if TYPE_CHECKING:
    from spatialindex.comparison.results import Comparison

__all__ = ["compare"]


@click.command(short_help="Compare structures on scenes.")
@click.argument("scenes", metavar="SCENE...", nargs=-1, required=True)
@click.option("--structures", metavar="A,B", help="Structures to compare; all when left out.")
@click.option(
    "--param",
    "parameters",
    metavar="NAME.KEY=VALUE",
    multiple=True,
    help="A parameter of a structure, as in hash-grid.cell_size=2; may be repeated.",
)
@click.option(
    "--jobs",
    metavar="A,B",
    help="What to time, of build, update, pairs, query, nearest and raycast; the first four when "
    "left out.",
)
@click.option(
    "--peers",
    metavar="A,B",
    default="",
    help="Other libraries that take part, of shapely, geoindex-rs, rtree and scipy, or all.",
)
@click.option(
    "--among",
    type=click.Choice(["active", "dynamic", "all"]),
    help="Which pairs are timed; active when left out, all where nothing is ever active.",
)
@click.option(
    "--frames", type=click.IntRange(min=1), metavar="N", help="Play the first N frames only."
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
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for the structures' own calls; what it cuts short is said.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write a page with figures and the scene to look at; for one SCENE.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout; times in seconds.")
def compare(
    scenes: tuple[str, ...],
    structures: str | None,
    parameters: tuple[str, ...],
    jobs: str | None,
    peers: str,
    as_json: bool,
    html: str | None,
    **options: Any,
) -> int:
    """Compare structures on scenes: same answers, measured times.

    Each SCENE is a path (.npz, .aabbs) or a specification such as uniform:n=10000,ndim=3. Every
    answer is checked against plain NumPy before anything is timed; a structure that differs gets no
    times, and the exit code is 1.
    """
    from spatialindex.cli.choices import with_parameters
    from spatialindex.comparison.report.page import check_page
    from spatialindex.comparison.results import DEFAULT_JOBS
    from spatialindex.comparison.runner import compare as run
    from spatialindex.scenes.generators import open_scene

    if html is not None:
        check_page(html, scenes)
    recordings = [open_scene(scene) for scene in scenes]  # all, before anything long begins
    choices = [with_parameters(structures, parameters, rec.ndim) for rec in recordings]
    asked = DEFAULT_JOBS if jobs is None else [job.strip() for job in jobs.split(",")]
    others = [name.strip() for name in peers.split(",") if name.strip()]
    results: list[Comparison] = []
    for scene, recording, choice in zip(scenes, recordings, choices, strict=True):
        with (
            progress_bar(recording.name or scene) as bar,
            interruptible(
                bar, lambda: f"{len(results)} of {len(scenes)} scenes finished"
            ) as progress,
        ):
            result = run(recording, choice, asked, peers=others, progress=progress, **options)
            if html is not None:
                result.write_html(html, recording, progress=progress)
        results.append(result)
        if not as_json:
            gap = [""] if len(results) > 1 else []
            print_rich(*gap, result.table(stdout_console().width))
    if as_json:
        print_json({"format": 1, "comparisons": [result.as_dict() for result in results]})
    return 0 if all(result.agrees for result in results) else DIFFERS
