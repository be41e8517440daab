"""Which level should be the finest, estimated from a sample of the boxes.

Boxes that are smaller than the cells of the finest level share these with more of their like; with
finer ones there are more cells, more memberships and more levels to probe. For each finest level,
over a sample of `s` of `n` boxes, each with its level, its first cell and the number of cells that
it covers::

    entries  mean number of cells that a box covers
    others   mean number of others in the cell of a membership
    met      mean number of others met there and in the cells around it, of coarser levels
    cost     ENTER * entries + (NEW + PROBE * coarser levels) * entries / (1 + others) + TEST * met

Two sampled boxes that begin in one cell stand for all that are as near as they are: so clusters
count as what they are. Levels are tried from the coarsest down, as long as that pays.
"""

import numpy as np

from spatialindex.kernels.jit import allocating_kernel, inner_kernel
from spatialindex.kernels.levels.numbering import edge_of, level_of
from spatialindex.kernels.mixing import mix

__all__ = ["cheapest_finest"]

# python -m tests.benchmarks --job cells
# ns: to enter a cell, to make one, to probe a coarser level, to test a box with another (0.6 from
# scratch; more once moves have mixed up the order in cells, and for questions)
_ENTER = 35.0
_NEW = 110.0
_PROBE = 10.0
_TEST = 1.25

_PATIENCE = 3  # levels that do not pay before the search ends
_MOST_SHIFT = 55  # beyond all bits of a cell's number: what is left is the sign


@inner_kernel
def _place_of(keys, key):
    """Return the place of a key, or of the gap where it would go."""
    last = keys.shape[0] - 1
    at = key & last
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & last
    return at


@allocating_kernel
def cheapest_finest(sample, n, first, last, dim):
    """Return the number of the finest level, from `last` down to `first`, that costs the least.

    `sample` is float64 ``(s, 2*ndim)``, `n` how many boxes it stands for.
    """
    ndim = len(dim)
    s = sample.shape[0]
    size = 64
    while size < 4 * s:
        size *= 2
    keys = np.empty(size, np.int64)
    covers = np.empty(size)
    cells = np.zeros((s, 4), np.int64)
    own = np.empty(s, np.int64)
    of_box = np.empty(s)
    is_used = np.zeros(last + 1, np.bool_)
    for i in range(s):
        own[i] = level_of(sample, i, 1, 0.0, dim)
    least = np.inf
    best = last
    for finest in range(last, first - 1, -1):
        keys[:] = -1
        is_used[finest:] = False
        entries = 0.0
        same = 0.0
        for i in range(s):
            number = min(max(own[i], finest), last)
            edge = edge_of(number)
            cover = 1.0
            for d in range(ndim):
                lower = np.floor(sample[i, d] / edge)
                if lower == 0.0 and sample[i, d] < 0.0:
                    lower = -1.0
                cells[i, d] = np.int64(lower)
                cover *= 1.0 + min((sample[i, ndim + d] - sample[i, d]) / edge, 1.0)
            cells[i, 3] = number
            is_used[number] = True
            of_box[i] = cover
            entries += cover
            at = _place_of(keys, mix(cells[i, 0] + number * 0x3779B1, cells[i, 1], cells[i, 2]))
            if keys[at] < 0:
                keys[at] = mix(cells[i, 0] + number * 0x3779B1, cells[i, 1], cells[i, 2])
                covers[at] = 0.0
            same += cover * covers[at]
            covers[at] += cover
        around = 0.0
        levels = 0
        for number in range(finest + 1, last + 1):
            if not is_used[number]:
                continue
            levels += 1
            for i in range(s):
                k = min(number - cells[i, 3], _MOST_SHIFT)
                if k > 0:
                    x, y, z = cells[i, 0] >> k, cells[i, 1] >> k, cells[i, 2] >> k
                    at = _place_of(keys, mix(x + number * 0x3779B1, y, z))
                    if keys[at] >= 0:
                        around += of_box[i] * covers[at]
        share = np.float64(n) / s
        others = 2.0 * same * share / entries
        cost = _ENTER * entries + (_NEW + _PROBE * levels) * entries / (1.0 + others)
        cost += _TEST * (same + around) * share
        if cost < least:
            least = cost
            best = finest
        elif finest < best - _PATIENCE:
            break
    return best
