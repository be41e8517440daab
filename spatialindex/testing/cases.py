"""Cases: small operation sequences with known answers, one JSON object a line, and their player.

Each case is distilled from a fault that users of some spatial index or physics engine reported::

    {"id": "r001", "kind": "missed pair", "fault": "…", "ndim": 2,
     "ops": [{"op": "insert", "id": 1, "box": [0, 0, 2, 2]},
             {"op": "insert", "id": 2, "box": [1, 1, 3, 3]},
             {"op": "pairs"}],
     "expect": [null, null, [[1, 2]]]}

The player maps an operation to the method of `Index` that it is about: `move` is ``update``,
`sleep` and `wake` are ``set_state(asleep=…)``, `cross_pairs` is ``query`` of many boxes, `pairs`
with ``asleep: include`` is ``among="dynamic"`` and with ``skip`` ``among="active"``, `raycast` is
``raycast_all`` and `query_swept` is ``boxcast_all``. Bounds may be written ``"nan"``, ``"inf"``
and ``"-inf"``. Where ``{"refused": true}`` is expected the call has to raise and to change nothing.

An operation whose method an index does not have is *waiting*: it is passed over, and its name is
returned, so that a test can tell what was not played.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.constants import ALL, BOX_DTYPE, ID_DTYPE
from spatialindex.errors import SpatialIndexError
from spatialindex.testing.answers import assert_same
from spatialindex.testing.twin import COPIES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from spatialindex.protocol import Index

    Operation = dict[str, Any]

__all__ = ["METHODS", "Case", "load_cases", "run_case"]

METHODS = {
    "query_box": "query",
    "query_point": "query_point",
    "query_radius": "query_radius",
    "cross_pairs": "query",
    "pairs": "pairs",
    "nearest": "nearest",
    "raycast": "raycast_all",
    "query_swept": "boxcast_all",
}
"""The method of `Index` that an operation is about, where indexes may lack it."""

_MASK = 0xFFFFFFFF  # the default of the cases
_TOLERANCE = 1e-12  # of t and distances in the cases, whose figures are worked out on paper
_NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


@dataclass(frozen=True)
class Case:
    """An operation sequence and what each operation must answer."""

    id: str
    """A short name."""
    kind: str
    """What sort of fault it is about."""
    fault: str
    """The fault in a line."""
    ndim: int
    ops: tuple[Operation, ...]
    expect: tuple[Any, ...]
    """One entry an operation; None for changes."""
    config: dict[str, Any] = field(default_factory=dict)
    """Hints: ``cell`` (an edge), ``world`` (a box) and others that structures may use."""

    def parameters(self, known: Iterable[str]) -> dict[str, Any]:
        """Return the hints as those of the parameters that a structure declares."""
        hints = {"cell_size": self.config.get("cell"), "world": self.config.get("world")}
        return {name: hints[name] for name in known if hints.get(name) is not None}


def load_cases(path: str | os.PathLike[str]) -> list[Case]:
    """Read the cases of a file, one JSON object a line."""
    cases = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        cases.append(
            Case(
                **{name: raw[name] for name in ("id", "kind", "fault", "ndim")},
                ops=tuple(raw["ops"]),
                expect=tuple(raw["expect"]),
                config=raw.get("config", {}),
            )
        )
    return cases


def run_case(case: Case, factory: Callable[[], Index]) -> set[str]:
    """Play a case on an index and compare every answer.

    Parameters
    ----------
    case : Case
        What to play.
    factory : callable
        ``factory()`` returns an empty index of ``case.ndim`` dimensions.

    Returns
    -------
    set of str
        Names of operations that were passed over because the index has no method for them.

    Raises
    ------
    AssertionError
        At the first answer that is not the expected one, naming case, operation and both.
    """
    player = _Player([factory()], case.ndim)
    for number, (op, expected) in enumerate(zip(case.ops, case.expect, strict=True)):
        what = f"case {case.id} ({case.kind}), operation {number} {op}"
        try:
            player.play(op, expected, what)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{what}: raised {error!r}; {case.fault}") from error
    return player.waiting


class _Player:
    """Plays operations on indexes that must all answer alike: after `copy` there are several."""

    def __init__(self, indexes: list[Index], ndim: int) -> None:
        self.indexes = indexes
        self.ndim = ndim
        self.waiting: set[str] = set()
        self.marks: list[int] = []

    def play(self, op: Operation, expected: Any, what: str) -> None:
        """Make one operation on every index and compare."""
        name = op["op"]
        if name == "copy":
            self.copy(op, what)
        elif name == "repeat":
            for _ in range(op["times"]):
                for inner in op["ops"]:
                    self.play(inner, None, what)
        elif name == "mark_storage":
            self.marks = [index.nbytes for index in self.indexes]
        elif name == "concurrent":
            self.concurrently(op["ops"], expected, what)
        elif name in METHODS and not all(hasattr(i, METHODS[name]) for i in self.indexes):
            self.waiting.add(name)
        elif expected == {"refused": True}:
            for index in self.indexes:
                self.refuse(index, op, what)
        elif name == "storage_ratio":
            for index, mark in zip(self.indexes, self.marks, strict=True):
                ratio = index.nbytes / mark
                _equal(ratio <= op["at_most"], expected, f"{what}: ratio {ratio}")
        else:
            for index in self.indexes:
                _compare(self.make(index, op), expected, op, what)

    def make(self, index: Index, op: Operation) -> Any:
        """Make one operation on one index; returns the answer in the form of the cases."""
        change = _CHANGES.get(op["op"])
        if change is not None:
            change(index, op)
            return None
        return _QUESTIONS[op["op"]](index, op)

    def copy(self, op: Operation, what: str) -> None:
        """Go on with copies of all kinds, while the originals are changed and thrown away."""
        originals = self.indexes
        self.indexes = [copy(index) for index in originals[:1] for copy in COPIES.values()]
        self.marks = self.marks[:1] * len(COPIES)
        other = _Player(originals, self.ndim)
        for inner in op.get("mutate_original", ()):
            other.play(inner, None, what)

    def concurrently(self, ops: list[Operation], expected: list[Any], what: str) -> None:
        """Ask several questions from threads at once."""
        with ThreadPoolExecutor(len(ops)) as pool:
            running = [
                pool.submit(self.play, op, answer, what)
                for op, answer in zip(ops, expected, strict=True)
            ]
            for one in running:
                one.result()

    def refuse(self, index: Index, op: Operation, what: str) -> None:
        """Make an operation that has to be refused, and compare the index with what it was."""
        before = _content(index)
        try:
            got = self.make(index, op)
        except SpatialIndexError as error:
            is_right = isinstance(error, ValueError | KeyError) and bool(str(error))
            _equal(is_right, True, f"{what}: raised {error!r}")
        else:
            raise AssertionError(f"{what}: expected a refusal, got {got!r}")
        for now, then in zip(_content(index), before, strict=True):
            assert_same(now, then, f"{what}: content after the refusal")


def _content(index: Index) -> list[NDArray[Any]]:
    index.validate()
    return [index.ids, index.boxes(), index.state(), index.pairs(among="all")]


# Changes


def _insert(index: Index, op: Operation) -> None:
    index.insert(_numbers(op["box"]), op["id"], **_filter(op))


def _insert_many(index: Index, op: Operation) -> None:
    box = _numbers(op["box"])
    rows = np.arange(op["count"])[:, None]
    boxes = box + rows * _numbers(op.get("step", [0] * len(box)))
    index.insert(boxes, _range(op), **_filter(op))


def _move_many(index: Index, op: Operation) -> None:
    ids = _range(op)
    index.update(ids, index.boxes(ids) + np.tile(_numbers(op["delta"]), 2))


def _remove_many(index: Index, op: Operation) -> None:
    index.remove(np.array(op["ids"], ID_DTYPE))


def _set_filter(index: Index, op: Operation) -> None:
    index.set_state(op["id"], layer=op["layer"], mask=op["mask"])


_CHANGES: dict[str, Callable[[Index, Operation], None]] = {
    "insert": _insert,
    "insert_many": _insert_many,
    "move": lambda index, op: index.update(op["id"], _numbers(op["box"])),
    "move_many": _move_many,
    "remove": lambda index, op: index.remove(op["id"]),
    "remove_many": _remove_many,
    "clear": lambda index, op: index.clear(),
    "set_filter": _set_filter,
    "set_static": lambda index, op: index.set_state(op["id"], static=op["static"]),
    "sleep": lambda index, op: index.set_state(op["id"], asleep=True),
    "wake": lambda index, op: index.set_state(op["id"], asleep=False),
    "rebuild": lambda index, op: index.rebuild(),
}


# Questions


def _query_box(index: Index, op: Operation) -> Any:
    return index.query(_numbers(op["box"]), **_layers(op)).tolist()


def _query_point(index: Index, op: Operation) -> Any:
    return index.query_point(_numbers(op["point"]), **_layers(op)).tolist()


def _query_radius(index: Index, op: Operation) -> Any:
    radius = float(_numbers(op["radius"]))
    return index.query_radius(_numbers(op["center"]), radius, **_layers(op)).tolist()


def _cross_pairs(index: Index, op: Operation) -> Any:
    boxes = _numbers(op["boxes"]).reshape(-1, 2 * index.ndim)
    return index.query(boxes, **_layers(op)).tolist()


def _pairs(index: Index, op: Operation) -> Any:
    is_skipping = op.get("asleep", "include") == "skip"
    return index.pairs(among="active" if is_skipping else "dynamic").tolist()


def _nearest(index: Any, op: Operation) -> Any:
    limit = float(_numbers(op.get("max_distance", "inf")))
    ids, distances = index.nearest(
        _numbers(op["point"]), k=op["k"], max_distance=limit, **_layers(op)
    )
    # a fixed-width answer, padded with id -1
    is_found = ids >= 0
    found = zip(ids[is_found].tolist(), distances[is_found].tolist(), strict=True)
    return [list(row) for row in found]


def _raycast(index: Any, op: Operation) -> Any:
    ids, t = index.raycast_all(
        _numbers(op["origin"]),
        _numbers(op["direction"]),
        max_t=float(_numbers(op.get("max_t", "inf"))),
        **_layers(op),
    )
    return [list(row) for row in zip(ids.tolist(), t.tolist(), strict=True)]


def _query_swept(index: Any, op: Operation) -> Any:
    ids, t = index.boxcast_all(_numbers(op["box"]), _numbers(op["motion"]), **_layers(op))
    return [list(row) for row in zip(ids.tolist(), t.tolist(), strict=True)]


def _query_then_remove(index: Index, op: Operation) -> Any:
    walked = []
    for i in index.query(_numbers(op["box"])):
        index.remove(i)
        walked.append(int(i))
    return walked


def _pairs_then_remove(index: Index, op: Operation) -> Any:
    walked = []
    for a, b in index.pairs(among="dynamic"):
        walked.append([int(a), int(b)])
        if b in index:
            index.remove(b)
    return walked


_QUESTIONS: dict[str, Callable[[Index, Operation], Any]] = {
    "query_box": _query_box,
    "query_point": _query_point,
    "query_radius": _query_radius,
    "cross_pairs": _cross_pairs,
    "pairs": _pairs,
    "nearest": _nearest,
    "raycast": _raycast,
    "query_swept": _query_swept,
    "query_then_remove": _query_then_remove,
    "pairs_then_remove": _pairs_then_remove,
    "count": lambda index, op: len(index),
    "bounds": lambda index, op: None if index.bounds is None else index.bounds.tolist(),
    "get": lambda index, op: index.boxes(op["id"]).tolist(),
}


# Reading and comparing


def _numbers(value: Any) -> NDArray[np.float64]:
    """Return numbers of JSON, in which those that it lacks are words."""

    def number(one: Any) -> Any:
        if isinstance(one, list):
            return [number(each) for each in one]
        return _NUMBERS.get(one, one)

    return np.array(number(value), BOX_DTYPE)


def _range(op: Operation) -> NDArray[np.int64]:
    return np.arange(op["start"], op["start"] + op["count"], dtype=ID_DTYPE)


def _filter(op: Operation) -> dict[str, Any]:
    return {
        "layer": op.get("layer", 1),
        "mask": op.get("mask", _MASK),
        "static": op.get("static", False),
    }


def _layers(op: Operation) -> dict[str, Any]:
    return {"layers": op.get("layers", ALL)}


def _compare(got: Any, expected: Any, op: Operation, what: str) -> None:
    """Compare ids, counts and order exactly, t and distances as nearly as paper allows."""
    if op.get("want") == "count":
        _equal(len(got), expected, what)
    elif op["op"] in ("nearest", "raycast", "query_swept"):
        _equal([i for i, _ in got], [i for i, _ in expected], what)
        for (_, a), (_, b) in zip(got, expected, strict=True):
            _equal(abs(a - b) <= _TOLERANCE * abs(b), True, f"{what}: {a} against {b}")
    else:
        _equal(got, expected, what)


def _equal(got: Any, expected: Any, what: str) -> None:
    if got != expected:
        raise AssertionError(f"{what}: got {got}, expected {expected}")
