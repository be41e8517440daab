"""The one hash function: three 32-bit numbers to one that looks random.

Products of 32-bit by 31-bit numbers fit int64, so nothing overflows, compiled or not. Each number
has an odd factor of its own; the middle bits, which all of them reach, are multiplied once more.
On a full square of cells and on lines of cells, a table one third full is searched for 0.28 places
too many on average, as with random numbers.
"""

from spatialindex.kernels.jit import inner_kernel

__all__ = ["mix"]

_M32 = 0xFFFFFFFF


@inner_kernel
def mix(x, y, z):
    """Hash the low 32 bits of three integers to an int64 >= 0."""
    mixed = (x & _M32) * 0x5BD1E995
    mixed ^= (y & _M32) * 0x2C1B3C6D
    mixed ^= (z & _M32) * 0x297A2D39
    mixed = ((mixed ^ (mixed >> 29)) & _M32) * 0x4B1E2F87
    return mixed ^ (mixed >> 31)
