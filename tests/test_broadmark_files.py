"""Broadmark's files against a writer of both layouts, and their damage."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spatialindex as si


def refusal(path):
    """Return the message with which a file is refused; it is one line that names the file."""
    with pytest.raises(si.RecordingError) as caught:
        si.Recording.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{path}: ")


def aabbs(
    boxes,
    *,
    padded=False,
    world=(-9, -9, -9, 9, 9, 9),
    name=b"FreeFall",
    kind=b"Cubes",
    objects=None,
    frames=None,
    zeros=(0, 0),
):
    """Return the bytes of a Broadmark file of boxes (frames, n, 6)."""
    boxes = np.asarray(boxes, dtype="<f4")
    objects = boxes.shape[1] if objects is None else objects
    frames = boxes.shape[0] - padded if frames is None else frames
    header = name.ljust(128, b"\0") + kind.ljust(128, b"\0")
    header += struct.pack("<4i", objects, frames, *zeros)
    rows = np.concatenate([np.array([world], "<f4"), boxes.reshape(-1, 6)])
    if padded:
        rows = np.insert(rows, [3, 6], 0.0, axis=1)
    return header + rows.astype("<f4").tobytes()


def some_boxes(frames=3, n=4):
    rng = np.random.default_rng(3)
    lowers = rng.normal(size=(frames, n, 3)).astype("f4")
    return np.concatenate([lowers, lowers + rng.random(lowers.shape).astype("f4")], axis=2)


@pytest.mark.parametrize("padded", [False, True])
def test_broadmark_files_are_read_exactly(padded, tmp_path):
    boxes = some_boxes()
    path = tmp_path / "fall.aabbs"
    path.write_bytes(aabbs(boxes, padded=padded))
    rec = si.Recording.load(path)
    np.testing.assert_array_equal(rec.boxes, boxes.astype(np.float64), strict=True)
    assert (rec.frames, rec.n, rec.ndim, rec.name) == (3, 4, 3, "FreeFall")
    assert "Cubes" in rec.notes
    assert "world box [-9.0, -9.0, -9.0, 9.0, 9.0, 9.0]" in rec.notes
    assert not rec.static.any()
    assert rec.ids.tolist() == [0, 1, 2, 3]
    rec.save(tmp_path / "fall.npz")
    assert si.Recording.load(tmp_path / "fall.npz") == rec


def test_a_broadmark_file_without_a_name_goes_by_its_files(tmp_path):
    path = tmp_path / "fall.AABBS"
    path.write_bytes(aabbs(some_boxes(), name=b""))
    assert si.Recording.load(path).name == "fall"


def test_a_broadmark_name_may_fill_its_place(tmp_path):
    path = tmp_path / "fall.aabbs"
    path.write_bytes(aabbs(some_boxes(), name="é".encode() * 64))
    assert si.Recording.load(path).name == "é" * 64


@pytest.mark.parametrize("padded", [False, True])
def test_broadmark_files_of_any_other_length_are_refused(padded, tmp_path):
    whole = aabbs(some_boxes(), padded=padded)
    path = tmp_path / "fall.aabbs"
    for length in range(1, len(whole) + 200):
        if length == len(whole):
            continue
        path.write_bytes((whole + bytes(200))[:length])
        message = refusal(path)
        # one length is that of the other layout, and the boxes are wrong instead
        assert message.endswith(f"the file has {length}") or (padded and length == 296 + 24 * 8)


def test_a_broadmark_refusal_says_what_was_expected_and_what_is_there(tmp_path):
    path = tmp_path / "fall.aabbs"
    path.write_bytes(aabbs(some_boxes(3, 4))[:-1])
    assert refusal(path) == (
        "truncated or inconsistent: 4 objects in 3 frames are 584 bytes (or 816 with padded "
        "corners), the file has 583"
    )
    path.write_bytes(b"x" * 100)
    assert refusal(path) == "truncated: the header alone is 296 bytes, the file has 100"
    path.write_bytes(b"")
    assert refusal(path) == "the file is empty"


INVERTED = some_boxes()
INVERTED[2, 1] = INVERTED[2, 1, [3, 1, 2, 0, 4, 5]]
NOT_A_NUMBER = some_boxes()
NOT_A_NUMBER[1, 3, 5] = np.nan

INCONSISTENT = {
    "more objects": (
        {"objects": 5},
        "5 objects in 3 frames are 656 bytes (or 944 with padded corners)",
    ),
    "fewer objects": (
        {"objects": 3},
        "3 objects in 3 frames are 512 bytes (or 688 with padded corners)",
    ),
    "more frames": ({"frames": 4}, "4 objects in 4 frames are 680 bytes"),
    "huge counts": (
        {"objects": 2**31 - 1, "frames": 2**31 - 1},
        "are 110680464339178094912 bytes",
    ),
    "no objects": ({"objects": 0}, "the header tells of 0 objects and 3 frames"),
    "negative frames": ({"frames": -3}, "the header tells of 4 objects and -3 frames"),
    "padding": ({"zeros": (0, 7)}, "bytes 264 to 271 should be zero and are 0, 7 as int32"),
    "name": ({"name": b"a\0b"}, "the scene name is not padded with zeros"),
    "kind": ({"kind": b"\xff\xfe"}, "the kind of objects b'\\xff\\xfe' is no text"),
    "world nan": ({"world": (0, 0, np.nan, 1, 1, 1)}, "the world box [0.0, 0.0, nan"),
    "world inverted": ({"world": (2, 0, 0, 1, 1, 1)}, "is not finite or is inverted"),
    "box inverted": ({"boxes": INVERTED}, "boxes[2, 1]: lower x"),
    "box nan": ({"boxes": NOT_A_NUMBER}, "boxes[1, 3]: upper z is nan"),
}


@pytest.mark.parametrize("case", INCONSISTENT)
def test_inconsistent_broadmark_files_are_refused(case, tmp_path):
    changes, message = INCONSISTENT[case]
    path = tmp_path / "fall.aabbs"
    path.write_bytes(aabbs(**({"boxes": some_boxes()} | changes)))
    text = refusal(path)
    assert message in text, text


def test_padded_broadmark_corners_have_to_end_in_zero(tmp_path):
    whole = bytearray(aabbs(some_boxes(), padded=True))
    path = tmp_path / "fall.aabbs"
    for box, words in ((0, "the world box"), (3, "box 2")):
        place = 272 + 32 * box + 28
        whole[place : place + 4] = struct.pack("<f", 1.0)
        path.write_bytes(whole)
        whole[place : place + 4] = bytes(4)
        assert refusal(path) == f"the padding of {words} is not zero; the file is inconsistent"


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_the_two_broadmark_layouts_never_have_the_same_length(n, frames):
    assert 296 + 24 * n * frames != 304 + 32 * n * (frames + 1)
