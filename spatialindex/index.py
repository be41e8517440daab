"""The one implementation of `Index`, around any `Structure`.

It owns the object table, checks input at the door, hands coalesced changes to the structure, and
turns the slots that come back into ids in canonical order. The structure only finds things.

How ``index.pairs()`` runs: the table's changes go to the structure (``apply``); the structure lists
pairs of slots in any order; each slot becomes a label that sorts as its id does; the pairs are
packed into 64-bit keys, radix-sorted and unpacked to ids.

The methods are written by what they do: `content` (what is in it, and changes), `regions`
(questions about regions), `reaching` (nearest and casts) and `relations` (pairs and joins); here is
the upkeep.
"""

from __future__ import annotations

import copy
import threading
from typing import Any, Self

import numpy as np

from spatialindex.errors import InvariantError
from spatialindex.execution import NO_LIMIT
from spatialindex.naming import named_rows
from spatialindex.reaching import Reaching
from spatialindex.regions import Regions
from spatialindex.relations import Relations
from spatialindex.results import IndexStats, PairCounts

__all__ = ["BoxIndex"]


class BoxIndex(Regions, Reaching, Relations):
    """An index of boxes around a structure; the base of every public class.

    Parameters
    ----------
    ndim : {2, 3}
        Number of dimensions.
    structure : callable
        Makes the structure: ``structure(table, **parameters)``.
    **parameters
        Declared parameters, kept as attributes.

    Attributes
    ----------
    max_rows : int
        Rows that an answer may have; more is a `ResultTooLargeError`. Default 2**29.
    """

    def stats(self) -> IndexStats:
        """Return statistics, with pair counters for the options of the last `pairs` call.

        Notes
        -----
        Cost: the pair counters take a counting pass of about a `pairs` call from scratch.
        """
        with self._lock:
            self._sync()
            held = self._structure.stats()
            counts = PairCounts()
            if self._kept.options is not None:
                rule = self._table.pair_rule(*self._kept.options)
                counts = self._structure.count_pairs(rule)
            return IndexStats(
                objects=len(self),
                entries=held.entries,
                buckets=held.buckets,
                mean_bucket=held.entries / held.buckets if held.buckets else 0.0,
                max_bucket=held.max_bucket,
                wide=held.wide,
                **counts._asdict(),
                nbytes=self.nbytes,
                rebuilds=held.rebuilds,
                quality=held.quality,
            )

    def validate(self) -> None:
        """Raise `InvariantError`, naming the first invariant that is broken; for tests.

        Notes
        -----
        Cost: that of building everything anew in NumPy, several times that of `rebuild`.
        """
        with self._lock:
            self._sync()
            self._table.validate()
            self._structure.validate()
            labels = self._table.labels()
            for rule, kept in self._kept:
                if kept.n_changed:
                    continue
                rows = self._structure.pairs(rule, limit=NO_LIMIT)
                fresh = named_rows(rows, 0, labels, labels, is_pair=True, sort=True)
                if not np.array_equal(fresh, kept.rows):
                    raise InvariantError(
                        f"kept pairs: {len(kept.rows)} rows differ from the {len(fresh)} "
                        "found afresh"
                    )

    def copy(self) -> Self:
        """Return an independent copy, which goes on giving out ids from the same highest one."""
        return copy.deepcopy(self)

    __copy__ = copy

    def __getstate__(self) -> dict[str, Any]:
        # brought up to date, only kept pairs change by reads of other threads while it is copied
        with self._lock:
            self._sync()
            state = {key: value for key, value in self.__dict__.items() if key != "_lock"}
            state["_kept"] = copy.copy(self._kept)  # rows and what has changed since, together
        return state | {"_single": None}  # addresses are of this process and these arrays

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
