"""Other libraries, where they answer the same question and are installed: drivers, a class each.

A peer gets its input in the form that it likes, made beforehand and not timed. What is timed is its
building and asking, and dropping mirrored pairs where it finds every pair twice; turning its answer
into rows that can be compared is not. So a peer is never charged for being driven from here.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["PEERS", "Peer", "answers", "installed", "mirrored_out"]


class Peer:
    """One library. A method that it does not override is a question that it does not answer."""

    name: ClassVar[str]
    module: ClassVar[str]
    distribution: ClassVar[str]
    ndims: ClassVar[tuple[int, ...]] = (2,)
    most: ClassVar[int] = 10_000_000
    """Objects above which it takes too long to be waited for."""
    is_for_points: ClassVar[bool] = False
    """Whether it indexes points, and no boxes."""

    def words(self) -> str:
        """Return its version."""
        return version(self.distribution)

    def given(self, boxes: NDArray[np.float64]) -> Any:
        """Return boxes in its own form."""
        return boxes

    def empty(self, ndim: int) -> Any:
        """Make a tree to insert into."""
        raise NotImplementedError

    def build(self, given: Any) -> Any:
        """Build a tree."""
        raise NotImplementedError

    def pairs(self, tree: Any, given: Any) -> NDArray[Any]:
        """Return the pairs of what the tree was built from, ``(m, 2)`` with a < b."""
        raise NotImplementedError

    def query(self, tree: Any, given: Any) -> Any:
        """Ask with many boxes."""
        raise NotImplementedError

    def rows(self, found: Any) -> NDArray[np.int64]:
        """Turn what `query` returned into rows (row, id)."""
        return np.column_stack([np.asarray(column) for column in found])

    def one(self, tree: Any) -> Callable[[Sequence[float]], Any]:
        """Return what is called with the bounds of one box, for ids."""
        raise NotImplementedError

    def one_given(self, tree: Any) -> Callable[[Any], Any]:
        """Return what is called with one box in its own form, made beforehand, for ids."""
        raise NotImplementedError

    def balls(
        self, points: NDArray[np.float64], workers: int
    ) -> Callable[[NDArray[np.float64], NDArray[np.float64]], Any]:
        """Index points; return what is called with centers and radii, for ids, a list a ball."""
        raise NotImplementedError

    def nearest(self, tree: Any, points: NDArray[np.float64], k: int) -> Any:
        """Return rows and ids of the `k` nearest boxes of points, and all that are as near."""
        raise NotImplementedError

    def neighbors(
        self, points: NDArray[np.float64], workers: int
    ) -> Callable[[NDArray[np.float64], int], Any]:
        """Index points; return what is called with others and k, for rows and ids."""
        raise NotImplementedError

    def closest(self, tree: Any, points: NDArray[np.float64], k: int) -> Any:
        """Return ids and distances of the `k` objects closest to points, ``(q, k)``."""
        raise NotImplementedError

    def lines(self, starts: NDArray[np.float64], ends: NDArray[np.float64]) -> Any:
        """Return segments in its own form."""
        raise NotImplementedError

    def segments(self, tree: Any, given: Any) -> Any:
        """Return rows and ids of all boxes that segments meet."""
        raise NotImplementedError

    def first_hits(
        self, tree: Any, origins: NDArray[np.float64], directions: NDArray[np.float64]
    ) -> Callable[[], NDArray[Any]]:
        """Return what is called for the id of what each ray meets first, -1 for nothing."""
        raise NotImplementedError


class Shapely(Peer):
    """STRtree of GEOS."""

    name, module, distribution = "shapely", "shapely", "shapely"

    def words(self) -> str:
        import shapely

        return f"{shapely.__version__} (GEOS {shapely.geos_version_string})"

    def given(self, boxes: NDArray[np.float64]) -> Any:
        import shapely

        return shapely.box(*boxes.T)

    def build(self, given: Any) -> Any:
        import shapely

        tree = shapely.STRtree(given)
        tree.query(given[0])  # it is built at the first query
        return tree

    def pairs(self, tree: Any, given: Any) -> NDArray[Any]:
        return mirrored_out(*tree.query(given))

    def query(self, tree: Any, given: Any) -> Any:
        return tree.query(given)

    def lines(self, starts: NDArray[np.float64], ends: NDArray[np.float64]) -> Any:
        import shapely

        return shapely.linestrings(np.stack((starts, ends), axis=1))

    def segments(self, tree: Any, given: Any) -> Any:
        return tree.query(given, predicate="intersects")

    def one(self, tree: Any) -> Callable[[Sequence[float]], Any]:
        import shapely

        query, box = tree.query, shapely.box
        return lambda bounds: query(box(*bounds))

    def one_given(self, tree: Any) -> Callable[[Any], Any]:
        query: Callable[[Any], Any] = tree.query
        return query


class Geoindex(Peer):
    """Packed Hilbert R-tree in Rust."""

    name, module, distribution = "geoindex-rs", "geoindex_rs", "geoindex-rs"

    def _rtree(self) -> Any:
        return import_module("geoindex_rs").rtree

    def build(self, given: Any) -> Any:
        rtree = self._rtree()

        builder = rtree.RTreeBuilder(num_items=len(given))
        builder.add(given)
        return builder.finish()

    def pairs(self, tree: Any, given: Any) -> NDArray[Any]:
        rtree = self._rtree()

        found = rtree.tree_join(tree, tree)
        return mirrored_out(found["left"], found["right"])

    def query(self, tree: Any, given: Any) -> Any:
        rtree = self._rtree()

        found = rtree.tree_join(self.build(given), tree)  # it has no other way to ask many
        return found["left"], found["right"]

    def one(self, tree: Any) -> Callable[[Sequence[float]], Any]:
        rtree = self._rtree()

        search = rtree.search
        return lambda bounds: search(tree, *bounds)


class Rtree(Peer):
    """R*-tree of libspatialindex."""

    name, module, distribution = "rtree", "rtree", "rtree"
    ndims = (2, 3)
    most = 100_000

    def given(self, boxes: NDArray[np.float64]) -> Any:
        ndim = boxes.shape[1] // 2
        lower, upper = boxes[:, :ndim], boxes[:, ndim:]
        return np.arange(len(boxes)), np.ascontiguousarray(lower), np.ascontiguousarray(upper)

    def empty(self, ndim: int) -> Any:
        from rtree import index

        return index.Index(properties=index.Property(dimension=ndim))

    def build(self, given: Any) -> Any:
        from rtree import index

        return index.Index(given, properties=index.Property(dimension=given[1].shape[1]))

    def pairs(self, tree: Any, given: Any) -> NDArray[Any]:
        return mirrored_out(*self.query(tree, given))

    def query(self, tree: Any, given: Any) -> Any:
        ids, sizes = tree.intersection_v(*given[1:])
        return np.repeat(np.arange(len(sizes)), sizes.astype(np.int64)), ids

    def nearest(self, tree: Any, points: NDArray[np.float64], k: int) -> Any:
        ids, sizes = tree.nearest_v(points, points, num_results=k)
        return np.repeat(np.arange(len(sizes)), sizes.astype(np.int64)), ids

    def one(self, tree: Any) -> Callable[[Sequence[float]], Any]:
        intersection = tree.intersection
        return lambda bounds: list(intersection(bounds))


class Scipy(Peer):
    """k-d tree of points: cKDTree."""

    name, module, distribution = "scipy", "scipy", "scipy"
    ndims = (2, 3)
    is_for_points = True

    def given(self, boxes: NDArray[np.float64]) -> Any:
        return np.ascontiguousarray(boxes[:, : boxes.shape[1] // 2])

    def build(self, given: Any) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(given)

    def pairs(self, tree: Any, given: Any) -> NDArray[Any]:
        rows: NDArray[Any] = tree.query_pairs(0.0, p=np.inf, output_type="ndarray")
        return rows

    def closest(self, tree: Any, points: NDArray[np.float64], k: int) -> Any:
        distances, ids = tree.query(points, np.arange(1, min(k, tree.n) + 1))
        return ids, distances

    def balls(
        self, points: NDArray[np.float64], workers: int
    ) -> Callable[[NDArray[np.float64], NDArray[np.float64]], Any]:
        from scipy.spatial import cKDTree

        query = cKDTree(points).query_ball_point
        return lambda centers, radii: query(centers, radii, workers=workers)

    def neighbors(
        self, points: NDArray[np.float64], workers: int
    ) -> Callable[[NDArray[np.float64], int], Any]:
        from scipy.spatial import cKDTree

        query = cKDTree(points).query

        def ask(asked: NDArray[np.float64], k: int) -> Any:
            _, ids = query(asked, min(k, len(points)), workers=workers)
            return np.repeat(np.arange(len(asked)), ids.size // len(asked)), ids.ravel()

        return ask


PEERS: tuple[Peer, ...] = (Shapely(), Geoindex(), Rtree(), Scipy())
"""All peers, in the order in which tables show them."""


def installed(peers: Iterable[Peer] = PEERS) -> tuple[Peer, ...]:
    """Return those that can be imported."""
    return tuple(peer for peer in peers if importlib.util.find_spec(peer.module) is not None)


def answers(peer: Peer, method: str) -> bool:
    """Tell if a peer has a method."""
    return getattr(type(peer), method) is not getattr(Peer, method)


def mirrored_out(first: Any, second: Any) -> NDArray[np.int64]:
    """Return pairs ``a < b`` of a join of something with itself, which has each pair twice.

    >>> mirrored_out([0, 1, 1, 2], [1, 0, 1, 0])
    array([[0, 1]])
    """
    a, b = np.asarray(first), np.asarray(second)
    kept = a < b
    return np.column_stack((a[kept], b[kept]))
