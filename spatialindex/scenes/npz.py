"""Recordings in ``.npz`` files: a zip archive of one ``.npy`` array a field, and never a pickle.

Damage is found: the archive's directory is at the end of the file, so a truncated file has none,
and each field carries a checksum that is compared when its last byte is read. Damage to the
directory could hide a field that may be missing; so names and the number of fields are compared.
"""

from __future__ import annotations

import os
import struct
import zipfile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spatialindex.errors import RecordingError
from spatialindex.scenes.fields import FORMAT, OBJECT_FIELDS, TEXTS, check_file_field
from spatialindex.writing import replaced

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read", "write"]

_END_SEARCH: Final = 22 + 65535
"""Bytes from the end of a zip archive in which its end record is: with the longest comment."""

_NAMES: Final = ("boxes", "ids", *OBJECT_FIELDS, "dt", *TEXTS)


def read(path: Path) -> dict[str, Any]:
    """Return the fields of a file as keyword arguments of `Recording`.

    Arrays that are no field are passed over: other programs may keep their own beside ours.

    Raises
    ------
    RecordingError
        When the file is no archive, damaged, of a newer layout, without boxes, or when a field has
        another type; the message does not yet name the file.
    OSError
        When the file cannot be opened.
    """
    try:
        archive = zipfile.ZipFile(path)
    except OSError:
        raise
    except Exception as error:  # BadZipFile, and what else arbitrary bytes provoke in the parser
        raise RecordingError(
            f"not a complete .npz archive ({_line(error)}); it is truncated or no recording"
        ) from error
    with archive:
        entries = archive.namelist()
        members = {entry.removesuffix(".npy") for entry in entries if entry.endswith(".npy")}
        if len(set(entries)) < len(entries):
            raise RecordingError("damaged: a field is in the archive twice")
        if len(entries) != _promised_entries(path, len(entries)):
            raise RecordingError("damaged: the archive's directory does not list all of its fields")
        for entry in entries:
            if entry.removesuffix(".npy") not in _NAMES:
                _check_name(archive, entry)
        if "format" in members:
            _check_format(_member(archive, "format"))
        if "boxes" not in members:
            held = ", ".join(sorted(members)[:8]) or "no arrays"
            raise RecordingError(f"no recording: it has no `boxes` (it holds {held})")
        arrays = {name: _member(archive, name) for name in _NAMES if name in members}
    return {
        name: array.item() if name == "dt" or name in TEXTS else array
        for name, array in arrays.items()
    }


def write(path: Path, fields: dict[str, Any]) -> None:
    """Write fields to a file, complete or not at all.

    Raises
    ------
    RecordingError
        When the file cannot be written.
    """
    with replaced(path, RecordingError) as draft, open(draft, "xb") as file:
        np.savez_compressed(file, **fields)
        file.flush()
        os.fsync(file.fileno())


def _check_format(array: NDArray[Any]) -> None:
    version = int(array)
    if version < 1:
        raise RecordingError(f"format: {version} is no version of the layout; they start at 1")
    if version > FORMAT:
        raise RecordingError(
            f"format: {version} is newer than {FORMAT}, the newest that this release reads; "
            "install a newer spatialindex"
        )


def _promised_entries(path: Path, found: int) -> int:
    """Return how many entries the record at the end of the archive promises.

    `zipfile` does not compare: a damaged length in the directory would hide all fields behind it.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_SEARCH))
        tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or at + 12 > len(tail):
        return found  # another archiver's end record, which zipfile has understood
    (promised,) = struct.unpack_from("<H", tail, at + 10)
    return found if promised == 0xFFFF else int(promised)  # told elsewhere in very large archives


def _check_name(archive: zipfile.ZipFile, entry: str) -> None:
    """Refuse an entry whose name is not the one at its data: damage that would hide a field."""
    try:
        archive.open(entry).close()
    except Exception as error:  # as in _member
        raise RecordingError(f"damaged archive ({_line(error)})") from error


def _member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read one array to its last byte, where its checksum is compared, and check its type."""
    try:
        with archive.open(f"{name}.npy") as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
            if stream.read(1):
                raise ValueError("bytes follow the array")
    except Exception as error:  # whatever arbitrary bytes provoke in three parsers
        raise RecordingError(f"{name}: damaged or no plain array ({_line(error)})") from error
    check_file_field(name, array)
    return array


def _line(error: Exception) -> str:
    """Return the first line of an error's message, or its name when it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
