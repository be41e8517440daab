"""How often functions are compiled, and who may call what was compiled."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import config
from numba.core.dispatcher import Dispatcher

import spatialindex as si
from spatialindex.comparison.warm import warm_up
from spatialindex.kernels.jit import inner_kernel, kernel
from spatialindex.registry import Entry, unregister

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@inner_kernel
def sum_from(values, start, is_negative):
    total = 0
    for i in range(start, len(values)):
        total += -values[i] if is_negative else values[i]
    return total


@kernel
def sums(values, start):
    return sum_from(values, 0, False) + sum_from(values, 1, True) + sum_from(values, start, False)


def test_numbers_written_in_calls_compile_nothing_anew():
    assert sums(np.arange(4), 2) == 6 - 6 + 5
    sums.recompile()  # machine code of an earlier run may have been loaded
    assert len(sum_from.signatures) == 1


def test_inner_kernel_is_called_by_compiled_code_alone():
    assert sums(np.arange(3), 0) == 3 - 3 + 3
    with pytest.raises(TypeError, match="sum_from is only for compiled code; call it in a kernel"):
        sum_from(np.arange(3), 0, False)


LOWER = np.arange(200.0).reshape(100, 2) % 17
BOXES = np.hstack((LOWER, LOWER + 1))


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def asked_for_everything(name, given):
    """Use an index, all arrays being as `given` makes them."""
    index = si.create(name, 2)
    ids = np.asarray(index.insert(given(BOXES)))
    for changed in (ids[::-3], ids[:1]):
        index.pairs()
        index.query(given(BOXES))
        index.query_radius(given(LOWER), given(np.ones(100)))
        index.nearest(given(LOWER), 3)
        index.raycast_all(given(LOWER), given(np.ones((100, 2))), ignore=given(ids))
        index.boxcast(given(BOXES), given(np.ones((100, 2))))
        index.query_planes(given(np.eye(2)), given(np.ones(2)))
        index.join(given(BOXES))
        index.update(given(changed), given(BOXES[changed] + 1))
    index.remove(given(ids[::-2]))
    index.pairs(among="all")


def signatures():
    """All that compiled functions of the package have been compiled for, or loaded."""
    found = set()
    for module in [name for name in sys.modules if name.startswith("spatialindex.kernels")]:
        for value in vars(sys.modules[module]).values():
            if isinstance(value, Dispatcher):
                found |= {(value.__module__, value.__name__, s) for s in value.signatures}
    return found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(entry.name, id=f"{entry.name}-2D")
        for entry in si.structures()
        if 2 in entry.ndims
    ],
)
def test_inputs_of_any_layout_compile_nothing_anew(name):
    asked_for_everything(name, np.ascontiguousarray)
    usual = signatures()
    assert usual
    for given in (
        np.asfortranarray,
        read_only,
        lambda rows: np.repeat(rows, 2, axis=0)[::2],
        lambda rows: rows.astype(np.float32 if rows.dtype == np.float64 else np.int32),
        np.ndarray.tolist,
    ):
        asked_for_everything(name, given)
        assert signatures() == usual


def used(name):
    """Use an index as an engine does, frame by frame."""
    rng = np.random.default_rng(0)
    index = si.create(name, 2)
    n = 700
    lower = rng.uniform(0, 30, (n, 2))
    boxes = np.hstack((lower, lower + rng.random((n, 2))))
    ids = index.insert(boxes, static=np.arange(n) % 4 == 0, asleep=np.arange(n) % 5 == 1)

    def move(share, far):
        moved = np.sort(rng.choice(ids, int(share * n), replace=False))
        index.update(moved, index.boxes(moved) + np.tile(rng.normal(0, far, (len(moved), 2)), 2))

    few, some = ids[5:60:7], ids[100:200]
    frames = [lambda s=s, f=f: move(s, f) for s in (0.005, 0.05, 0.3, 1) for f in (0.2, 9)]
    frames += [
        lambda: index.set_state(few, asleep=True),
        lambda: index.set_state(few, asleep=False),
        lambda: index.set_state(some, layer=4, sensor=True),
        lambda: index.remove(few),
        lambda: index.insert(boxes[: len(few)] + 1, few),
        lambda: index.insert(boxes[:200] * 2),
        lambda: index.remove(some),
        lambda: index.update(None, index.boxes() + 0.1),
        lambda: index.set_state(index.ids[60:], asleep=True),
        *[lambda: index.update(index.ids[:60:2], index.boxes(index.ids[:60:2]) + 0.01)] * 8,
    ]
    for frame in frames:
        frame()
        index.step() if hasattr(index, "step") else index.pairs()
        index.nearest(lower, 3)
        index.raycast_all(lower, np.ones(2))
        index.query(boxes[0])


def report_gaps():
    """Print what is compiled for, or loaded, only after a warm-up, in a process of its own."""
    for entry in si.structures():
        if 2 in entry.ndims:
            warm_up(lambda name=entry.name: si.create(name, 2))
            known = signatures()
            used(entry.name)
            for module, function, _ in sorted(signatures() - known, key=str):
                print(entry.name, module, function)


def test_a_warm_up_leaves_nothing_to_be_compiled():
    command = "from tests.test_kernels import report_gaps; report_gaps(); print('all asked')"
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.stdout == "all asked\n", done.stdout + done.stderr


class Counting(si.HashGrid):
    asked = 0

    def query(self, *boxes, **options):
        type(self).asked += 1
        return super().query(*boxes, **options)


def test_what_a_process_was_warmed_up_for_is_not_asked_again():
    def is_asked(jobs, **parameters):
        before = Counting.asked
        assert warm_up(lambda: Counting(2, **parameters), jobs) >= 0.0
        return Counting.asked > before

    pairs, rays = ["pairs"], ["pairs", "raycast"]
    assert is_asked(pairs)
    assert not is_asked(pairs)
    assert not is_asked(["query"])  # which is asked along with pairs
    assert is_asked(pairs, cell_size=2.0)
    assert is_asked(rays)
    assert is_asked(None)
    assert not is_asked(["nearest"])


def test_parts_are_asked_when_there_is_another_class_of_their_name(monkeypatch):
    entry = Entry("counting", f"{__name__}:Counting", "counts queries")
    for _ in range(2):
        anew = type("Counting", (Counting,), {"asked": 0})
        monkeypatch.setitem(globals(), "Counting", anew)
        si.register(entry)
        try:
            warm_up(lambda: si.SplitIndex(2, coarse="counting"), ["pairs"])
        finally:
            unregister("counting")
        assert anew.asked > 0
