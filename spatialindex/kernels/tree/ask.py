"""Asking a tree about regions, and what whole blocks can be passed over for.

Boxes go down the tree many at a time, since the blocks of one do not wait for those of another. On
the stack are blocks, each with the region that comes to it; in a round as many are tested as there
are regions, then what they lead to is put there. Leaves wait behind the stack until their bounds
have been fetched, see `spatialindex.kernels.tree`::

    stack          tested              leads to                waiting
    0:root 1:root  0:root 1:root       0:3 0:~5 1:3            0:~5
    0:3 1:3        0:3 1:3             0:~7 1:~7               0:~5 0:~7 1:~7
                   0:~5 0:~7 1:~7      rows (0, slot) (1, slot) ...
"""

import numpy as np

from spatialindex.constants import TOGETHER
from spatialindex.kernels.blocks import aim_at_region, hits_of_block, planes_of_block
from spatialindex.kernels.decide import AMONG_SHIFT, CAST, LAYERED, SEEN, accepts, passes
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    LANES,
    aim_along,
    cast8,
    local_floats,
    local_query,
    lowest_bit,
    overlap8,
    prefetch,
    prefetch_block,
)
from spatialindex.kernels.tree.nodes import (
    FIRST_WAITING,
    RESTING,
    STATIC,
    WAITING,
    block_at,
    lanes_in_use,
)

__all__ = ["STATE", "may_answer", "query_regions", "query_slanted"]

# the low bits of what is on the stack say whose it is, of as many as go down together, those above
# where; 8 together take 5 % longer; python -m tests.benchmarks --job query
_REGION_BITS = TOGETHER.bit_length() - 1
_REGION = TOGETHER - 1
_ALL_LANES = 2**LANES - 1

# places in the state: of the i-th block that was tested and has lanes,
_KEY = 0
_MASK = 1
# and of the i-th region
_ROW = 2
_EXACT = 3  # a mask of all lanes where nothing of it had to be rounded
STATE = 4
"""Numbers of the state of a region."""


@inner_kernel
def may_answer(tree, block, ask, asker):
    """Tell if anything below a block can pass the rule, by what is known of all of it."""
    rule = ask.rule
    if rule == 0:
        return True
    if rule & SEEN:
        return (tree.layers[block] & ask.layers) != np.uint64(0)
    one = ask.state[asker]
    if rule & LAYERED:
        if (one["layer"] & tree.masks[block]) == np.uint64(0):
            return False
        if (one["mask"] & tree.layers[block]) == np.uint64(0):
            return False
    among = (rule >> AMONG_SHIFT) & 3
    if among == 1:
        return not (one["static"] and tree.resting[block] & STATIC)
    if among == 2:
        return not ((one["static"] or one["asleep"]) and tree.resting[block] & RESTING)
    return True


@inner_kernel
def _put_children(tree, ask, state, tested, stack, top, waiting, dim):
    """Put the children that tested blocks lead to on the stack, leaves behind it, to wait there.

    Only those below which something can answer. Returns where the stack and the waiting end. One
    loop over the children of all blocks: there is no end of a mask that the processor fails to
    foresee, and no choice between the two places, since a child is written to both.
    """
    at = 0
    mask = np.uint64(state[0, _MASK])
    while at < tested:
        key = state[at, _KEY]
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        child = np.int64(tree.items[key >> _REGION_BITS, lane])
        below = block_at(child)
        prefetch_block(tree.bounds, below, dim)
        prefetch(tree.items, below)
        is_open = True
        if ask.rule != 0:
            row = state[key & _REGION, _ROW]
            asker = np.int64(ask.askers[row]) if ask.askers.shape[0] else -1
            is_open = may_answer(tree, below, ask, asker)
        stack[top] = stack[waiting] = below << _REGION_BITS | (key & _REGION)
        top += 1 if is_open and child >= 0 else 0
        waiting += 1 if is_open and child < 0 else 0
        at += 1 if mask == 0 else 0
        mask = np.uint64(state[at, _MASK]) if mask == 0 else mask
    return top, waiting


@inner_kernel
def _aim(ask, row, queries, state, i, dim):
    """Make a row the `i`-th of the regions that are under way."""
    q = queries[i]
    state[i, _ROW] = row
    state[i, _EXACT] = np.int64(aim_at_region(q[:LANES], q[LANES:], ask.cull, row, dim))


@inner_kernel
def _test_blocks(tree, queries, stack, start, stop, state, dim):
    """Test blocks of a stack, each with its region; those that have lanes go to the state.

    Returns how many these are.
    """
    tested = 0
    for j in range(start, stop):
        key = stack[j]
        q = queries[key & _REGION]
        mask = overlap8(tree.bounds, key >> _REGION_BITS, q, dim)
        state[tested, _KEY] = key
        state[tested, _MASK] = np.int64(mask)
        tested += 1 if mask != 0 else 0
    return tested


@inner_kernel
def _test_leaves(tree, queries, stack, start, stop, dim):
    """Test waiting leaves; those that have lanes move up, with their masks. Returns their end."""
    tested = start
    for j in range(start, stop):
        key = stack[j]
        mask = overlap8(tree.bounds, key >> _REGION_BITS, queries[key & _REGION], dim)
        stack[tested] = key << LANES | np.int64(mask)
        tested += 1 if mask != 0 else 0
    return tested


@kernel
def query_regions(tree, ask, order, queries, stack, state, start, stop, counts, out, limit, dim):
    """Answer rows ``order[start]`` to ``order[stop]`` of a batch of regions, many at a time.

    Adds the answers of each row to ``counts[row]`` unless that is empty. Returns the whole count,
    or any number beyond `limit` as soon as there are more. An empty `order` is that of the rows.

    As many regions go down the tree together as scratch has rows: `queries`, float32 ``(n, 16)``,
    `stack`, int64 ``(n * nodes.STACK,)``, and `state`, int64 ``(n + 1, STATE)``. In a round, as
    many blocks are taken off the stack and tested, then all that they lead to is put there. What is
    tested does not depend on one another, and what is chosen not on what has just been tested.
    """
    together = queries.shape[0]
    first_waiting = together * FIRST_WAITING
    enough = first_waiting + together * (WAITING - LANES)
    k = 0
    for first in range(start, stop, together):
        top = min(together, stop - first)
        for i in range(top):
            row = np.int64(order[first + i]) if order.shape[0] else first + i
            _aim(ask, row, queries, state, i, dim)
            stack[i] = i  # at the root
        waiting = first_waiting
        while top > 0:
            end = top
            top -= min(top, together)
            tested = _test_blocks(tree, queries, stack, top, end, state, dim)
            top, waiting = _put_children(tree, ask, state, tested, stack, top, waiting, dim)
            if top > 0 and waiting <= enough:
                continue
            waiting = _test_leaves(tree, queries, stack, first_waiting, waiting, dim)
            for j in range(first_waiting, waiting):
                mask, key = np.uint64(stack[j] & _ALL_LANES), stack[j] >> LANES
                block, i = key >> _REGION_BITS, key & _REGION
                row = state[i, _ROW]
                sure = np.uint64(state[i, _EXACT]) & np.uint64(tree.exact[block])
                q_in = queries[i, LANES:]
                before = k
                k = hits_of_block(
                    *(mask, tree.bounds, tree.items, sure, block, q_in, ask, row, dim, out, k)
                )
                if counts.shape[0]:
                    counts[row] += k - before
            waiting = first_waiting
        if k > limit:
            return k
    return k


@inner_kernel
def put_candidates(mask, items, block, ask, row, out, k):
    """List the lanes in `mask` that a row sees, from `k` on: their boxes are fetched meanwhile."""
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        slot = np.int64(items[block, lane])
        prefetch(ask.boxes, slot)
        out[k, 0] = row
        out[k, 1] = slot
        k += 1 if passes(ask.state, -1, slot, ask.rule, ask.layers) else 0
    return k


@inner_kernel
def settle_candidates(ask, row, dim, out, first, k):
    """Keep of the rows from `first` to `k` those whose boxes the region accepts."""
    kept = first
    for i in range(first, k):
        slot = np.int64(out[i, 1])
        out[kept, 0] = row
        out[kept, 1] = slot
        kept += 1 if accepts(ask.kind, ask.exact, row, ask.boxes, slot, dim) else 0
    return kept


@inner_kernel
def _test_slanted(tree, block, ask, row, q, soonest, dim):
    """Return the lanes of a block that a cast may meet, or that may lie within planes."""
    if ask.kind == CAST:
        return cast8(tree.bounds, block, q, soonest, dim)
    return planes_of_block(lanes_in_use(tree, block), tree.bounds, block, ask.exact, row, dim)


@kernel
def query_slanted(tree, ask, order, stack, state, start, stop, counts, out, limit, dim):
    """Answer casts or planes as `query_regions` answers boxes, by tests made for them.

    Their box would hold far more than they do: that of a long ray across holds everything.
    """
    q = local_query()
    soonest = local_floats()
    bounds, items = tree.bounds, tree.items
    nothing = np.uint64(0)
    first_waiting = TOGETHER * FIRST_WAITING
    enough = first_waiting + TOGETHER * (WAITING - LANES)
    k = 0
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        before = k
        if ask.kind == CAST:
            aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        settled = k
        state[0, _ROW] = row
        stack[0] = 0
        top = 1
        waiting = first_waiting
        while top > 0:
            end = top
            top -= min(top, TOGETHER)
            tested = 0
            for j in range(top, end):
                mask = _test_slanted(tree, stack[j] >> _REGION_BITS, ask, row, q, soonest, dim)
                state[tested, _KEY], state[tested, _MASK] = stack[j], np.int64(mask)
                tested += 1 if mask != 0 else 0
            top, waiting = _put_children(tree, ask, state, tested, stack, top, waiting, dim)
            if top > 0 and waiting <= enough:
                continue
            for j in range(first_waiting, waiting):
                block = stack[j] >> _REGION_BITS
                mask = _test_slanted(tree, block, ask, row, q, soonest, dim)
                if k + LANES <= out.shape[0]:
                    k = put_candidates(mask, items, block, ask, row, out, k)
                elif mask != 0:
                    k = settle_candidates(ask, row, dim, out, settled, k)
                    k = hits_of_block(
                        *(mask, bounds, items, nothing, block, soonest, ask, row, dim, out, k)
                    )
                    settled = k
            waiting = first_waiting
        k = settle_candidates(ask, row, dim, out, settled, k)
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k
