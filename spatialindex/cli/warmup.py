"""``spatialindex warmup``: compile all kernels ahead of time."""

from __future__ import annotations

from functools import partial

import click

from spatialindex.cli.show import print_json, print_rich, progress_bar

__all__ = ["warmup"]


@click.command(short_help="Compile all kernels ahead of time.")
@click.option("--structures", metavar="A,B", help="Structures to compile; all when left out.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout.")
def warmup(structures: str | None, as_json: bool) -> None:
    """Compile every structure, in 2D and 3D, and keep the result for later processes.

    Kernels that structures share count for the first of them; what an earlier run has compiled is
    only loaded.
    """
    from spatialindex import registry
    from spatialindex.cli.choices import structure_names
    from spatialindex.comparison.warm import warm_up

    names = structure_names(structures)
    jobs = [(name, ndim) for name in names for ndim in registry.find(name).ndims]
    seconds: dict[str, dict[int, float]] = {name: {} for name in names}
    with progress_bar("warmup") as progress:
        for done, (name, ndim) in enumerate(jobs, 1):
            seconds[name][ndim] = warm_up(partial(registry.create, name, ndim))
            if progress is not None:
                progress(f"compiled {name} {ndim}D", done, len(jobs))
    if as_json:
        rows = [
            {"structure": name, "seconds": {f"{ndim}D": s for ndim, s in took.items()}}
            for name, took in seconds.items()
        ]
        print_json({"format": 1, "structures": rows})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("structure")
    for head in ("2D\ns", "3D\ns", "both\ns"):
        table.add_column(head, justify="right")
    for name, took in seconds.items():
        figures = [f"{took[ndim]:.2f}" if ndim in took else "-" for ndim in (2, 3)]
        table.add_row(name, *figures, f"{sum(took.values()):.2f}")
    total = sum(sum(took.values()) for took in seconds.values())
    print_rich(table, f"compiled or loaded in {total:.2f} s")
