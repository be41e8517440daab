"""Recordings in the ``.aabbs`` files of Broadmark, a benchmark of broad phases in 3D.

Numbers are little-endian. Two layouts of the same content are read; their lengths differ whatever
the counts, so the length of a file says which it is::

                          packed                    as Broadmark's recorder writes
    scene name            128 bytes, zero-padded    the same
    kind of objects       128 bytes, zero-padded    the same
    objects n, frames f   two int32                 the same
    padding               two int32, zero           the same
    world box             6 float32                 8 float32: each corner x y z 0
    frames                f frames                  f + 1: the initial one first
    each frame            n boxes of 6 float32      n boxes of 8 float32
    length in bytes       296 + 24 n f              304 + 32 n (f + 1)

The boxes are exactly the float32 ones of the file. What the format does not tell is not guessed:
no object is static or asleep, and the time step is 0.0.

Source: Serpa and Rodrigues, "Broadmark: a testing framework for broad-phase collision detection
algorithms", Computer Graphics Forum 39 (2020).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spatialindex.errors import RecordingError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read"]

_COUNTS: Final = struct.Struct("<128s128s4i")


class _Layout(NamedTuple):
    """Sizes of one of the two layouts."""

    floats: int
    """float32 a box: three a corner, or four of which the last is zero."""
    extra_frames: int
    """Frames beyond the number in the header."""

    def length(self, n: int, frames: int) -> int:
        """Return the length of a file in bytes."""
        boxes = 1 + n * (frames + self.extra_frames)
        return _COUNTS.size + 4 * self.floats * boxes


_PACKED: Final = _Layout(6, 0)
_PADDED: Final = _Layout(8, 1)


def read(path: Path) -> dict[str, Any]:
    """Return the content of a file as keyword arguments of `Recording`.

    Raises
    ------
    RecordingError
        When the file's length is not what its header says, or the header or a box cannot be; the
        message does not yet name the file.
    OSError
        When the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(_COUNTS.size)
        if len(header) < _COUNTS.size:
            raise RecordingError(
                f"truncated: the header alone is {_PACKED.length(0, 0)} bytes, the file has {size}"
            )
        name, kind, n, frames = _header(header)
        layout = _layout(n, frames, size)
        corners = np.fromfile(file, dtype="<f4")
    boxes = _boxes(corners.reshape(-1, 2, layout.floats // 2))
    world, boxes = boxes[0], boxes[1:].reshape(frames + layout.extra_frames, n, 6)
    if not (np.isfinite(world).all() and (world[:3] <= world[3:]).all()):
        raise RecordingError(f"the world box {world.tolist()} is not finite or is inverted")
    return {
        "boxes": boxes,
        "name": name or path.stem,
        "source": "Broadmark recording",
        "notes": f"objects: {kind or 'not told'}; world box {world.tolist()}",
    }


def _header(header: bytes) -> tuple[str, str, int, int]:
    """Return scene name, kind of objects, number of objects and of frames."""
    name, kind, n, frames, *padding = _COUNTS.unpack(header)
    if any(padding):
        raise RecordingError(
            f"bytes 264 to 271 should be zero and are {padding[0]}, {padding[1]} as int32; "
            "this is no .aabbs file"
        )
    if n < 1 or frames < 1:
        raise RecordingError(f"the header tells of {n} objects and {frames} frames; one at least")
    return _text("scene name", name), _text("kind of objects", kind), n, frames


def _text(what: str, padded: bytes) -> str:
    text, _, rest = padded.partition(b"\0")
    if rest.strip(b"\0"):
        raise RecordingError(f"the {what} is not padded with zeros; this is no .aabbs file")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise RecordingError(f"the {what} {text!r} is no text; this is no .aabbs file") from None


def _layout(n: int, frames: int, size: int) -> _Layout:
    for layout in (_PACKED, _PADDED):
        if layout.length(n, frames) == size:
            return layout
    packed, padded = (layout.length(n, frames) for layout in (_PACKED, _PADDED))
    raise RecordingError(
        f"truncated or inconsistent: {n} objects in {frames} frames are {packed} bytes (or "
        f"{padded} with padded corners), the file has {size}"
    )


def _boxes(corners: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return float64 boxes ``(m, 6)`` of corners ``(m, 2, 3 or 4)``."""
    padding = corners[:, :, 3:]
    if padding.any():  # NaN counts as well
        row = int(np.argmax(padding.any(axis=(1, 2))))
        where = f"box {row - 1}" if row else "the world box"
        raise RecordingError(f"the padding of {where} is not zero; the file is inconsistent")
    return corners[:, :, :3].reshape(-1, 6).astype(np.float64)
