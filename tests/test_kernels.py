"""What `kernels.jit` makes of a function: how often it is compiled, and who may call it."""

import numpy as np
import pytest
from numba import config

from spatialindex.kernels.jit import inner_kernel, kernel

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@inner_kernel
def sum_from(values, start, is_negative):
    total = 0
    for i in range(start, len(values)):
        total += -values[i] if is_negative else values[i]
    return total


@kernel
def sums(values, start):
    return sum_from(values, 0, False) + sum_from(values, 1, True) + sum_from(values, start, False)


def test_numbers_written_in_calls_compile_nothing_anew():
    assert sums(np.arange(4), 2) == 6 - 6 + 5
    assert len(sum_from.signatures) == 1


def test_inner_kernel_is_called_by_compiled_code_alone():
    assert sums(np.arange(3), 0) == 3 - 3 + 3
    with pytest.raises(TypeError, match="sum_from is only for compiled code; call it in a kernel"):
        sum_from(np.arange(3), 0, False)
