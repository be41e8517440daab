"""Every registered structure goes through the conformance suite, in all its dimensions."""

import importlib
import sys
from functools import partial

import pytest

import spatialindex as si
from spatialindex import testing
from spatialindex.testing import check_index, conformance_checks, variants

RUNS = [
    pytest.param(
        partial(si.create, entry.name, **parameters), ndim, id=f"{entry.name}-{how}-{ndim}D"
    )
    for entry in si.structures()
    for how, parameters in variants(entry.parameters).items()
    for ndim in entry.ndims
]


@pytest.mark.parametrize(("factory", "ndim"), RUNS)
@pytest.mark.parametrize("check", [pytest.param(c, id=name) for name, c in conformance_checks()])
def test_structure_keeps_the_contract(check, factory, ndim):
    check(factory, ndim)


def test_every_check_says_what_it_checks_and_has_a_name_of_its_own():
    checks = list(conformance_checks())
    assert len(checks) > 40
    assert len({name for name, _ in checks}) == len(checks)
    assert all(check.__doc__ for _, check in checks)


def test_everything_that_fails_is_reported_with_its_name():
    def broken(ndim):
        raise RuntimeError("no such index")

    with pytest.raises(ExceptionGroup) as caught:
        check_index(broken, ndims=(3,))
    total = len(list(conformance_checks()))
    assert f"{total} of {total} conformance checks failed" in str(caught.value)
    notes = [note for error in caught.value.exceptions for note in error.__notes__]
    assert any("in check 'minus_zero' in 3D: -0.0 equals 0.0" in note for note in notes)


def test_suite_needs_hypothesis_only_for_the_state_machine(monkeypatch):
    for name in [n for n in sys.modules if n.split(".")[0] == "hypothesis"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [n for n in sys.modules if n.startswith("spatialindex.testing")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    fresh = importlib.import_module("spatialindex.testing")
    assert fresh.check_index.__name__ == "check_index"
    with pytest.raises(ImportError, match=r'needs hypothesis: pip install "spatialindex\[test\]"'):
        fresh.make_state_machine  # noqa: B018


def test_unknown_names_of_the_package_are_no_attributes():
    with pytest.raises(AttributeError, match="no attribute 'make_machine'"):
        testing.make_machine  # noqa: B018
    assert all(hasattr(testing, name) for name in testing.__all__)
