"""`si.tune`: where it looks, what it finds, what it draws and what it refuses."""

import contextlib
import itertools
import json
import math
import re
from io import StringIO
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.console import Console

import spatialindex as si
from spatialindex.cli.commands import command
from spatialindex.comparison import tuning
from spatialindex.comparison.curves import CURVE_FORMAT, Curve, CurvePoint
from spatialindex.comparison.results import Timing, Work
from spatialindex.comparison.sampling import sampled_frames, typical_edge

JOBS = ["pairs"]


@pytest.fixture(scope="module")
def scene():
    return si.generate("brownian", n=80, frames=4, seed=3)


@pytest.fixture(scope="module")
def curve(scene):
    return si.tune(scene, "hash-grid", jobs=JOBS, budget=600.0)  # none is cut short


def model(seconds, calls=None):
    """Return what stands in for `compare`: a frame takes what `seconds` says of a value."""

    def compare(recording, choices, jobs, **options):
        rows = []
        for _, parameters in choices:
            (value,) = parameters.values() or [5.0]
            took = seconds(value)
            if calls is not None:
                calls.append(value)
            rows.append(
                SimpleNamespace(
                    parameters=parameters,
                    status="ok" if took else "failed",
                    note="" if took else "too small",
                    frame=Timing(took or 0.0, 0.0, 0, 1),
                    work=Work(1, 3, 4, 5, 6, 7, 8, 0, 9, 1),
                )
            )
        return SimpleNamespace(
            rows=[*rows, None], frame_jobs=("pairs",), scene=None, machine=None
        )  # the last one is the empty contestant

    return compare


def valley_at(lowest):
    return lambda value: 1e-3 * (value / lowest + lowest / value)


# What it finds


def test_points_go_up_and_the_best_is_the_fastest_of_them(curve):
    values = [point.value for point in curve.points]
    assert values == sorted(set(values))
    assert len(values) >= 5
    assert curve.best.seconds == min(point.seconds for point in curve.points)


def test_the_valley_is_the_run_of_values_within_a_tenth_of_the_best():
    points = tuple(
        CurvePoint(value, seconds, 1, 1, 1, 1, 1)
        for value, seconds in enumerate([3.0, 1.05, 1.0, 1.09, 1.2, 1.01], 1)
    )
    assert tuning._valley(points, points[2]) == (2, 4)


def test_the_usual_starting_point_is_one_and_a_half_to_two_mean_extents(curve, scene):
    edge = typical_edge(scene)
    assert curve.usual == (1.5 * edge, 2.0 * edge)


def test_all_points_report_the_same_pairs(curve):
    assert {point.pairs for point in curve.points} == {curve.own.pairs}


def test_counts_are_those_of_a_comparison(curve, scene):
    points = curve.points[0], curve.points[-1]
    choices = [("hash-grid", {"cell_size": point.value}) for point in points]
    rows = si.compare(scene, choices, JOBS, budget=20.0).rows
    for point, row in zip(points, rows, strict=False):  # the last row is the empty contestant
        work = row.work
        assert (point.candidates, point.visits) == (work.candidates, work.visits)
        assert (point.entries, point.max_bucket) == (work.entries, work.max_bucket)


@pytest.mark.parametrize("lowest", [0.2, 7.0, 40.0, 900.0])
def test_the_lowest_point_of_a_valley_is_found_wherever_it_is(scene, monkeypatch, lowest):
    monkeypatch.setattr(tuning, "compare", model(valley_at(lowest)))
    found = si.tune(scene, jobs=JOBS)
    assert abs(math.log(found.best.value / lowest)) < math.log(1.25)
    assert found.best.seconds < 1.03 * valley_at(lowest)(lowest)


def test_no_value_is_tried_beyond_one_that_is_steep(scene, monkeypatch):
    tried = []
    monkeypatch.setattr(tuning, "compare", model(lambda v: 1e-3 * (v**2 + v**-2), tried))
    found = si.tune(scene, jobs=JOBS)
    steep = [p for p in found.points if p.seconds > tuning._STEEP * found.best.seconds]
    assert len([p for p in steep if p.value < found.best.value]) <= 1


@pytest.mark.parametrize("seconds", [lambda value: 1e-3, lambda value: 1.0 / value])
def test_no_cells_are_tried_that_are_far_larger_than_the_world(scene, monkeypatch, seconds):
    monkeypatch.setattr(tuning, "compare", model(seconds))
    found = si.tune(scene, jobs=JOBS)
    lower, upper = scene.boxes[..., :2].min(), scene.boxes[..., 2:].max()
    assert found.points[-1].value <= max(2.0 * (upper - lower), 16.2 * sum(found.usual) / 2)


def test_a_value_that_fails_is_named_and_left_out(scene, monkeypatch):
    monkeypatch.setattr(tuning, "compare", model(lambda v: v >= 20 and 1e-3 * v))
    found = si.tune(scene, jobs=JOBS)
    assert all(point.value >= 20 for point in found.points)
    assert any(re.match(r"cell_size=\S+: failed, too small", words) for words in found.notes)


def test_whole_numbers_stay_whole_and_within_what_is_declared(scene, monkeypatch):
    monkeypatch.setattr(tuning, "compare", model(valley_at(5)))
    found = si.tune(scene, "bvh", "leaf_size", JOBS)
    values = [point.value for point in found.points]
    assert all(isinstance(value, int) and 2 <= value <= 8 for value in values)
    assert found.best.value == 5
    assert found.usual is None
    assert found.own.value == 8


def test_powers_of_two_are_the_only_edges_of_a_hierarchical_grid(scene, monkeypatch):
    monkeypatch.setattr(tuning, "compare", model(valley_at(50.0)))
    found = si.tune(scene, "hierarchical-grid", jobs=JOBS)
    assert all(math.log2(point.value).is_integer() for point in found.points)
    assert found.best.value == 64.0


def test_a_budget_that_is_used_up_is_said(scene, monkeypatch):
    monkeypatch.setattr(tuning, "compare", model(valley_at(7.0)))
    found = si.tune(scene, jobs=JOBS, budget=1e-9)
    (words,) = (words for words in found.notes if words.startswith("the budget is used up: "))
    smaller = f"values smaller than {found.points[0].value:.6g}"
    assert words.endswith(f"{smaller} and more values near the best were not tried")


def test_a_scene_of_points_starts_at_the_edge_that_the_grid_chooses():
    points = si.generate("uniform", n=50)
    rec = si.Recording(points.boxes[:, :, [0, 1, 0, 1]])
    found = si.tune(rec, jobs=JOBS, budget=1e-9)
    assert found.usual is None
    assert found.points


@pytest.mark.parametrize("edge", [5e-324, 1e-310, 8e307, 1.7e308])
@pytest.mark.parametrize("structure", ["hierarchical-grid", "hash-grid"])
def test_values_end_where_floats_do(structure, edge, monkeypatch):
    tried = []
    monkeypatch.setattr(tuning, "compare", model(lambda value: 1e-3, tried))
    rec = si.Recording([[[0, 0, edge, edge]] * 3] * 2)
    with contextlib.suppress(si.InvalidArgumentError):  # no value at all may be left
        si.tune(rec, structure, jobs=JOBS)
    assert all(0.0 < value < math.inf for value in tried)


# What it shows


def weighed(own):
    """Return a curve whose best is 4, in a millisecond, beside the value and seconds of its own."""
    best = CurvePoint(4.0, 1e-3, 1, 1, 1, 1, 1)
    chosen = None if own is None else CurvePoint(*own, 1, 1, 1, 1, 1)
    return Curve("hash-grid", "cell_size", (best,), best, None, (4.0, 4.0), own=chosen)


def test_the_code_to_paste_makes_the_index(curve):
    index = eval(curve.code, {"si": si})
    assert isinstance(index, si.HashGrid)
    assert index.cell_size == curve.best.value


def test_the_dictionary_is_json_of_the_same_figures(curve):
    value = json.loads(json.dumps(curve.as_dict()))
    assert value["format"] == CURVE_FORMAT
    assert [point["seconds"] for point in value["points"]] == [p.seconds for p in curve.points]
    assert value["best"]["value"] == curve.best.value
    assert value["valley"] == list(curve.valley)
    assert value["scene"]["frames"] == 4


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (
            (7.0, 1e-3),
            "leave cell_size out: hash-grid takes 7 by itself, 1.00 ms a frame, and is as good as "
            "the best of those tried, cell_size=4, 1.00 ms (1.00x as long)",
        ),
        (
            (7.0, 0.5e-3),
            "leave cell_size out: hash-grid takes 7 by itself, 0.500 ms a frame, and is faster "
            "than the best of those tried, cell_size=4, 1.00 ms (0.50x as long)",
        ),
        (
            (4.0, 1e-3),
            "leave cell_size out: hash-grid takes 4 by itself, 1.00 ms a frame, the best of those "
            "tried",
        ),
        (
            (7.0, 1.3e-3),
            "best: cell_size=4, 1.00 ms a frame; left to itself hash-grid takes 7 and needs 1.30x "
            "as long",
        ),
        (None, "best: cell_size=4, 1.00 ms a frame"),
    ],
)
def test_what_the_structure_chooses_itself_is_weighed_in_words(own, words):
    assert weighed(own).words == words


@pytest.mark.parametrize(
    ("own", "code"),
    [
        ((7.0, 1e-3), 'si.create("hash-grid", ndim=2)  # or cell_size=4.0'),
        ((4.0, 1e-3), 'si.create("hash-grid", ndim=2)'),
        ((7.0, 1.3e-3), 'si.create("hash-grid", ndim=2, cell_size=4.0)'),
        (None, 'si.create("hash-grid", ndim=2, cell_size=4.0)'),
    ],
)
def test_the_table_ends_with_code_without_the_parameter_where_that_is_as_good(own, code):
    console = Console(width=100, record=True, file=StringIO())
    console.print(weighed(own).table())
    assert console.export_text().rstrip().splitlines()[-1] == code


def test_the_table_shows_every_point_the_best_and_what_to_paste(curve):
    console = Console(width=100, record=True, file=StringIO())
    console.print(curve.table())
    text = console.export_text()
    for point in curve.points:
        assert f"{point.value:.6g}" in text
    assert text.count(" * ") == 1
    assert (curve.code in text) != curve.is_own_as_good
    assert "usual starting point" in text


@pytest.mark.parametrize(
    ("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
def test_a_plot_is_written_in_the_format_of_its_suffix(curve, tmp_path, suffix, begins):
    path = tmp_path / f"curve{suffix}"
    curve.plot(path)
    assert path.read_bytes().startswith(begins)
    assert list(tmp_path.iterdir()) == [path]


def test_a_plot_that_fails_leaves_nothing_behind(curve, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def interrupted(self, draft, **options):
        draft.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Figure, "savefig", interrupted)
    (tmp_path / "curve.png").write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        curve.plot(tmp_path / "curve.png")
    assert [path.name for path in tmp_path.iterdir()] == ["curve.png"]
    assert (tmp_path / "curve.png").read_bytes() == b"before"


# What it refuses


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "hashgrid"}, "unknown structure 'hashgrid'; did you mean 'hash-grid'"),
        ({"structure": "split"}, "split declares nothing to tune; those that do: grid, hash-grid"),
        ({"parameter": "cell"}, "hash-grid declares no tunable parameter 'cell'; did you mean"),
        ({"structure": "loose-octree"}, "ndim=2: loose-octree indexes 3D boxes"),
        ({"jobs": []}, "jobs is empty"),
        ({"budget": 0}, "budget is 0: pass a number of seconds above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(scene, options, message):
    with pytest.raises(si.InvalidArgumentError, match=re.escape(message)):
        si.tune(scene, **options)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("curve.bmp", "the suffix '.bmp' is none of a picture; take .png, .svg, .pdf"),
        ("absent/curve.png", "there is no folder"),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_anything_begins(tmp_path, name, message):
    result = CliRunner().invoke(command, ["tune", "uniform:n=9", "--plot", str(tmp_path / name)])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


# The command


def test_the_command_writes_json_and_a_plot(tmp_path):
    path = tmp_path / "curve.svg"
    result = CliRunner().invoke(
        command,
        ["tune", "uniform:n=60", "--structure", "bvh", "--parameter", "leaf_size", "--jobs",
         "pairs", "--budget", "1", "--plot", str(path), "--json"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert (value["structure"], value["parameter"]) == ("bvh", "leaf_size")
    assert path.exists()


# The sample


@pytest.mark.parametrize(("frames", "wanted"), [(100, 12), (100, 25), (9, 3), (7, 100), (1, 3)])
def test_sampled_frames_are_few_ascending_runs(frames, wanted):
    picked = sampled_frames(frames, wanted)
    assert list(picked) == sorted(set(picked))
    assert len(picked) <= min(frames, wanted)
    assert 0 <= picked[0] <= picked[-1] < frames
    jumps = sum(b - a > 1 for a, b in itertools.pairwise(picked))
    assert jumps <= 2


def test_a_curve_says_what_it_is_in_a_line(curve):
    assert re.match(r"<Curve: hash-grid cell_size, \d+ points, best \S+, as good from", repr(curve))
    assert isinstance(curve, Curve)
