"""Naming rows: labels, canonical order, whatever the number of rows, labels and workers."""

import numpy as np
import pytest
from numpy.typing import NDArray

from spatialindex import naming
from spatialindex.kernels.sorting import sort_keys
from spatialindex.objects import Labels

SMALL = [0, 1, 2, 47, 49, 300]
LABELS = [1, 2, 7, 1000]


def _labels(rng: np.random.Generator, n: int, *, named: bool) -> Labels:
    bits = 20 if n == 1000 else max(n - 1, 0).bit_length()  # keys of more than 32 bits as well
    if not named:
        return Labels(naming.UNLABELLED, naming.UNLABELLED, bits)
    names = np.sort(rng.choice(10**9, n, replace=False)).astype(np.int64)
    return Labels(rng.permutation(n).astype(np.int64), names, bits)


def _expected(rows: NDArray[np.int32], column: int, labels: Labels, *, is_pair: bool) -> object:
    wide = rows.astype(np.int64)
    one, two = wide[:, column], wide[:, 1 - column]
    if len(labels.of):
        one, two = labels.of[one], labels.of[two]
    if is_pair:
        one, two = np.minimum(one, two), np.maximum(one, two)
    order = np.lexsort((two, one))
    both = np.column_stack([one[order], two[order]])
    return labels.names[both] if len(labels.names) else both


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
def test_rows_come_in_canonical_order_however_they_are_dealt(
    monkeypatch: pytest.MonkeyPatch, workers: int, named: bool, is_pair: bool
) -> None:
    monkeypatch.setattr(naming, "WORTH_THREADS", 0)
    rng = np.random.default_rng([workers, named, is_pair])
    for bucket_bits in (1, 4, 15):
        monkeypatch.setattr(naming, "_BUCKET_BITS", bucket_bits)
        monkeypatch.setattr(naming, "_MOST_AT_ONCE", 40 if bucket_bits < 15 else 2**18)
        for n in SMALL:
            for n_labels in LABELS:
                rows = rng.integers(0, n_labels, (n, 2)).astype(np.int32)
                rows[rng.random(n) < 0.5, 0] = n_labels // 2  # a planet that touches half of all
                labels = _labels(rng, n_labels, named=named)
                column = int(rng.integers(2))
                options = {"is_pair": is_pair, "workers": workers}
                named_rows = naming.named_rows(
                    rows.copy(), column, labels, labels, sort=True, **options
                )
                expected = _expected(rows, column, labels, is_pair=is_pair)
                np.testing.assert_array_equal(named_rows, expected)
                loose = naming.named_rows(
                    rows.copy(), column, labels, labels, sort=False, **options
                )
                order = np.lexsort((loose[:, 1], loose[:, 0]))
                np.testing.assert_array_equal(loose[order], expected)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("n", [30, 48, 49, 399, 400, 3000, 20_000])
def test_keys_are_sorted_by_some_of_their_bits_and_stay_as_they_are_otherwise(n, dtype):
    rng = np.random.default_rng(n)
    for low, bits in ((0, 28), (8, 13), (0, 0), (3, 5)):
        keys = rng.integers(0, 2**bits, n).astype(dtype) << dtype(low)
        keys |= np.sort(rng.integers(0, 2**low, n)).astype(dtype)
        expected = np.sort(keys)
        found = sort_keys(keys.copy(), np.empty_like(keys), low, bits)
        np.testing.assert_array_equal(found, expected)
