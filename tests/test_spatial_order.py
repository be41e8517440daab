"""Large batches are asked in spatial order; the answer is that of asking row by row."""

import numpy as np
import pytest

import spatialindex as si
from spatialindex.indexes import curve


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("name", ["hash-grid", "grid", "hierarchical-grid"])
def test_batches_in_spatial_order_are_answered_as_they_come(
    monkeypatch: pytest.MonkeyPatch, name: str, ndim: int
) -> None:
    for constant in ("_FAR_BLOCKS", "_MANY_ROWS", "_ORDERED"):
        monkeypatch.setattr(curve, constant, 1)
    rng = np.random.default_rng(ndim)
    lower = rng.normal(size=(700, ndim)) * 10
    boxes = np.hstack([lower, lower + rng.random((700, ndim)) * 2])
    boxes[3] = np.repeat([-1e9, 1e9], ndim)
    asked = boxes[rng.permutation(700)[:400]]
    asked[5, 0] = -np.inf
    asked[7, ndim:] = np.inf
    asked[9] = np.repeat([-np.inf, np.inf], ndim)
    index, plain = si.create(name, ndim=ndim), si.BruteForce(ndim)
    index.insert(boxes)
    plain.insert(boxes)
    np.testing.assert_array_equal(index.query(asked), plain.query(asked))
    np.testing.assert_array_equal(index.query(asked, workers=3), plain.query(asked))
    np.testing.assert_array_equal(index.count(asked), plain.count(asked))
    points = boxes[:300, :ndim]
    near = index.query_radius(points, 1.5)
    np.testing.assert_array_equal(near, plain.query_radius(points, 1.5))
