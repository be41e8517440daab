"""A tree that follows what moves: when to change a few objects, and when to repair.

- *Changing*: a small share one by one, each finding its leaf (`kernels.tree.members`); of more, the
  lanes are written and everything is refitted in one pass (`kernels.tree.refit`), after which those
  whose leaves are stretched find other ones.
- *Repairing*: the cost of the tree over that after the last build is its *quality*, looked at
  whenever enough has changed. Once it is worn, regions of some thousand objects are built anew
  (`kernels.tree.repair`), the worst first, as many with each batch of changes as the batch is
  large: no frame pays for those before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.indexes.bvh.structure import TreeStructure
from spatialindex.kernels.tree import nodes

if TYPE_CHECKING:
    from spatialindex.changes import Changes
    from spatialindex.objects import ObjectTable

__all__ = ["MovingTree"]

_MOST_ENTERED = 0.1  # of the objects entering or leaving: beyond, building anew is cheaper
_DEEPEST = 40  # blocks of a path: a batch adds fewer than are left to `nodes.MOST_DEPTH`
_MEASURED = 64  # quality is measured when one in so many objects has changed
_WORN = 1.1  # quality from which on regions are repaired
_REGION = 4096  # objects of a region, at most
_PIECE = 64  # objects of what the top is built anew from, at most: regions exchange such pieces
_TOP = -1  # among blocks that wait to be built anew: what is above the regions
_PACE = 8  # objects of regions built anew for each that has changed, while quality is worn
_WORN_OUT = 1.3  # quality at which everything is built anew after a pass over all blocks


class MovingTree(TreeStructure):
    """A tree over one table that is changed, refitted and repaired.

    Parameters
    ----------
    table, leaf_size, build
        As `TreeStructure`.
    """

    # of the objects moved: beyond, one pass over all blocks is cheaper than a way up for each, from
    # 0.02 on where they move at random, and in half the time where the same ones go on moving;
    # python -m tests.benchmarks --job bulk
    bulk_share = 0.015

    def __init__(self, table: ObjectTable, *, leaf_size: int, build: str) -> None:
        super().__init__(table, leaf_size=leaf_size, build=build)
        self._since_measured = 0  # objects changed
        self._waiting: list[tuple[int, int]] = []  # blocks to be built anew and what each takes
        self._credit = 0  # objects that may be built anew

    def _build(self, *, is_urgent: bool) -> None:
        self._since_measured = self._credit = 0
        self._waiting = []
        super()._build(is_urgent=is_urgent)

    def apply(self, changes: Changes) -> None:
        """Take changes in: a few one by one, many all at once or by building anew."""
        n, store = len(self.table), self._store
        entered = len(changes.added) + len(changes.removed)
        n_changed = entered + len(changes.moved)
        if n_changed and self._is_much(entered, n):
            self._build(is_urgent=self._n_built > 0)
            return
        # what blocks say of their objects is brought up to date first: what follows goes up no
        # farther than it changes something
        if len(changes.restated) > self.bulk_share * n:
            store.refit()
        elif len(changes.restated):
            store.restate(changes.restated)
        if len(changes.removed):
            store.leave(changes.removed)
        slots = changes.moved
        is_bulk = len(slots) > self.bulk_share * n
        if is_bulk:
            slots = store.move_all(slots)
            if self._is_much(2 * len(slots), n):
                self._build(is_urgent=True)
                return
        if len(changes.added):
            slots = np.concatenate([slots, changes.added])
        if len(slots):
            store.change(slots)
        if n_changed:
            self._keep_fit(n_changed, is_bulk=is_bulk)

    def _is_much(self, entered: int, n: int) -> bool:
        """Tell if so many objects enter or leave that building anew is cheaper."""
        return not n or entered > _MOST_ENTERED * n or n > 2 * self._n_built + 64

    def _keep_fit(self, n_changed: int, *, is_bulk: bool) -> None:
        """Measure quality now and then, and repair what is worn in proportion to what changed."""
        n, store = len(self.table), self._store
        if store.is_sparse() or store.arrays.meta[nodes.DEPTH] > _DEEPEST:
            self._build(is_urgent=True)
            return
        self._since_measured += n_changed
        if _MEASURED * self._since_measured > n:
            self._since_measured = 0
            quality = self._quality()
            if is_bulk and quality > _WORN_OUT:
                self._build(is_urgent=True)
            elif quality > _WORN and not is_bulk and not self._waiting:
                self._plan_repair()
        # what is not used up is kept for a region that costs more, not for a bout of repairs
        self._credit = min(self._credit, _REGION) + _PACE * n_changed
        while self._waiting and self._waiting[-1][1] <= self._credit:
            block, effort = self._waiting.pop()
            self._credit -= effort
            if block == _TOP:
                store.rebuild_top(store.regions(_PIECE)[0])
            elif store.is_region(block):
                store.rebuild_region(block)

    def _plan_repair(self) -> None:
        """List the worn regions, to be built anew one by one, the worst first and the top last."""
        blocks, worn, objects = self._store.regions(_REGION)
        found = np.flatnonzero(worn > _WORN)
        found = found[np.argsort(worn[found], kind="stable")]
        # where everything is one region, that is all there is to build
        self._waiting = [] if blocks[0] == 0 else [(_TOP, min(len(self.table) // _PIECE, _REGION))]
        self._waiting += zip(blocks[found].tolist(), objects[found].tolist(), strict=True)
