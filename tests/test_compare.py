"""`si.compare`: what is checked, what is said, and that its figures agree with each other."""

import json
import math
import re
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import spatialindex as si
from spatialindex import oracle
from spatialindex.comparison import forecast, runner
from spatialindex.comparison.batches import NEIGHBORS, edge_points, edge_rays
from spatialindex.comparison.contestants import EMPTY, Entrant
from spatialindex.comparison.facts import scene_facts
from spatialindex.comparison.planning import box_tests, estimated_pairs, spread
from spatialindex.comparison.playback import Playback, edge_queries
from spatialindex.comparison.results import DEFAULT_JOBS, JOBS, Row, Timing
from spatialindex.comparison.verdict import decide, milliseconds
from spatialindex.comparison.verification import difference
from spatialindex.indexes.brute_force import BruteForce
from spatialindex.keeping import KeptPairs
from spatialindex.registry import Entry, register, unregister

PLENTY = 600.0  # seconds: nothing is cut short, so that all figures but times are the same


@pytest.fixture
def broken(request):
    """Register a structure of this module for one test; returns its registry name."""
    cls = request.param
    register(Entry(cls.name, f"{__name__}:{cls.__name__}", "wrong on purpose"))
    yield cls.name
    unregister(cls.name)


class _Toy(BruteForce):
    name = "toy"

    def pairs(self, **options):
        return self.spoilt(super().pairs(**options))

    def spoilt(self, rows):
        return rows


class LosesOne(_Toy):
    name = "loses-one"

    def spoilt(self, rows):
        return rows[1:]


class Invents(_Toy):
    name = "invents"

    def spoilt(self, rows):
        return np.concatenate([rows, [[10**6, 10**6 + 1]]])


class Repeats(_Toy):
    name = "repeats"

    def spoilt(self, rows):
        return np.repeat(rows, 2, axis=0)


class Disorders(_Toy):
    name = "disorders"

    def spoilt(self, rows):
        return rows[::-1]


class WrongType(_Toy):
    name = "wrong-type"

    def spoilt(self, rows):
        return rows.astype(np.int32)


class Stale(_Toy):
    """Forgets to move what is moved later."""

    name = "stale"

    def update(self, ids, boxes):
        if len(np.atleast_1d(ids)) != 256:  # the first calls may move what they like
            return
        super().update(ids, boxes)


class BlindQueries(_Toy):
    name = "blind-queries"

    def query(self, boxes, **options):
        rows = super().query(boxes, **options)
        return rows[:-1] if np.ndim(boxes) == 2 else rows


class NearSighted(_Toy):
    """Finds the nearest, and takes the second for the third."""

    name = "near-sighted"

    def nearest(self, points, k=1, **options):
        ids, distances = super().nearest(points, k, **options)
        if np.ndim(points) == 2 and k == NEIGHBORS:
            ids[:, 2] = ids[:, 1]
        return si.Neighbors(ids, distances)


class LateRays(_Toy):
    """Meets everything one step of the floats too late."""

    name = "late-rays"

    def raycast(self, *rays, **options):
        ids, t = super().raycast(*rays, **options)
        return si.RayHits(ids, np.nextafter(t, np.inf))


class SinglePrecision(_Toy):
    name = "single-precision"

    def raycast(self, *rays, **options):
        ids, t = super().raycast(*rays, **options)
        return si.RayHits(ids, np.float32(t))


class RowsOfHits(_Toy):
    name = "rows-of-hits"

    def raycast(self, *rays, **options):
        return super().raycast_all(*rays, **options).rows


class Raises(_Toy):
    name = "raises"

    def insert(self, boxes, ids=None, **state):
        if len(boxes) == 40:
            raise RuntimeError("no place\nand a second line")
        return super().insert(boxes, ids, **state)


class RaisesAtFirst(_Toy):
    name = "raises-at-first"

    def join(self, other, **options):
        raise NotImplementedError("join")


class LateLiar(_Toy):
    """Right while it is checked, wrong when the same is asked of its fifth index."""

    name = "late-liar"
    made = 0

    def __init__(self, ndim=2):
        super().__init__(ndim)
        type(self).made += 1
        self.lies = type(self).made > 4

    def spoilt(self, rows):
        return rows[1:] if self.lies else rows


@pytest.fixture(scope="module")
def moving():
    return si.generate("brownian", n=40, frames=4, seed=3)


def compare(rec, structures=("brute-force", "hash-grid"), **options):
    return si.compare(rec, structures, **({"budget": PLENTY, "plays": 1, "repeats": 2} | options))


def drawn(result, width=100):
    out = StringIO()
    Console(file=out, width=width, highlight=False).print(result.table(width))
    return out.getvalue()


def without_times(value):
    """Take out what depends on the clock or the machine, in all depths."""
    timed = {"compile", *JOBS, "frame", "series", "verdict", "machine"}
    if isinstance(value, dict):
        return {
            key: without_times(item)
            for key, item in value.items()
            # "pairs" and "query" are times in rows, and figures elsewhere
            if key not in timed or not isinstance(item, dict | float | type(None))
        }
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value


# -- right structures --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("uniform", {}),
        ("brownian", {}),
        ("teleport", {}),
        ("sleepers", {}),
        ("churn", {"lifetime": 2}),
        ("stack", {}),
        ("point", {}),
        ("planet", {}),
    ],
)
@pytest.mark.parametrize("ndim", [2, 3])
def test_structures_agree_with_the_oracle_in_every_frame(kind, options, ndim):
    rec = si.generate(kind, n=60, ndim=ndim, frames=5, seed=1, **options)
    result = compare(rec, jobs=("pairs", "query"))
    assert result.agrees
    assert (result.checked.frames, result.checked.of_frames) == (5, 5)
    assert [row.checked for row in result.rows] == [5, 5, 0]


def test_all_registered_structures_are_compared_by_default(moving):
    result = si.compare(moving, budget=PLENTY, plays=1, repeats=1)
    names = [entry.name for entry in si.structures() if moving.ndim in entry.ndims]
    assert [row.label for row in result.rows] == [*names, EMPTY]


def test_what_was_checked_is_counted_by_the_oracle(moving):
    result = compare(moving, queries=20)
    frames = [moving.frame(t) for t in range(4)]
    rows = sum(len(oracle.pairs(f.ids, f.boxes)) for f in frames)
    assert result.checked.pair_rows == 2 * rows  # nothing rests: active and all are the same
    assert result.checked.queries == 20 + len(edge_queries(frames[0], 2))
    assert result.checked.words.startswith("4 of 4 frames, pairs (")


def test_a_scene_that_is_empty_at_first_is_compared():
    boxes = np.full((3, 2, 4), np.nan)
    boxes[1:] = [[0, 0, 1, 1], [1, 1, 2, 2]]
    result = compare(si.Recording(boxes, alive=~np.isnan(boxes[..., 0])))
    assert result.agrees
    assert result.scene.inserted == 2
    assert result.row("hash-grid").work.pairs == 1


def test_a_scene_without_any_object_is_compared():
    result = compare(si.Recording(np.empty((2, 0, 4))))
    assert result.agrees
    assert result.scene.bounds == ()


def test_layers_masks_and_sensors_take_part():
    rec = si.Recording(
        [[[0, 0, 2, 2]] * 4] * 2, layer=[1, 2, 4, 1], mask=[2, 1, 4, 0], sensor=[False, True] * 2
    )
    result = compare(rec)
    assert result.agrees
    assert result.row("brute-force").work.pairs == 1


def test_parameters_make_contestants_of_one_structure(moving):
    choice = [("hash-grid", {"cell_size": 5.0}), ("hash-grid", {"cell_size": 90.0})]
    result = compare(moving, choice)
    small, large, _ = result.rows
    assert (small.label, large.label) == ("hash-grid cell_size=5.0", "hash-grid cell_size=90.0")
    assert small.work.entries > large.work.entries
    assert result.agrees


# -- neighbours and rays -----------------------------------------------------------------------

ORDERED = ("nearest", "raycast")


@pytest.mark.parametrize(
    ("kind", "options"),
    [("brownian", {}), ("sleepers", {}), ("churn", {"lifetime": 2}), ("stack", {}), ("point", {})],
)
@pytest.mark.parametrize("ndim", [2, 3])
def test_structures_agree_with_the_oracle_on_neighbours_and_rays(kind, options, ndim):
    rec = si.generate(kind, n=60, ndim=ndim, frames=3, seed=1, **options)
    result = compare(rec, jobs=ORDERED)
    assert result.agrees
    assert [row.checked for row in result.rows] == [3, 3, 0]
    assert result.frame_jobs == ORDERED
    assert (result.checked.pairs, result.checked.queries) == (False, 0)
    assert all(row.timing(job).samples == 2 for row in result.rows for job in ORDERED)


def test_neighbours_and_rays_that_were_checked_are_counted_by_the_oracle(moving):
    result = compare(moving, ["brute-force"], jobs=ORDERED, queries=20)
    play = Playback(moving, frames=4, queries=20, seed=0, among="active")
    hits = 0
    for t in range(4):
        frame, rays = moving.frame(t), play.checked_rays(t)
        ids, _ = oracle.raycast(
            frame.ids, frame.boxes, None, rays.origins, rays.directions,
            max_t=rays.lasts, ignore=rays.ignored,
        )  # fmt: skip
        hits += np.count_nonzero(ids >= 0)
    points, n_rays = 20 + len(edge_points(frame, 2)), 20 + len(edge_rays(frame, 2).origins)
    assert result.checked.words == (
        f"4 of 4 frames, {points} points each ({4 * points * NEIGHBORS} neighbours) "
        f"and {n_rays} rays each ({hits} hits)"
    )
    assert result.checked.box_tests == 4 * (points + n_rays) * 40


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (NearSighted, r"frame 0, nearest\(\) of 68 points: row 0, place 2 is (\d+) at .*, not \d+"),
        (
            LateRays,
            r"frame 0, raycast\(\) of 69 rays: row 0 is (\d+) at (.*), not \1 at .*rows differ",
        ),
        (
            SinglePrecision,
            r"raycast.*: the answer is int64 .*, float32 of shape \(69,\), not int64",
        ),
        (RowsOfHits, r"raycast.*: the answer is ndarray, not ids and floats$"),
    ],
    indirect=["broken"],
)
def test_wrong_neighbours_and_rays_are_named_and_get_no_times(moving, broken, words):
    result = compare(moving, ["brute-force", broken], jobs=ORDERED)
    row = result.row(broken)
    assert row.status == "differs"
    assert re.search(words, row.note), row.note
    assert [row.timing(job) for job in (*JOBS, "frame")] == [None] * 7
    assert result.verdict.fastest == "brute-force"


def test_points_and_rays_are_sampled_when_the_work_is_not_enough_for_two_frames(moving):
    checked = compare(moving, ["brute-force"], jobs=ORDERED, work=1600).checked
    assert (checked.frames, checked.planned) == (2, 2)
    assert (checked.points, checked.rays) == (9, 10)
    assert checked.box_tests == 2 * (9 + 10) * 40 <= 1600
    least = compare(moving, ["brute-force"], jobs=ORDERED, work=1).checked
    assert (least.points, least.rays) == (4, 4)


def test_neighbours_and_rays_of_a_scene_without_any_object_are_compared():
    result = compare(si.Recording(np.empty((2, 0, 4))), jobs=ORDERED)
    assert result.agrees
    assert (result.checked.neighbors, result.checked.hits) == (0, 0)


def test_neighbours_and_rays_in_a_world_as_wide_as_floats_are_compared():
    far = 1.7e308
    rec = si.Recording([[[-far, -far, -far, -far], [far, far, far, far], [-far, -1, far, 1]]])
    assert compare(rec, ["brute-force", "hash-grid"], jobs=ORDERED).agrees


def test_the_same_points_and_rays_are_asked_in_every_run(moving):
    play, again = (Playback(moving, 4, 64, 7, "active") for _ in range(2))
    assert np.array_equal(play.points(2), again.points(2))
    assert not np.array_equal(play.points(2), play.points(3))
    for mine, other in zip(play.rays(2), again.rays(2), strict=True):
        assert np.array_equal(mine, other)
    rays = play.checked_rays(2)
    assert rays.directions.any(axis=1).all()
    assert np.isin(rays.ignored[:48], moving.frame(2).ids).all()


def test_frames_with_neighbours_and_rays_are_ranked_by_all_that_is_timed(moving):
    result = compare(moving, jobs=JOBS)
    assert result.frame_jobs == ("update", "pairs", "query", *ORDERED)
    row = result.row("hash-grid")
    assert row.frame.median >= max(row.nearest.median, row.raycast.median)
    assert "frame = update + pairs + query + nearest + raycast" in drawn(result, 200)
    assert result.checked.words.count(",") >= 3


# -- wrong structures --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (LosesOne, r"frame 0, pairs\(among='active'\): 1 row is missing, first \(\d+, \d+\)$"),
        (Invents, r"frame 0, pairs.*: 1 row is too much, first \(1000000, 1000001\)$"),
        (Repeats, r"frame 0, pairs.*: \d+ rows are there more than once$"),
        (Disorders, r"frame 0, pairs.*: the rows are right, but not in canonical order$"),
        (WrongType, r"frame 0, pairs.*: the answer is int32, not an array of int64$"),
        (Stale, r"frame 1, pairs.*: \d+ rows? (is|are) (missing|too much)"),
        (BlindQueries, r"frame 0, query\(\) of 69 boxes: 1 row is missing, first \(\d+, \d+\)$"),
    ],
    indirect=["broken"],
)
def test_a_structure_that_differs_is_named_and_gets_no_times(moving, broken, words):
    result = compare(moving, ["brute-force", broken])
    row = result.row(broken)
    assert row.status == "differs"
    assert re.search(words, row.note), row.note
    assert [row.timing(job) for job in (*JOBS, "frame")] == [None] * 7
    assert row.work is None
    assert not result.agrees
    assert result.verdict.fastest == "brute-force"
    assert f"DIFFERS  {broken}: {row.note}" in drawn(result, 400)


@pytest.mark.parametrize(
    ("broken", "note"),
    [
        (Raises, "frame 0: RuntimeError: no place"),
        (RaisesAtFirst, "its first calls: NotImplementedError: join"),
    ],
    indirect=["broken"],
)
def test_a_structure_that_raises_is_out_and_the_others_go_on(moving, broken, note):
    result = compare(moving, [broken, "brute-force"])
    assert (result.row(broken).status, result.row(broken).note) == ("failed", note)
    assert result.row(broken).frame is None
    assert result.row("brute-force").checked == 4
    assert not result.agrees


@pytest.mark.parametrize("broken", [LateLiar], indirect=True)
def test_the_answers_that_are_timed_are_compared_too(moving, broken):
    LateLiar.made = 0
    result = compare(moving, ["brute-force", broken])
    row = result.row(broken)
    assert row.status == "differs"
    assert row.note.startswith("while timed, frame 0 of fresh index 0, against brute-force: 1 row")
    assert row.build is None


def crowd(frames, among="active"):
    """Make 20 boxes that all meet, of which two take a step in each frame."""
    boxes = np.tile([0.0, 0.0, 9.0, 9.0], (frames, 20, 1))
    for t in range(1, frames):
        boxes[t:, [2 * t % 20, (2 * t + 1) % 20]] += 0.125
    static = [True] * 3 + [False] * 17
    return si.Recording(boxes, static=static if among != "active" else None)


@pytest.mark.parametrize("among", ["active", "dynamic", "all"])
@pytest.mark.parametrize("structure", ["brute-force", "hash-grid"])
def test_pairs_that_are_mended_wrongly_differ(structure, among, monkeypatch):
    merged = KeptPairs.merged
    monkeypatch.setattr(KeptPairs, "merged", lambda *args: merged(*args)[1:])
    monkeypatch.setattr("spatialindex.indexes.grid.structure.GridStructure.kept_share", np.inf)
    row = compare(crowd(3), [structure], among=among).row(structure)
    assert (row.status, row.note) == (
        "differs",
        f"frame 1, pairs(among='{among}'): 1 row is missing, first (0, 1)",
    )


def test_pairs_are_mended_from_frame_to_frame_where_few_frames_are_checked(monkeypatch):
    rec = crowd(8)
    assert compare(rec, ["brute-force"], jobs=["pairs"], work=1).checked.frames == 2
    monkeypatch.setattr(KeptPairs, "merged", lambda kept, *args: kept.rows[:0])
    row = compare(rec, ["brute-force"], jobs=["pairs"], work=1).row("brute-force")
    assert row.status == "differs"
    assert row.note.startswith("frame 7, pairs(among='active'): 19 rows are missing")


def test_pairs_among_dynamic_are_checked_when_they_are_timed():
    rec = si.Recording(
        [[[0, 0, 1, 1]] * 3], static=[True, True, False], asleep=[[False] * 2 + [True]]
    )
    result = compare(rec, ["brute-force"], among="dynamic")
    assert result.agrees
    assert result.checked.pair_rows == 3 + 0 + 2  # all, active, dynamic
    assert result.row("brute-force").work.pairs == 2


@pytest.mark.parametrize("broken", [LosesOne], indirect=True)
def test_without_any_right_structure_there_is_no_verdict_and_no_times(moving, broken):
    result = compare(moving, [broken])
    assert result.verdict.fastest is None
    assert result.checked.words.startswith("1 of 4 frames, no structure going further, pairs")
    assert "times in ms" not in drawn(result)


def test_differences_are_counted_and_the_first_rows_named():
    right = np.array([[0, 1], [0, 2], [1, 2], [3, 4], [5, 6]])
    assert difference(right[4:], right) == "4 rows are missing, first (0, 1), (0, 2), (1, 2)"
    assert difference(right[:, 0], right) == "the answer has shape (5,), not (m, 2)"
    assert difference(None, right) == "the answer is NoneType, not an array of int64"
    assert difference(right.copy(), right) is None


# -- figures -----------------------------------------------------------------------------------


def test_all_figures_but_times_are_the_same_in_every_run():
    rec = si.generate("sleepers", n=80, frames=6, seed=2)
    first, second = (without_times(compare(rec).as_dict()) for _ in range(2))
    assert first == second
    assert first["rows"][1]["work"]["candidates"] > 0


def test_the_dictionary_is_json_of_the_same_figures(moving):
    result = compare(moving)
    value = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert value == result.as_dict()
    assert (value["format"], value["agrees"]) == (1, True)
    assert value["checked"]["words"] == result.checked.words
    for row, parts in zip(result.rows, value["rows"], strict=True):
        assert parts["label"] == row.label
        for job in (*DEFAULT_JOBS, "frame"):
            assert parts[job]["median"] == row.timing(job).median
        assert (parts["nearest"], parts["raycast"]) == (None, None)
    assert value["rows"][0]["work"]["nbytes"] == result.rows[0].work.nbytes


def test_the_table_shows_the_figures_of_the_rows(moving):
    result = compare(moving)
    text = drawn(result, 200)
    for row in result.rows:
        shown = [line.replace("*", "").split() for line in text.splitlines()]
        mine = [words[1:] for words in shown if words and words[0] == row.label]
        times = [row.timing(job) for job in (*DEFAULT_JOBS, "frame")]
        figures = [milliseconds(s) for timing in times for s in (timing.median, timing.worst)]
        figures.append("-" if row.compile is None else f"{row.compile:.2f}")
        assert mine[0] == figures
        if row.work is not None:
            counts = [
                row.work.pairs, row.work.candidates, row.work.visits, row.work.entries,
                row.work.buckets, row.work.max_bucket, round(row.work.nbytes / 1024),
            ]  # fmt: skip
            assert mine[1] == [f"{count:,}" for count in counts]


def test_work_is_that_of_the_statistics():
    rec = si.generate("uniform", n=300, seed=4)
    work = compare(rec, ["hash-grid"], among="all").row("hash-grid").work
    index = si.HashGrid(ndim=2)
    index.insert(rec.boxes[0])
    index.pairs(among="all")
    stats = index.stats()
    for name in ("pairs", "candidates", "visits", "entries", "buckets", "max_bucket", "wide"):
        assert getattr(work, name) == getattr(stats, name)


def test_only_the_jobs_asked_for_are_timed(moving):
    result = compare(moving, jobs=("query", "build"))
    row = result.row("hash-grid")
    assert (row.update, row.pairs) == (None, None)
    assert (row.build.samples, row.query.samples) == (2, 3)
    assert result.settings.jobs == ("build", "query")
    assert result.frame_jobs == ("query",)
    assert not result.checked.pairs
    assert row.work.candidates is None


def test_building_alone_is_checked_by_pairs_and_queries(moving):
    result = compare(moving, jobs=["build"])
    assert result.checked.pairs
    assert result.checked.queries > 0
    assert result.frame_jobs == ()
    assert result.verdict.fastest is None


def test_frames_after_the_first_are_timed(moving):
    row = compare(moving, plays=3).row("brute-force")
    assert [row.timing(job).samples for job in ("update", "pairs", "query", "frame")] == [3] * 4
    assert row.plays == 3
    assert row.frame.worst_frame in (1, 2, 3)
    assert row.frame.worst >= row.frame.median > 0.0


def test_a_single_frame_is_timed_on_fresh_indexes():
    result = compare(si.generate("uniform", n=30), repeats=4)
    row = result.row("hash-grid")
    assert result.frame_jobs == ("build", "pairs", "query")
    assert row.update is None
    assert (row.build.samples, row.pairs.samples, row.frame.samples) == (4, 4, 4)


def test_the_empty_contestant_is_last_and_not_ranked(moving):
    result = compare(moving)
    empty = result.rows[-1]
    assert (empty.label, empty.status, empty.work) == (EMPTY, "floor", None)
    assert empty.frame.median < result.row("brute-force").frame.median
    assert EMPTY not in (result.verdict.fastest, result.verdict.against)


def test_a_scene_in_which_nothing_is_active_is_compared_among_all():
    rec = si.generate("stack", n=27, ndim=3)
    still = si.Recording(rec.boxes, static=np.ones(27, dtype=bool))
    assert compare(rec).settings.among == "active"
    assert compare(still).settings.among == "all"
    assert compare(still).row("hash-grid").work.pairs == compare(rec).row("hash-grid").work.pairs
    assert compare(still, among="active").row("hash-grid").work.pairs == 0


def test_progress_is_told_up_to_the_end(moving):
    told = []
    compare(moving, progress=lambda *step: told.append(step))
    phases = list(dict.fromkeys(what for what, _, _ in told))
    assert phases == ["reading", "compiling", "planning", "checking", "timing"]
    assert {what for what, done, total in told if done == total} == set(phases)
    assert all(0 < done <= total for _, done, total in told)


# -- what is left out --------------------------------------------------------------------------


def test_frames_are_sampled_when_the_work_is_not_enough_for_all():
    rec = si.generate("brownian", n=200, frames=12, seed=5)
    every = compare(rec).checked
    checked = compare(rec, work=every.box_tests // 3).checked
    assert 2 <= checked.frames < 12
    assert checked.share == 1.0
    assert checked.box_tests <= every.box_tests // 3
    assert checked.words.startswith(f"{checked.frames} of 12 frames (evenly sampled), pairs (")


def test_sampled_frames_stay_within_the_work_when_some_cost_far_more():
    boxes = np.full((9, 60, 4), np.nan)
    boxes[:, :2] = [0, 0, 1, 1]
    boxes[[0, 2, 4, 6, 8]] = [0, 0, 1, 1]
    rec = si.Recording(boxes, alive=~np.isnan(boxes[..., 0]))
    dear = 60 * 59 // 2
    checked = compare(rec, work=3 * dear, jobs=["pairs"]).checked
    assert 2 <= checked.frames < 9
    assert checked.box_tests <= 3 * dear


def test_objects_are_sampled_when_the_work_is_not_enough_for_two_frames():
    rec = si.generate("brownian", n=300, frames=3, seed=6)
    result = compare(rec, work=box_tests(rec.boxes[0], rec.boxes[0]) // 4)
    assert result.agrees
    assert result.checked.frames == 2
    assert 0.0 < result.checked.share < 1.0
    assert "of the objects" in result.checked.words


@pytest.mark.parametrize("broken", [Invents, LosesOne], indirect=True)
def test_a_sample_of_the_objects_finds_what_concerns_them(broken):
    rec = si.generate("point", n=200, frames=1)
    result = compare(rec, [broken], work=15_000)
    assert result.checked.share < 1.0
    if broken == "invents":  # ids that are not in the sample
        assert result.agrees
    else:  # the pair (0, 1)
        sample = np.random.default_rng((0, 0, 1)).permutation(200)[
            : int(200 * result.checked.share)
        ]
        assert result.agrees == (not {0, 1} & set(sample.tolist()))


def test_frames_that_were_not_asked_for_are_named(moving):
    result = compare(moving, frames=2)
    assert (result.scene.frames, result.scene.of_frames) == (2, 4)
    assert result.left_out == ("frames 2 to 3 of 4, as asked",)
    assert "left out: frames 2 to 3 of 4, as asked" in drawn(result)


def test_more_frames_than_there_are_is_all_of_them(moving):
    assert compare(moving, frames=99).left_out == ()


def test_far_too_many_pairs_are_left_out_and_queries_compared(monkeypatch):
    monkeypatch.setattr(runner, "MOST_PAIRS", 1000)
    result = compare(si.generate("point", n=100, frames=2))
    assert result.agrees
    assert result.left_out[0].startswith("pairs: frame 0 has about 5.0e+03 of them")
    assert not result.checked.pairs
    assert result.row("hash-grid").pairs is None
    assert result.row("hash-grid").query.samples == 1
    assert result.row("hash-grid").work.candidates is None
    assert result.row("hash-grid").work.entries > 0


def test_a_structure_that_would_take_too_long_is_left_out_with_its_forecast(monkeypatch):
    monkeypatch.setattr(forecast, "LARGE", 100)
    predicted = iter([(1e6, "its pairs would take long"), (1e-9, "no time")])
    monkeypatch.setattr(forecast, "predict", lambda play, contestant: next(predicted))
    result = compare(si.generate("uniform", n=200))
    row = result.row("brute-force")
    assert row.status == "left out"
    assert row.note == "its pairs would take long, and its share of the budget is 150 s"
    assert result.left_out == (f"brute-force: {row.note}",)
    assert result.agrees
    assert result.verdict.fastest == "hash-grid"


def test_a_forecast_follows_from_two_sizes():
    rec = si.generate("uniform", n=320)
    entrant = Entrant(runner.chosen(["brute-force"], 2)[0])
    seconds, words = forecast.predict(Playback(rec, 1, 8, 0, "active"), entrant.contestant)
    assert 0.0 < seconds < math.inf
    assert re.search(r"s for 20 objects, .* s for 40\)$", words)


def test_what_the_budget_cuts_short_is_said(moving):
    result = compare(moving, ["brute-force"], budget=1e-9)
    row = result.row("brute-force")
    assert (row.status, row.checked) == ("ok", 1)
    assert row.note == (
        "checked in 1 of 4 frames and timed in 0 of 3 frames: its share of the budget was used up"
    )
    assert result.left_out == (f"brute-force: {row.note}",)
    assert row.frame is None  # no frame is timed whose answers were not checked
    assert row.build.samples == 1


def test_what_the_budget_cuts_short_for_several_is_said_in_one_sentence(moving):
    result = compare(moving, budget=1e-9)
    assert result.left_out == (
        "frames of 2 structures, whose shares of the budget were used up: checked of 4 and timed "
        "of 3 were brute-force 1 and 0; hash-grid 1 and 0",
    )


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structures": ["hash-gird"]}, "unknown structure 'hash-gird'; did you mean 'hash-grid'"),
        ({"structures": []}, "structures is empty"),
        ({"structures": ["hash-grid"] * 2}, "'hash-grid' is there twice"),
        ({"structures": [("hash-grid", 2.0)]}, "neither a name nor a pair"),
        (
            {"structures": [("hash-grid", {"cel_size": 1})]},
            "hash-grid has no parameter 'cel_size'; did you mean 'cell_size'",
        ),
        (
            {"jobs": ["pair"]},
            "unknown job 'pair'; did you mean 'pairs'[?] "
            "known: build, update, pairs, query, nearest, raycast$",
        ),
        ({"jobs": []}, "jobs is empty"),
        ({"among": "activ"}, "unknown among 'activ'; did you mean 'active'"),
        ({"frames": 0}, "frames is 0: pass a whole number, at least 1"),
        ({"queries": 2.5}, "queries is 2.5: pass a whole number"),
        ({"budget": 0}, "budget is 0: pass a number of seconds above 0"),
        ({"budget": math.nan}, "budget is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"work": True}, "work is True"),
        ({"plays": 0}, "plays is 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(moving, options, message):
    with pytest.raises(si.InvalidArgumentError, match=message):
        si.compare(moving, **options)


def test_a_structure_of_other_dimensions_is_left_out_by_default_and_refused_by_name(moving):
    register(Entry("flat", "spatialindex.indexes.brute_force:BruteForce", "3D only", ndims=(3,)))
    try:
        labels = [row.label for row in compare(moving, None).rows]
        assert "flat" not in labels
        with pytest.raises(si.InvalidArgumentError, match="ndim=2: flat indexes 3D boxes"):
            compare(moving, ["flat"])
    finally:
        unregister("flat")


def test_an_unknown_row_is_an_error_that_lists_the_known_ones(moving):
    with pytest.raises(KeyError, match="there are brute-force"):
        compare(moving, ["brute-force"]).row("octree")


# -- parts -------------------------------------------------------------------------------------


def row_of(label, seconds, **work):
    timing = Timing(median=seconds, worst=seconds, worst_frame=1, samples=4)
    counted = None
    if work:
        rec = si.generate("uniform", n=2)
        counted = replace(compare(rec, ["brute-force"]).rows[0].work, **work)
    return Row(
        label=label, name=label, parameters={}, status="ok", note="", checked=4, plays=1,
        compile=0.0, work=counted, build=timing, update=None, pairs=timing, query=None,
        nearest=None, raycast=None, frame=timing,
    )  # fmt: skip


def test_a_verdict_names_the_figures_for_and_against():
    rows = [
        row_of("grid", 1e-3, candidates=1200, entries=90),
        row_of("scan", 4e-3, candidates=16836, entries=50),
    ]
    series = {"grid": dict.fromkeys(range(4), 1e-3), "scan": dict.fromkeys(range(4), 4e-3)}
    verdict = decide(rows, ("pairs",), series)
    assert verdict.words == (
        "fastest per frame: grid, 1.00 ms median (pairs), 4x ahead of scan (faster in 4 of 4 "
        "frames); because: pairs 1.00 ms against 4.00 ms; 1,200 candidates a frame against 16,836; "
        "although: 90 entries against 50"
    )
    assert verdict.is_clear


def test_a_verdict_compares_frames_that_both_were_timed_on():
    rows = [row_of("grid", 2e-3), row_of("scan", 4e-3)]
    series = {"grid": {1: 1e-3, 2: 2e-3, 3: 3e-3}, "scan": {1: 4e-3}}
    verdict = decide(rows, ("pairs",), series)
    assert (verdict.ratio, verdict.frames, verdict.won) == (4.0, 1, 1)


def test_a_verdict_ranks_by_the_frames_that_all_were_timed_on():
    rows = [row_of("grid", 3e-3), row_of("scan", 2e-3), row_of("tree", 9e-3)]
    series = {
        "grid": dict.fromkeys(range(7), 1e-3) | dict.fromkeys(range(7, 9), 5e-3),
        "scan": dict.fromkeys(range(7), 2e-3),
        "tree": dict.fromkeys(range(9), 9e-3),
    }
    verdict = decide(rows, ("pairs",), series)
    assert (verdict.fastest, verdict.against, verdict.ratio) == ("grid", "scan", 2.0)


def test_a_verdict_is_not_clear_when_one_is_ahead_whose_time_was_up():
    rows = [row_of("grid", 2e-3), row_of("scan", 5e-3), row_of("tree", 1e-3, candidates=5)]
    series = {
        "grid": dict.fromkeys(range(8), 2e-3),
        "scan": dict.fromkeys(range(8), 5e-3),
        "tree": dict.fromkeys(range(5), 1e-3),
    }
    verdict = decide(rows, ("pairs",), series)
    assert verdict.words == (
        "no clear winner: grid, 2.00 ms median (pairs), but tree, timed in 5 frames only, is 2.00x "
        "ahead there; a larger budget tells"
    )
    assert (verdict.fastest, verdict.against, verdict.is_clear) == ("grid", "scan", False)
    series["tree"] = {0: 1e-3}  # one frame says nothing
    assert decide(rows, ("pairs",), series).is_clear


def test_counts_of_other_frames_are_no_reasons():
    rows = [
        row_of("grid", 1e-3, candidates=10, frames=9),
        row_of("scan", 4e-3, candidates=90, frames=2),
    ]
    series = {row.label: dict.fromkeys(range(4), row.frame.median) for row in rows}
    verdict = decide(rows, ("pairs",), series)
    assert verdict.reasons == ("pairs 1.00 ms against 4.00 ms",)


def test_who_was_timed_in_few_frames_is_not_marked_as_the_best(moving):
    result = compare(moving, ["brute-force", "hash-grid"])
    first, second, floor = result.rows
    few = replace(first.frame, median=1e-9, samples=1)
    work = replace(first.work, candidates=1, frames=1)
    rows = (replace(first, frame=few, work=work), second, floor)
    text = drawn(replace(result, rows=rows))
    assert "0.000*" not in text
    assert "of early frames only: brute-force" in text


def test_a_verdict_is_not_clear_when_the_slower_one_often_wins():
    rows = [row_of("grid", 2.0e-3), row_of("scan", 2.5e-3)]
    series = {
        "grid": {1: 2e-3, 2: 2e-3, 3: 9e-3, 4: 2e-3, 5: 9e-3},
        "scan": {1: 3e-3, 2: 3e-3, 3: 1e-3, 4: 3e-3, 5: 1e-3},
    }
    verdict = decide(rows, ("pairs",), series)
    assert not verdict.is_clear
    assert verdict.words.startswith("no clear winner: grid")


def test_a_verdict_on_one_structure_says_that_there_is_no_other():
    verdict = decide([row_of("grid", 1e-3)], ("pairs",), {"grid": {1: 1e-3}})
    assert verdict.words.endswith("there is no other to compare it with")
    assert (verdict.fastest, verdict.against, verdict.ratio) == ("grid", None, None)


def test_facts_of_a_scene_follow_its_changes():
    nan = [np.nan] * 4
    boxes = [
        [[0, 0, 1, 1], [2, 0, 5, 1], nan],
        [[0, 0, 1, 1], [3, 0, 6, 1], [0, 0, 9, 2]],
        [nan, [3, 0, 6, 1], [0, 0, 9, 2]],
    ]
    rec = si.Recording(
        boxes,
        static=[True, False, False],
        alive=[[True, True, False], [True] * 3, [False, True, True]],
        asleep=[[False] * 3, [False] * 3, [False, True, False]],
        name="three",
    )
    facts = scene_facts(rec)
    assert (facts.name, facts.ndim, facts.frames, facts.objects, facts.alive) == (
        "three",
        2,
        3,
        3,
        2,
    )
    assert (facts.static, facts.asleep, facts.inserted, facts.removed) == (1, 0, 1, 1)
    assert (facts.moved, facts.most_moved) == (0.5, 1)
    assert facts.longest_edges == (1.0, 3.0, 9.0)
    assert facts.bounds == (0.0, 0.0, 9.0, 2.0)


@pytest.mark.parametrize("ndim", [2, 3])
def test_box_tests_are_those_of_the_best_axis(ndim):
    rng = np.random.default_rng(0)
    lower = rng.integers(0, 8, (40, ndim)).astype(float)
    boxes = np.concatenate([lower, lower + rng.integers(0, 3, (40, ndim))], axis=1)
    meets = [
        int(((boxes[:, None, d] <= boxes[None, :, ndim + d])
             & (boxes[None, :, d] <= boxes[:, None, ndim + d])).sum())
        for d in range(ndim)
    ]  # fmt: skip
    assert box_tests(boxes, boxes) == min(meets)


def test_estimated_pairs_of_few_objects_are_exact():
    boxes = si.generate("uniform", n=60, partners=10).boxes[0]
    assert estimated_pairs(boxes, seed=0) == len(oracle.pairs(np.arange(60), boxes))
    assert estimated_pairs(np.empty((0, 4)), seed=0) == 0


def test_spread_frames_hold_the_first_and_the_last():
    for frames in range(1, 40):
        for count in range(1, 45):
            chosen = spread(frames, count)
            assert len(chosen) == len(set(chosen)) == min(frames, count)
            assert list(chosen) == sorted(chosen)
            assert chosen[0] == 0
            assert count == 1 or chosen[-1] == frames - 1


def test_the_same_is_asked_in_every_run_and_something_else_in_every_frame(moving):
    play = Playback(moving, 4, 10, 7, "active")
    assert np.array_equal(play.batch(2), Playback(moving, 4, 10, 7, "active").batch(2))
    assert not np.array_equal(play.batch(1), play.batch(2))
    for t in range(4):
        batch = play.batch(t)
        assert batch.shape == (10, 4)
        assert (batch[:, :2] <= batch[:, 2:]).all()


def test_queries_in_a_world_as_wide_as_floats_stay_boxes():
    far = 1.7e308
    rec = si.Recording([[[-far, -far, -far, -far], [far, far, far, far], [-far, 0, far, 1]]])
    batch = Playback(rec, 1, 64, 0, "active").batch(0)
    assert not np.isnan(batch).any()
    assert (batch[:, :2] <= batch[:, 2:]).all()
    assert compare(rec).agrees


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_a_table_fits_its_width_and_loses_nothing(moving, width):
    result = compare(moving, ["brute-force", ("hash-grid", {"cell_size": 12.5})])
    text = drawn(result, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    for job in (*DEFAULT_JOBS, "frame"):
        assert milliseconds(result.row("brute-force").timing(job).worst) in text


def test_the_best_of_a_column_has_a_star(moving):
    result = compare(moving)
    text = drawn(result, 200)
    best = min(result.rows[:2], key=lambda row: row.work.candidates)
    assert f"{best.work.candidates:,}*" in text
    assert "* best of its column" in text


@pytest.mark.parametrize("function", [si.compare, si.tune, si.advise])
@pytest.mark.parametrize("given", ["scene.npz", None])
def test_what_is_no_recording_is_refused_with_how_to_get_one(function, given):
    words = re.escape(f"recording is {given!r}: pass what spatialindex.Recording.load(path)")
    with pytest.raises(si.InvalidArgumentError, match=words):
        function(given)
