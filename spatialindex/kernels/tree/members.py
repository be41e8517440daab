"""Changing a tree object by object: inserting, removing, moving.

An object enters the leaf that has to grow least on the way down; a full leaf is split, which gives
its parent one child more, which may split it in turn, up to the root, whose halves go one level
down. An object leaves by its place; a leaf that becomes empty is freed, one that becomes small is
emptied into another leaf of the same parent if that has room.

An object that moves stays in its leaf as long as the leaf does not outgrow its *home*, the surface
that it had when it was built, by too much. Otherwise it leaves and enters anew: so no leaf is
stretched for long, whatever moves where.

Kernels that may need blocks stop where there might not be enough; the caller makes room and goes
on.
"""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.blocks import copy_lane, write_lane
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES, local_floats
from spatialindex.kernels.tree import nodes
from spatialindex.kernels.tree.split import choose_halves

__all__ = ["Scratch", "change_slots", "leave_slots", "stretched_slots"]

# of a leaf's home: surface up to which it is stretched by what moves in it
_STRETCH = 1.5


class Scratch(NamedTuple):
    """What changing needs beside the tree."""

    boxes: np.ndarray
    """``(8, 2*ndim)`` float32."""
    order: np.ndarray
    """``(8,)`` int64."""
    costs: np.ndarray
    """``(8,)`` float64."""
    path: np.ndarray
    """``(MOST_DEPTH,)`` int64."""


@inner_kernel
def _lane_of_least_growth(tree, block, boxes, i, dim):
    """Return the child that has to grow least to hold a box; of equals the smaller one."""
    best = 0
    least_growth = least_surface = np.inf
    for lane in range(tree.size[block]):
        here = nodes.lane_surface(tree.bounds, block, lane, dim)
        grown = _surface_with(tree.bounds, block, lane, boxes, i, dim)
        growth = grown - here
        if growth < least_growth or (growth == least_growth and here < least_surface):
            least_growth, least_surface = growth, here
            best = lane
    return best


@inner_kernel
def _surface_with(bounds, block, lane, boxes, i, dim):
    """Return half the surface of the bounds of a lane enlarged by a box."""
    ndim = len(dim)
    x = min(
        max(np.float64(bounds[block, ndim, lane]), boxes[i, ndim])
        - min(np.float64(bounds[block, 0, lane]), boxes[i, 0]),
        nodes.LARGEST,
    )
    y = min(
        max(np.float64(bounds[block, ndim + 1, lane]), boxes[i, ndim + 1])
        - min(np.float64(bounds[block, 1, lane]), boxes[i, 1]),
        nodes.LARGEST,
    )
    if ndim == 2:
        return x + y
    z = min(
        max(np.float64(bounds[block, 2 * ndim - 1, lane]), boxes[i, 2 * ndim - 1])
        - min(np.float64(bounds[block, ndim - 1, lane]), boxes[i, ndim - 1]),
        nodes.LARGEST,
    )
    return x * y + y * z + z * x


@inner_kernel
def _copy_entry(tree, to, to_lane, block, lane, dim):
    """Copy a lane to another block of the same kind and tell the object or child."""
    copy_lane(tree.bounds, tree.items, tree.exact, to, to_lane, block, lane, dim)
    item = np.int64(tree.items[to, to_lane])
    if tree.is_leaf[to]:
        tree.places[item] = LANES * to + to_lane
    else:
        tree.parent[nodes.block_at(item)] = LANES * to + to_lane


@inner_kernel
def _append_child(tree, block, child, state, q, dim):
    """Hang a block, whose lanes are right, in the next lane of another, which has room."""
    lane = np.int64(tree.size[block])
    nodes.hang(tree, child, block, lane)
    tree.size[block] = lane + 1
    _settle_child(tree, child, state, q, dim)


@inner_kernel
def _settle_child(tree, child, state, q, dim):
    """Write summary, bounds and home of a block whose lanes are right; an empty one has none."""
    if tree.size[child] == 0:
        return
    place = np.int64(tree.parent[child])
    nodes.summarize(tree, child, state)
    nodes.box_of_block(tree.bounds, child, q, dim)
    nodes.write_bounds(tree.bounds, place // LANES, place % LANES, q, dim)
    tree.home[child] = nodes.half_surface(q, dim)


@inner_kernel
def _halve(tree, block, scratch, state, q, dim):
    """Move some of the lanes of a block to a new one beside it and return that.

    The parent has room. All bounds and summaries below the parent are right afterwards.
    """
    n = np.int64(tree.size[block])
    second = np.uint64(0)
    if n > 1:
        for lane in range(n):
            for d in range(2 * len(dim)):
                scratch.boxes[lane, d] = tree.bounds[block, d, lane]
        second = choose_halves(scratch.boxes, n, scratch.order, scratch.costs, q, dim)
    new = nodes.take_block(tree, tree.is_leaf[block], -1, dim)
    kept = 0
    moved = 0
    for lane in range(n):
        if (second >> np.uint64(lane)) & np.uint64(1):
            _copy_entry(tree, new, moved, block, lane, dim)
            moved += 1
        else:
            if kept != lane:
                _copy_entry(tree, block, kept, block, lane, dim)
            kept += 1
    for lane in range(kept, n):
        nodes.clear_lane(tree, block, lane, dim)
    tree.size[block] = kept
    tree.size[new] = moved
    _settle_child(tree, block, state, q, dim)
    _append_child(tree, np.int64(tree.parent[block]) // LANES, new, state, q, dim)
    return new


@inner_kernel
def _lower_root(tree, state, q, dim):
    """Move the content of the root to a new block, which becomes its only child."""
    new = nodes.take_block(tree, 0, -1, dim)
    for lane in range(tree.size[0]):
        _copy_entry(tree, new, lane, 0, lane, dim)
        nodes.clear_lane(tree, 0, lane, dim)
    tree.size[new] = tree.size[0]
    tree.size[0] = 0
    _append_child(tree, 0, new, state, q, dim)
    tree.meta[nodes.DEPTH] += 1
    return new


@inner_kernel
def _find_leaf(tree, boxes, i, path, dim):
    """Write the blocks on the way to the best leaf for a box to `path`; return how many.

    The leaf is the last of them. The tree is not empty.
    """
    path[0] = 0
    n = 1
    while not tree.is_leaf[path[n - 1]]:
        lane = _lane_of_least_growth(tree, path[n - 1], boxes, i, dim)
        path[n] = nodes.block_at(tree.items[path[n - 1], lane])
        n += 1
    return n


@inner_kernel
def _leaf_with_room(tree, boxes, i, state, scratch, q, dim):
    """Return a leaf that has room for a box, after splitting whatever has to be split."""
    path = scratch.path
    if tree.size[0] == 0:
        leaf = nodes.take_block(tree, 1, -1, dim)
        nodes.hang(tree, leaf, 0, 0)
        tree.size[0] = 1
        tree.meta[nodes.DEPTH] = 2
        return leaf
    n = _find_leaf(tree, boxes, i, path, dim)
    leaf = path[n - 1]
    if tree.size[leaf] < tree.meta[nodes.LEAF_SIZE]:
        return leaf
    # from the top down, so that a parent has room when its child is split
    first = n - 1
    while first > 0 and tree.size[path[first - 1]] == LANES:
        first -= 1
    if first == 0:
        path[0] = _lower_root(tree, state, q, dim)
    for j in range(first, n - 1):
        _halve(tree, path[j], scratch, state, q, dim)
    new = _halve(tree, leaf, scratch, state, q, dim)
    if tree.size[new] == 0:  # leaves of one object have no halves
        return new
    one, two = np.int64(tree.parent[leaf]), np.int64(tree.parent[new])
    b = tree.bounds
    growths = (
        _surface_with(b, one // LANES, one % LANES, boxes, i, dim)
        - nodes.lane_surface(b, one // LANES, one % LANES, dim),
        _surface_with(b, two // LANES, two % LANES, boxes, i, dim)
        - nodes.lane_surface(b, two // LANES, two % LANES, dim),
    )
    return leaf if growths[0] <= growths[1] else new


@inner_kernel
def _enter(tree, slot, boxes, i, state, scratch, q, dim):
    """Take an object in with the box in row `i`. There are enough free blocks."""
    leaf = _leaf_with_room(tree, boxes, i, state, scratch, q, dim)
    lane = np.int64(tree.size[leaf])
    write_lane(tree.bounds, tree.items, tree.exact, leaf, lane, slot, boxes, i, dim)
    tree.places[slot] = LANES * leaf + lane
    tree.size[leaf] = lane + 1
    tree.meta[nodes.ENTRIES] += 1
    nodes.refit_up(tree, leaf, state, q, dim)
    nodes.box_of_block(tree.bounds, leaf, q, dim)
    tree.home[leaf] = max(tree.home[leaf], nodes.half_surface(q, dim))


@inner_kernel
def _other_block(tree, block, capacity, dim):
    """Return a block of the same kind and parent with room for all of a block, -1 for none."""
    ndim = len(dim)
    place = np.int64(tree.parent[block])
    above, here = place // LANES, place % LANES
    best = np.int64(-1)
    least = np.inf
    for lane in range(tree.size[above]):
        other = nodes.block_at(tree.items[above, lane])
        if lane == here or tree.is_leaf[other] != tree.is_leaf[block]:
            continue
        if tree.size[other] + tree.size[block] > capacity:
            continue
        # the way between centers is enough to choose by
        way = 0.0
        for d in range(ndim):
            one = np.float64(tree.bounds[above, d, here])
            one += np.float64(tree.bounds[above, ndim + d, here])
            two = np.float64(tree.bounds[above, d, lane])
            two += np.float64(tree.bounds[above, ndim + d, lane])
            way += abs(one - two)
        if best < 0 or way < least:
            least = way
            best = other
    return best


@inner_kernel
def _tidy(tree, block, capacity, state, q, dim):
    """Bring a block that lost something, and what is above it, into order.

    An empty block is freed, a nearly empty one emptied into another of its parent that has room,
    and where an inner block has a single child, the child takes its place.
    """
    while block != 0:
        size = np.int64(tree.size[block])
        if 8 * size > 3 * capacity:
            break
        other = _other_block(tree, block, capacity, dim) if size > 0 else np.int64(-1)
        if size > 0 and other < 0:
            break
        if size > 0:
            start = np.int64(tree.size[other])
            for lane in range(size):
                _copy_entry(tree, other, start + lane, block, lane, dim)
            tree.size[other] = start + size
            _settle_child(tree, other, state, q, dim)
        place = np.int64(tree.parent[block])
        nodes.free_block(tree, block)
        block = place // LANES
        nodes.drop_lane(tree, block, place % LANES, dim)
        capacity = LANES
    if block != 0 and tree.size[block] == 1 and not tree.is_leaf[block]:
        place = np.int64(tree.parent[block])
        child = nodes.block_at(tree.items[block, 0])
        nodes.hang(tree, child, place // LANES, place % LANES)
        for d in range(2 * len(dim)):
            tree.bounds[place // LANES, d, place % LANES] = tree.bounds[block, d, 0]
        nodes.free_block(tree, block)
        block = place // LANES
    nodes.refit_up(tree, block, state, q, dim)
    while tree.size[0] == 1 and tree.items[0, 0] >= 0:
        child = np.int64(tree.items[0, 0])
        for lane in range(tree.size[child]):
            _copy_entry(tree, 0, lane, child, lane, dim)
        tree.size[0] = tree.size[child]
        nodes.free_block(tree, child)
        tree.meta[nodes.DEPTH] -= 1


@inner_kernel
def _leave(tree, slot, state, q, dim):
    """Take an object out."""
    place = np.int64(tree.places[slot])
    leaf, lane = place // LANES, place % LANES
    last = np.int64(tree.size[leaf]) - 1
    if lane != last:
        _copy_entry(tree, leaf, lane, leaf, last, dim)
    nodes.clear_lane(tree, leaf, last, dim)
    tree.size[leaf] = last
    tree.places[slot] = -1
    tree.meta[nodes.ENTRIES] -= 1
    _tidy(tree, leaf, tree.meta[nodes.LEAF_SIZE], state, q, dim)


@kernel
def stretched_slots(tree, slots, dim, out):
    """Write those slots to `out` whose leaves have outgrown their homes; return how many."""
    n = 0
    for i in range(slots.shape[0]):
        leaf = np.int64(tree.places[slots[i]]) // LANES
        place = np.int64(tree.parent[leaf])
        surface = nodes.lane_surface(tree.bounds, place // LANES, place % LANES, dim)
        if surface > _STRETCH * tree.home[leaf]:
            out[n] = slots[i]
            n += 1
    return n


@inner_kernel
def _has_room(tree):
    """Tell if there are blocks enough for a split of every block on the longest path."""
    meta = tree.meta
    free = meta[nodes.FREE_BLOCKS] + tree.size.shape[0] - meta[nodes.USED_BLOCKS]
    return free >= meta[nodes.DEPTH] + 2


@kernel
def leave_slots(tree, slots, state, dim):
    """Take slots out."""
    q = local_floats()
    for i in range(slots.shape[0]):
        _leave(tree, np.int64(slots[i]), state, q, dim)


@kernel
def change_slots(tree, slots, boxes, state, scratch, start, dim):
    """Give slots their boxes, row `i` of `boxes` for ``slots[i]``, from row `start` on.

    A slot that is not here enters; one that is stays in its leaf or leaves and enters anew.
    Returns the row it stopped at for want of blocks, or the number of slots.
    """
    q = local_floats()
    for i in range(start, slots.shape[0]):
        if not _has_room(tree):
            return i
        slot = np.int64(slots[i])
        place = np.int64(tree.places[slot])
        if place >= 0:
            leaf, lane = place // LANES, place % LANES
            write_lane(tree.bounds, tree.items, tree.exact, leaf, lane, slot, boxes, i, dim)
            nodes.box_of_block(tree.bounds, leaf, q, dim)
            if nodes.half_surface(q, dim) <= _STRETCH * tree.home[leaf]:
                nodes.refit_up(tree, leaf, state, q, dim)
                continue
            _leave(tree, slot, state, q, dim)
        _enter(tree, slot, boxes, i, state, scratch, q, dim)
    return slots.shape[0]
