"""Sweep-and-prune: objects sorted along one axis, in lanes along the others.

`structure` decides and answers, `store` keeps and changes the arrays, `checking` validates; kernels
are in `spatialindex.kernels.sweep`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spatialindex.index import BoxIndex
from spatialindex.indexes.sweep_and_prune.structure import SweepStructure

if TYPE_CHECKING:
    from spatialindex.protocol import Parameter

__all__ = ["SweepAndPrune"]


class SweepAndPrune(BoxIndex):
    """Objects sorted along one axis and swept, in lanes along the others.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.

    Notes
    -----
    The fastest way to all pairs of a scene in which most objects move in every frame, of similar or
    of unlike sizes. Cost: pairs from scratch are one sort and one sweep; motion of many is taken in
    by packing all blocks anew and exchanging neighbours, and by a full sort when that would take
    more than a linear number of exchanges. A question goes down a tree over the sorted blocks.

    Where few objects move and many questions are asked, a tree made for them answers these faster.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.SweepAndPrune(ndim=2)
    >>> index.insert([[0, 0, 10, 2], [9, 0.5, 9.5, 1.5], [20, 0, 21, 1]])
    array([0, 1, 2])
    >>> index.pairs()
    array([[0, 1]])
    >>> index.query([0, 0, 1, 1])
    array([0])
    """

    parameters: ClassVar[tuple[Parameter, ...]] = ()

    _structure: SweepStructure

    def __init__(self, ndim: int = 2) -> None:
        super().__init__(ndim, SweepStructure)

    @property
    def axis(self) -> int | None:
        """The axis along which objects are sorted and swept; None as long as there are none."""
        self._sync()
        return self._structure.axis

    @property
    def lanes(self) -> tuple[int, ...]:
        """Number of lanes along each of the other axes, in their order; empty without objects."""
        self._sync()
        return self._structure.lanes
