"""The commands together."""

from __future__ import annotations

import click

import spatialindex
from spatialindex.cli.advise import advise
from spatialindex.cli.compare import compare
from spatialindex.cli.generate import generate
from spatialindex.cli.group import OneLineGroup
from spatialindex.cli.info import info
from spatialindex.cli.play import play
from spatialindex.cli.tune import tune
from spatialindex.cli.warmup import warmup

__all__ = ["command"]


@click.group("spatialindex", cls=OneLineGroup, invoke_without_command=True)
@click.version_option(spatialindex.__version__, message="%(prog)s %(version)s")
@click.pass_context
def command(context: click.Context) -> None:
    """Spatial indexes for axis-aligned boxes, side by side on your own scene.

    A SCENE is the path of a recording (.npz, .aabbs) or a generator's specification such as
    uniform:n=10000,ndim=3.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (compare, advise, tune, info, play, generate, warmup):
    command.add_command(_command)
