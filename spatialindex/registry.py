"""The structures by name: one line each, imported when first used.

From its line here a structure gets the conformance tests, rows in every comparison, its choice on
the command line and a page in the docs.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spatialindex.constants import NDIMS
from spatialindex.errors import InvalidArgumentError, did_you_mean

if TYPE_CHECKING:
    from spatialindex.protocol import Index, Parameter

__all__ = ["Entry", "create", "find", "register", "structures", "unregister"]


@dataclass(frozen=True)
class Entry:
    """One structure of the registry."""

    name: str
    """The name used by `create`, comparisons and the command line."""
    path: str
    """Where the class is: ``"module:Class"``."""
    summary: str
    """What it is, in a sentence."""
    ndims: tuple[int, ...] = NDIMS
    """Numbers of dimensions that it can index."""

    def load(self) -> type[Any]:
        """Import the class."""
        path, _, name = self.path.partition(":")
        # where it is already, a look costs a tenth of an import that finds nothing to do
        loaded: type[Any] | None = getattr(sys.modules.get(path), name, None)
        return getattr(importlib.import_module(path), name) if loaded is None else loaded

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Declared parameters of the class, in the order of its constructor."""
        declared: tuple[Parameter, ...] = self.load().parameters
        return declared

    @property
    def tunables(self) -> tuple[Parameter, ...]:
        """Those of its parameters that `spatialindex.tune` can vary."""
        return tuple(parameter for parameter in self.parameters if parameter.tunable)


_ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "brute-force",
            "spatialindex.indexes.brute_force:BruteForce",
            "contiguous scan; right below a few hundred objects",
        ),
        Entry(
            "grid",
            "spatialindex.indexes.grid:UniformGrid",
            "grid over given or found bounds in which each cell has its own place",
        ),
        Entry(
            "hash-grid",
            "spatialindex.indexes.grid:HashGrid",
            "unbounded grid in which only occupied cells exist",
        ),
        Entry(
            "hierarchical-grid",
            "spatialindex.indexes.hierarchical_grid:HierarchicalGrid",
            "levels of cells whose edge doubles, for sizes of many magnitudes",
        ),
        Entry(
            "loose-quadtree",
            "spatialindex.indexes.loose_tree:LooseQuadtree",
            "tree of squares with loose bounds, of any extent; for all sizes and uneven crowds",
            (2,),
        ),
        Entry(
            "loose-octree",
            "spatialindex.indexes.loose_tree:LooseOctree",
            "tree of cubes with loose bounds, of any extent; for all sizes and uneven crowds",
            (3,),
        ),
        Entry(
            "bvh",
            "spatialindex.indexes.bvh:BVH",
            "bounding volume hierarchy that stays good while things move; all sizes, rays, nearest",
        ),
        Entry(
            "kd-tree",
            "spatialindex.indexes.bvh:KDTree",
            "median-split tree for points and small boxes that stay where they are",
        ),
        Entry(
            "sweep-and-prune",
            "spatialindex.indexes.sweep_and_prune:SweepAndPrune",
            "sorted along one axis, in lanes along the others, and swept",
        ),
        Entry(
            "split",
            "spatialindex.split.index:SplitIndex",
            "one structure for what rests, one for what moves, one for what is oversized",
        ),
    )
}


def structures() -> tuple[Entry, ...]:
    """Return the registered structures, in the order in which tables show them.

    Examples
    --------
    >>> import spatialindex as si
    >>> [entry.name for entry in si.structures()][:3]
    ['brute-force', 'grid', 'hash-grid']
    """
    return tuple(_ENTRIES.values())


def find(name: str | Entry) -> Entry:
    """Return the entry of that name, or raise `InvalidArgumentError` with the nearest one."""
    if isinstance(name, Entry):
        name = name.name
    entry = _ENTRIES.get(name)
    if entry is not None:
        return entry
    hint = did_you_mean(name, _ENTRIES)
    raise InvalidArgumentError(f"unknown structure {name!r}; {hint}known: {', '.join(_ENTRIES)}")


def create(name: str | Entry, ndim: int = 2, **parameters: Any) -> Index:
    """Make an empty index by the name of its structure.

    Parameters
    ----------
    name : str
        A registered name: `entry.name` of the entries that `structures` lists.
    ndim : {2, 3}
        Number of dimensions.
    **parameters
        Declared parameters of the structure.

    Raises
    ------
    InvalidArgumentError
        For an unknown name or parameter, or an `ndim` that the structure does not have.

    Examples
    --------
    >>> import spatialindex as si
    >>> index = si.create("hash-grid", ndim=2, cell_size=4.0)
    >>> index.insert([[0, 0, 1, 1], [1, 1, 2, 2]])
    array([0, 1])
    >>> index.pairs()
    array([[0, 1]])
    """
    entry = find(name)
    if ndim not in entry.ndims:
        raise InvalidArgumentError(
            f"ndim={ndim!r}: {entry.name} indexes {' or '.join(f'{n}D' for n in entry.ndims)} boxes"
        )
    made = entry.load()
    for parameter in parameters:
        known = [declared.name for declared in made.parameters]
        if parameter not in known:
            hint = did_you_mean(parameter, known)
            has = f"it has {', '.join(known)}" if known else "it has no parameters"
            raise InvalidArgumentError(f"{entry.name} has no parameter {parameter!r}; {hint}{has}")
    index: Index = made(ndim, **parameters)
    return index


def register(entry: Entry) -> None:
    """Add a structure of your own under a new name, for `create`, comparisons and tests."""
    if not isinstance(entry, Entry):
        raise InvalidArgumentError(
            f"register was given {entry!r}: pass an entry, as in "
            "register(spatialindex.registry.Entry('mine', 'module:Class', 'what it is'))"
        )
    if entry.name in _ENTRIES:
        raise InvalidArgumentError(f"a structure named {entry.name!r} is registered already")
    _ENTRIES[entry.name] = entry


def unregister(name: str) -> None:
    """Take a structure of your own out again."""
    find(name)
    del _ENTRIES[name]
