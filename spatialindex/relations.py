"""Relations between objects: the pairs of one index, and the join of two.

Pairs are kept from call to call, see `spatialindex.keeping`; a join is a batch query in which the
smaller side asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.checks import as_boxes, as_word
from spatialindex.constants import ALL, AMONG, ID_DTYPE, SENSORS
from spatialindex.content import Content, seen_layers
from spatialindex.errors import InvalidArgumentError, ResultTooLargeError
from spatialindex.execution import NO_LIMIT, check_workers, rows_within, too_large
from spatialindex.kernels.keeping import drop_repeats
from spatialindex.naming import UNLABELLED, named_rows, row_labels
from spatialindex.protocol import Region
from spatialindex.states import is_integer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from spatialindex.keeping import KeptPairs
    from spatialindex.protocol import Among, Index, Sensors

__all__ = ["Relations"]

_FIRST_GROUP = 256  # objects that iter_pairs asks at first; it adapts to what they yield


class Relations(Content):
    """Pairs and joins."""

    def pairs(
        self,
        *,
        among: Among = "active",
        sensors: Sensors = "include",
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return all pairs of objects whose boxes share a point and whose filters agree.

        Parameters
        ----------
        among : {"active", "dynamic", "all"}
            "active" wants a member that is awake and not static, "dynamic" leaves out only static
            with static, "all" looks at layers and masks alone.
        sensors : {"include", "exclude", "only"}
            Whether pairs with a sensor in them count.
        sort : bool
            False returns the same rows in any order, faster.
        workers : int
            Number of threads; the answer does not depend on it.

        Returns
        -------
        (m, 2) int64 array
            Rows (a, b) with a < b, lexicographic, each pair once. Read-only: it is kept, and
            returned again as long as nothing has changed; copy it to change it.

        Raises
        ------
        InvalidArgumentError, ResultTooLargeError

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.BruteForce(ndim=2)
        >>> index.insert([[0, 0, 1, 1], [1, 1, 2, 2], [9, 9, 9, 9]], static=[True, False, False])
        array([0, 1, 2])
        >>> index.pairs()
        array([[0, 1]])
        """
        options = _pair_options(among, sensors)
        workers = check_workers(workers)
        with self._lock:
            self._sync()
            pairs = self._present_pairs(options, sort=sort, workers=workers)
            self._kept.options = options
            return pairs

    def _present_pairs(
        self, options: tuple[str, str], *, sort: bool, workers: int
    ) -> NDArray[np.int64]:
        """Return pairs from what is kept, or from scratch; the structure is up to date."""
        rule = self._table.pair_rule(*options)
        kept = self._kept.of(rule)
        if kept is None:
            pairs = self._all_pairs(rule, sort=sort, workers=workers)
        elif kept.n_changed:
            pairs = self._changed_pairs(kept, rule, workers=workers)
        else:
            pairs = kept.rows
        if len(pairs) > self.max_rows:
            raise too_large(self.max_rows)
        if sort or kept is not None:
            self._kept.keep(rule, pairs)
        return pairs

    def _all_pairs(self, rule: int, *, sort: bool, workers: int) -> NDArray[np.int64]:
        """Return pairs from scratch."""
        rows = rows_within(self.max_rows, self._structure.pairs, rule, workers=workers)
        return self._named_pairs(rows, sort=sort, workers=workers)

    def _changed_pairs(self, kept: KeptPairs, rule: int, *, workers: int) -> NDArray[np.int64]:
        """Return the kept pairs, less those of changed objects, plus what these touch now."""
        marks, changed = kept.marks(self._table)
        rows = self._pairs_of(changed, marks, rule, workers=workers)
        found = self._named_pairs(rows, sort=True, workers=workers)
        return kept.merged(self._table, marks, found)

    def _pairs_of(
        self, slots: NDArray[np.int32], marks: NDArray[np.uint8], rule: int, *, workers: int
    ) -> NDArray[np.int32]:
        """Return the pairs that slots are in, all of them marked, each once, as rows of slots."""
        structure: Any = self._structure
        most = self.max_rows
        if len(slots) > getattr(structure, "sweep_share", np.inf) * len(self._table):
            return rows_within(most, structure.pairs_with, slots, marks, rule, workers=workers)
        limit = min(2 * most, NO_LIMIT)  # two that ask find each other twice
        rows = rows_within(most, structure.touching, slots, rule, limit=limit, workers=workers)
        return rows[: drop_repeats(rows, marks, self._table.slot_ids)]

    def _named_pairs(
        self, rows: NDArray[np.int32], *, sort: bool, workers: int
    ) -> NDArray[np.int64]:
        """Turn rows of slots into rows of ids, the smaller first."""
        labels = self._table.labels()
        return named_rows(rows, 0, labels, labels, is_pair=True, sort=sort, workers=workers)

    def iter_pairs(
        self,
        chunk: int,
        *,
        among: Among = "active",
        sensors: Sensors = "include",
        sort: bool = True,
        workers: int = 1,
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of `pairs` in pieces, for answers that do not fit in memory.

        Parameters
        ----------
        chunk : int
            The most rows of a piece.
        among, sensors, sort, workers
            As in `pairs`.

        Yields
        ------
        (m, 2) int64 array
            At most `chunk` rows; all pieces one after the other are ``pairs()``.

        Raises
        ------
        InvalidArgumentError
            For a bad option, and when the index is changed between two pieces.
        """
        if not is_integer(chunk) or chunk < 1:
            raise InvalidArgumentError(f"chunk is {chunk!r}: pass the most rows of a piece, >= 1")
        options = _pair_options(among, sensors)
        workers = check_workers(workers)
        self._sync()
        rule = self._table.pair_rule(*options)
        return self._pieces(int(chunk), rule, sort, workers, self._version)

    def _pieces(
        self, chunk: int, rule: int, sort: bool, workers: int, version: int
    ) -> Iterator[NDArray[np.int64]]:
        """Ask groups of objects, in the order of their ids, whom with a higher id they touch."""
        self._check_version(version)
        table = self._table
        slots = table.ordered_slots()
        ids, labels = table.slot_ids, table.labels()
        waiting = np.empty((0, 2), ID_DTYPE)
        start, group = 0, _FIRST_GROUP
        while start < len(slots):
            asked = slots[start : start + group]
            limit = NO_LIMIT if group == 1 else min(8 * chunk + 1024, NO_LIMIT)
            rows = self._try_touching(asked, rule, limit, workers)
            if rows is None:  # too many for one go: ask fewer
                group = max(group // 8, 1)
                continue
            rows = rows[ids[rows[:, 0]] < ids[rows[:, 1]]]
            found = named_rows(rows, 0, labels, labels, is_pair=True, sort=sort)
            waiting = np.concatenate([waiting, found]) if len(waiting) else found
            start += group
            if len(found) < chunk:
                group *= 2
            while len(waiting) >= chunk:
                yield waiting[:chunk].copy()
                waiting = waiting[chunk:]
                self._check_version(version)
        if len(waiting):
            yield waiting

    def _check_version(self, version: int) -> None:
        """Refuse to go on with pairs of an index that has changed."""
        if self._version != version:
            raise InvalidArgumentError(
                "the index was changed while iter_pairs was running; "
                "finish it first, or iterate over a copy()"
            )

    def _try_touching(
        self, slots: NDArray[np.int32], rule: int, limit: int, workers: int
    ) -> NDArray[np.int32] | None:
        try:
            return self._structure.touching(slots, rule, limit=limit, workers=workers)
        except ResultTooLargeError:
            return None

    def join(
        self,
        other: Index | ArrayLike,
        *,
        layers: int = ALL,
        other_layers: int = ALL,
        sort: bool = True,
        workers: int = 1,
    ) -> NDArray[np.int64]:
        """Return which objects here share a point with which of another index or of an array.

        Parameters
        ----------
        other : Index or (n, 2*ndim) floats
            An index of any structure, this one included, or boxes.
        layers, other_layers : int
            Only objects on these layers are seen, here and there; masks do not apply.
        sort, workers
            As in `query`.

        Returns
        -------
        (m, 2) int64 array
            Rows (id here, id there) or (id here, row of the boxes), lexicographic. Joined with
            itself, an index returns both orders and every id with itself.

        Raises
        ------
        InvalidBoxError, InvalidArgumentError, ResultTooLargeError
        """
        here_layers, there_layers = seen_layers(layers), seen_layers(other_layers, "other_layers")
        workers = check_workers(workers)
        self._sync()
        there: Any = other
        if not _is_index(there):
            boxes = as_boxes(there, self.ndim, infinite=True).reshape(-1, 2 * self.ndim)
            names = UNLABELLED
        elif there.ndim != self.ndim:
            raise InvalidArgumentError(
                f"other has ndim {there.ndim}, this index {self.ndim}; "
                "both need the same number of dimensions"
            )
        elif isinstance(there, Content) and len(there) > len(self):
            # the smaller side asks
            there._sync()
            names, boxes = _seen(self, here_layers)
            region = Region(0, boxes, boxes, there_layers)
            rows = rows_within(self.max_rows, there._structure.query, region, workers=workers)
            here, named = row_labels(names, len(boxes)), there._table.labels()
            return named_rows(rows, 0, here, named, sort=sort, workers=workers)
        else:
            names, boxes = _seen(there, there_layers)
        region = Region(0, boxes, boxes, here_layers)
        rows = rows_within(self.max_rows, self._structure.query, region, workers=workers)
        labels, others = self._table.labels(), row_labels(names, len(boxes))
        return named_rows(rows, 1, labels, others, sort=sort, workers=workers)


def _pair_options(among: str, sensors: str) -> tuple[str, str]:
    """Check the options of `pairs`."""
    return AMONG[as_word("among", among, AMONG)], SENSORS[as_word("sensors", sensors, SENSORS)]


def _is_index(other: object) -> bool:
    """Tell an index from boxes without evaluating properties."""
    return isinstance(other, Content) or hasattr(type(other), "pairs")


def _seen(index: Any, layers: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ids and boxes of the objects on some layers, by ascending id."""
    ids, boxes = index.ids, index.boxes()
    visible = (index.state()["layer"] & np.uint64(layers)) != 0
    return (ids, boxes) if visible.all() else (ids[visible], boxes[visible])
