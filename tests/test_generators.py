"""Generated scenes: the same from the same seed, with the properties that their kinds promise."""

import numpy as np
import pytest

import spatialindex as si
from spatialindex.scenes.generators import kinds, open_scene, parse_specification
from spatialindex.scenes.motions import WAKING_CYCLE

KINDS = [kind.name for kind in kinds()]
DRIFTING = ["uniform", "clustered", "sizes", "thin", "stack", "point", "planet"]


def partners(boxes):
    """Return how many others each box meets, by comparing all with all."""
    ndim = boxes.shape[1] // 2
    meets = np.ones((len(boxes), len(boxes)), dtype=bool)
    for axis in range(ndim):
        lower, upper = boxes[:, axis], boxes[:, ndim + axis]
        meets &= (lower[:, None] <= upper) & (lower <= upper[:, None])
    return meets.sum(axis=1) - 1


def edges(boxes):
    ndim = boxes.shape[-1] // 2
    return boxes[..., ndim:] - boxes[..., :ndim]


def fields(rec):
    names = ("boxes", "static", "asleep", "alive", "ids", "layer", "mask", "sensor")
    return {name: getattr(rec, name).tobytes() for name in names}


def test_the_kinds_are_listed_with_a_summary_each():
    promised = {"uniform", "clustered", "sizes", "thin", "stack", "brownian", "explosion", "point"}
    assert promised <= set(KINDS)
    assert set(DRIFTING) <= set(KINDS)
    for kind in kinds():
        assert len(kind.summary.splitlines()) == 1
        assert all(option.summary for option in kind.options)
        assert all(option.low <= option.default <= option.high for option in kind.options)


def test_the_docstring_of_generate_names_every_kind():
    for name in KINDS:
        assert f"``{name}``" in si.generate.__doc__


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_recording(kind, ndim):
    first = si.generate(kind, n=60, ndim=ndim, frames=4, seed=3)
    assert fields(first) == fields(si.generate(kind, n=60, ndim=ndim, frames=4, seed=3))
    assert first.boxes.shape == (4, 60, 2 * ndim)
    other = si.generate(kind, n=60, ndim=ndim, frames=4, seed=4)
    assert fields(first) != fields(other)


@pytest.mark.parametrize("kind", KINDS)
def test_more_frames_begin_with_the_fewer(kind):
    long = si.generate(kind, n=60, frames=90, seed=3)
    short = si.generate(kind, n=60, frames=45, seed=3)
    for name in ("boxes", "asleep", "alive"):
        assert getattr(long, name)[:45].tobytes() == getattr(short, name).tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_few_objects_are_a_scene_too(kind, n):
    for ndim in (2, 3):
        rec = si.generate(kind, n=n, ndim=ndim, frames=3)
        assert rec.boxes.shape == (3, n, 2 * ndim)


@pytest.mark.parametrize("kind", KINDS)
def test_the_notes_make_the_recording_again(kind):
    rec = si.generate(kind, n=30, ndim=3, frames=3, seed=12)
    assert rec.notes == f"{kind}:n=30,ndim=3,frames=3,seed=12"
    assert rec.name == kind
    assert parse_specification(rec.notes) == rec


def test_options_are_in_the_notes_exactly():
    rec = si.generate("uniform", n=30, frames=3, partners=1 / 3, moving=0.5)
    assert parse_specification(rec.notes) == rec


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize(
    "kind", ["uniform", "sizes", "thin", "brownian", "teleport", "sleepers", "explosion"]
)
@pytest.mark.parametrize("wanted", [1.0, 3.0, 12.0])
def test_boxes_have_about_as_many_partners_as_asked(kind, ndim, wanted):
    boxes = si.generate(kind, n=2000, ndim=ndim, partners=wanted, seed=1).boxes[0]
    assert wanted * 0.9 < partners(boxes).mean() < wanted * 1.1


@pytest.mark.parametrize("n", [30, 300, 3000])
def test_partners_do_not_depend_on_the_number_of_objects(n):
    scenes = [si.generate("uniform", n=n, ndim=3, seed=seed).boxes[0] for seed in range(10)]
    assert 2.7 < np.mean([partners(boxes).mean() for boxes in scenes]) < 3.3


@pytest.mark.parametrize("ndim", [2, 3])
def test_partners_stay_about_the_same_in_motion(ndim):
    for kind in ("uniform", "brownian", "teleport"):
        boxes = si.generate(kind, n=2000, ndim=ndim, frames=40, seed=1).boxes[-1]
        assert 2.5 < partners(boxes).mean() < 3.5


def test_without_partners_boxes_are_points():
    boxes = si.generate("uniform", n=50, partners=0.0).boxes[0]
    assert (edges(boxes) == 0).all()


def test_more_partners_than_objects_are_all_objects():
    boxes = si.generate("uniform", n=20, partners=100.0).boxes[0]
    assert (partners(boxes) == 19).all()


@pytest.mark.parametrize("ndim", [2, 3])
def test_clouds_are_crowded_and_leave_most_of_the_world_empty(ndim):
    boxes = si.generate("clustered", n=2000, ndim=ndim, seed=2).boxes[0]
    assert 2.5 < partners(boxes).mean() < 7.0
    cells = (boxes[:, :ndim] // 100).astype(int)
    assert len(np.unique(cells, axis=0)) < 0.6 * 10**ndim
    uniform = si.generate("uniform", n=2000, ndim=ndim, seed=2).boxes[0]
    assert edges(boxes).mean() < edges(uniform).mean() / 2


@pytest.mark.parametrize("ndim", [2, 3])
def test_sizes_span_three_orders_of_magnitude(ndim):
    longest = edges(si.generate("sizes", n=1000, ndim=ndim).boxes[0]).max(axis=1)
    assert longest.max() / longest.min() == pytest.approx(1000)
    decades = np.histogram(np.log10(longest / longest.max()), bins=[-3.01, -2, -1, 0.01])[0]
    assert (decades > 300).all()


@pytest.mark.parametrize("ndim", [2, 3])
def test_walls_are_thin_along_one_axis_and_each_axis_has_some(ndim):
    size = edges(si.generate("thin", n=300, ndim=ndim, aspect=20).boxes[0])
    ordered = np.sort(size, axis=1)
    np.testing.assert_allclose(ordered[:, 1:], 20 * ordered[:, :1] * np.ones(ndim - 1), rtol=1e-9)
    assert set(np.argmin(size, axis=1)) == set(range(ndim))


@pytest.mark.parametrize(("ndim", "along"), [(2, 9), (3, 4)])
def test_stacked_boxes_touch_their_neighbours_exactly_and_never_overlap(ndim, along):
    boxes = si.generate("stack", n=along**ndim, ndim=ndim).boxes[0]
    assert (edges(boxes) == 1).all()
    lowers = boxes[:, :ndim]
    assert sorted(map(tuple, lowers)) == sorted(np.ndindex(*(along,) * ndim))
    shared = np.minimum(boxes[:, None, ndim:], boxes[None, :, ndim:]) - np.maximum(
        lowers[:, None], lowers[None, :]
    )
    apart = ~np.eye(len(boxes), dtype=bool)
    assert (shared[apart].min(axis=1) <= 0).all()
    inside = ((lowers > 0) & (lowers < along - 1)).all(axis=1)
    assert (partners(boxes)[inside] == 3**ndim - 1).all()
    assert inside.any()


def test_at_one_point_everything_meets():
    boxes = si.generate("point", n=50, ndim=3).boxes[0]
    assert len(np.unique(boxes, axis=0)) == 1
    assert (partners(boxes) == 49).all()
    assert (edges(si.generate("point", n=5, edge=0).boxes[0]) == 0).all()


def test_a_planet_meets_nearly_everything():
    boxes = si.generate("planet", n=500, planets=2).boxes[0]
    planets = edges(boxes).min(axis=1) > 900
    assert planets.sum() == 2
    assert (partners(boxes)[planets] > 450).all()
    assert np.median(partners(boxes)) < 10


@pytest.mark.parametrize("kind", DRIFTING)
def test_a_share_drifts_and_the_rest_is_the_same_bit_for_bit(kind):
    rec = si.generate(kind, n=200, frames=6, moving=0.25, seed=8)
    moved = [tuple(rec.changes(t).moved.ids) for t in range(1, 6)]
    assert len(set(moved)) == 1
    assert len(moved[0]) == 50
    assert (edges(rec.boxes) >= 0).all()


def test_drift_is_coherent():
    rec = si.generate("uniform", n=500, frames=10)
    centers = (rec.boxes[..., :2] + rec.boxes[..., 2:]) / 2
    steps = np.diff(centers, axis=0)
    straight = np.isclose(steps[1:], steps[:-1], rtol=1e-6, atol=1e-9).all(axis=2)
    assert straight.mean() > 0.95
    edge = float(np.median(edges(rec.boxes[0])))
    assert 0.08 * edge < steps.std() < 0.12 * edge


def test_drift_and_walks_turn_back_at_the_borders():
    for kind in ("uniform", "brownian"):
        boxes = si.generate(kind, n=200, frames=60, speed=5.0).boxes
        centers = (boxes[..., :2] + boxes[..., 2:]) / 2
        assert centers.min() > -1e-6
        assert centers.max() < 1000 + 1e-6


def test_random_walks_have_no_direction():
    rec = si.generate("brownian", n=500, frames=20)
    steps = np.diff((rec.boxes[..., :2] + rec.boxes[..., 2:]) / 2, axis=0)
    correlation = np.corrcoef(steps[1:].ravel(), steps[:-1].ravel())[0, 1]
    assert abs(correlation) < 0.05
    assert all(len(rec.changes(t).moved.ids) == 500 for t in range(1, 20))


def test_an_explosion_scrambles_the_order_and_empties_the_pile():
    rec = si.generate("explosion", n=500, frames=30, seed=1)
    before, after = (np.argsort(rec.boxes[t, :, 0]) for t in (0, -1))
    ranks = np.corrcoef(np.argsort(before), np.argsort(after))[0, 1]
    assert abs(ranks) < 0.5
    assert partners(rec.boxes[-1]).mean() < partners(rec.boxes[0]).mean() / 10


def test_teleports_go_anywhere():
    rec = si.generate("teleport", n=400, frames=3, moving=0.5)
    moved = [set(rec.changes(t).moved.ids.tolist()) for t in (1, 2)]
    assert [len(each) for each in moved] == [200, 200]
    assert moved[0] != moved[1]
    far = np.abs(np.diff(rec.boxes[:2, :, 0], axis=0))[0, sorted(moved[0])]
    assert np.median(far) > 100


def test_sleepers_rest_bit_for_bit_and_wake_by_turns():
    rec = si.generate("sleepers", n=400, frames=WAKING_CYCLE, seed=2)
    assert rec.static.sum() == 120
    assert not rec.asleep[:, rec.static].any()
    assert not rec.sensor.any()
    for t in range(1, rec.frames):
        changes = rec.changes(t)
        assert not rec.static[changes.moved.ids].any()
        assert not rec.asleep[t, changes.moved.ids].any()
    awake = ~rec.asleep[:, ~rec.static]
    assert 0.05 < awake.mean() < 0.15
    assert awake.any(axis=0).all()


def test_objects_come_and_go_in_churn():
    rec = si.generate("churn", n=300, frames=80, lifetime=10, seed=2)
    assert 0.4 < rec.alive.mean() < 0.6
    assert (np.isnan(rec.boxes).all(axis=2) == ~rec.alive).all()
    births = np.array([len(rec.changes(t).inserted.ids) for t in range(1, 80)])
    deaths = np.array([len(rec.changes(t).removed) for t in range(1, 80)])
    assert (births > 0).all()
    assert (deaths > 0).all()
    assert rec.alive.any(axis=0).all()
    first, second = (np.flatnonzero(rec.alive[:, 0] & ~np.roll(rec.alive[:, 0], 1))[:2]).tolist()
    assert np.abs(rec.boxes[first, 0] - rec.boxes[second, 0]).max() > 1


REFUSED = {
    "kind": (("unifrom",), {}, "unknown kind of scene 'unifrom'; did you mean 'uniform'. known: "),
    "no kind": ((None,), {}, "unknown kind of scene None; known: uniform, clustered"),
    "option": (("uniform",), {"parners": 2}, "uniform has no option 'parners'; did you mean 'part"),
    "other's option": (
        ("brownian",),
        {"aspect": 2},
        "brownian has no option 'aspect'; .*known: n,",
    ),
    "n": (("uniform", -1), {}, "uniform: n=-1 is not an integer of at least 0"),
    "n of float": (("uniform", 10.0), {}, r"uniform: n=10\.0 is not an integer"),
    "n of bool": (("uniform", True), {}, "uniform: n=True is not an integer"),
    "ndim": (("uniform", 5, 4), {}, "ndim=4 is not an integer of at least 2 and at most 3"),
    "frames": (("uniform", 5, 2, 0), {}, "frames=0 is not an integer of at least 1"),
    "seed": (("uniform", 5, 2, 1, -1), {}, "seed=-1 is not an integer of at least 0"),
    "moving": (("uniform",), {"moving": 1.5}, r"moving=1\.5 is not a finite number of at least 0"),
    "nan": (("uniform",), {"partners": float("nan")}, "partners=nan is not a finite number"),
    "infinite": (("uniform",), {"partners": float("inf")}, "partners=inf is not a finite number"),
    "text": (("uniform",), {"partners": "3"}, "partners='3' is not a finite number"),
    "clusters": (("clustered",), {"clusters": 2.5}, r"clusters=2\.5 is not an integer of at least"),
    "memory": (("uniform", 10**9, 3, 10**6), {}, "GiB of boxes, more than this machine's memory"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_generated_is_refused(case):
    positional, options, message = REFUSED[case]
    with pytest.raises(si.InvalidArgumentError, match=message):
        si.generate(*positional, **options)


def test_numbers_of_numpy_are_numbers():
    rec = si.generate("uniform", np.int64(5), partners=np.float32(2.0), seed=np.uint8(3))
    assert rec == si.generate("uniform", 5, partners=2.0, seed=3)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("uniform", {}),
        ("uniform:", {}),
        ("uniform:n=50,ndim=3,seed=2", {"n": 50, "ndim": 3, "seed": 2}),
        (" uniform : seed = 2 , n = 5e1 ", {"n": 50, "seed": 2}),
        ("uniform:n=1_0,partners=4,moving=.5", {"n": 10, "partners": 4.0, "moving": 0.5}),
    ],
)
def test_specifications_say_the_same_as_calls(text, options):
    assert parse_specification(text) == si.generate("uniform", **options)
    assert open_scene(text) == si.generate("uniform", **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unform:n=5", "unknown kind of scene 'unform'; did you mean 'uniform'"),
        ("uniform:sed=5", "uniform has no option 'sed'; did you mean 'seed'"),
        ("uniform:n=many", "uniform: n='many' is not a number"),
        ("uniform:n=1.5", r"uniform: n=1\.5 is not an integer"),
        ("uniform:n=inf", r"uniform: n=inf is not an integer"),
        ("uniform:n", "'uniform:n': 'n' is not option=number, as in uniform:n=10000,seed=2"),
        ("uniform:n=", "'n=' is not option=number"),
        ("uniform:n=5,", "'' is not option=number"),
        ("uniform:n=5,n=5", "n is given twice"),
        ("uniform:n=-5", "n=-5 is not an integer of at least 0"),
    ],
)
def test_specifications_that_cannot_be_are_refused(text, message):
    for function in (parse_specification, open_scene):
        with pytest.raises(si.InvalidArgumentError, match=message) as caught:
            function(text)
        assert len(str(caught.value).splitlines()) == 1


def test_a_path_is_a_scene(tmp_path):
    rec = si.generate("uniform", n=5)
    rec.save(tmp_path / "uniform:n=7.npz")
    assert open_scene(tmp_path / "uniform:n=7.npz") == rec
    assert open_scene(str(tmp_path / "uniform:n=7.npz")) == rec


def test_a_path_that_is_no_recording_says_why(tmp_path):
    with pytest.raises(si.RecordingError, match=r"uniform\.npz: no such file"):
        open_scene(tmp_path / "uniform.npz")
    (tmp_path / "scene.json").write_text("{}")
    with pytest.raises(si.RecordingError, match=r"the suffix '\.json' is none of a recording"):
        open_scene(tmp_path / "scene.json")
    with pytest.raises(si.RecordingError, match="a directory, not a recording"):
        open_scene(tmp_path)


@pytest.mark.parametrize("text", ["", "unifrom", "no/such:thing", "scene.txt", "a\0b", "x" * 5000])
def test_what_is_neither_a_path_nor_a_specification_is_refused(text):
    with pytest.raises(si.InvalidArgumentError, match="is neither a file nor a kind of scene; "):
        open_scene(text)
