"""How tests run: the same hypothesis examples every time, no clock, and small where kernels crawl.

``NUMBA_DISABLE_JIT=1`` runs kernels as plain Python, much slower, so that coverage sees
them. ``SPATIALINDEX_SMALL=1`` is meant for that: it leaves out what is marked ``slow``, checks of
hundreds of boxes, checks of structures that are made of others, and draws fewer examples.
"""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

import spatialindex as si


def is_set(variable):
    return os.environ.get(variable, "0") not in ("", "0")


IS_SMALL = is_set("SPATIALINDEX_SMALL")

STRUCTURES = [entry.name for entry in si.structures()]
MADE_OF_OTHERS = {"grid", "kd-tree", "split"}
"""Their kernels are those of the hash grid, of the BVH and of several."""

WITH_LONG_BEGINNINGS = {
    "test_advise.py",
    "test_play.py",
    "test_report.py",
    "test_report_browser.py",
    "test_tune.py",
    "test_tuned.py",
}
"""Files whose tests share a browser, or a comparison that takes seconds."""

SMALL_CHECKS = {
    "a_teleport_leaves_nothing_behind",
    "an_id_used_again_is_a_new_object",
    "answers_are_snapshots",
    "answers_beyond_max_rows_are_refused",
    "arrays_belong_to_their_owners",
    "arrays_of_any_layout",
    "bad_boxes_are_refused",
    "bad_ids_and_states_are_refused",
    "bad_points_and_rays_are_refused",
    "bad_questions_are_refused",
    "box_casts_against_one_box",
    "content_goes_by_ascending_id",
    "corner_form",
    "duplicate_ids_are_refused",
    "empty_index_and_empty_batches",
    "huge_and_tiny_coordinates",
    "ids_given_out",
    "ignored_ids_are_not_seen",
    "inputs_of_casts_are_left_alone",
    "layer_zero_is_seen_by_nobody",
    "layers_and_masks_agree_both_ways",
    "minus_zero",
    "nearest_fewer_and_more_than_there_are",
    "no_planes_and_no_limits",
    "nothing_asked_in_order",
    "one_asked_in_order_one_out",
    "one_in_one_out",
    "outlines_hold_what_they_list",
    "planes_that_touch",
    "rays_against_one_box",
    "reach_beyond_max_rows_is_refused",
    "refusals_name_the_row",
    "resting_objects",
    "sensor_pairs",
    "unknown_ids_are_refused",
}
"""Checks of the conformance suite that ask about few boxes: a second each without compilation."""

settings.register_profile(
    "deterministic",
    derandomize=True,
    database=None,
    deadline=None,
    # the first example of a structure compiles its kernels
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("small", settings.get_profile("deterministic"), max_examples=5)
settings.load_profile("small" if IS_SMALL else "deterministic")


def pytest_configure(config):
    if is_set("NUMBA_DISABLE_JIT"):
        # compiled code does not warn about what floating point defines, and plain code computes
        # the same
        config.addinivalue_line(
            "filterwarnings", "ignore:.* encountered in (scalar|cast|nextafter):RuntimeWarning"
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each process whole structures, in the order of `turn`.

    Kernels that two processes need at the same time are compiled by both. ``--dist loadgroup``
    would keep tests together, but xdist 3.8 changes their names for that, and pytest 9.2 does not
    look at the new ones.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByStructure(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return tested_together(nodeid)

    config.option.loadscopereorder = False
    return ByStructure(config, log)


def tested_together(nodeid):
    """Name the tests that one process should run: those that compile, or begin with, the same."""
    file = nodeid.partition("::")[0].rpartition("/")[2]
    if file in WITH_LONG_BEGINNINGS:
        return file
    _, _, words = nodeid.partition("[")
    names = [name for name in STRUCTURES if name in words]
    ndim = next((ndim for ndim in ("2D", "3D") if ndim in words), "")
    return f"{max(names, key=len)} {ndim}" if names else nodeid


def turn(nodeid):
    """Return what tests are ordered by: what many others load is compiled first, and once."""
    name, _, ndim = tested_together(nodeid).partition(" ")
    if not ndim or name not in STRUCTURES:
        return (2,)  # they ask all kinds of structures
    return name in MADE_OF_OTHERS, ndim, STRUCTURES.index(name)


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: turn(item.nodeid))
    if not IS_SMALL:
        return
    small = [item for item in items if not is_large(item)]
    config.hook.pytest_deselected(items=[item for item in items if is_large(item)])
    items[:] = small


def pytest_collection_finish(session):
    set_apart_what_stays()


@pytest.fixture(scope="module", autouse=True)
def kernels_stay():
    yield
    set_apart_what_stays()


def set_apart_what_stays():
    """Spare the collector what has been loaded: modules, tests, kernels.

    Comparisons collect before they take times; to go through all of it takes tenths of a second.
    """
    gc.collect()
    gc.freeze()


def is_large(item):
    if item.get_closest_marker("slow") is not None:
        return True
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    check = getattr(parameters.get("check"), "__name__", "")
    if not check.startswith("check_"):
        return False
    structure = tested_together(item.nodeid).partition(" ")[0]
    return structure in MADE_OF_OTHERS or check.removeprefix("check_") not in SMALL_CHECKS
