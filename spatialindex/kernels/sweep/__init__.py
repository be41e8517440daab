"""Swept lanes: objects sorted along one axis, dealt into lanes along the others.

The *sweep axis* is the one along which the objects are spread most, in their own sizes. Across it
the world is cut into *lanes*: strips in 2D, columns in 3D. An object is an entry of every lane that
it touches; within a lane entries are in order of their lower bound along the sweep axis, eight a
block (`spatialindex.kernels.blocks`)::

    lane 1   ----[a]--[b  ]------[d]--      blocks  [a b d - - - - -]
    lane 0   [c          ]--[e]-------              [c e - - - - - -]     sweep axis -->

A block is tested against itself and the blocks behind it until one starts beyond all that the block
reaches. ``starts[block]`` is a value that no lower bound in this block or one behind it is less
than, NaN behind the last block of a lane. That is what makes a sweep right; order only makes it
fast, so within a block there is none, and motion may disturb it for a while.

Each entry carries a bit for each axis across: is this the object's first lane along it? Two entries
of a lane are a pair of that lane when on each of these axes one of the two bits is set: the lane is
the last of both first ones, and there is just one. The entry with all bits set is the object's
*home*: the only one that questions look at, so that they find an object once.

Over the blocks, home entries alone, lies an implicit tree: node `i` of a level encloses nodes ``8 *
i`` to ``8 * i + 7`` of the one below. Lanes lie side by side, and that is how an R-tree is packed
by sorting and tiling, so it is as good at questions as those are.

Sources: Baraff, Dynamic Simulation of Non-Penetrating Rigid Bodies, 1992 (coherent sorting);
Serpa & Rodrigues, Flexible Use of Temporal and Spatial Reasoning for Fast and Scalable CPU
Broad-Phase Collision Detection Using KD-Trees, 2019; Leutenegger, Lopez & Edgington, STR: A Simple
and Efficient Algorithm for R-Tree Packing, 1997.
"""
