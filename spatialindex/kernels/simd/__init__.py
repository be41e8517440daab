"""Vector instructions: eight boxes tested at once. The only place with intrinsics.

Boxes lie in *blocks* of eight lanes, ``bounds[block, row, lane]`` in float32 with the rows lower
x, y[, z], upper x, y[, z], rounded outward. One test of a block gives a bit mask, lane 0 in bit 0::

    lanes of a block, x axis:   [0,1] [2,3] [4,5] [6,7] empty empty empty empty
    overlap8 with [2.5, 4.0] -> 0b00000110   (lanes 1 and 2)

An empty lane holds NaN and meets nothing, not even an infinite query, so no count of lanes is
needed.

`overlap8` is a *maybe*: a box can be a rounding step smaller than its lane. `inside8`, the test
against a query made smaller by `grown32` and `shrunk32`, is a *surely*; only lanes that are maybe
and not surely need the exact float64 boxes. A lower bound that is off by its rounding still lies
below the query's upper bound when it lies below that bound less a margin, rounding being monotone.

`distances8` and `cast8` are *at least*: what they compute of a lane is never more than what
`spatialindex.kernels.decide` says of the box in it, so that a lane whose bound is beyond the best
found so far is passed over. A query is prepared once, by `aim_at_point` or `aim_along`, and its
scratch holds how far to look, which shrinks while answers are found. `cast_keys8` packs when and
what into numbers that sort by time. `plane8` computes what `decide.within_planes` does, in float64,
of the lane itself.

Written as LLVM vector IR (`vectors`, and `casts` for moving boxes), which any CPU runs. Each test
has an equivalent of the same meaning in loops (`plain`), used when compilation is off or bounds are
checked. `rounding` rounds outward and prepares questions, `scratch` has arrays on the stack.
"""

from spatialindex.kernels.jit import PLAIN
from spatialindex.kernels.simd.rounding import (
    LANES,
    REACH,
    aim_at_point,
    down32,
    grown32,
    shrunk32,
    surely_meet,
    up32,
)
from spatialindex.kernels.simd.scratch import (
    WORDS,
    local_doubles,
    local_floats,
    local_ints,
    local_query,
    local_words,
    prefetch,
    prefetch_block,
)

if PLAIN:
    from spatialindex.kernels.simd.plain import (
        at_least8,
        cast8,
        cast_keys8,
        distances8,
        equal8,
        inside8,
        lane_overlap8,
        lowest_bit,
        overlap8,
        overlap8x8,
        pack8,
        plane8,
        union8,
    )
    from spatialindex.kernels.simd.rounding import aim_along
else:
    from spatialindex.kernels.simd.casts import aim_along, cast8, cast_keys8
    from spatialindex.kernels.simd.vectors import (
        at_least8,
        distances8,
        equal8,
        inside8,
        lane_overlap8,
        lowest_bit,
        overlap8,
        overlap8x8,
        pack8,
        plane8,
        union8,
    )

__all__ = [
    "LANES",
    "REACH",
    "WORDS",
    "aim_along",
    "aim_at_point",
    "at_least8",
    "cast8",
    "cast_keys8",
    "distances8",
    "down32",
    "equal8",
    "grown32",
    "inside8",
    "lane_overlap8",
    "local_doubles",
    "local_floats",
    "local_ints",
    "local_query",
    "local_words",
    "lowest_bit",
    "overlap8",
    "overlap8x8",
    "pack8",
    "plane8",
    "prefetch",
    "prefetch_block",
    "shrunk32",
    "surely_meet",
    "union8",
    "up32",
]
