"""Hypothesis drives every structure and its model through all they can do."""

import os
from functools import partial

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import spatialindex as si
from spatialindex.testing import make_state_machine, variants

# kernels that are not compiled take seconds for an object in thousands of cells; the others have
# some 35,000 steps in all, and those of `test_kept_pairs.py`
IS_SMALL = os.environ.get("SPATIALINDEX_SMALL", "0") not in ("", "0")
EXAMPLES, STEPS = (5, 8) if IS_SMALL else (47, 25)

RUNS = [
    pytest.param(
        partial(si.create, entry.name, **parameters), ndim, id=f"{entry.name}-{how}-{ndim}D"
    )
    for entry in si.structures()
    for how, parameters in variants(entry.parameters).items()
    for ndim in entry.ndims
]


@pytest.mark.parametrize(("factory", "ndim"), RUNS)
def test_structure_answers_as_its_model(factory, ndim):
    machine = make_state_machine(factory, ndim)
    how = settings(max_examples=EXAMPLES, stateful_step_count=STEPS)
    run_state_machine_as_test(machine, settings=how)
