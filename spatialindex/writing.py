"""Files that appear complete or not at all: written beside their place, then put there at once."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spatialindex.errors import InvalidArgumentError, SpatialIndexError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_target", "replaced"]


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose folder is not there, before anything long begins.

    Raises
    ------
    InvalidArgumentError
        For a folder that is not there, and for a path that is a folder.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InvalidArgumentError(
            f"{path}: cannot be written: there is no folder {target.parent}; make it first"
        )
    if target.is_dir():
        raise InvalidArgumentError(f"{path}: is a folder; name a file in it")


@contextmanager
def replaced(
    path: str | os.PathLike[str], refusal: type[SpatialIndexError] = InvalidArgumentError
) -> Iterator[Path]:
    """Yield a file to write; it takes its place when the block ends well, and else is removed.

    A link stays a link: what it points to is replaced.

    Raises
    ------
    SpatialIndexError
        A `refusal`, when the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    # beside its place: replacing is atomic only within one file system
    draft = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            yield draft
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise refusal(f"{path}: cannot be written: {error.strerror or error}") from error
