"""Recording from a loop: what comes and goes, what is refused, and when a file appears."""

import numpy as np
import pytest

import spatialindex as si

ONE, TWO = [0, 0, 1, 1], [4, 0, 5, 1]


def test_objects_that_appear_and_vanish_are_alive_in_their_frames_only():
    recorder = si.Recorder(dt=0.5, name="shot")
    recorder.frame([ONE, TWO], ids=[10, 11], static=[True, False])
    recorder.frame([TWO, [2, 0, 3, 1]], ids=[12, 11], asleep=[True, False], layer=[4, 1])
    recorder.frame([], ids=[])
    expected = si.Recording(
        [
            [ONE, TWO, [np.nan] * 4],
            [[np.nan] * 4, [2, 0, 3, 1], TWO],
            [[np.nan] * 4] * 3,
        ],
        [True, False, False],
        ids=[10, 11, 12],
        alive=[[True, True, False], [False, True, True], [False] * 3],
        asleep=[[False] * 3, [False, False, True], [False] * 3],
        layer=[1, 1, 4],
        dt=0.5,
        name="shot",
    )
    assert recorder.recording() == expected
    assert repr(recorder) == "<Recorder: 3 frames of 3 objects>"


def test_a_block_writes_the_recording_when_it_ends(tmp_path):
    with si.Recorder(tmp_path / "scene.npz", ndim=3) as recorder:
        boxes = np.array([[0.0, 0, 0, 1, 1, 1]])
        recorder.frame(boxes)
        boxes += 1.0  # an engine's own buffer: what was recorded stays
        recorder.frame(boxes)
    written = si.Recording.load(tmp_path / "scene.npz")
    assert written.boxes[:, 0, 0].tolist() == [0.0, 1.0]


def leave(path, boxes=(), error=None):
    """Record frames into a file, and leave the block by an error when there is one."""
    with si.Recorder(path) as recorder:
        for row in boxes:
            recorder.frame([row])
        if error is not None:
            raise error


def test_frames_before_an_error_are_written_and_the_error_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        leave(tmp_path / "scene.npz", [ONE], KeyboardInterrupt())
    assert si.Recording.load(tmp_path / "scene.npz").frames == 1


def test_no_file_appears_without_a_frame(tmp_path):
    with pytest.raises(si.RecordingError, match="no frame was recorded; call `frame`"):
        leave(tmp_path / "scene.npz")
    with pytest.raises(ZeroDivisionError):
        leave(tmp_path / "scene.npz", error=ZeroDivisionError())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("boxes", "options", "words"),
    [
        ([ONE, [0, 0, np.nan, 1]], {}, r"frame 1: boxes\[1\]: .*nan"),
        ([[3, 0, 1, 1]], {}, r"frame 1: boxes\[0\]: lower x 3.0 exceeds upper x 1.0"),
        ([[0, 0, 0, 1, 1, 1]], {}, "frame 1: .*"),
        ([ONE, TWO], {"ids": [5, 5]}, r"frame 1: ids\[1\] is 5, the id of ids\[0\] already"),
        ([ONE, TWO], {"ids": [1]}, "frame 1: 1 ids for 2 boxes"),
        ([ONE], {"ids": [-1]}, r"frame 1: ids\[0\] is -1"),
        ([ONE], {"static": True}, r"frame 1: static\[0\]: id 0 has True here and False in"),
        ([ONE], {"mask": 3}, r"frame 1: mask\[0\]: id 0 has 3 here and 18446744073709551615 in"),
        ([ONE], {"asleep": [True, False]}, "frame 1: asleep .*"),
        ([ONE, TWO, ONE, TWO], {}, "frame 1: 4 objects would take 256 bytes, beyond max_bytes 200"),
    ],
)
def test_a_frame_that_is_refused_is_named_and_leaves_nothing_behind(boxes, options, words):
    recorder = si.Recorder(max_bytes=200)
    recorder.frame([ONE])
    before = recorder.recording()
    with pytest.raises(si.RecordingError, match=words):
        recorder.frame(boxes, **options)
    assert recorder.recording() == before


def test_a_frame_too_many_is_refused_while_the_others_can_be_saved(monkeypatch):
    monkeypatch.setattr("spatialindex.scenes.recorder.MOST_FRAMES", 2)
    recorder = si.Recorder()
    recorder.frame([ONE])
    recorder.frame([ONE])
    with pytest.raises(si.RecordingError, match="frame 2: a recording has at most 2 frames; begin"):
        recorder.frame([ONE])
    assert recorder.recording().frames == 2


def test_what_cannot_be_written_is_refused_before_the_first_frame(tmp_path):
    with pytest.raises(si.RecordingError, match=r"scene.json: recordings are written as .npz"):
        si.Recorder("scene.json")
    with pytest.raises(si.RecordingError, match=r"nowhere.scene\.npz: .*there is no folder"):
        si.Recorder(tmp_path / "nowhere" / "scene.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(si.RecordingError, match=r"folder\.npz: is a folder; name a file in it"):
        si.Recorder(tmp_path / "folder.npz")
    for ndim in (4, -1, 2.0, "2"):
        with pytest.raises(si.RecordingError, match=f"ndim is {ndim!r}: recordings have 2 or 3"):
            si.Recorder(ndim=ndim)
    with pytest.raises(si.RecordingError, match=r"dt: -1\.0 s between frames"):
        si.Recorder(dt=-1.0)
    with pytest.raises(si.RecordingError, match="name: 3 is no text"):
        si.Recorder(name=3)
