"""Layers, masks, static, asleep, sensor: which pairs count and what a question sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.constants import ALL, AMONG, SENSORS, STATE_DTYPE
from spatialindex.testing.samples import lattice_boxes, mixed_state, state_options
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from spatialindex.testing.twin import Factory

BITS = (ALL, 1, 2, 3, 2**63)


def check_pair_rule(factory: Factory, ndim: int) -> None:
    """Every combination of layers, masks, flags and options, on boxes that often touch."""
    rng = np.random.default_rng(21)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 250, ndim), **state_options(mixed_state(rng, 250)))
    for among in AMONG:
        for sensors in SENSORS:
            assert len(twin.pairs(among=among, sensors=sensors, sort=False)) > 0
            twin.pairs(among=among, sensors=sensors)
    # once more in another order: an answer does not depend on the one before
    for sensors in SENSORS[::-1]:
        for among in AMONG[::-1]:
            twin.pairs(among=among, sensors=sensors)


def check_layers_and_masks_agree_both_ways(factory: Factory, ndim: int) -> None:
    """A pair counts when each layer is in the other's mask; the highest bit is a bit as any."""
    box = [0.0] * ndim + [1.0] * ndim
    high = 2**63
    for (layer_a, mask_a), (layer_b, mask_b), is_pair in (
        ((1, ALL), (1, ALL), True),
        ((1, 2), (2, 1), True),
        ((1, 2), (2, 2), False),
        ((1, 1), (2, 1), False),
        ((1, 0), (1, ALL), False),
        ((0, ALL), (1, ALL), False),
        ((0, ALL), (0, ALL), False),
        ((high, high), (high, high), True),
        ((high, 1), (1, high), True),
        ((high, 1), (1, high - 1), False),
        ((ALL, ALL), (high, 1), True),
    ):
        for a, b in ((0, 1), (1, 0)):
            twin = Twin(factory(ndim))
            twin.insert(box, a, layer=layer_a, mask=mask_a)
            twin.insert(box, b, layer=layer_b, mask=mask_b)
            assert len(twin.pairs()) == is_pair
            assert len(twin.pairs(among="all")) == is_pair


def check_layer_zero_is_seen_by_nobody(factory: Factory, ndim: int) -> None:
    """An object on no layer pairs with nothing and no question sees it, but it is there."""
    twin = Twin(factory(ndim))
    box = [0.0] * ndim + [1.0] * ndim
    twin.insert([box] * 4, layer=[0, 1, 0, 2])
    twin.check()
    assert twin.query(box).tolist() == [1, 3]
    assert twin.join(twin).tolist() == [[1, 1], [1, 3], [3, 1], [3, 3]]
    twin.set_state([0, 1], layer=[4, 0])
    assert twin.query(box).tolist() == [0, 3]


def check_questions_see_layers_only(factory: Factory, ndim: int) -> None:
    """Masks, static, asleep and sensor do not hide an object from a question."""
    rng = np.random.default_rng(22)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 150, ndim), **state_options(mixed_state(rng, 150)))
    asked = lattice_boxes(rng, 30, ndim)
    for layers in BITS:
        assert len(twin.query(asked, layers=layers)) > 0
        twin.query(asked[0], layers=layers)
        twin.query(asked, layers=layers, predicate="inside", sort=False)
        twin.count(asked, layers=layers)
        twin.count(asked, layers=layers, predicate="encloses")
        twin.query_point(asked[:, :ndim], layers=layers)
        twin.query_radius(asked[:, :ndim], 1.0, layers=layers)
        twin.join(asked, layers=layers)
        for other_layers in BITS:
            twin.join(twin, layers=layers, other_layers=other_layers)


def check_resting_objects(factory: Factory, ndim: int) -> None:
    """`among` decides about static and sleeping members as the contract says."""
    box = [0.0] * ndim + [1.0] * ndim
    twin = Twin(factory(ndim))
    twin.insert([box] * 4, static=[False, True, False, True], asleep=[False, False, True, True])
    awake, static, asleep, both = range(4)
    assert twin.pairs().tolist() == [[awake, static], [awake, asleep], [awake, both]]
    with_dynamic = [[awake, static], [awake, asleep], [awake, both]]
    with_dynamic += [[static, asleep], [asleep, both]]
    assert twin.pairs(among="dynamic").tolist() == with_dynamic
    assert len(twin.pairs(among="all")) == 6
    assert len(twin.query(box)) == 4


def check_sensor_pairs(factory: Factory, ndim: int) -> None:
    """A pair with a sensor in it is a sensor pair; layers, masks and `among` still apply."""
    box = [0.0] * ndim + [1.0] * ndim
    twin = Twin(factory(ndim))
    twin.insert([box] * 4, sensor=[True, False, True, False], static=[True, True, False, False])
    assert twin.pairs(sensors="exclude", among="all").tolist() == [[1, 3]]
    assert len(twin.pairs(sensors="only", among="all")) == 5
    assert twin.pairs(sensors="only").tolist() == [[0, 2], [0, 3], [1, 2], [2, 3]]
    twin.check()


def check_changes_of_state_need_no_motion(factory: Factory, ndim: int) -> None:
    """Layer, mask and flags count from the next call on, in every kind of question."""
    rng = np.random.default_rng(23)
    twin = Twin(factory(ndim))
    n = 80
    twin.insert(lattice_boxes(rng, n, ndim))
    asked = lattice_boxes(rng, 10, ndim)
    for name in STATE_DTYPE.names or ():
        for _ in range(3):
            twin.pairs()
            twin.query(asked, layers=1)
            some = rng.choice(n, 20, replace=False)
            twin.set_state(some, **{name: mixed_state(rng, 20)[name]})
            for among in AMONG:
                twin.pairs(among=among)
            twin.pairs(sensors="only")
            twin.query(asked, layers=1)
            twin.count(asked, layers=2)
        twin.set_state(twin.index.ids, **{name: mixed_state(rng, 1)[name][0]})
        twin.check(asked)
    # one option leaves the others as they are
    twin.set_state(twin.index.ids, **state_options(mixed_state(rng, n)))
    twin.set_state([3, 1], mask=[5, 6])
    twin.set_state(2, static=True, layer=9)
    twin.check(asked)


def check_state_survives_motion(factory: Factory, ndim: int) -> None:
    """Moving wakes nothing and changes no layer; a removed id takes its state with it."""
    rng = np.random.default_rng(24)
    twin = Twin(factory(ndim))
    twin.insert(lattice_boxes(rng, 60, ndim), **state_options(mixed_state(rng, 60)))
    twin.pairs(among="all")
    twin.update(None, lattice_boxes(rng, 60, ndim))
    twin.check()
    twin.remove(np.arange(30))
    twin.insert(lattice_boxes(rng, 30, ndim), np.arange(30))
    twin.check()
