"""Other libraries that take part: those of the product's comparison, and for rays a ray tracer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import comparison
from spatialindex.comparison.peers import Peer, answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tests.benchmarks.settings import Settings

__all__ = ["PEERS", "Peer", "answers", "installed", "peers"]


class Embree(Peer):
    """A ray tracer: boxes become meshes of twelve triangles, in float32.

    A ray that begins in a box meets its far side, so it answers our question only from outside.
    """

    name, module, distribution = "embree", "embreex", "embreex"
    ndims = (3,)
    _corners = np.array([[i >> d & 1 for d in range(3)] for i in range(8)], np.bool_)
    _faces = np.array(
        [[0, 2, 6, 4], [1, 5, 7, 3], [0, 4, 5, 1], [2, 3, 7, 6], [0, 1, 3, 2], [4, 6, 7, 5]]
    )
    _triangles = np.concatenate((_faces[:, [0, 1, 2]], _faces[:, [0, 2, 3]]))

    def build(self, given: Any) -> Any:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        corners = np.where(self._corners, given[:, None, 3:], given[:, None, :3])
        faces = self._triangles + 8 * np.arange(len(given))[:, None, None]
        scene = EmbreeScene()
        TriangleMesh(
            scene, corners.reshape(-1, 3).astype(np.float32), faces.reshape(-1, 3).astype(np.int32)
        )
        scene.run(np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32))  # it is built now
        return scene

    def first_hits(
        self, tree: Any, origins: NDArray[np.float64], directions: NDArray[np.float64]
    ) -> Callable[[], NDArray[Any]]:
        rays = origins.astype(np.float32), directions.astype(np.float32)
        return lambda: tree.run(*rays) // len(self._triangles)  # -1 for nothing, floor of -1/12


PEERS: tuple[Peer, ...] = (*comparison.peers.PEERS, Embree())
"""All peers, in the order in which tables show them."""


def installed() -> tuple[Peer, ...]:
    """Return those that can be imported."""
    return comparison.peers.installed(PEERS)


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
