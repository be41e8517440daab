"""Curves of a comparison: who is tuned, in what order, within which time, and where they appear."""

import json
import re
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import spatialindex as si
from spatialindex.cli.commands import command
from spatialindex.comparison import tuned

NAMES = ["brute-force", "bvh", "grid", ("hash-grid", {"cell_size": 90.0}), "hash-grid"]


@pytest.fixture(scope="module")
def recording():
    return si.generate("brownian", n=40, frames=3, seed=3)


@pytest.fixture(scope="module")
def result(recording):
    return si.compare(recording, NAMES, ["pairs"], budget=600.0, plays=1)


@pytest.fixture
def asked(monkeypatch):
    """Let tuning tell what it is asked for, and take no time."""
    calls = []

    def tune(recording, name, parameter, jobs, *, progress, **options):
        calls.append({"name": name, "jobs": jobs, **options})
        if progress is not None:
            progress("measuring", 1, 4)
        if name == "grid":
            raise si.InvalidArgumentError("grid was not measured with any cell_size")
        return f"curve of {name}"

    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(tuned, "tune", tune)
    monkeypatch.setattr(tuned, "time", clock)
    return SimpleNamespace(calls=calls, clock=clock)


def ordered(result, *labels):
    """Return the comparison with the structures as fast as they are listed, the first fastest."""
    series = {label: {1: 1e-3 * (1 + labels.index(label))} for label in labels}
    return tuned.replace(result, series=series | {"(empty)": {1: 0.0}})


LABELS = ("bvh", "hash-grid", "grid", "brute-force", "hash-grid cell_size=90.0")


def test_the_fastest_is_tuned_first_then_grids_each_once_and_failures_are_said(
    result, recording, asked
):
    names = [row.label for row in result.rows[:-1]]
    assert sorted(names) == sorted(LABELS)
    told = []
    done = tuned.with_curves(
        ordered(result, *LABELS), recording, 30.0, lambda *words: told.append(words)
    )
    assert done.curves == ("curve of bvh", "curve of hash-grid")
    assert [call["name"] for call in asked.calls] == ["bvh", "hash-grid", "grid"]
    assert [call["budget"] for call in asked.calls] == [10.0, 15.0, 30.0]
    assert told[1] == ("tuning hash-grid", 1, 4)
    assert done.left_out == ("curve of grid: grid was not measured with any cell_size",)
    slow = ordered(result, *reversed(LABELS))
    tuned.with_curves(slow, recording, 30.0)
    assert [call["name"] for call in asked.calls[3:]] == ["hash-grid", "grid", "bvh"]
    assert asked.calls[0].items() >= {
        "jobs": ("pairs",), "frames": 3, "among": "active", "queries": 64, "seed": 0
    }.items()  # fmt: skip


def test_who_is_not_reached_within_the_budget_is_said(result, recording, asked, monkeypatch):
    def tune(recording, name, *_, **options):
        asked.clock.now += 9.8
        return name

    monkeypatch.setattr(tuned, "tune", tune)
    done = tuned.with_curves(ordered(result, *LABELS), recording, 10.0)
    assert done.curves == ("bvh",)
    assert done.left_out == ("curves of hash-grid, grid: the budget for tuning is used up",)


def test_a_comparison_has_curves_when_asked(recording):
    result = si.compare(recording, ["brute-force", "bvh"], ["pairs"], budget=0.3, curves=True)
    (curve,) = result.curves
    assert (curve.structure, curve.parameter) == ("bvh", "leaf_size")
    assert result.as_dict()["curves"] == [curve.as_dict()]
    assert si.compare(recording, ["brute-force"], ["pairs"], budget=0.3).as_dict()["curves"] == []


SCENE = ["brownian:n=40,frames=3", "--structures", "bvh", "--jobs", "pairs", "--budget", "0.3"]


def run(*arguments):
    return CliRunner().invoke(command, ["compare", *SCENE, *map(str, arguments)])


def test_the_page_of_the_command_has_the_curves_of_its_json(tmp_path):
    page = tmp_path / "report.html"
    told = json.loads(run("--json", "--html", page).stdout)["comparisons"][0]
    (curve,) = told["curves"]
    assert (curve["format"], curve["parameter"]) == (1, "leaf_size")
    (text,) = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)
    assert json.loads(text)["comparison"] == told


def test_curves_can_be_had_without_a_page_and_a_page_without_curves(tmp_path):
    assert re.search(
        "bvh, (best: leaf_size=|leave leaf_size out: bvh takes)", run("--curves").stdout
    )
    done = run("--no-curves", "--json", "--html", tmp_path / "report.html")
    assert json.loads(done.stdout)["comparisons"][0]["curves"] == []


def test_an_interrupted_tuning_leaves_no_page_and_says_how_far_it_came(tmp_path, monkeypatch):
    def tune(recording, name, *_, progress, **options):
        progress("measuring leaf_size", 2, 14)
        raise KeyboardInterrupt

    monkeypatch.setattr(tuned, "tune", tune)
    done = run("--html", tmp_path / "report.html")
    assert done.exit_code == 130
    assert done.stderr.endswith("tuning bvh, 2 of 14 done; 0 of 1 scenes finished\n")
    assert list(tmp_path.iterdir()) == []
