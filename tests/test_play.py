"""Playing a scene: figures of each frame, warnings, the panel, lines and JSON, and Ctrl-C."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

import spatialindex as si
from spatialindex import oracle
from spatialindex.cli.commands import command
from spatialindex.comparison.panel import draw_frame, line_of, summary
from spatialindex.comparison.playing import Album, play
from spatialindex.constants import STATE_DTYPE

ROOT = Path(__file__).parents[1]


def run(*arguments, **options):
    return CliRunner(**options).invoke(command, ["play", *map(str, arguments)])


@pytest.fixture(scope="module")
def scene():
    """A wall, a zone, three crates and a ghost; a crate comes, one sleeps, all meet."""
    wall, zone, ghost = [0, 0, 1, 9], [0, 0, 40, 9], [20, 0, 21, 1]
    first = [wall, zone, [5, 0, 6, 1], [7, 0, 8, 1], [np.nan] * 4, ghost]
    second = [wall, zone, [5, 0, 6, 1], [6, 0, 7, 1], [20, 0, 21, 1], ghost]
    third = [wall, zone, [5, 0, 6, 1], [9, 0, 10, 1], [20, 0, 21, 1], ghost]
    frames = np.array([first, second, third], float)
    return si.Recording(
        frames,
        static=[True, True, False, False, False, False],
        sensor=[False, True, False, False, False, False],
        mask=np.array([si.ALL] * 5 + [2], np.uint64),
        alive=~np.isnan(frames[:, :, 0]),
        asleep=np.arange(6) == np.array([[9], [9], [2]]),
        dt=0.01,
        name="yard",
    )


@pytest.fixture(scope="module")
def path(scene, tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "yard.npz"
    scene.save(path)
    return path


@pytest.fixture(scope="module")
def crash():
    """A hundred crates in a row, which from frame 3 on are all in one place."""
    lower = np.stack([np.arange(100.0) * 2, np.zeros(100)], axis=1)
    row = np.hstack([lower, lower + 1.0])
    heap = np.tile([0.0, 0, 1, 1], (100, 1)) + np.arange(100.0)[:, None] / 1e4
    return si.Recording([row, row, row, heap, heap, heap])


def test_each_frame_tells_what_objects_do(scene):
    frames = list(play(scene, si.SplitIndex(2), 3))
    counted = [(f.objects, f.static, f.moving, f.resting, f.asleep) for f in frames]
    assert counted == [(5, 2, 3, 0, 0), (6, 2, 2, 2, 0), (6, 2, 1, 2, 1)]
    assert [(f.began, f.ended) for f in frames] == [(0, 0), (1, 0), (0, 1)]
    assert [(f.sensor_began, f.sensor_ended) for f in frames] == [(2, 0), (1, 0), (0, 0)]
    assert [f.pairs for f in frames] == [2, 4, 2]  # the sleeper and the zone rest
    assert all(f.time >= f.pairs_time >= 0 for f in frames)


def test_figures_of_a_frame_are_those_of_the_oracle():
    recording = si.generate("brownian", n=200, frames=3, seed=2)
    for played in play(recording, si.SplitIndex(2), 3):
        frame = recording.frame(played.frame)
        state = np.zeros(len(frame.ids), STATE_DTYPE)
        for field, values in frame.options().items():
            state[field] = values
        assert played.pairs == len(oracle.pairs(frame.ids, frame.boxes, state))
        assert played.visits >= played.candidates >= played.pairs
        assert played.max_bucket >= played.mean_bucket > 0
        assert played.entries >= 200


def test_the_share_that_is_masked_is_of_overlapping_pairs(scene):
    # the ghost is in the zone, and in the second frame meets the crate that has come
    frames = list(play(scene, si.SplitIndex(2), 3))
    assert [f.masked for f in frames] == [1, 2, 2]
    assert frames[1].masked_share == 2 / 6


def test_a_jump_is_warned_of_once_with_what_to_look_for(crash):
    frames = list(play(crash, si.SplitIndex(2, dynamic=("hash-grid", {"cell_size": 2.0})), 6))
    assert [len(f.warnings) for f in frames] == [0, 0, 0, 1, 0, 0]
    (said,) = frames[3].warnings
    assert said.startswith("frame 3: candidates jumped from ")
    assert said.endswith(" to 4,950: look for boxes that have become too large, objects gathering "
                         "in one place, or many that woke at once")  # fmt: skip


def test_a_bucket_that_fills_is_warned_of():
    n = 400
    lower = np.stack([np.arange(float(n)) * 9, np.zeros(n)], axis=1)
    row = np.hstack([lower, lower + 1.0])
    recording = si.Recording([row, np.tile(row[:1], (n, 1))], mask=np.zeros(n, np.uint64))
    grid = ("hash-grid", {"cell_size": 4.0})
    *_, last = play(recording, si.SplitIndex(2, dynamic=grid), 2)
    assert any(
        "largest bucket jumped from 1 to 400: look for objects piled up in one place" in said
        for said in last.warnings
    )


def test_an_album_keeps_sums_and_the_first_of_the_highest(scene):
    album = Album()
    assert (album.mean("pairs"), album.highest("pairs")) == (0.0, (0.0, 0))
    for played in play(scene, si.SplitIndex(2), 3):
        album.add(played)
    assert (album.frames, album.last.frame) == (3, 2)
    assert (album.total("pairs"), album.mean("pairs"), album.highest("pairs")) == (8, 8 / 3, (4, 1))
    assert album.highest("objects") == (6, 1)


@pytest.mark.parametrize(("width", "height"), [(50, 26), (80, 24)])
def test_the_panel_fits_a_terminal(crash, width, height):
    album = Album()
    for played in play(crash, si.SplitIndex(2, dynamic=("hash-grid", {"cell_size": 2.0})), 4):
        album.add(played)
    console = Console(width=width, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    with console.file:
        console.print(draw_frame(album, "a\x1b[31m", 6, width))
    lines = console.export_text().rstrip().splitlines()
    assert max(map(len, lines)) <= width
    assert "a\N{REPLACEMENT CHARACTER}[31m: frame 3 of 6" in lines[0]
    assert len(lines) <= height
    assert "100 objects" in lines[1]
    assert any("candidates" in line and "4,950" in line for line in lines)
    assert "warning: frame 3: candidates jumped" in " ".join(lines)


# -- the command -------------------------------------------------------------------------------


def test_without_a_terminal_each_frame_is_a_line_and_a_summary_follows(path, scene):
    result = run(path)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[1].startswith(
        "frame    1: 6 objects (2 static, 2 moving, 2 resting, 0 asleep, 1 oversized), "
    )
    assert ", 4 active pairs, 33.3 % masked, +1 -0, sensors +1 -0, " in lines[1]
    assert lines[3] == "yard: 3 of 3 frames played, 6 objects at last"
    assert lines[5] == "active pairs 2.7 in the mean; 1 began, 1 ended, with sensors 3 and 0"
    assert "\x1b" not in result.stdout


def test_json_is_one_object_a_line_and_nothing_else(path):
    result = run(path, "--json", "--frames", 2)
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["format"], first["frame"], second["frame"]) == (1, 0, 1)
    assert (second["pairs"], second["began"], second["sensor_began"]) == (4, 1, 1)
    assert second["warnings"] == []
    assert second["time"] > 0
    assert result.stderr == ""


def test_warnings_are_lines_of_their_own_and_in_the_summary(crash, tmp_path):
    crash.save(tmp_path / "crash.npz")
    result = run(tmp_path / "crash.npz", "--moving", "hash-grid:cell_size=2")
    lines = result.stdout.splitlines()
    assert lines[4].startswith("warning: frame 3: candidates jumped from ")
    assert lines[-2] == "1 warning:"
    assert lines[4].removeprefix("warning: ") == lines[-1].strip()


def test_any_structures_can_be_the_parts(path):
    options = "--static", "kd-tree:leaf_size=2", "--dynamic", "brute-force", "--coarse", "bvh"
    value = json.loads(run(path, "--json", "--frames", 1, *options).stdout)
    assert value["pairs"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.npz"], "nowhere.npz: no such file"),
        (["uniform:n=9", "--dynamic", "hash-gird"], "did you mean 'hash-grid'"),
        (["uniform:n=9", "--static", "split"], "a split index is no part of another"),
        (["uniform:n=9", "--coarse", "bvh:8"], "--coarse 'bvh:8': '8' is not key=value, as in"),
        (["uniform:n=9", "--coarse", "bvh:leaf_size=8,leaf_size=4"], "leaf_size is given twice"),
        (["uniform:n=9", "--static", "bvh:leaf=8"], "bvh has no parameter 'leaf'; did you mean"),
        (["uniform:n=9", "--fps", "9", "--speed", "2"], "--fps and --speed both say how fast"),
        (["uniform:n=9", "--fps", "0"], "see spatialindex play --help"),
        (["uniform:n=9", "--frames", "0"], "see spatialindex play --help"),
        (["uniform:n=9", "--fps", "nan"], "--fps nan: frames would be nan s apart"),
        (["uniform:n=9", "--speed", "1e-300"], "at most 3,600 s a frame"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_exit_code_2(arguments, words):
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert words in result.stderr


def start(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm"}
    # a child of a job in the background is born deaf to Ctrl-C
    code = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "runpy.run_module('spatialindex', run_name='__main__')"
    )
    program = [sys.executable, "-c", code, "play", *map(str, arguments)]
    return subprocess.Popen(program, env=environment, **options)


def test_a_reader_that_goes_away_is_no_error():
    child = start(
        "brownian:n=20,frames=5000", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert json.loads(child.stdout.readline())["frame"] == 0  # written at once, not at the end
    child.stdout.close()
    with child.stderr as stream:
        words = stream.read()
    assert child.wait(timeout=60) == 141
    assert words == b""


def test_ctrl_c_ends_json_with_a_summary_beside_it():
    child = start(
        *("brownian:n=20,frames=50", "--json", "--fps", "0.01"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = child.stdout.readline()
    child.send_signal(signal.SIGINT)  # it waits for the next frame, a hundred seconds
    rest, words = child.communicate(timeout=60)
    assert (json.loads(first)["frame"], rest) == (0, "")
    assert child.returncode == 130
    assert words.startswith("brownian: 1 of 50 frames played, 20 objects at last\n")
    assert words.endswith("spatialindex: interrupted\n")


def read_until(terminal, drawn, words=None):
    """Add to `drawn` what is written to a terminal, until words or the other side's end."""
    with contextlib.suppress(OSError):  # what Linux says at the end
        while words is None or words not in drawn:
            piece = os.read(terminal, 2**16)
            if not piece:
                break
            drawn += piece


def test_ctrl_c_restores_the_terminal_and_sums_up():
    pty = pytest.importorskip("pty")
    terminal, stdout = pty.openpty()
    child = start("brownian:n=20,frames=50", "--fps", "0.01", stdout=stdout, stderr=stdout)
    os.close(stdout)
    drawn = bytearray()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(read_until, terminal, drawn, b"frame 0 of 50").result(timeout=60)
        pressed = time.monotonic()
        child.send_signal(signal.SIGINT)
        pool.submit(read_until, terminal, drawn).result(timeout=60)
        assert child.wait(timeout=60) == 130
        assert time.monotonic() - pressed < 50  # rather than waiting for the next frame
    os.close(terminal)
    text = drawn.decode()
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") >= 0  # the cursor is back
    assert "largest bucket" in text
    assert "brownian: 1 of 50 frames played, 20 objects at last" in text
    # a code that resets the colors may come after all words
    words = re.sub(r"\x1b\[[0-9;?]*[a-z]", "", text)
    assert words.rstrip().endswith("spatialindex: interrupted")


def test_lines_and_summary_of_nothing_are_lines():
    assert summary(Album(), "", 3) == "scene: 0 of 3 frames played"
    (played,) = play(si.Recording(np.zeros((1, 0, 4))), si.SplitIndex(2), 1)
    assert line_of(played).startswith("frame    0: 0 objects (0 static, 0 moving")
