"""Boxes around what a question accepts: where a structure has to look, whatever decides.

A question is decided by a formula on floats, so what encloses its answer is worked out from that
formula, rounding included, and not from geometry. A ray from x = 0 along (3, 0) up to time 0.3::

    a box at x = 0.9 is met         (0.9 - 0) / 3 is 0.3, after rounding
    though the ray seems to end at  3 * 0.3 = 0.8999999999999999
    the hull goes on to             3 * 0.30000000000000004, with the float after 0.3

What rounds to at most `a` is at most the float after `a`; and a float that is at most a sum or a
product is at most that rounded, since rounding is monotone. Every object that is accepted touches
the box. Bounds may be infinite. What is a hair too large costs nothing: the formula still decides.

Arguments with a row for each question may have one row that serves all.
"""

import numpy as np

from spatialindex.kernels.jit import inner_kernel, kernel

__all__ = ["aim_balls", "aim_casts", "around_planes"]

_RELATIVE = 2.0**-48  # far more than a few roundings
_ABSOLUTE = 2.0**-1000
_INFINITE = np.int64(0x7FF0000000000000)  # the bits of infinity


@inner_kernel
def _after(x):
    """Return the next float above one that is 0 or more; infinity stays."""
    # bits of such floats are in their order; `nextafter` of the library takes three times as long
    bits = np.float64(x + 0.0).view(np.int64)  # without the sign of -0.0
    return np.int64(min(bits + 1, _INFINITE)).view(np.float64)


@kernel
def aim_balls(centers, radii, exact, cull, dim):
    """Fill `exact` and `cull` of a region of kind `RADIUS` with all within radii of centers.

    `centers` has shape ``(q, ndim)``, `radii` ``(q or 1,)``. The root of a square being
    what was squared, a distance is at least that along each axis, rounded as here.
    """
    ndim = len(dim)
    for i in range(centers.shape[0]):
        radius = radii[min(i, radii.shape[0] - 1)]
        far = _after(radius)
        for d in range(ndim):
            exact[i, d] = centers[i, d]
            cull[i, d] = centers[i, d] - far
            cull[i, ndim + d] = centers[i, d] + far
        exact[i, ndim] = radius


@kernel
def aim_casts(starts, motions, lasts, exact, cull, dim):
    """Fill `exact` and `cull` of a region of kind `CAST` with boxes, or points, that move.

    `starts` has shape ``(q or 1, 2*ndim or ndim)``, `motions` ``(q or 1, ndim)`` and `lasts`, the
    last times, ``(q or 1,)``.

    Ahead, a face is met when ``way / speed <= last`` after rounding: when the way, itself rounded,
    is at most the speed times the float after `last`. Where that product is finite, a way that
    overflows has a time beyond it. Behind, a face has not passed when ``way / speed >= 0``, which
    is also true of a way so small that its negative quotient is rounded to zero: of at most the
    smallest float times the speed, less than what is allowed here, in numbers that are fast.
    """
    ndim = len(dim)
    for i in range(exact.shape[0]):
        start, way = min(i, starts.shape[0] - 1), min(i, motions.shape[0] - 1)
        last = lasts[min(i, lasts.shape[0] - 1)]
        exact[i, 3 * ndim] = last
        for d in range(ndim):
            lower, upper = starts[start, d], starts[start, starts.shape[1] - ndim + d]
            motion = motions[way, d]
            exact[i, d] = lower
            exact[i, ndim + d] = upper
            exact[i, 2 * ndim + d] = motion
            if motion != 0.0:
                ahead = _after(abs(motion) * _after(last))
                behind = (abs(motion) + 1.0) * _ABSOLUTE
                lower -= ahead if motion < 0.0 else behind
                upper += ahead if motion > 0.0 else behind
            cull[i, d] = lower
            cull[i, ndim + d] = upper


@kernel
def around_planes(exact, bounds, cull, dim):
    """Fill row 0 of `cull` with a box around all inside `bounds` that the planes accept.

    `exact` is that of a region of kind `PLANES`, `bounds` has shape ``(2*ndim,)``. A plane limits
    the lower bound of an object along an axis where its normal is positive there, and the upper one
    where it is negative: by its offset, less the least that the other axes can add, plus far more
    than rounding can do to the sum. With ``x + y <= 3`` and bounds ``[1, 1, 9, 9]``, no lower x is
    beyond ``3 - 1``. A limit that is not finite is none.
    """
    ndim = len(dim)
    for d in range(2 * ndim):
        cull[0, d] = bounds[d]
    for at in range(0, exact.shape[1], ndim + 1):
        offset = exact[0, at + ndim]
        total = abs(offset)
        for d in range(ndim):
            total += abs(exact[0, at + d]) * max(abs(bounds[d]), abs(bounds[ndim + d]))
        for d in range(ndim):
            normal = exact[0, at + d]
            rest = offset + (total * _RELATIVE + _ABSOLUTE)
            for e in range(ndim):
                if e != d:
                    # of the corner that favours the plane, a bound is the least that it can add
                    other = exact[0, at + e]
                    rest -= other * (bounds[e] if other > 0.0 else bounds[ndim + e])
            if normal == 0.0:
                continue
            limit = rest / normal
            step = abs(limit) * _RELATIVE + _ABSOLUTE
            # written so that what is not a number changes nothing
            if normal > 0.0 and limit + step < cull[0, ndim + d]:
                cull[0, ndim + d] = limit + step
            if normal < 0.0 and limit - step > cull[0, d]:
                cull[0, d] = limit - step
    for d in range(ndim):
        # an object may reach across from one limit to another and then touches both
        cull[0, ndim + d] = max(cull[0, d], cull[0, ndim + d])
