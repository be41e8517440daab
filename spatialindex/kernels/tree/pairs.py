"""Self-pairs by walking the tree against itself.

Two blocks are tested lane against lane, 64 pairs in eight instructions; what meets goes on the
stack, and two leaves that meet are decided by exact boxes. A block is tested against itself too,
where each pair of lanes counts once::

    A with itself  ->  A's children each with itself, and each with every later one that it meets

Two blocks are passed over when nothing below one can pair with anything below the other: when all
is static or asleep and the rule leaves those out, or when no mask wants any layer of the other.
"""

import numpy as np

from spatialindex.kernels.blocks import (
    later_lanes,
    meeting_lanes,
    note_pairs,
    pairs_of_words,
    repeat_bits,
    spread_bits,
)
from spatialindex.kernels.decide import AMONG_SHIFT, LAYERED
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    LANES,
    WORDS,
    lane_overlap8,
    local_words,
    lowest_bit,
    overlap8x8,
    prefetch_block,
)
from spatialindex.kernels.tree.nodes import RESTING, STATIC, block_at, lanes_in_use

__all__ = ["find_pairs", "mark_slots", "spread_pairs"]

_DIAGONAL = np.uint64(0x8040201008040201)


@inner_kernel
def _may_pair(tree, a, b, rule):
    """Tell if anything below one block can pair with anything below another under a rule."""
    if rule & LAYERED:
        if (tree.layers[a] & tree.masks[b]) == np.uint64(0):
            return False
        if (tree.layers[b] & tree.masks[a]) == np.uint64(0):
            return False
    among = (rule >> AMONG_SHIFT) & 3
    if among == 0:
        return True
    bit = STATIC if among == 1 else RESTING
    return (tree.resting[a] & tree.resting[b] & bit) == 0


@inner_kernel
def _push_pairs(tree, marked, rule, one, two, stack, top, dim):
    """Put the pairs of children of two items that meet on the stack; one is no leaf.

    `marked` is as in `find_pairs`.
    """
    bounds, items = tree.bounds, tree.items
    a, b = block_at(one), block_at(two)
    if one >= 0 and two >= 0:
        word = overlap8x8(bounds, a, b, dim)
        if a == b:
            word = later_lanes(word, a, b) | (_DIAGONAL & repeat_bits(lanes_in_use(tree, a)))
        if marked.shape[0]:
            word &= spread_bits(np.uint64(marked[a])) | repeat_bits(np.uint64(marked[b]))
        while word != 0:
            bit = lowest_bit(word)
            word &= word - np.uint64(1)
            i, j = np.int64(items[a, bit >> 3]), np.int64(items[b, bit & 7])
            if rule == 0 or _may_pair(tree, block_at(i), block_at(j), rule):
                prefetch_block(bounds, block_at(j), dim)
                stack[top, 0] = i
                stack[top, 1] = j
                top += 1
        return top
    if one >= 0:
        one, two = two, one
        a, b = b, a
    place = np.int64(tree.parent[a])
    mask = lane_overlap8(bounds, place // LANES, place % LANES, b, dim)
    if marked.shape[0] and marked[a] == 0:
        mask &= np.uint64(marked[b])
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        j = np.int64(items[b, lane])
        if rule == 0 or _may_pair(tree, a, block_at(j), rule):
            prefetch_block(bounds, block_at(j), dim)
            stack[top, 0] = one
            stack[top, 1] = j
            top += 1
    return top


@kernel
def mark_slots(tree, slots, marked):
    """Set the bits of the lanes that slots are in, and of all above them, in zeroed `marked`.

    That has a place a block, uint8.
    """
    for i in range(slots.shape[0]):
        place = np.int64(tree.places[slots[i]])
        while place >= 0:
            block = place // LANES
            is_known = marked[block] != 0
            marked[block] |= np.uint8(1 << (place % LANES))
            if is_known:
                break
            place = np.int64(tree.parent[block])


@kernel
def spread_pairs(tree, marked, rule, pairs, n, out, dim):
    """Replace each of `n` pairs of items by those of their children; pairs of leaves stay.

    `marked` is as in `find_pairs`. Returns how many are in `out` then, which has room for 64 times
    as many, and how many of them are no pairs of leaves.
    """
    top = 0
    for i in range(n):
        if pairs[i, 0] < 0 and pairs[i, 1] < 0:
            out[top, 0] = pairs[i, 0]
            out[top, 1] = pairs[i, 1]
            top += 1
        else:
            top = _push_pairs(tree, marked, rule, pairs[i, 0], pairs[i, 1], out, top, dim)
    left = 0
    for i in range(top):
        left += 1 if out[i, 0] >= 0 or out[i, 1] >= 0 else 0
    return top, left


@kernel
def find_pairs(
    tree, marked, cover, state, prune, rule, pairs, start, stop, stack, met, out, limit, dim
):
    """Find the pairs of objects below the pairs of items from `start` to `stop`.

    Unless `marked` is empty, one of a pair has a bit in it, see `mark_slots`.

    Blocks are passed over by the rule `prune` and objects decided by `rule`. Adds the pairs of
    lanes of leaves that were tested to ``met[0]`` unless that is empty. `stack` is int64 scratch
    ``(nodes.PAIR_STACK, 2)``. Returns the count, or any number beyond `limit` as soon as there are
    more.
    """
    bounds, items, exact = tree.bounds, tree.items, tree.exact
    words = local_words()
    n_words = 0
    k = 0
    for i in range(start, stop):
        stack[0, 0] = pairs[i, 0]
        stack[0, 1] = pairs[i, 1]
        top = 1
        while top > 0:
            top -= 1
            one, two = stack[top, 0], stack[top, 1]
            if one >= 0 or two >= 0:
                top = _push_pairs(tree, marked, prune, one, two, stack, top, dim)
                continue
            a, b = block_at(one), block_at(two)
            if met.shape[0]:
                n, m = np.int64(tree.size[a]), np.int64(tree.size[b])
                met[0] += n * (n - 1) // 2 if a == b else n * m
            word = later_lanes(meeting_lanes(bounds, marked, a, b, dim), a, b)
            n_words = note_pairs(words, n_words, word, a, b)
            if n_words == WORDS - 3:
                k = pairs_of_words(
                    words, n_words, bounds, items, exact, cover, state, rule, dim, out, k
                )
                n_words = 0
                if k > limit:
                    return k
    return pairs_of_words(words, n_words, bounds, items, exact, cover, state, rule, dim, out, k)
