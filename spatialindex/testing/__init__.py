"""Tests that every structure has to pass, for structures of this package and of others.

`check_index` runs the conformance suite on a factory of indexes, `conformance_checks` yields its
checks one by one, `make_state_machine` makes a hypothesis state machine, and `load_cases` with
`run_case` plays operation sequences with known answers. `Model` is the reference index that they
compare with, and `Twin` the pair of both::

    from spatialindex.testing import check_index

    def test_my_structure_conforms():
        check_index(MyIndex)

All but the state machine and the strategies need NumPy only; those need hypothesis.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from spatialindex.testing.cases import Case, load_cases, run_case
from spatialindex.testing.conformance import check_index, conformance_checks, variants
from spatialindex.testing.model import Model
from spatialindex.testing.twin import Twin

if TYPE_CHECKING:
    from spatialindex.testing.machine import make_state_machine

__all__ = [
    "Case",
    "Model",
    "Twin",
    "check_index",
    "conformance_checks",
    "load_cases",
    "make_state_machine",
    "run_case",
    "variants",
]


def __getattr__(name: str) -> Any:
    if name != "make_state_machine":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module("spatialindex.testing.machine")
    except ModuleNotFoundError as missing:
        if missing.name != "hypothesis":
            raise
        raise ImportError(
            'make_state_machine needs hypothesis: pip install "spatialindex[test]"'
        ) from missing
    return module.make_state_machine
