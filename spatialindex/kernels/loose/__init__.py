"""Loose trees: nodes are cells of a lattice, and reach beyond them by the looseness.

A *cell* of exponent `e` is a square or cube of edge ``2**e`` whose corner is a multiple of its
edge; the root is all of space. An object belongs to the cell that holds its center, at the finest
exponent at which the cell, made larger about its middle by the factor of the looseness, holds the
whole box: the loose bounds. With looseness 2 and edge 4, cell [8, 12) has the loose bounds [6, 14]
and takes every box up to 4 wide whose center is in it::

    6 . . . 8 [ . . . ) 12 . . . 14         [6.5, 9.5] has center 8 and fits

Cells are divided only where they are crowded: a *leaf* holds objects of its cell however small,
until it has too many; then it becomes an *inner node* with a leaf for each half, quarter or eighth
in which something is, and with one more, its *own*, for what is too large to go deeper. Where all
go the same way no node is made, so a path has a node only where it branches, from the root, which
splits at 0, down to where the objects are: nothing has to be known about their extent, nothing ever
grows, and a few outliers cost a few nodes.

All is kept in blocks of eight lanes (`spatialindex.kernels.blocks`), laid out in Morton order when
built. In a leaf each lane is an object, in an inner node a child, whose lane has the box around
everything below, tight and not loose::

    block 0 (root)   [3 . . . . . . .]          item 3: an inner node
    block 3          [~4 ~5 9 ~7 . . . .]       ~4: a leaf, with its octant or `OWN` in `codes`
    block 4          [s t u v w . . .]          slots

A node with more than eight lanes goes on in linked blocks. It is known by its first block, the
*head*, which stays; of a leaf's blocks all are full but the second, or the head if it is alone.

Loose bounds decide which node an object is in and for how long it stays while it moves, the tight
ones decide what questions look at.

Sources: Ulrich, Loose Octrees (Game Programming Gems, 2000); Gargantini, An Effective Way to
Represent Quadtrees, 1982 (Morton order without pointers to build from).
"""
