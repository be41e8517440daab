"""Bounds in float32, rounded outward, and questions prepared for lanes of them.

A bound is rounded away from its box, and by a margin more where a lane is to say *surely*::

    0.1 as a lower bound    0.099999994    down32, at most the bound
                            0.10000004     grown32 of that, above whatever it stands for
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel

__all__ = [
    "F32_MAX",
    "FAR",
    "HALF_STEP",
    "LANES",
    "LARGEST",
    "LATER",
    "NEAR",
    "REACH",
    "SOONER",
    "SQUARES",
    "STEPS",
    "SUBNORMAL",
    "aim_along",
    "aim_at_point",
    "down32",
    "grown32",
    "shrunk32",
    "surely_meet",
    "up32",
]

LANES = 8
"""Boxes a block: eight float32 fill one 256-bit register."""

F32_MAX = 3.4028234663852886e38
# a little more than half a step, relative: subtracted, it rounds to the next float32 below
HALF_STEP = np.float32(2.0**-24 * (1 + 2.0**-20))
SUBNORMAL = np.float32(1.5e-45)
# at least four steps: two lanes, each up to two steps off (at a power of two), and the sum's own
_MARGIN = np.float32(2.0**-21)
_TINY = np.float32(1.2e-44)

REACH = 15
"""Where the scratch of `distances8` and `cast8` holds the distance or time to look up to."""

# of squares: five roundings of 2**-24 each before it, three after it
SQUARES = np.float32(1.0 - 2.0**-20)
# of times: three roundings before it, two after it
SOONER = np.float32(1.0 - 2.0**-21)
LATER = np.float32(1.0 + 2.0**-21)
# what rounding below the normal numbers can add: half a step a product, four of them at most
STEPS = np.float32(2.0**-147)
# a part that can be squared and summed
FAR = np.float32(2.0**62)
LARGEST = np.float32(F32_MAX)
# less than half a step of the largest: added to it, it makes no infinity
NEAR = np.float32(2.0**102)


@inner_kernel
def down32(x):
    """Return a float32 at most the float64 `x`, and `x` itself where that is a float32."""
    if x < -F32_MAX:
        return np.float32(-np.inf)
    f = np.float32(min(x, F32_MAX))
    step = abs(f) * HALF_STEP + SUBNORMAL
    return np.float32(f - step) if np.float64(f) > x else f


@inner_kernel
def up32(x):
    """Return a float32 at least the float64 `x`, and `x` itself where that is a float32."""
    return -down32(-x)


@inner_kernel
def grown32(x):
    """Return a float32 so far above `x` that no rounding of bounds makes up for it."""
    return np.float32(x + (abs(x) * _MARGIN + _TINY))


@inner_kernel
def shrunk32(x):
    """Return a float32 so far below `x` that no rounding of bounds makes up for it."""
    return np.float32(x - (abs(x) * _MARGIN + _TINY))


@inner_kernel
def surely_meet(bounds, a, i, b, j, dim):
    """Tell if lane `i` of block `a` and `j` of block `b` meet whatever rounding hides."""
    ndim = len(dim)
    ok = True
    for d in range(ndim):
        ok &= grown32(bounds[a, d, i]) < bounds[b, ndim + d, j]
        ok &= grown32(bounds[b, d, j]) < bounds[a, ndim + d, i]
    return ok


@kernel
def aim_at_point(q, points, row, reach, dim):
    """Prepare `q` of `local_query` for `distances8` from a point up to a distance.

    Row `row` of float64 `points` begins with the coordinates.
    """
    for d in range(len(dim)):
        q[d] = up32(points[row, d])
        q[3 + d] = down32(points[row, d])
    q[REACH] = up32(reach)


@kernel
def aim_along(q, exact, row, last, dim):
    """Prepare `q` of `local_query` for `cast8`, a box cast up to a time.

    Row `row` of float64 `exact` begins with the box and its motion in a unit of time. An axis has a
    place each for where the near faces start from and the far ones, rounded so that they meet
    lanes sooner and leave them later, and for the inverses of the speed, rounded likewise. Without
    motion the near faces are met at once or never, and the far ones never left or always.
    """
    ndim = len(dim)
    for d in range(ndim):
        motion = exact[row, 2 * ndim + d]
        lower, upper = down32(exact[row, d]), up32(exact[row, ndim + d])
        if motion == 0.0:
            slowest, fastest = np.float32(np.inf), LARGEST
        else:
            inverse = 1.0 / abs(motion)
            slowest, fastest = up32(inverse), down32(inverse)
        q[d] = lower if motion < 0.0 else upper
        q[3 + d] = upper if motion < 0.0 else lower
        if abs(q[d]) > NEAR:
            fastest = np.float32(0.0)  # the way to a lane might overflow: it delays nothing
        q[6 + d] = -fastest if motion < 0.0 else fastest
        q[9 + d] = -slowest if motion < 0.0 else slowest
    q[REACH] = up32(last)
