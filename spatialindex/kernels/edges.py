"""What a cell edge would cost, estimated from a sample of the boxes.

A coarse grid meets many objects a cell, a fine one makes every object a member of many cells, and
one that is finer still cannot hold the large ones at all: those are scanned for every question. For
each edge, over a sample of `s` of `n` boxes::

    cover    mean number of cells an object touches
    crowd    n times the chance that two sampled boxes begin in the same cell
    cost     ENTER * cover + TEST * cover * (1 + cover * crowd / 8) + SCAN * n * share of wide ones

The chance of meeting comes from counting the sample by cell, so clusters count as what they are.
"""

import numpy as np

from spatialindex.kernels.jit import allocating_kernel, kernel
from spatialindex.kernels.mixing import mix

__all__ = ["edge_costs", "measure_sample"]

# python -m tests.benchmarks --job cells
# ns: to enter a cell, to meet a block of eight in it, to scan past one box
_ENTER = 30.0
_TEST = 2.0
_SCAN = 0.2

_LARGEST = 2.0**30


@kernel
def measure_sample(sample, dim, measures):
    """Write to float64 `measures`: the least and the greatest positive longest edge, the spread.

    The first two are infinity and 0 when all boxes are points; the spread is that of the widest
    axis. Edges that overflow are left out.
    """
    ndim = len(dim)
    least, greatest = np.inf, 0.0
    for i in range(sample.shape[0]):
        longest = 0.0
        for d in range(ndim):
            longest = max(longest, sample[i, ndim + d] - sample[i, d])
        if 0.0 < longest < np.inf:
            least = min(least, longest)
            greatest = max(greatest, longest)
    spread = 0.0
    for d in range(ndim):
        lower, upper = np.inf, -np.inf
        for i in range(sample.shape[0]):
            lower = min(lower, sample[i, d])
            upper = max(upper, sample[i, ndim + d])
        spread = max(spread, upper - lower)
    measures[0] = least
    measures[1] = greatest
    measures[2] = spread


@allocating_kernel
def edge_costs(sample, n, edges, max_cells, dim, costs):
    """Write the estimated cost an object, in ns, of pairs from scratch with each edge.

    `sample` is float64 ``(s, 2*ndim)``, `n` how many boxes it stands for.
    """
    ndim = len(dim)
    s = sample.shape[0]
    size = 64
    while size < 4 * s:
        size *= 2
    keys = np.empty(size, np.int64)
    sizes = np.empty(size, np.int64)
    cells = np.zeros(3, np.int64)
    for e in range(edges.shape[0]):
        edge = edges[e]
        sizes[:] = 0
        wide = 0
        meetings = 0.0
        total = 0.0
        for i in range(s):
            cover = 1.0
            most = 1.0
            fits = True
            cells[2] = 0
            for d in range(ndim):
                lower = np.floor(sample[i, d] / edge)
                upper = np.floor(sample[i, ndim + d] / edge)
                fits &= (lower >= -_LARGEST) & (upper <= _LARGEST)
                if not fits:
                    break
                most *= upper - lower + 1.0
                cover *= (sample[i, ndim + d] - sample[i, d]) / edge + 1.0
                cells[d] = np.int64(lower)
            if not fits or most > max_cells:
                wide += 1
                continue
            total += cover
            key = mix(cells[0], cells[1], cells[2])
            at = key & (size - 1)
            while sizes[at] > 0 and keys[at] != key:
                at = (at + 1) & (size - 1)
            keys[at] = key
            meetings += sizes[at]
            sizes[at] += 1
        held = s - wide
        cost = 0.0
        if held > 0:
            cover = total / held
            crowd = 2.0 * meetings / max(1.0, np.float64(held) * (held - 1.0)) * n * held / s
            cost = held / s * cover * (_ENTER + _TEST * (1.0 + cover * crowd / 8.0))
        costs[e] = cost + _SCAN * n * wide / s
