"""The arrays of swept lanes: where a box belongs, who is where, first-lane bits."""

from typing import NamedTuple

import numpy as np

from spatialindex.kernels.blocks import repeat_bits, spread_bits
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import LANES

ABSENT = -1
"""Home of a slot that is not here, and its first lane."""

MOST_LANES = 32767
"""Along one axis: lanes of a slot are remembered in 16 bits."""

# places in `meta`
AXIS = 0  # the sweep axis
ACROSS = 1  # the two axes across it; in 2D the second is the first again
N_LANES = 3  # lanes along each of them; in 2D the second is 1
ENTRIES = 5
SHIFTS = 6  # places that entries were shifted by to be in order again, since ever
META = 8


class SweptLanes(NamedTuple):
    """The state of swept lanes. Blocks of a lane follow one another, and so do the lanes."""

    bounds: np.ndarray
    """``(blocks, 2*ndim, 8)`` float32, rounded outward; NaN in empty lanes."""
    slots: np.ndarray
    """``(blocks, 8)`` int32, -1 in an empty lane."""
    exact: np.ndarray
    """``(blocks,)`` uint8: a bit a lane, set where no bound had to be rounded."""
    first: np.ndarray
    """``(blocks, ndim - 1)`` uint8: a bit a lane, set in the object's first lane along an axis."""
    starts: np.ndarray
    """``(blocks,)`` float32: no lower bound from here on is less; NaN in a block not in use, of
    which nothing else means anything."""
    offsets: np.ndarray
    """``(lanes + 1,)`` int64: the first block of each lane; its last block is never in use."""
    ranges: np.ndarray
    """``(capacity, 2 * (ndim - 1))`` int16: first and last lane of a slot along each axis."""
    homes: np.ndarray
    """``(capacity,)`` int32: 8 * block + lane of the home of each slot, `ABSENT` without one."""
    frame: np.ndarray
    """``(4,)`` float64: lowest bound and lanes a unit of length along each axis across."""
    meta: np.ndarray
    """``(META,)`` int64."""


@inner_kernel
def lane_of(value, origin, density, n):
    """Return in which of `n` lanes a value lies; those at the ends have no end.

    Monotone in the value, which is all that is needed of it.
    """
    # without branches: lanes are as good as random; with one lane the density is 0
    return np.int64(min(max((value - origin) * density, 0.0), np.float64(n - 1)))


@inner_kernel
def write_range(boxes, i, frame, meta, dim, out, row):
    """Write the first and last lanes of the box in row `i` to a row of `out`; return how many."""
    ndim = len(dim)
    count = 1
    for k in range(ndim - 1):
        d, n = np.uint64(meta[ACROSS + k]), meta[N_LANES + k]
        low = lane_of(boxes[i, d], frame[2 * k], frame[2 * k + 1], n)
        high = lane_of(boxes[i, d + np.uint64(ndim)], frame[2 * k], frame[2 * k + 1], n)
        out[row, 2 * k] = low
        out[row, 2 * k + 1] = high
        count *= high - low + 1
    return count


@inner_kernel
def is_same_range(ranges, slot, fresh):
    """Tell if the range of a slot is the one in the first row of `fresh`."""
    is_same = True
    for k in range(ranges.shape[1]):
        is_same &= ranges[slot, k] == fresh[0, k]
    return is_same


@inner_kernel
def home_mask(first, block, dim):
    """Return the mask of the lanes of a block that are homes."""
    mask = np.uint64(first[block, 0])
    if len(dim) == 3:
        mask &= np.uint64(first[block, len(dim) - 2])
    return mask


@inner_kernel
def pairs_here(first, block, other, dim):
    """Pairs of lanes of two blocks of a lane that count in it and in no other.

    On each axis across one of the two has to begin here: bit ``8 * i + j`` needs bit `i` of
    `block`, spread over a byte, or bit `j` of `other`, repeated in every byte.
    """
    one, two = np.uint64(block), np.uint64(other)
    word = spread_bits(np.uint64(first[one, 0])) | repeat_bits(np.uint64(first[two, 0]))
    if len(dim) == 3:
        last = len(dim) - 2
        word &= spread_bits(np.uint64(first[one, last])) | repeat_bits(np.uint64(first[two, last]))
    return word


@inner_kernel
def is_unused(starts, block):
    """Tell if a block is behind the last one of its lane."""
    return starts[block] != starts[block]


@kernel
def take_block(lanes, block, start, dim):
    """Take a block into use: what is in unused ones means nothing."""
    for d in range(2 * len(dim)):
        for lane in range(LANES):
            lanes.bounds[block, d, lane] = np.float32(np.nan)
    for lane in range(LANES):
        lanes.slots[block, lane] = -1
    lanes.exact[block] = 0
    for k in range(len(dim) - 1):
        lanes.first[block, k] = 0
    lanes.starts[block] = start
