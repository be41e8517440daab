"""`Recording`: the boxes of a scene, frame by frame, as an engine or a data set gave them.

A worked example, two objects in three frames, the second one shot away after frame 1::

    frame             0            1            2
    object 0     [0 0 1 1]    [0 0 1 1]    [0 0 1 1]     asleep from frame 1
    object 1     [4 0 5 1]    [2 0 3 1]       NaN        not alive in frame 2

    changes(0)   inserted 0 and 1
    changes(1)   moved 1 to [2 0 3 1]; 0 fell asleep
    changes(2)   removed 1

`frame` gives who is there in a frame, `changes` what differs from the frame before: what a player
passes to ``remove``, ``insert``, ``update`` and ``set_state`` of an index. Nothing is derived that
the recording does not say: there are no velocities and no contacts in it.
"""

from __future__ import annotations

import operator
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, SupportsIndex

import numpy as np

from spatialindex.constants import ID_DTYPE
from spatialindex.errors import InvalidArgumentError, RecordingError
from spatialindex.scenes import aabbs, npz
from spatialindex.scenes.fields import (
    FORMAT,
    OBJECT_FIELDS,
    TEXTS,
    Field,
    check_boxes,
    check_ids,
    coerce,
    coerce_boxes,
    coerce_dt,
    coerce_text,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from spatialindex.protocol import Index

__all__ = ["SUFFIXES", "Changes", "Frame", "Moved", "Recording", "Restated"]

_READERS: Final = {".npz": npz.read, ".aabbs": aabbs.read}

SUFFIXES: Final = tuple(_READERS)
"""Suffixes of the files that `Recording.load` reads."""


class Frame(NamedTuple):
    """Objects of one frame, `m` of them, ascending by id."""

    ids: NDArray[np.int64]
    """``(m,)``."""
    boxes: NDArray[np.float64]
    """``(m, 2*ndim)``."""
    static: NDArray[np.bool_]
    """``(m,)``."""
    asleep: NDArray[np.bool_]
    """``(m,)``."""
    layer: NDArray[np.uint64]
    """``(m,)``."""
    mask: NDArray[np.uint64]
    """``(m,)``."""
    sensor: NDArray[np.bool_]
    """``(m,)``."""

    def options(self) -> dict[str, Any]:
        """Return what is not id or box by the names of ``insert``'s options."""
        return {
            "layer": self.layer,
            "mask": self.mask,
            "static": self.static,
            "asleep": self.asleep,
            "sensor": self.sensor,
        }


class Moved(NamedTuple):
    """Objects whose boxes changed, ascending by id."""

    ids: NDArray[np.int64]
    """``(m,)``."""
    boxes: NDArray[np.float64]
    """``(m, 2*ndim)``: where they are now."""


class Restated(NamedTuple):
    """Objects that fell asleep or woke up, ascending by id."""

    ids: NDArray[np.int64]
    """``(m,)``."""
    asleep: NDArray[np.bool_]
    """``(m,)``: how they are now."""


class Changes(NamedTuple):
    """What differs between a frame and the one before: one call of an index for each part.

    An object that was removed and comes back later is inserted again with its state at that time.
    """

    removed: NDArray[np.int64]
    """Ids for ``remove``, ascending."""
    inserted: Frame
    """Objects for ``insert``."""
    moved: Moved
    """Objects for ``update``: those in both frames whose boxes differ, bit for bit."""
    restated: Restated
    """Objects for ``set_state``: those in both frames that fell asleep or woke up."""

    @property
    def fell_asleep(self) -> NDArray[np.int64]:
        """Ids of the objects that fell asleep, ascending."""
        return self.restated.ids[self.restated.asleep]

    @property
    def woke(self) -> NDArray[np.int64]:
        """Ids of the objects that woke up, ascending."""
        return self.restated.ids[~self.restated.asleep]

    def apply(self, index: Index) -> None:
        """Bring an index from the frame before to this one; parts without objects are passed over.

        Raises
        ------
        UnknownIdError, DuplicateIdError
            When the index does not hold the frame before.

        Examples
        --------
        >>> import spatialindex as si
        >>> rec = si.generate("brownian", n=5, frames=3)
        >>> index = si.BruteForce(ndim=rec.ndim)
        >>> for changes in rec.replay():
        ...     changes.apply(index)
        >>> bool((index.boxes() == rec.frame(2).boxes).all())
        True
        """
        if len(self.removed):
            index.remove(self.removed)
        if len(self.inserted.ids):
            index.insert(self.inserted.boxes, self.inserted.ids, **self.inserted.options())
        if len(self.moved.ids):
            index.update(self.moved.ids, self.moved.boxes)
        if len(self.restated.ids):
            index.set_state(self.restated.ids, asleep=self.restated.asleep)


class Recording:
    """Boxes of `n` objects over a number of frames, with what the engine said about them.

    Arrays are checked once, here, and read-only afterwards. Every field can be read whether it was
    given or not; one that was not given costs no memory and is not saved.

    Parameters
    ----------
    boxes : array_like, shape (frames, n, 2*ndim)
        Boxes ``[lower…, upper…]``; float64, finite, and NaN where the object is not alive.
    static : array_like of bool, shape (n,), default False
        Objects that never move.
    dt : float, default 0.0
        Seconds from frame to frame; 0.0 where time means nothing.
    name, source, version, licence, notes : str, default ""
        What it is, whose engine or data, which release of it, under whose terms, remarks.
    asleep : array_like of bool, shape (frames, n), default False
        The engine's own flag.
    alive : array_like of bool, shape (frames, n), default True
        False where the object is not there.
    swept : array_like of bool, shape (n,), default False
        True where the engine's boxes already cover the motion of the step.
    ids : array_like of int, shape (n,), default 0 … n-1
        Ids, at least 0, each once, in any order.
    layer, mask : array_like of uint64, shape (n,), default 1 and all bits
        What the pair filter reads.
    sensor : array_like of bool, shape (n,), default False
        Objects whose pairs are events.

    Raises
    ------
    RecordingError
        When a field is of another shape or type, or contradicts another; the message names the
        field, the row and the value.

    Examples
    --------
    >>> import spatialindex as si
    >>> rec = si.Recording([[[0, 0, 1, 1], [4, 0, 5, 1]], [[0, 0, 1, 1], [2, 0, 3, 1]]], dt=0.1)
    >>> rec
    <Recording: 2 frames of 2 objects, 2D>
    >>> rec.changes(1).moved
    Moved(ids=array([1]), boxes=array([[2., 0., 3., 1.]]))
    """

    boxes: NDArray[np.float64]
    """Boxes ``(frames, n, 2*ndim)``; NaN where the object is not alive."""
    static: NDArray[np.bool_]
    """Objects that never move, ``(n,)``."""
    asleep: NDArray[np.bool_]
    """Objects that sleep, ``(frames, n)``."""
    alive: NDArray[np.bool_]
    """Objects that are there, ``(frames, n)``."""
    swept: NDArray[np.bool_]
    """Objects whose boxes already cover the motion of the step, ``(n,)``."""
    ids: NDArray[np.int64]
    """Ids by row, ``(n,)``."""
    layer: NDArray[np.uint64]
    """Layers, ``(n,)``."""
    mask: NDArray[np.uint64]
    """Masks, ``(n,)``."""
    sensor: NDArray[np.bool_]
    """Objects whose pairs are events, ``(n,)``."""
    dt: float
    """Seconds from frame to frame; 0.0 where time means nothing."""
    name: str
    """What it is."""
    source: str
    """Whose engine or data it is."""
    version: str
    """Release of the engine or data."""
    licence: str
    """Terms of the engine or data."""
    notes: str
    """Remarks."""

    format: ClassVar[int] = FORMAT
    """Version of the file layout, the one that `save` writes."""

    _by_id: NDArray[np.intp]
    """Rows in the order of their ids."""
    _given: frozenset[str]
    """Optional fields that were given, and so are saved."""

    def __init__(
        self,
        boxes: ArrayLike,
        static: ArrayLike | None = None,
        *,
        dt: float = 0.0,
        name: str = "",
        source: str = "",
        version: str = "",
        licence: str = "",
        notes: str = "",
        asleep: ArrayLike | None = None,
        alive: ArrayLike | None = None,
        swept: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        layer: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        sensor: ArrayLike | None = None,
    ) -> None:
        given = {"static": static, "asleep": asleep, "alive": alive, "swept": swept}
        given |= {"layer": layer, "mask": mask, "sensor": sensor, "ids": ids}
        stored = coerce_boxes(boxes)
        frames, n = stored.shape[:2]
        fields: dict[str, Any] = {"boxes": stored}
        for key, field in OBJECT_FIELDS.items():
            value = given[key]
            default = np.array(field.default, field.dtype)
            fields[key] = coerce(key, default if value is None else value, field, frames, n)
        if ids is None:
            fields["ids"] = np.arange(n, dtype=ID_DTYPE)
        else:
            fields["ids"] = coerce("ids", ids, Field(ID_DTYPE, False, 0), frames, n)
        check_ids(fields["ids"])
        check_boxes(stored, fields["alive"])
        fields["_by_id"] = np.argsort(fields["ids"], kind="stable")
        fields = {key: _read_only(array) for key, array in fields.items()}
        fields["_given"] = frozenset(key for key, value in given.items() if value is not None)
        fields["dt"] = coerce_dt(dt)
        for key, text in zip(TEXTS, (name, source, version, licence, notes), strict=True):
            fields[key] = coerce_text(key, text)
        self.__dict__.update(fields)  # the only time: see __setattr__

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name!r} of a recording cannot be set; make another `Recording`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name!r} of a recording cannot be deleted")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read a recording from a ``.npz`` file of ours or a Broadmark ``.aabbs`` file.

        Parameters
        ----------
        path : path
            Which it is, is told by the suffix.

        Raises
        ------
        RecordingError
            When the file is not there, cannot be read, is damaged or truncated, or contradicts
            itself.
        """
        path = Path(path)
        reader = _READERS.get(path.suffix.lower())
        if reader is None and path.is_dir():
            raise RecordingError(f"{path}: a directory, not a recording")
        if reader is None:
            raise RecordingError(
                f"{path}: the suffix {path.suffix!r} is none of a recording; they are "
                f"{' and '.join(_READERS)} files"
            )
        try:
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                raise RecordingError("a directory, not a recording")
            if status.st_size == 0:
                raise RecordingError("the file is empty")
            return cls(**reader(path))
        except FileNotFoundError:
            raise RecordingError(f"{path}: no such file") from None
        except OSError as error:
            raise RecordingError(f"{path}: cannot be read: {error.strerror or error}") from error
        except RecordingError as error:
            raise RecordingError(f"{path}: {error}") from error.__cause__
        except ValueError as error:  # a zero character in the path
            raise RecordingError(f"{str(path)!r}: no path: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a compressed ``.npz`` file that `load` gives back bit for bit.

        The file appears complete or not at all: it is written beside its place and moved there.

        Parameters
        ----------
        path : path
            It ends in ``.npz``; a file that is there is replaced.

        Raises
        ------
        RecordingError
            When the path has another suffix or cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() != ".npz":
            raise RecordingError(
                f"{path}: recordings are saved as .npz; save to {path.name + '.npz'!r} instead"
            )
        fields: dict[str, Any] = {"format": np.int64(FORMAT), "boxes": self.boxes}
        fields["static"] = self.static
        fields |= {key: getattr(self, key) for key in ("ids", *OBJECT_FIELDS) if key in self._given}
        fields |= {"dt": np.float64(self.dt)} | {key: getattr(self, key) for key in TEXTS}
        npz.write(path, fields)

    @property
    def frames(self) -> int:
        """Number of frames."""
        return int(self.boxes.shape[0])

    @property
    def n(self) -> int:
        """Number of objects, those included that are not alive in every frame."""
        return int(self.boxes.shape[1])

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2 or 3."""
        return int(self.boxes.shape[2]) // 2

    def __len__(self) -> int:
        return self.frames

    def __iter__(self) -> Iterator[Frame]:
        return (self.frame(t) for t in range(self.frames))

    def frame(self, t: SupportsIndex) -> Frame:
        """Return the objects that are alive in frame `t`, ascending by id.

        Parameters
        ----------
        t : int
            Frame, from 0.

        Raises
        ------
        InvalidArgumentError
            When there is no such frame.

        Examples
        --------
        >>> import spatialindex as si
        >>> rec = si.Recording([[[0, 0, 1, 1], [4, 0, 5, 1]]], ids=[7, 3])
        >>> rec.frame(0).ids
        array([3, 7])
        """
        t = self._frame_index(t)
        return self._rows(t, self._by_id[self.alive[t, self._by_id]])

    def changes(self, t: SupportsIndex) -> Changes:
        """Return what differs between frame `t` and the one before.

        In frame 0 all that is alive is inserted. Cost: linear in the objects.

        Parameters
        ----------
        t : int
            Frame, from 0.

        Raises
        ------
        InvalidArgumentError
            When there is no such frame.

        Examples
        --------
        >>> import spatialindex as si
        >>> boxes = [[[0, 0, 1, 1], [4, 0, 5, 1]]] * 2
        >>> rec = si.Recording(boxes, asleep=[[False, False], [True, False]])
        >>> rec.changes(0).inserted.ids
        array([0, 1])
        >>> rec.changes(1).fell_asleep
        array([0])
        """
        t = self._frame_index(t)
        now = self.alive[t, self._by_id]
        before = self.alive[t - 1, self._by_id] if t else np.zeros(self.n, dtype=np.bool_)
        kept = self._by_id[now & before]
        # integers, so that 0.0 and -0.0 are different as they are in memory
        bits = self.boxes.view(np.uint64)
        moved = kept[(bits[t, kept] != bits[t - 1, kept]).any(axis=1)]
        turned = kept[self.asleep[t, kept] != self.asleep[t - 1, kept]]
        return Changes(
            removed=self.ids[self._by_id[before & ~now]],
            inserted=self._rows(t, self._by_id[now & ~before]),
            moved=Moved(self.ids[moved], self.boxes[t, moved]),
            restated=Restated(self.ids[turned], self.asleep[t, turned]),
        )

    def replay(self) -> Iterator[Changes]:
        """Yield the changes of every frame, for an index that is empty at first."""
        return (self.changes(t) for t in range(self.frames))

    def __eq__(self, other: object) -> bool:
        """Tell if all fields are the same, boxes bit for bit; given and not given are the same."""
        if not isinstance(other, Recording):
            return NotImplemented
        return (
            self.boxes.shape == other.boxes.shape
            and np.array_equal(self.boxes.view(np.uint64), other.boxes.view(np.uint64))
            and all(
                np.array_equal(getattr(self, key), getattr(other, key))
                for key in ("ids", *OBJECT_FIELDS)
            )
            and all(getattr(self, key) == getattr(other, key) for key in ("dt", *TEXTS))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        static = int(np.count_nonzero(self.static))
        still = f" ({static} static)" if static else ""
        frames = f"{self.frames} frame{'s' if self.frames != 1 else ''}"
        return f"<Recording{name}: {frames} of {self.n} objects{still}, {self.ndim}D>"

    def _frame_index(self, t: SupportsIndex) -> int:
        try:
            index = operator.index(t)
        except TypeError:
            raise InvalidArgumentError(f"frame {t!r} is no integer") from None
        if not 0 <= index < self.frames:
            raise InvalidArgumentError(
                f"frame {index} is not in the recording; its frames are 0 to {self.frames - 1}"
            )
        return index

    def _rows(self, t: int, rows: NDArray[np.intp]) -> Frame:
        return Frame(
            ids=self.ids[rows],
            boxes=self.boxes[t, rows],
            static=self.static[rows],
            asleep=self.asleep[t, rows],
            layer=self.layer[rows],
            mask=self.mask[rows],
            sensor=self.sensor[rows],
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written; the caller's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view
