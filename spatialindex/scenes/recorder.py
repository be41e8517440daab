"""`Recorder`: writes down the boxes of a running engine, frame by frame, and makes a `Recording`.

Objects come and go by id. A recording has one row an object and a box of NaN where it is not there;
until it is made, frames are kept as they came, so that what is not there costs nothing::

    frame(boxes, ids=[10, 11])      rows    0 → 10, 1 → 11
    frame(boxes, ids=[11, 12])      a third row, 12; in the recording 10 is not alive here

A frame is taken whole or not at all: one that is refused leaves the recorder as it was.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from spatialindex.checks import as_boxes
from spatialindex.constants import ALL, DEFAULT_LAYER, NDIMS
from spatialindex.errors import RecordingError, SpatialIndexError
from spatialindex.scenes.fields import MOST_FRAMES, coerce_dt
from spatialindex.scenes.recording import Recording
from spatialindex.states import as_flags, as_ids, as_layers
from spatialindex.writing import check_target

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Recorder"]

_FIXED = ("static", "swept", "sensor", "layer", "mask")  # the same in all frames of an object
_MAX_BYTES = 2 * 2**30  # what `Recording` and saving need fits beside it on a machine of 8 GiB


class _Noted(NamedTuple):
    rows: NDArray[np.int64]
    boxes: NDArray[np.float64]
    asleep: NDArray[np.bool_]


class Recorder:
    """Records the boxes of one's own scene from a loop, and writes them when the block ends.

    Parameters
    ----------
    path : path, optional
        Where the recording is written, an ``.npz`` file, when the ``with`` block is left, after an
        error too: frames up to a crash are worth keeping. None writes nothing; see `recording`.
    ndim : {2, 3}, optional
        Number of dimensions; None takes it from the first frame.
    dt : float, default 0.0
        Seconds from frame to frame; 0.0 where time means nothing.
    max_bytes : int, default 2 GiB
        Memory that the boxes of the recording, ``frames * objects * 2 * ndim`` float64, may take.
    **texts : str
        What `Recording` takes: ``name``, ``source``, ``version``, ``licence``, ``notes``.

    Raises
    ------
    RecordingError
        For a path that is no ``.npz`` file or cannot be written, and as the methods say.

    Examples
    --------
    >>> import spatialindex as si
    >>> with si.Recorder(ndim=2, name="shot") as recorder:
    ...     recorder.frame([[0, 0, 1, 1], [4, 0, 5, 1]], ids=[10, 11], static=[True, False])
    ...     recorder.frame([[0, 0, 1, 1], [2, 0, 3, 1]], ids=[10, 11], static=[True, False])
    ...     recorder.frame([[0, 0, 1, 1]], ids=[10], static=True)
    >>> recorder.recording()
    <Recording 'shot': 3 frames of 2 objects (1 static), 2D>
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ndim: int | None = None,
        dt: float = 0.0,
        max_bytes: int = _MAX_BYTES,
        **texts: str,
    ) -> None:
        self._path = path
        self._ndim = ndim
        self._max_bytes = operator.index(max_bytes)
        self._fields: dict[str, Any] = {"dt": coerce_dt(dt), **texts}
        self._noted: list[_Noted] = []
        self._rows: dict[int, int] = {}
        self._state: dict[str, list[Any]] = {name: [] for name in _FIXED}
        if ndim is not None and not (isinstance(ndim, int | np.integer) and ndim in NDIMS):
            raise RecordingError(f"ndim is {ndim!r}: recordings have 2 or 3 dimensions")
        # what would be wrong at the end, when there are frames to lose, is told now
        Recording(np.zeros((1, 0, 2 * (ndim or 2))), **self._fields)
        if path is not None:
            if not str(path).lower().endswith(".npz"):
                raise RecordingError(f"{path}: recordings are written as .npz files; name it so")
            check_target(path, RecordingError)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._path is not None and (self._noted or error is None):
            self.save(self._path)

    def __len__(self) -> int:
        """Return the frames recorded so far."""
        return len(self._noted)

    def __repr__(self) -> str:
        frames = f"{len(self)} frame{'s' if len(self) != 1 else ''}"
        return f"<Recorder: {frames} of {len(self._rows)} objects>"

    def frame(
        self,
        boxes: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        asleep: ArrayLike = False,
        static: ArrayLike = False,
        swept: ArrayLike = False,
        sensor: ArrayLike = False,
        layer: ArrayLike = DEFAULT_LAYER,
        mask: ArrayLike = ALL,
    ) -> None:
        """Write down who is there in a frame, and where. Linear in the objects.

        Parameters
        ----------
        boxes : array_like, shape (m, 2*ndim)
            Boxes ``[lower…, upper…]`` of all objects that are there; they are copied.
        ids : array_like of int, shape (m,), optional
            Ids, at least 0, each once; 0 … m-1 when not given.
        asleep : array_like of bool, shape () or (m,), default False
            Who sleeps in this frame.
        static, swept, sensor : array_like of bool, shape () or (m,), default False
            As in `Recording`: an object has the same in all its frames.
        layer, mask : array_like of uint64, shape () or (m,), default 1 and all bits
            The same.

        Raises
        ------
        RecordingError
            When a value cannot be recorded, is not what it was for that object in an earlier frame,
            would take more memory than ``max_bytes``, or is one of too many; the message names
            frame, row and value, and the recorder stays as it was.
        """
        try:
            noted, fixed, keys = self._checked(
                boxes, ids, asleep, static, swept, sensor, layer, mask
            )
        except SpatialIndexError as error:
            raise RecordingError(f"frame {len(self)}: {error}") from error
        for name, values in fixed.items():
            self._state[name] += values[noted.rows >= len(self._rows)].tolist()
        for key, row in zip(keys, noted.rows.tolist(), strict=True):
            self._rows.setdefault(key, row)
        self._ndim = noted.boxes.shape[1] // 2
        self._noted.append(noted)

    def recording(self) -> Recording:
        """Return what has been recorded so far. Memory and time: frames times objects.

        Raises
        ------
        RecordingError
            When there is no frame yet.
        """
        if not self._noted:
            raise RecordingError("no frame was recorded; call `frame` once for each")
        frames, n = len(self._noted), len(self._rows)
        boxes = np.full((frames, n, 2 * (self._ndim or 2)), np.nan)
        alive, asleep = np.zeros((2, frames, n), np.bool_)
        for t, noted in enumerate(self._noted):
            boxes[t, noted.rows] = noted.boxes
            alive[t, noted.rows] = True
            asleep[t, noted.rows] = noted.asleep
        bits = ("layer", "mask")
        state: dict[str, Any] = {
            name: np.array(values, np.uint64 if name in bits else np.bool_)
            for name, values in self._state.items()
        }
        ids = np.fromiter(self._rows, np.int64, n)
        return Recording(boxes, ids=ids, alive=alive, asleep=asleep, **state, **self._fields)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what has been recorded so far, completely or not at all: `Recording.save`.

        Raises
        ------
        RecordingError
            When there is no frame yet, or the file cannot be written.
        """
        self.recording().save(path)

    def _checked(
        self, boxes: ArrayLike, ids: ArrayLike | None, asleep: ArrayLike, *values: ArrayLike
    ) -> tuple[_Noted, dict[str, NDArray[Any]], list[int]]:
        """Return what a frame adds, when nothing speaks against it."""
        if len(self) >= MOST_FRAMES:
            raise RecordingError(f"a recording has at most {MOST_FRAMES:,} frames; begin another")
        stored = np.atleast_2d(as_boxes(boxes, self._ndim)).copy()
        m = len(stored)
        keys = np.arange(m) if ids is None else np.atleast_1d(as_ids(ids))
        if len(keys) != m:
            raise RecordingError(f"{len(keys)} ids for {m} boxes; give every box its own")
        first: dict[int, int] = {}
        for row, key in enumerate(keys.tolist()):
            if first.setdefault(key, row) != row:
                raise RecordingError(f"ids[{row}] is {key}, the id of ids[{first[key]}] already")
        sleeping = np.broadcast_to(as_flags(asleep, m, name="asleep"), m).copy()
        fixed: dict[str, NDArray[Any]] = {}
        for name, value in zip(_FIXED, values, strict=True):
            check = as_layers if name in ("layer", "mask") else as_flags
            fixed[name] = np.broadcast_to(check(value, m, name=name), m)
        known, fresh = len(self._rows), 0
        rows = np.empty(m, np.int64)
        for at, key in enumerate(first):
            rows[at] = self._rows.get(key, known + fresh)
            fresh += rows[at] == known + fresh
        self._refuse_other_state(rows, keys, fixed)
        needed = (len(self) + 1) * (known + fresh) * stored.shape[1] * stored.itemsize
        if needed > self._max_bytes:
            raise RecordingError(
                f"{known + fresh:,} objects would take {needed:,} bytes, beyond max_bytes "
                f"{self._max_bytes:,}; save what there is, record every few frames, or raise it"
            )
        return _Noted(rows, stored, sleeping), fixed, list(first)

    def _refuse_other_state(
        self, rows: NDArray[np.int64], keys: NDArray[np.int64], fixed: dict[str, NDArray[Any]]
    ) -> None:
        seen = np.flatnonzero(rows < len(self._rows))
        for name, values in fixed.items():
            kept = self._state[name]
            for at in seen.tolist():
                if values[at] != kept[rows[at]]:
                    raise RecordingError(
                        f"{name}[{at}]: id {keys[at]} has {values[at]} here and "
                        f"{kept[rows[at]]} in an earlier frame; what is not `asleep` stays the "
                        "same, or the object goes on under another id"
                    )
