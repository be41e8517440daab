"""Damaged and hostile recordings, and every command that reads one: one line, 2, nothing left."""

import io
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from spatialindex.cli.commands import command

BOXES = np.array([[[0.0, 0, 1, 1], [2, 2, 3, 3]]])


class Bomb:
    """What is run when somebody unpickles it."""

    def __reduce__(self):
        return (open, ("unpickled", "w"))


def _with(row, column, value):
    boxes = BOXES.copy()
    boxes[0, row, column] = value
    return boxes


def _promising(shape):
    """Return an array file whose header promises far more than there is."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return stream.getvalue() + bytes(64)


HOSTILE = {
    "nan": ({"boxes": _with(1, 2, np.nan)}, "boxes[0, 1]"),
    "infinite": ({"boxes": _with(0, 3, np.inf)}, "boxes[0, 0]"),
    "inverted": ({"boxes": _with(1, 0, 9.0)}, "boxes[0, 1]"),
    "no frames": ({"boxes": np.empty((0, 3, 4))}, "boxes"),
    "no boxes": ({"ids": np.arange(3)}, "no recording: it has no `boxes`"),
    "words": ({"boxes": np.full((1, 2, 4), "one")}, "boxes"),
    "complex": ({"boxes": BOXES + 1j}, "boxes"),
    "one dimension": ({"boxes": np.zeros((1, 2, 2))}, "boxes"),
    "odd shape": ({"boxes": BOXES, "static": np.zeros(3, bool)}, "static"),
    "flags that are numbers": ({"boxes": BOXES, "alive": np.full((1, 2), 0.5)}, "alive"),
    "ids twice": ({"boxes": BOXES, "ids": np.array([4, 4])}, "ids"),
    "pickles": ({"boxes": np.array([Bomb(), Bomb()], object)}, "boxes: damaged or no plain array"),
    "pickled state": ({"boxes": BOXES, "static": np.array([Bomb(), 1], object)}, "static"),
    "a name that is a pickle": ({"boxes": BOXES, "name": np.array(Bomb(), object)}, "name"),
    "huge counts": (_promising((10**6, 10**9, 4)), "boxes"),
    "counts beyond all": (_promising((2**62, 2**62, 4)), "boxes"),
    "negative counts": (_promising((-1, 2, 4)), "boxes"),
}


@pytest.fixture(params=list(HOSTILE))
def hostile(request, tmp_path, monkeypatch):
    """Write a recording; returns the name of the file and what is to be said of it."""
    monkeypatch.chdir(tmp_path)
    content, words = HOSTILE[request.param]
    if isinstance(content, bytes):
        with zipfile.ZipFile("scene.npz", "w") as archive:
            archive.writestr("boxes.npy", content)
    else:
        np.savez("scene.npz", **content)
    return "scene.npz", words


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "--html", "out.html"),
        ("compare", "--json"),
        ("tune", "--plot", "out.png"),
        ("advise",),
        ("info",),
        ("play",),
    ],
    ids=" ".join,
)
def test_a_hostile_recording_is_refused_in_one_line(hostile, arguments, tmp_path):
    scene, words = hostile
    name, *options = arguments
    result = CliRunner().invoke(command, [name, scene, *options])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"spatialindex: {scene}: ")
    assert words in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [scene]


def test_a_hostile_recording_is_refused_before_the_scenes_beside_it_are_compared(hostile):
    scene, words = hostile
    result = CliRunner().invoke(command, ["compare", "uniform:n=5", scene])
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
