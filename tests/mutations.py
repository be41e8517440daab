"""Break one thing at a time, and see that a test notices.

    python -m tests.mutations                 all of them: a table of what was caught by what
    python -m tests.mutations tie closed      those whose name contains one of the words
    python -m tests.mutations --check         only that each text to be changed is there, once

Each mutation is one change of text in a copy of the package, for which a few tests run in a process
of their own. A copy without any change has to pass the same tests first, so that what fails does so
because of the mutation. Kernels run without compilation where that is enough: it saves most of the
time. Exit code 1: a mutation survived; 2: it could not be tried, as when its text is gone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("spatialindex", "tests", "pyproject.toml")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Mutation(NamedTuple):
    """One mistake, and the tests that should notice it."""

    name: str
    file: str
    """Below ``spatialindex/``."""
    old: str
    """Occurs once in the file."""
    new: str
    checks: str
    """What `pytest -k` selects of the conformance suite."""
    is_compiled: bool = False
    """Whether it is in code that only runs compiled."""


MUTATIONS = (
    Mutation(
        "refit: only one step upward",
        "kernels/tree/nodes.py",
        "            return steps\n        block = above\n",
        "            return steps\n        return steps\n",
        "bvh-tiny-2D and motion_of_every_length",
    ),
    Mutation(
        "refit: what layers are below is not told upward",
        "kernels/tree/nodes.py",
        "        has_changed = summarize(tree, block, state)\n",
        "        has_changed = False\n",
        "bvh-tiny-2D and duplicate_ids_are_refused",
    ),
    Mutation(
        "refit: parents before children",
        "kernels/tree/refit.py",
        "for i in range(n - 1, 0, -1):",
        "for i in range(1, n):",
        "bvh-tiny-2D and (motion_of_every_length or generated_scenes)",
    ),
    Mutation(
        "closed ray test: the end of what is met",
        "kernels/decide.py",
        "return first if first <= last and",
        "return first if first < last and",
        "brute-force and rays_against_one_box",
    ),
    Mutation(
        "closed ray test: beside the ray",
        "kernels/decide.py",
        "if boxes[j, d] > exact[i, ndim + d] or exact[i, d] > boxes[j, ndim + d]:",
        "if boxes[j, d] >= exact[i, ndim + d] or exact[i, d] >= boxes[j, ndim + d]:",
        "brute-force and rays_against_one_box",
    ),
    Mutation(
        "closed ray test: by a reciprocal",
        "kernels/decide.py",
        "    return way / motion\n",
        "    return way * (1.0 / motion)\n",
        "brute-force and rays_against_one_box",
    ),
    Mutation(
        "tie rule: the higher id",
        "kernels/best.py",
        "slot_ids[slot] < slot_ids[other_slot]",
        "slot_ids[slot] > slot_ids[other_slot]",
        "brute-force and nearest_fewer_and_more_than_there_are",
    ),
    Mutation(
        "tie rule: by slot",
        "kernels/best.py",
        "slot_ids[slot] < slot_ids[other_slot]",
        "slot < other_slot",
        "brute-force and ignored_ids_are_not_seen",
    ),
    Mutation(
        "tie rule: nothing more at the time of the best, down the tree",
        "kernels/tree/casts.py",
        "return ((bits | 1) << _ITEM_BITS) | _ALL_ITEMS",
        "return (bits << _ITEM_BITS) | _ALL_ITEMS",
        "bvh-tiny-2D and ignored_ids_are_not_seen",
    ),
    Mutation(
        "first hits: only the two soonest of eight lanes",
        "kernels/tree/casts.py",
        "        later = max(key, other)\n",
        "        continue\n",
        "bvh-tiny-2D and rays_in_a_large_scene",
    ),
    Mutation(
        "closed boxes",
        "kernels/decide.py",
        "ok &= (a[i, d] <= b[j, ndim + d]) & (b[j, d] <= a[i, ndim + d])",
        "ok &= (a[i, d] < b[j, ndim + d]) & (b[j, d] < a[i, ndim + d])",
        "brute-force and touching_boxes_meet",
    ),
    Mutation(
        "closed distances",
        "kernels/decide.py",
        "return distance_to_box(exact, i, boxes, j, dim) <= exact[i, ndim]",
        "return distance_to_box(exact, i, boxes, j, dim) < exact[i, ndim]",
        "brute-force and one_in_one_out",
    ),
    Mutation(
        "closed planes",
        "kernels/decide.py",
        "if total > exact[i, at + ndim]:",
        "if total >= exact[i, at + ndim]:",
        "brute-force and planes_that_touch",
    ),
    Mutation(
        "outward rounding, one bound at a time",
        "kernels/simd/rounding.py",
        "return np.float32(f - step) if np.float64(f) > x else f",
        "return f",
        "brute-force and huge_and_tiny_coordinates",
    ),
    Mutation(
        "outward rounding, eight boxes at a time",
        "kernels/simd/vectors.py",
        'rounded = builder.select(builder.fcmp_ordered(">", back, doubles), below, floats)',
        "rounded = floats",
        "hash-grid-tiny-2D and (touching_boxes_meet or huge_and_tiny_coordinates)",
        is_compiled=True,
    ),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of names; all without any")
    parser.add_argument("--check", action="store_true", help="look for the texts, run nothing")
    chosen = parser.parse_args(arguments)
    mutations = [m for m in MUTATIONS if not chosen.words or any(w in m.name for w in chosen.words)]
    if not mutations:
        return fail(f"no mutation has a name with {' or '.join(chosen.words)}")
    for mutation in mutations:
        text = (ROOT / "spatialindex" / mutation.file).read_text(encoding="utf-8")
        if text.count(mutation.old) != 1:
            return fail(
                f"{mutation.name}: {mutation.file} has {mutation.old!r} {text.count(mutation.old)} "
                f"times, not once; bring the mutation up to date"
            )
    if chosen.check:
        print(f"{len(mutations)} mutations, each with its text in place")
        return 0
    survivors = 0
    passed: set[tuple[str, bool]] = set()
    for mutation in mutations:
        tests = mutation.checks, mutation.is_compiled
        if tests not in passed:
            failure = failure_of(mutation, is_mutated=False)
            if failure:
                return fail(f"without any mutation {failure} fails: nothing can be told")
            passed.add(tests)
        failure = failure_of(mutation, is_mutated=True)
        survivors += not failure
        outcome = f"caught by {failure}" if failure else "SURVIVED"
        print(f"{mutation.name}: {outcome}", flush=True)
    print(f"{len(mutations) - survivors} of {len(mutations)} mutations caught")
    return int(survivors > 0)


def failure_of(mutation: Mutation, *, is_mutated: bool) -> str:
    """Run the tests of a mutation on a copy, with it or without; the first that fails, or none."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "benchmarks")
                shutil.copytree(ROOT / name, copy / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, copy / name)
        if is_mutated:
            file = copy / "spatialindex" / mutation.file
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
        done = run(mutation, copy)
    if done.returncode == 0:
        return ""
    failed = FAILED.search(done.stdout)
    if done.returncode != 1 or failed is None:
        # not a test that failed: nothing selected, or the copy does not even load
        raise SystemExit(fail(f"{mutation.name}: the tests did not run\n{done.stdout[-3000:]}"))
    return failed.group(1).partition("::")[2]


def run(mutation: Mutation, copy: Path) -> subprocess.CompletedProcess[str]:
    """Run pytest on a copy of the package, which has to be the one that is imported."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "NUMBA_CACHE_DIR": str(copy / "kernels"),
        "NUMBA_DISABLE_JIT": "0" if mutation.is_compiled else "1",
        "SPATIALINDEX_SMALL": "0",
    }
    code = (
        "import pathlib, sys, pytest, spatialindex\n"
        f"assert pathlib.Path(spatialindex.__file__).is_relative_to({str(copy)!r})\n"
        "sys.exit(pytest.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
    command += ["tests/test_conformance.py", "-k", mutation.checks]
    return subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
