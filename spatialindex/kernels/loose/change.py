"""Changing a loose tree object by object: entering, leaving, moving.

An object goes down from the root as long as there is a cell for it. Where it meets a node that does
not hold its center, or is too fine for it, both get a common node above, at the least exponent that
holds them; a leaf with room just becomes coarser. A leaf may take more than it should: the caller
divides it afterwards, with the kernels that build.

An object that moves stays in its node as long as the loose bounds hold its box: only its lane is
written. Leaves that have become empty go, an inner node with one child gives way to it, and one
with a few objects in a few leaves becomes a leaf.
"""

import numpy as np

from spatialindex.kernels.blocks import copy_lane, write_lane
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.loose import nodes
from spatialindex.kernels.simd import LANES, local_doubles, local_floats, pack8, prefetch

__all__ = ["enter_slots", "leave_slots", "move_all", "move_slots"]

_ROOM = 6  # blocks that one object can need
_AHEAD = 3  # blocks that boxes are asked for before they are needed
_SLOT = 2**31 - 1
_QUEUED = 2**30  # patience of a leaf that waits to be divided


@inner_kernel
def _common_exponent(corners, head, boxes, i, low, high, dim):
    """Return the least exponent from `low` on at which a center is in the same cell as a head.

    At `high` it is.
    """
    ndim = len(dim)
    low -= 1
    while high - low > 1:
        middle = (low + high) // 2
        is_one = True
        for d in range(ndim):
            c = nodes.center(boxes, i, d, ndim)
            is_one &= nodes.corner_of(c, middle) == nodes.corner_of(corners[head, d], middle)
        if is_one:
            high = middle
        else:
            low = middle
    return high


@inner_kernel
def _append(tree, head, slot, boxes, i, q, dim):
    """Make a slot a member of a leaf; its lane is the next of the second block, or of the head."""
    block = np.int64(head)
    if tree.nodes[head, nodes.SIZE] == LANES:
        second = np.int64(tree.link[head])
        if second < 0 or tree.nodes[second, nodes.SIZE] == LANES:
            block = nodes.take_empty(tree, dim)
            tree.nodes[block, nodes.PARENT] = -2 - head
            tree.nodes[block, nodes.TOTAL] = -1
            tree.link[block] = second
            tree.link[head] = block
        else:
            block = second
    lane = np.int64(tree.nodes[block, nodes.SIZE])
    write_lane(tree.bounds, tree.items, tree.exact, block, lane, slot, boxes, i, dim)
    tree.places[slot] = LANES * block + lane
    tree.nodes[block, nodes.SIZE] = lane + 1
    tree.nodes[head, nodes.TOTAL] += 1
    tree.meta[nodes.ENTRIES] += 1
    nodes.refit_up(tree, head, q, dim)


@inner_kernel
def _new_leaf(tree, above, code, boxes, i, own, leaf_size, dim):
    """Make an empty leaf for a box below an inner node: the part of its cell, or its own."""
    ndim = len(dim)
    exponent = np.int64(tree.nodes[above, nodes.EXPONENT])
    leaf = nodes.new_node(tree, True, leaf_size, exponent, dim)
    nodes.put_item(tree, nodes.new_place(tree, above, dim), leaf, code)
    if code == nodes.OWN:
        for d in range(ndim):
            tree.corners[leaf, d] = tree.corners[above, d]
        return leaf
    if exponent == nodes.ROOT:
        exponent = own
        for d in range(ndim):
            exponent = max(exponent, nodes.exponent_above(abs(nodes.center(boxes, i, d, ndim))))
        for d in range(ndim):
            is_upper = (code >> d) & 1
            tree.corners[leaf, d] = 0.0 if is_upper else -nodes.power(exponent)
    else:
        exponent -= 1
        edge = nodes.power(exponent)
        for d in range(ndim):
            corner = tree.corners[above, d]
            tree.corners[leaf, d] = corner + edge if (code >> d) & 1 else corner
    tree.nodes[leaf, nodes.EXPONENT] = exponent
    return leaf


@inner_kernel
def _widen(tree, head, exponent, dim):
    """Make the cell of a leaf a coarser one that holds it."""
    for d in range(len(dim)):
        tree.corners[head, d] = nodes.corner_of(tree.corners[head, d], exponent)
    tree.nodes[head, nodes.EXPONENT] = exponent


@inner_kernel
def _put_between(tree, place, child, exponent, dim):
    """Put an inner node with the coarser cell of an exponent above a child; return it."""
    block, lane = place // LANES, place % LANES
    head = nodes.new_node(tree, False, 0, exponent, dim)
    edge = nodes.power(exponent - 1)
    code = 0
    for d in range(len(dim)):
        corner = nodes.corner_of(tree.corners[child, d], exponent)
        tree.corners[head, d] = corner
        if tree.corners[child, d] >= corner + edge:
            code |= 1 << d
    inner = nodes.new_place(tree, head, dim)
    for d in range(2 * len(dim)):
        tree.bounds[head, d, inner % LANES] = tree.bounds[block, d, lane]
    nodes.put_item(tree, place, head, np.int64(tree.codes[block, lane]))
    nodes.put_item(tree, inner, child, code)
    return head


@inner_kernel
def _leaf_for(tree, boxes, i, own, leaf_size, dim):
    """Find the leaf that a box of an exponent goes to, or make it."""
    head = np.int64(0)
    while True:
        exponent = np.int64(tree.nodes[head, nodes.EXPONENT])
        code = np.int64(nodes.OWN)
        if own < exponent:
            code = nodes.code_of(tree.corners, head, exponent, boxes, i, dim)
        place = nodes.find_place(tree, head, code)
        if place < 0:
            return _new_leaf(tree, head, code, boxes, i, own, leaf_size, dim)
        child = nodes.block_at(tree.items[place // LANES, place % LANES])
        if code == nodes.OWN:
            return child
        total = tree.nodes[child, nodes.TOTAL]
        fine = np.int64(tree.nodes[child, nodes.EXPONENT])
        if own <= fine and nodes.holds_center(tree.corners, child, fine, boxes, i, dim):
            if total >= 0:
                return child
            head = child
            continue
        high = min(exponent - 1, np.int64(nodes.LARGEST))
        common = _common_exponent(tree.corners, child, boxes, i, max(own, fine), high, dim)
        if 0 <= total < leaf_size:
            _widen(tree, child, common, dim)
            return child
        head = _put_between(tree, place, child, common, dim)


@kernel
def enter_slots(tree, slots, boxes, start, looseness, leaf_size, crowded, n_crowded, dim):
    """Make slots members of leaves, from row `start` on; row `i` of `boxes` is ``slots[i]``'s.

    Lists leaves that should be divided in `crowded`, int32, from `n_crowded` on. Returns the row it
    stopped at for want of blocks, or the number of slots, and how many leaves are listed.
    """
    q = local_floats()
    for i in range(start, slots.shape[0]):
        if nodes.free_blocks(tree) < _ROOM:
            return i, n_crowded
        own = nodes.own_exponent(boxes, i, looseness, dim)
        leaf = _leaf_for(tree, boxes, i, own, leaf_size, dim)
        _append(tree, leaf, slots[i], boxes, i, q, dim)
        if tree.nodes[leaf, nodes.TOTAL] > tree.nodes[leaf, nodes.PATIENCE]:
            tree.nodes[leaf, nodes.PATIENCE] = _QUEUED
            crowded[n_crowded] = leaf
            n_crowded += 1
    return slots.shape[0], n_crowded


# -- leaving --------------------------------------------------------------------------------------


@inner_kernel
def _drop_place(tree, place, dim):
    """Free a lane of an inner node; the last lane of its last block fills the gap."""
    block, lane = place // LANES, place % LANES
    head = nodes.head_of(tree, block)
    last_block = np.int64(tree.link[head])
    if last_block < 0:
        last_block = head
    last = np.int64(tree.nodes[last_block, nodes.SIZE]) - 1
    if block != last_block or lane != last:
        for d in range(2 * len(dim)):
            tree.bounds[block, d, lane] = tree.bounds[last_block, d, last]
        child = nodes.block_at(tree.items[last_block, last])
        nodes.put_item(tree, place, child, np.int64(tree.codes[last_block, last]))
    nodes.clear_lane(tree, last_block, last, dim)
    tree.nodes[last_block, nodes.SIZE] = last
    if last == 0 and last_block != head:
        tree.link[head] = -1
        nodes.free_block(tree, last_block)


@inner_kernel
def _merge(tree, head, leaf_size, dim):
    """Make an inner node of leaves that are half full in all one leaf.

    Returns the leaf, -1 where it is not so.
    """
    total = 0
    for lane in range(tree.nodes[head, nodes.SIZE]):
        child = nodes.block_at(tree.items[head, lane])
        members = np.int64(tree.nodes[child, nodes.TOTAL])
        if members < 0:
            return np.int64(-1)
        total += members
    if tree.link[head] >= 0 or total > min(leaf_size // 2, LANES):
        return np.int64(-1)
    leaf = nodes.block_at(tree.items[head, 0])
    for lane in range(1, tree.nodes[head, nodes.SIZE]):
        child = nodes.block_at(tree.items[head, lane])
        for j in range(tree.nodes[child, nodes.SIZE]):
            at = np.int64(tree.nodes[leaf, nodes.SIZE])
            copy_lane(tree.bounds, tree.items, tree.exact, leaf, at, child, j, dim)
            tree.places[tree.items[leaf, at]] = LANES * leaf + at
            tree.nodes[leaf, nodes.SIZE] = at + 1
        nodes.free_block(tree, child)
        tree.meta[nodes.LEAVES] -= 1
    tree.nodes[leaf, nodes.TOTAL] = total
    tree.nodes[leaf, nodes.PATIENCE] = leaf_size
    tree.nodes[leaf, nodes.EXPONENT] = tree.nodes[head, nodes.EXPONENT]
    for d in range(len(dim)):
        tree.corners[leaf, d] = tree.corners[head, d]
    _replace(tree, head, leaf)
    return leaf


@inner_kernel
def _replace(tree, head, child):
    """Hang a child where its inner node hangs, which is freed."""
    place = np.int64(tree.nodes[head, nodes.PARENT])
    code = np.int64(tree.codes[place // LANES, place % LANES])
    nodes.put_item(tree, place, child, code)
    nodes.free_block(tree, head)


@inner_kernel
def _tidy(tree, head, leaf_size, q, dim):
    """After a child of an inner node, or part of it, has gone, simplify and refit what is there."""
    while head != 0:
        child = np.int64(-1)
        if tree.nodes[head, nodes.SIZE] == 1:
            child = nodes.block_at(tree.items[head, 0])
            _replace(tree, head, child)
        else:
            child = _merge(tree, head, leaf_size, dim)
        if child < 0:
            break
        nodes.refit_up(tree, child, q, dim)
        if tree.nodes[child, nodes.TOTAL] < 0:
            return
        head = nodes.head_of(tree, np.int64(tree.nodes[child, nodes.PARENT]) // LANES)
    nodes.refit_up(tree, head, q, dim)


@kernel
def leave_slots(tree, slots, leaf_size, dim):
    """Take slots out of their leaves."""
    q = local_floats()
    for i in range(slots.shape[0]):
        place = np.int64(tree.places[slots[i]])
        tree.places[slots[i]] = -1
        block, lane = place // LANES, place % LANES
        head = nodes.head_of(tree, block)
        last_block = np.int64(tree.link[head])
        if last_block < 0:
            last_block = head
        last = np.int64(tree.nodes[last_block, nodes.SIZE]) - 1
        if block != last_block or lane != last:
            copy_lane(tree.bounds, tree.items, tree.exact, block, lane, last_block, last, dim)
            tree.places[tree.items[block, lane]] = place
        nodes.clear_lane(tree, last_block, last, dim)
        tree.nodes[last_block, nodes.SIZE] = last
        if last == 0 and last_block != head:
            tree.link[head] = tree.link[last_block]
            nodes.free_block(tree, last_block)
        tree.meta[nodes.ENTRIES] -= 1
        tree.nodes[head, nodes.TOTAL] -= 1
        total = tree.nodes[head, nodes.TOTAL]
        above_place = np.int64(tree.nodes[head, nodes.PARENT])
        above = nodes.head_of(tree, above_place // LANES)
        if total == 0:
            nodes.free_block(tree, head)
            tree.meta[nodes.LEAVES] -= 1
            _drop_place(tree, above_place, dim)
            _tidy(tree, above, leaf_size, q, dim)
            continue
        nodes.refit_up(tree, head, q, dim)
        if total <= leaf_size // 2 and above != 0:
            _tidy(tree, above, leaf_size, q, dim)


# -- moving ---------------------------------------------------------------------------------------


@inner_kernel
def _stays(tree, head, boxes, i, looseness, dim):
    """Tell if a box that has moved may stay in its leaf: the loose bounds hold it.

    Unless it has become so small that it belongs two levels below an inner node's own.
    """
    exponent = np.int64(tree.nodes[head, nodes.EXPONENT])
    place = np.int64(tree.nodes[head, nodes.PARENT])
    is_own = tree.codes[place // LANES, place % LANES] == nodes.OWN
    if not nodes.fits(tree.corners, head, exponent, boxes, i, looseness, dim):
        return False
    if not is_own:
        return True
    own = nodes.own_exponent(boxes, i, looseness, dim)
    if exponent == nodes.ROOT:
        return own == nodes.ROOT
    return own >= exponent - 1 or not nodes.holds_center(
        tree.corners, head, exponent, boxes, i, dim
    )


@kernel
def move_slots(tree, slots, boxes, looseness, marks, changed, leaving, dim):
    """Write the new boxes of slots that stay in their leaves, and list in `leaving` who does not.

    Row `i` of `boxes` is the new box of ``slots[i]``. Scratch: `marks` uint8, all zero, of as many
    places as blocks, and `changed` int32 like `slots`. Returns how many are listed.
    """
    q = local_floats()
    n_leaving = 0
    n_changed = 0
    for i in range(slots.shape[0]):
        slot = slots[i]
        place = np.int64(tree.places[slot])
        block = place // LANES
        head = nodes.head_of(tree, block)
        if not _stays(tree, head, boxes, i, looseness, dim):
            leaving[n_leaving] = slot
            n_leaving += 1
            continue
        lane = place % LANES
        write_lane(tree.bounds, tree.items, tree.exact, block, lane, slot, boxes, i, dim)
        if not marks[head]:
            marks[head] = 1
            changed[n_changed] = head
            n_changed += 1
    for i in range(n_changed):
        nodes.refit_up(tree, np.int64(changed[i]), q, dim)
    tree.meta[nodes.MOVED] += n_leaving
    return n_leaving


@inner_kernel
def _are_held(tree, head, block, boxes, leaving, n_leaving, looseness, inner, dim):
    """List the members in a block of a leaf that its loose bounds `inner` do not hold any more.

    Returns how many are listed by then.
    """
    ndim = len(dim)
    is_plain = np.int64(tree.nodes[head, nodes.EXPONENT]) != nodes.ROOT
    place = np.int64(tree.nodes[head, nodes.PARENT])
    is_plain &= tree.codes[place // LANES, place % LANES] != nodes.OWN
    for lane in range(tree.nodes[block, nodes.SIZE]):
        slot = np.int64(tree.items[block, lane])
        if is_plain:
            ok = True
            for d in range(ndim):
                ok &= (inner[d] <= boxes[slot, d]) & (boxes[slot, ndim + d] <= inner[3 + d])
        else:
            ok = _stays(tree, head, boxes, slot, looseness, dim)
        if not ok:
            leaving[n_leaving] = slot
            n_leaving += 1
    return n_leaving


@kernel
def move_all(tree, boxes, looseness, leaving, dim):
    """Write the present boxes of all members, and list in `leaving` who does not stay.

    Row `i` of `boxes` is that of slot `i`. Returns how many are listed. For when much has moved: it
    goes through the blocks as they lie, not through memory at random.
    """
    ndim = len(dim)
    q = local_floats()
    inner = local_doubles()
    flat = tree.items.reshape(-1)
    n_leaving = 0
    for head in range(1, tree.meta[nodes.USED_BLOCKS]):
        if tree.nodes[head, nodes.TOTAL] < 0:
            continue
        exponent = np.int64(tree.nodes[head, nodes.EXPONENT])
        if exponent != nodes.ROOT:
            edge = nodes.power(exponent)
            margin = 0.5 * (looseness - 1.0) * edge
            for d in range(ndim):
                inner[d] = tree.corners[head, d] - margin
                inner[3 + d] = tree.corners[head, d] + edge + margin
        block = np.int64(head)
        while block >= 0:
            for lane in range(LANES):
                ahead = min(LANES * (block + _AHEAD) + lane, flat.shape[0] - 1)
                if flat[ahead] >= 0:
                    prefetch(boxes, min(np.int64(flat[ahead]), boxes.shape[0] - 1))
            size = np.int64(tree.nodes[block, nodes.SIZE])
            tree.exact[block] = pack8(
                tree.bounds, block, boxes, flat, LANES * block, size, _SLOT, dim
            )
            for lane in range(size, LANES):
                nodes.clear_lane(tree, block, lane, dim)
            n_leaving = _are_held(
                tree, head, block, boxes, leaving, n_leaving, looseness, inner, dim
            )
            block = np.int64(tree.link[block])
        nodes.refit_up(tree, head, q, dim)
    tree.meta[nodes.MOVED] += n_leaving
    return n_leaving
