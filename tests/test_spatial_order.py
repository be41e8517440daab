"""Large batches are asked in spatial order; the answer is that of asking row by row."""

import numpy as np
import pytest

import spatialindex as si
from spatialindex.indexes import curve


@pytest.mark.parametrize(
    ("name", "ndim"),
    [
        (entry.name, ndim)
        for entry in si.structures()
        for ndim in entry.ndims
        if entry.name != "brute-force"
    ],
)
def test_batches_in_spatial_order_are_answered_as_they_come(
    monkeypatch: pytest.MonkeyPatch, name: str, ndim: int
) -> None:
    for constant in ("_FAR_BLOCKS", "_MANY_ROWS", "_MANY_ASKED", "_FAR", "_FAR_AROUND"):
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
    points, ways, ignored = boxes[:300, :ndim], rng.normal(size=(300, ndim)), np.arange(300) % 7
    near = index.query_radius(points, 1.5)
    np.testing.assert_array_equal(near, plain.query_radius(points, 1.5))
    for workers in (1, 3):
        for found, right in (
            (
                index.nearest(points, k=3, ignore=ignored, workers=workers),
                plain.nearest(points, k=3, ignore=ignored),
            ),
            (
                index.raycast(points, ways, ignore=ignored, workers=workers),
                plain.raycast(points, ways, ignore=ignored),
            ),
            (
                index.raycast_all(points, ways, max_t=9.0, workers=workers),
                plain.raycast_all(points, ways, max_t=9.0),
            ),
        ):
            for column, expected in zip(found, right, strict=True):
                np.testing.assert_array_equal(column, expected)
