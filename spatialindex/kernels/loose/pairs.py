"""Self-pairs by walking a loose tree against itself.

Two inner nodes are tested lane against lane, 64 pairs of children in a few instructions; what meets
goes on the stack, and two leaves that meet are decided by exact boxes. A node is tested against
itself too, where each pair of lanes counts once::

    A with itself  ->  A's children each with itself, and each with every later one that it meets
"""

import numpy as np

from spatialindex.kernels.blocks import later_lanes, pairs_of_blocks, repeat_bits
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.loose.nodes import PARENT, SIZE, TOTAL, block_at
from spatialindex.kernels.simd import LANES, lane_overlap8, lowest_bit, overlap8x8, prefetch_block

__all__ = ["find_pairs", "spread_pairs"]

_DIAGONAL = np.uint64(0x8040201008040201)


@inner_kernel
def _push_children(tree, a, b, stack, top, dim):
    """Put the pairs of children of two inner nodes that meet on the stack."""
    one = np.int64(a)
    while one >= 0:
        two = one if a == b else np.int64(b)
        while two >= 0:
            word = overlap8x8(tree.bounds, one, two, dim)
            if one == two:
                used = (np.uint64(1) << np.uint64(tree.nodes[one, SIZE])) - np.uint64(1)
                word = later_lanes(word, one, two) | (_DIAGONAL & repeat_bits(used))
            while word != 0:
                bit = lowest_bit(word)
                word &= word - np.uint64(1)
                j = np.int64(tree.items[two, bit & 7])
                prefetch_block(tree.bounds, block_at(j), dim)
                stack[top, 0] = tree.items[one, bit >> 3]
                stack[top, 1] = j
                top += 1
            two = np.int64(tree.link[two])
        one = np.int64(tree.link[one])
    return top


@inner_kernel
def _push_pairs(tree, one, two, stack, top, dim):
    """Put the pairs that two items, not both of them leaves, come down to on the stack."""
    if one >= 0 and two >= 0:
        return _push_children(tree, one, two, stack, top, dim)
    if one >= 0:
        one, two = two, one
    place = np.int64(tree.nodes[block_at(one), PARENT])
    block = two
    while block >= 0:
        mask = lane_overlap8(tree.bounds, place // LANES, place % LANES, block, dim)
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - np.uint64(1)
            j = np.int64(tree.items[block, lane])
            prefetch_block(tree.bounds, block_at(j), dim)
            stack[top, 0] = one
            stack[top, 1] = j
            top += 1
        block = np.int64(tree.link[block])
    return top


@kernel
def spread_pairs(tree, pairs, n, out, dim):
    """Replace each of `n` pairs of items by those of their children; pairs of leaves stay.

    Returns how many are in `out` then, which has room for 81 times as many.
    """
    top = 0
    for i in range(n):
        one, two = np.int64(pairs[i, 0]), np.int64(pairs[i, 1])
        if one < 0 and two < 0:
            out[top, 0] = one
            out[top, 1] = two
            top += 1
        else:
            top = _push_pairs(tree, one, two, out, top, dim)
    return top


@inner_kernel
def _pairs_of_leaves(tree, a, b, cover, state, rule, limit, dim, out, k):
    """Decide the pairs of members of two leaves."""
    bounds, items, exact = tree.bounds, tree.items, tree.exact
    one = np.int64(a)
    while one >= 0:
        two = one if a == b else np.int64(b)
        while two >= 0:
            word = later_lanes(overlap8x8(bounds, one, two, dim), one, two)
            if word != 0:
                k = pairs_of_blocks(
                    *(word, bounds, items, exact, one, two, cover, state, rule, dim, out, k)
                )
            two = np.int64(tree.link[two])
        if k > limit:
            return k
        one = np.int64(tree.link[one])
    return k


@kernel
def find_pairs(tree, cover, state, rule, pairs, start, stop, stack, met, out, limit, dim):
    """Find the pairs of objects below the pairs of items from `start` to `stop`.

    Adds the pairs of members of leaves that were tested to ``met[0]`` unless that is empty. `stack`
    is int32 scratch ``(nodes.PAIR_STACK, 2)``. Returns the count, or any number beyond `limit` as
    soon as there are more.
    """
    k = 0
    for i in range(start, stop):
        stack[0, 0] = pairs[i, 0]
        stack[0, 1] = pairs[i, 1]
        top = 1
        while top > 0:
            top -= 1
            one, two = np.int64(stack[top, 0]), np.int64(stack[top, 1])
            if one >= 0 or two >= 0:
                top = _push_pairs(tree, one, two, stack, top, dim)
                continue
            a, b = block_at(one), block_at(two)
            if met.shape[0]:
                n, m = np.int64(tree.nodes[a, TOTAL]), np.int64(tree.nodes[b, TOTAL])
                met[0] += n * (n - 1) // 2 if a == b else n * m
            k = _pairs_of_leaves(tree, a, b, cover, state, rule, limit, dim, out, k)
            if k > limit:
                return k
    return k
