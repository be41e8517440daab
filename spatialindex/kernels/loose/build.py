"""Building loose trees, whole or a crowded leaf at a time, from objects in Morton order.

A *frame* is a range of rows below one cell. Each row gets a key: the Morton number of its cell
within the frame, cut off at the level it belongs to, then that level. With 2 levels in 2D, an
object that belongs to level 1 in the lower left quarter sorts before all that go deeper there::

    01 00  level 1      own of the quarter 01
    01 00  level 2      in its quarter 00
    01 10  level 2

So sorted, every node is a range of keys with its own objects in front and its children one after
the other, and a node where nothing branches shows by its first and its last key. Where objects are
crowded in one cell of the last level, that is the next frame, with a finer lattice: coordinates of
any magnitudes take as many frames as they need.

Kernels stop where keys have to be sorted or blocks are wanting; the caller sees to it and goes on.
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.loose import nodes
from spatialindex.kernels.simd import LANES, local_floats, pack8, prefetch
from spatialindex.kernels.sorting import sort_short
from spatialindex.kernels.tree.packed import ROW_BITS, spread2, spread3

__all__ = [
    "BLOCKS",
    "DONE",
    "LEVEL_BITS",
    "SORT",
    "Work",
    "build_frames",
    "list_rows",
    "take_out",
]

DONE, SORT, BLOCKS = 0, 1, 2
"""Why `build_frames` stopped: at the end, for keys to sort, for want of blocks."""

LEVEL_BITS = 4
"""Bits of a key above, for the level."""

_SHORT = 48  # rows that are sorted here
_AHEAD = 16  # rows that a box is asked for before it is needed
_ROW = (1 << ROW_BITS) - 1
_LEVEL = (1 << LEVEL_BITS) - 1

# columns of `frames`
FIRST = 0  # row
LAST = 1
PLACE = 2  # where the node hangs; -1: it is the root
EXPONENT = 3  # of its cell, `nodes.ROOT` for all of space
LEVELS = 4  # in the keys; -1 when there are none yet
FRAME_COLUMNS = 5

# places in `meta` of the work
FRAMES = 0
TASKS = 1
# of the frame that is being built
AT_EXPONENT = 2
AT_LEVELS = 3


class Work(NamedTuple):
    """What a build works on."""

    centers: np.ndarray
    """``(n, ndim)`` float64."""
    exponents: np.ndarray
    """``(n,)`` int16: exponent that each box belongs to."""
    keys: np.ndarray
    """``(n,)`` uint64: rows in the low bits, to begin with nothing else."""
    frames: np.ndarray
    """``(f, FRAME_COLUMNS)`` int64: frames that wait."""
    corners: np.ndarray
    """``(f, 3)`` float64: of their cells."""
    tasks: np.ndarray
    """``(t, 4)`` int64: first row, end, level and place of nodes that wait."""
    corner: np.ndarray
    """``(3,)`` float64: of the frame that is being built."""
    scratch: np.ndarray
    """``(3, 3)`` float64."""
    meta: np.ndarray
    """``(4,)`` int64."""


@kernel
def list_rows(boxes, looseness, work, dim):
    """Write center, exponent and row number of each box."""
    ndim = len(dim)
    for i in range(boxes.shape[0]):
        for d in range(ndim):
            work.centers[i, d] = nodes.center(boxes, i, d, ndim)
        work.exponents[i] = nodes.own_exponent(boxes, i, looseness, dim)
        work.keys[i] = np.uint64(i)


@kernel
def take_out(tree, heads, slots, work, dim):
    """Take all members of leaves out of the tree, which become frames, and list their slots."""
    n = 0
    for h in range(heads.shape[0]):
        head = np.int64(heads[h])
        frame = work.frames[h]
        frame[FIRST] = n
        frame[PLACE] = tree.nodes[head, nodes.PARENT]
        frame[EXPONENT] = tree.nodes[head, nodes.EXPONENT]
        frame[LEVELS] = -1
        for d in range(len(dim)):
            work.corners[h, d] = tree.corners[head, d]
        block = head
        while block >= 0:
            for lane in range(tree.nodes[block, nodes.SIZE]):
                slots[n] = tree.items[block, lane]
                n += 1
            following = np.int64(tree.link[block])
            nodes.free_block(tree, block)
            block = following
        tree.meta[nodes.LEAVES] -= 1
        frame[LAST] = n
    work.meta[FRAMES] = heads.shape[0]
    tree.meta[nodes.ENTRIES] -= n


# -- frames ---------------------------------------------------------------------------------------


@inner_kernel
def _aim(work, frame, corner, dim, lowest, highest):
    """Find the cell of a frame: the one it hangs in, or a finer one that holds all centers.

    Writes its corner to `corner` and returns its exponent. The cell it hangs in stays when anything
    belongs to it, or lies beyond it: what moved there within the loose bounds. `lowest` and
    `highest` are scratch.
    """
    ndim = len(dim)
    exponent = frame[EXPONENT]
    coarsest = np.int64(nodes.SMALLEST)
    is_whole = False
    for d in range(ndim):
        lowest[d], highest[d] = np.inf, -np.inf
    for i in range(frame[FIRST], frame[LAST]):
        row = np.int64(work.keys[i]) & _ROW
        own = np.int64(work.exponents[row])
        is_whole |= own >= exponent
        coarsest = max(coarsest, own)
        for d in range(ndim):
            lowest[d] = min(lowest[d], work.centers[row, d])
            highest[d] = max(highest[d], work.centers[row, d])
    for d in range(ndim):
        if exponent == nodes.ROOT:
            is_whole |= (lowest[d] < 0.0) != (highest[d] < 0.0)
        else:
            is_whole |= lowest[d] < corner[d]
            is_whole |= highest[d] >= corner[d] + nodes.power(exponent)
    if is_whole:
        return exponent
    low, high = coarsest - 1, min(exponent, np.int64(nodes.LARGEST))
    while high - low > 1:
        middle = (low + high) // 2
        is_one = True
        for d in range(ndim):
            is_one &= nodes.corner_of(lowest[d], middle) == nodes.corner_of(highest[d], middle)
        if is_one:
            high = middle
        else:
            low = middle
    for d in range(ndim):
        corner[d] = nodes.corner_of(lowest[d], high)
    return high


@inner_kernel
def _count_levels(n, exponent, dim):
    """Return how many levels keys of a frame have: more than `n` evenly spread objects need."""
    if exponent == nodes.ROOT:
        return 1
    levels = 4
    n >>= 2 * len(dim)
    while n > 0:
        levels += 1
        n >>= len(dim)
    return min(levels + 1, 14 if len(dim) == 2 else 9)


@inner_kernel
def _side_of(work, row, dim):
    """Return the part of all of space that a center is in: a bit an axis, set from 0 up."""
    code = 0
    for d in range(len(dim)):
        if work.centers[row, d] >= 0.0:
            code |= 1 << d
    return code


@inner_kernel
def _write_keys(work, first, last, exponent, levels, corner, scaled, dim):
    """Write the keys of the rows of a frame. `scaled` is scratch."""
    ndim = len(dim)
    if exponent == nodes.ROOT:
        for i in range(first, last):
            row = np.int64(work.keys[i]) & _ROW
            level = 0 if work.exponents[row] == nodes.ROOT else 1
            code = level * _side_of(work, row, dim)
            work.keys[i] = np.uint64((((code << LEVEL_BITS) | level) << ROW_BITS) | row)
        return
    scale = nodes.power(levels - exponent)  # exact, and so is all that follows
    for d in range(ndim):
        scaled[d] = corner[d] * scale
    most = np.float64(1 << levels)
    for i in range(first, last):
        row = np.int64(work.keys[i]) & _ROW
        level = min(exponent - np.int64(work.exponents[row]), levels)
        morton = 0
        for d in range(ndim):
            c = work.centers[row, d]
            k = np.floor(c * scale)
            if k == 0.0 and c < 0.0:
                k = -1.0  # the product was too small for a float
            k -= scaled[d]
            if not (0.0 <= k < most):
                level = 0  # beyond the cell, but within its loose bounds
                k = 0.0
            morton |= (spread2(np.int64(k)) if ndim == 2 else spread3(np.int64(k))) << d
        if level <= 0:
            level = 0
            morton = 0
        cut = ndim * (levels - level)
        morton = (morton >> cut) << cut
        work.keys[i] = np.uint64((((morton << LEVEL_BITS) | level) << ROW_BITS) | row)


@inner_kernel
def _begin_frame(work, dim):
    """Give the frame on top its cell and keys; returns how many rows it has."""
    top = work.meta[FRAMES] - 1
    frame, corner = work.frames[top], work.corners[top]
    first, last = frame[FIRST], frame[LAST]
    exponent = _aim(work, frame, corner, dim, work.scratch[0], work.scratch[1])
    levels = _count_levels(last - first, exponent, dim)
    _write_keys(work, first, last, exponent, levels, corner, work.scratch[2], dim)
    frame[EXPONENT] = exponent
    frame[LEVELS] = levels
    return last - first


# -- nodes ----------------------------------------------------------------------------------------


@inner_kernel
def _level_of(key):
    """Return the level in a key."""
    return np.int64(key >> np.uint64(ROW_BITS)) & _LEVEL


@inner_kernel
def _morton_of(key):
    """Return the Morton number in a key."""
    return np.int64(key >> np.uint64(ROW_BITS + LEVEL_BITS))


@inner_kernel
def _write_cell(tree, head, work, row, level, dim):
    """Give a node the cell at a level of the frame that holds the center of a row."""
    exponent = work.meta[AT_EXPONENT]
    if exponent != nodes.ROOT:
        exponent -= level
        tree.nodes[head, nodes.EXPONENT] = exponent
        for d in range(len(dim)):
            if level == 0:
                tree.corners[head, d] = work.corner[d]
            else:
                tree.corners[head, d] = nodes.corner_of(work.centers[row, d], exponent)
        return
    tree.nodes[head, nodes.EXPONENT] = exponent
    for d in range(len(dim)):
        tree.corners[head, d] = 0.0


@inner_kernel
def _write_anchored_cell(tree, head, work, first, last, dim):
    """Give a leaf that hangs in the root the least cell at 0 that its rows belong to."""
    exponent = np.int64(nodes.SMALLEST)
    for i in range(first, last):
        row = np.int64(work.keys[i]) & _ROW
        exponent = max(exponent, np.int64(work.exponents[row]))
        for d in range(len(dim)):
            exponent = max(exponent, nodes.exponent_above(abs(work.centers[row, d])))
    row = np.int64(work.keys[first]) & _ROW
    tree.nodes[head, nodes.EXPONENT] = exponent
    for d in range(len(dim)):
        tree.corners[head, d] = 0.0 if work.centers[row, d] >= 0.0 else -nodes.power(exponent)


@inner_kernel
def _fill_leaf(tree, work, slots, boxes, first, last, patience, dim):
    """Make a leaf of the rows of some keys and return its head; its second block may have room."""
    n = last - first
    head = np.int64(-1)
    before = np.int64(-1)
    k = first
    while k < last:
        block = nodes.take_block(tree)
        if head < 0:
            head = block
            size = min(n, LANES)
            tree.nodes[head, nodes.PARENT] = -1
            tree.nodes[head, nodes.TOTAL] = n
            tree.nodes[head, nodes.PATIENCE] = patience
            tree.meta[nodes.LEAVES] += 1
        else:
            size = LANES if before != head else (n - 1) % LANES + 1
            tree.nodes[block, nodes.PARENT] = -2 - head
            tree.nodes[block, nodes.TOTAL] = -1
            tree.link[before] = block
        tree.nodes[block, nodes.SIZE] = size
        for i in range(k, k + size):
            ahead = work.keys[min(i + _AHEAD, work.keys.shape[0] - 1)]
            prefetch(boxes, np.int64(ahead) & _ROW)
        tree.exact[block] = pack8(tree.bounds, block, boxes, work.keys, k, size, _ROW, dim)
        for lane in range(LANES):
            if lane < size:
                slot = np.int64(slots[np.int64(work.keys[k + lane]) & _ROW])
                tree.items[block, lane] = slot
                tree.places[slot] = LANES * block + lane
            else:
                nodes.clear_lane(tree, block, lane, dim)
        before = block
        k += size
    tree.meta[nodes.ENTRIES] += n
    return head


@inner_kernel
def _hang_leaf(tree, work, slots, boxes, first, last, level, place, code, leaf_size, q, dim):
    """Make a leaf of the rows of some keys and hang it; `q` is scratch, or empty in bulk."""
    n = last - first
    patience = leaf_size if n <= leaf_size else 2 * n
    head = _fill_leaf(tree, work, slots, boxes, first, last, patience, dim)
    if work.meta[AT_EXPONENT] == nodes.ROOT and level == 1:
        _write_anchored_cell(tree, head, work, first, last, dim)
    else:
        _write_cell(tree, head, work, np.int64(work.keys[first]) & _ROW, level, dim)
    nodes.put_item(tree, place, head, code)
    if q.shape[0]:
        nodes.refit_up(tree, head, q, dim)


@inner_kernel
def _branching_level(work, first, last, level, levels, ndim):
    """Return the first level from `level` on where a range of keys has own rows or branches."""
    one, other = _morton_of(work.keys[first]), _morton_of(work.keys[last - 1])
    differ = one ^ other
    end = min(_level_of(work.keys[first]), levels)
    while level < end and differ >> (ndim * (levels - level - 1)) == 0:
        level += 1
    return level


@inner_kernel
def _split(tree, work, slots, boxes, first, last, level, place, code, leaf_size, q, dim):
    """Make an inner node of a range of keys that branches, and tasks of its children.

    Returns False when nothing goes deeper: then it is a leaf of its own.
    """
    ndim = len(dim)
    levels = work.meta[AT_LEVELS]
    own = first
    while own < last and _level_of(work.keys[own]) == level:
        own += 1
    if place < 0:
        head = np.int64(0)
    else:
        if own == last:
            return False
        head = nodes.new_node(tree, False, 0, 0, dim)
        nodes.put_item(tree, place, head, code)
    _write_cell(tree, head, work, np.int64(work.keys[last - 1]) & _ROW, level, dim)
    if own > first:
        inner = nodes.new_place(tree, head, dim)
        _hang_leaf(
            *(tree, work, slots, boxes, first, own, level, inner, nodes.OWN, leaf_size, q, dim)
        )
    shift = ndim * (levels - level - 1)
    low = work.meta[TASKS]
    k = own
    while k < last:
        here = _morton_of(work.keys[k]) >> shift
        start = k
        while k < last and _morton_of(work.keys[k]) >> shift == here:
            k += 1
        at = work.meta[TASKS]
        part = here & ((1 << ndim) - 1)
        inner = nodes.new_place(tree, head, dim)
        tree.codes[inner // LANES, inner % LANES] = part
        work.tasks[at, 0] = start
        work.tasks[at, 1] = k
        work.tasks[at, 2] = level + 1
        work.tasks[at, 3] = inner
        work.meta[TASKS] = at + 1
    # the first is to come off first: blocks lie in the order of the keys
    high = work.meta[TASKS] - 1
    while low < high:
        for c in range(4):
            kept = work.tasks[low, c]
            work.tasks[low, c] = work.tasks[high, c]
            work.tasks[high, c] = kept
        low += 1
        high -= 1
    return True


@inner_kernel
def _add_frame(work, first, last, level, place, dim):
    """Let a crowded cell of the last level wait as a frame of its own."""
    at = work.meta[FRAMES]
    frame = work.frames[at]
    frame[FIRST] = first
    frame[LAST] = last
    frame[PLACE] = place
    frame[LEVELS] = -1
    exponent = work.meta[AT_EXPONENT]
    frame[EXPONENT] = exponent
    if exponent != nodes.ROOT:
        exponent -= level
        frame[EXPONENT] = exponent
        row = np.int64(work.keys[first]) & _ROW
        for d in range(len(dim)):
            work.corners[at, d] = nodes.corner_of(work.centers[row, d], exponent)
    work.meta[FRAMES] = at + 1


@inner_kernel
def _goes_deeper(work, first, last, level):
    """Tell if a row of a range belongs to a finer cell than that of the level."""
    exponent = work.meta[AT_EXPONENT]
    if exponent == nodes.ROOT:
        return True
    for i in range(first, last):
        if work.exponents[np.int64(work.keys[i]) & _ROW] < exponent - level:
            return True
    return False


@inner_kernel
def _run_tasks(tree, work, slots, boxes, leaf_size, q, dim):
    """Make the nodes of all tasks of a frame; returns False for want of blocks."""
    levels = work.meta[AT_LEVELS]
    while work.meta[TASKS] > 0:
        top = work.meta[TASKS] - 1
        first, last = work.tasks[top, 0], work.tasks[top, 1]
        level, place = work.tasks[top, 2], work.tasks[top, 3]
        if nodes.free_blocks(tree) < 4 + (last - first + LANES - 1) // LANES:
            return False
        work.meta[TASKS] = top
        code = np.int64(tree.codes[place // LANES, place % LANES]) if place >= 0 else 0
        if place >= 0:
            if last - first > leaf_size:
                deeper = _branching_level(work, first, last, level, levels, len(dim))
                if deeper == levels and _goes_deeper(work, first, last, deeper):
                    _add_frame(work, first, last, deeper, place, dim)
                    continue
                if deeper < levels and _split(
                    *(tree, work, slots, boxes, first, last, deeper),
                    *(place, code, leaf_size, q, dim),
                ):
                    continue
            _hang_leaf(
                *(tree, work, slots, boxes, first, last, level, place, code, leaf_size, q, dim)
            )
        else:
            _split(tree, work, slots, boxes, first, last, level, place, code, leaf_size, q, dim)
    return True


@kernel
def build_frames(tree, work, slots, boxes, leaf_size, is_bulk, dim):
    """Build all frames that wait; returns `DONE`, or why it stopped.

    `SORT`: the keys of the frame on top are to be sorted by the bits above `ROW_BITS`. In bulk,
    bounds of inner nodes are left for `nodes.refit_all`.
    """
    scratch = local_floats()
    q = scratch[:0] if is_bulk else scratch
    while True:
        if not _run_tasks(tree, work, slots, boxes, leaf_size, q, dim):
            return BLOCKS
        top = work.meta[FRAMES] - 1
        if top < 0:
            return DONE
        frame = work.frames[top]
        if frame[LEVELS] < 0:
            n = _begin_frame(work, dim)
            if n > _SHORT:
                return SORT
            sort_short(work.keys[frame[FIRST] : frame[LAST]])
        if frame[PLACE] < 0 and frame[EXPONENT] != nodes.ROOT:
            # all on one side of 0 along each axis: the root has one child
            frame[PLACE] = nodes.new_place(tree, 0, dim)
            tree.codes[0, 0] = _side_of(work, np.int64(work.keys[frame[FIRST]]) & _ROW, dim)
        work.meta[FRAMES] = top
        work.meta[AT_EXPONENT] = frame[EXPONENT]
        work.meta[AT_LEVELS] = frame[LEVELS]
        for d in range(len(dim)):
            work.corner[d] = work.corners[top, d]
        work.tasks[0, 0] = frame[FIRST]
        work.tasks[0, 1] = frame[LAST]
        work.tasks[0, 2] = 0
        work.tasks[0, 3] = frame[PLACE]
        work.meta[TASKS] = 1
