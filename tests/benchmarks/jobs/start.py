"""Starting: importing, the first answer with and without compiled code, and compiling.

Everything here happens in processes of its own. *Cold* means that the folder of compiled code
(``NUMBA_CACHE_DIR``) is empty, *warm* that an earlier run has filled it.
"""

from __future__ import annotations

import shutil
import tempfile
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

_IMPORT = """
import time
started = time.perf_counter()
import {module}
print('{{"import": %r}}' % (time.perf_counter() - started))
"""


class _Caches:
    """Folders for compiled code; they are removed with the object."""

    def __init__(self) -> None:
        self._root = tempfile.TemporaryDirectory(prefix="spatialindex-benchmarks-")
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
        path = Path(self._root.name) / str(number)
        path.mkdir(exist_ok=True)
        return str(path)


def groups(settings: Settings) -> Iterator[Group]:
    """Make a group each for importing, for first pairs and for compiling everything."""
    for what, tasks in (
        ("import inside a new process, its start not included", _imports),
        ("a process from its start to its end, pairs of ten boxes in it", _first_pairs),
        ("first calls of all a structure has, compiling or loading", _compiling),
    ):
        yield Group(
            "start",
            *("a row", 10, max(settings.ndims)),
            what,
            partial(tasks, settings),
            baselines=("import numpy",),
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
    return Task(
        f"{name} {state}",
        (Step("calls", lambda path: child.run("compile", name, NUMBA_CACHE_DIR=path)),),
        prepare=lambda frame: folder(),
        clock=dict,
        workers=0,
        is_ours=True,
        baseline=f"{name} warm",
    )
