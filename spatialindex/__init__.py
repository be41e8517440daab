"""Spatial indexes for axis-aligned boxes in 2D and 3D, with exact and identical answers.

>>> import spatialindex as si
>>> index = si.HashGrid(ndim=2)
>>> index.insert([[0, 0, 2, 2], [1, 1, 3, 3], [5, 5, 6, 6]])
array([0, 1, 2])
>>> index.pairs()
array([[0, 1]])
>>> index.query([2, 2, 5, 5])
array([0, 1, 2])

Importing the package is cheap: what a name needs, the compiler above all, is imported when the name
is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_MODULE_OF = {
    "ALL": "constants",
    "BVH": "indexes.bvh",
    "BruteForce": "indexes.brute_force",
    "CoverageError": "errors",
    "DuplicateIdError": "errors",
    "HashGrid": "indexes.grid",
    "HierarchicalGrid": "indexes.hierarchical_grid",
    "Hits": "results",
    "Index": "protocol",
    "IndexStats": "results",
    "InvalidArgumentError": "errors",
    "InvalidBoxError": "errors",
    "InvariantError": "errors",
    "KDTree": "indexes.bvh",
    "LayerTable": "layers",
    "LooseOctree": "indexes.loose_tree",
    "LooseQuadtree": "indexes.loose_tree",
    "Neighbors": "results",
    "Outlines": "outlines",
    "PairEvents": "split.tracker",
    "PairTracker": "split.tracker",
    "RayHits": "results",
    "Recorder": "scenes.recorder",
    "Recording": "scenes.recording",
    "RecordingError": "errors",
    "ResultTooLargeError": "errors",
    "SpatialIndexError": "errors",
    "SplitIndex": "split.index",
    "StepReport": "split.report",
    "Structure": "protocol",
    "SweepAndPrune": "indexes.sweep_and_prune",
    "UniformGrid": "indexes.grid",
    "UnknownIdError": "errors",
    "advise": "comparison.advice",
    "as_boxes": "boxes",
    "box_around": "boxes",
    "box_from_capsule": "boxes",
    "box_from_center": "boxes",
    "box_from_corners": "boxes",
    "box_from_motion": "boxes",
    "box_from_obb": "boxes",
    "box_from_points": "boxes",
    "box_from_sphere": "boxes",
    "compare": "comparison.runner",
    "create": "registry",
    "generate": "scenes.generators",
    "register": "registry",
    "structures": "registry",
    "tune": "comparison.tuning",
}

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from spatialindex.boxes import (
        as_boxes,
        box_around,
        box_from_capsule,
        box_from_center,
        box_from_corners,
        box_from_motion,
        box_from_obb,
        box_from_points,
        box_from_sphere,
    )
    from spatialindex.comparison.advice import advise
    from spatialindex.comparison.runner import compare
    from spatialindex.comparison.tuning import tune
    from spatialindex.constants import ALL
    from spatialindex.errors import (
        CoverageError,
        DuplicateIdError,
        InvalidArgumentError,
        InvalidBoxError,
        InvariantError,
        RecordingError,
        ResultTooLargeError,
        SpatialIndexError,
        UnknownIdError,
    )
    from spatialindex.indexes.brute_force import BruteForce
    from spatialindex.indexes.bvh import BVH, KDTree
    from spatialindex.indexes.grid import HashGrid, UniformGrid
    from spatialindex.indexes.hierarchical_grid import HierarchicalGrid
    from spatialindex.indexes.loose_tree import LooseOctree, LooseQuadtree
    from spatialindex.indexes.sweep_and_prune import SweepAndPrune
    from spatialindex.layers import LayerTable
    from spatialindex.outlines import Outlines
    from spatialindex.protocol import Index, Structure
    from spatialindex.registry import create, register, structures
    from spatialindex.results import Hits, IndexStats, Neighbors, RayHits
    from spatialindex.scenes.generators import generate
    from spatialindex.scenes.recorder import Recorder
    from spatialindex.scenes.recording import Recording
    from spatialindex.split.index import SplitIndex
    from spatialindex.split.report import StepReport
    from spatialindex.split.tracker import PairEvents, PairTracker
