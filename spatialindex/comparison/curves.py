"""What `tune` returns: figures against a declared parameter, plain frozen records.

The layout of `Curve.as_dict` is numbered by its entry ``format``, as that of a comparison is: a
name that changes its meaning, or goes, raises the number.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from spatialindex.comparison.results import from_extra, plain
from spatialindex.comparison.verdict import milliseconds

if TYPE_CHECKING:
    import os

    from rich.console import RenderableType

    from spatialindex.comparison.facts import SceneFacts
    from spatialindex.comparison.machine import Machine

__all__ = ["CURVE_FORMAT", "NEAR_BEST", "Curve", "CurvePoint"]

CURVE_FORMAT = 1
"""Number of the layout of `Curve.as_dict`."""

NEAR_BEST = 1.1
"""Values whose time is within this factor of the best make up the valley."""


@dataclass(frozen=True)
class CurvePoint:
    """One value of the parameter, and what was measured and counted with it."""

    value: float
    """The value; a whole number where the parameter is one."""
    seconds: float
    """Median over the frames of what a frame takes, in seconds."""
    candidates: int | None
    """Distinct pairs met, median over the frames counted."""
    entries: int
    """Memberships in buckets, median."""
    visits: int | None
    """Pairs met, repeats included, median."""
    max_bucket: int
    """Memberships of the fullest bucket, peak."""
    pairs: int | None
    """Pairs reported, median; the same at every point. None, as the two others, where no pairs were
    asked for."""


@dataclass(frozen=True, repr=False)
class Curve:
    """Figures of one structure on one scene against one of its parameters."""

    structure: str
    """Name of the structure in the registry."""
    parameter: str
    """Which parameter was varied."""
    points: tuple[CurvePoint, ...]
    """By ascending value."""
    best: CurvePoint
    """The point that takes the least time."""
    usual: tuple[float, float] | None
    """The usual starting point, 1.5 to 2 times the mean extent of the boxes; None where the
    parameter is not a length."""
    valley: tuple[float, float]
    """Smallest and largest value around the best whose time is within `NEAR_BEST` of it."""
    ndim: int = 2
    """Number of dimensions of the scene."""
    own: CurvePoint | None = None
    """The structure without the parameter, measured as the points are. Its value is what it has
    chosen in the first frame, or the default."""
    jobs: tuple[str, ...] = ()
    """What a frame's time is made of."""
    scene: SceneFacts | None = None
    """The scene."""
    machine: Machine | None = None
    """What it was measured on."""
    notes: tuple[str, ...] = ()
    """What was not done, or not in full, and why."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dictionaries, numbers and strings, ready for JSON.

        Times are in seconds. ``format`` is the number of this layout.
        """
        parts = {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}
        return {"format": CURVE_FORMAT, "code": self.code, "words": self.words} | parts

    def table(self) -> RenderableType:
        """Return the curve for a terminal, to be printed by `rich`."""
        with from_extra("tables need"):
            from spatialindex.comparison.choice_tables import draw_curve
        return draw_curve(self)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the curve into a picture, completely or not at all.

        Parameters
        ----------
        path : path
            A file whose suffix says what is written: ``.png``, ``.svg`` or ``.pdf``.

        Raises
        ------
        InvalidArgumentError
            For another suffix, or when the file cannot be written.
        SpatialIndexError
            When matplotlib is not installed.
        """
        from spatialindex.comparison.plotting import write_plot

        write_plot(self, path)

    def __repr__(self) -> str:
        return (
            f"<Curve: {self.structure} {self.parameter}, {len(self.points)} points, best "
            f"{self.best.value:.6g}, as good from {self.valley[0]:.6g} to {self.valley[1]:.6g}>"
        )

    @property
    def is_own_as_good(self) -> bool:
        """Whether the structure without the parameter takes no more than `NEAR_BEST` the time."""
        return self.own is not None and self.own.seconds <= NEAR_BEST * self.best.seconds

    @property
    def words(self) -> str:
        """What to do, in a sentence."""
        best, own = self.best, self.own
        tried = f"{self.parameter}={best.value:.6g}, {milliseconds(best.seconds)} ms"
        if own is None or not best.seconds:
            return f"best: {tried} a frame"
        ratio = own.seconds / best.seconds
        if not self.is_own_as_good:
            left = f"left to itself {self.structure} takes {own.value:.6g}"
            return f"best: {tried} a frame; {left} and needs {ratio:.2f}x as long"
        left = f"{self.structure} takes {own.value:.6g} by itself, {milliseconds(own.seconds)} ms"
        words = f"leave {self.parameter} out: {left} a frame"
        if own.value == best.value:
            return f"{words}, the best of those tried"
        is_faster = ratio * NEAR_BEST < 1.0
        than = "and is faster than" if is_faster else "and is as good as"
        return f"{words}, {than} the best of those tried, {tried} ({ratio:.2f}x as long)"

    @property
    def code(self) -> str:
        """The best of the values tried to paste into code; `words` tell if it is worth it.

        >>> point = CurvePoint(2.5, 1e-3, 30, 40, 35, 7, 20)
        >>> Curve("hash-grid", "cell_size", (point,), point, None, (2.5, 2.5)).code
        'si.create("hash-grid", ndim=2, cell_size=2.5)'
        """
        return (
            f'si.create("{self.structure}", ndim={self.ndim}, {self.parameter}={self.best.value!r})'
        )
