"""The conformance suite: what every index has to do, whatever its structure.

A structure that passes gives the answers of `spatialindex.oracle` bit for bit, in 2D and 3D, and
keeps the whole contract: closed intervals, canonical order, filters, atomic batches, ids, copies,
statistics, threads. Hand it a factory of empty indexes::

    from spatialindex.testing import check_index

    def test_my_structure_conforms():
        check_index(MyIndex)

or run the checks one by one, for a finer report::

    @pytest.mark.parametrize(("name", "check"), conformance_checks())
    def test_my_structure(name, check):
        check(MyIndex, 2)

Tiny cells and leaves find more bugs than default ones, because most scenes of the suite are small:
`variants` names the parameters to run it with as well. It needs NumPy only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spatialindex.testing.checks import (
    batches,
    filters,
    geometry,
    lifecycle,
    nearest,
    outlines,
    planes,
    rays,
    reaching,
    scenes,
    shapes,
    sweeps,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spatialindex.protocol import Parameter
    from spatialindex.testing.twin import Factory

    Check = Callable[[Factory, int], None]

__all__ = ["check_index", "conformance_checks", "variants"]

_TINY = {"cell_size": 0.4, "max_cells": 64, "leaf_size": 1}
"""Parameters with which small scenes have many cells, wide objects and deep trees."""

_MODULES = (
    shapes,
    geometry,
    nearest,
    rays,
    sweeps,
    planes,
    reaching,
    filters,
    batches,
    lifecycle,
    outlines,
    scenes,
)


def conformance_checks() -> Iterator[tuple[str, Check]]:
    """Yield (name, check) of every check of the suite.

    A check is called as ``check(factory, ndim)`` and raises, mostly `AssertionError`, when an
    index that ``factory(ndim)`` makes breaks the contract. Its docstring says what it checks.

    Examples
    --------
    >>> names = [name for name, check in conformance_checks()]
    >>> "touching_boxes_meet" in names
    True
    """
    for module in _MODULES:
        for name, value in vars(module).items():
            if name.startswith("check_"):
                yield name.removeprefix("check_"), value


def check_index(factory: Factory, ndims: Iterable[int] = (2, 3)) -> None:
    """Run the whole suite and raise one error with everything that failed.

    Parameters
    ----------
    factory : callable
        ``factory(ndim)`` returns an empty index.
    ndims : iterable of {2, 3}
        Numbers of dimensions that it can index.

    Raises
    ------
    ExceptionGroup
        When a check failed: the errors of all that did, each with a note that names the check.

    Notes
    -----
    Takes some seconds a structure and dimension, most of it in the oracle.
    """
    failures: list[Exception] = []
    total = 0
    for ndim in ndims:
        for name, check in conformance_checks():
            total += 1
            try:
                check(factory, ndim)
            except Exception as error:
                error.add_note(f"in check {name!r} in {ndim}D: {check.__doc__}")
                failures.append(error)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {total} conformance checks failed", failures)


def variants(parameters: Iterable[Parameter]) -> dict[str, dict[str, Any]]:
    """Return the ways to run the suite on a structure, by name: as it comes, and with tiny parts.

    Parameters
    ----------
    parameters : iterable of Parameter
        What the structure declares.

    Returns
    -------
    dict
        Keyword arguments of the structure: none as ``"default"``, and as ``"tiny"`` small values
        of those declared parameters that have any.

    Examples
    --------
    >>> import spatialindex as si
    >>> variants(si.BruteForce.parameters)
    {'default': {}}
    """
    tiny = {p.name: _TINY[p.name] for p in parameters if p.name in _TINY}
    return {"default": {}, "tiny": tiny} if tiny else {"default": {}}
