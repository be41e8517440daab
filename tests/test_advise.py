"""`si.advise`: who is tried, who stays, who is taken, and what is said of it."""

import json
import re
from dataclasses import replace
from io import StringIO

import pytest
from click.testing import CliRunner
from rich.console import Console

import spatialindex as si
from spatialindex.cli.commands import command
from spatialindex.comparison import advice as module
from spatialindex.comparison.advice import candidates
from spatialindex.comparison.recommendations import ADVICE_FORMAT, Traits
from spatialindex.comparison.results import Timing
from spatialindex.indexes.brute_force import BruteForce
from spatialindex.registry import Entry, register, unregister

JOBS = ["pairs"]
NAMES = ("brute-force", "hash-grid", "bvh")
TRAITS = Traits(1000, 2, 10, 1.0, 3.0, 0.0, 0.0, 1.0, 0.1)


@pytest.fixture(scope="module")
def scene():
    return si.generate("brownian", n=40, frames=4, seed=3)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Try a few structures, which are compiled by other tests as well."""
    monkeypatch.setattr(module, "candidates", lambda traits: [(name, {}) for name in NAMES])


@pytest.fixture
def timed(monkeypatch):
    """Let structures take what a test says they do, in every round; returns who was in each.

    By round and label, frames that somebody is timed in, if fewer than three.
    """
    seconds, rounds, few_samples = {}, [], {}
    real = module.compare

    def compare(recording, field, *arguments, **options):
        result = real(recording, field, *arguments, **options)
        rounds.append([row.label for row in result.rows[:-1]])
        rows, series = [], {}
        for row in result.rows:
            if row.status == "ok":
                took = seconds.get(row.label, seconds.get(row.name, 1.0))
                samples = few_samples.get((len(rounds), row.label), 3)
                row = replace(row, frame=Timing(took, took, 1, samples))
                series[row.label] = dict.fromkeys(range(1, 1 + samples), took)
            rows.append(row)
        return replace(result, rows=tuple(rows), series=series)

    monkeypatch.setattr(module, "compare", compare)
    return seconds, rounds, few_samples


# Who is tried


def test_every_structure_of_the_dimensions_is_tried():
    names = [name for name, _ in candidates(TRAITS)]
    assert names == [entry.name for entry in si.structures() if 2 in entry.ndims]
    assert "loose-octree" in [name for name, _ in candidates(replace(TRAITS, ndim=3))]


def test_brute_force_is_not_tried_on_many_objects(scene):
    assert "brute-force" not in [name for name, _ in candidates(replace(TRAITS, objects=10**6))]


def test_parts_of_a_split_index_are_tried_where_something_rests():
    tried = candidates(replace(TRAITS, asleep_share=0.5))
    parts = [parameters["dynamic"] for name, parameters in tried if name == "split" and parameters]
    assert parts == ["bvh", "sweep-and-prune", "hierarchical-grid", "loose-quadtree"]
    assert candidates(replace(TRAITS, static_share=1.0)) == candidates(TRAITS)  # none moves


# Who stays, who is taken


def test_the_fastest_is_taken_and_the_slow_go_no_farther(scene, timed):
    seconds, rounds, _ = timed
    seconds.update({"brute-force": 1.0, "hash-grid": 1.2, "bvh": 3.0})
    advice = si.advise(scene, JOBS, budget=20.0)
    assert rounds[0] == list(NAMES)
    assert rounds[1] == ["brute-force", "hash-grid"]
    assert rounds[2] == ["brute-force", "hash-grid"]
    assert [choice.label for choice in advice.choices] == ["brute-force", "hash-grid", "bvh"]
    assert [choice.round for choice in advice.choices] == [3, 3, 1]
    assert advice.choices[2].note == "3 times the best of round 1"
    assert [choice.ratio for choice in advice.choices] == [1.0, 1.2, 3.0]
    assert advice.words.startswith("take brute-force; fastest per frame: brute-force, 1,000 ms")


def test_variants_of_the_best_are_tried_in_the_last_round(scene, timed):
    seconds, rounds, _ = timed
    seconds.update({"brute-force": 9.0, "hash-grid": 9.0, "bvh": 1.0})
    advice = si.advise(scene, JOBS, budget=20.0)
    assert rounds[2] == ["bvh", "bvh leaf_size=5"]  # 14 is more than a leaf may hold
    assert advice.words == (
        "take bvh; fastest per frame: bvh, 1,000 ms median (pairs), 9x ahead of brute-force in "
        "round 1"
    )


@pytest.mark.parametrize(("took", "taken"), [(0.97, "bvh"), (0.9, "bvh leaf_size=5")])
def test_parameters_are_advised_only_where_they_are_worth_it(scene, timed, took, taken):
    seconds, *_ = timed
    seconds.update({"brute-force": 9.0, "hash-grid": 9.0, "bvh": 1.0, "bvh leaf_size=5": took})
    advice = si.advise(scene, JOBS, budget=20.0)
    assert advice.best.label == taken
    index = eval(advice.code, {"si": si})
    assert index.leaf_size == (5 if taken != "bvh" else 8)
    assert ("is no more than 5% faster" in advice.words) == (taken == "bvh")


def test_who_is_timed_in_a_frame_only_is_not_taken_for_having_no_parameters(scene, timed):
    seconds, rounds, few_samples = timed
    seconds.update({"brute-force": 9.0, "hash-grid": 9.0, "bvh": 1.0, "bvh leaf_size=5": 2.0})
    few_samples[3, "bvh"] = 1
    advice = si.advise(scene, JOBS, budget=20.0)
    assert rounds[2] == ["bvh", "bvh leaf_size=5"]
    assert advice.best.label == "bvh leaf_size=5"


class Wrong(BruteForce):
    def pairs(self, **options):
        return super().pairs(**options)[1:]


def test_a_structure_that_differs_is_never_advised(scene, timed, monkeypatch):
    seconds, *_ = timed
    seconds["wrong"] = 1e-6
    register(Entry("wrong", f"{__name__}:Wrong", "loses a pair"))
    try:
        field = [("wrong", {}), ("brute-force", {})]
        monkeypatch.setattr(module, "candidates", lambda traits: list(field))
        advice = si.advise(scene, JOBS, budget=20.0)
        result = CliRunner().invoke(command, ["advise", "uniform:n=30", "--jobs", "pairs"])
    finally:
        unregister("wrong")
    assert advice.best.label == "brute-force"
    assert advice.choices[-1].label == "wrong"
    assert advice.choices[-1].status == "differs"
    assert "1 row is missing" in advice.choices[-1].note
    assert result.exit_code == 1


def test_without_any_right_structure_nothing_is_advised(scene, monkeypatch):
    register(Entry("wrong", f"{__name__}:Wrong", "loses a pair"))
    try:
        monkeypatch.setattr(module, "candidates", lambda traits: [("wrong", {})])
        advice = si.advise(scene, JOBS, budget=20.0)
    finally:
        unregister("wrong")
    assert advice.best is None
    assert advice.code == ""
    assert advice.words == "no structure was timed"


# What is said


@pytest.fixture(scope="module")
def traits():
    rec = si.generate("sleepers", n=200, frames=6, seed=1)
    return module._traits(rec, rec.frames, 0, None), rec


def test_traits_are_the_figures_of_the_scene(traits):
    found, rec = traits
    assert (found.objects, found.ndim, found.frames) == (200, 2, 6)
    assert found.static_share == rec.static.mean()
    edges = (rec.boxes[..., 2:] - rec.boxes[..., :2]).max(axis=2)
    assert found.largest_to_median == pytest.approx(edges.max() / sorted(edges.ravel())[600])
    assert 0.0 < found.moved_share < 0.2
    assert 0.0 < found.displacement < 0.5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "all about one size: the largest box is as long as the median one"),
        ({"largest_to_median": 9.97}, "several sizes: the largest box is 9.97 times as long"),
        ({"largest_to_median": 0.0}, "the largest box is 0 times as long as the median one"),
        ({"largest_to_median": 2271.3, "partners": 712.0}, "the largest box is 2,270 times as"),
        ({"largest_to_median": 2271.3, "partners": 712.0}, "meets about 710 others"),
        ({"largest_to_median": 250.0}, "many sizes: the largest box is 250 times as long"),
        ({"static_share": 0.25}, "at rest: 25% static, 0% asleep"),
        ({}, "by 0.1 edges of a median box (coherent)"),
        ({"displacement": 40.0}, "by 40 edges of a median box (it jumps)"),
        ({"displacement": 0.0}, "motion: 100% of the boxes change in a frame"),
    ],
)
def test_traits_are_told_in_words(changes, words):
    assert words in "\n".join(replace(TRAITS, **changes).words)


@pytest.fixture(scope="module")
def advice(scene):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "candidates", lambda traits: [("brute-force", {}), ("bvh", {})])
        return si.advise(scene, JOBS, budget=20.0)


def test_the_dictionary_is_json_of_the_same_figures(advice):
    value = json.loads(json.dumps(advice.as_dict()))
    assert value["format"] == ADVICE_FORMAT
    assert value["best"] == advice.best.label == value["choices"][0]["label"]
    assert value["choices"][0]["seconds"] == advice.best.seconds
    assert value["final"]["format"] == 1
    assert value["code"] == advice.code


def test_the_first_choice_has_the_least_time_of_the_last_round(advice):
    plain = [row.frame.median for row in advice.final.rows[:-1] if not row.parameters]
    if not advice.best.parameters:
        assert advice.best.seconds == min(plain)


def test_the_table_shows_traits_rounds_choices_and_what_to_take(advice):
    # The verdict's length changes with what was measured: any width of a line may cut it.
    console = Console(width=10_000, record=True, file=StringIO())
    console.print(advice.table())
    text = console.export_text()
    for words in (*advice.traits.words, *advice.rounds, advice.words, advice.code):
        assert words in text
    for choice in advice.choices:
        assert re.search(rf"^{re.escape(choice.label)} +\d", text, re.MULTILINE)


def test_what_cannot_be_meant_is_refused(scene):
    with pytest.raises(si.InvalidArgumentError, match="unknown job 'pears'; did you mean 'pairs'"):
        si.advise(scene, ["pears"])
    with pytest.raises(si.InvalidArgumentError, match="budget is -1: pass a number of seconds"):
        si.advise(scene, budget=-1)


def test_a_scene_without_any_object_is_no_error():
    advice = si.advise(si.generate("uniform", n=0), JOBS, budget=5.0)
    assert advice.best is not None


# Ctrl-C


@pytest.mark.parametrize(
    ("arguments", "target", "words"),
    [
        (["advise", "uniform:n=30"], "advice.compare", "round 1: compiling, 1 of 3 done"),
        (["tune", "uniform:n=30"], "tuning.compare", "measuring cell_size, 0 of 14 done"),
        (
            ["compare", "uniform:n=30", "uniform:n=40"],
            "runner.compare",
            "compiling, 1 of 3 done; 1 of 2 scenes finished",
        ),
    ],
)
def test_ctrl_c_ends_at_once_and_says_how_far_it_has_come(
    monkeypatch, tmp_path, arguments, target, words
):
    name, _, attribute = target.partition(".")
    place = f"spatialindex.comparison.{name}.{attribute}"
    real = si.compare
    calls = []

    def compare(recording, *positional, progress=None, **options):
        calls.append(recording)
        if name == "runner" and len(calls) == 1:
            return real(recording, ["brute-force"], JOBS, budget=20.0)
        if progress is not None:
            progress("compiling", 1, 3)
        raise KeyboardInterrupt

    monkeypatch.setattr(place, compare)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 130
    assert result.stderr == f"spatialindex: interrupted: {words}\n"
    assert list(tmp_path.iterdir()) == []
