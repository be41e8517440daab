"""Keys of cells, by which a grid is filled: each cell has its own, and tiles stay together."""

import numpy as np
import pytest

from spatialindex.indexes.grid.choosing import key_layout
from spatialindex.kernels.grid.build import list_entries

NO_LAYOUTS = np.empty(0, np.int16)
NO_SLOTS = np.empty(0, np.int32)


def keys_of(lowest, highest):
    """Return all cells between bounds, their keys, and the bits that keys have."""
    ndim = len(lowest)
    found = np.zeros(8, np.int64)
    found[2 : 2 + ndim], found[5 : 5 + ndim] = lowest, highest
    layout, bits = key_layout(found)
    axes = [np.arange(a, b + 1, dtype=np.int32) for a, b in zip(lowest, highest, strict=True)]
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, ndim)
    keys = np.empty(len(cells), np.uint64)
    ranges = np.hstack([cells, cells])
    list_entries(NO_SLOTS, ranges, layout[None], NO_LAYOUTS, bits, 0, (0,) * ndim, keys)
    return cells, (keys >> np.uint64(32)).astype(np.int64), bits


@pytest.mark.parametrize(
    ("lowest", "highest", "bits"),
    [
        ((0, 0), (15, 15), 8),
        ((-3, 7), (13, 7), 5),
        ((5, -20), (5, -20), 0),
        ((-9, 0, 3), (7, 2, 20), 5 + 2 + 5),
        ((0, 0, 0), (3, 3, 3), 6),
    ],
)
def test_each_cell_has_a_key_of_its_own(lowest, highest, bits):
    _, keys, n_bits = keys_of(lowest, highest)
    assert n_bits == bits
    assert keys.min() >= 0
    assert keys.max() < 1 << bits
    assert len(np.unique(keys)) == len(keys)


@pytest.mark.parametrize("side", [(8, 8), (4, 4, 4)])
def test_keys_of_a_tile_follow_one_another(side):
    lowest = np.array([-5, 2, 11][: len(side)])
    cells, keys, _ = keys_of(lowest, lowest + 4 * np.array(side) - 1)
    tiles = (cells - lowest) // np.array(side)
    by_key = tiles[np.argsort(keys)].reshape(-1, 64, len(side))
    assert (by_key == by_key[:, :1]).all()


def test_cells_too_far_apart_have_keys_of_more_bits_than_fit():
    far = np.array([0, 0, -(2**30), -(2**30), 0, 2**30, 2**30, 0], np.int64)
    assert key_layout(far)[1] == 64
    nothing = np.array([0, 0, 2**30, 2**30, 0, -(2**30), -(2**30), 0], np.int64)
    assert key_layout(nothing)[1] == 0
