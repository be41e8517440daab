"""Asking a tree about regions, and what whole blocks can be passed over for."""

import numpy as np

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

__all__ = ["may_answer", "query_regions", "query_slanted"]


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
def _put_children(tree, ask, asker, block, mask, stack, top, waiting, dim):
    """Put the children in `mask` on the stack, and leaves to those that wait behind it.

    Only those below which something can answer. Returns how many are on the stack and how many
    wait.
    """
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        child = np.int64(tree.items[block, lane])
        at = block_at(child)
        if ask.rule == 0 or may_answer(tree, at, ask, asker):
            prefetch_block(tree.bounds, at, dim)
            if child >= 0:
                stack[top] = at
                top += 1
            else:
                prefetch(tree.items, at)
                stack[FIRST_WAITING + waiting] = at
                waiting += 1
    return top, waiting


@kernel
def query_regions(tree, ask, order, stack, start, stop, counts, out, limit, dim):
    """Answer rows ``order[start]`` to ``order[stop]`` of a batch of regions.

    Adds the answers of each row to ``counts[row]`` unless that is empty. Returns the whole count,
    or any number beyond `limit` as soon as there are more. An empty `order` is that of the rows;
    `stack` is int64 scratch of `nodes.STACK`; leaves wait in it while their bounds are fetched.
    """
    q = local_floats()
    q_in = local_floats()
    bounds, items, exact = tree.bounds, tree.items, tree.exact
    k = 0
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        before = k
        is_exact = aim_at_region(q, q_in, ask.cull, row, dim)
        asker = np.int64(ask.askers[row]) if ask.askers.shape[0] else -1
        stack[0] = 0
        top = 1
        waiting = 0
        while top > 0:
            top -= 1
            block = stack[top]
            mask = overlap8(bounds, block, q, dim)
            top, waiting = _put_children(tree, ask, asker, block, mask, stack, top, waiting, dim)
            if top > 0 and waiting <= WAITING - LANES:
                continue
            for j in range(FIRST_WAITING, FIRST_WAITING + waiting):
                block = stack[j]
                mask = overlap8(bounds, block, q, dim)
                if mask != 0:
                    sure = is_exact & np.uint64(exact[block])
                    k = hits_of_block(
                        *(mask, bounds, items, sure, block, q_in, ask, row, dim, out, k)
                    )
            waiting = 0
        if counts.shape[0]:
            counts[row] += k - before
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
def query_slanted(tree, ask, order, stack, start, stop, counts, out, limit, dim):
    """Answer casts or planes as `query_regions` answers boxes, by tests made for them.

    Their box would hold far more than they do: that of a long ray across holds everything.
    """
    q = local_query()
    soonest = local_floats()
    bounds, items = tree.bounds, tree.items
    nothing = np.uint64(0)
    k = 0
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        before = k
        if ask.kind == CAST:
            aim_along(q, ask.exact, row, ask.exact[row, 3 * len(dim)], dim)
        settled = k
        stack[0] = 0
        top = 1
        waiting = 0
        while top > 0:
            top -= 1
            block = stack[top]
            mask = _test_slanted(tree, block, ask, row, q, soonest, dim)
            top, waiting = _put_children(tree, ask, -1, block, mask, stack, top, waiting, dim)
            if top > 0 and waiting <= WAITING - LANES:
                continue
            for j in range(FIRST_WAITING, FIRST_WAITING + waiting):
                block = stack[j]
                mask = _test_slanted(tree, block, ask, row, q, soonest, dim)
                if k + LANES <= out.shape[0]:
                    k = put_candidates(mask, items, block, ask, row, out, k)
                elif mask != 0:
                    k = settle_candidates(ask, row, dim, out, settled, k)
                    k = hits_of_block(
                        *(mask, bounds, items, nothing, block, soonest, ask, row, dim, out, k)
                    )
                    settled = k
            waiting = 0
        k = settle_candidates(ask, row, dim, out, settled, k)
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k
