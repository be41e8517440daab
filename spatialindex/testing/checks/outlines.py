"""Outlines: the parts of a structure hold what they list."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.testing.samples import lattice_boxes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.protocol import Index
    from spatialindex.testing.twin import Factory

_ROUNDING = 2.0**-40  # of a coordinate: borders of cells are worked out, not kept


def _assert_outlined(index: Index) -> None:
    """Check that all objects are listed, each in parts that hold it together."""
    outlines, ndim = index.outlines(), index.ndim
    parts, ids = outlines.members.T
    assert (outlines.boxes[:, :ndim] <= outlines.boxes[:, ndim:]).all(), "a box is inverted"
    order = np.lexsort((ids, parts))
    assert np.array_equal(order, np.arange(len(ids))), "members are not in order"
    assert np.array_equal(np.unique(ids), index.ids), "not exactly the objects are listed"
    assert outlines.counts.sum() == len(ids)
    if (outlines.kinds != "list").any():
        stats = index.stats()
        assert len(ids) == stats.entries + stats.wide, "not all memberships are listed"
    slack = _ROUNDING * np.abs(index.boxes()).max(axis=1)
    for id_, rounding in zip(index.ids.tolist(), slack.tolist(), strict=True):
        box, boxes = index.boxes(id_), outlines.boxes[parts[ids == id_]]
        lower, upper = boxes[:, :ndim] - rounding, boxes[:, ndim:] + rounding
        meets = (lower <= box[ndim:]) & (box[:ndim] <= upper)
        assert meets.all(), f"id {id_} is listed in a part that holds nothing of it"
        points = _points(box)[:, None]
        inside = ((lower <= points) & (points <= upper)).all(axis=2)
        assert inside.any(axis=1).all(), f"id {id_} sticks out of the parts that list it"


def _points(box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points of a box on a lattice of six an axis, its corners among them."""
    ndim = len(box) // 2
    shares = np.array(list(product(np.linspace(0.0, 1.0, 6), repeat=ndim)))
    points: NDArray[np.float64] = box[:ndim] * (1.0 - shares) + box[ndim:] * shares
    return points


def check_outlines_hold_what_they_list(factory: Factory, ndim: int) -> None:
    """Parts of the structure list every object and hold it, when empty, new, and changed."""
    rng = np.random.default_rng(17)
    index = factory(ndim)
    assert len(index.outlines().boxes) == len(index.outlines().members) == 0
    index.insert(
        lattice_boxes(rng, 40, ndim), rng.permutation(200)[:40], static=rng.random(40) < 0.5
    )
    _assert_outlined(index)
    index.insert(np.array([-900.0] * ndim + [800.0] * ndim))  # wide in small cells
    _assert_outlined(index)
    ids = index.ids
    index.update(ids[::3], lattice_boxes(rng, len(ids[::3]), ndim))
    index.remove(ids[1::5])
    _assert_outlined(index)
    index.clear()
    assert len(index.outlines().boxes) == 0
