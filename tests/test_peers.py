"""Other libraries in a comparison: checked as all are, never silently timed, not charged for us."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import spatialindex as si
from spatialindex.cli.commands import command
from spatialindex.comparison import peer_indexes
from spatialindex.comparison.peers import PEERS, Peer, installed
from spatialindex.comparison.timing import Player

PLENTY = 600.0
OURS = ["brute-force"]


class _Scan(Peer):
    """A library that looks at everything."""

    name = module = distribution = "scan"
    ndims = (2, 3)

    def build(self, given):
        return given

    def meets(self, asked, boxes):
        ndim = boxes.shape[1] // 2
        return (
            (asked[:, None, :ndim] <= boxes[None, :, ndim:])
            & (boxes[None, :, :ndim] <= asked[:, None, ndim:])
        ).all(axis=2)

    def pairs(self, tree, given):
        return np.argwhere(np.triu(self.meets(tree, tree), 1))

    def query(self, tree, given):
        return np.nonzero(self.meets(given, tree))


class _Open(_Scan):
    """A library for which touching is no overlap."""

    def meets(self, asked, boxes):
        ndim = boxes.shape[1] // 2
        return (
            (asked[:, None, :ndim] < boxes[None, :, ndim:])
            & (boxes[None, :, :ndim] < asked[:, None, ndim:])
        ).all(axis=2)


class _Single(_Scan):
    """A library that rounds to float32."""

    def given(self, boxes):
        with np.errstate(over="ignore"):
            return boxes.astype(np.float32)


class _Raises(_Scan):
    def build(self, given):
        raise ZeroDivisionError("cannot build")


@pytest.fixture
def scan(monkeypatch, request):
    """Let a library of this module be the only one there is."""
    peer = getattr(request, "param", _Scan)()
    monkeypatch.setattr(peer_indexes, "PEERS", (peer,))
    monkeypatch.setattr(peer_indexes, "installed", lambda: (peer,))
    return peer


@pytest.fixture(scope="module")
def moving():
    return si.generate("churn", n=60, frames=5, seed=2)


def peer_row(rec, **options):
    result = si.compare(rec, OURS, budget=PLENTY, **options)
    (row,) = [row for row in result.rows if row.is_peer]
    return result, row


@pytest.mark.parametrize("peer", [p for p in PEERS if not p.is_for_points], ids=lambda p: p.name)
def test_installed_libraries_agree_while_objects_come_move_and_go(moving, peer):
    if peer not in installed():
        pytest.skip(f"{peer.name} is not installed")
    result, row = peer_row(moving, peers=peer.name)
    assert (row.status, row.checked) == ("ok", 5), row.note
    assert row.frame.samples == 4
    assert row.work is None
    assert result.agrees


def test_the_pair_filter_is_applied_to_what_a_library_finds(scan):
    rng = np.random.default_rng(5)
    boxes = si.generate("uniform", n=50).boxes
    rec = si.Recording(
        np.repeat(boxes, 3, axis=0),
        rng.random(50) < 0.3,
        asleep=rng.random((3, 50)) < 0.5,
        layer=rng.integers(0, 4, 50),
        mask=rng.integers(0, 4, 50),
    )
    _, row = peer_row(rec, peers="scan")
    assert (row.status, row.checked) == ("ok", 3), row.note


def test_a_scene_without_any_object_is_compared_with_a_library(scan):
    _, row = peer_row(si.generate("uniform", n=0), peers="scan")
    assert row.status == "ok", row.note


def test_points_are_compared_with_a_tree_of_points():
    pytest.importorskip("scipy")
    rng = np.random.default_rng(1)
    at = rng.integers(0, 6, (40, 2)).astype(float)
    rec = si.Recording(np.concatenate((at, at), axis=1)[None])
    _, row = peer_row(rec, peers="scipy", jobs=["build", "pairs"])
    assert (row.status, row.checked) == ("ok", 1), row.note


@pytest.mark.parametrize(
    ("scan", "scene", "words"),
    [
        (_Open, "stack:n=27,ndim=3", r"frame 0, pairs\(among='active'\): \d+ rows are missing"),
        (_Single, "stack:n=20,frames=3,speed=1e-9", r"frame \d, .*(missing|too much)"),
    ],
    indirect=["scan"],
)
def test_a_library_that_differs_is_shown_with_the_count_and_has_no_times(scan, scene, words):
    from spatialindex.scenes.generators import open_scene

    result, row = peer_row(open_scene(scene), peers=["scan"])
    assert row.status == "differs"
    assert re.match(words, row.note), row.note
    assert row.frame is row.pairs is row.build is None
    assert result.agrees  # no structure differs
    assert result.verdict.fastest == "brute-force"


@pytest.mark.parametrize("scan", [_Raises], indirect=True)
def test_a_library_that_raises_is_out_and_the_others_go_on(scan, moving):
    result, row = peer_row(moving, peers="all")
    assert row.status == "failed"
    assert "ZeroDivisionError: cannot build" in row.note
    assert result.rows[0].frame is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jobs": ["pairs", "raycast"]}, "it does not answer raycast; leave that out of the jobs"),
        ({"jobs": ["nearest"]}, "it does not answer nearest"),
    ],
)
def test_a_library_that_does_not_answer_what_is_asked_is_left_out(scan, moving, options, words):
    result, row = peer_row(moving, peers="scan", **options)
    assert row.status == "left out"
    assert words in row.note
    assert any(words in sentence for sentence in result.left_out)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("ndims", (3,), "it has no 2D boxes"),
        ("most", 10, "60 objects take it too long; 10 are the most"),
        ("is_for_points", True, "it indexes points, and these boxes have extents"),
    ],
)
def test_a_library_that_cannot_hold_the_scene_is_left_out(
    scan, moving, monkeypatch, field, value, words
):
    monkeypatch.setattr(type(scan), field, value)
    _, row = peer_row(moving, peers="scan")
    assert (row.status, row.note) == ("left out", words)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shaply", "unknown peer 'shaply'; did you mean 'shapely'? known: shapely, geoindex-rs"),
        ("rtree", "peer 'rtree' is not installed; pip install rtree, or all of them: pip install "),
    ],
)
def test_a_library_that_is_not_there_is_refused(moving, monkeypatch, name, message):
    monkeypatch.setattr(peer_indexes, "installed", lambda: ())
    with pytest.raises(si.InvalidArgumentError, match=re.escape(message)):
        si.compare(moving, OURS, peers=name)


def test_what_the_harness_does_for_a_library_is_not_on_its_clock():
    entrant = SimpleNamespace(is_peer=True, status="ok")
    player = Player("scan", None, 1, entrant)
    index = SimpleNamespace(uncharged=0.0)
    before = player.clock(index)
    index.uncharged = 1e12
    assert player.clock(index) < before - 1e11


def test_keeping_boxes_ids_and_order_is_not_charged(scan, monkeypatch):
    ticks = iter(range(10**6))
    monkeypatch.setattr(peer_indexes.time, "perf_counter", lambda: float(next(ticks)))
    index = peer_indexes.PeerIndex(scan, 2)
    state = dict.fromkeys(("static", "asleep", "sensor"), False) | {"layer": 1, "mask": 1}
    index.insert(np.array([[0.0, 0, 1, 1], [1, 1, 2, 2]]), np.array([9, 3]), **state)
    assert index.uncharged == 1.0
    assert index.pairs(among="active").tolist() == [[3, 9]]
    assert index.uncharged == 3.0  # boxes in its own form, and order


def test_the_command_takes_libraries_and_does_not_fail_for_one_that_differs(monkeypatch):
    peer = _Open()
    monkeypatch.setattr(peer_indexes, "PEERS", (peer,))
    monkeypatch.setattr(peer_indexes, "installed", lambda: (peer,))
    arguments = ["compare", "stack:n=27", "--structures", "brute-force", "--peers", "scan"]
    result = CliRunner().invoke(command, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    (comparison,) = json.loads(result.stdout)["comparisons"]
    assert [row["status"] for row in comparison["rows"]] == ["ok", "differs", "floor"]
    assert [row["is_peer"] for row in comparison["rows"]] == [False, True, False]
    shown = CliRunner().invoke(command, arguments)
    assert "DIFFERS  scan: frame 0" in shown.stdout


def test_a_report_draws_structures_and_no_libraries(scan, moving):
    result, row = peer_row(moving, peers="scan")
    assert row.status == "ok"
    assert row.label in result.to_html(moving)
