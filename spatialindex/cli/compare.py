"""``spatialindex compare``: structures side by side, checked and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spatialindex.cli.group import DIFFERS
from spatialindex.cli.options import job_names, jobs_option, json_option, measuring
from spatialindex.cli.show import (
    interruptible,
    opened,
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
@jobs_option("What to time")
@click.option(
    "--peers",
    metavar="A,B",
    default="",
    help="Other libraries that take part, of shapely, geoindex-rs, rtree and scipy, or all.",
)
@measuring(frames="Play", budget=60.0, budget_words="Time for the structures' own calls")
@click.option(
    "--html",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write a page with figures, curves and the scene to look at; for one SCENE.",
)
@click.option(
    "--curves/--no-curves",
    default=None,
    help="Also tune structures, in a third of the budget; done with --html when left out.",
)
@json_option
def compare(
    scenes: tuple[str, ...],
    structures: str | None,
    parameters: tuple[str, ...],
    jobs: str | None,
    peers: str,
    as_json: bool,
    html: str | None,
    curves: bool | None,
    **options: Any,
) -> int:
    """Compare structures on scenes: same answers, measured times.

    Each SCENE is a path (.npz, .aabbs) or a specification such as uniform:n=10000,ndim=3. Every
    answer is checked against plain NumPy before anything is timed; a structure that differs gets no
    times, and the exit code is 1.
    """
    from spatialindex.cli.choices import with_parameters
    from spatialindex.comparison.report.page import check_page
    from spatialindex.comparison.runner import compare as run

    if html is not None:
        check_page(html, scenes)
    recordings = [opened(scene) for scene in scenes]  # all, before anything long begins
    choices = [with_parameters(structures, parameters, rec.ndim) for rec in recordings]
    asked = job_names(jobs)
    others = [name.strip() for name in peers.split(",") if name.strip()]
    options["curves"] = html is not None if curves is None else curves
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
