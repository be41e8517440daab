"""Splitting a block that has one entry too many.

Nine entries become two blocks along the axis and at the place where half the surfaces of the two,
each times its entries, are least, with at least a third of the entries on each side::

    centers along x   1 2 3   . . .   11 12 13 14 15 16     ->   {1 2 3} {11 … 16}

Source: Beckmann et al., The R*-tree, 1990, with the measure of SAH builders.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel
from spatialindex.kernels.tree.nodes import half_surface

__all__ = ["choose_halves"]


@inner_kernel
def _enclose(q, boxes, i, is_first, dim):
    """Enlarge `q` by an entry, or set it to the first."""
    ndim = len(dim)
    for d in range(ndim):
        if is_first or boxes[i, d] < q[d]:
            q[d] = boxes[i, d]
        if is_first or boxes[i, ndim + d] > q[ndim + d]:
            q[ndim + d] = boxes[i, ndim + d]


@inner_kernel
def _sort_by_center(boxes, n, d, order, ndim):
    """Put the numbers of `n` entries into the order of their centers along an axis."""
    for i in range(n):
        center = np.float64(boxes[i, d]) + np.float64(boxes[i, ndim + d])
        j = i
        while j > 0:
            before = order[j - 1]
            if np.float64(boxes[before, d]) + np.float64(boxes[before, ndim + d]) <= center:
                break
            order[j] = before
            j -= 1
        order[j] = i


@inner_kernel
def choose_halves(boxes, n, order, costs, q, dim):
    """Return the mask of the entries of the second half.

    `boxes` is float32 ``(n, 2*ndim)``, `n` at least 2; scratch: `order` int64 and `costs` float64
    of `n` places, `q`.
    """
    ndim = len(dim)
    least_size = max(1, n // 3)
    least = np.inf
    chosen = np.uint64(0)
    for d in range(ndim):
        _sort_by_center(boxes, n, d, order, ndim)
        for i in range(n - 1, 0, -1):
            _enclose(q, boxes, order[i], i == n - 1, dim)
            costs[i] = half_surface(q, dim) * (n - i)
        for i in range(1, n):
            _enclose(q, boxes, order[i - 1], i == 1, dim)
            if i < least_size or n - i < least_size:
                continue
            cost = costs[i] + half_surface(q, dim) * i
            if cost < least:
                least = cost
                chosen = np.uint64(0)
                for j in range(i, n):
                    chosen |= np.uint64(1) << np.uint64(order[j])
    return chosen
