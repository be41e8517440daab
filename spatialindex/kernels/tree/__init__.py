"""Trees of boxes with eight children a node: building, asking, pairs, changing, repairing.

A tree is made of *blocks* of eight lanes (`spatialindex.kernels.blocks`). In a leaf each lane is an
object; in an inner block each lane is a child and the bounds of the lane enclose everything below.
Block 0 is the root, always an inner one::

    block 0  [A B - - - - - -]      items  3  ~5      lane 0 leads to inner block 3,
    block 3  [C D E - - - - -]      items ~1  ~2 ~4   lane 1 to leaf 5
    block 5  [o p q r - - - -]      items  slots

One vector instruction tests a query against eight children, whatever they are. An inner block's
lanes are filled from 0 up, as those of leaves are, and only the root may have a single child.

``parent[block]`` is ``8 * block + lane`` of where a block hangs, ``places[slot]`` the same for an
object, so that a change finds its way up without a search. Each block knows the OR of all layers
and of all masks below it, and whether all below are static, or static or asleep.

No path is longer than `nodes.MOST_DEPTH`, which builders and insertion see to: stacks of fixed size
serve all traversals.

Sources: Wald, Benthin & Boulos, Getting Rid of Packets, 2008 (wide nodes); Guttman, R-Trees, 1984
(insertion and splitting).
"""
