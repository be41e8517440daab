"""An index and its model side by side: every call is made on both and the answers are compared.

twin = Twin(si.HashGrid(2))
twin.insert([[0, 0, 1, 1], [1, 1, 2, 2]])       on both; the ids returned must be the same
twin.pairs(among="all")                         on both; compared bit for bit
twin.refuses(si.UnknownIdError, "remove", [9])  on the index; nothing may have changed
twin.check()                                    content, every kind of question, validate()
"""

from __future__ import annotations

import copy
import pickle
import reprlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.constants import AMONG, PREDICATES, SENSORS, STATE_DTYPE
from spatialindex.errors import SpatialIndexError
from spatialindex.protocol import Index
from spatialindex.testing.answers import assert_same, canonical
from spatialindex.testing.model import Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["COPIES", "Factory", "Twin"]

Factory = Callable[[int], Index]
"""What is under test: ``factory(ndim)`` returns an empty index."""

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy()": lambda index: index.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda index: pickle.loads(pickle.dumps(index)),
}
"""The ways to copy an index, by name."""


class Twin:
    """An index under test and the model of what it should hold.

    Every method of `Index` can be called on it: ``twin.query(box)`` asks both, raises
    `AssertionError` unless the answers are the same bit for bit, and returns the answer. Options
    that change no answer (`workers`) go to the index only; with ``sort=False`` the rows are
    compared as a set. A `Twin` as an argument stands for its index and its model.

    Parameters
    ----------
    index : Index
        An empty index, or one that holds what `model` holds.
    model : Model, optional
        An empty one by default.
    """

    def __init__(self, index: Index, model: Model | None = None) -> None:
        self.index = index
        self.ndim = index.ndim
        self.model = Model(index.ndim) if model is None else model

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        return partial(self._call, method)

    def _call(self, method: str, *args: Any, **options: Any) -> Any:
        def of(side: str) -> list[Any]:
            return [getattr(a, side) if isinstance(a, Twin) else a for a in args]

        got = getattr(self.index, method)(*of("index"), **options)
        is_sorted = options.pop("sort", True)
        options.pop("workers", None)
        expected = getattr(self.model, method)(*of("model"), **options)
        what = _Call(method, args, options)
        if is_sorted:
            assert_same(got, expected, what)
        else:
            assert_same(
                canonical(got), expected, what._replace(ending=" with sort=False, as a set")
            )
        return got

    def refuses(
        self,
        error: type[Exception],
        method: str,
        *args: Any,
        says: str = "",
        **options: Any,
    ) -> None:
        """Raise `AssertionError` unless the index refuses the call and is as before.

        The error must be of the class given, be an error of the library with a message, and the
        message must contain `says`.
        """
        what = _Call(method, args, options)
        try:
            getattr(self.index, method)(*args, **options)
        except error as raised:
            message = str(raised)
            if not isinstance(raised, SpatialIndexError):
                raise AssertionError(f"{what} raised {raised!r}, no SpatialIndexError") from raised
            if not message or says not in message:
                raise AssertionError(f"{what} said {message!r}, without {says!r}") from raised
        except Exception as raised:
            raise AssertionError(f"{what} raised {raised!r}, no {error.__name__}") from raised
        else:
            raise AssertionError(f"{what} was accepted, expected {error.__name__}")
        try:
            self.check_content()
        except AssertionError as reason:
            raise AssertionError(f"{what} was refused but left a change: {reason}") from reason

    def check_content(self) -> None:
        """Raise `AssertionError` unless the index holds exactly what the model does."""
        index, model = self.index, self.model
        assert_same(len(index), len(model), "len(index)")
        assert_same(index.ids, model.ids, "index.ids")
        assert_same(index.boxes(), model.boxes(), "index.boxes()")
        self.state()
        got, expected = index.bounds, model.bounds
        # equal, not the same bits: the least of 0.0 and -0.0 is either of them
        if got is None or expected is None:
            is_same = got is expected
        else:
            is_same = np.array_equal(got, expected)
        if not is_same:
            raise AssertionError(f"index.bounds: got {got!r}, expected {expected!r}")

    def state(self, ids: ArrayLike | None = None) -> NDArray[np.void]:
        """Compare the fields that every index has; an index may have more."""
        got = self.index.state(ids)
        plain = np.empty(got.shape, STATE_DTYPE)
        for name in STATE_DTYPE.names or ():
            if got.dtype[name] != STATE_DTYPE[name]:
                raise AssertionError(f"index.state(): {name} has dtype {got.dtype[name]}")
            plain[name] = got[name]
        assert_same(plain, self.model.state(ids), _Call("state", (ids,), {}))
        return got

    def check(self, inputs: NDArray[np.float64] | None = None) -> None:
        """Compare content, invariants and the answer to every kind of question.

        Parameters
        ----------
        inputs : (q, 2*ndim) float64, optional
            Boxes to ask with; by default some of those that are stored.
        """
        self.index.validate()
        self.check_content()
        for among in AMONG:
            self.pairs(among=among)
        for sensors in SENSORS[1:]:
            self.pairs(among="all", sensors=sensors)
        if inputs is None:
            inputs = self.model.boxes()[:: max(1, len(self.model) // 50)]
        lower, upper = inputs[:, : self.ndim], inputs[:, self.ndim :]
        for predicate in PREDICATES:
            self.query(inputs, predicate=predicate)
            self.count(inputs, predicate=predicate)
        is_finite = np.isfinite(inputs).all(axis=1)
        centers = lower[is_finite]
        with np.errstate(over="ignore"):
            radii = (upper[is_finite] - centers).max(axis=1, initial=0.0)
        self.query_point(centers)
        self.query_radius(centers, radii)
        self.join(inputs)
        self._ask_in_order(inputs[is_finite][:12])
        self.index.validate()

    def _ask_in_order(self, boxes: NDArray[np.float64]) -> None:
        """Ask for what is nearest to some boxes, met on the way between them, and before planes."""
        points = boxes[:, : self.ndim]
        motions = np.roll(points, 1, axis=0) / 2 - points / 2  # halves: the difference may overflow
        motions[~motions.any(axis=1)] = 1.0
        self.nearest(points, 3)
        self.raycast(points, motions)
        self.boxcast_all(boxes, motions)
        self.query_planes(motions[:2], np.arange(len(motions[:2])))

    def copied(self, how: str) -> Twin:
        """Return a copy of both, the index copied in one of the ways of `COPIES`."""
        return Twin(COPIES[how](self.index), self.model.copy())


class _Call(NamedTuple):
    """A call, written for people only when something is wrong with it: most calls are right."""

    method: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    ending: str = ""

    def __str__(self) -> str:
        """Write the call, long arrays shortened."""
        parts = [reprlib.repr(a.tolist() if isinstance(a, np.ndarray) else a) for a in self.args]
        parts += [f"{name}={reprlib.repr(value)}" for name, value in self.options.items()]
        return f"{self.method}({', '.join(parts)}){self.ending}"
