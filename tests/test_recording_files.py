"""Files of recordings: round trips, and every kind of damage refused with one clear line."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spatialindex as si

RECORDINGS = sorted((Path(__file__).parents[1] / "examples" / "recordings").glob("*.npz"))

FIELDS = {
    "boxes": np.array([[[0.0, 0, 1, 1], [4, 0, 5, 1]], [[0, 0, 1, 1], [np.nan] * 4]]),
    "static": np.array([True, False]),
    "alive": np.array([[True, True], [True, False]]),
    "asleep": np.array([[False, False], [True, False]]),
    "swept": np.array([False, True]),
    "ids": np.array([9, 4]),
    "layer": np.array([1, 2**63], dtype=np.uint64),
    "mask": np.array([si.ALL, 0], dtype=np.uint64),
    "sensor": np.array([False, True]),
    "dt": np.float64(0.1),
    "name": np.array("two boxes"),
    "source": np.array("made up"),
    "version": np.array("1.0"),
    "licence": np.array("none"),
    "notes": np.array("grüße, 箱"),
    "format": np.int64(1),
}


def write(path, **changes):
    """Write a recording's file field by field; None leaves a field out."""
    fields = {name: value for name, value in (FIELDS | changes).items() if value is not None}
    np.savez_compressed(path, **fields)
    return path


def refusal(path):
    """Return the message with which a file is refused; it is one line that names the file."""
    with pytest.raises(si.RecordingError) as caught:
        si.Recording.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{path}: ")


def test_a_file_gives_what_is_in_it(tmp_path):
    rec = si.Recording.load(write(tmp_path / "a.npz"))
    assert rec.boxes.tobytes() == FIELDS["boxes"].tobytes()
    for name in ("static", "alive", "asleep", "swept", "ids", "layer", "mask", "sensor"):
        np.testing.assert_array_equal(getattr(rec, name), FIELDS[name], strict=True)
    assert rec.dt == 0.1
    texts = (rec.name, rec.source, rec.version, rec.licence, rec.notes)
    assert texts == ("two boxes", "made up", "1.0", "none", "grüße, 箱")


def test_boxes_alone_are_a_recording(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, boxes=FIELDS["boxes"][:1])
    assert si.Recording.load(path) == si.Recording(FIELDS["boxes"][:1])


def test_a_file_of_the_other_byte_order_is_read(tmp_path):
    swapped = {
        name: FIELDS[name].astype(FIELDS[name].dtype.newbyteorder()) for name in ("boxes", "ids")
    }
    path = write(tmp_path / "a.npz", **swapped)
    assert si.Recording.load(path) == si.Recording.load(write(tmp_path / "b.npz"))


def test_arrays_that_are_no_field_are_passed_over(tmp_path):
    path = write(tmp_path / "a.npz", contacts=np.array([[0, 1]]))
    assert si.Recording.load(path) == si.Recording.load(write(tmp_path / "b.npz"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_bundled_recordings_come_back_bit_for_bit(path, tmp_path):
    rec = si.Recording.load(path)
    rec.save(tmp_path / "copy.npz")
    with np.load(path) as original, np.load(tmp_path / "copy.npz") as saved:
        assert set(saved.files) == {*original.files, "format"}
        for name in original.files:
            assert saved[name].dtype == original[name].dtype
            assert saved[name].tobytes() == original[name].tobytes()
    assert si.Recording.load(tmp_path / "copy.npz") == rec


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_saved_recordings_come_back_bit_for_bit(tmp_path_factory, data):
    frames, n = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 4))
    ndim = data.draw(st.sampled_from([2, 3]))
    number = st.floats(allow_nan=False, allow_infinity=False)
    corners = data.draw(
        st.lists(st.tuples(number, number), min_size=frames * n * ndim, max_size=frames * n * ndim)
    )
    sorted_corners = np.sort(np.array(corners).reshape(frames, n, ndim, 2), axis=3)
    boxes = np.concatenate([sorted_corners[..., 0], sorted_corners[..., 1]], axis=2)
    alive = data.draw(st.lists(st.booleans(), min_size=frames * n, max_size=frames * n))
    alive = np.array(alive, dtype=bool).reshape(frames, n)
    boxes[~alive] = np.nan
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
    bits = st.lists(st.integers(0, si.ALL), min_size=n, max_size=n)
    optional = {
        "layer": np.array(data.draw(bits), dtype=np.uint64),
        "mask": np.array(data.draw(bits), dtype=np.uint64),
        "sensor": np.zeros(n, dtype=bool),
        "asleep": np.ones((frames, n), dtype=bool),
        "ids": np.arange(n)[::-1],
    }
    kept = data.draw(st.sets(st.sampled_from(sorted(optional))))
    rec = si.Recording(
        boxes,
        alive=alive,
        dt=data.draw(st.floats(0, 1e9)),
        name=data.draw(text),
        notes=data.draw(text),
        **{name: optional[name] for name in sorted(kept)},
    )
    path = tmp_path_factory.mktemp("saved") / "a.npz"
    rec.save(path)
    assert si.Recording.load(path) == rec
    with np.load(path) as saved:
        assert kept == set(optional) & set(saved.files)


def test_saving_twice_gives_the_same_bytes(tmp_path):
    rec = si.Recording.load(RECORDINGS[-1])
    rec.save(tmp_path / "a.npz")
    rec.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("name", ["ünï çødé 箱.npz", "a.b.npz", "UPPER.NPZ", " .npz"])
def test_names_of_all_kinds_are_saved_and_loaded(name, tmp_path):
    rec = si.generate("uniform", n=3)
    rec.save(tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert si.Recording.load(str(tmp_path / name)) == rec


@pytest.mark.parametrize("name", ["scene", "scene.aabbs", "scene.npy", "scene.npz.gz"])
def test_saving_under_another_suffix_is_refused_with_a_better_name(name, tmp_path):
    rec = si.generate("uniform", n=3)
    with pytest.raises(si.RecordingError, match=f"saved as .npz; save to '{name}.npz' instead"):
        rec.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_saving_where_nothing_can_be_written_is_one_clear_line(tmp_path):
    rec = si.generate("uniform", n=3)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(si.RecordingError, match=r"folder\.npz: cannot be written: .*irectory"):
        rec.save(tmp_path / "folder.npz")
    with pytest.raises(si.RecordingError, match=r"a\.npz: cannot be written: No such file"):
        rec.save(tmp_path / "missing" / "a.npz")
    assert os.listdir(tmp_path) == ["folder.npz"]


def test_a_save_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    old = si.generate("uniform", n=3)
    old.save(path)

    def fail(file, **fields):
        file.write(b"half of a recording")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(si.RecordingError, match="cannot be written: No space left on device"):
        si.generate("uniform", n=4).save(path)
    assert os.listdir(tmp_path) == ["a.npz"]
    assert si.Recording.load(path) == old


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_saving_through_a_link_replaces_what_it_points_to(tmp_path):
    rec = si.generate("uniform", n=3)
    (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
    rec.save(tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert si.Recording.load(tmp_path / "real.npz") == rec


def test_paths_that_are_no_recording_are_refused(tmp_path):
    assert refusal(tmp_path / "missing.npz") == "no such file"
    assert refusal(tmp_path / "missing.aabbs") == "no such file"
    (tmp_path / "folder.npz").mkdir()
    assert refusal(tmp_path / "folder.npz") == "a directory, not a recording"
    assert refusal(tmp_path) == "a directory, not a recording"
    (tmp_path / "empty.npz").touch()
    assert refusal(tmp_path / "empty.npz") == "the file is empty"
    (tmp_path / "text.npz").write_text("boxes\n")
    assert "not a complete .npz archive (File is not a zip file)" in refusal(tmp_path / "text.npz")
    (tmp_path / "scene.json").write_text("{}")
    message = "the suffix '.json' is none of a recording; they are .npz and .aabbs files"
    assert refusal(tmp_path / "scene.json") == message


def test_a_path_with_a_zero_character_is_refused():
    with pytest.raises(si.RecordingError, match=r"'a\\x00\.npz': no path"):
        si.Recording.load("a\0.npz")


def test_a_single_array_under_the_wrong_suffix_is_refused(tmp_path):
    with (tmp_path / "array.npz").open("wb") as file:
        np.save(file, FIELDS["boxes"])
    assert "not a complete .npz archive" in refusal(tmp_path / "array.npz")


def test_archives_of_something_else_are_refused(tmp_path):
    np.savez(tmp_path / "weights.npz", layer1=np.zeros(3), bias=np.zeros(1))
    message = "no recording: it has no `boxes` (it holds bias, layer1)"
    assert refusal(tmp_path / "weights.npz") == message
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no `boxes` (it holds no arrays)" in refusal(tmp_path / "text.npz")
    with zipfile.ZipFile(tmp_path / "fake.npz", "w") as archive:
        archive.writestr("boxes.npy", "hello, I am no array, though I am long enough")
    assert "boxes: damaged or no plain array" in refusal(tmp_path / "fake.npz")


def test_pickles_are_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    path = write(tmp_path / "a.npz", name=np.array(Trap(), dtype=object))
    assert "name: damaged or no plain array (Object arrays cannot be loaded" in refusal(path)


def test_a_layout_from_the_future_is_refused(tmp_path):
    path = write(tmp_path / "a.npz", format=np.int64(2), boxes=None)
    assert "format: 2 is newer than 1, the newest that this release reads" in refusal(path)
    path = write(tmp_path / "a.npz", format=np.int64(0))
    assert "format: 0 is no version" in refusal(path)


def test_a_missing_format_is_the_first(tmp_path):
    path = write(tmp_path / "a.npz", format=None)
    assert si.Recording.load(path).format == 1


WRONG = {
    "boxes of float32": ({"boxes": np.zeros((2, 2, 4), "f4")}, "boxes: float32 (2, 2, 4) where"),
    "boxes flat": ({"boxes": np.zeros((2, 4))}, "boxes: float64 (2, 4) where float64 (frames, n"),
    "boxes wide": ({"boxes": np.zeros((2, 2, 5))}, "boxes: shape (2, 2, 5) is not"),
    "boxes nan": ({"alive": None}, "boxes[1, 1]: lower x is nan"),
    "boxes inverted": ({"boxes": FIELDS["boxes"][..., ::-1]}, "boxes[0, 0]: lower x 1.0 exceeds"),
    "static of bytes": ({"static": np.zeros(2, "u1")}, "static: uint8 (2,) where bool (n,)"),
    "static of one": ({"static": np.array(True)}, "static: bool where bool (n,) is expected"),
    "static too long": ({"static": np.zeros(3, bool)}, "static: shape (3,), but boxes make it"),
    "alive by object": ({"alive": np.ones(2, bool)}, "alive: bool (2,) where bool (frames, n)"),
    "asleep short": ({"asleep": np.zeros((1, 2), bool)}, "asleep: shape (1, 2), but boxes"),
    "dead but boxed": ({"boxes": np.zeros((2, 2, 4))}, "boxes[1, 1]: the object is not alive"),
    "swept of floats": ({"swept": np.zeros(2)}, "swept: float64 (2,) where bool (n,)"),
    "ids of int32": ({"ids": np.array([1, 2], "i4")}, "ids: int32 (2,) where int64 (n,)"),
    "ids twice": ({"ids": np.array([4, 4])}, "ids[1]: 4 is the id of ids[0] already"),
    "ids negative": ({"ids": np.array([4, -4])}, "ids[1]: -4 is negative"),
    "layer signed": ({"layer": np.array([1, 2])}, "layer: int64 (2,) where uint64 (n,)"),
    "mask of float": ({"mask": np.array([1.0, 2])}, "mask: float64 (2,) where uint64 (n,)"),
    "sensor 2D": ({"sensor": np.zeros((2, 2), bool)}, "sensor: bool (2, 2) where bool (n,)"),
    "dt of two": ({"dt": np.zeros(2)}, "dt: float64 (2,) where one number is expected"),
    "dt as text": ({"dt": np.array("0.1")}, "dt: <U3 where one number is expected"),
    "dt infinite": ({"dt": np.float64(np.inf)}, "dt: inf s between frames"),
    "name of bytes": ({"name": np.array(b"x")}, "name: |S1 where one text is expected"),
    "notes of two": ({"notes": np.array(["a", "b"])}, "notes: <U1 (2,) where one text"),
    "format of float": ({"format": np.float64(1.0)}, "format: float64 where one integer"),
    "format of two": ({"format": np.array([1, 1])}, "format: int64 (2,) where one integer"),
}


@pytest.mark.parametrize("case", WRONG)
def test_fields_of_the_wrong_kind_are_refused(case, tmp_path):
    changes, message = WRONG[case]
    assert message in refusal(write(tmp_path / "a.npz", **changes))


def test_truncated_archives_are_refused_at_every_length(tmp_path):
    whole = write(tmp_path / "whole.npz").read_bytes()
    path = tmp_path / "cut.npz"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)


def outcome(path):
    """Return a recording, or the message with which its file is refused."""
    try:
        return si.Recording.load(path)
    except si.RecordingError as error:
        return str(error)


def test_every_changed_byte_is_refused_or_harmless(tmp_path):
    whole = bytearray(write(tmp_path / "whole.npz").read_bytes())
    rec = si.Recording.load(tmp_path / "whole.npz")
    path = tmp_path / "changed.npz"
    refused = 0
    for place in range(len(whole)):
        whole[place] ^= 0xFF
        path.write_bytes(whole)
        whole[place] ^= 0xFF
        result = outcome(path)
        if isinstance(result, str):
            refused += 1
            assert result.startswith(f"{path}: ")
            assert len(result.splitlines()) == 1
        else:
            assert result == rec, f"byte {place}"
    # harmless are times, versions and attributes, a third of so small an archive
    assert refused > len(whole) / 2


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_truncated_bundled_recordings_are_refused(path, tmp_path):
    whole = path.read_bytes()
    cut = tmp_path / "cut.npz"
    for length in np.random.default_rng(1).integers(1, len(whole), 50).tolist():
        cut.write_bytes(whole[:length])
        refusal(cut)


def test_a_field_twice_in_the_archive_is_refused(tmp_path):
    path = write(tmp_path / "a.npz")
    stream = io.BytesIO()
    np.save(stream, FIELDS["static"])
    with (
        zipfile.ZipFile(path, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("static.npy", stream.getvalue())
    assert refusal(path) == "damaged: a field is in the archive twice"


def test_bytes_behind_an_array_are_refused(tmp_path):
    stream = io.BytesIO()
    np.save(stream, FIELDS["boxes"][:1])
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("boxes.npy", stream.getvalue() + b"\0")
    assert "boxes: damaged or no plain array (bytes follow the array)" in refusal(
        tmp_path / "a.npz"
    )


def test_rubbish_is_refused_whatever_the_suffix(tmp_path):
    rng = np.random.default_rng(0)
    for suffix in (".npz", ".aabbs"):
        path = tmp_path / f"rubbish{suffix}"
        for length in (1, 21, 22, 300, 5000):
            path.write_bytes(rng.bytes(length))
            refusal(path)


def test_the_examples_readme_tells_each_recordings_origin_and_terms():
    examples = RECORDINGS[0].parents[1]
    lines = (examples / "README.md").read_text(encoding="utf-8").splitlines()
    for path in RECORDINGS:
        rec = si.Recording.load(path)
        assert rec.name == path.stem
        assert f"| `{path.name}` | {rec.source} | {rec.version} | {rec.licence} |" in lines
        counts = (rec.ndim, rec.frames, rec.n, np.count_nonzero(rec.static))
        row = f"| `{path.name}` | " + " | ".join(map(str, counts)) + " | "
        assert sum(line.startswith(row) for line in lines) == 1


def test_bundled_recordings_are_small():
    assert sum(path.stat().st_size for path in RECORDINGS) < 2_000_000


def test_scenes_need_no_compiler():
    code = (
        "import sys, spatialindex as si; si.generate('uniform', frames=2); "
        f"si.Recording.load({str(RECORDINGS[0])!r}); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_file_that_claims_endless_frames_of_nothing_is_refused(tmp_path):
    header = io.BytesIO()
    layout = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 0, 4)}
    np.lib.format.write_array_header_1_0(header, layout)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("boxes.npy", header.getvalue())
    words = r"a\.npz: boxes: 1,000,000,000,000 frames; a recording has at most 1,048,576"
    with pytest.raises(si.RecordingError, match=words):
        si.Recording.load(tmp_path / "a.npz")


@pytest.mark.parametrize("at_once", [1, 8, 2**20])
def test_a_wrong_box_is_named_by_its_frame_however_many_are_checked_at_once(at_once, monkeypatch):
    monkeypatch.setattr("spatialindex.scenes.fields._CHECKED_AT_ONCE", at_once)
    boxes = np.zeros((5, 1, 4))
    assert si.Recording(boxes).frames == 5
    boxes[3, 0, 0] = 1.0
    with pytest.raises(si.RecordingError, match=r"boxes\[3, 0\]: lower x 1.0 exceeds upper x 0.0"):
        si.Recording(boxes)
