"""The public surface: which names there are, that they can be had, and what importing costs."""

import ast
import importlib
import platform
import subprocess
import sys
import tomllib
import typing
from pathlib import Path

import pytest

import spatialindex as si

ROOT = Path(__file__).parents[1]

PUBLIC = [
    "ALL",
    "BVH",
    "BruteForce",
    "CoverageError",
    "DuplicateIdError",
    "HashGrid",
    "HierarchicalGrid",
    "Hits",
    "Index",
    "IndexStats",
    "InvalidArgumentError",
    "InvalidBoxError",
    "InvariantError",
    "KDTree",
    "LayerTable",
    "LooseOctree",
    "LooseQuadtree",
    "Neighbors",
    "Outlines",
    "PairEvents",
    "PairTracker",
    "RayHits",
    "Recorder",
    "Recording",
    "RecordingError",
    "ResultTooLargeError",
    "SpatialIndexError",
    "SplitIndex",
    "StepReport",
    "Structure",
    "SweepAndPrune",
    "UniformGrid",
    "UnknownIdError",
    "__version__",
    "advise",
    "as_boxes",
    "box_around",
    "box_from_capsule",
    "box_from_center",
    "box_from_corners",
    "box_from_motion",
    "box_from_obb",
    "box_from_points",
    "box_from_sphere",
    "compare",
    "create",
    "generate",
    "register",
    "structures",
    "tune",
]


def run_python(source):
    """Run a program in a process of its own, with warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Names


def test_public_names_are_these():
    assert si.__all__ == PUBLIC
    assert dir(si) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_can_be_had_and_says_what_it_is(name):
    value = getattr(si, name)
    assert value is getattr(si, name)
    if name not in ("ALL", "__version__"):
        assert value.__doc__
        assert value.__name__ == name
        assert value.__module__.startswith("spatialindex.")
        assert name in importlib.import_module(value.__module__).__all__


def test_star_import_gives_the_public_names():
    names = {}
    exec("from spatialindex import *", names)
    assert names.keys() - {"__builtins__"} == set(PUBLIC)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'spatialindex' has no attribute 'Quadtree'"):
        si.Quadtree  # noqa: B018


def test_type_checkers_see_the_same_names():
    source = (ROOT / "spatialindex" / "__init__.py").read_text(encoding="utf-8")
    (checking,) = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imported = {(alias.name, node.module) for node in checking.body for alias in node.names}
    names = {name for name, _ in imported}
    assert names == set(PUBLIC) - {"__version__"}
    for name, module in imported:
        assert getattr(si, name) is getattr(importlib.import_module(module), name)


def test_names_of_functions_stay_functions_after_all_modules_are_imported():
    # a package named like a public function would take its place on the second access
    source = "\n".join(
        (
            "import importlib, pkgutil, spatialindex as si",
            "for module in pkgutil.iter_modules(si.__path__):",
            "    if module.name != '__main__':",
            "        importlib.import_module('spatialindex.' + module.name)",
            "print([n for n in si.__all__ if type(getattr(si, n)).__name__ == 'module'])",
        )
    )
    assert run_python(source) == "[]\n"


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        ("InvalidBoxError", ValueError),
        ("InvalidArgumentError", ValueError),
        ("UnknownIdError", KeyError),
        ("DuplicateIdError", ValueError),
        ("CoverageError", ValueError),
        ("ResultTooLargeError", MemoryError),
        ("RecordingError", ValueError),
        ("InvariantError", AssertionError),
    ],
)
def test_error_derives_from_ours_and_from_the_built_in_that_fits(error, builtin):
    assert issubclass(getattr(si, error), si.SpatialIndexError)
    assert issubclass(getattr(si, error), builtin)


def test_version_is_the_one_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert si.__version__ == project["version"]
    assert f"What will be {si.__version__}." in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_structure_has_the_methods_of_the_protocol():
    members = {name for name in vars(si.Index) if not name.startswith("_")}
    members |= typing.get_type_hints(si.Index, include_extras=True).keys() & {"max_rows"}
    for entry in si.structures():
        index = si.create(entry.name, entry.ndims[0])
        assert isinstance(index, si.Index)
        assert not [name for name in members if not hasattr(index, name)]


# What importing costs


HEAVY = ("numba", "llvmlite", "click", "rich", "matplotlib", "hypothesis", "sortedcontainers")


def modules_after(source):
    return set(run_python(f"import sys\n{source}\nprint(*sys.modules)").split())


def test_importing_the_package_imports_nothing_heavy():
    loaded = modules_after("import spatialindex")
    assert not [name for name in HEAVY if name in loaded]


def test_importing_the_package_costs_no_more_than_a_few_modules():
    ours = modules_after("import numpy\nimport spatialindex") - modules_after("import numpy")
    assert len(ours) <= 5, sorted(ours)


CLASSES = {entry.path.rpartition(":")[2] for entry in si.structures()}


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - CLASSES))
def test_name_that_needs_no_kernel_does_not_import_the_compiler(name):
    loaded = modules_after(f"import spatialindex\nspatialindex.{name}")
    assert not [heavy for heavy in HEAVY if heavy in loaded]


def test_making_boxes_does_not_import_the_compiler():
    source = (
        "import spatialindex as si\nsi.box_from_center([[0, 0]], 1.0)\nsi.as_boxes([0, 0, 1, 1])"
    )
    assert "numba" not in modules_after(source)


def test_reading_a_recording_does_not_import_the_compiler():
    path = "examples/recordings/us_counties.npz"
    assert "numba" not in modules_after(f"import spatialindex as si\nsi.Recording.load({path!r})")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about the C library of Linux")
def test_memory_that_many_objects_free_is_given_out_again():
    source = """
import resource
import numpy as np
import spatialindex as si

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.empty(20 * 2**20, np.uint8)[::4096] = 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

si.BruteForce(ndim=2).insert(np.zeros((10_000, 4)))
new_pages()
print(new_pages())
"""
    assert int(run_python(source)) < 5
