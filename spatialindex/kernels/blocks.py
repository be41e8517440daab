"""Blocks of eight boxes: writing lanes, scanning, and turning masks into answers.

``bounds[block, row, lane]`` float32 holds lower x, y[, z], upper x, y[, z] rounded outward,
``slots[block, lane]`` int32 whose box it is, -1 in an empty lane, and bit `lane` of
``exact[block]`` uint8 whether nothing had to be rounded: two such lanes need no second look. Lanes
are filled from 0 up.

A list of `n` boxes in consecutive blocks, the whole of brute force and the wide list of a grid, is
scanned without a branch a box. Ten boxes take two blocks, the second with six empty lanes::

    slots  [[4 0 7 1 2 9 3 5] [6 8 -1 -1 -1 -1 -1 -1]]
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.best import offer
from spatialindex.kernels.decide import (
    INTERSECTS,
    accepts,
    cast_time,
    distance_to_box,
    meet,
    passes,
)
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import (
    LANES,
    REACH,
    cast8,
    distances8,
    down32,
    grown32,
    inside8,
    lane_overlap8,
    local_floats,
    lowest_bit,
    overlap8,
    overlap8x8,
    plane8,
    shrunk32,
    surely_meet,
    up32,
)

__all__ = [
    "NO_MARKS",
    "Best",
    "aim_at_region",
    "change_list",
    "clear_lane",
    "copy_lane",
    "first_of_block",
    "hits_of_block",
    "later_lanes",
    "mark_lanes",
    "marked_lanes",
    "meeting_lanes",
    "nearest_of_block",
    "note_pairs",
    "offer_first",
    "offer_nearest",
    "pairs_of_blocks",
    "pairs_of_words",
    "planes_of_block",
    "repeat_bits",
    "scan_pairs",
    "scan_regions",
    "spread_bits",
    "write_lane",
]

# eight bytes: all 1; bit i of byte i; all 0x7F; all 0x80
_BYTES = np.uint64(0x0101010101010101)
_DIAGONAL = np.uint64(0x8040201008040201)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGHS = np.uint64(0x8080808080808080)
_LATER = np.uint64(0x0080C0E0F0F8FCFE)  # of a block with itself: each pair of lanes once

NO_MARKS = np.empty(0, np.uint8)
"""Marks of lanes where none are looked at."""


class Best(NamedTuple):
    """The best answers so far of each row of a batch, which goes on from structure to structure.

    `spatialindex.kernels.best` keeps them; for a first hit there is just one, the k of nearest.
    """

    values: np.ndarray
    """``(q, k)`` float64 distances or times."""
    slots: np.ndarray
    """``(q, k)`` int32."""
    counts: np.ndarray
    """``(q,)`` int64: how many each row has so far."""
    ignored: np.ndarray
    """``(q,)`` int32: a slot that a row does not see, -1 for none; or empty."""
    slot_ids: np.ndarray
    """``(capacity,)`` int64: ids, by which ties are decided."""


@kernel
def write_lane(bounds, slots, exact, block, lane, slot, boxes, i, dim):
    """Put a slot into a lane with the float64 box in row `i`, rounded outward."""
    ndim = len(dim)
    is_exact = True
    for d in range(ndim):
        lower = down32(boxes[i, d])
        upper = up32(boxes[i, ndim + d])
        bounds[block, d, lane] = lower
        bounds[block, ndim + d, lane] = upper
        is_exact &= (np.float64(lower) == boxes[i, d]) & (np.float64(upper) == boxes[i, ndim + d])
    slots[block, lane] = slot
    bit = np.uint8(1 << lane)
    exact[block] = (exact[block] | bit) if is_exact else (exact[block] & ~bit)


@kernel
def clear_lane(bounds, slots, block, lane, dim):
    """Empty a lane."""
    for d in range(2 * len(dim)):
        bounds[block, d, lane] = np.float32(np.nan)
    slots[block, lane] = -1


@inner_kernel
def copy_lane(bounds, slots, exact, block, lane, from_block, from_lane, dim):
    """Copy one lane over another."""
    kept = exact[block] & ~np.uint8(1 << lane)
    bit = (exact[from_block] >> np.uint8(from_lane)) & np.uint8(1)
    exact[block] = kept | np.uint8(bit << np.uint8(lane))
    for d in range(2 * len(dim)):
        bounds[block, d, lane] = bounds[from_block, d, from_lane]
    slots[block, lane] = slots[from_block, from_lane]


@inner_kernel
def aim_at_region(q, q_in, cull, row, dim):
    """Set the float32 query `q` to a region's box rounded outward, and `q_in` well inside it.

    Returns a mask of all lanes when nothing had to be rounded, else 0.
    """
    ndim = len(dim)
    is_exact = True
    for d in range(ndim):
        q[d] = down32(cull[row, d])
        q[ndim + d] = up32(cull[row, ndim + d])
        q_in[d] = grown32(up32(cull[row, d]))
        q_in[ndim + d] = shrunk32(down32(cull[row, ndim + d]))
        is_exact &= np.float64(q[d]) == cull[row, d]
        is_exact &= np.float64(q[ndim + d]) == cull[row, ndim + d]
    return np.uint64(255) if is_exact else np.uint64(0)


@inner_kernel
def hits_of_block(mask, bounds, slots, sure, block, q_in, ask, row, dim, out, k):
    """Decide the lanes in `mask` for a region's row; writes answers from `k` on.

    Lanes in `sure` meet the region's box as certainly as they are in `mask`. An answer is
    (row, slot), or (asker, slot) where there are askers.

    Returns the count of answers so far, which goes on beyond the end of `out`.
    """
    if ask.kind != INTERSECTS or not ask.is_cover:
        sure = np.uint64(0)
    elif mask & ~sure:
        sure |= inside8(bounds, block, q_in, dim)
    asker = ask.askers[row] if ask.askers.shape[0] else -1
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        slot = slots[block, lane]
        if slot == asker:
            continue
        if not (sure >> np.uint64(lane)) & np.uint64(1):
            if not accepts(ask.kind, ask.exact, row, ask.boxes, slot, dim):
                continue
        if passes(ask.state, asker, slot, ask.rule, ask.layers):
            if k < out.shape[0]:
                out[k, 0] = asker if asker >= 0 else row
                out[k, 1] = slot
            k += 1
    return k


@inner_kernel
def nearest_of_block(bounds, slots, block, q, out, ask, row, best, dim):
    """Offer what a block has within reach of a point to the best of a row.

    `q` is aimed at the point, see `simd.aim_at_point`; its reach shrinks to the worst of the best
    when they are complete. `out` is scratch of eight float32.
    """
    mask = distances8(bounds, block, q, out, dim)
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        if out[lane] <= q[REACH]:
            offer_nearest(slots[block, lane], q, ask, row, best, dim)


@inner_kernel
def offer_nearest(slot, q, ask, row, best, dim):
    """Offer a slot, if a row sees it and accepts its distance, to the best of the row."""
    if best.ignored.shape[0] and slot == best.ignored[row]:
        return
    if not passes(ask.state, -1, slot, ask.rule, ask.layers):
        return
    distance = distance_to_box(ask.exact, row, ask.boxes, slot, dim)
    if distance <= ask.exact[row, len(dim)]:
        _take(best, row, distance, slot, q)


@inner_kernel
def first_of_block(bounds, slots, block, q, out, ask, row, best, dim):
    """Offer what a moving box meets in a block to the best of a row, which is one.

    `q` is aimed along the motion, see `simd.aim_along`; its reach shrinks to the time of the best.
    `out` is scratch of eight float32.
    """
    mask = cast8(bounds, block, q, out, dim)
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        if out[lane] <= q[REACH]:
            offer_first(slots[block, lane], q, ask, row, best, dim)


@inner_kernel
def offer_first(slot, q, ask, row, best, dim):
    """Offer a slot, if a row sees and meets it, to the best of the row.

    A function of its own: without it, testing a block is small enough to be compiled into the loop
    over blocks, where it takes 10 instead of 300 ns.
    """
    if best.ignored.shape[0] and slot == best.ignored[row]:
        return
    if not passes(ask.state, -1, slot, ask.rule, ask.layers):
        return
    time = cast_time(ask.exact, row, ask.boxes, slot, dim)
    if time >= 0.0:
        _take(best, row, time, slot, q)


@inner_kernel
def _take(best, row, value, slot, q):
    """Offer a value to the best of a row, and look no farther than the worst of them."""
    count = offer(best.values, best.slots, row, best.counts[row], value, slot, best.slot_ids)
    best.counts[row] = count
    if count == best.values.shape[1]:
        q[REACH] = min(q[REACH], up32(best.values[row, 0]))


@kernel
def planes_of_block(mask, bounds, block, exact, row, dim):
    """Keep the lanes in `mask` that may be in a region of planes, float64 row of `exact`."""
    for at in range(0, exact.shape[1], len(dim) + 1):
        if mask == 0:
            break
        mask &= plane8(bounds, block, exact, row, at, dim)
    return mask


@inner_kernel
def repeat_bits(mask):
    """Repeat a byte in all eight bytes of a word."""
    return mask * _BYTES


@inner_kernel
def spread_bits(mask):
    """Spread each bit `i` of a byte over the eight bits of byte `i` of a word."""
    high = ((repeat_bits(mask) & _DIAGONAL) + _SEVENS) & _HIGHS
    return (high >> np.uint64(7)) * np.uint64(255)


@inner_kernel
def marked_lanes(slots, block, marks):
    """Return the mask of the lanes of a block that hold a slot with ``marks[slot] == 1``, uint8."""
    mask = np.uint64(0)
    for lane in range(LANES):
        slot = slots[block, lane]
        mark = np.uint64(marks[np.uint64(slot)]) if slot >= 0 else np.uint64(0)
        mask |= mark << np.uint64(lane)
    return mask


@kernel
def mark_lanes(slots, n, marks, marked):
    """Write the `marked_lanes` of each of the first `n` blocks to uint8 `marked`."""
    for block in range(n):
        marked[block] = marked_lanes(slots, block, marks)


@inner_kernel
def meeting_lanes(bounds, marked, block, other, dim):
    """Return the pairs of lanes of two blocks that meet, as a word of bits ``8 * i + j``.

    Where `marked` is not empty, one lane of a pair has a bit in it, see `mark_lanes`.
    """
    if marked.shape[0] == 0:
        return overlap8x8(bounds, block, other, dim)
    word = np.uint64(0)
    mask = np.uint64(marked[block])
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        word |= lane_overlap8(bounds, block, lane, other, dim) << np.uint64(LANES * lane)
    mask = np.uint64(marked[other])
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint64(1)
        column = spread_bits(lane_overlap8(bounds, other, lane, block, dim))
        word |= column & (_BYTES << np.uint64(lane))
    return word


@inner_kernel
def _are_pair(bounds, exact, block, i, other, j, cover, a, b, state, rule, dim):
    """Tell if slots `a` and `b`, whose lanes `i` and `j` of two blocks meet, are a pair."""
    sure = (exact[block] >> np.uint8(i)) & (exact[other] >> np.uint8(j)) & np.uint8(1)
    if sure == 0 and not surely_meet(bounds, block, i, other, j, dim):
        if not meet(cover, np.uint64(a), cover, np.uint64(b), dim):
            return False
    return passes(state, np.uint64(a), np.uint64(b), rule, np.uint64(0))


@inner_kernel
def pairs_of_blocks(word, bounds, slots, exact, block, other, cover, state, rule, dim, out, k):
    """Decide the pairs of lanes of two blocks in `word`; writes them from `k` on.

    Bit ``8 * i + j`` stands for lane `i` of `block` and lane `j` of `other`. Returns the count so
    far, which goes on beyond the end of `out`.
    """
    # places are unsigned: no test if they count from the end
    one, two = np.uint64(block), np.uint64(other)
    while word != 0:
        bit = np.uint64(lowest_bit(word))
        word &= word - np.uint64(1)
        i, j = bit >> np.uint64(3), bit & np.uint64(7)
        a, b = slots[one, i], slots[two, j]
        if _are_pair(bounds, exact, one, i, two, j, cover, a, b, state, rule, dim):
            if k < out.shape[0]:
                out[np.uint64(k), 0] = a
                out[np.uint64(k), 1] = b
            k += 1
    return k


@inner_kernel
def note_pairs(words, m, word, block, other):
    """Note the pairs of lanes of two blocks in `word`, if any, for `pairs_of_words`.

    `words` is that of `local_words`, with `m` numbers in it; returns how many there are then.
    """
    words[m] = block
    words[m + 1] = other
    words[m + 2] = np.int64(word)
    return m + (3 if word != 0 else 0)


@inner_kernel
def pairs_of_words(words, m, bounds, slots, exact, cover, state, rule, dim, out, k):
    """Decide what is noted in `m` numbers of `words`, otherwise as `pairs_of_blocks`.

    That is for blocks of which few lanes meet: in one loop over the pairs of all of them there is
    no end of a word that the processor fails to foresee.
    """
    at = 0
    word = np.uint64(words[2])
    while at < m:
        block, other = words[at], words[at + 1]
        bit = lowest_bit(word)
        i, j = bit >> 3, bit & 7
        a, b = slots[block, i], slots[other, j]
        is_pair = _are_pair(bounds, exact, block, i, other, j, cover, a, b, state, rule, dim)
        if k < out.shape[0]:
            out[k, 0] = a
            out[k, 1] = b
        k += 1 if is_pair else 0
        word &= word - np.uint64(1)
        at += 3 if word == 0 else 0
        word = np.uint64(words[at + 2]) if word == 0 else word
    return k


@inner_kernel
def later_lanes(word, block, other):
    """Keep each pair of lanes once when a block is tested against itself."""
    return word & _LATER if block == other else word


@kernel
def scan_regions(bounds, slots, exact, n, ask, start, stop, counts, out, limit, dim):
    """Answer rows `start` to `stop` of a batch of regions by scanning a list of `n` boxes.

    Adds the answers of each row to ``counts[row]`` unless that is empty. Returns the whole count,
    or any number beyond `limit` as soon as there are more.
    """
    q = local_floats()
    q_in = local_floats()
    blocks = (n + LANES - 1) // LANES
    k = 0
    for row in range(start, stop):
        before = k
        is_exact = aim_at_region(q, q_in, ask.cull, row, dim)
        for block in range(blocks):
            mask = overlap8(bounds, block, q, dim)
            if mask != 0:
                sure = is_exact & np.uint64(exact[block])
                k = hits_of_block(mask, bounds, slots, sure, block, q_in, ask, row, dim, out, k)
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@kernel
def scan_pairs(bounds, slots, exact, n, cover, state, rule, start, stop, out, limit, dim):
    """Find the pairs of a list of `n` boxes whose first member is in blocks `start` to `stop`.

    Returns the count, or any number beyond `limit` as soon as there are more.
    """
    blocks = (n + LANES - 1) // LANES
    k = 0
    for block in range(start, stop):
        for other in range(block, blocks):
            word = later_lanes(overlap8x8(bounds, block, other, dim), block, other)
            if word != 0:
                k = pairs_of_blocks(
                    word, bounds, slots, exact, block, other, cover, state, rule, dim, out, k
                )
        if k > limit:
            return k
    return k


@kernel
def change_list(bounds, slots, exact, positions, n, removed, moved, added, boxes, dim):
    """Bring a list of `n` boxes up to date and return its new length.

    ``positions[slot]`` is where a slot is: lane + 8 * block. The last box fills the gap that a
    removed one leaves. The caller has made room for all that is added.
    """
    for i in range(removed.shape[0]):
        at = positions[removed[i]]
        n -= 1
        if at != n:
            copy_lane(bounds, slots, exact, at // LANES, at % LANES, n // LANES, n % LANES, dim)
            positions[slots[n // LANES, n % LANES]] = at
        clear_lane(bounds, slots, n // LANES, n % LANES, dim)
    for i in range(moved.shape[0]):
        at = positions[moved[i]]
        write_lane(bounds, slots, exact, at // LANES, at % LANES, moved[i], boxes, moved[i], dim)
    for i in range(added.shape[0]):
        write_lane(bounds, slots, exact, n // LANES, n % LANES, added[i], boxes, added[i], dim)
        positions[added[i]] = n
        n += 1
    return n
