"""What `advise` returns: traits of a scene, ranked choices, the measured reasons; plain records.

The layout of `Advice.as_dict` is numbered by its entry ``format``, as that of a comparison is: a
name that changes its meaning, or goes, raises the number.
"""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from spatialindex.comparison.results import from_extra, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from spatialindex.comparison.results import Comparison, Status

__all__ = ["ADVICE_FORMAT", "Advice", "Choice", "Traits"]

ADVICE_FORMAT = 1
"""Number of the layout of `Advice.as_dict`."""

_SIZES = (3.0, 10.0)  # times the median: from where on they are several, and many
_COHERENT = 0.5  # of an edge: a box still overlaps where it was


@dataclass(frozen=True)
class Traits:
    """What makes a scene easy or hard, in figures."""

    objects: int
    """Objects in the median frame."""
    ndim: int
    """Number of dimensions."""
    frames: int
    """Frames that were looked at."""
    largest_to_median: float
    """The largest longest edge over the median one; 0 where the median is 0."""
    partners: float
    """Others that a box meets, on average, estimated from a sample."""
    static_share: float
    """Share of the objects that never move."""
    asleep_share: float
    """Share that sleeps in the median frame."""
    moved_share: float
    """Share of the boxes that change from a frame to the next, mean."""
    displacement: float
    """How far boxes that move do so in a frame, median, in edges of a median box; 0 for none."""

    @property
    def words(self) -> tuple[str, ...]:
        """The same in words, a line a trait."""
        words = ("all about one size", "several sizes", "many sizes")
        sizes = f"{words[bisect(_SIZES, self.largest_to_median)]}: the largest box is "
        if 0.0 < self.largest_to_median < 1.005:
            sizes += "as long as the median one"
        else:
            sizes += f"{_figure(self.largest_to_median, 3)} times as long as the median one"
        lines = [
            f"{self.objects:,} objects in {self.ndim}D, {self.frames:,} "
            f"frame{'s' * (self.frames != 1)}",
            sizes,
            f"density: a box meets about {_figure(self.partners, 2)} others",
        ]
        if self.static_share or self.asleep_share:
            lines.append(f"at rest: {self.static_share:.0%} static, {self.asleep_share:.0%} asleep")
        if self.frames > 1:
            motion = f"motion: {self.moved_share:.0%} of the boxes change in a frame"
            if self.displacement:
                how = "coherent" if self.displacement <= _COHERENT else "it jumps"
                motion += f", by {_figure(self.displacement, 2)} edges of a median box ({how})"
            lines.append(motion)
        return tuple(lines)


def _figure(value: float, digits: int) -> str:
    """Write a number with few digits, and without an exponent where people read none.

    >>> _figure(2271.3, 3), _figure(0.0341, 2), _figure(1e30, 2)
    ('2,270', '0.034', '1e+30')
    """
    return f"{float(f'{value:.{digits}g}'):,.12g}"


@dataclass(frozen=True)
class Choice:
    """One structure with its parameters, and how far it came."""

    label: str
    """What tables call it."""
    name: str
    """Its name in the registry."""
    parameters: dict[str, Any]
    """Parameters that set it apart from its defaults."""
    status: Status
    """``"ok"`` when it was right and timed; else why it has no times."""
    seconds: float | None
    """Median frame in the last round that it was in, in seconds."""
    ratio: float | None
    """That over the best of the same round, in alternation with it."""
    round: int
    """The last round that it was in, from 1."""
    note: str
    """Why it came no farther."""


@dataclass(frozen=True)
class Advice:
    """Ranked structures for a scene, with measured reasons."""

    traits: Traits
    """What the scene is like."""
    jobs: tuple[str, ...]
    """What a frame's time is made of."""
    choices: tuple[Choice, ...]
    """The best first; then by the round they came to and by time; at last those without times."""
    reasons: tuple[str, ...]
    """Measured figures in favour of the first choice, against the best other structure."""
    contrary: tuple[str, ...]
    """Measured figures against it."""
    words: str
    """What to take, in a sentence."""
    rounds: tuple[str, ...]
    """What each round measured."""
    final: Comparison
    """The last round: checked, timed in alternation."""
    notes: tuple[str, ...] = ()
    """What was not done, or not in full, and why."""

    @property
    def best(self) -> Choice | None:
        """The first choice; None when no structure was timed."""
        first = self.choices[0] if self.choices else None
        return first if first is not None and first.seconds is not None else None

    @property
    def code(self) -> str:
        """The first choice to paste into code; empty when there is none."""
        if self.best is None:
            return ""
        given = [f"ndim={self.traits.ndim}"]
        given += [f"{key}={value!r}" for key, value in self.best.parameters.items()]
        return f'si.create("{self.best.name}", {", ".join(given)})'

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dictionaries, numbers and strings, ready for JSON.

        Times are in seconds. ``format`` is the number of this layout; ``final`` is laid out as
        `Comparison.as_dict`.
        """
        parts = {
            entry.name: plain(getattr(self, entry.name))
            for entry in fields(self)
            if entry.name != "final"
        }
        best = self.best.label if self.best else None
        head = {"format": ADVICE_FORMAT, "best": best, "code": self.code}
        return head | parts | {"final": self.final.as_dict()}

    def table(self) -> RenderableType:
        """Return the advice for a terminal, to be printed by `rich`."""
        with from_extra("tables need"):
            from spatialindex.comparison.choice_tables import draw_advice
        return draw_advice(self)
