"""Sums rounded outward: never inside the exact value, and the exact value where float64 has it.

The box of a ball at 0.1 with radius 0.7 ends at 0.1 + 0.7, which float64 cannot hold; the nearest
number is too small by a hair, so that a ball which just touches from outside is missed. The error
of a sum is known exactly (Dekker's error-free transformations), and its sign decides::

    0.1 + 0.7   ->  0.7999999999999999, short by 2.8e-17   upper bound 0.8, the next number
    0.1 + 0.3   ->  0.4, too large by 2.8e-17              upper bound 0.4, outside as it is
    0.5 + 0.25  ->  0.75, exactly                          upper bound 0.75: touching is kept

Adding a step whatever the error, as is often done, would make boxes that merely come close touch.

Only directed *sums* are here. Bounds that overflow come out infinite, for the caller to refuse.

Source: T. J. Dekker, "A floating-point technique for extending the available precision", 1971,
sections 4 and 5.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_down", "add_up", "extent_bounds"]

_SPLITTER: Final = 2.0**27 + 1.0
"""Dekker's constant for 53 bits: splits a number into two halves whose products are exact."""

_SMALL: Final = 2.0**-450
"""Two factors from here on have a product whose error is not rounded for being subnormal."""

_CHUNK: Final = 4096
"""Rows at a time: the intermediate arrays stay in the cache."""


def add_up(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest float64 not below the exact ``a + b``, element by element."""
    with np.errstate(all="ignore"):
        total, error = _two_sum(a, b)
        return _step_up(total, error > 0.0)


def add_down(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest float64 not above the exact ``a + b``, element by element."""
    return 0.0 - add_up(-a, -b)  # and not minus: zero stays plus zero


def extent_bounds(
    centers: NDArray[np.float64], rotations: NDArray[np.float64], half: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``c - |R| @ h`` rounded down and ``c + |R| @ h`` rounded up.

    `centers` and `half` have shape (n, ndim), `rotations` (n, ndim, ndim); all are finite. Each
    bound is the float64 nearest to the exact value on its outer side. Arrays decide all but a few
    rows; those where they cannot (extreme magnitudes, sums that cancel) are decided by rationals.
    """
    lower = np.empty_like(centers)
    upper = np.empty_like(centers)
    with np.errstate(all="ignore"):
        for start in range(0, len(centers), _CHUNK):
            rows = slice(start, start + _CHUNK)
            _fill_extent_bounds(
                centers[rows], np.abs(rotations[rows]), half[rows], lower[rows], upper[rows]
            )
    return lower, upper


def _fill_extent_bounds(
    centers: NDArray[np.float64],
    weights: NDArray[np.float64],
    half: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> None:
    """Write the bounds of a chunk of rows; `weights` is ``|R|``."""
    # |R| @ h is ``extent`` and the errors, exactly
    extent, error = _two_product(weights[:, :, 0], half[:, 0:1])
    errors = [error]
    for column in range(1, half.shape[1]):
        product, error = _two_product(weights[:, :, column], half[:, column : column + 1])
        errors.append(error)
        extent, error = _two_sum(extent, product)
        errors.append(error)
    plain = _have_exact_products(weights).all(axis=2)
    plain &= _have_exact_products(half).all(axis=1, keepdims=True)
    for sign, bound in ((-1.0, lower), (1.0, upper)):
        outer, decided = _ceiling(sign * centers, extent, errors)
        for row, axis in np.argwhere(~(decided & plain)).tolist():
            exact = Fraction(sign * float(centers[row, axis]))
            for weight, length in zip(weights[row, axis].tolist(), half[row].tolist(), strict=True):
                exact += Fraction(weight) * Fraction(length)
            outer[row, axis] = _ceiling_of(exact)
        np.multiply(outer, sign, out=bound)
        bound += 0.0  # minus zero becomes zero


def _ceiling(
    center: NDArray[np.float64], extent: NDArray[np.float64], errors: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the smallest float64 not below ``center + extent + sum(errors)``, and where it is so.

    The errors are summed in float64 themselves. That sum is off by less than ``slack``; a bound
    that hangs on the difference is not decided. Neither is one on the way to which something
    overflowed: an error that is not finite makes the slack infinite or NaN.
    """
    nearest, error = _two_sum(center, extent)
    rest, size = error.copy(), np.abs(error)
    for error in errors:
        rest += error
        size += np.abs(error)
    # at most six numbers: five roundings of at most 2**-53 of the sum of magnitudes each
    slack = size * 2.0**-50
    nearest, rest = _two_sum(nearest, rest)
    # |rest| is at most half the way to a neighbour: with less than itself added, it does not reach
    # the neighbour, nor change its sign
    decided = (np.abs(rest) > slack) | (size == 0.0)
    return _step_up(nearest, rest > 0.0), decided


def _ceiling_of(exact: Fraction) -> float:
    """Return the smallest float64 not below an exact number, which is not below all of them."""
    try:
        nearest = float(exact)
    except OverflowError:
        return inf
    return nextafter(nearest, inf) if Fraction(nearest) < exact else nearest


def _two_sum(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rounded sum and its error: together they are ``a + b`` exactly."""
    total = a + b
    part_of_b = total - a
    error = a - (total - part_of_b)
    error += b - part_of_b
    if not np.isfinite(error).all():
        # near the largest number a step may overflow though the sum does not. Taking the larger
        # operand off the sum cannot, but looking for it takes five times as long
        a_is_larger = np.abs(a) >= np.abs(b)
        error = np.where(a_is_larger, b, a) - (total - np.where(a_is_larger, a, b))
    return total, error


def _step_up(a: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Replace numbers by the next ones up, in place; zeros must not be among them.

    Read as integers, floats ascend by one a step above zero and descend below it. This takes a
    fifth of the time of `numpy.nextafter`.
    """
    bits = a.view(np.int64)
    bits += where * ((bits >> 63) | 1)
    return a


def _two_product(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rounded product and its error: together they are ``a * b`` exactly.

    Exactly only for factors that `_have_exact_products` accepts; the error is not finite where a
    step overflowed.
    """
    product: NDArray[np.float64] = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error: NDArray[np.float64] = a_high * b_high - product
    error += a_high * b_low
    error += a_low * b_high
    error += a_low * b_low
    return product, error


def _split(a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two halves of at most 26 bits each whose sum is `a`."""
    scaled = a * _SPLITTER
    high = scaled - (scaled - a)
    return high, a - high


def _have_exact_products(factors: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which factors, zero or more, `_two_product` multiplies without loss."""
    exact: NDArray[np.bool_] = (factors == 0.0) | (factors >= _SMALL)
    return exact
