"""Grid cells and their members: entering, leaving, moving, querying, pairs.

A *cell* is known by its integer coordinates ``floor(value / edge)`` and found in an open-addressing
table ``cells[place] = x, y[, z], head, size``. Its members lie in a chain of blocks of eight lanes
(`spatialindex.kernels.blocks`), all full but the head::

    cells   (3, 7) head 5 size 11     block 5 [s t u - - - - -] --link--> block 2 [8 members]

An object is a member of every cell that its box touches, both ends included. To report it once,
each lane carries a bit an axis: is this the first cell of the object along that axis? In cell
``c`` a query that begins in cell ``q`` takes an object when, on every axis, its bit is set or ``c
== q``: that cell is the component-wise maximum of both lower corners and there is just one. Two
members of a cell are a pair of that cell when, on every axis, one of the two bits is set. Whole
blocks are decided so with a few bit operations, eight members at a time.

``ranges[slot]`` remembers the cells an object is in, so that it can leave them whatever became of
its box. Kernels that add members stop before an object for which there might not be room; the
caller grows the arrays and goes on.

Sources: Teschner et al., Optimized Spatial Hashing for Collision Detection of Deformable Objects,
2003; the deletion is Knuth's algorithm R (The Art of Computer Programming 3, section 6.4).
"""
