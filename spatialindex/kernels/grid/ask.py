"""Asking a grid: regions, pairs within cells, and what is met on the way."""

import numpy as np

from spatialindex.kernels.blocks import (
    aim_at_region,
    hits_of_block,
    later_lanes,
    meeting_lanes,
    note_pairs,
    pairs_of_words,
    repeat_bits,
    spread_bits,
)
from spatialindex.kernels.grid.cells import LOWEST, USED_BLOCKS, find_cell
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES, WORDS, local_floats, local_ints, local_words, overlap8

__all__ = [
    "count_bits",
    "count_meetings",
    "find_pairs",
    "hits_of_blocks",
    "hits_of_cells",
    "members_of",
    "of_this_cell",
    "query_regions",
    "region_cells",
]


@inner_kernel
def region_cells(cull, row, edge, meta, dim, span):
    """Write first and last cell of a region to `span`, cut to the occupied bounds.

    Returns the number of cells as a float, 0 when the region lies beyond all of them.
    """
    ndim = len(dim)
    cells = 1.0
    span[2] = 0
    span[5] = 0
    for d in range(ndim):
        lowest, highest = meta[LOWEST + d], meta[LOWEST + 3 + d]
        lower = np.floor(cull[row, d] / edge)
        upper = np.floor(cull[row, ndim + d] / edge)
        if lower > highest or upper < lowest:
            return 0.0
        span[d] = np.int64(lower) if lower > lowest else lowest
        span[3 + d] = np.int64(upper) if upper < highest else highest
        cells *= np.float64(span[3 + d] - span[d] + 1)
    return cells


@inner_kernel
def _hits_of_chain(grid, block, is_chain, x, y, z, span, q, q_in, is_exact, ask, row, dim, out, k):
    """Answer a region from the members of one cell, or from one block of whatever cell.

    A member counts in the cell that is the maximum of both first cells, so on an axis where the
    region does not begin in this cell the object has to.
    """
    ndim = len(dim)
    while block >= 0:
        mask = overlap8(grid.bounds, block, q, dim)
        if mask != 0:
            if not is_chain or x != span[0]:
                mask &= np.uint64(grid.first[block, 0])
            if not is_chain or y != span[1]:
                mask &= np.uint64(grid.first[block, 1])
            if ndim == 3 and (not is_chain or z != span[2]):
                mask &= np.uint64(grid.first[block, ndim - 1])
            if mask != 0:
                sure = is_exact & np.uint64(grid.exact[block])
                k = hits_of_block(
                    *(mask, grid.bounds, grid.slots, sure, block, q_in, ask, row, dim, out, k)
                )
        if not is_chain:
            break
        block = np.int64(grid.link[block])
    return k


@kernel
def query_regions(grid, ask, order, edge, start, stop, counts, out, limit, dim):
    """Answer rows ``order[start]`` to ``order[stop]`` of a batch of regions from the cells.

    An empty `order` is that of the rows. Walks the cells of the region, or all blocks when those
    are fewer. Adds the answers of each row to ``counts[row]`` unless that is empty. Returns the
    whole count, or any number beyond `limit` as soon as there are more.
    """
    q = local_floats()
    q_in = local_floats()
    span = local_ints()
    k = 0
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        before = k
        n_cells = region_cells(ask.cull, row, edge, grid.meta, dim, span)
        is_exact = aim_at_region(q, q_in, ask.cull, row, dim)
        if n_cells > grid.meta[USED_BLOCKS]:
            k = hits_of_blocks(grid, q, q_in, is_exact, ask, row, dim, out, k)
        else:
            k = hits_of_cells(
                *(grid, grid.meta, span, np.int64(n_cells)),
                *(q, q_in, is_exact, ask, row, dim, out, k),
            )
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k


@inner_kernel
def hits_of_blocks(grid, q, q_in, is_exact, ask, row, dim, out, k):
    """Answer a region from all blocks: an object is taken in its first cell, whichever that is."""
    no_span = local_ints()
    for block in range(grid.meta[USED_BLOCKS]):
        k = _hits_of_chain(
            grid, block, False, 0, 0, 0, no_span, q, q_in, is_exact, ask, row, dim, out, k
        )
    return k


@inner_kernel
def hits_of_cells(grid, meta, span, n_cells, q, q_in, is_exact, ask, row, dim, out, k):
    """Answer a region from its `n_cells` cells, those from `span`'s first to its last."""
    x, y, z = span[0], span[1], span[2]
    for _ in range(n_cells):
        at = find_cell(grid.cells, meta, x, y, z, dim)
        if at >= 0:
            head = np.int64(grid.cells[at, len(dim)])
            k = _hits_of_chain(
                grid, head, True, x, y, z, span, q, q_in, is_exact, ask, row, dim, out, k
            )
        z += 1
        if z > span[5]:
            z = span[2]
            y += 1
            if y > span[4]:
                y = span[1]
                x += 1
    return k


@inner_kernel
def of_this_cell(grid, block, other, dim):
    """Pairs of lanes of two blocks of a cell that count in it and in no other.

    On each axis one of the two objects has to begin here: bit ``8 * i + j`` needs first-cell bit
    `i` of `block`, spread over a byte, or bit `j` of `other`, repeated in every byte.
    """
    word = np.uint64(0xFFFFFFFFFFFFFFFF)
    for d in range(len(dim)):
        word &= spread_bits(np.uint64(grid.first[block, d])) | repeat_bits(
            np.uint64(grid.first[other, d])
        )
    return word


@kernel
def find_pairs(grid, marked, cover, state, rule, start, stop, out, limit, dim):
    """Find the pairs with a member in blocks `start` to `stop` and the other later in its chain.

    Unless `marked` is empty, one of a pair has a bit in it, see `blocks.mark_lanes`. Returns the
    count, or any number beyond `limit` as soon as there are more.
    """
    bounds, slots, exact = grid.bounds, grid.slots, grid.exact
    words = local_words()
    m = 0
    k = 0
    for block in range(start, stop):
        if slots[block, 0] < 0:
            continue  # a free block: its link leads to other free ones
        other = np.int64(block)
        while other >= 0:
            word = later_lanes(meeting_lanes(bounds, marked, block, other, dim), block, other)
            word &= of_this_cell(grid, block, other, dim)
            m = note_pairs(words, m, word, block, other)
            if m == WORDS - 3:
                k = pairs_of_words(words, m, bounds, slots, exact, cover, state, rule, dim, out, k)
                m = 0
                if k > limit:
                    return k
            other = np.int64(grid.link[other])
    return pairs_of_words(words, m, bounds, slots, exact, cover, state, rule, dim, out, k)


@inner_kernel
def count_bits(word):
    """Return the number of set bits."""
    count = 0
    while word != 0:
        word &= word - np.uint64(1)
        count += 1
    return count


@inner_kernel
def members_of(slots, block):
    """Return the mask of the lanes of a block that are not empty."""
    mask = np.uint64(0)
    for lane in range(LANES):
        if slots[block, lane] >= 0:
            mask |= np.uint64(1 << lane)
    return mask


@kernel
def count_meetings(grid, dim):
    """Return (visits, candidates): pairs of members of a cell, repeats included and distinct."""
    visits = 0
    candidates = 0
    for block in range(grid.meta[USED_BLOCKS]):
        here = members_of(grid.slots, block)
        if here == 0:
            continue
        other = np.int64(block)
        while other >= 0:
            word = spread_bits(here) & repeat_bits(members_of(grid.slots, other))
            word = later_lanes(word, block, other)
            visits += count_bits(word)
            candidates += count_bits(word & of_this_cell(grid, block, other, dim))
            other = np.int64(grid.link[other])
    return visits, candidates
