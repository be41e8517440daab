"""What casts meet first: many go down the tree at once, in rounds of a step each.

A single cast spends its time waiting: for a block to come from memory, for the test of its lanes,
for the choice of the one to go on with. Several under way at a time wait together. A round has two
halves, so that no choice is made of what has just been computed: first all casts test the blocks
that they have come to, then each of them chooses from its lanes and asks for what it comes to next,
a round before it is read. A *walker* carries one cast after the other, until none is left::

    round        1               2                   3                4
    walker 0     0 root: 3, ~5   0 at 3: nothing     0 at ~5: slot 7  0 at slot 7: met, the end
    walker 1     1 root: 3       1 at 3: ~1, ~2      1 at ~1: nothing 1 at ~2: slot 4
    walker 2     2 root: nothing 3 root: 3           3 at 3: ~1       3 at ~1: slots 5, 8

What a cast may come to is a *key*, a number that is the lower the sooner it is met::

    bits 63 to 32   the bits of a float32, the least time at which it is met; the last bit is 1 for
                    an object and 0 for a block, which makes the time no later
    bits 31 to 0    the slot, or the item that leads to the block, see `spatialindex.kernels.tree`

The lowest key found is the next step, the others go on a stack, the soonest on top. Two are sorted
without a branch; seldom are there more. Objects are steps as well: their boxes are fetched, and
they are passed over by the time of their lane once something is met before. 10,000 rays from
outside into 100,000 clustered boxes in 2D, the whole call, take 2.7 ms instead of 4.6 with one at a
time; ``python -m tests.benchmarks --job rays --scene clustered --n 1e5``.

The technique is that of Kocberber, Falsafi & Grot, Asynchronous Memory Access Chaining, 2015.
"""

import numpy as np

from spatialindex.kernels.blocks import offer_first
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    LANES,
    REACH,
    aim_along,
    cast_keys8,
    lowest_bit,
    prefetch,
    prefetch_block,
)
from spatialindex.kernels.tree.ask import may_answer
from spatialindex.kernels.tree.nodes import STACK, block_at

__all__ = ["STATE", "TOGETHER", "first_hits"]

TOGETHER = 16
"""Walkers of a batch, at most: by the command above 12 to 24 are as fast, 8 take a tenth more."""

# places in the state of a walker, behind the keys of the lanes of the block that it has come to
_KEY = LANES  # of where it is
_TOP = LANES + 1  # place on the stack of the last key
_LIMIT = LANES + 2  # no key beyond it is of use
_ROW = LANES + 3
_MASK = LANES + 4  # of the lanes that it may meet
_UNDER_WAY = LANES + 5  # of the i-th state: the i-th of the walkers that are under way
STATE = 2 * LANES
"""Numbers of the state of a walker: as long as two cache lines."""

_ITEM_BITS = np.int64(32)
_ALL_ITEMS = np.int64(0xFFFFFFFF)
_OBJECT = np.int64(1) << _ITEM_BITS
_ENDED = _OBJECT | _ALL_ITEMS  # a slot of -1: it lies below all others on the stack
_ROOT = np.int64(0)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_LAST_LANE = np.uint64(1 << (LANES - 1))


@inner_kernel
def _item_of(key):
    """Return the item of a key."""
    return (key << _ITEM_BITS) >> _ITEM_BITS


@inner_kernel
def _limit_of(reach):
    """Return the last key of what is met by a time."""
    bits = np.int64(np.float32(reach).view(np.int32)) if reach > 0.0 else np.int64(0)
    return ((bits | 1) << _ITEM_BITS) | _ALL_ITEMS


@inner_kernel
def _begin(ask, row, walker, stack, state, q, dim):
    """Give a walker the cast of a row, at the root."""
    aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
    bottom = np.int64(walker) * STACK
    stack[bottom] = _ENDED
    state[walker, _TOP] = bottom
    state[walker, _ROW] = row
    state[walker, _LIMIT] = _limit_of(q[REACH])
    state[walker, _KEY] = _ROOT


@inner_kernel
def _test_block(tree, state, q, dim):
    """Test the lanes of the block that a walker has come to; at an object, the root's."""
    key = state[_KEY]
    item = _item_of(key)
    block = _ROOT if key & _OBJECT else block_at(item)
    mark = np.int64(1) if item < 0 else np.int64(0)
    state[_MASK] = np.int64(cast_keys8(tree.bounds, tree.items, block, q, mark, state, dim))


@inner_kernel
def _answering(tree, ask, mask, keys):
    """Keep of the children in `mask` those below which something can answer."""
    rest = mask
    while rest != _NONE:
        lane = np.uint64(lowest_bit(rest))
        rest &= rest - _ONE
        if not may_answer(tree, block_at(_item_of(keys[lane])), ask, -1):
            mask &= ~(_ONE << lane)
    return mask


@inner_kernel
def _choose(keys, mask, stack, top):
    """Return the lowest key of the lanes in `mask` and where the stack ends with the others.

    Without any it is the last on the stack. Up to two lanes are dealt with whatever there is.
    """
    below = stack[np.uint64(top)]
    is_empty = mask == _NONE
    key = keys[np.uint64(lowest_bit(mask | _LAST_LANE))]
    key = below if is_empty else key
    mask &= mask - np.uint64(not is_empty)
    are_two = mask != _NONE
    other = keys[np.uint64(lowest_bit(mask | _LAST_LANE))]
    mask &= mask - np.uint64(are_two)
    top -= np.int64(is_empty)
    stack[np.uint64(top + 1)] = max(key, other)
    key = min(key, other) if are_two else key
    top += np.int64(are_two)
    first = top
    while mask != _NONE:
        other = keys[np.uint64(lowest_bit(mask))]
        mask &= mask - _ONE
        later = max(key, other)
        key = min(key, other)
        top += 1
        at = top
        while at > first and stack[np.uint64(at - 1)] < later:
            stack[np.uint64(at)] = stack[np.uint64(at - 1)]
            at -= 1
        stack[np.uint64(at)] = later
    return key, top


@inner_kernel
def _fetch(tree, ask, key, dim):
    """Ask for what a key leads to: without a branch, for a block and for a box."""
    item = _item_of(key)
    is_object = key & _OBJECT != 0
    block = _ROOT if is_object else block_at(item)
    prefetch_block(tree.bounds, block, dim)
    prefetch(tree.items, block)
    prefetch(ask.boxes, item if is_object else np.int64(0))


@kernel
def first_hits(tree, ask, stack, queries, state, start, stop, best, dim):
    """Offer what the casts of rows `start` to `stop` meet to their bests, one a row.

    There are as many walkers as scratch has rows: `queries`, float32 ``(n, 16)`` of any numbers,
    and `state`, int64 ``(n, STATE)``. `stack` is int64 ``(n * nodes.STACK,)``.
    """
    under_way = min(queries.shape[0], stop - start)
    for i in range(under_way):
        state[i, _UNDER_WAY] = i
        state[i, _KEY] = _ENDED
    while under_way > 0:
        for i in range(under_way):
            walker = np.uint64(state[np.uint64(i), _UNDER_WAY])
            _test_block(tree, state[walker], queries[walker], dim)
        i = 0
        while i < under_way:
            walker = np.uint64(state[np.uint64(i), _UNDER_WAY])
            own = state[walker]
            key, top = own[_KEY], own[_TOP]
            if key == _ENDED:
                if start == stop:
                    under_way -= 1
                    state[i, _UNDER_WAY] = state[under_way, _UNDER_WAY]
                    continue
                _begin(ask, start, walker, stack, state, queries[walker], dim)
                start += 1
                i += 1
                continue
            if key & _OBJECT:
                q = queries[walker]
                offer_first(_item_of(key), q, ask, own[_ROW], best, dim)
                own[_LIMIT] = _limit_of(q[REACH])
                key = stack[np.uint64(top)]
                top -= 1
            else:
                mask = np.uint64(own[_MASK])
                if ask.rule != 0 and _item_of(key) >= 0:
                    mask = _answering(tree, ask, mask, own)
                key, top = _choose(own, mask, stack, top)
            while key > own[_LIMIT]:
                key = stack[np.uint64(top)]
                top -= 1
            own[_KEY] = key
            own[_TOP] = top
            _fetch(tree, ask, key, dim)
            i += 1
