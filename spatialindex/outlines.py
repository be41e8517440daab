"""The parts of a structure as boxes: its cells, nodes or lanes, and who is in which.

For pictures and for people: nothing that answers a question is read from here. With cells of edge
2, a wall ``[0, 0, 3, 1]`` and a prop ``[3, 0, 4, 1]`` are in three cells::

    kind     level   box             members
    "cell"   0       [0, 0, 2, 2]    wall
    "cell"   0       [2, 0, 4, 2]    wall, prop
    "cell"   0       [4, 0, 6, 2]    prop, which touches it

A structure of one's own may have a method ``outlines() -> Outlines``, with slots for members;
without it all its objects are outlined together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spatialindex.objects import ObjectTable

__all__ = ["Outlined", "Outlines", "outlines_of"]


class Outlines(NamedTuple):
    """What a structure divides its objects into: `n` boxes with `m` memberships."""

    kinds: NDArray[np.str_]
    """``(n,)``: what each part is, a word or two."""
    levels: NDArray[np.int64]
    """``(n,)``: where it stands among others of its kind, see the kinds of each structure."""
    boxes: NDArray[np.float64]
    """``(n, 2*ndim)``: where it is. Bounds may be infinite, and borders of cells and lanes, which
    are not kept but worked out, are off by a rounding."""
    members: NDArray[np.int64]
    """``(m, 2)`` rows (part, id), ascending: what is listed in a part itself, not in those below
    it. A structure has slots in place of ids, and any order."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many objects are listed in each part itself, ``(n,)``."""
        counts: NDArray[np.int64] = np.bincount(self.members[:, 0], minlength=len(self.boxes))
        return counts

    @classmethod
    def of(
        cls, kind: str, boxes: NDArray[Any], *, levels: Any = 0, parts: Any = (), slots: Any = ()
    ) -> Self:
        """Return parts of one kind; ``slots[i]`` is a member of part ``parts[i]``."""
        members = np.column_stack([np.asarray(parts, np.int64), np.asarray(slots, np.int64)])
        boxes = np.asarray(boxes, np.float64)
        numbers = np.broadcast_to(np.asarray(levels, np.int64), len(boxes)).copy()
        return cls(np.full(len(boxes), kind), numbers, boxes, members)

    @classmethod
    def around(cls, kind: str, boxes: NDArray[np.float64], slots: NDArray[np.int32]) -> Self:
        """Return the box around the boxes of some slots as one part, none when there are none."""
        if not len(slots):
            return cls.of(kind, boxes)
        ndim = boxes.shape[1] // 2
        hull = np.concatenate([boxes[:, :ndim].min(axis=0), boxes[:, ndim:].max(axis=0)])
        return cls.of(kind, hull[None], parts=np.zeros(len(slots)), slots=slots)

    @classmethod
    def joined(cls, several: Sequence[Outlines]) -> Self:
        """Return the parts of all, one after the other."""
        first = np.cumsum([0, *(len(one.boxes) for one in several)])[:-1]
        members = [one.members + np.array([at, 0]) for one, at in zip(several, first, strict=True)]
        kinds, levels, boxes = zip(*(one[:3] for one in several), strict=True)
        return cls(*map(np.concatenate, (kinds, levels, boxes, members)))


@runtime_checkable
class Outlined(Protocol):
    """A structure that tells its parts."""

    def outlines(self) -> Outlines:
        """Return the parts that are in use, with slots for members."""
        ...


class _Tabled(Protocol):
    table: ObjectTable


def outlines_of(structure: _Tabled) -> Outlines:
    """Return the parts of a structure, all objects as one ``"list"`` where it does not tell."""
    if isinstance(structure, Outlined):
        return structure.outlines()
    slots = structure.table.live_slots()
    return Outlines.around("list", structure.table.cover[slots], slots)
