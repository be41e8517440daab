"""The object table itself: slots found by id, and changes handed out."""

import numpy as np
import pytest

import spatialindex as si
from spatialindex.constants import ALL, DEFAULT_LAYER
from spatialindex.objects import ObjectTable

PLAIN = {"layer": DEFAULT_LAYER, "mask": ALL, "static": False, "asleep": False, "sensor": False}


@pytest.fixture(params=["dense", "sparse"])
def table(request):
    made = ObjectTable(2)
    ids = np.arange(20) if request.param == "dense" else np.arange(20) ** 2 * 10**9
    made.insert(np.zeros((20, 4)), ids, PLAIN)
    made.take_changes()
    made.given = ids
    return made


def test_slots_are_found_in_any_order_and_as_often_as_asked(table):
    places = np.array([7, 3, 3, 19, 0, 7])
    slots = table.slots_of(table.given[places], once=False)
    assert table.slot_ids[slots].tolist() == table.given[places].tolist()
    table.remove(table.slots_of(table.given[[3, 19]], once=True))
    missing = np.array([table.given[19] + 1, 2**63 - 1])
    found = table.find(np.concatenate([table.given[places], missing]))
    assert (found < 0).tolist() == [False, True, True, True, False, False, True, True]
    assert table.slot_ids[found[[0, 4, 5]]].tolist() == table.given[[7, 0, 7]].tolist()


def test_changes_come_by_ascending_slot_each_once_however_they_were_noted(table):
    def slots(*places):
        return table.slots_of(table.given[list(places)], once=True)

    table.update(slots(12, 4, 9, 2), np.ones((4, 4)))
    table.update(slots(9, 1, 12), np.ones((3, 4)))
    table.set_state(slots(1, 15), {"static": True})
    gone = slots(4, 3)
    table.remove(gone)
    changes = table.take_changes()
    assert changes.moved.tolist() == sorted(slots(12, 9, 2, 1).tolist())
    assert changes.restated.tolist() == sorted(slots(1, 15).tolist())
    assert changes.removed.tolist() == sorted(gone.tolist())
    assert changes.added.tolist() == []
    assert table.take_changes() is None
    table.update(slots(8, 5), np.zeros((2, 4)))
    changes = table.take_changes()
    assert changes.moved.tolist() == sorted(slots(8, 5).tolist())
    assert [len(kind) for kind in changes] == [0, 0, 2, 0]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([7, 8.5, 9], r"ids\[1\] is 8.5: ids are integers from 0"),
        ([7, None, 9], r"ids\[1\] is None: ids are integers from 0"),
        ([7, "x", 9], r"ids\[1\] is 'x': ids are integers from 0"),
        (np.array([1, 2, np.nan]), r"ids\[2\] is nan: ids are integers from 0"),
        (np.array([True, False, True]), r"ids\[0\] is True: ids are integers from 0"),
        (np.arange(3.0), r"ids of type float64: .*; pass ids.astype\(np.int64\)"),
        ({1, 2, 3}, r"ids is \{1, 2, 3\}: ids are integers from 0"),
    ],
)
def test_what_is_no_integer_is_named_by_its_row(ids, message):
    index = si.BruteForce(ndim=2)
    with pytest.raises(si.InvalidArgumentError, match=message):
        index.insert([[0, 0, 1, 1]] * 3, ids)
    assert len(index) == 0


def test_bits_of_layers_that_are_none_are_named_by_their_row():
    index = si.BruteForce(ndim=2)
    with pytest.raises(si.InvalidArgumentError, match=r"layer\[2\] is 3.5: bits of layers are"):
        index.insert([[0, 0, 1, 1]] * 3, layer=np.array([1, 2, 3.5]))
