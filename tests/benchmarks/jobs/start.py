"""Starting: importing, the first answer with and without compiled code, and compiling.

Everything here happens in processes of its own. *Cold* means that the folder of compiled code
(``NUMBA_CACHE_DIR``) is empty, *warm* that an earlier run has filled it.

Who meets a structure for the first time waits for its compiler, and so do the tests, for all of
them. So compiling has a budget, which the tables show beside what was spent; *functions* are those
that were compiled, which do not depend on the machine.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spatialindex.registry import find, structures
from tests.benchmarks import child
from tests.benchmarks.model import Group, Step, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.settings import Settings

__all__ = ["groups"]

BUDGET_FIRST = 10.0
"""Seconds from the start of a process to its first pairs, compiling: as long as a person waits for
an answer before the mind is elsewhere."""
BUDGET_ALL = 40.0
"""Seconds to compile all calls of a structure in one number of dimensions. Structures are of five
families that share kernels: all of them in 2D and 3D are compiled in less than seven minutes."""

_IMPORT = """
import time
started = time.perf_counter()
import {module}
print('{{"import": %r}}' % (time.perf_counter() - started))
"""


class _Caches:
    """Folders for compiled code; they are removed with the object."""

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="spatialindex-benchmarks-"))
        weakref.finalize(self, shutil.rmtree, self._root, ignore_errors=True)
        self._count = 0

    def cold(self) -> str:
        """Return a folder that is empty, and remove the last one."""
        shutil.rmtree(self._path(self._count), ignore_errors=True)
        self._count += 1
        return self._path(self._count)

    def warm(self) -> str:
        """Return the folder that is kept."""
        return self._path(0)

    def _path(self, number: int) -> str:
        path = self._root / str(number)
        path.mkdir(exist_ok=True)
        return str(path)


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group each for importing, for first pairs and for compiling everything."""
    for what, rounds, tasks in (
        ("import inside a new process, its start not included", 0, _imports),
        ("a process from its start to its end, pairs of ten boxes in it", 0, _first_pairs),
        ("first calls of all a structure has, compiling or loading", 1, _compiling),
    ):
        yield Group(
            "start",
            *("a row", 10, max(settings.ndims)),
            what,
            partial(tasks, settings),
            baselines=("import numpy",),
            rounds=rounds,
            runs=1,
        )


def _imports(settings: Settings) -> list[Task]:
    return [_import("numpy"), _import("spatialindex")]


def _import(module: str) -> Task:
    code = _IMPORT.format(module=module)
    return Task(
        f"import {module}",
        (Step("import", child.run_code),),
        prepare=lambda frame: code,
        clock=dict,
        workers=0,
        is_ours=module == "spatialindex",
    )


def _chosen(settings: Settings) -> list[str]:
    names = [entry.name for entry in structures()]
    return [name for name in names if name in (settings.structures or names)]


def _first_pairs(settings: Settings) -> list[Task]:
    caches = _Caches()
    return [
        _timed_process(name, ndim, state, folder)
        for name in _chosen(settings)
        for ndim in settings.ndims
        if ndim in find(name).ndims
        for state, folder in (("cold", caches.cold), ("warm", caches.warm))
    ]


def _timed_process(name: str, ndim: int, state: str, folder: Callable[[], str]) -> Task:
    return Task(
        f"{name} {ndim}D {state}",
        (Step("process", lambda path: child.run("first-pairs", name, ndim, NUMBA_CACHE_DIR=path)),),
        prepare=lambda frame: folder(),
        rows=lambda output: output["pairs"],
        workers=0,
        is_sorted=True,
        is_ours=True,
        baseline=f"{name} {ndim}D warm",
        budget=BUDGET_FIRST if state == "cold" else None,
    )


def _compiling(settings: Settings) -> list[Task]:
    caches = _Caches()
    return [
        _compiled(name, state, folder)
        for name in _chosen(settings)
        for state, folder in (("cold", caches.cold), ("warm", caches.warm))
    ]


def _compiled(name: str, state: str, folder: Callable[[], str]) -> Task:
    """Make a task whose seconds are those that the process itself has measured."""
    compiled: dict[str, int] = {}

    def ask_everything(path: str) -> dict[str, float]:
        seconds = child.run("compile", name, NUMBA_CACHE_DIR=path)
        if state == "cold":
            compiled["functions"] = sum(1 for _ in Path(path).rglob("*.nbc"))
        return seconds

    return Task(
        f"{name} {state}",
        (Step("calls", ask_everything),),
        prepare=lambda frame: folder(),
        clock=dict,
        workers=0,
        is_ours=True,
        baseline=f"{name} warm",
        budget=BUDGET_ALL * len(find(name).ndims) if state == "cold" else None,
        figures=lambda: compiled,
    )
