"""``spatialindex generate``: write a generated scene to a file."""

from __future__ import annotations

from pathlib import Path

import click

from spatialindex.cli.show import progress_bar
from spatialindex.errors import InvalidArgumentError

__all__ = ["generate"]


class _WithKinds(click.Command):
    """A command whose help ends with the kinds of scenes, looked up only when it is shown."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from spatialindex.scenes.generators import kinds

        with formatter.section("Kinds, and what each understands beside n, ndim, frames and seed"):
            formatter.write_dl(
                [
                    (
                        kind.name,
                        f"{kind.summary} ({', '.join(option.name for option in kind.options)})",
                    )
                    for kind in kinds()
                ]
            )


@click.command(cls=_WithKinds, short_help="Write a generated scene to a file.")
@click.argument("specification", metavar="SPEC")
@click.argument("out", metavar="OUT.npz", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def generate(specification: str, out: Path, force: bool) -> None:
    """Generate a scene from a specification and save it as a recording.

    SPEC is a kind and its options, as in brownian:n=1000,ndim=3,frames=60,seed=7. The same
    specification gives the same recording, bit for bit.
    """
    from spatialindex.scenes.generators import parse_specification
    from spatialindex.writing import check_target

    if out.exists() and not force:
        raise InvalidArgumentError(f"{out} is there already; pass --force to replace it")
    check_target(out)
    with progress_bar(specification) as progress:
        if progress is not None:
            progress("making", 0, 2)
        recording = parse_specification(specification)
        if progress is not None:
            progress("writing", 1, 2)
        recording.save(out)
    click.echo(f"{out}: {recording!r}, {out.stat().st_size / 1024:,.0f} KiB")
