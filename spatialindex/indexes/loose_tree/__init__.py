"""Loose quadtree and octree, one implementation.

`structure` decides and answers, `store` keeps nodes and members, `checking` validates; kernels are
in `spatialindex.kernels.loose`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from spatialindex.errors import InvalidArgumentError
from spatialindex.index import BoxIndex
from spatialindex.indexes.loose_tree.structure import LooseTreeStructure
from spatialindex.protocol import Parameter
from spatialindex.states import is_integer

__all__ = ["LooseOctree", "LooseQuadtree"]

LOOSENESS = Parameter(
    "looseness", 2.0, "factor by which a node's bounds are larger than its cell", tunable=(0.6, 2)
)
LEAF_SIZE = Parameter(
    "leaf_size",
    16,
    "objects with which a node is not divided yet",
    tunable=(0.25, 4),
    scale="whole",
)
_MOST_LOOSE = 16.0


class _LooseTree(BoxIndex):
    """What the loose trees have in common: all but the number of dimensions."""

    parameters: ClassVar[tuple[Parameter, ...]] = (LOOSENESS, LEAF_SIZE)
    looseness: float
    leaf_size: int
    _structure: LooseTreeStructure

    def __init__(self, ndim: int, looseness: float, leaf_size: int) -> None:
        super().__init__(
            ndim,
            LooseTreeStructure,
            looseness=_checked_looseness(looseness),
            leaf_size=_checked_leaf_size(leaf_size),
        )


def _checked_looseness(looseness: Any) -> float:
    is_number = isinstance(looseness, Real) and not isinstance(looseness, bool)
    if not is_number or not 1.0 < looseness <= _MOST_LOOSE:
        raise InvalidArgumentError(
            f"looseness is {looseness!r}: pass a factor above 1 and up to {_MOST_LOOSE:g}"
        )
    return float(looseness)


def _checked_leaf_size(leaf_size: Any) -> int:
    if not is_integer(leaf_size) or leaf_size < 1:
        raise InvalidArgumentError(
            f"leaf_size is {leaf_size!r}: pass a number of objects, 1 or more"
        )
    return min(int(leaf_size), 2**20)


class LooseQuadtree(_LooseTree):
    """Tree of squares, each in quarters, whose nodes reach beyond their square by the looseness.

    Parameters
    ----------
    ndim : {2}
        Number of dimensions; for three take `LooseOctree`.
    looseness : float
        Factor by which a node's bounds are larger than its square, above 1 and at most 16. The
        larger, the deeper a large object gets and the longer a moving one stays in its node, and
        the more neighbouring nodes overlap and are looked at.
    leaf_size : int
        Objects with which a node is not divided yet. Less than 8 leaves vector instructions half
        empty; more means fewer nodes and more candidates.

    Notes
    -----
    Cost: an object that moves within the loose bounds of its node is written in place; one that
    leaves it enters anew, a descent of O(log n) nodes in scenes that are not contrived. A query
    goes down to what it meets, pairs are found by walking the tree against itself. Right for
    sizes over many orders of magnitude, objects that gather in places, and a world of unknown
    extent. Coordinates beyond 2**1022 are legal, but all such objects share one node.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.LooseQuadtree()
    >>> index.insert([[0, 0, 2, 2], [1, 1, 500, 500], [1e9, 1e9, 2e9, 2e9]])
    array([0, 1, 2])
    >>> index.pairs()
    array([[0, 1]])
    """

    def __init__(self, ndim: int = 2, looseness: float = 2.0, *, leaf_size: int = 16) -> None:
        _check_ndim(ndim, 2, "LooseQuadtree", "LooseOctree")
        super().__init__(ndim, looseness, leaf_size)


class LooseOctree(_LooseTree):
    """Tree of cubes, each in eighths, whose nodes reach beyond their cube by the looseness.

    Parameters
    ----------
    ndim : {3}
        Number of dimensions; for two take `LooseQuadtree`.
    looseness, leaf_size
        As for `LooseQuadtree`.

    Notes
    -----
    Cost: as `LooseQuadtree`.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.LooseOctree(looseness=1.5)
    >>> index.insert([[0, 0, 0, 2, 2, 2], [2, 2, 2, 3, 3, 3]])
    array([0, 1])
    >>> index.pairs()
    array([[0, 1]])
    """

    def __init__(self, ndim: int = 3, looseness: float = 2.0, *, leaf_size: int = 16) -> None:
        _check_ndim(ndim, 3, "LooseOctree", "LooseQuadtree")
        super().__init__(ndim, looseness, leaf_size)


def _check_ndim(ndim: Any, only: int, name: str, other: str) -> None:
    if ndim != only:
        raise InvalidArgumentError(f"ndim={ndim!r}: {name} indexes {only}D boxes; see {other}")
