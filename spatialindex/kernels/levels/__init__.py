"""A grid of levels: cells whose edge doubles from level to level, in one table.

Level ``n`` has cells of edge ``2**(n - BIAS)``. A box is in the lowest level, not below the finest
one in use, whose edge is at least its longest: there it touches two cells an axis at most. All
levels share one table of cells and one pool of blocks (`spatialindex.kernels.grid`): along x, the
cells of level `n` are kept as ``n * STRIDE + x``, so that a cell's coordinates tell its level.

Edges are powers of two, so division by them is exact and levels nest: cell 13 of a level is in cell
``13 >> 1`` of the next and ``13 >> 2`` of the one after. Two boxes of different levels that share a
point are members of the cell of the finer level that holds it and of the one cell around that in
the coarser level. So pairs probe from each cell towards coarser levels only, one cell a level, and
whole blocks meet there::

    level n+2   |       3       |       4      |
    level n       12  13  14  15  16  17  18      cell 14 meets cell 3 of level n+2

To count once, the pair is taken on each axis in the cell where the finer box begins, or in the
first of the cells that a coarse cell is made of, if the coarser box begins in that.

Source: Ericson, Real-Time Collision Detection, 2005, section 7.2 (hierarchical grids); there each
object asks neighbours of its cell, here it is a member of all cells that it touches.
"""
