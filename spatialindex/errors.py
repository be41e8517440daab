"""The exceptions of the library.

Every error that a user can cause derives from `SpatialIndexError` and from the built-in that fits,
so that both ``except SpatialIndexError`` and ``except ValueError`` work::

    SpatialIndexError
    ├── InvalidBoxError(ValueError)        a box that is NaN, infinite, inverted or misshapen
    ├── InvalidArgumentError(ValueError)   any other argument that cannot be meant
    ├── UnknownIdError(KeyError)           an id that is not in the index
    ├── DuplicateIdError(ValueError)       an id twice in a batch, or inserted although it is there
    ├── CoverageError(ValueError)          an object too large for a grid that refuses such objects
    ├── ResultTooLargeError(MemoryError)   an answer of more rows than ``index.max_rows``
    ├── RecordingError(ValueError)         a recording that is damaged or inconsistent
    └── InvariantError(AssertionError)     ``validate()`` found a broken invariant: a bug of ours

A call that raises has changed nothing.
"""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "CoverageError",
    "DuplicateIdError",
    "InvalidArgumentError",
    "InvalidBoxError",
    "InvariantError",
    "RecordingError",
    "ResultTooLargeError",
    "SpatialIndexError",
    "UnknownIdError",
    "did_you_mean",
]


class SpatialIndexError(Exception):
    """Base of all errors of the library."""


class InvalidBoxError(SpatialIndexError, ValueError):
    """A box is NaN, infinite, inverted, or has the wrong shape, dtype or number of dimensions."""


class InvalidArgumentError(SpatialIndexError, ValueError):
    """An argument other than a box cannot be meant; the message names its value and a remedy."""


class UnknownIdError(SpatialIndexError, KeyError):
    """An id is not in the index."""

    def __str__(self) -> str:
        # KeyError would show the repr of its argument, quotes and all
        return str(self.args[0]) if self.args else ""


class DuplicateIdError(SpatialIndexError, ValueError):
    """An id appears twice in one batch, or is inserted although it is in the index."""


class CoverageError(SpatialIndexError, ValueError):
    """An object covers more cells than a grid with ``oversized="refuse"`` accepts."""


class ResultTooLargeError(SpatialIndexError, MemoryError):
    """An answer would have more rows than ``index.max_rows``; nothing was allocated for it."""


class RecordingError(SpatialIndexError, ValueError):
    """A recording is damaged, truncated or inconsistent."""


class InvariantError(SpatialIndexError, AssertionError):
    """`validate` found a broken invariant: a bug of the library, please report it."""


def did_you_mean(word: object, known: Iterable[str], *, cutoff: float = 0.4) -> str:
    """Return a question that names the known word nearest to a wrong one; empty without one.

    A known word that has the wrong one as a part comes before those that are merely spelled alike.
    `cutoff` is how alike the two have to be, from 0 to 1.

    >>> did_you_mean("size", ["cell_size", "oversized"]), did_you_mean("over_sized", ["oversized"])
    ("did you mean 'cell_size'? ", "did you mean 'oversized'? ")
    """
    text, words = str(word), list(known)
    having = [name for name in words if text in name.replace("_", "-").split("-")]
    near = get_close_matches(text, having, n=1, cutoff=0.0)
    near = near or get_close_matches(text, words, n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}? " if near else ""
