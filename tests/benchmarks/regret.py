"""``python -m tests.benchmarks.regret``: is what `si.advise` says first as good as what is best?

For each scene and mix of questions: what `advise` takes first, and then everybody on all frames in
alternation, by `si.compare`, what was advised among them. The regret is the time of what was
advised over that of the fastest. Nobody is left out of the second measurement but brute force
beyond 50,000 objects.

::

    scene                              jobs          advised      fastest    regret
    clustered:n=8000,frames=12         update,pairs  hash-grid    hash-grid    1.00

Exit codes: 0; 1 when more than one in ten is above 1.15, or one above 1.5.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialindex.comparison.advice import advise, candidates
from spatialindex.comparison.machine import this_machine
from spatialindex.comparison.runner import compare
from spatialindex.scenes.generators import open_scene
from tests.benchmarks.scenes import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CASES", "main", "measure"]

GOOD, BAD = 1.15, 1.5
"""Regrets that all but one in ten stay below, and that none is above."""

_LOOP = "update,pairs"
_ALL = "build,update,pairs,query"
_RECORDINGS = ROOT / "examples" / "recordings"

CASES: tuple[tuple[str, str], ...] = (
    ("uniform:n=10000", _ALL),
    ("uniform:n=10000,ndim=3,frames=10", _LOOP),
    ("uniform:n=20000,frames=10,moving=0.05", _LOOP),
    ("uniform:n=5000,ndim=3,frames=10", "update,nearest"),
    ("clustered:n=8000,frames=12", _LOOP),
    ("clustered:n=8000,frames=12", "update,query,raycast"),
    ("clustered:n=5000,ndim=3,frames=12", "update,pairs,raycast"),
    ("clustered:n=20000", "build,nearest"),
    ("sizes:n=5000,frames=12", _LOOP),
    ("sizes:n=5000,ndim=3,frames=12", _LOOP),
    ("sizes:n=5000,frames=12,moving=0.1", "update,query"),
    ("thin:n=3000,frames=12", _LOOP),
    ("thin:n=3000,ndim=3", _ALL),
    ("stack:n=5000,ndim=3,frames=12", _LOOP),
    ("stack:n=10000", "build,query,raycast"),
    ("planet:n=5000,frames=12", _LOOP),
    ("planet:n=5000,frames=12,planets=20", "update,pairs,query"),
    ("brownian:n=20000,frames=10", _LOOP),
    ("brownian:n=2000,ndim=3,frames=20", "update,pairs,query,nearest,raycast"),
    ("explosion:n=3000,frames=20", _LOOP),
    ("teleport:n=5000,frames=10", _LOOP),
    ("teleport:n=5000,frames=10,ndim=3", "update,query"),
    ("sleepers:n=20000,frames=20", _LOOP),
    ("sleepers:n=10000,frames=20,ndim=3", "update,pairs,raycast"),
    ("churn:n=8000,frames=20", _LOOP),
    ("us_counties.npz", "build,query"),
)
"""Scenes and what is asked of them."""


def measure(scene: str, jobs: str, budget: float, patience: float) -> dict[str, Any]:
    """Return the row of a case: what was advised, what is fastest, and how they compare.

    Parameters
    ----------
    scene, jobs : str
        As on the command line of ``spatialindex advise``.
    budget, patience : float
        Seconds for advising, and for the measurement that it is judged by.
    """
    recording = open_scene(_RECORDINGS / scene if scene.endswith(".npz") else scene)
    asked = jobs.split(",")
    started = time.monotonic()
    advice = advise(recording, asked, budget=budget)
    took = time.monotonic() - started
    assert advice.best is not None, advice.words
    advised = (advice.best.name, advice.best.parameters)
    field = candidates(advice.traits)
    if advised not in field:
        field.append(advised)
    result = compare(recording, field, asked, budget=patience, work=10_000_000)
    times = {row.label: row.frame.median for row in result.rows[:-1] if row.frame}
    fastest = min(times, key=times.__getitem__)
    return {
        "scene": scene,
        "jobs": jobs,
        "advised": advice.best.label,
        "fastest": fastest,
        "regret": times[advice.best.label] / times[fastest],
        "seconds": times,
        "took": took,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.regret", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--budget", type=float, default=10.0, help="seconds for each advice (%(default)g)")
    add("--patience", type=float, default=30.0, help="seconds to judge each by (%(default)g)")
    add("--only", metavar="TEXT", default="", help="cases whose scene has this in it")
    add("--json", type=Path, metavar="FILE", help="write all figures")
    options = parser.parse_args(arguments)
    cases = [case for case in CASES if options.only in case[0]]
    if not cases:
        parser.error(f"--only {options.only!r}: no case has it")
    rows = []
    print(f"{'scene':38}{'jobs':36}{'advised':32}{'fastest':32}{'regret':>7}{'s':>6}")
    for case in cases:
        row = measure(*case, options.budget, options.patience)
        rows.append(row)
        names = f"{row['scene']:38}{row['jobs']:36}{row['advised']:32}{row['fastest']:32}"
        print(f"{names}{row['regret']:7.2f}{row['took']:6.1f}", flush=True)
    good = sum(row["regret"] <= GOOD for row in rows)
    worst = max(row["regret"] for row in rows)
    print(f"{good} of {len(rows)} within {GOOD} of the fastest, worst {worst:.2f}")
    print(this_machine().words)
    if options.json is not None:
        value = {"machine": this_machine().words, "rows": rows}
        options.json.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return int(good < 0.9 * len(rows) or worst > BAD)


if __name__ == "__main__":
    sys.exit(main())
