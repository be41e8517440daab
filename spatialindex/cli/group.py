"""How the command fails: one line on stderr and an exit code, never a traceback for bad input."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from spatialindex.errors import SpatialIndexError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BAD_INPUT", "DIFFERS", "INTERRUPTED", "OneLineGroup"]

DIFFERS = 1
"""A structure gave other answers than the oracle, or failed."""

BAD_INPUT = 2
"""What was asked for cannot be meant."""

INTERRUPTED = 130
"""Ctrl-C, as shells report it."""

_BROKEN_PIPE = 141  # as shells report a reader that went away


class _Interrupted(BaseException):
    """Ctrl-C, on its way past click."""


class _ReaderGone(BaseException):
    """A closed pipe, on its way past click, which would end with 1: that means "differs" here."""


class OneLineGroup(click.Group):
    """A group of commands that says what is wrong in one line."""

    def main(self, args: Any = None, *_: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run, and leave the process with the exit code, as click's own does."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        sys.exit(self.run(args, **extra))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C is ours to tell of, click would add an empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted(str(error)) from error
        except BrokenPipeError as error:
            raise _ReaderGone from error

    def run(self, args: Sequence[str] | None = None, **extra: Any) -> int:
        """Run and return the exit code."""
        extra.setdefault("prog_name", "spatialindex")
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a name that a narrow encoding cannot write
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args, standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.ClickException as error:
            return _say(_with_help(error), BAD_INPUT)
        except SpatialIndexError as error:
            return _say(str(error), BAD_INPUT)
        except MemoryError:
            return _say("not enough memory for that; ask for fewer objects or frames", BAD_INPUT)
        except (_Interrupted, KeyboardInterrupt, click.Abort) as error:
            if sys.stderr.isatty():
                click.echo(err=True)  # the terminal has written ^C
            return _say(": ".join(filter(None, ("interrupted", str(error)))), INTERRUPTED)
        except (_ReaderGone, BrokenPipeError):
            # the interpreter flushes once more when it ends, and would complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _BROKEN_PIPE
        return code if isinstance(code, int) else 0


def _with_help(error: click.ClickException) -> str:
    """Return the message of a usage error, with where to read on."""
    words = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{words.rstrip('.')}; see {error.ctx.command_path} --help"
    return words


def _say(words: str, code: int) -> int:
    """Write one line to stderr, whatever lines the message has."""
    line = " ".join(words.split())
    click.echo(f"spatialindex: {line}", err=True)
    return code
