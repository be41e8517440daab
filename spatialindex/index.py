"""The one implementation of `Index`, around any `Structure`.

It owns the object table, checks input at the door, hands coalesced changes to the structure, and
turns the slots that come back into ids in canonical order. The structure only finds things.

How ``index.pairs()`` runs: the table's changes go to the structure (``apply``); the structure lists
pairs of slots in any order; each slot becomes a label that sorts as its id does; the pairs are
packed into keys, radix-sorted and unpacked to ids.

The methods are written by what they do: `content` (what is in it, and changes), `regions`
(questions about regions), `reaching` (nearest and casts) and `relations` (pairs and joins); here is
the upkeep.
"""

from __future__ import annotations

import copy
import threading
from typing import Any, Self

import numpy as np

import spatialindex.kernels.rows  # noqa: F401  (what checks boxes from here on)
from spatialindex.errors import InvariantError
from spatialindex.execution import NO_LIMIT
from spatialindex.naming import named_rows
from spatialindex.outlines import Outlines, outlines_of
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

    def outlines(self) -> Outlines:
        """Return the parts of the structure in use, its cells, nodes or lanes, as boxes.

        For pictures: each box is a part of a kind, at a level, with the ids that are listed in it.

        Returns
        -------
        Outlines
            Named tuple of `kinds` ``(n,)``, `levels` ``(n,)``, `boxes` ``(n, 2*ndim)`` and
            `members` ``(m, 2)``, with `counts` ``(n,)``. Of

            - grids ``"cell"``, and ``"wide"`` for the box around all wide objects; the level is
              0, in the hierarchical grid the cells of a level have edge ``2.0**level``;
            - trees ``"node"`` and, with the objects, ``"leaf"``; the level is the depth, that of
              the root is 0;
            - loose trees ``"cell"`` and, with the objects, ``"loose"``, the fattened bounds of
              a cell of edge ``2.0**level``;
            - sweep-and-prune ``"lane"`` and, with the objects, ``"block"``, up to eight that
              follow one another in it; the level is the lane;
            - the split index the same words after the role, ``"dynamic cell"``;
            - brute force, and structures that tell nothing, ``"list"``: the box around everything.

            A list of memberships is about as long as `entries` of `stats`.

        Notes
        -----
        Cost: walks all parts in NumPy, more than a `rebuild`.

        Examples
        --------
        >>> import spatialindex as si
        >>> index = si.HashGrid(ndim=2, cell_size=2.0)
        >>> index.insert([[0, 0, 3, 1], [3, 0, 3.5, 1]])
        array([0, 1])
        >>> parts = index.outlines()
        >>> parts.boxes
        array([[0., 0., 2., 2.],
               [2., 0., 4., 2.]])
        >>> parts.members
        array([[0, 0],
               [1, 0],
               [1, 1]])
        >>> parts.counts
        array([1, 2])
        """
        with self._lock:
            self._sync()
            found = outlines_of(self._structure)
            parts, slots = found.members.T
            ids = self._table.slot_ids[slots]
        order = np.lexsort((ids, parts))
        return found._replace(members=np.column_stack([parts, ids])[order])

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
        # brought up to date, only kept pairs change by reads of other threads while it is copied,
        # and what structures remember of pairs, which they leave out
        with self._lock:
            self._sync()
            state = {key: value for key, value in self.__dict__.items() if key != "_lock"}
            state["_kept"] = copy.copy(self._kept)  # rows and what has changed since, together
        return state | {"_single": None}  # addresses are of this process and these arrays

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
