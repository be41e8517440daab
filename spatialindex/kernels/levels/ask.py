"""Regions in a grid of levels: the cells of each level that a region touches."""

import numpy as np

from spatialindex.kernels.blocks import aim_at_region
from spatialindex.kernels.grid.ask import hits_of_blocks, hits_of_cells, region_cells
from spatialindex.kernels.grid.cells import USED_BLOCKS
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.kernels.simd import local_floats, local_ints

__all__ = ["cells_of_region", "query_regions"]


@inner_kernel
def cells_of_region(cull, row, edges, metas, span, dim):
    """Return how many cells of all levels a region touches, as a float."""
    total = 0.0
    for j in range(edges.shape[0]):
        total += region_cells(cull, row, edges[j], metas[j], dim, span)
    return total


@kernel
def query_regions(grid, edges, metas, ask, order, start, stop, counts, out, limit, dim):
    """Answer rows ``order[start]`` to ``order[stop]`` of a batch of regions from all levels.

    An empty `order` is that of the rows. Walks the cells of the region, or all blocks when those
    are fewer. ``metas[j]`` is the `meta` of level `j`, whose cells have the edge ``edges[j]``. Adds
    the answers of each row to ``counts[row]`` unless that is empty. Returns the whole count, or any
    number beyond `limit` as soon as there are more.
    """
    q = local_floats()
    q_in = local_floats()
    span = local_ints()
    blocks = grid.meta[USED_BLOCKS]
    k = 0
    for i in range(start, stop):
        row = np.int64(order[i]) if order.shape[0] else i
        before = k
        is_exact = aim_at_region(q, q_in, ask.cull, row, dim)
        if cells_of_region(ask.cull, row, edges, metas, span, dim) > blocks:
            k = hits_of_blocks(grid, q, q_in, is_exact, ask, row, dim, out, k)
        else:
            for j in range(edges.shape[0]):
                n_cells = region_cells(ask.cull, row, edges[j], metas[j], dim, span)
                k = hits_of_cells(
                    *(grid, metas[j], span, np.int64(n_cells)),
                    *(q, q_in, is_exact, ask, row, dim, out, k),
                )
        if counts.shape[0]:
            counts[row] += k - before
        if k > limit:
            return k
    return k
