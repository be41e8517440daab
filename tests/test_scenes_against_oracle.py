"""Recorded scenes, every frame, on every structure: the same answers as the oracle.

The bundled recordings are played by default. To check others as well, name their folder::

    SPATIALINDEX_SCENES=path/to/recordings pytest tests/test_scenes_against_oracle.py
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import spatialindex as si
from spatialindex import oracle
from spatialindex.constants import STATE_DTYPE
from spatialindex.testing.answers import assert_same

BUNDLED = Path(__file__).parents[1] / "examples" / "recordings"
FOLDERS = [BUNDLED, *map(Path, filter(None, [os.environ.get("SPATIALINDEX_SCENES")]))]
PATHS = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.npz"))}


@cache
def recording_of(name):
    return si.Recording.load(PATHS[name])


def state_of(frame):
    state = np.empty(len(frame.ids), STATE_DTYPE)
    for field, values in frame.options().items():
        state[field] = values
    return state


def questions(frame, t):
    """Some boxes of the frame and gaps between them, others in every frame."""
    boxes = frame.boxes[t % 7 :: max(1, len(frame.boxes) // 20)]
    ndim = boxes.shape[1] // 2
    edges = boxes[:, ndim:] - boxes[:, :ndim]
    return np.concatenate((boxes, boxes + 0.75 * np.tile(edges, 2)))


@cache
def expected_of(name):
    """The oracle's answers, a frame each; worked out once for all structures."""
    answers = []
    for t, frame in enumerate(recording_of(name)):
        content = frame.ids, frame.boxes, state_of(frame)
        asked = questions(frame, t)
        answers.append(
            {
                "all": oracle.pairs(*content, among="all"),
                "active": oracle.pairs(*content, among="active"),
                "contacts": oracle.pairs(*content, among="dynamic", sensors="exclude"),
                "sensors": oracle.pairs(*content, among="dynamic", sensors="only"),
                "query": oracle.query(*content, asked),
                "radius": oracle.query_radius(*content, asked[:, : asked.shape[1] // 2], 1.0),
            }
        )
    return answers


@pytest.mark.parametrize(
    ("name", "structure"),
    [
        pytest.param(name, entry.name, id=f"{name}-{entry.name}")
        for name in PATHS
        for entry in si.structures()
        if recording_of(name).ndim in entry.ndims
    ],
)
def test_every_frame_has_the_answers_of_the_oracle(name, structure):
    recording = recording_of(name)
    index = si.create(structure, recording.ndim)
    keeping = si.create(
        structure, recording.ndim
    )  # asked one option: its pairs are kept and mended
    ndim = recording.ndim
    for t, (changes, expected) in enumerate(
        zip(recording.replay(), expected_of(name), strict=True)
    ):
        changes.apply(index)
        changes.apply(keeping)
        assert_same(keeping.pairs(), expected["active"], f"kept pairs of frame {t}")
        frame = recording.frame(t)
        assert_same(index.ids, frame.ids, f"ids of frame {t}")
        assert_same(index.boxes(), frame.boxes, f"boxes of frame {t}")
        assert_same(index.pairs(), expected["active"], f"pairs of frame {t}")
        assert_same(index.pairs(among="all"), expected["all"], f"all pairs of frame {t}")
        asked = questions(frame, t)
        assert_same(index.query(asked), expected["query"], f"queries of frame {t}")
        found = index.query_radius(asked[:, :ndim], 1.0)
        assert_same(found, expected["radius"], f"radius queries of frame {t}")
        if t % 50 == 0:
            index.validate()
    index.validate()
    keeping.validate()


LOOSE = {2: "loose-quadtree", 3: "loose-octree"}
SPLITS = {
    "default": lambda ndim: {},
    "swept": lambda ndim: {"static": "bvh", "dynamic": "sweep-and-prune", "coarse": "bvh"},
    "scanned": lambda ndim: dict.fromkeys(PARTS, "brute-force"),
    "loose": lambda ndim: dict.fromkeys(PARTS, LOOSE[ndim]),
}
PARTS = ("static", "dynamic", "coarse")
PLAYED = ("pymunk_pyramid", "rapier_log")  # by all
IN_MOTION = [name for name in PATHS if recording_of(name).frames > 1]


def differences(before, now):
    """Return the rows that are only in one and those that are only in the other, in order."""
    old, new = set(map(tuple, before.tolist())), set(map(tuple, now.tolist()))
    return [np.array(sorted(rows), np.int64).reshape(-1, 2) for rows in (new - old, old - new)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        *((name, "default") for name in IN_MOTION),
        # the others play one scene of each dimension
        *((name, parts) for name in PLAYED for parts in SPLITS if parts != "default"),
    ],
)
def test_events_of_every_frame_are_differences_of_the_pairs_of_the_oracle(name, parts):
    recording = recording_of(name)
    world = si.SplitIndex(recording.ndim, **SPLITS[parts](recording.ndim))
    nothing = np.empty((0, 2), np.int64)
    before = {"contacts": nothing, "sensors": nothing}
    for t, (changes, now) in enumerate(zip(recording.replay(), expected_of(name), strict=True)):
        changes.apply(world)
        report = world.step()
        began, ended = differences(before["contacts"], now["contacts"])
        assert_same(report.began, began, f"began in frame {t}")
        assert_same(report.ended, ended, f"ended in frame {t}")
        began, ended = differences(before["sensors"], now["sensors"])
        assert_same(report.sensor_began, began, f"began with a sensor in frame {t}")
        assert_same(report.sensor_ended, ended, f"ended with a sensor in frame {t}")
        rows = np.concatenate([report.pairs, report.sensor_pairs])
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        assert_same(rows, now["active"], f"pairs of frame {t}")
        before = now
    world.validate()


def test_recordings_are_bundled_and_not_trivial():
    assert {"arcade_level", "pymunk_pyramid", "rapier_log", "us_counties"} <= set(PATHS)
    assert {recording_of(name).ndim for name in PATHS} == {2, 3}
    for name in PATHS:
        assert any(len(expected["all"]) > 100 for expected in expected_of(name))
