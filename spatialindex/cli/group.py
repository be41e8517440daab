"""How the command fails: one line on stderr and an exit code, never a traceback for bad input."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from spatialindex.errors import SpatialIndexError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    """A closed pipe, on its way past click and rich: they end with 1, which is "differs" here."""


class _OutputFailed(BaseException):
    """Output that a full disk or the like does not take, on its way past who would handle files."""


class _Output:
    """Standard output whose failures can be told from those of files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _told():
            return self._stream.write(text)

    def flush(self) -> None:
        with _told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGone from error
    except OSError as error:
        raise _OutputFailed(error.strerror or str(error)) from error


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

    def run(self, args: Sequence[str] | None = None, **extra: Any) -> int:
        """Run and return the exit code."""
        extra.setdefault("prog_name", "spatialindex")
        # None where who started us has closed it: then files are what matters, or the exit code
        output = sys.stdout or io.StringIO()
        for stream in (output, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a name that a narrow encoding cannot write
                stream.reconfigure(errors="backslashreplace")
        try:
            with redirect_stdout(cast("TextIO", _Output(output))):
                code = super().main(args, standalone_mode=False, **extra)
                sys.stdout.flush()
        except _ReaderGone:
            _discard(output)
            return _BROKEN_PIPE
        except _OutputFailed as error:
            _discard(output)
            return _say(f"standard output cannot be written: {error}", BAD_INPUT)
        except click.ClickException as error:
            return _say(_with_help(error), BAD_INPUT)
        except SpatialIndexError as error:
            return _say(str(error), BAD_INPUT)
        except MemoryError:
            return _say(
                "not enough memory for that; ask for fewer objects, frames or queries", BAD_INPUT
            )
        except (_Interrupted, KeyboardInterrupt, click.Abort) as error:
            if sys.stderr.isatty():
                click.echo(err=True)  # the terminal has written ^C
            return _say(": ".join(filter(None, ("interrupted", str(error)))), INTERRUPTED)
        return code if isinstance(code, int) else 0


def _with_help(error: click.ClickException) -> str:
    """Return the message of a usage error, with where to read on."""
    words = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{words.rstrip('.')}; see {error.ctx.command_path} --help"
    return words


def _discard(stream: TextIO) -> None:
    """Let go of what cannot be written: the interpreter would try again when it ends, and fail."""
    with suppress(OSError, ValueError):  # what is no file of the system is not tried again
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(words: str, code: int) -> int:
    """Write one line to stderr, whatever lines the message has; return the code in any case."""
    line = " ".join(words.split())
    try:
        click.echo(f"spatialindex: {line}", err=True)
    except OSError:
        _discard(sys.stderr)
    return code
