"""Who takes part: structures by name and parameters, and one contestant that does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import registry
from spatialindex.comparison.facts import median
from spatialindex.comparison.results import Status, Work
from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from spatialindex.comparison.peer_indexes import PeerContestant
    from spatialindex.protocol import Among, Index
    from spatialindex.results import IndexStats

__all__ = ["EMPTY", "Contestant", "Entrant", "Nothing", "chosen"]

EMPTY = "(empty)"
"""Name of the contestant that does nothing."""


@dataclass(frozen=True)
class Contestant:
    """One structure with the parameters that it takes part with."""

    name: str
    """Its name in the registry."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that were given."""

    @property
    def label(self) -> str:
        """What tables call it: its name and what sets it apart from its defaults."""
        return " ".join((self.name, *(f"{key}={value}" for key, value in self.parameters.items())))

    def make(self, ndim: int) -> Index:
        """Make an empty index."""
        return registry.create(self.name, ndim, **self.parameters)


@dataclass
class Entrant:
    """A contestant on its way through a comparison: what became of it so far."""

    contestant: Contestant | PeerContestant
    status: Status = "ok"
    note: str = ""
    """What is to be said about it."""
    compile: float | None = None
    """Seconds of its first calls."""
    checked: int = 0
    """Frames in which all its answers were equal to the oracle's."""
    last_checked: int = -1
    """The last of them."""
    check_seconds: float = 0.0
    """Time that its calls took while they were checked."""
    stats: list[IndexStats] = field(default_factory=list)
    """Statistics of frames that were checked."""

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.contestant.label

    @property
    def is_peer(self) -> bool:
        """Whether it is another library, and no structure of the registry."""
        return not isinstance(self.contestant, Contestant)

    @contextmanager
    def blamed(self, status: Status, where: str) -> Iterator[None]:
        """Turn an error of its code into its status: it is out, the others go on."""
        try:
            yield
        except Exception as error:  # whatever a structure of anybody's may raise
            lines = str(error).splitlines()
            self.drop(status, f"{where}: {type(error).__name__}: {lines[0] if lines else ''}")

    def drop(self, status: Status, note: str) -> None:
        """Take it out, and say why."""
        self.status, self.note = status, note

    def work(self, *, frames: int, has_pairs: bool) -> Work | None:
        """Sum up the statistics of the first `frames` frames in which they were taken."""
        stats = self.stats[:frames]
        if not stats:
            return None
        return Work(
            frames=len(stats),
            pairs=median([s.pairs for s in stats]) if has_pairs else None,
            candidates=median([s.candidates for s in stats]) if has_pairs else None,
            visits=median([s.visits for s in stats]) if has_pairs else None,
            entries=median([s.entries for s in stats]),
            buckets=median([s.buckets for s in stats]),
            max_bucket=max(s.max_bucket for s in stats),
            wide=max(s.wide for s in stats),
            nbytes=max(s.nbytes for s in stats),
            rebuilds=stats[-1].rebuilds,
        )


def chosen(
    structures: Iterable[str | tuple[str, Mapping[str, Any]]] | None, ndim: int
) -> tuple[Contestant, ...]:
    """Return the contestants for a choice of structures, each made once to prove that it can be.

    Parameters
    ----------
    structures : iterable of str or (str, mapping), optional
        Names, or names with parameters; None takes every registered structure that indexes `ndim`
        dimensions, with its defaults.
    ndim : {2, 3}
        Number of dimensions of the scene.

    Raises
    ------
    InvalidArgumentError
        For an unknown name or parameter, a structure that does not index `ndim` dimensions, a
        choice of none, or one contestant twice.
    """
    if structures is None:
        picked: Sequence[Contestant] = [
            Contestant(entry.name) for entry in registry.structures() if ndim in entry.ndims
        ]
    else:
        if isinstance(structures, str):
            structures = (structures,)
        picked = [_contestant(choice) for choice in structures]
    if not picked:
        raise InvalidArgumentError("structures is empty: name at least one, or leave it out")
    labels = [contestant.label for contestant in picked]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidArgumentError(
                f"structures: {label!r} is there twice; give the second one other parameters"
            )
    for contestant in picked:
        contestant.make(ndim)
    return tuple(picked)


def _contestant(choice: str | tuple[str, Mapping[str, Any]]) -> Contestant:
    if isinstance(choice, str):
        return Contestant(choice)
    if (
        isinstance(choice, tuple | list)
        and len(choice) == 2
        and isinstance(choice[0], str)
        and isinstance(choice[1], Mapping)
    ):
        return Contestant(choice[0], dict(choice[1]))
    raise InvalidArgumentError(
        f"structures: {choice!r} is neither a name nor a pair (name, parameters), as in "
        "('hash-grid', {'cell_size': 2.0})"
    )


class Nothing:
    """An index that does nothing: what it is timed at is what the harness itself costs."""

    def __init__(self) -> None:
        self._no_rows = np.empty((0, 2), np.int64)

    def insert(
        self, boxes: Any, ids: Any, *, layer: Any, mask: Any, static: Any, asleep: Any, sensor: Any
    ) -> None:
        """Do nothing."""

    def update(self, ids: Any, boxes: Any) -> None:
        """Do nothing."""

    def remove(self, ids: Any) -> None:
        """Do nothing."""

    def set_state(self, ids: Any, *, asleep: Any) -> None:
        """Do nothing."""

    def pairs(self, *, among: Among) -> NDArray[np.int64]:
        """Return no rows."""
        return self._no_rows

    def query(self, boxes: Any) -> NDArray[np.int64]:
        """Return no rows."""
        return self._no_rows

    def nearest(self, points: Any, k: int) -> NDArray[np.int64]:
        """Return no rows."""
        return self._no_rows

    def raycast(self, origins: Any, directions: Any, *, max_t: Any, ignore: Any) -> Any:
        """Return no rows."""
        return self._no_rows
