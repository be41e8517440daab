"""The split index as an engine has it: one object for everything, and a step a frame.

What it adds to an index is time. Between two steps objects come, move, change and go, several
times each if need be; a step compares what is with what was at the step before::

    world.update(ids, boxes); world.remove(dead); world.set_state(...)
    report = world.step()        report.began, report.ended, report.pairs, ...

Events are the differences of pairs among all that is not static, so that falling asleep is none.
Active pairs are kept and mended (`spatialindex.keeping`), those of sleepers left alone until one
of them changes (`spatialindex.split.resting`): a step costs what has changed, and a pass over the
active pairs.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spatialindex.checks import as_boxes
from spatialindex.constants import ALL, DEFAULT_LAYER, ID_DTYPE, STATE_DTYPE
from spatialindex.execution import check_workers, rows_within, too_large
from spatialindex.index import BoxIndex
from spatialindex.keeping import closed, opened
from spatialindex.kernels.events import classify_rows
from spatialindex.kernels.roles import COARSE, DYNAMIC, RESTING, ROLE_BITS, STATIC
from spatialindex.protocol import Parameter
from spatialindex.split.report import StepReport, StepTimes
from spatialindex.split.resting import RestingChange, StepPairs
from spatialindex.split.routing import checked_part
from spatialindex.split.structure import SplitStructure
from spatialindex.split.table import SweptTable
from spatialindex.split.tracker import NO_PAIRS, CodedRows
from spatialindex.split.views import ROLES
from spatialindex.states import as_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from spatialindex.results import PairCounts, StructureStats

__all__ = ["SplitIndex"]

_STATE = np.dtype(
    [(name, STATE_DTYPE[name]) for name in STATE_DTYPE.names or ()] + [("continuous", np.bool_)],
    align=True,
)
_FEW_GONE = 1024  # ids removed between two steps that are not worth sifting


class SplitIndex(BoxIndex):
    """One structure for what rests, one for what moves and one for what is oversized.

    Static and sleeping objects are in the static part, others in the dynamic one. What the
    structure of its part would not hold, or what is far larger than the others, is in the coarse
    part. Pairs of resting objects among themselves are not looked for, so that they cost next to
    nothing; questions see everything.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    static, dynamic, coarse : str or (str, dict)
        The structure of each part: a registered name, or name and parameters.

    Notes
    -----
    Cost: changes, questions and pairs cost what they do in the parts concerned. A step costs what
    has changed since the last one, and a pass over the active pairs; it does not depend on how
    much rests. When sleepers change, wake or fall asleep, a pass over their pairs is added.

    Examples
    --------
    >>> import spatialindex as si
    >>> world = si.SplitIndex(ndim=2)
    >>> ground = world.insert([-1e6, -10, 1e6, 0], static=True)
    >>> crates = world.insert([[0, 0, 1, 1], [1, 0, 2, 1], [4, 3, 5, 4]])
    >>> world.route([ground, *crates]).tolist()
    ['coarse', 'dynamic', 'dynamic', 'dynamic']
    >>> report = world.step()
    >>> report.began
    array([[0, 1], [0, 2], [1, 2]])
    >>> world.update(crates[2], [4, 0, 5, 1])
    >>> report = world.step()
    >>> report.began
    array([[0, 3]])
    >>> report.pairs
    array([[0, 1], [0, 2], [0, 3], [1, 2]])
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("static", "bvh", "structure of static and sleeping objects, with parameters"),
        Parameter("dynamic", "hash-grid", "structure of the others, with parameters"),
        Parameter("coarse", "hierarchical-grid", "structure of oversized objects, with parameters"),
    )
    _table: SweptTable
    _structure: SplitStructure

    def __init__(
        self,
        ndim: int = 2,
        static: Any = "bvh",
        dynamic: Any = "hash-grid",
        coarse: Any = "hierarchical-grid",
    ) -> None:
        named = {"static": static, "dynamic": dynamic, "coarse": coarse}
        parts = {role: checked_part(role, part) for role, part in named.items()}
        super().__init__(ndim, SplitStructure, **parts)
        for role, (name, parameters) in parts.items():
            setattr(self, role, (name, parameters) if parameters else name)
        self._step_pairs = StepPairs()
        self._gone: list[NDArray[np.int64]] = []  # ids removed since the last step
        self._n_gone = 0

    def _make_table(self, ndim: int) -> SweptTable:
        """Make the table that the index owns."""
        return SweptTable(ndim)

    def _most_changed(self, rule: int) -> float:
        """Return after how many changes pairs under a rule are found afresh."""
        return self._structure.kept_share * self._structure.in_question(rule)

    @property
    def nbytes(self) -> int:
        """Memory in bytes: the object table, all parts, kept pairs and those of the last step."""
        known = self._step_pairs
        is_shared = any(kept.rows is known.active.rows for _, kept in self._kept)
        return super().nbytes + known.nbytes - (known.active.rows.nbytes if is_shared else 0)

    # -- changing it --------------------------------------------------------------------------

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
        continuous: ArrayLike = False,
    ) -> Any:
        """Add objects.

        Parameters
        ----------
        boxes, ids, layer, mask, static, asleep, sensor
            As in any index.
        continuous : bool or (n,) bools
            Whether pairs and events see the hull of an object's boxes since the last step, so that
            it meets what it has passed in between. Questions see its present box.

        Returns
        -------
        int or (n,) int64 array
            The ids, in the order of `boxes`.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, DuplicateIdError
            Naming the first offending row. Nothing has been inserted.

        Examples
        --------
        >>> import spatialindex as si
        >>> world = si.SplitIndex(ndim=2)
        >>> wall = world.insert([5, 0, 5.1, 10], static=True)
        >>> bullet = world.insert([0, 4, 0.2, 4.2], continuous=True)
        >>> world.step().began
        array([], shape=(0, 2), dtype=int64)
        >>> world.update(bullet, [9, 4, 9.2, 4.2])
        >>> world.step().began
        array([[0, 1]])
        """
        state = {
            "layer": layer,
            "mask": mask,
            "static": static,
            "asleep": asleep,
            "sensor": sensor,
            "continuous": continuous,
        }
        return self._insert(boxes, ids, state)

    def set_state(
        self,
        ids: ArrayLike | None,
        *,
        layer: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        static: ArrayLike | None = None,
        asleep: ArrayLike | None = None,
        sensor: ArrayLike | None = None,
        continuous: ArrayLike | None = None,
    ) -> None:
        """Change what the pair filter reads, and who is continuous.

        It takes effect at the next call: a sleeper that wakes finds all its neighbours at once.

        Parameters
        ----------
        ids, layer, mask, static, asleep, sensor
            As in any index.
        continuous : bool or (n,) bools, optional
            New flags; None leaves them alone. A hull begins at the present box.

        Raises
        ------
        InvalidArgumentError, UnknownIdError, DuplicateIdError
            Naming the first offending row. Nothing has been changed.
        """
        state = {
            "layer": layer,
            "mask": mask,
            "static": static,
            "asleep": asleep,
            "sensor": sensor,
            "continuous": continuous,
        }
        self._restate(ids, state)

    def state(self, ids: ArrayLike | None = None) -> NDArray[np.void]:
        """Return layer, mask, static, asleep, sensor and continuous.

        Parameters
        ----------
        ids : int or (n,) ints, optional
            Whose; None: all, by ascending id.

        Returns
        -------
        structured array of shape () or (n,)
            A copy with those fields, in the order of `ids`.

        Raises
        ------
        UnknownIdError
            For an id that is not in the index.
        """
        slots = self._slots(ids)
        plain = self._table.state[slots]
        state = np.empty(np.shape(slots), _STATE)
        for name in STATE_DTYPE.names or ():
            state[name] = plain[name]
        state["continuous"] = self._table.continuous(slots)
        return state

    def teleport(self, ids: ArrayLike | None, boxes: ArrayLike) -> None:
        """Give objects new boxes without a motion in between; else as `update`.

        A continuous object's hull begins anew at its new box: it meets nothing on the way there,
        nor what it had passed since the last step.

        Parameters
        ----------
        ids : int, (n,) ints or None
            Whose, each once; None: every object, by ascending id.
        boxes : (2*ndim,) or (n, 2*ndim) floats
            Their new boxes.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, UnknownIdError, DuplicateIdError
            Naming the first offending row. Nothing has been moved.
        """
        many = as_boxes(boxes, self.ndim).reshape(-1, 2 * self.ndim)
        slots = self._slots_for(ids, many)
        with self._change():
            self._table.teleport(slots, many)

    def remove(self, ids: ArrayLike) -> None:
        """Take objects out; at the next step their pairs have ended.

        Parameters
        ----------
        ids : int or (n,) ints
            Which, each once. An id that is inserted again before the next step is a new object.

        Raises
        ------
        InvalidArgumentError, UnknownIdError, DuplicateIdError
            Naming the first offending row. Nothing has been removed.
        """
        super().remove(ids)
        known = self._step_pairs
        if not len(known):
            return
        gone = as_ids(ids).reshape(-1).copy()
        self._gone.append(gone)
        self._n_gone += len(gone)
        if self._n_gone > 4 * len(known) + _FEW_GONE:  # more than can be in pairs
            self._gone = [np.intersect1d(np.concatenate(self._gone), known.members())]
            self._n_gone = len(self._gone[0])

    def clear(self) -> None:
        """Take all objects out; ids given out later go on from the highest ever used."""
        super().clear()
        self._gone = [self._step_pairs.members()]
        self._n_gone = len(self._gone[0])

    # -- steps --------------------------------------------------------------------------------

    def step(self, *, workers: int = 1) -> StepReport:
        """End a frame: return current pairs, and what began and ended since the last step.

        Parameters
        ----------
        workers : int
            Number of threads; the answer does not depend on it.

        Returns
        -------
        StepReport
            Events are the exact differences of ``pairs(among="dynamic")``, contacts and pairs with
            a sensor apart. A removal, a teleport, a change of layer, mask, sensor or static flag
            shows in them without anything having to move; falling asleep does not. An object
            removed and inserted again under its id has ended its pairs and begun new ones.

        Raises
        ------
        InvalidArgumentError, ResultTooLargeError
            The step has not been made then: the next one compares with the same pairs. Too large
            is what makes ``pairs(among="dynamic")`` too large.

        Notes
        -----
        Cost: what has changed, and a pass over active pairs and those before; another one over the
        pairs of sleepers if any of these has changed. Afterwards the hulls of continuous objects
        are their present boxes.

        Examples
        --------
        >>> import spatialindex as si
        >>> world = si.SplitIndex(ndim=2)
        >>> zone = world.insert([0, 0, 10, 10], static=True, sensor=True)
        >>> crates = world.insert([[1, 1, 2, 2], [2, 2, 3, 3]])
        >>> report = world.step()
        >>> report.began, report.sensor_began
        (array([[1, 2]]), array([[0, 1], [0, 2]]))
        >>> world.set_state(crates, asleep=True)
        >>> report = world.step()
        >>> report.pairs, report.ended
        (array([], shape=(0, 2), dtype=int64), array([], shape=(0, 2), dtype=int64))
        >>> world.remove(2)
        >>> report = world.step()
        >>> report.ended, report.sensor_ended
        (array([[1, 2]]), array([[0, 2]]))
        """
        workers = check_workers(workers)
        with self._lock:
            started = perf_counter()
            self._sync()
            updated = perf_counter()
            active = self._active(workers)
            resting = self._resting(workers)
            if len(active.rows) + len(resting.now.rows) > self.max_rows:
                raise too_large(self.max_rows)  # as pairs(among="dynamic"), however it was found
            found = perf_counter()
            events = self._step_pairs.compared(active, resting, self._renewed())
            times = StepTimes(updated - started, found - updated, perf_counter() - found)
            if self._table.is_swept:
                with self._change():
                    self._table.settle()
            # at the very end: whatever failed before, the next step tells these events
            self._step_pairs.take(active, resting)
            self._structure.rest.settle()
            self._gone, self._n_gone = [], 0
            count = self._structure.roles.count
            figures = {
                "objects": len(self),
                "static": count(STATIC),
                "dynamic": count(DYNAMIC),
                "coarse": count(COARSE),
                "pairs": len(active.rows),
                "asleep": len(resting.now.rows),
            }
            return StepReport(self, active, events, times, figures)

    def _active(self, workers: int) -> CodedRows:
        """Return present active pairs with their codes."""
        rows = self._present_pairs(("active", "include"), sort=True, workers=workers)
        known = self._step_pairs.active
        return known if rows is known.rows else self._coded(rows)

    def _resting(self, workers: int) -> RestingChange:
        """Return how pairs of sleepers with others at rest have changed; it costs what did."""
        known, rest, roles = self._step_pairs, self._structure.rest, self._structure.roles
        if rest.is_known and not rest.is_disturbed:
            return known.same_resting()
        if not any(map(roles.has_sleepers, ROLES)):
            return known.new_resting(NO_PAIRS)
        rule = self._table.pair_rule("dynamic", "include")
        marks, changed = rest.marks(self._table)
        asked = changed[(roles.codes[changed] & RESTING) != 0]
        is_afresh = not rest.is_known or len(asked) > self._most_changed(rule)
        if is_afresh:
            rows = rows_within(self.max_rows, self._structure.pairs, rule, workers=workers)
        else:
            rows = self._pairs_of(asked, marks, rule, workers=workers)
        rows = rows[(roles.codes[rows] & RESTING).all(axis=1)]
        found = self._coded(self._named_pairs(rows, sort=True, workers=workers))
        if is_afresh:
            return known.new_resting(found)
        return known.changed_resting(self._table, marks, found)

    def _coded(self, rows: NDArray[np.int64]) -> CodedRows:
        """Return present pairs with their codes."""
        roles = self._structure.roles
        codes = np.zeros(len(rows), np.uint8)
        if roles.has_sensors():
            with opened(rows):
                classify_rows(rows, self._table.member_slots(rows), roles.codes, codes)
        return CodedRows(closed(rows), codes)

    def _renewed(self) -> NDArray[np.int64]:
        """Return the ids that mean another object than at the last step, ascending."""
        if not self._gone:
            return np.empty(0, ID_DTYPE)
        gone = np.unique(np.concatenate(self._gone))
        return gone[self._table.find(gone) >= 0]

    def _figures(self) -> tuple[StructureStats, PairCounts]:
        """Return what the parts hold, and what active pairs meet in the present content."""
        with self._lock:
            self._sync()
            rule = self._table.pair_rule("active", "include")
            return self._structure.stats(), self._structure.count_pairs(rule)

    # -- for people and tests -----------------------------------------------------------------

    def route(self, ids: ArrayLike | None = None) -> NDArray[np.str_]:
        """Tell which part each object is in: "static", "dynamic" or "coarse".

        Parameters
        ----------
        ids : int or (n,) ints, optional
            Whose; None: all, by ascending id.

        Returns
        -------
        array of str, shape () or (n,)
            In the order of `ids`.

        Raises
        ------
        UnknownIdError
            For an id that is not in the index.
        """
        slots = self._slots(ids)
        with self._lock:
            self._sync()
            roles = self._structure.roles.codes[slots] & ROLE_BITS
        names = np.array(["", *(ROLES[role] for role in sorted(ROLES))])
        return np.array(names[roles])
