"""A block filled at once holds what its lanes hold when they are written one by one."""

import numpy as np
import pytest

from spatialindex.kernels.blocks import write_lane
from spatialindex.kernels.jit import kernel
from spatialindex.kernels.simd import LANES, pack8

HARD = [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 1 / 3, 5e-324, -5e-324, 1e-45, -1e-45, 1e-40, 1e39, -1e39]
HARD += [3.4028234663852886e38, -3.4028234663852886e38, 3.4028235e38, 1.7e308, -1.7e308, 2.0**-149]


@kernel
def _fill(bounds, block, boxes, rows, at, n, dim):
    return pack8(bounds, block, boxes, rows, at, n, 2**20 - 1, dim)


@pytest.mark.parametrize("ndim", [2, 3])
def test_a_filled_block_is_the_block_written_lane_by_lane(ndim: int) -> None:
    rng = np.random.default_rng(ndim)
    dim = (0,) * ndim
    for _ in range(200):
        corners = rng.choice(HARD, (11, 2, ndim))
        random = rng.normal(size=corners.shape) * 10.0 ** rng.integers(-3, 4)
        corners = np.where(rng.random(corners.shape) < 0.5, corners, random)
        boxes = np.sort(corners, axis=1).reshape(11, 2 * ndim)
        at = int(rng.integers(0, 3))
        rows = rng.integers(0, 11, LANES + at)
        n = int(rng.integers(1, LANES + 1))
        filled = np.zeros((2, 2 * ndim, LANES), np.float32)
        exact_bits = _fill(filled, 1, boxes, rows, at, n, dim)
        written = np.zeros_like(filled)
        slots = np.zeros((2, LANES), np.int32)
        exact = np.zeros(2, np.uint8)
        for lane in range(LANES):
            if lane < n:
                row = rows[at + lane]
                write_lane(written, slots, exact, 1, lane, np.int32(row), boxes, row, dim)
        both = filled[1, :, :n], written[1, :, :n]
        np.testing.assert_array_equal(both[0].copy().view(np.int32), both[1].copy().view(np.int32))
        assert exact_bits & ((1 << n) - 1) == exact[1]
