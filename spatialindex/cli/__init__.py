"""The command ``spatialindex``: parse, call, print.

One file a command beside this one. The command line is made with click and rich, which come with
the extra ``compare``; without them there is one line that says so. Exit codes: 0 all is well, 1 a
structure gave other answers than the oracle, 2 the input cannot be meant, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_WANTED = ("click", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; None takes it from the process.
    """
    try:
        import click  # noqa: F401
        import rich  # noqa: F401

        from spatialindex.cli.commands import command
    except KeyboardInterrupt:  # from here on the command itself says so
        print("spatialindex: interrupted", file=sys.stderr)
        return 130
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in _WANTED:
            raise
        print(
            f"spatialindex: the command line needs {error.name}, which is not installed; "
            'pip install "spatialindex[compare]"',
            file=sys.stderr,
        )
        return 2
    return command.run(arguments)
