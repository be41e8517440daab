"""Dtypes and defaults, each with its reason."""

from typing import Final

import numpy as np

__all__ = [
    "ALL",
    "AMONG",
    "AXES",
    "BOX_DTYPE",
    "DEFAULT_LAYER",
    "EXACT_INTEGER",
    "ID_DTYPE",
    "KINDS",
    "MAX_CELLS",
    "MAX_ROWS",
    "NDIMS",
    "PREDICATES",
    "SENSORS",
    "SLOT_DTYPE",
    "STATE_DTYPE",
    "TOGETHER",
]

AXES: Final = "xyz"
"""Letters of the axes, as messages name them."""

EXACT_INTEGER: Final = 2**53
"""Up to this magnitude float64 has every integer."""

NDIMS: Final = (2, 3)
"""Numbers of dimensions that boxes can have."""

BOX_DTYPE: Final = np.dtype(np.float64)
"""Boxes are stored and every answer is decided in this type."""

ID_DTYPE: Final = np.dtype(np.int64)
"""Ids as users see them."""

SLOT_DTYPE: Final = np.dtype(np.int32)
"""Rows of the object table as structures see them: half the memory of an id in every entry."""

ALL: Final[int] = 2**64 - 1
"""The mask and the `layers` of all bits."""

DEFAULT_LAYER: Final[int] = 1
"""The layer of an object that names none: the lowest bit."""

STATE_DTYPE: Final = np.dtype(
    [
        ("layer", np.uint64),
        ("mask", np.uint64),
        ("static", np.bool_),
        ("asleep", np.bool_),
        ("sensor", np.bool_),
    ],
    align=True,
)
"""One row an object: what the pair filter reads, side by side so that a test touches one line."""

MAX_ROWS: Final[int] = 2**29
"""Default of ``index.max_rows``: 8 GiB of answer; more is a `ResultTooLargeError`."""

TOGETHER: Final = 16
"""Regions that go down a tree together, a power of two.

Batches are cut for threads at multiples of it: whatever their number, the same ones are together,
and what they find comes in the same order.
"""

MAX_CELLS: Final[int] = 4096
"""Cells that one object may cover in a grid before it goes to the wide list."""

PREDICATES: Final = ("intersects", "inside", "encloses")
"""What `query` can ask of an object's box and the input box."""

KINDS: Final = (0, 1, 2, 3, 4, 5)
"""Codes of what a region asks: `PREDICATES` in their order, then radius, planes and cast."""

AMONG: Final = ("all", "dynamic", "active")
"""What `pairs` can ask of static and sleeping members; the position is the kernels' code."""

SENSORS: Final = ("include", "exclude", "only")
"""What `pairs` can ask about sensor pairs; the position is the kernels' code."""
