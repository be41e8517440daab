"""Other libraries that take part: those of the product's comparison that a run asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spatialindex.comparison.peers import PEERS, Peer, answers, installed

if TYPE_CHECKING:
    from tests.benchmarks.settings import Settings

__all__ = ["PEERS", "Peer", "answers", "installed", "peers"]


def peers(settings: Settings, ndim: int, n: int, *methods: str) -> list[Peer]:
    """Return the peers that were asked for and answer by all of these methods."""
    return [
        peer
        for peer in installed()
        if (settings.peers is None or peer.name in settings.peers)
        and ndim in peer.ndims
        and n <= peer.most
        and peer.is_for_points == _wants_points(methods)
        and all(answers(peer, name) for name in methods)
    ]


def _wants_points(methods: tuple[str, ...]) -> bool:
    """Tell if what is asked for is about points alone."""
    return bool({"balls", "neighbors"} & set(methods))
