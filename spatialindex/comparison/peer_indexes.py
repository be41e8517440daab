"""Other libraries as contestants: what an index does, by a library that only builds and asks.

A library gets a new tree whenever something has changed, and answers by row; rows become ids, and
answers get the canonical order. What is charged to it and what is not::

    charged       building its tree, asking it, dropping mirrored pairs, the pair filter in NumPy
    not charged   keeping ids and boxes, boxes in the library's own form, ids, order

Its answers are compared with the oracle's as everybody's are. A library that sees open intervals,
or float32, differs, and then it has no times.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import oracle
from spatialindex.comparison.contestants import Entrant
from spatialindex.comparison.peers import PEERS, Peer, answers, installed
from spatialindex.constants import STATE_DTYPE
from spatialindex.errors import InvalidArgumentError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from spatialindex.comparison.playback import Playback
    from spatialindex.protocol import Among

__all__ = ["PeerContestant", "PeerIndex", "chosen_peers"]

_METHODS = {"pairs": "pairs", "query": "query", "nearest": "closest"}  # no library casts our rays
_FAR = np.finfo(np.float64).max


@dataclass(frozen=True)
class PeerContestant:
    """A library that takes part."""

    peer: Peer
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the library."""
        return self.peer.name

    @property
    def label(self) -> str:
        """What tables call it: its name and version."""
        try:
            return f"{self.name} {version(self.peer.distribution)}"
        except PackageNotFoundError:
            return self.name

    def make(self, ndim: int) -> PeerIndex:
        """Make an empty index."""
        return PeerIndex(self.peer, ndim)


class PeerIndex:
    """A library behind the methods of an index that a comparison calls."""

    def __init__(self, peer: Peer, ndim: int) -> None:
        self.ndim = ndim
        self.uncharged = 0.0
        """Seconds so far that are not the library's."""
        self._peer = peer
        self._ids = np.empty(0, np.int64)
        self._boxes = np.empty((0, 2 * ndim))
        self._state = np.empty(0, STATE_DTYPE)
        self._tree: Any = None
        self._given: Any = None
        self._is_stale = True

    @contextmanager
    def _free(self) -> Iterator[None]:
        """Do something that the library is not charged for."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.uncharged += time.perf_counter() - started

    # -- changes --------------------------------------------------------------------------------

    def insert(
        self, boxes: Any, ids: Any, *, layer: Any, mask: Any, static: Any, asleep: Any, sensor: Any
    ) -> None:
        """Add objects."""
        given = {"layer": layer, "mask": mask, "static": static, "asleep": asleep}
        with self._free():
            state = np.zeros(len(ids), STATE_DTYPE)
            for name, values in (given | {"sensor": sensor}).items():
                state[name] = values
            order = np.argsort(joined := np.concatenate((self._ids, ids)), kind="stable")
            self._ids = joined[order]
            self._boxes = np.concatenate((self._boxes, boxes))[order]
            self._state = np.concatenate((self._state, state))[order]
            self._is_stale = True

    def update(self, ids: Any, boxes: Any) -> None:
        """Give objects new boxes."""
        with self._free():
            self._boxes[np.searchsorted(self._ids, ids)] = boxes
            self._is_stale = True

    def remove(self, ids: Any) -> None:
        """Take objects out."""
        with self._free():
            kept = np.ones(len(self._ids), bool)
            kept[np.searchsorted(self._ids, ids)] = False
            self._ids, self._boxes = self._ids[kept], self._boxes[kept]
            self._state = self._state[kept]
            self._is_stale = True

    def set_state(self, ids: Any, *, asleep: Any) -> None:
        """Let objects fall asleep or wake up: the tree does not change by that."""
        with self._free():
            self._state["asleep"][np.searchsorted(self._ids, ids)] = asleep

    # -- questions ------------------------------------------------------------------------------

    def pairs(self, *, among: Among) -> NDArray[np.int64]:
        """Return the pairs."""
        if not self._is_built():
            return np.empty((0, 2), np.int64)
        rows = np.asarray(self._peer.pairs(self._tree, self._given)).astype(np.intp, copy=False)
        a, b = rows[:, 0], rows[:, 1]
        passed = oracle.passes(self._state[a], self._state[b], among=among)
        with self._free():
            return _canonical(self._ids[a[passed]], self._ids[b[passed]])

    def query(self, boxes: Any) -> NDArray[np.int64]:
        """Return the rows of a batch of range queries."""
        if not self._is_built() or not len(boxes):
            return np.empty((0, 2), np.int64)
        with self._free():
            # libraries have no infinity, and nothing is beyond the largest float
            given = self._peer.given(np.clip(boxes, -_FAR, _FAR))
        found = self._peer.query(self._tree, given)
        with self._free():
            rows = self._peer.rows(found).astype(np.int64)
            seen = self._state["layer"][rows[:, 1]] != 0
            return _canonical(rows[seen, 0], self._ids[rows[seen, 1]])

    def nearest(self, points: Any, k: int) -> Any:
        """Return ids and distances of the nearest objects, padded."""
        ids = np.full((len(points), k), -1, np.int64)
        distances = np.full((len(points), k), np.inf)
        if self._is_built():
            rows, found = self._peer.closest(self._tree, points, k)
            with self._free():
                order = np.lexsort((self._ids[rows], found))
                ids[:, : rows.shape[1]] = np.take_along_axis(self._ids[rows], order, axis=1)
                distances[:, : rows.shape[1]] = np.take_along_axis(found, order, axis=1)
        return ids, distances

    def raycast(self, origins: Any, directions: Any, *, max_t: Any, ignore: Any) -> Any:
        """Refuse: no library answers this as we ask it."""
        raise NotImplementedError(f"{self._peer.name} casts no rays")

    def _is_built(self) -> bool:
        """Build the tree when something has changed; tell if there is anything in it."""
        if self._is_stale:
            with self._free():
                self._given = self._peer.given(self._boxes) if len(self._ids) else None
            self._tree = self._peer.build(self._given) if len(self._ids) else None
            self._is_stale = False
        return len(self._ids) > 0


def _canonical(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.lexsort((b, a))
    return np.stack((a[order], b[order]), axis=-1)


def chosen_peers(names: str | Iterable[str], play: Playback, asked: Iterable[str]) -> list[Entrant]:
    """Return the libraries that take part; one that cannot answer what is asked is left out.

    Parameters
    ----------
    names : str or iterable of str
        Names of libraries; ``"all"`` stands for all that are installed.
    play : Playback
        What is played.
    asked : iterable of str
        Jobs whose answers are checked.

    Raises
    ------
    InvalidArgumentError
        For a name that is not known, and for a library that is not installed.
    """
    known = {peer.name: peer for peer in PEERS}
    there = [peer.name for peer in installed()]
    words = [names] if isinstance(names, str) else list(names)
    picked: list[str] = []
    for name in words:
        if name not in (*known, "all"):
            hint = did_you_mean(name, known)
            raise InvalidArgumentError(
                f"unknown peer {name!r}; {hint}known: {', '.join(known)}, or all"
            )
        if name != "all" and name not in there:
            raise InvalidArgumentError(
                f"peer {name!r} is not installed; pip install {known[name].distribution}, or "
                'all of them: pip install "spatialindex[peers]"'
            )
        picked += there if name == "all" else [name]
    entrants = []
    for name in dict.fromkeys(picked):
        entrant = Entrant(PeerContestant(known[name]))
        reason = _inability(known[name], play, asked)
        if reason:
            entrant.drop("left out", reason)
        entrants.append(entrant)
    return entrants


def _inability(peer: Peer, play: Playback, asked: Iterable[str]) -> str:
    """Say why a library cannot take part; empty when it can."""
    recording, ndim = play.recording, play.ndim
    if ndim not in peer.ndims:
        return f"it has no {ndim}D boxes"
    if recording.n > peer.most:
        return f"{recording.n:,} objects take it too long; {peer.most:,} are the most"
    missing = [job for job in asked if job not in _METHODS or not answers(peer, _METHODS[job])]
    if missing:
        return f"it does not answer {', '.join(missing)}; leave that out of the jobs to see it"
    boxes = recording.boxes[: play.frames][recording.alive[: play.frames]]
    if peer.is_for_points and (boxes[:, :ndim] != boxes[:, ndim:]).any():
        return "it indexes points, and these boxes have extents"
    return ""
