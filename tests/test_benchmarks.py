"""The command that measures: that it runs, checks answers and writes JSON. Times are its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spatialindex as si

ROOT = Path(__file__).parents[1]
STRUCTURES = [entry.name for entry in si.structures()]
JOBS = {
    "pairs": STRUCTURES,
    "build": STRUCTURES,
    "query": STRUCTURES,
    "single": STRUCTURES,
    "points": STRUCTURES,
    "frames": STRUCTURES,
    "inserts": STRUCTURES,
    "removals": STRUCTURES,
    "churn": STRUCTURES,
    "growth": STRUCTURES,
    "workers": STRUCTURES,
    "worst": STRUCTURES,
    "kept": STRUCTURES,
    "bulk": ["grid", "hash-grid", "sweep-and-prune"],
    "cells": ["grid", "hash-grid"],
}
"""Jobs of this process, and who has to take part."""

TINY = ("--quick", "--n", "200", "--rounds", "1")


def run(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "300"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def measured(path, *arguments):
    """Run the command and return what it wrote, and printed."""
    done = run("-m", "tests.benchmarks", *TINY, "--json", path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(path.read_text(encoding="utf-8")), done.stdout


@pytest.mark.parametrize("job", JOBS)
def test_every_structure_is_measured_and_its_answers_are_equal(job, tmp_path):
    results, printed = measured(tmp_path / "out.json", "--job", job, "--scene", "uniform")
    groups = results["groups"]
    assert {group["job"] for group in groups} == {job}
    assert {group["ndim"] for group in groups} == {2, 3}
    rows = [row for group in groups for row in group["rows"]]
    for name in JOBS[job]:
        assert any(row["contestant"].startswith(name) and row["ours"] for row in rows), name
    assert {row["answer"] for row in rows} == {"equal"}
    for group in groups:
        assert f"{job} · {group['scene']} {group['ndim']}D · {group['n']} objects" in printed
    for row in rows:
        assert row["contestant"] in printed


def test_every_row_has_its_runs_and_its_ratio(tmp_path):
    results, _ = measured(tmp_path / "out.json", "--job", "pairs,workers", "--scene", "thin")
    for group in results["groups"]:
        for row in group["rows"]:
            assert len(row["seconds"]) == row["runs"] > 0
            assert row["rounds"] == 1
            assert row["min"] <= row["median"] <= row["max"]
            assert row["steps"].keys() <= {"insert", "build", "pairs", "query"}
            base = next(r for r in group["rows"] if r["contestant"] == row["baseline"])
            assert row["ratio"] == row["median"] / base["median"]


def test_times_are_compared_with_who_was_named(tmp_path):
    results, printed = measured(
        *(tmp_path / "out.json", "--job", "build", "--ndim", "2"),
        *("--baseline", "brute-force", "--peers", "none"),
    )
    assert {row["baseline"] for row in results["groups"][0]["rows"]} == {"brute-force"}
    assert "to brute-force" in printed


def test_results_tell_what_they_were_measured_on(tmp_path):
    path = tmp_path / "out.json"
    results, _ = measured(path, "--job", "build", "--ndim", "2", "--seed", "7")
    assert results["format"] == 1
    assert results["command"] == [
        *("python", "-m", "tests.benchmarks", *TINY, "--json", str(path)),
        *("--job", "build", "--ndim", "2", "--seed", "7"),
    ]
    assert {"cpu", "python", "numpy", "numba", "spatialindex"} <= results["machine"].keys()
    assert results["settings"]["seed"] == 7


@pytest.mark.parametrize(("job", "constant"), [("kept", "kept_share"), ("bulk", "bulk_share")])
def test_borders_stand_beside_the_constant_in_use(job, constant, tmp_path):
    results, printed = measured(tmp_path / "out.json", "--job", job, "--structures", "hash-grid")
    for group in results["groups"]:
        assert 0 < group["figures"][f"{constant} is"] < 1
        assert any(name.endswith("pays up to a share of") for name in group["figures"])
    assert f"{constant} is: 0." in printed


def test_memory_is_measured_in_a_process_of_its_own(tmp_path):
    results, printed = measured(
        *(tmp_path / "memory.json", "--job", "memory", "--ndim", "2"),
        *("--structures", "brute-force", "--peers", "none"),
    )
    (row,) = results["groups"][0]["rows"]
    assert row["answer"] == "equal"
    assert row["figures"]["with kept pairs"] > row["figures"]["nbytes an object"] > 32
    assert "nbytes an object" in printed


def test_recordings_are_played_to_where_they_end(tmp_path):
    results, _ = measured(
        *(tmp_path / "frames.json", "--job", "pairs,frames", "--scene", "recordings"),
        *("--ndim", "3", "--peers", "none"),
    )
    assert [group["job"] for group in results["groups"]] == ["pairs", "frames"]
    for group in results["groups"]:
        assert group["scene"] == "rapier_log"
        assert {row["answer"] for row in group["rows"]} == {"equal"}


def test_imports_are_measured_in_new_processes():
    code = """
from tests.benchmarks.jobs import start
from tests.benchmarks.settings import Settings
from tests.benchmarks.timing import measure
rows = measure(next(start.groups(Settings())), 1, 60.0, str)
print([(row.task.label, row.answer, len(row.laps)) for row in rows])
"""
    done = run("-c", code)
    assert done.stdout.strip() == "[('import numpy', '', 1), ('import spatialindex', '', 1)]"


@pytest.mark.parametrize("name", STRUCTURES)
def test_first_pairs_are_those_of_boxes_in_a_row(name):
    done = run("-m", "tests.benchmarks.child", "first-pairs", name, "2")
    assert json.loads(done.stdout) == {"pairs": [[i, i + 1] for i in range(9)]}


WRONG = """
import sys
import spatialindex.registry as registry
from spatialindex.indexes.brute_force import BruteForce
from tests.benchmarks.__main__ import main

class Wrong(BruteForce):
    def pairs(self, **options):
        return {answer}

sys.modules["wrong"] = sys.modules["__main__"]
registry.register(registry.Entry("wrong", "wrong:Wrong", "for a test"))
sys.exit(main("--quick --n 200 --rounds 1 --ndim 2 --scene uniform --job pairs".split()))
"""


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("super().pairs(**options)[1:]", "DIFFERS: 1 missing"),
        ("super().pairs(**options)[[*range(20), 0]]", "1 twice"),
        ("super().pairs(**options)[::-1]", "DIFFERS: rows are not in canonical order"),
        ("1 // 0", "FAILED: ZeroDivisionError"),
    ],
)
def test_a_structure_that_is_wrong_is_shown_and_fails_the_run(answer, words):
    done = run("-c", WRONG.format(answer=answer))
    assert done.returncode == 1, done.stderr
    (row, *_) = [line for line in done.stdout.splitlines() if line.startswith("wrong ")]
    assert words in row
    assert "hash-grid" in done.stdout
    assert "equal" in done.stdout


def test_tables_are_plain_without_rich():
    code = "import sys; sys.modules['rich'] = None; from tests.benchmarks.__main__ import main; "
    code += f"sys.exit(main({list(TINY)} + ['--job', 'build', '--ndim', '2']))"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    head, first, *_ = done.stdout.strip().splitlines()[2:]
    assert head.split()[:4] == ["contestant", "median", "min", "max"]
    assert first.split()[0] == STRUCTURES[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--job", "pair"), "unknown job 'pair'; did you mean 'pairs'? known: pairs, build"),
        (("--structures", "hashgrid"), "unknown structure 'hashgrid'; did you mean 'hash-grid'?"),
        (("--peers", "shaply"), "unknown peer 'shaply'; did you mean 'shapely'?"),
        (("--scene", "unifrm"), "'unifrm' is neither a file nor a kind of scene"),
        (("--scene", "gone.npz"), "gone.npz: no such file"),
        (("--n", "many"), "--n: 'many' is not a number"),
        (("--ndim", "4"), "--ndim: 4 is not a whole number from 2 to 3"),
        (("--rounds", "0"), "--rounds and --workers are at least 1"),
        (("--json", "no/such/folder.json"), "there is no such folder"),
        (("--job", "growth", "--scene", "recordings"), "nothing to measure"),
    ],
)
def test_choices_that_cannot_be_are_refused_in_one_line(arguments, words):
    done = run("-m", "tests.benchmarks", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_jobs_are_listed():
    done = run("-m", "tests.benchmarks", "--list")
    names = {line.split()[0] for line in done.stdout.splitlines()}
    assert names == {*JOBS, "memory", "start"}
