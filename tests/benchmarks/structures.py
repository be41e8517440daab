"""The library's structures as contestants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.registry import create, find
from spatialindex.registry import structures as registered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.protocol import Index
    from tests.benchmarks.settings import Settings

__all__ = ["Structure", "bring_up_to_date", "has_parameter", "structures"]

_QUADRATIC = "brute-force"
_MOST_QUADRATIC = 20_000  # objects; 100,000 take it half a minute


@dataclass(frozen=True)
class Structure:
    """One structure of the registry with the parameters that it takes part with."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    """What tables say behind the name."""

    @property
    def label(self) -> str:
        """What tables call it."""
        return " ".join(filter(None, (self.name, self.note)))

    def empty(self, ndim: int) -> Index:
        """Make an empty index."""
        return create(self.name, ndim, **self.parameters)

    def of(self, boxes: NDArray[np.float64]) -> Index:
        """Make an index that is up to date."""
        index = self.empty(boxes.shape[1] // 2)
        index.insert(boxes)
        bring_up_to_date(index)
        return index

    def edge(self, boxes: NDArray[np.float64]) -> float:
        """Return the edge of the cells that a grid of these boxes has."""
        index: Any = self.of(boxes)
        edge: float = index.edge
        return edge


def bring_up_to_date(index: Index) -> None:
    """Make an index do the work that changes have put off, by a question of no boxes."""
    index.query(np.empty((0, 2 * index.ndim)))


def structures(
    settings: Settings, ndim: int, n: int = 0, *, is_quadratic: bool = False
) -> list[Structure]:
    """Return the structures that take part with `n` objects.

    Brute force stays away from many objects where its cost is quadratic, unless asked for by name.
    """
    chosen = []
    for entry in registered():
        if ndim not in entry.ndims or entry.name not in (settings.structures or (entry.name,)):
            continue
        is_hopeless = is_quadratic and entry.name == _QUADRATIC and n > _MOST_QUADRATIC
        if settings.structures or not is_hopeless:
            chosen.append(Structure(entry.name))
    return chosen


def has_parameter(structure: Structure, name: str) -> bool:
    """Tell if a structure declares a parameter."""
    return name in [parameter.name for parameter in find(structure.name).parameters]
