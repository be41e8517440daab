"""The door: what passes unchanged, what is converted, and what is refused in which words."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import spatialindex as si
from spatialindex.boxes import as_boxes, as_points, as_radii

DIMS = (2, 3)


def unit_boxes(n, ndim):
    lower = np.arange(n * ndim, dtype=np.float64).reshape(n, ndim)
    return np.hstack((lower, lower + 1.0))


def refuses(message, error=si.InvalidBoxError):
    return pytest.raises(error, match=re.escape(message))


# ---- what passes


@pytest.mark.parametrize("ndim", DIMS)
def test_a_good_array_is_returned_itself(ndim):
    boxes = unit_boxes(5, ndim)
    assert as_boxes(boxes) is boxes
    assert as_boxes(boxes, ndim) is boxes
    assert as_boxes(boxes[2], ndim).shape == (2 * ndim,)
    assert np.shares_memory(as_boxes(boxes[2], ndim), boxes)
    assert np.shares_memory(as_boxes(boxes[1:4], ndim), boxes)


@pytest.mark.parametrize("ndim", DIMS)
def test_corner_arrays_become_rows_without_a_copy(ndim):
    boxes = unit_boxes(5, ndim)
    corners = boxes.reshape(5, 2, ndim)
    assert np.array_equal(as_boxes(corners), boxes)
    assert np.shares_memory(as_boxes(corners), boxes)
    assert np.array_equal(as_boxes(corners[3], ndim), boxes[3])
    assert as_boxes(corners[3]).shape == (2 * ndim,)


@pytest.mark.parametrize("ndim", DIMS)
def test_two_boxes_in_corner_form_are_two_boxes(ndim):
    boxes = unit_boxes(2, ndim)
    corners = boxes.reshape(2, 2, ndim)
    assert np.array_equal(as_boxes(corners), boxes)
    assert np.array_equal(as_boxes(corners.tolist()), boxes)
    assert np.array_equal(as_boxes([tuple(map(tuple, box)) for box in corners.tolist()]), boxes)


@pytest.mark.parametrize("ndim", DIMS)
def test_a_pair_of_boxes_in_row_form_is_two_boxes(ndim):
    boxes = unit_boxes(2, ndim)
    assert np.array_equal(as_boxes(tuple(boxes)), boxes)
    assert np.array_equal(as_boxes(list(boxes)), boxes)


def test_a_box_written_as_two_literal_points_is_one_box():
    assert np.array_equal(as_boxes(((0, 1), (2, 3))), [0, 1, 2, 3])
    assert np.array_equal(as_boxes([[0, 1, 2], [3, 4, 5]]), [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "i8", "u8", ">f8", ">i4"])
def test_other_number_types_are_converted(dtype):
    boxes = as_boxes(np.array([[0, 1, 2, 3]], dtype=dtype))
    assert boxes.dtype == np.float64
    assert boxes.dtype.isnative
    assert np.array_equal(boxes, [[0.0, 1.0, 2.0, 3.0]])


def test_float32_values_are_kept_exactly():
    narrow = np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32)
    assert np.array_equal(as_boxes(narrow), [float(value) for value in narrow])


def assert_fit_for_kernels(array):
    assert type(array) is np.ndarray
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert array.flags.writeable


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda a: a.setflags(write=False) or a, id="read-only"),
        pytest.param(np.asfortranarray, id="fortran-order"),
        pytest.param(lambda a: np.repeat(a, 2, axis=0)[::2], id="every-second-row"),
        pytest.param(lambda a: np.repeat(a, 2, axis=1)[:, ::2], id="every-second-column"),
        pytest.param(lambda a: np.ascontiguousarray(a[::-1])[::-1], id="reversed"),
        pytest.param(lambda a: a.astype(">f8"), id="byte-order"),
        pytest.param(
            lambda a: np.frombuffer(
                b"\0" + a.tobytes(), np.float64, offset=1, count=a.size
            ).reshape(a.shape),
            id="unaligned",
        ),
        pytest.param(lambda a: a.view(np.matrix), id="matrix"),
        pytest.param(np.ma.masked_invalid, id="masked-array-without-masked-entries"),
    ],
)
def test_arrays_that_kernels_cannot_take_are_copied(spoil):
    boxes = unit_boxes(6, 2)
    checked = as_boxes(spoil(boxes.copy()), 2)
    assert_fit_for_kernels(checked)
    assert np.array_equal(checked, boxes)
    points = as_points(spoil(boxes[:, :2].copy()), 2)
    assert_fit_for_kernels(points)
    assert np.array_equal(points, boxes[:, :2])


def test_a_refused_or_copied_input_is_not_written_to():
    boxes = unit_boxes(3, 2)
    boxes.setflags(write=False)
    as_boxes(boxes)[:] = 0.0
    assert np.array_equal(boxes, unit_boxes(3, 2))


@pytest.mark.parametrize("ndim", DIMS)
def test_a_batch_of_none_is_legal(ndim):
    for none in (np.empty((0, 2 * ndim)), np.empty((0, 2, ndim)), [], (), np.empty(0)):
        assert as_boxes(none, ndim).shape == (0, 2 * ndim)
    assert as_boxes(np.empty((0, 2 * ndim))).shape == (0, 2 * ndim)
    assert as_points([], ndim).shape == (0, ndim)
    assert as_points(np.empty((0, ndim)), ndim).shape == (0, ndim)
    assert as_radii([], 0).shape == (0,)
    assert as_radii(1.0, 0).shape == (0,)


@pytest.mark.parametrize("ndim", DIMS)
def test_a_box_of_zero_size_is_legal(ndim):
    box = np.ones(2 * ndim)
    assert as_boxes(box) is box
    assert np.array_equal(as_boxes([0.0] * ndim + [-0.0] * ndim), np.zeros(2 * ndim))


def test_bounds_of_queries_may_be_infinite():
    inf = float("inf")
    everything = np.array([[-inf, -inf, inf, inf], [0, inf, 1, inf], [-inf, 0, -inf, 1]])
    assert as_boxes(everything, 2, infinite=True) is everything
    assert np.array_equal(as_boxes(everything[0], 2, infinite=True), everything[0])


def test_whole_numbers_up_to_2_to_the_53_are_taken():
    limit = 2**53
    assert np.array_equal(as_boxes([-limit, 0, 0, limit]), [-limit, 0, 0, limit])
    assert np.array_equal(as_boxes([-1e300, 0, 0, 1e300]), [-1e300, 0, 0, 1e300])
    assert np.array_equal(as_boxes([[-1e300, 0, 1, 2]]), [[-1e300, 0, 1, 2]])


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(0, 5), st.sampled_from((4, 6))),
        elements=st.one_of(st.sampled_from((0.0, 1.0)), st.floats()),
    ),
    st.booleans(),
)
def test_boxes_are_taken_exactly_when_every_row_is_one(table, infinite):
    ndim = table.shape[1] // 2
    good = [
        all(lower <= upper for lower, upper in zip(row[:ndim], row[ndim:], strict=True))
        and (infinite or all(abs(value) != float("inf") for value in row))
        for row in table.tolist()
    ]
    if all(good):
        assert as_boxes(table, infinite=infinite) is table
    else:
        with refuses(f"boxes[{good.index(False)}]: "):
            as_boxes(table, infinite=infinite)
    for row, is_box in zip(table, good, strict=True):
        if is_box:
            assert as_boxes(row.copy(), infinite=infinite).tobytes() == row.tobytes()
        else:
            with refuses("boxes: "):
                as_boxes(row, infinite=infinite)


# ---- what is refused


@pytest.mark.parametrize("ndim", DIMS)
@pytest.mark.parametrize("infinite", [False, True])
def test_a_nan_is_refused_wherever_it_is(ndim, infinite):
    names = [f"{side} {axis}" for side in ("lower", "upper") for axis in "xyz"[:ndim]]
    for column, name in enumerate(names):
        boxes = unit_boxes(20, ndim)
        boxes[17, column] = np.nan
        with refuses(f"boxes[17]: {name} is nan; give the bound a value or drop the box"):
            as_boxes(boxes, ndim, infinite=infinite)
        with refuses(f"boxes: {name} is nan; give the bound a value or drop the box"):
            as_boxes(boxes[17], ndim, infinite=infinite)


@pytest.mark.parametrize("ndim", DIMS)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_bound_is_refused(ndim, value):
    for axis in range(ndim):
        boxes = unit_boxes(20, ndim)
        side, column = ("upper", axis + ndim) if value > 0 else ("lower", axis)
        boxes[3, column] = value
        boxes[4, column] = value
        message = (
            f"{side} {'xyz'[axis]} is {value}; stored boxes are finite, "
            f"give the bound a value or drop the box"
        )
        with refuses(f"boxes[3]: {message}"):
            as_boxes(boxes)
        with refuses(f"boxes: {message}"):
            as_boxes(boxes[3])


@pytest.mark.parametrize("ndim", DIMS)
@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 1198.0])
def test_many_boxes_are_refused_for_what_one_is(ndim, infinite, value):
    import spatialindex.kernels.rows  # noqa: F401  (what checks many)

    for column in range(2 * ndim):
        boxes = unit_boxes(600, ndim)
        boxes[599, column] = value
        try:
            as_boxes(boxes[599], infinite=infinite)
        except si.InvalidBoxError as refused:
            said = str(refused).replace("boxes:", "boxes[599]:")
            with refuses(said):
                as_boxes(boxes, infinite=infinite)
        else:
            assert as_boxes(boxes, infinite=infinite) is boxes


def test_boxes_are_checked_while_another_thread_loads_the_kernels(monkeypatch):
    monkeypatch.setitem(sys.modules, "spatialindex.kernels.rows", ModuleType("half_loaded"))
    boxes = unit_boxes(600, 2)
    assert as_boxes(boxes) is boxes
    boxes[599, 0] = np.nan
    with refuses("boxes[599]: lower x is nan"):
        as_boxes(boxes)


def test_corners_in_the_wrong_order_are_refused():
    boxes = unit_boxes(20, 2)
    boxes[17] = [3.0, 0.0, 2.0, 1.0]
    with refuses("boxes[17]: lower x 3.0 exceeds upper x 2.0; swap the corners or drop the box"):
        as_boxes(boxes)
    with refuses("boxes: lower x 3.0 exceeds upper x 2.0; swap the corners or drop the box"):
        as_boxes(boxes[17])
    with refuses("boxes[1]: lower z 5.5 exceeds upper z -inf; swap"):
        as_boxes([[0, 0, 0, 1, 1, 1], [0, 0, 5.5, 1, 1, -np.inf]], infinite=True)


def test_the_first_bad_row_is_named_and_the_argument_too():
    boxes = unit_boxes(9, 3)
    boxes[7, 0] = np.nan
    boxes[5, 1] = 1e9
    with refuses("regions[5]: lower y 1000000000.0 exceeds upper y"):
        as_boxes(boxes, name="regions")


@pytest.mark.parametrize(
    "shape", [(), (3,), (5,), (3, 5), (3, 3), (0, 7), (2, 3, 4), (4, 3, 2), (1, 2, 2, 2), (1, 0)]
)
def test_a_shape_that_boxes_do_not_have_is_refused(shape):
    with refuses(f"boxes: shape {shape} is not boxes; pass (n, 4) in 2D, (n, 6) in 3D, a row"):
        as_boxes(np.zeros(shape))
    with refuses(f"boxes: shape {shape} is not boxes; pass (n, 6) in 3D, a row"):
        as_boxes(np.zeros(shape), 3)


def test_another_number_of_dimensions_is_refused():
    message = (
        "boxes: shape (5, 6) is 3D boxes, wanted are 2D ones; "
        "pass (n, 4), or make the index with ndim=3"
    )
    with refuses(message):
        as_boxes(unit_boxes(5, 3), 2)
    with refuses("boxes: shape (4,) is 2D boxes, wanted are 3D ones"):
        as_boxes([0, 0, 1, 1], 3)
    with refuses("boxes: shape (0, 4) is 2D boxes, wanted are 3D ones"):
        as_boxes(np.empty((0, 4)), 3)
    with refuses("boxes: shape (7, 2, 2) is 2D boxes, wanted are 3D ones"):
        as_boxes(np.zeros((7, 2, 2)), 3)


def test_an_ndim_that_boxes_do_not_have_is_refused():
    with refuses("ndim=4: boxes are 2D or 3D; pass 2 or 3", si.InvalidArgumentError):
        as_boxes(np.zeros((1, 8)), 4)
    with refuses("ndim=1: boxes are 2D or 3D; pass 2 or 3", si.InvalidArgumentError):
        as_points(np.zeros((1, 1)), 1)


def test_an_empty_list_without_ndim_is_refused():
    with refuses("boxes: no boxes and no number of dimensions; pass ndim, or shape (0, 4)"):
        as_boxes([])


@pytest.mark.parametrize("ndim", DIMS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("pair", [tuple, list])
def test_a_pair_of_corner_arrays_is_refused(ndim, n, pair):
    boxes = unit_boxes(n, ndim)
    corners = pair((boxes[:, :ndim], boxes[:, ndim:]))
    message = "boxes: a pair of corner arrays could be read as two boxes; use box_from_corners"
    with refuses(message):
        as_boxes(corners, ndim)
    with refuses(message):
        as_boxes(corners)


def test_a_pair_of_two_corner_arrays_is_refused_as_lists_in_a_tuple_and_for_one_box():
    message = "boxes: a pair of corner arrays could be read as two boxes; use box_from_corners"
    with refuses(message):
        as_boxes(([[0, 0], [5, 5]], [[1, 1], [6, 6]]))
    with refuses(message):
        as_boxes((np.zeros(2), np.ones(2)))
    with refuses(message):
        as_boxes((np.zeros((2, 2)), [[1, 1], [1, 1]]))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (["a", "b", "c", "d"], "boxes: dtype <U1 is not real numbers; pass an array of float64"),
        (np.zeros(4, complex), "boxes: dtype complex128 is not real numbers; pass"),
        (np.zeros(4, "M8[s]"), "boxes: dtype datetime64[s] is not real numbers; pass"),
        (np.zeros((1, 4), bool), "boxes: got True and False, not numbers; convert with astype"),
        ([[0, 0, None, 1]], "boxes: dtype object is not real numbers; convert with astype(float)"),
        (None, "boxes: NoneType is not real numbers; pass an array of float64"),
        ({0, 1, 2, 3}, "boxes: set is not real numbers; pass an array of float64"),
        (
            [[0, 0, 1, 1], [0, 0, 1]],
            "boxes: not an array of numbers (setting an array element with a sequence.",
        ),
        (
            np.ma.array([[0.0, 0.0, 1.0, 1.0]], mask=[[0, 0, 0, 1]]),
            "boxes: masked entries have no value; fill them or drop their rows",
        ),
    ],
)
def test_what_is_not_real_numbers_is_refused(x, message):
    with refuses(message):
        as_boxes(x, 2)


@pytest.mark.parametrize(
    "x",
    [
        [[0, 0, 1, 1], [0, 0, 2**53 + 1, 1]],
        [[0, 0, 1, 1], [0, 0.5, 2**53 + 1, 1]],
        [[0, 0, 1, 1], [0, 0, 2**53 + 1, float("inf")]],
        np.array([[0, 0, 1, 1], [0, 0, 2**53 + 1, 1]]),
        np.array([[0, 0, 1, 1], [0, 0, 2**53 + 1, 1]], np.uint64),
        np.array([[0, 0, 1, 1], [0, 0, 2**53 + 1, 1]], object),
        np.array([[[0, 0], [1, 1]], [[0, 0], [2**53 + 1, 1]]]),
    ],
    ids=["list", "list-with-floats", "with-inf", "int64", "uint64", "object", "corners"],
)
def test_integers_that_float64_would_change_are_refused(x):
    message = (
        "boxes[1]: upper x 9007199254740993 is beyond 2**53, where float64 skips integers; "
        "shift or scale the coordinates"
    )
    with refuses(message):
        as_boxes(x, 2)


def test_large_integers_are_refused_whether_float64_has_them_or_not():
    with refuses("boxes: lower y -1152921504606846976 is beyond 2**53"):
        as_boxes([0, -(2**60), 1, 1])
    with refuses("boxes: upper y 18446744073709551615 is beyond 2**53"):
        as_boxes(np.array([0, 0, 1, 2**64 - 1], np.uint64))
    with refuses(f"boxes: upper y {10**400} is beyond 2**53"):
        as_boxes([0, 0, 1, 10**400])
    with refuses("boxes: lower x -9223372036854775808 is beyond 2**53"):
        as_boxes(np.array([-(2**63), 0, 0, 0]))


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 on this platform"
)
def test_extended_precision_is_taken_only_where_float64_has_it():
    wide = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.longdouble)
    assert np.array_equal(as_boxes(wide), wide)
    wide[1, 3] += np.finfo(np.longdouble).eps
    with refuses("boxes[1]: upper y 1.00000000000000"):
        as_boxes(wide)
    wide[1, 3] = np.longdouble("1e4000")
    with refuses("boxes[1]: upper y 1e+4000 is not a float64 number; round it outward"):
        as_boxes(wide)
    wide[1, 3] = np.nan
    with refuses("boxes[1]: upper y is nan"):
        as_boxes(wide)


def test_refusals_are_value_errors_and_of_the_library():
    with pytest.raises(ValueError, match="lower x"):
        as_boxes([1, 0, 0, 1])
    with pytest.raises(si.SpatialIndexError, match="lower x"):
        as_boxes([1, 0, 0, 1])


# ---- points


@pytest.mark.parametrize("ndim", DIMS)
def test_good_points_are_returned_themselves(ndim):
    points = unit_boxes(4, ndim)[:, :ndim].copy()
    assert as_points(points, ndim) is points
    assert as_points(points) is points
    assert as_points(points[1], ndim).shape == (ndim,)
    assert np.shares_memory(as_points(points[1], ndim), points)
    assert np.array_equal(as_points(points.astype(np.int32).tolist(), ndim), points)


@pytest.mark.parametrize("ndim", DIMS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_points_that_are_not_finite_are_refused(ndim, value):
    for axis in range(ndim):
        points = np.zeros((6, ndim))
        points[4:, axis] = value
        message = f"{'xyz'[axis]} is {value}; make it finite or drop the row"
        with refuses(f"points[4]: {message}", si.InvalidArgumentError):
            as_points(points, ndim)
        with refuses(f"center: {message}", si.InvalidArgumentError):
            as_points(points[4], ndim, name="center")


@pytest.mark.parametrize("shape", [(), (0,), (4,), (5, 3), (1, 2, 2)])
def test_points_of_another_shape_are_refused(shape):
    message = f"points: shape {shape} is not 2D points; pass shape (ndim,) for one or (n, ndim)"
    if shape == (0,):
        message = f"points: shape {shape} is not 2D or 3D points; pass shape (ndim,) for one or"
        with refuses(message, si.InvalidArgumentError):
            as_points(np.zeros(shape))
        return
    with refuses(message, si.InvalidArgumentError):
        as_points(np.zeros(shape), 2)


def test_points_that_are_not_real_numbers_are_refused():
    with refuses("points: dtype <U1 is not real numbers", si.InvalidArgumentError):
        as_points(["0", "1"], 2)
    with refuses("points[1]: y 9007199254740993 is beyond 2**53", si.InvalidArgumentError):
        as_points([[0, 0], [0, 2**53 + 1]], 2)


# ---- radii


def test_radii_are_one_a_row():
    radii = np.array([0.0, 1.5, np.inf])
    assert as_radii(radii, 3) is radii
    assert np.array_equal(as_radii([0, 1, 2], 3), [0.0, 1.0, 2.0])
    for scalar in (2, 2.0, np.float32(2), np.array(2.0)):
        radii = as_radii(scalar, 3)
        assert np.array_equal(radii, [2.0, 2.0, 2.0])
        assert_fit_for_kernels(radii)


@pytest.mark.parametrize("value", [-1.0, -np.inf, np.nan, -5e-324])
def test_radii_that_are_not_lengths_are_refused(value):
    with refuses(f"radii[2] is {value}; a length is zero or more", si.InvalidArgumentError):
        as_radii([0.0, np.inf, value, value], 4)
    with refuses(f"reach is {value}; a length is zero or more", si.InvalidArgumentError):
        as_radii(value, 4, name="reach")


def test_radii_of_another_length_are_refused():
    message = "radii: shape (2,) does not fit 3 rows; pass one number or shape (3,)"
    with refuses(message, si.InvalidArgumentError):
        as_radii([1, 2], 3)
    with refuses("radii: shape (2,) does not fit 1 row; pass", si.InvalidArgumentError):
        as_radii([1, 2], 1)
    with refuses("radii: shape (3, 1) is not lengths; pass one number", si.InvalidArgumentError):
        as_radii([[1], [2], [3]], 3)
    with refuses("radii: dtype <U1 is not real numbers", si.InvalidArgumentError):
        as_radii("5", 1)
