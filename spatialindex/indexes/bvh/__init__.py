"""Trees of boxes: `BVH`, which follows what moves, and `KDTree`, for what stays.

`structure` builds and answers, `moving` decides when to change and when to repair, `store` does it,
`checking` validates; kernels are in `spatialindex.kernels.tree`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from spatialindex.errors import InvalidArgumentError, did_you_mean
from spatialindex.index import BoxIndex
from spatialindex.indexes.bvh.moving import MovingTree
from spatialindex.indexes.bvh.structure import TreeStructure
from spatialindex.kernels.simd import LANES
from spatialindex.protocol import Parameter
from spatialindex.states import is_integer

__all__ = ["BVH", "KDTree"]

LEAF_SIZE = Parameter(
    "leaf_size", LANES, "objects that a leaf may hold, 1 to 8", tunable=(0.25, 1), scale="whole"
)
BUILD = Parameter(
    "build",
    "auto",
    "how the tree is built: by surface, at medians, or along a curve alone",
    choices=("auto", "sah", "median", "morton"),
)


def _checked_size(leaf_size: Any) -> int:
    if not is_integer(leaf_size) or not 1 <= leaf_size <= LANES:
        raise InvalidArgumentError(
            f"leaf_size is {leaf_size!r}: pass a number of objects, 1 to {LANES}"
        )
    return int(leaf_size)


def _checked_build(build: Any) -> str:
    if isinstance(build, str) and build in BUILD.choices:
        return build
    hint = did_you_mean(build, BUILD.choices)
    raise InvalidArgumentError(f"build is {build!r}; {hint}known: {', '.join(BUILD.choices)}")


class BVH(BoxIndex):
    """Bounding volume hierarchy: a tree of boxes that stays good while things move.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    leaf_size : int
        Objects that a leaf may hold, 1 to 8. A block of eight is tested at once, so smaller leaves
        seldom pay.
    build : {"auto", "sah", "median", "morton"}
        How the tree is built. "sah" cuts where the surfaces of both sides are least; "median" cuts
        at medians, several times as fast, for nearly the same tree; "morton" sorts along a curve
        and cuts nothing, which is fastest to build and slower to ask. "auto" takes "sah" for few
        objects and "median" for many.

    Notes
    -----
    Cost: a query O(log n) and what it finds, whatever the sizes of objects and wherever they are;
    an update O(log n). Objects that move keep their leaf as long as it does not become much larger
    by it, and enter the tree anew otherwise; parts that have become worse than they were built are
    built anew, a few with each batch of changes. ``stats().quality`` tells the cost of the tree
    over that after the last build. Right for static worlds, objects of all sizes, rays and nearest
    neighbours.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.BVH(ndim=2)
    >>> index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [0, 0, 1000, 1000]])
    array([0, 1, 2])
    >>> index.pairs()
    array([[0, 1], [0, 2], [1, 2]])
    >>> index.query([500, 500, 501, 501])
    array([2])
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (LEAF_SIZE, BUILD)
    leaf_size: int
    build: str

    def __init__(self, ndim: int = 2, *, leaf_size: int = LANES, build: str = "auto") -> None:
        super().__init__(
            ndim, MovingTree, leaf_size=_checked_size(leaf_size), build=_checked_build(build)
        )


class KDTree(BoxIndex):
    """Tree cut at the medians of centers, for points and small boxes that stay where they are.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    leaf_size : int
        Objects that a leaf may hold, 1 to 8.

    Notes
    -----
    Cost: a query O(log n) and what it finds. The tree is built anew, O(n log n), by the first
    question after any change of boxes, be it one: for what moves take `BVH`. Changes of layers,
    masks and flags are taken in without that.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.KDTree(ndim=2)
    >>> index.insert([[0, 0, 0, 0], [3, 4, 3, 4], [6, 8, 6, 8]])
    array([0, 1, 2])
    >>> index.nearest([1, 1], k=2).ids
    array([0, 1])
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (LEAF_SIZE,)
    leaf_size: int

    def __init__(self, ndim: int = 2, *, leaf_size: int = LANES) -> None:
        size = _checked_size(leaf_size)
        super().__init__(ndim, partial(TreeStructure, build="median"), leaf_size=size)
