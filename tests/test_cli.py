"""The command: what it prints, its exit codes, and one line for what cannot be meant."""

import contextlib
import errno
import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import spatialindex as si
from spatialindex.cli import generate as generate_module
from spatialindex.cli import main
from spatialindex.cli.commands import command
from spatialindex.indexes.brute_force import BruteForce
from spatialindex.registry import Entry, register, unregister
from spatialindex.specifications import value_of

ROOT = Path(__file__).parents[1]
QUICK = ["--budget", "600", "--frames", "3"]


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def process(*arguments, code=None, **options):
    """Run the command in a process of its own; `code` runs in place of the module."""
    start = ["-c", code] if code else ["-m", "spatialindex"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | options.pop("env", {})
    return subprocess.run(
        [sys.executable, *start, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=120,
        **options,
    )


def assert_refused(result, words):
    """One line on stderr that holds `words`, nothing on stdout, exit code 2."""
    assert result.stderr.count("\n") == 1, result.stderr
    assert words in result.stderr
    assert result.stdout == ""
    code = result.exit_code if hasattr(result, "exit_code") else result.returncode
    assert code == 2


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "crowd.npz"
    si.generate("brownian", n=30, frames=4, seed=1).save(path)
    return path


class Wrong(BruteForce):
    def pairs(self, **options):
        return super().pairs(**options)[1:]


@pytest.fixture
def wrong():
    register(Entry("wrong", f"{__name__}:Wrong", "loses a pair"))
    yield "wrong"
    unregister("wrong")


# -- compare -----------------------------------------------------------------------------------


def test_compare_prints_tables_and_a_verdict(recording):
    result = run("compare", recording, *QUICK)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("brownian: 2D, 3 frames, 30 objects")
    assert lines[1].startswith("checked against the oracle: 3 of 3 frames, pairs (")
    for label in ("brute-force", "hash-grid", "(empty)"):
        assert any(line.startswith(label) for line in lines)
    verdicts = ("fastest per frame: ", "no clear winner: ")
    assert sum(line.startswith(verdicts) for line in lines) == 1


def test_compare_takes_a_specification():
    result = run("compare", "uniform:n=20,ndim=3", *QUICK)
    assert result.stdout.startswith("uniform: 3D, 1 frame, 20 objects")


def test_compare_writes_json_and_nothing_else(recording):
    result = run("compare", recording, "uniform:n=9", "--json", *QUICK)
    value = json.loads(result.stdout)
    assert value["format"] == 1
    first, second = value["comparisons"]
    assert (first["scene"]["name"], second["scene"]["name"]) == ("brownian", "uniform")
    assert first["rows"][0]["frame"]["samples"] == 2
    assert result.stderr == ""


def test_compare_hands_its_options_on(recording):
    result = run(
        "compare", recording, "--json", "--structures", "hash-grid, brute-force",
        "--param", "hash-grid.cell_size=25", "--jobs", "pairs,build", "--frames", "2",
        "--queries", "8", "--seed", "5", "--budget", "100", "--among", "all",
    )  # fmt: skip
    value = json.loads(result.stdout)["comparisons"][0]
    assert [row["label"] for row in value["rows"][:2]] == ["hash-grid cell_size=25", "brute-force"]
    assert value["rows"][0]["parameters"] == {"cell_size": 25}
    settings = value["settings"]
    assert settings["jobs"] == ["build", "pairs"]
    assert (settings["queries"], settings["seed"]) == (8, 5)
    assert (settings["budget"], settings["among"]) == (100.0, "all")
    assert value["left_out"] == ["frames 2 to 3 of 4, as asked"]


def test_compare_times_neighbours_and_rays_when_they_are_asked_for(recording):
    jobs = ("--jobs", "nearest, raycast", "--structures", "brute-force")
    result = run("compare", recording, "--json", *jobs, *QUICK)
    value = json.loads(result.stdout)["comparisons"][0]
    assert value["agrees"]
    assert value["frame_jobs"] == ["nearest", "raycast"]
    assert value["rows"][0]["nearest"]["samples"] == value["rows"][0]["raycast"]["samples"] == 2
    assert value["rows"][0]["pairs"] is None
    assert value["checked"]["neighbors"] > value["checked"]["hits"] > 0


def test_compare_ends_with_1_when_a_structure_differs(recording, wrong):
    result = run("compare", recording, "--structures", f"brute-force,{wrong}", *QUICK)
    assert result.exit_code == 1
    assert "DIFFERS  wrong: frame 0, pairs(among='active'): 1 row is missing" in result.stdout


@pytest.mark.parametrize("width", ["40", "72", "120"])
def test_compare_fits_a_narrow_terminal(recording, width):
    result = CliRunner(env={"COLUMNS": width}).invoke(command, ["compare", str(recording), *QUICK])
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= int(width)
    assert "…" not in result.stdout


def test_piped_output_has_no_control_characters(recording):
    result = process("compare", recording, *QUICK, env={"NO_COLOR": "1"})
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.isprintable() or not set(result.stdout) & set(map(chr, range(9)))
    assert "\x1b" not in result.stdout
    assert "\r" not in result.stdout


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "nowhere/crowd.npz"], "nowhere/crowd.npz: no such file"),
        (["compare", "unifrom:n=10"], "did you mean 'uniform'"),
        (["compare", "uniform:n=ten"], "n='ten' is not a number"),
        (["compare", "uniform:n=10", "nowhere.npz"], "nowhere.npz: no such file"),
        (["compare", "uniform:n=10", "--structures", "hash-gird"], "did you mean 'hash-grid'"),
        (["compare", "uniform:n=10", "--structures", ","], "--structures ',' names none"),
        (["compare", "uniform:n=10", "--structures", "hash-grid,hash-grid"], "is there twice"),
        (["compare", "uniform:n=10", "--param", "cell_size=2"], "is not name.key=value"),
        (["compare", "uniform:n=10", "--param", "grid.cell_size="], "is not name.key=value"),
        (["compare", "uniform:n=10", "--param", "gird.cell_size=2"], "unknown structure 'gird'"),
        (
            ["compare", "uniform:n=10", "--structures", "hash-grid", "--param", "hash-grid.size=2"],
            "hash-grid has no parameter 'size'; did you mean 'cell_size'? it has",
        ),
        (
            ["compare", "uniform:n=10", "--param", "hash-grid.cell=2"],
            "hash-grid has no parameter 'cell'; did you mean",
        ),
        (
            ["compare", "uniform:n=9", "--structures", "brute-force", "--param", "hash-grid.x=2"],
            "hash-grid is not among brute-force",
        ),
        (
            ["compare", "uniform:n=9", *["--param", "hash-grid.cell_size=2"] * 2],
            "hash-grid.cell_size is given twice",
        ),
        (["compare", "uniform:n=10", "--param", "hash-grid.cell_size=-1"], "cell_size"),
        (
            ["compare", "uniform:n=10", "--jobs", ", "],
            "--jobs ', ' names none; leave it out to take build, update, pairs, query",
        ),
        (["compare", "uniform:n=10", "--jobs", "pear"], "unknown job 'pear'; did you mean 'pairs'"),
        (
            ["compare", "uniform:n=10", "--jobs", "rays"],
            "known: build, update, pairs, query, nearest, raycast",
        ),
        (["compare", "uniform:n=10", "--frames", "0"], "see spatialindex compare --help"),
        (["compare", "uniform:n=10", "--budget", "0"], "see spatialindex compare --help"),
        (["compare"], "Missing argument 'SCENE...'; see spatialindex compare --help"),
        (["compare", "uniform:n=10", "--jsn"], "No such option"),
        (["info", "nowhere.npz"], "nowhere.npz: no such file"),
        (["info", "nowhere"], "'nowhere' is neither a file nor a kind of scene"),
        (["generate", "spiral:n=3", "out.npz"], "unknown kind of scene 'spiral'"),
        (["generate", "uniform:n=3", "nowhere/out.npz"], "nowhere/out.npz: cannot be written"),
        (["generate", "uniform:n=3", "out.txt"], "recordings are saved as .npz"),
        (["warmup", "--structures", "octree"], "unknown structure 'octree'"),
        (["compair"], "No such command 'compair'"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_exit_code_2(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_refused(run(*arguments), words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["compare", "info"])
@pytest.mark.parametrize("damage", ["truncated", "empty", "text", "nan"])
def test_a_damaged_recording_is_refused(recording, damage, name):
    if damage == "nan":
        boxes = np.zeros((1, 2, 4))
        boxes[0, 1, 2] = np.nan
        np.savez(recording, boxes=boxes)
    else:
        content = recording.read_bytes()
        pieces = {"truncated": content[: len(content) // 2], "empty": b"", "text": b"not a scene"}
        recording.write_bytes(pieces[damage])
    assert_refused(run(name, recording), f"spatialindex: {recording}: ")


def test_bad_input_is_one_line_in_a_process_of_its_own(tmp_path):
    assert_refused(process("compare", tmp_path / "nowhere.npz"), "nowhere.npz: no such file")


@pytest.mark.parametrize("width", ["0", "1"])
def test_where_there_are_no_columns_lines_are_longer_than_the_terminal(width, recording):
    result = CliRunner(env={"COLUMNS": width}).invoke(command, ["info", str(recording)])
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) == 40
    assert "dimensions     2" in result.stdout


def test_a_narrow_terminal_cuts_no_figure_off_a_curve():
    words = ["tune", "uniform:n=20,frames=2", "--budget", "600", "--jobs", "pairs"]
    result = CliRunner(env={"COLUMNS": "30"}).invoke(command, words)
    assert result.exit_code == 0
    assert any(
        line.split()[:3] == ["cell_size", "ms", "candidates"] for line in result.stdout.splitlines()
    )
    assert "…" not in result.stdout


def test_interrupting_while_the_command_is_loaded_is_one_line(monkeypatch, capsys):
    class Interrupted:
        def find_spec(self, name, *_):
            if name == "click":
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "click")
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "spatialindex: interrupted\n"


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_one_line_says_what_to_install(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from spatialindex.cli import main; "
    result = process("compare", "uniform:n=9", code=f"{code}sys.exit(main())")
    assert_refused(
        result,
        f"the command line needs {missing}, which is not installed; "
        'pip install "spatialindex[compare]"',
    )


def test_ctrl_c_is_one_line_and_exit_code_130(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("spatialindex.comparison.runner.compare", interrupted)
    result = run("compare", "uniform:n=9")
    assert result.exit_code == 130
    assert result.stderr == "spatialindex: interrupted: 0 of 1 scenes finished\n"
    assert result.stdout == ""


def test_too_little_memory_is_one_line_and_exit_code_2(monkeypatch):
    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr("spatialindex.comparison.runner.compare", exhausted)
    assert_refused(run("compare", "uniform:n=9"), "not enough memory")


SHORT = {
    "compare": ["uniform:n=9", "--structures", "brute-force", "--budget", "1"],
    "advise": ["uniform:n=9", "--budget", "0.1"],
    "tune": ["uniform:n=9", "--budget", "0.1"],
    "info": ["uniform:n=9"],
    "play": ["uniform:n=9,frames=3"],
    "generate": ["uniform:n=9", "scene.npz"],
    "warmup": ["--structures", "brute-force"],
    "--help": [],
}
"""Every command, and what it needs to print something soon."""


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_every_command_is_tried_on_a_full_disk():
    assert set(SHORT) == {*command.commands, "--help"}


@pytest.mark.parametrize("name", SHORT)
def test_output_on_a_full_disk_is_one_line_and_exit_code_2(name, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    with redirect_stdout(Full()) as full:
        code = command.run([name, *SHORT[name]])
        assert sys.stdout is full
    words = f"standard output cannot be written: {os.strerror(errno.ENOSPC)}"
    assert capsys.readouterr().err == f"spatialindex: {words}\n"
    assert code == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no file that is always full")
@pytest.mark.parametrize("is_unbuffered", [False, True])
def test_a_process_ends_quietly_on_a_full_disk(is_unbuffered):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment |= {"PYTHONUNBUFFERED": "1" if is_unbuffered else ""}
    with open("/dev/full", "w", encoding="utf-8") as full:
        start = [sys.executable, "-m", "spatialindex", "info", "uniform:n=9"]
        for stderr in (subprocess.PIPE, full):
            done = subprocess.run(
                start, stdout=full, stderr=stderr, env=environment, check=False, text=True
            )
            assert done.returncode == 2
            if stderr is not full:
                assert done.stderr.count("\n") == 1


def test_closed_output_is_no_error():
    code = "import sys; sys.stdout = None; from spatialindex.cli import main; "
    result = process("info", "uniform:n=9", code=f"{code}sys.exit(main())")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["info", "play", "--help"])
def test_a_reader_that_goes_away_is_no_error(name):
    child = subprocess.Popen(
        [sys.executable, "-m", "spatialindex", name, *SHORT[name]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    child.stdout.close()
    with child.stderr as stream:
        words = stream.read()
    assert child.wait(timeout=60) == 141
    assert words == b""


# -- the other commands ------------------------------------------------------------------------


def test_info_tells_what_a_scene_holds(recording):
    result = run("info", recording)
    facts = dict(line.rstrip().split("  ", 1) for line in result.stdout.splitlines())
    facts = {key: words.strip() for key, words in facts.items()}
    rec = si.Recording.load(recording)
    assert (facts["name"], facts["dimensions"]) == ("brownian", "2")
    assert facts["objects"] == "30, 30 there in the median frame"
    assert facts["moving"] == "30.0 boxes change in a frame, 30 at most"
    assert facts["notes"] == rec.notes
    assert facts["pairs"].count("in frame") == 3
    assert ", resting and masked" in facts["pairs"]  # and so on, as wide as the terminal


def test_texts_of_a_recording_cannot_command_the_terminal(tmp_path):
    path = tmp_path / "scene.npz"
    boxes = np.zeros((1, 2, 4))
    si.Recording(boxes, name="\x1b[31mred", notes="bell\a").save(path)
    for verb in ("info", "compare"):
        shown = run(verb, path, *(QUICK if verb == "compare" else [])).stdout
        assert "\x1b" not in shown
        assert "\a" not in shown
        assert "\N{REPLACEMENT CHARACTER}[31mred" in shown


def test_info_writes_json_of_the_same_figures(recording):
    value = json.loads(run("info", recording, "--json").stdout)
    rec = si.Recording.load(recording)
    assert value["scene"]["objects"] == 30
    assert value["notes"] == rec.notes
    index = si.BruteForce(ndim=2)
    index.insert(rec.frame(0).boxes)
    assert value["pairs"][0] == {"frame": 0, "pairs": len(index.pairs())}


@pytest.mark.parametrize("verb", ["info", "compare"])
def test_json_has_null_for_an_edge_beyond_the_range_of_floats(verb, tmp_path):
    path, far = tmp_path / "wide.npz", 1e308
    si.Recording([[[-far, 0, far, 1], [0, 0, 1, 1]]]).save(path)
    result = run(verb, path, "--json", *(QUICK if verb == "compare" else []))
    assert result.exit_code == 0
    value = json.loads(result.stdout, parse_constant=pytest.fail)
    scene = (value["comparisons"][0] if verb == "compare" else value)["scene"]
    assert scene["longest_edges"] == [1.0, None, None]
    assert scene["bounds"] == [-far, 0.0, far, 1.0]


def test_info_counts_no_pairs_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr("spatialindex.cli.info._COUNTED", 10)
    assert "too many to count here in frame 0" in run("info", "point:n=30").stdout
    value = json.loads(run("info", "point:n=30", "--json").stdout)
    assert value["pairs"] == [{"frame": 0, "pairs": None}]


def test_generate_saves_what_generate_makes(tmp_path):
    out = tmp_path / "scene.npz"
    result = run("generate", "sleepers:n=20,frames=3,seed=4", out)
    assert result.exit_code == 0
    assert si.Recording.load(out) == si.generate("sleepers", n=20, frames=3, seed=4)
    assert result.stdout.startswith(f"{out}: <Recording 'sleepers': 3 frames of 20 objects")


def test_generate_replaces_a_file_only_by_force(recording):
    before = recording.read_bytes()
    assert_refused(run("generate", "uniform:n=3", recording), "pass --force to replace it")
    assert recording.read_bytes() == before
    assert run("generate", "uniform:n=3", recording, "--force").exit_code == 0
    assert si.Recording.load(recording).n == 3


def test_generate_leaves_nothing_behind_when_it_is_interrupted(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    assert run("generate", "uniform:n=3", tmp_path / "out.npz").exit_code == 130
    assert list(tmp_path.iterdir()) == []


def test_generate_helps_with_every_kind():
    from spatialindex.scenes.generators import kinds

    text = run("generate", "--help").stdout
    assert all(kind.name in text for kind in kinds())
    assert generate_module.generate.name == "generate"


def test_warmup_tells_seconds_for_each_structure():
    result = run("warmup", "--json", "--structures", "brute-force")
    (row,) = json.loads(result.stdout)["structures"]
    assert row["structure"] == "brute-force"
    assert set(row["seconds"]) == {"2D", "3D"}
    assert all(seconds > 0.0 for seconds in row["seconds"].values())


def test_warmup_prints_a_table():
    lines = run("warmup").stdout.splitlines()
    for entry in si.structures():
        assert any(line.startswith(entry.name) for line in lines)
    assert lines[-1].startswith("compiled or loaded in ")


@pytest.mark.parametrize("name", ["compare", "info", "generate", "warmup"])
def test_every_command_has_help(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: spatialindex {name} ")


def test_help_and_version_do_not_import_the_compiler():
    code = (
        "import sys; from spatialindex.cli import main; code = main(sys.argv[1:]); "
        "assert 'numba' not in sys.modules; assert 'numpy' not in sys.modules; sys.exit(code)"
    )
    for option in ("--help", "--version"):
        result = process(option, code=code)
        assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"spatialindex {si.__version__}\n"


def test_without_arguments_the_help_is_shown():
    result = run()
    assert result.stdout.startswith("Usage: spatialindex [OPTIONS] [COMMAND]")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("word", "value"),
    [("2", 2), ("0.5", 0.5), ("None", None), ("true", True), ("False", False), ("keep", "keep")],
)
def test_values_on_the_command_line_are_what_they_look_like(word, value):
    assert value_of(word) == value
    assert type(value_of(word)) is type(value)


def test_the_progress_bar_goes_to_a_terminal_and_leaves_stdout_clean():
    drawn, result = in_terminal("compare", "uniform:n=20,frames=3", "--json", *QUICK)
    assert json.loads(result)["comparisons"][0]["agrees"]
    assert drawn.index("opening") < drawn.index("checking") < drawn.index("timing")


def test_a_scene_that_is_made_and_written_is_told_of(tmp_path):
    drawn, result = in_terminal("generate", "uniform:n=20", tmp_path / "scene.npz")
    assert drawn.index("making") < drawn.index("writing")
    assert result.startswith(f"{tmp_path / 'scene.npz'}: <Recording")


def in_terminal(*arguments):
    """Run the command with a terminal for its stderr; return what it draws there, and stdout."""
    pty = pytest.importorskip("pty")
    terminal, stderr = pty.openpty()
    with ThreadPoolExecutor(1) as pool:  # or else the bar waits for somebody to read
        reading = pool.submit(all_drawn, terminal)
        result = process_with_terminal(stderr, *map(str, arguments))
        os.close(stderr)
        drawn = reading.result(timeout=60)
    os.close(terminal)
    return drawn, result


def all_drawn(terminal):
    """Return what is written to a terminal until its other side is closed."""
    drawn = b""
    with contextlib.suppress(OSError):  # what Linux says at the end
        while piece := os.read(terminal, 2**16):
            drawn += piece
    return drawn.decode()


def process_with_terminal(stderr, *arguments):
    """Run the command with a terminal for its stderr; return what it writes to stdout."""
    child = subprocess.run(
        [sys.executable, "-m", "spatialindex", *arguments],
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm"},
        text=True,
        check=True,
        timeout=120,
    )
    return child.stdout
