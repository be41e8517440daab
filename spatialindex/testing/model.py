"""A reference index: a dictionary of objects that has the oracle answer every question.

It has the methods of an `Index` under the same names, with the same shapes in and out, and neither
a structure nor a door: arguments are valid, and what is refused is for the caller to know. Answers
are always in canonical order, and read-only::

    model = Model(ndim=2)
    model.insert([[0, 0, 1, 1], [1, 1, 2, 2]])     array([0, 1])
    model.pairs()                                  array([[0, 1]])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import oracle
from spatialindex.constants import ALL, BOX_DTYPE, DEFAULT_LAYER, ID_DTYPE, STATE_DTYPE
from spatialindex.testing.remembering import ask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from spatialindex.protocol import Among, Predicate, Sensors

    Content = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.void]]
    Answer = tuple[NDArray[np.int64], NDArray[np.float64]]

__all__ = ["Model"]


class Model:
    """Objects by id, asked through `spatialindex.oracle`.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.

    Examples
    --------
    >>> model = Model(ndim=2)
    >>> model.insert([[0, 0, 1, 1], [1, 1, 2, 2]], ids=[7, 3])
    array([7, 3])
    >>> model.query([0, 0, 1, 1])
    array([3, 7])
    >>> model.insert([5, 5, 6, 6])
    8
    """

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim
        self._boxes: dict[int, NDArray[np.float64]] = {}
        self._states: dict[int, NDArray[np.void]] = {}
        self._highest = -1
        # ids, boxes and states in the order of the ids; None when they have changed
        self._arrays: Content | None = None

    # Content

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of all objects, ascending."""
        return self._content()[0].copy()

    @property
    def bounds(self) -> NDArray[np.float64] | None:
        """One box around all objects, or None."""
        return oracle.bounds(self._content()[1])

    @property
    def next_id(self) -> int:
        """The id that would be given out next."""
        return self._highest + 1

    def __len__(self) -> int:
        return len(self._boxes)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._boxes

    def boxes(self, ids: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return stored boxes, ``(2*ndim,)`` for one id; of all objects by ascending id."""
        if isinstance(ids, int | np.integer):
            return self._boxes[int(ids)].copy()
        if ids is None:
            return self._content()[1].copy()
        rows = [self._boxes[i] for i in self._listed(ids)]
        return np.array(rows, BOX_DTYPE).reshape(-1, 2 * self.ndim)

    def state(self, ids: ArrayLike | None = None) -> NDArray[np.void]:
        """Return layers, masks and flags, shape ``()`` for one id; of all by ascending id."""
        if isinstance(ids, int | np.integer):
            return self._states[int(ids)].reshape(()).copy()
        if ids is None:
            return self._content()[2].copy()
        listed = self._listed(ids)
        rows = np.zeros(len(listed), STATE_DTYPE)  # what is between the fields, too
        for row, i in enumerate(listed):
            rows[row] = self._states[i][0]
        return rows

    # Changes

    def insert(
        self,
        boxes: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        layer: ArrayLike = DEFAULT_LAYER,
        mask: ArrayLike = ALL,
        static: ArrayLike = False,
        asleep: ArrayLike = False,
        sensor: ArrayLike = False,
    ) -> Any:
        """Add objects; returns their ids ``(n,)``, or an int for one box."""
        rows = np.asarray(boxes, BOX_DTYPE)
        if rows.ndim == 1 and rows.size:
            options = {"layer": layer, "mask": mask, "static": static, "asleep": asleep}
            return int(self.insert(rows[None], ids, sensor=sensor, **options)[0])
        self._arrays = None
        rows = rows.reshape(-1, 2 * self.ndim)
        n = len(rows)
        new = np.arange(n) + self.next_id if ids is None else np.asarray(ids, ID_DTYPE).reshape(n)
        states = oracle.default_state(n)
        for i, row, state in zip(new.tolist(), rows, states, strict=True):
            self._boxes[i] = row.copy()
            self._states[i] = np.array([state])
            self._highest = max(self._highest, i)
        self.set_state(new, layer=layer, mask=mask, static=static, asleep=asleep, sensor=sensor)
        return new.astype(ID_DTYPE)

    def update(self, ids: ArrayLike | None, boxes: ArrayLike) -> None:
        """Give objects new boxes; `ids` None is every object by ascending id."""
        self._arrays = None
        rows = np.asarray(boxes, BOX_DTYPE).reshape(-1, 2 * self.ndim)
        for i, row in zip(self._listed(ids), rows, strict=True):
            self._boxes[i] = row.copy()

    def remove(self, ids: ArrayLike) -> None:
        """Take objects out."""
        self._arrays = None
        for i in self._listed(ids):
            del self._boxes[i], self._states[i]

    def clear(self) -> None:
        """Take all objects out; the highest id is remembered."""
        self._arrays = None
        self._boxes.clear()
        self._states.clear()

    def set_state(self, ids: ArrayLike, **options: ArrayLike | None) -> None:
        """Change layers, masks and flags."""
        self._arrays = None
        listed = self._listed(ids)
        for name, value in options.items():
            if value is not None:
                dtype = STATE_DTYPE[name]
                values = np.broadcast_to(np.asarray(value, dtype), len(listed))
                for i, one in zip(listed, values, strict=True):
                    self._states[i][name] = one

    def rebuild(self) -> None:
        """Do nothing: there is no structure."""

    def copy(self) -> Model:
        """Return an independent copy."""
        other = Model(self.ndim)
        other._boxes = {i: box.copy() for i, box in self._boxes.items()}
        other._states = {i: state.copy() for i, state in self._states.items()}
        other._highest = self._highest
        return other

    # Questions

    def query(
        self, boxes: ArrayLike, *, predicate: Predicate = "intersects", layers: int = ALL
    ) -> NDArray[np.int64]:
        """Return ids ``(n,)`` for one box, rows (row of the input, id) for many."""
        rows, is_one = self._rows(boxes, 2 * self.ndim)
        found = ask(oracle.query, *self._content(), rows, predicate=predicate, layers=layers)
        return found[:, 1] if is_one else found

    def query_point(self, points: ArrayLike, *, layers: int = ALL) -> NDArray[np.int64]:
        """Return the objects that hold each point."""
        points = np.asarray(points, BOX_DTYPE)
        return self.query(np.concatenate((points, points), axis=-1), layers=layers)

    def query_radius(
        self, centers: ArrayLike, radii: ArrayLike, *, layers: int = ALL
    ) -> NDArray[np.int64]:
        """Return the objects within a distance of each center."""
        rows, is_one = self._rows(centers, self.ndim)
        found = ask(oracle.query_radius, *self._content(), rows, radii, layers=layers)
        return found[:, 1] if is_one else found

    def count(
        self, boxes: ArrayLike, *, predicate: Predicate = "intersects", layers: int = ALL
    ) -> Any:
        """Return an int for one box, ``(q,)`` for many."""
        rows, is_one = self._rows(boxes, 2 * self.ndim)
        found = ask(oracle.count, *self._content(), rows, predicate=predicate, layers=layers)
        return int(found[0]) if is_one else found

    def query_planes(
        self, normals: ArrayLike, offsets: ArrayLike, *, layers: int = ALL
    ) -> NDArray[np.int64]:
        """Return the objects that are not wholly outside any plane, ids ``(n,)``."""
        rows, _ = self._rows(normals, self.ndim)
        limits = np.broadcast_to(np.asarray(offsets, BOX_DTYPE), len(rows))
        return ask(oracle.query_planes, *self._content(), rows, limits, layers=layers)

    def nearest(
        self,
        points: ArrayLike,
        k: int = 1,
        *,
        max_distance: ArrayLike = np.inf,
        layers: int = ALL,
        ignore: ArrayLike | None = None,
    ) -> Answer:
        """Return ids and distances, ``(k,)`` for one point, ``(q, k)`` for many."""
        rows, is_one = self._rows(points, self.ndim)
        ids, distances = ask(
            oracle.nearest,
            *self._content(),
            rows,
            k,
            max_distance=max_distance,
            layers=layers,
            ignore=_nobody(ignore),
        )
        return (ids[0], distances[0]) if is_one else (ids, distances)

    def raycast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        max_t: ArrayLike = np.inf,
        layers: int = ALL,
        ignore: ArrayLike | None = None,
    ) -> Any:
        """Return id and t of the first hit: scalars for one ray, ``(q,)`` for many."""
        rows, ways, is_one = self._matched(origins, directions, self.ndim)
        seen: Any = {"max_t": max_t, "layers": layers, "ignore": _nobody(ignore)}
        return _first(ask(oracle.raycast, *self._content(), rows, ways, **seen), is_one)

    def raycast_all(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        max_t: ArrayLike = np.inf,
        layers: int = ALL,
        ignore: ArrayLike | None = None,
    ) -> Answer:
        """Return all hits by row, t, id: ids and t for one, rows (row, id) and t for many."""
        rows, ways, is_one = self._matched(origins, directions, self.ndim)
        seen: Any = {"max_t": max_t, "layers": layers, "ignore": _nobody(ignore)}
        return _hits(ask(oracle.raycast_all, *self._content(), rows, ways, **seen), is_one)

    def boxcast(
        self,
        boxes: ArrayLike,
        motions: ArrayLike,
        *,
        layers: int = ALL,
        ignore: ArrayLike | None = None,
    ) -> Any:
        """Return id and t of the first touch: scalars for one box, ``(q,)`` for many."""
        rows, ways, is_one = self._matched(boxes, motions, 2 * self.ndim)
        seen: Any = {"layers": layers, "ignore": _nobody(ignore)}
        return _first(ask(oracle.boxcast, *self._content(), rows, ways, **seen), is_one)

    def boxcast_all(
        self,
        boxes: ArrayLike,
        motions: ArrayLike,
        *,
        layers: int = ALL,
        ignore: ArrayLike | None = None,
    ) -> Answer:
        """Return all touches by row, t, id: ids and t for one, rows (row, id) and t for many."""
        rows, ways, is_one = self._matched(boxes, motions, 2 * self.ndim)
        seen: Any = {"layers": layers, "ignore": _nobody(ignore)}
        return _hits(ask(oracle.boxcast_all, *self._content(), rows, ways, **seen), is_one)

    def pairs(self, *, among: Among = "active", sensors: Sensors = "include") -> NDArray[np.int64]:
        """Return all pairs that the pair rule passes, rows (a, b) with ``a < b``."""
        return ask(oracle.pairs, *self._content(), among=among, sensors=sensors)

    def join(self, other: Any, *, layers: int = ALL, other_layers: int = ALL) -> NDArray[np.int64]:
        """Return rows (id here, id there) with another `Model`, or (id, row) with boxes."""
        if isinstance(other, Model):
            return ask(
                oracle.join,
                *self._content(),
                *other._content(),
                layers=layers,
                other_layers=other_layers,
            )
        rows, _ = self._rows(other, 2 * self.ndim)
        return ask(oracle.join, *self._content(), np.arange(len(rows)), rows, layers=layers)

    def _listed(self, ids: ArrayLike | None) -> list[int]:
        listed: list[int] = (
            sorted(self._boxes) if ids is None else np.asarray(ids, ID_DTYPE).reshape(-1).tolist()
        )
        return listed

    def _content(self) -> Content:
        if self._arrays is None:
            ids = sorted(self._boxes)
            self._arrays = np.array(ids, ID_DTYPE), self.boxes(ids), self.state(ids)
        return self._arrays

    def _rows(self, values: ArrayLike, width: int) -> tuple[NDArray[np.float64], bool]:
        """Return a batch, and whether it was one."""
        array = np.asarray(values, BOX_DTYPE)
        return array.reshape(-1, width), array.ndim == 1 and array.size > 0

    def _matched(
        self, starts: ArrayLike, motions: ArrayLike, width: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
        """Return starts and motions row by row, and whether both were one; one serves many."""
        rows, is_one_start = self._rows(starts, width)
        ways, is_one_way = self._rows(motions, self.ndim)
        n = len(ways) if is_one_start else len(rows)
        matched = np.broadcast_to(rows, (n, width)), np.broadcast_to(ways, (n, self.ndim))
        return *matched, is_one_start and is_one_way


def _nobody(ignore: ArrayLike | None) -> ArrayLike:
    """Return what the oracle calls nobody, where nobody is ignored."""
    return -1 if ignore is None else ignore


def _first(answer: Answer, is_one: bool) -> Any:
    """Return one answer a row, or scalars."""
    ids, t = answer
    return (int(ids[0]), float(t[0])) if is_one else answer


def _hits(answer: Answer, is_one: bool) -> Answer:
    """Return rows and t, or ids and t of the only row."""
    rows, t = answer
    return (rows[:, 1], t) if is_one else answer
