"""The command that measures: that it runs, checks answers and writes JSON. Times are its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spatialindex as si
from spatialindex import registry
from tests.benchmarks.answers import as_keys, packed
from tests.benchmarks.jobs import start
from tests.benchmarks.model import Group, Result, Task
from tests.benchmarks.report import as_dict, print_group
from tests.benchmarks.scenes import scenes
from tests.benchmarks.settings import Settings

ROOT = Path(__file__).parents[1]
STRUCTURES = [entry.name for entry in si.structures()]
JOBS = {
    "pairs": STRUCTURES,
    "build": STRUCTURES,
    "query": STRUCTURES,
    "single": STRUCTURES,
    "points": STRUCTURES,
    "nearest": STRUCTURES,
    "rays": STRUCTURES,
    "planes": STRUCTURES,
    "frames": STRUCTURES,
    "capacity": STRUCTURES,
    "steps": ["split", "hash-grid"],
    "inserts": STRUCTURES,
    "removals": STRUCTURES,
    "churn": STRUCTURES,
    "decay": STRUCTURES,
    "growth": STRUCTURES,
    "workers": STRUCTURES,
    "worst": STRUCTURES,
    "kept": STRUCTURES,
    "sweep": ["hash-grid", "bvh"],
    "bulk": ["bvh", "grid", "hash-grid", "hierarchical-grid", "sweep-and-prune"],
    "cells": ["grid", "hash-grid", "hierarchical-grid"],
}
"""Jobs of this process, and who has to take part."""

NO_ANSWER = "pure arithmetic"
"""What is timed beside structures, and asks nothing."""

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


@pytest.mark.parametrize("ndim", [2, 3])
def test_every_structure_is_measured_and_its_answers_are_equal(ndim, tmp_path):
    # in one process, which loads all kernels once
    results, printed = measured(
        *(tmp_path / "out.json", "--job", ",".join(JOBS), "--scene", "uniform", "--ndim", ndim)
    )
    for job, names in JOBS.items():
        groups = [group for group in results["groups"] if group["job"] == job]
        assert {group["ndim"] for group in groups} == {ndim}
        rows = [row for group in groups for row in group["rows"]]
        for name in names:
            if ndim not in registry.find(name).ndims:
                continue
            is_there = any(row["contestant"].startswith(name) and row["ours"] for row in rows)
            assert is_there, f"{job} without {name}"
        answers = [row["answer"] for row in rows if not row["contestant"].startswith(NO_ANSWER)]
        assert set(answers) == {"equal"}
        for group in groups:
            assert f"{job} · {group['scene']} {ndim}D · {group['n']} objects" in printed
        for row in rows:
            assert row["contestant"] in printed


def test_every_row_has_its_runs_and_its_ratio(tmp_path):
    results, _ = measured(tmp_path / "out.json", "--job", "pairs,workers", "--scene", "thin")
    for group in results["groups"]:
        for row in group["rows"]:
            assert len(row["seconds"]) == row["runs"] > 0
            assert row["rounds"] == 1
            assert row["min"] <= row["median"] <= row["max"]
            assert row["steps"].keys() <= {
                "insert",
                "build",
                "pairs",
                "query",
                "nearest",
                "raycast",
                "arithmetic",
            }
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


@pytest.mark.parametrize(
    ("job", "constant"), [("kept", "kept_share"), ("sweep", "sweep_share"), ("bulk", "bulk_share")]
)
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


def test_questions_after_motion_and_churn_are_compared_with_a_fresh_build(tmp_path):
    results, _ = measured(
        *(tmp_path / "decay.json", "--job", "decay", "--ndim", "2", "--structures", "bvh"),
    )
    (group,) = results["groups"]
    fresh, old = group["rows"]
    assert (fresh["contestant"], old["contestant"]) == ("bvh fresh", "bvh")
    assert old["baseline"] == "bvh fresh"
    assert group["checked"] == "oracle"
    figures = old["figures"]
    assert figures["nbytes growth"] == figures["nbytes at last"] / figures["nbytes at first"]
    assert figures["quality"] > 0


def test_trees_of_points_are_asked_for_the_nearest_points(tmp_path):
    results, _ = measured(tmp_path / "out.json", "--job", "nearest", "--structures", "kd-tree")
    scipy = pytest.importorskip("scipy")
    asked = [
        (group["ndim"], "objects are points" in group["what"])
        for group in results["groups"]
        if any(row["contestant"] == scipy.__name__ for row in group["rows"])
    ]
    assert set(asked) == {(2, True), (3, True)}


def test_scenes_are_files_folders_and_names_of_recordings():
    folder = ROOT / "examples" / "recordings"
    names = [*map(str, (folder / "us_counties.npz", folder)), "us_counties", "recordings"]
    found = [[s.name for s in scenes(Settings(scenes=(name,)))] for name in names]
    assert found[0] == found[2] == ["us_counties"]
    assert found[1] == found[3] == sorted(path.stem for path in folder.glob("*.npz"))


def test_answers_with_an_order_and_floats_are_compared_to_the_last_bit():
    ids, t = np.array([[3, -1]]), np.array([[0.5, np.inf]])
    right = as_keys(packed(ids, t))
    assert np.array_equal(right, as_keys(packed(ids.copy(), t.copy())))
    for other in (
        packed(ids[:, ::-1], t),
        packed(ids, np.nextafter(t, 0.0)),
        packed(ids[:, :1], t[:, :1]),
        packed(np.array([[3, 4]]), t),
    ):
        assert not np.array_equal(right, as_keys(other))


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


def test_compiling_has_a_budget_and_loading_has_none():
    _, first, everything = start.groups(Settings(structures=("bvh", "loose-octree")))
    budgets = {task.label: task.budget for group in (first, everything) for task in group.tasks()}
    assert budgets == {
        **dict.fromkeys(("bvh 2D cold", "bvh 3D cold", "loose-octree 3D cold"), start.BUDGET_FIRST),
        "bvh cold": 2 * start.BUDGET_ALL,
        "loose-octree cold": start.BUDGET_ALL,
        **{label: None for label in budgets if label.endswith("warm")},
    }


def test_times_stand_beside_their_budget(capsys):
    results = [
        Result(Task(label, (), budget=budget), laps=[{"calls": 2.0}], cpu=[2.0], rounds=1)
        for label, budget in (("quick", 2.0), ("slow", 1.9), ("free", None))
    ]
    group = Group("start", "a row", 10, 2, "first calls", tasks=list)
    written = as_dict(group, results, Settings())
    assert [row["budget"] for row in written["rows"]] == [2.0, 1.9, None]
    print_group(written, is_timed=True)
    rows = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    at = rows["contestant"].index("budget")
    assert rows["contestant"][at : at + 2] == ["budget", "kept"]
    assert [rows[name][-3:-1] for name in ("quick", "slow", "free")] == [
        ["2.00", "within"],
        ["1.90", "OVER"],
        ["-", "-"],
    ]


@pytest.mark.parametrize("entry", si.structures(), ids=lambda entry: entry.name)
def test_first_pairs_are_those_of_boxes_in_a_row(entry):
    done = run("-m", "tests.benchmarks.child", "first-pairs", entry.name, entry.ndims[0])
    assert json.loads(done.stdout) == {"pairs": [[i, i + 1] for i in range(9)]}


ALMOST = """
import sys
import numpy as np
import spatialindex as si
import spatialindex.registry as registry
from spatialindex.indexes.brute_force import BruteForce
from tests.benchmarks.__main__ import main

class Almost(BruteForce):
    def nearest(self, points, k, **options):
        ids, distances = super().nearest(points, k, **options)
        return si.Neighbors(ids, np.nextafter(distances, 1e9))

    def raycast(self, *rays, **options):
        hits = super().raycast(*rays, **options)
        return hits._replace(t=np.nextafter(hits.t, 1e9))

    def raycast_all(self, *rays, **options):
        rows, t = super().raycast_all(*rays, **options)
        return si.Hits(rows[::-1], t[::-1])

    def query_planes(self, normals, offsets, **options):
        return super().query_planes(normals, offsets - 1e-3, **options)

sys.modules["almost"] = sys.modules["__main__"]
registry.register(registry.Entry("almost", "almost:Almost", "for a test"))
command = "--quick --n 200 --rounds 1 --ndim 2 --structures almost --job nearest,rays,planes"
sys.exit(main([*command.split(), "--scene", "stack"]))
"""


def test_neighbours_rays_and_views_that_are_almost_right_fail_the_run():
    done = run("-c", ALMOST)
    assert done.returncode == 1, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("almost ")]
    assert len(rows) == 6  # neighbours of boxes and of points, first hits of two kinds, all, a view
    assert all("DIFFERS" in row for row in rows)


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
