"""Recordings in memory: what is refused, frames, and changes that replay every frame exactly."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spatialindex as si

RECORDINGS = sorted((Path(__file__).parents[1] / "examples" / "recordings").glob("*.npz"))

UNIT = [0.0, 0.0, 1.0, 1.0]
NAN = [np.nan] * 4
TWO_FRAMES = [[UNIT, [4.0, 0.0, 5.0, 1.0]], [UNIT, [2.0, 0.0, 3.0, 1.0]]]


def coming_and_going():
    """Three objects with ids out of order: one comes, one goes and comes back, one dozes."""
    boxes = [
        [UNIT, [4, 0, 5, 1], NAN],
        [UNIT, NAN, [8, 0, 9, 1]],
        [UNIT, [6, 0, 7, 1], [8, 0, 9, 2]],
        [UNIT, [6, 0, 7, 1], [8, 0, 9, 2]],
    ]
    return si.Recording(
        np.array(boxes, dtype=np.float64),
        [True, False, False],
        alive=[[True, True, False], [True, False, True], [True] * 3, [True] * 3],
        asleep=[[False] * 3, [True, True, False], [True, True, False], [False, True, True]],
        ids=[20, 7, 11],
        layer=[1, 2, 4],
        mask=[si.ALL, 1, 3],
        sensor=[False, False, True],
    )


def test_the_bundled_recordings_are_there():
    names = [path.stem for path in RECORDINGS]
    assert names == ["arcade_level", "pymunk_pyramid", "rapier_log", "us_counties"]


def test_defaults_are_readable_like_given_fields():
    rec = si.Recording(TWO_FRAMES)
    assert (len(rec), rec.frames, rec.n, rec.ndim) == (2, 2, 2, 2)
    assert rec.ids.tolist() == [0, 1]
    assert rec.static.tolist() == rec.swept.tolist() == rec.sensor.tolist() == [False, False]
    assert rec.asleep.tolist() == [[False, False]] * 2
    assert rec.alive.tolist() == [[True, True]] * 2
    assert rec.layer.tolist() == [1, 1]
    assert rec.mask.tolist() == [si.ALL, si.ALL]
    assert (rec.dt, rec.name, rec.notes, rec.format) == (0.0, "", "", 1)


def test_arrays_have_their_types_and_cannot_be_written():
    rec = coming_and_going()
    types = {"boxes": "f8", "ids": "i8", "layer": "u8", "mask": "u8"}
    types |= dict.fromkeys(("static", "asleep", "alive", "swept", "sensor"), "?")
    for name, dtype in types.items():
        array = getattr(rec, name)
        assert array.dtype == np.dtype(dtype), name
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_callers_array_stays_writable():
    boxes = np.array(TWO_FRAMES)
    si.Recording(boxes)
    boxes[0, 0, 0] = -1.0


def test_attributes_cannot_be_set():
    rec = si.Recording(TWO_FRAMES)
    with pytest.raises(AttributeError, match="'name' of a recording cannot be set"):
        rec.name = "other"
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del rec.boxes


def test_pickle_and_copies_are_equal():
    rec = coming_and_going()
    for other in (pickle.loads(pickle.dumps(rec)), copy.copy(rec), copy.deepcopy(rec)):
        assert other == rec
        assert other.frame(1).ids.tolist() == [11, 20]


def test_equality_sees_every_field_and_every_bit():
    boxes = np.array(TWO_FRAMES)
    rec = si.Recording(boxes)
    assert rec == si.Recording(boxes, [False, False], layer=1, ids=[0, 1])
    assert rec != si.Recording(boxes, dt=0.1)
    assert rec != si.Recording(boxes, name="other")
    assert rec != si.Recording(boxes, static=True)
    assert rec != si.Recording(boxes[:1])
    negative_zero = boxes.copy()
    negative_zero[0, 0, 0] = -0.0
    assert rec != si.Recording(negative_zero)
    assert rec != "a recording"


def test_repr_says_what_it_is():
    rec = si.Recording(np.zeros((1, 3, 6)), [True, False, True], name="box")
    assert repr(rec) == "<Recording 'box': 1 frame of 3 objects (2 static), 3D>"


@pytest.mark.parametrize("dtype", ["f4", "i8", "u2", ">f8"])
def test_boxes_of_types_that_fit_are_taken(dtype):
    rec = si.Recording(np.array(TWO_FRAMES).astype(dtype))
    assert rec.boxes.dtype == np.float64
    assert rec.boxes.dtype.isnative
    assert rec.boxes.tolist() == TWO_FRAMES


def test_a_recording_of_no_objects_is_legal():
    rec = si.Recording(np.empty((2, 0, 6)), [], ids=[], asleep=np.empty((2, 0), dtype=bool))
    assert (rec.n, rec.frames, rec.ndim) == (0, 2, 3)
    assert rec.changes(1).inserted.boxes.shape == (0, 6)


REFUSED = {
    "flat": ({"boxes": [UNIT]}, r"boxes: shape \(1, 4\) is not \(frames, n, 2\*ndim\)"),
    "4D": ({"boxes": np.zeros((1, 1, 8))}, r"shape \(1, 1, 8\) is not"),
    "ragged": ({"boxes": [[UNIT], [UNIT, UNIT]]}, "boxes: no array of shape"),
    "no frame": ({"boxes": np.zeros((0, 2, 4))}, "boxes: no frames"),
    "text": ({"boxes": [[["a"] * 4]]}, "boxes: <U1 does not turn into float64"),
    "complex": ({"boxes": [[[1j] * 4]]}, "boxes: complex128 does not turn into float64"),
    "huge integers": ({"boxes": [[[0, 0, 2**53 + 1, 1]]]}, r"integers beyond 2\*\*53"),
    "nan": (
        {"boxes": [[UNIT], [[0, 0, np.nan, 1]]]},
        r"boxes\[1, 0\]: upper x is nan; boxes are finite, and NaN where `alive` is False",
    ),
    "infinite": ({"boxes": [[[0, -np.inf, 1, 1]]]}, r"boxes\[0, 0\]: lower y is -inf"),
    "inverted": (
        {"boxes": [[UNIT, [0, 3, 1, 2]]]},
        r"boxes\[0, 1\]: lower y 3.0 exceeds upper y 2.0; swap the corners",
    ),
    "dead with a box": (
        {"boxes": [[UNIT]], "alive": [[False]]},
        r"boxes\[0, 0\]: the object is not alive in frame 0, but its box is \[0.0, .*set it to NaN",
    ),
    "dead with half a box": (
        {"boxes": [[[np.nan, 0, np.nan, 1]]], "alive": [[False]]},
        r"boxes\[0, 0\]: the object is not alive",
    ),
    "static short": (
        {"boxes": TWO_FRAMES, "static": [True]},
        r"static: shape \(1,\), but boxes make it \(2,\), one value an object",
    ),
    "alive of one frame": (
        {"boxes": TWO_FRAMES, "alive": [True, True]},
        r"alive: shape \(2,\), but boxes make it \(2, 2\), one value an object in every frame",
    ),
    "asleep ragged": ({"boxes": TWO_FRAMES, "asleep": [[True], [True, False]]}, "asleep: no array"),
    "static of integers": ({"boxes": TWO_FRAMES, "static": [0, 1]}, "static: int64 where bool is"),
    "ids of floats": ({"boxes": TWO_FRAMES, "ids": [0.0, 1.0]}, "ids: float64 where int64 is"),
    "ids negative": ({"boxes": TWO_FRAMES, "ids": [0, -3]}, r"ids\[1\]: -3 is negative"),
    "ids twice": (
        {"boxes": TWO_FRAMES, "ids": [5, 5]},
        r"ids\[1\]: 5 is the id of ids\[0\] already; give every object its own",
    ),
    "ids too large": ({"boxes": TWO_FRAMES, "ids": [1, 2**63]}, r"ids: \d+ does not fit int64"),
    "mask of -1": ({"boxes": TWO_FRAMES, "mask": -1}, "mask: -1 does not fit uint64"),
    "layer beyond": ({"boxes": TWO_FRAMES, "layer": 2**64}, "layer: object where uint64"),
    "dt negative": ({"boxes": TWO_FRAMES, "dt": -0.1}, "dt: -0.1 s between frames"),
    "dt nan": ({"boxes": TWO_FRAMES, "dt": np.nan}, "dt: nan s between frames"),
    "dt text": ({"boxes": TWO_FRAMES, "dt": "1"}, "dt: '1' is no number of seconds"),
    "name bytes": ({"boxes": TWO_FRAMES, "name": b"x"}, "name: b'x' is no text"),
    "name with zero": (
        {"boxes": TWO_FRAMES, "name": "x\0"},
        "name: 'x.x00' holds a zero character",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradictions_are_refused_with_their_place(case):
    fields, message = REFUSED[case]
    with pytest.raises(si.RecordingError, match=message):
        si.Recording(**fields)


def test_a_frame_holds_the_living_by_ascending_id():
    rec = coming_and_going()
    frame = rec.frame(1)
    assert frame.ids.tolist() == [11, 20]
    assert frame.boxes.tolist() == [[8, 0, 9, 1], UNIT]
    assert frame.static.tolist() == [False, True]
    assert frame.asleep.tolist() == [False, True]
    assert frame.layer.tolist() == [4, 1]
    assert frame.mask.tolist() == [3, si.ALL]
    assert frame.sensor.tolist() == [True, False]
    assert sorted(frame.options()) == ["asleep", "layer", "mask", "sensor", "static"]
    assert [each.ids.tolist() for each in rec] == [[7, 20], [11, 20], [7, 11, 20], [7, 11, 20]]


def test_changes_tell_of_birth_death_motion_and_sleep():
    rec = coming_and_going()
    first, second, third, fourth = rec.replay()
    assert first.inserted.ids.tolist() == [7, 20]
    assert [len(part) for part in (first.removed, first.moved.ids, first.restated.ids)] == [0] * 3
    assert second.removed.tolist() == [7]
    assert second.inserted.ids.tolist() == [11]
    assert second.inserted.layer.tolist() == [4]
    assert second.moved.ids.tolist() == []
    assert second.fell_asleep.tolist() == [20]
    assert third.inserted.ids.tolist() == [7]
    assert third.inserted.asleep.tolist() == [True]
    assert third.moved.ids.tolist() == [11]
    assert third.moved.boxes.tolist() == [[8, 0, 9, 2]]
    assert third.restated.ids.tolist() == []
    assert fourth.moved.ids.tolist() == []
    assert (fourth.fell_asleep.tolist(), fourth.woke.tolist()) == ([11], [20])


def test_a_change_of_the_sign_of_zero_is_a_move():
    boxes = np.array([[UNIT], [UNIT]])
    boxes[1, 0, 0] = -0.0
    assert si.Recording(boxes).changes(1).moved.ids.tolist() == [0]


@pytest.mark.parametrize("t", [-1, 2, np.int64(5)])
def test_frames_outside_are_refused(t):
    rec = si.Recording(TWO_FRAMES)
    for ask in (rec.frame, rec.changes):
        with pytest.raises(si.InvalidArgumentError, match=rf"frame {t} .* its frames are 0 to 1"):
            ask(t)


def test_a_frame_that_is_no_integer_is_refused():
    with pytest.raises(si.InvalidArgumentError, match=r"frame 0\.5 is no integer"):
        si.Recording(TWO_FRAMES).frame(0.5)


class Model:
    """What a player keeps: a dict that refuses what an index would refuse."""

    def __init__(self):
        self.boxes = {}
        self.state = {}

    def remove(self, ids):
        for id_ in ids.tolist():
            del self.boxes[id_], self.state[id_]

    def insert(self, boxes, ids, *, layer, mask, static, asleep, sensor):
        assert not set(ids.tolist()) & set(self.boxes)
        rows = zip(static, asleep, layer, mask, sensor, strict=True)
        for id_, box, row in zip(ids.tolist(), boxes, rows, strict=True):
            self.boxes[id_] = box.tobytes()
            self.state[id_] = [value.item() for value in row]

    def update(self, ids, boxes):
        for id_, box in zip(ids.tolist(), boxes, strict=True):
            assert self.boxes[id_] != box.tobytes(), "told to move, but did not"
            self.boxes[id_] = box.tobytes()

    def set_state(self, ids, *, asleep):
        for id_, value in zip(ids.tolist(), asleep.tolist(), strict=True):
            assert self.state[id_][1] != value, "told to turn, but did not"
            self.state[id_][1] = value


def replay_and_compare(rec):
    """Replay through the model; frames are compared with the raw arrays."""
    model = Model()
    for t in range(rec.frames):
        rec.changes(t).apply(model)
        rows = np.flatnonzero(rec.alive[t])
        expected = {int(rec.ids[row]): rec.boxes[t, row].tobytes() for row in rows}
        assert model.boxes == expected
        fields = (rec.static, rec.asleep[t], rec.layer, rec.mask, rec.sensor)
        state = {int(rec.ids[row]): [field[row].item() for field in fields] for row in rows}
        assert model.state == state
        frame = rec.frame(t)
        assert frame.ids.tolist() == sorted(expected)
        assert [box.tobytes() for box in frame.boxes] == [expected[i] for i in sorted(expected)]
        rows = zip(*frame[2:], strict=True)
        assert [[value.item() for value in row] for row in rows] == [
            state[i] for i in sorted(expected)
        ]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_replaying_changes_reproduces_every_frame_of_a_bundled_recording(path):
    replay_and_compare(si.Recording.load(path))


@pytest.mark.parametrize("kind", ["brownian", "sleepers", "churn", "teleport"])
def test_replaying_changes_reproduces_every_frame_of_a_generated_scene(kind):
    replay_and_compare(si.generate(kind, n=40, frames=50, ndim=3, seed=5))


@st.composite
def recordings(draw, ndims=(2, 3)):
    """Small recordings with everything in them."""
    frames, n = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    ndim = draw(st.sampled_from(ndims))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lowers = rng.integers(-2, 3, (frames, n, ndim)) / 2
    boxes = np.concatenate([lowers, lowers + rng.integers(0, 2, lowers.shape)], axis=2)
    alive = rng.random((frames, n)) < 0.7
    boxes[~alive] = np.nan
    fields = {
        "static": rng.random(n) < 0.5,
        "asleep": rng.random((frames, n)) < 0.5,
        "swept": rng.random(n) < 0.5,
        "ids": rng.permutation(50)[:n] * 2**40,
        "layer": rng.integers(0, 2**64, n, dtype=np.uint64),
        "mask": rng.integers(0, 2**64, n, dtype=np.uint64),
        "sensor": rng.random(n) < 0.5,
    }
    kept = draw(st.sets(st.sampled_from(sorted(fields))))
    texts = {
        name: draw(st.text(st.characters(exclude_characters="\0"), max_size=5))
        for name in ("name", "source", "version", "licence", "notes")
    }
    dt = draw(st.floats(0, 10))
    return si.Recording(
        boxes, alive=alive, dt=dt, **texts, **{name: fields[name] for name in sorted(kept)}
    )


@settings(max_examples=100, deadline=None)
@given(recordings())
def test_replaying_changes_reproduces_every_frame(rec):
    replay_and_compare(rec)
