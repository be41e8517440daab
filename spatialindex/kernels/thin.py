"""One question with few arguments: arrays by address.

Handing an array to compiled code costs about 0.2 µs, and a structure has a dozen of them: more than
one query takes. For single questions their addresses and lengths are written into one int64 array,
the *handle*, and the kernel makes arrays of them again: 3 instead of 38 µs a query. Whoever makes a
handle keeps the arrays alive and makes a new one when any of them is replaced.

Functions that make arrays of addresses count references, as those do that allocate; the kernels
they call do not. There are no handles without compilation: `HAS_HANDLES` is False then, and single
questions go the way of batches.
"""

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from spatialindex.constants import STATE_DTYPE
from spatialindex.kernels.blocks import scan_regions
from spatialindex.kernels.decide import INTERSECTS, Ask
from spatialindex.kernels.grid.ask import query_regions
from spatialindex.kernels.grid.cells import META, GridArrays
from spatialindex.kernels.jit import PLAIN, allocating_kernel
from spatialindex.kernels.levels.ask import query_regions as query_levels
from spatialindex.kernels.loose.ask import query_regions as query_loose
from spatialindex.kernels.loose.nodes import COLUMNS, LooseArrays
from spatialindex.kernels.loose.nodes import STACK as LOOSE_STACK
from spatialindex.kernels.simd import LANES, local_ints
from spatialindex.kernels.sorting import sort_short
from spatialindex.kernels.tree.ask import STATE
from spatialindex.kernels.tree.ask import query_regions as query_tree
from spatialindex.kernels.tree.nodes import STACK, TreeArrays

__all__ = [
    "HAS_HANDLES",
    "MOST_ANSWERS",
    "ask_grid",
    "ask_levels",
    "ask_list",
    "ask_loose",
    "ask_tree",
    "make_handle",
]

HAS_HANDLES = not PLAIN

MOST_ANSWERS = 48
"""Answers of a single question; with more it is asked again as a batch."""


def make_handle(*arrays: np.ndarray) -> np.ndarray:
    """Return ``(k, 2)`` int64: address and length of each array, all C-contiguous."""
    return np.array([(array.ctypes.data, len(array)) for array in arrays], np.int64)


@intrinsic
def _pointer(typingctx, address):
    """Make a pointer of an address."""

    def generate(context, builder, signature, args):
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


@allocating_kernel
def _ask_for(handle, at, box, dim):
    """Bundle one box as a question; table arrays are at `at` of the handle: boxes, state."""
    ndim = len(dim)
    region = carray(_pointer(box), (1, 2 * ndim), np.float64)
    boxes = carray(_pointer(handle[at, 0]), (handle[at, 1], 2 * ndim), np.float64)
    state = carray(_pointer(handle[at + 1, 0]), (handle[at + 1, 1],), STATE_DTYPE)
    nobody = carray(_pointer(handle[at, 0]), (0,), np.int32)
    return Ask(INTERSECTS, region, region, nobody, np.uint64(0), 0, boxes, state, True)


@allocating_kernel
def _name_and_sort(out, count, slot_ids):
    """Replace rows (0, slot) at the start of `out` by ids, ascending."""
    for i in range(count):
        out[i] = slot_ids[out[i] >> 32]
    sort_short(out[:count])


@allocating_kernel
def _is_box(box, dim):
    """Tell if bounds are in order, which NaN never is."""
    ok = True
    for d in range(len(dim)):
        ok &= box[d] <= box[len(dim) + d]
    return ok


@allocating_kernel
def ask_list(handle, n, box, out, dim):
    """Ask a packed list about one box.

    The handle has the list's bounds, slots and exact bits, and the table's boxes, state and ids.
    Writes ids to `out`, int64, and returns how many; -1 for a box that is none, and more than
    `MOST_ANSWERS` when there is no room.
    """
    ndim = len(dim)
    if not _is_box(box, dim):
        return -1
    blocks = handle[0, 1]
    bounds = carray(_pointer(handle[0, 0]), (blocks, 2 * ndim, 8), np.float32)
    slots = carray(_pointer(handle[1, 0]), (blocks, 8), np.int32)
    exact = carray(_pointer(handle[2, 0]), (blocks,), np.uint8)
    ask = _ask_for(handle, 3, box.ctypes.data, dim)
    rows = carray(_pointer(out.ctypes.data), (MOST_ANSWERS, 2), np.int32)
    counts = local_ints()
    count = scan_regions(bounds, slots, exact, n, ask, 0, 1, counts, rows, MOST_ANSWERS, dim)
    if count <= MOST_ANSWERS:
        _name_and_sort(out, count, carray(_pointer(handle[5, 0]), (handle[5, 1],), np.int64))
    return count


@allocating_kernel
def _grid_of(handle, coordinates, dim):
    """Bundle the arrays of a grid, the first in the handle; its cells are numbered in a type."""
    ndim = len(dim)
    blocks = handle[2, 1]
    return GridArrays(
        carray(_pointer(handle[0, 0]), (handle[0, 1], ndim + 2), coordinates),
        carray(_pointer(handle[1, 0]), (blocks, 2 * ndim, 8), np.float32),
        carray(_pointer(handle[2, 0]), (blocks, 8), np.int32),
        carray(_pointer(handle[3, 0]), (blocks,), np.uint8),
        carray(_pointer(handle[4, 0]), (blocks, ndim), np.uint8),
        carray(_pointer(handle[5, 0]), (blocks,), np.int32),
        carray(_pointer(handle[6, 0]), (handle[6, 1], 2 * ndim), coordinates),
        carray(_pointer(handle[7, 0]), (handle[7, 1],), np.int64),
    )


@allocating_kernel
def ask_grid(handle, edge, n_wide, box, out, dim):
    """Ask a grid about one box, as `ask_list`.

    The handle has the grid's arrays, then the wide list's bounds, slots and exact bits, then the
    table's boxes, state and ids.
    """
    ndim = len(dim)
    if not _is_box(box, dim):
        return -1
    grid = _grid_of(handle, np.int32, dim)
    ask = _ask_for(handle, 11, box.ctypes.data, dim)
    rows = carray(_pointer(out.ctypes.data), (MOST_ANSWERS, 2), np.int32)
    counts = local_ints()
    count = query_regions(grid, ask, ask.askers, edge, 0, 1, counts, rows, MOST_ANSWERS, dim)
    if n_wide > 0 and count <= MOST_ANSWERS:
        blocks = handle[8, 1]
        bounds = carray(_pointer(handle[8, 0]), (blocks, 2 * ndim, 8), np.float32)
        slots = carray(_pointer(handle[9, 0]), (blocks, 8), np.int32)
        exact = carray(_pointer(handle[10, 0]), (blocks,), np.uint8)
        count += scan_regions(
            bounds, slots, exact, n_wide, ask, 0, 1, counts, rows[count:], MOST_ANSWERS, dim
        )
    if count <= MOST_ANSWERS:
        _name_and_sort(out, count, carray(_pointer(handle[13, 0]), (handle[13, 1],), np.int64))
    return count


@allocating_kernel
def ask_tree(handle, box, out, dim):
    """Ask a tree about one box, as `ask_list`.

    The handle has the tree's arrays, then the table's boxes, state and ids.
    """
    ndim = len(dim)
    if not _is_box(box, dim):
        return -1
    blocks = handle[2, 1]
    tree = TreeArrays(
        carray(_pointer(handle[0, 0]), (blocks, 2 * ndim, 8), np.float32),
        carray(_pointer(handle[1, 0]), (blocks, 8), np.int32),
        carray(_pointer(handle[2, 0]), (blocks,), np.uint8),
        carray(_pointer(handle[3, 0]), (blocks,), np.int8),
        carray(_pointer(handle[4, 0]), (blocks,), np.uint8),
        carray(_pointer(handle[5, 0]), (blocks,), np.int32),
        carray(_pointer(handle[6, 0]), (blocks,), np.uint64),
        carray(_pointer(handle[7, 0]), (blocks,), np.uint64),
        carray(_pointer(handle[8, 0]), (blocks,), np.uint8),
        carray(_pointer(handle[9, 0]), (blocks,), np.float64),
        carray(_pointer(handle[10, 0]), (handle[10, 1],), np.int32),
        carray(_pointer(handle[11, 0]), (handle[11, 1],), np.int64),
    )
    # of this call: others may be asking at the same time
    queries, stack = np.empty((1, 2 * LANES), np.float32), np.empty(STACK, np.int64)
    state = np.empty((2, STATE), np.int64)
    ask = _ask_for(handle, 12, box.ctypes.data, dim)
    rows = carray(_pointer(out.ctypes.data), (MOST_ANSWERS, 2), np.int32)
    order = carray(_pointer(handle[10, 0]), (0,), np.int32)
    counts = local_ints()
    scratch = queries, stack, state
    count = query_tree(tree, ask, order, *scratch, 0, 1, counts, rows, MOST_ANSWERS, dim)
    if count <= MOST_ANSWERS:
        _name_and_sort(out, count, carray(_pointer(handle[14, 0]), (handle[14, 1],), np.int64))
    return count


@allocating_kernel
def ask_loose(handle, box, out, dim):
    """Ask a loose tree about one box, as `ask_list`.

    The handle has the tree's arrays, then the table's boxes, state and ids.
    """
    ndim = len(dim)
    if not _is_box(box, dim):
        return -1
    blocks = handle[4, 1]
    tree = LooseArrays(
        carray(_pointer(handle[0, 0]), (blocks, 2 * ndim, 8), np.float32),
        carray(_pointer(handle[1, 0]), (blocks, 8), np.int32),
        carray(_pointer(handle[2, 0]), (blocks, 8), np.uint8),
        carray(_pointer(handle[3, 0]), (blocks,), np.uint8),
        carray(_pointer(handle[4, 0]), (blocks,), np.int32),
        carray(_pointer(handle[5, 0]), (blocks, COLUMNS), np.int32),
        carray(_pointer(handle[6, 0]), (blocks, ndim), np.float64),
        carray(_pointer(handle[7, 0]), (handle[7, 1],), np.int32),
        carray(_pointer(handle[8, 0]), (handle[8, 1],), np.int64),
    )
    stack = np.empty(LOOSE_STACK, np.int32)  # of this call: others may be asking at the same time
    ask = _ask_for(handle, 9, box.ctypes.data, dim)
    rows = carray(_pointer(out.ctypes.data), (MOST_ANSWERS, 2), np.int32)
    order = carray(_pointer(handle[7, 0]), (0,), np.int32)
    counts = local_ints()
    count = query_loose(tree, ask, order, stack, 0, 1, counts, rows, MOST_ANSWERS, dim)
    if count <= MOST_ANSWERS:
        _name_and_sort(out, count, carray(_pointer(handle[11, 0]), (handle[11, 1],), np.int64))
    return count


@allocating_kernel
def ask_levels(handle, box, out, dim):
    """Ask a grid of levels about one box, as `ask_list`.

    The handle has the grid's arrays, the edges and the `meta` of its levels, then the table's
    boxes, state and ids.
    """
    if not _is_box(box, dim):
        return -1
    grid = _grid_of(handle, np.int64, dim)
    edges = carray(_pointer(handle[8, 0]), (handle[8, 1],), np.float64)
    metas = carray(_pointer(handle[9, 0]), (handle[9, 1], META), np.int64)
    ask = _ask_for(handle, 10, box.ctypes.data, dim)
    rows = carray(_pointer(out.ctypes.data), (MOST_ANSWERS, 2), np.int32)
    counts = local_ints()
    order = ask.askers
    count = query_levels(grid, edges, metas, ask, order, 0, 1, counts, rows, MOST_ANSWERS, dim)
    if count <= MOST_ANSWERS:
        _name_and_sort(out, count, carray(_pointer(handle[12, 0]), (handle[12, 1],), np.int64))
    return count
