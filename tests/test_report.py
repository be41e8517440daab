"""The HTML report as a file: complete or not at all, escaped, and thinned out within its budget."""

import base64
import json
import re
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

import spatialindex as si
from spatialindex.cli.commands import command
from spatialindex.comparison.report import scene as scene_module

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


def data_of(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(text)


def unpacked(text, dtype):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype)


def test_figures_are_those_of_the_json(result, recording):
    data = data_of(result.to_html(recording))
    assert data["comparison"] == json.loads(json.dumps(result.as_dict()))
    assert set(data["comparison"]["series"]["brute-force"]) == {"1", "2", "3", "4"}


def test_texts_of_a_recording_are_never_markup(result, recording):
    page = result.to_html(recording)
    assert NAME not in page
    assert "alert(&quot;x&quot;)" in page
    assert data_of(page)["comparison"]["scene"]["name"] == NAME


def test_boxes_and_states_are_those_of_the_recording(result, recording):
    scene = data_of(result.to_html(recording))["scene"]
    boxes = unpacked(scene["boxes"], "<f4").reshape(5, 12, 4) + np.tile(scene["center"], 2)
    assert np.abs(boxes - recording.boxes).max() < 1e-2
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
    assert len(unpacked(scene["boxes"], "<f4")) == 3 * 6 * 4
    assert scene["notes"][:2] == [
        "6 of 12 objects are drawn, evenly sampled",
        "3 of 5 frames are drawn, evenly sampled",
    ]


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
    ],
)
def test_a_page_that_cannot_be_is_refused_before_anything_runs(scenes, target, words, tmp_path):
    done = CliRunner().invoke(command, ["compare", *scenes, "--html", str(tmp_path / target)])
    assert done.exit_code == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []
