"""One box is answered by a kernel of few arguments: with the answer of a batch of one."""

import copy
import pickle

import numpy as np
import pytest

import spatialindex as si

STRUCTURES = [
    pytest.param(entry.name, ndim, id=f"{entry.name}-{ndim}D")
    for entry in si.structures()
    for ndim in entry.ndims
]


def filled(name, ndim, n=300, seed=0):
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 12, (n, ndim)).astype(float)
    boxes = np.hstack([lower, lower + rng.integers(0, 3, (n, ndim))])
    boxes[::50, ndim:] += 40
    index = si.create(name, ndim)
    index.insert(boxes, rng.permutation(n) * 7)
    return index


def assert_single_is_batch(index, seed=1):
    rng = np.random.default_rng(seed)
    ndim = index.ndim
    for _ in range(60):
        lower = rng.integers(-2, 13, ndim).astype(float)
        box = np.hstack([lower, lower + rng.integers(0, 3, ndim)])
        box[:ndim][rng.random(ndim) < 0.1] = -np.inf
        expected = index.query(box[None])[:, 1]
        for form in (box, tuple(box.tolist()), box.tolist()):
            np.testing.assert_array_equal(index.query(form), expected)


@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
def test_single_answer_is_that_of_a_batch(name, ndim):
    index = filled(name, ndim)
    assert_single_is_batch(index)
    index.update(index.ids[:40], index.boxes(index.ids[:40]) + 1)
    assert_single_is_batch(index)
    index.remove(index.ids[::3])
    index.insert(np.zeros((500, 2 * ndim)))  # arrays are replaced as they grow
    assert_single_is_batch(index)
    index.rebuild()
    assert_single_is_batch(index)


@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
@pytest.mark.parametrize(
    "renew", [lambda i: i.copy(), copy.deepcopy, lambda i: pickle.loads(pickle.dumps(i))]
)
def test_copies_do_not_ask_the_original(name, ndim, renew):
    index = filled(name, ndim)
    everywhere = [-100.0] * ndim + [100.0] * ndim
    corner = [0.0] * (2 * ndim)
    before = index.query(corner)
    other = renew(index)
    index.clear()
    index.insert(corner)
    np.testing.assert_array_equal(other.query(corner), before)
    assert len(other.query(everywhere)) == 300
    assert len(index.query(everywhere)) == 1


@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
@pytest.mark.parametrize("n", [1, 47, 48, 49, 1000])
def test_answers_of_every_length(name, ndim, n):
    index = si.create(name, ndim)
    index.insert(np.zeros((n, 2 * ndim)))
    np.testing.assert_array_equal(index.query([0.0] * (2 * ndim)), np.arange(n))


@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
def test_single_box_that_is_none_is_refused(name, ndim):
    index = filled(name, ndim)
    index.query([0.0] * (2 * ndim))
    with pytest.raises(si.InvalidBoxError, match="exceeds"):
        index.query([1.0] * ndim + [0.0] * ndim)
    with pytest.raises(si.InvalidBoxError, match="is nan"):
        index.query([np.nan] * (2 * ndim))


@pytest.mark.parametrize(("name", "ndim"), STRUCTURES)
def test_layers_and_limits_are_seen(name, ndim):
    index = filled(name, ndim, n=10)
    everywhere = [-100.0] * ndim + [100.0] * ndim
    assert len(index.query(everywhere)) == 10
    index.set_state(index.ids[:4], layer=0)
    assert len(index.query(everywhere)) == 6
    index.max_rows = 5
    with pytest.raises(si.ResultTooLargeError, match="5 rows"):
        index.query(everywhere)


def test_boxes_of_any_layout_are_read():
    index = filled("hash-grid", 2)
    many = np.array([[0.0, 0, 3, 3], [9, 9, 9, 9]])
    expected = index.query(many[:1])[:, 1]
    frozen = many[0].copy()
    frozen.flags.writeable = False
    for box in (frozen, many.T.copy().T[0], np.repeat(many[0], 2)[::2], many[0].astype(int)):
        np.testing.assert_array_equal(index.query(box), expected)
