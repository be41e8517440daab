"""What has to be measured in a process of its own: starting, compiling, memory.

``python -m tests.benchmarks.child TASK ARGUMENTS`` prints one line of JSON; `run` starts it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["run", "run_code"]


def run(task: str, *arguments: object, **environment: str) -> dict[str, Any]:
    """Run a task of this module in a process of its own; return what it printed."""
    return _output(["-m", "tests.benchmarks.child", task, *map(str, arguments)], environment)


def run_code(code: str, **environment: str) -> dict[str, Any]:
    """Run a line of Python that prints JSON, with nothing of this module around it."""
    return _output(["-c", code], environment)


def _output(arguments: list[str], environment: Mapping[str, str]) -> dict[str, Any]:
    from tests.benchmarks.scenes import ROOT

    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1]}")
    output: dict[str, Any] = json.loads(done.stdout)
    return output


def _first_pairs(name: str, ndim: str) -> dict[str, Any]:
    """Ask a new index of a few boxes for its pairs."""
    from spatialindex.registry import create

    index = create(name, int(ndim))
    lower = [[float(i)] * int(ndim) for i in range(10)]
    index.insert([[*corner, *(x + 1.0 for x in corner)] for corner in lower])
    return {"pairs": index.pairs().tolist()}


def _compile(name: str) -> dict[str, Any]:
    """Ask every question in 2D and in 3D; return the seconds of each."""
    from functools import partial

    from spatialindex.comparison.warm import warm_up
    from spatialindex.registry import create, find

    return {f"{ndim}D": warm_up(partial(create, name, ndim)) for ndim in find(name).ndims}


def _memory(name: str, kind: str, n: str, ndim: str, seed: str) -> dict[str, Any]:
    """Build an index or a peer's tree; return the bytes and the answers to some queries."""
    from tests.benchmarks.memory import resident
    from tests.benchmarks.peers import PEERS
    from tests.benchmarks.scenes import Scene, query_boxes
    from tests.benchmarks.structures import Structure

    boxes = Scene(kind, int(n), int(ndim), int(seed)).boxes()
    asked = query_boxes(boxes, 1000, int(seed))
    peer = next((peer for peer in PEERS if peer.name == name), None)
    build: Any
    if peer is None:
        build, given, questions = Structure(name).of, boxes, asked
    else:
        build, given, questions = peer.build, peer.given(boxes), peer.given(asked)
    build(peer.given(boxes[:100]) if peer is not None else boxes[:100])  # code is loaded
    before = resident()
    built = build(given)
    after = resident()
    figures: dict[str, Any] = {
        "resident": after - before if after is not None and before is not None else None
    }
    if peer is None:
        found = built.query(questions)
        figures["nbytes"] = built.nbytes
        built.pairs()
        figures["with_pairs"] = built.nbytes
    else:
        found = peer.rows(peer.query(built, questions))
    return figures | {"found": found.tolist()}


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "first-pairs": _first_pairs,
    "compile": _compile,
    "memory": _memory,
}


if __name__ == "__main__":
    print(json.dumps(_TASKS[sys.argv[1]](*sys.argv[2:])))
