"""Files that appear complete or not at all: written beside their place, then put there at once."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from spatialindex.errors import InvalidArgumentError, SpatialIndexError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_target", "replaced"]


def check_target(
    path: str | os.PathLike[str], refusal: type[SpatialIndexError] = InvalidArgumentError
) -> None:
    """Refuse a file that could not be written, before anything long begins.

    Raises
    ------
    SpatialIndexError
        A `refusal`, for a folder that is not there or takes no files, and for a path that is a
        folder, a device or a pipe.
    """
    if not os.fspath(path):
        raise refusal("the name of the file to write is empty; name one")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise refusal(f"{path}: is a folder; name a file in it")
    try:
        _refuse_special(path)
        if not target.parent.is_dir():
            raise refusal(
                f"{path}: cannot be written: there is no folder {target.parent}; make it first"
            )
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise _unwritable(path, refusal, error) from error


def _refuse_special(path: str | os.PathLike[str]) -> None:
    """Refuse what is there and no file: putting a file in the place of a device destroys it."""
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError("it is a device or a pipe; name a file")


def _unwritable(
    path: str | os.PathLike[str], refusal: type[SpatialIndexError], error: OSError
) -> SpatialIndexError:
    return refusal(f"{path}: cannot be written: {error.strerror or error}")


@contextmanager
def replaced(
    path: str | os.PathLike[str], refusal: type[SpatialIndexError] = InvalidArgumentError
) -> Iterator[Path]:
    """Yield a file to write; it takes its place when the block ends well, and else is removed.

    A link stays a link: what it points to is replaced.

    Raises
    ------
    SpatialIndexError
        A `refusal`, when the file cannot be written, or is a device or a pipe.
    """
    target = Path(os.path.realpath(path))
    # beside its place: replacing is atomic only within one file system
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        _refuse_special(path)
        try:
            yield draft
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, refusal, error) from error
