"""The HTML report as a file: complete or not at all, escaped, and thinned out within its budget."""

import base64
import json
import re
import zlib
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from click.testing import CliRunner

import spatialindex as si
from spatialindex.cli.commands import command
from spatialindex.comparison.curves import Curve, CurvePoint
from spatialindex.comparison.report import scene as scene_module
from spatialindex.comparison.report.packing import MOST_STEPS, in_steps, packed_boxes
from spatialindex.comparison.results import Verdict
from spatialindex.registry import Entry, register, unregister

NAME = '</script><script>alert("x")</script><b>&{{data}}'


@pytest.fixture(scope="module")
def recording():
    rec = si.generate("brownian", n=12, frames=5, seed=3)
    asleep = np.zeros((5, 12), bool)
    asleep[2:, 3] = True
    return si.Recording(rec.boxes, np.arange(12) < 2, asleep=asleep, name=NAME)


@pytest.fixture(scope="module")
def result(recording):
    return si.compare(recording, ["brute-force"], budget=600.0, plays=1)


POINTS = (CurvePoint(2.0, 0.004, 30, 400, 35, 7, 20), CurvePoint(4.0, 0.001, 60, 200, 70, 9, 20))
CURVE = Curve("hash-grid", "cell_size", POINTS, POINTS[1], (1.5, 2.0), (4.0, 4.0), notes=("few",))


def data_of(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


def unpacked(text, dtype):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)


def test_figures_are_those_of_the_json(result, recording):
    data = data_of(result.to_html(recording))
    assert data["comparison"] == json.loads(json.dumps(result.as_dict()))
    assert set(data["comparison"]["series"]["brute-force"]) == {"1", "2", "3", "4"}


def test_curves_are_those_of_the_json(result, recording):
    tuned = replace(result, curves=(CURVE,))
    assert tuned.as_dict()["curves"] == [CURVE.as_dict()]
    data = data_of(tuned.to_html(recording))
    assert data["comparison"] == json.loads(json.dumps(tuned.as_dict()))
    assert CURVE.words in str(tuned.table().renderables[-3])


def headed(result, recording):
    page = result.to_html(recording)
    return [unescape(text) for text in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", page)][:3], page


def test_the_heading_says_who_is_fastest_and_how_clear_that_is(result, recording):
    headings, page = headed(result, recording)
    assert headings[:2] == ["brute-force was timed alone", "The scene"]
    assert "<code>si.create(&quot;brute-force&quot;, ndim=2)</code>" in page

    def row(label, parameters):
        return replace(result.rows[0], label=label, name="bvh", parameters=parameters)

    rows = (row("bvh", {}), row("bvh(leaf_size=4)", {"leaf_size": 4}), result.rows[-1])
    words = "fastest per frame: bvh, 1 ms; because: 3 against 9; although: 5 against 2"
    clear = Verdict(
        "bvh", rows[1].label, 2.0, 4, 4, True, ("3 against 9",), ("5 against 2",), words
    )
    headings, page = headed(replace(result, rows=rows, verdict=clear), recording)
    assert headings == [
        "bvh is fastest",
        "For bvh, compared with bvh(leaf_size=4)",
        "Against bvh, compared with bvh(leaf_size=4)",
    ]
    assert '<p id="verdict">bvh, 1 ms.</p>' in page
    tie = replace(
        clear, is_clear=False, reasons=(), contrary=(), words="no clear winner: too close"
    )
    headings, page = headed(replace(result, rows=rows, verdict=tie), recording)
    assert headings[:2] == ["No clear winner: bvh or bvh(leaf_size=4)", "The scene"]
    assert "<code>si.create(&quot;bvh&quot;, ndim=2, leaf_size=4)</code>" in page
    wrong = replace(
        result.rows[0], label="grid", status="differs", note="frame 3: pairs, 1 missing"
    )
    _, page = headed(replace(result, rows=(*result.rows, wrong)), recording)
    assert "Wrong answers, not timed: grid: frame 3: pairs, 1 missing." in page
    nobody = Verdict(None, None, None, 0, 0, False, (), (), "no structure was timed")
    assert headed(replace(result, verdict=nobody), recording)[0][0] == "No structure was timed"


def test_texts_of_a_recording_are_never_markup(result, recording):
    page = result.to_html(recording)
    assert NAME not in page
    assert "alert(&quot;x&quot;)" in page
    assert data_of(page)["comparison"]["scene"]["name"] == NAME


def boxes_of(scene, text, boxes):
    """Return what is drawn, ``(rows, boxes, 2*ndim)``, in the coordinates of the recording."""
    ndim = scene["ndim"]
    planes = unpacked(text, np.uint8).reshape(4, -1).astype(np.int64)
    folded = planes[0] + 256 * (planes[1] + 256 * (planes[2] + 256 * planes[3]))
    steps = np.where(folded % 2, -(folded + 1) // 2, folded // 2).reshape(-1, boxes, 2 * ndim)
    steps = steps.cumsum(axis=0)
    steps[:, :, ndim:] += steps[:, :, :ndim]
    return steps * scene["step"] + np.tile(scene["center"], 2)


def test_boxes_and_states_are_those_of_the_recording(result, recording):
    scene = data_of(result.to_html(recording))["scene"]
    boxes = boxes_of(scene, scene["boxes"], 12)
    edges = recording.boxes[..., 2:] - recording.boxes[..., :2]
    assert scene["step"] <= np.median(edges) / 64
    assert np.abs(boxes - recording.boxes).max() <= scene["step"] / 2
    states = unpacked(scene["states"], np.uint8).reshape(5, 12)
    assert ((states & 2 > 0) == recording.asleep).all()
    index = si.BruteForce(ndim=2)
    for t, changes in enumerate(recording.replay()):
        changes.apply(index)
        assert np.flatnonzero(states[t] & 4).tolist() == np.unique(index.pairs()).tolist()
        assert scene["pairs"][t] == len(index.pairs())
    assert scene["notes"] == []


def test_frames_and_objects_beyond_the_budget_are_sampled_and_it_is_said(
    result, recording, monkeypatch
):
    monkeypatch.setattr(scene_module, "FRAME_BYTES", 3 * 6 * 17)
    monkeypatch.setattr(scene_module, "MOST_OBJECTS", 6)
    scene = data_of(result.to_html(recording))["scene"]
    assert scene["frames"] == [0, 2, 4]
    assert len(boxes_of(scene, scene["boxes"], 6)) == 3
    assert scene["notes"][:2] == [
        "6 of 12 objects are drawn, evenly sampled",
        "3 of 5 frames are drawn, evenly sampled",
    ]


def test_frames_are_left_out_until_their_text_fits(result, recording, monkeypatch):
    whole = data_of(result.to_html(recording))["scene"]
    monkeypatch.setattr(scene_module, "TEXT_BYTES", len(whole["boxes"]) - 1)
    scene = data_of(result.to_html(recording))["scene"]
    assert len(scene["boxes"]) < len(whole["boxes"])
    assert 1 < len(scene["frames"]) < 5
    assert scene["notes"] == [f"{len(scene['frames'])} of 5 frames are drawn, evenly sampled"]
    kept = boxes_of(scene, scene["boxes"], 12)
    assert (kept == boxes_of(whole, whole["boxes"], 12)[scene["frames"]]).all()


def test_boxes_that_touch_still_do_and_far_ones_are_cut_off():
    far = [-1e300, -np.inf, np.inf, 1e300]
    boxes = np.array([[0.1, 0.1, 0.7, 0.7], [0.7, 0.2, 0.9, 1.3], far])
    steps = in_steps(boxes, np.array([0.3, 0.3]), 0.25)
    assert steps.tolist()[:2] == [[-1, -1, 2, 2], [2, 0, 2, 4]]
    assert steps[2].tolist() == [-MOST_STEPS, -MOST_STEPS, MOST_STEPS, MOST_STEPS]
    scene = {"ndim": 2, "step": 0.25, "center": [0.3, 0.3]}
    rows = np.stack([steps, steps[::-1]])  # from one end to the other: no difference overflows
    again = boxes_of(scene, packed_boxes(rows), 3)
    assert ((again - 0.3) / 0.25).round().astype(int).tolist() == rows.tolist()


def test_objects_that_are_gone_are_not_drawn_and_stay_where_they_were():
    boxes = np.tile([0.0, 0.0, 1.0, 1.0], (3, 2, 1))
    boxes[1:, 1] += 3.0
    alive = np.array([[True, False], [True, True], [True, False]])
    boxes[~alive] = np.nan
    rec = si.Recording(boxes, alive=alive)
    result = si.compare(rec, ["brute-force"], budget=600.0, plays=1)
    scene = data_of(result.to_html(rec))["scene"]
    assert (unpacked(scene["states"], np.uint8).reshape(3, 2) & 1 > 0).tolist() == alive.tolist()
    assert boxes_of(scene, scene["boxes"], 2)[2, 1].tolist() == [3.0, 3.0, 4.0, 4.0]


class Untold:
    """An index that is made of another one, and does not tell its parts."""

    name = "untold"
    ndims = (2, 3)
    parameters = ()

    def __init__(self, ndim):
        self._index = si.BruteForce(ndim=ndim)

    def __getattr__(self, name):
        if name == "outlines":
            raise AttributeError(name)
        return getattr(self._index, name)

    def __len__(self):
        return len(self._index)

    def pairs(self, **options):
        return self._index.pairs(**options)


class Failing(Untold):
    """An index whose parts cannot be had."""

    name = "failing"

    def outlines(self):
        raise ValueError("no paper left")


def test_parts_that_cannot_be_had_are_left_out_and_it_is_said(recording):
    for cls in (Untold, Failing):
        register(Entry(cls.name, f"{__name__}:{cls.__name__}", "for a test"))
    try:
        result = si.compare(recording, ["untold", "failing"], budget=600.0, plays=1)
        assert result.agrees, [row.note for row in result.rows]
        scene = data_of(result.to_html(recording))["scene"]
    finally:
        for cls in (Untold, Failing):
            unregister(cls.name)
    reasons = ("it has no method outlines()", "outlines() failed: ValueError('no paper left')")
    assert scene["notes"] == [
        f"of {name}, no parts are drawn: {reason}"
        for name, reason in zip(("untold", "failing"), reasons, strict=True)
    ]
    look = scene["structures"][0]["looks"][0]
    assert (look["of"], look["untold"], look["entries"]) == (0, reasons[0], 12)
    assert boxes_of(scene, look["boxes"], 1).size == 0


def test_pairs_are_left_out_where_there_are_too_many(result, recording, monkeypatch):
    monkeypatch.setattr(scene_module, "MOST_PAIRS", -1)
    scene = data_of(result.to_html(recording))["scene"]
    assert scene["pairs"] == [None] * 5
    assert scene["structures"][0]["looks"][0]["candidates"] is None
    assert scene["notes"] == ["pairs are not highlighted: too many"]


def test_another_recording_is_refused(result):
    other = si.generate("uniform", n=5, frames=2)
    with pytest.raises(si.InvalidArgumentError, match="pass the recording that was compared"):
        result.to_html(other)


def test_a_scene_of_no_objects_and_boxes_beyond_float32_can_be_drawn():
    for boxes in (np.empty((2, 0, 4)), np.array([[[-1e308, 0, 1e308, 1e-300]]] * 2)):
        rec = si.Recording(boxes)
        page = si.compare(rec, ["brute-force"], budget=600.0, plays=1).to_html(rec)
        assert np.isfinite(data_of(page)["scene"]["focus"]).all()


def test_a_page_appears_completely_or_not_at_all(result, recording, tmp_path):
    result.write_html(tmp_path / "report.html", recording)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(si.InvalidArgumentError, match="cannot be written"):
        result.write_html(tmp_path, recording)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("scenes", "target", "words"),
    [
        (["uniform:n=3"], "nowhere/report.html", "there is no folder"),
        (["uniform:n=3", "thin:n=3"], "report.html", "a page shows one scene, and there are 2"),
        (["uniform:n=3"], "scene.npz", "scene.npz: is named as a recording"),
    ],
)
def test_a_page_that_cannot_be_is_refused_before_anything_runs(scenes, target, words, tmp_path):
    done = CliRunner().invoke(command, ["compare", *scenes, "--html", str(tmp_path / target)])
    assert done.exit_code == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_page_does_not_take_the_place_of_the_recording_behind_a_link(tmp_path):
    scene = tmp_path / "scene.npz"
    si.generate("uniform", n=3).save(scene)
    before = scene.read_bytes()
    (tmp_path / "report.html").symlink_to(scene)
    words = ["compare", str(scene), "--html", str(tmp_path / "report.html")]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2
    assert "is named as a recording, which a page would replace" in done.stderr
    assert scene.read_bytes() == before
