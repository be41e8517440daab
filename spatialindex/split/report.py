"""What a step of a split index returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spatialindex.split.index import SplitIndex
    from spatialindex.split.tracker import CodedRows

__all__ = ["StepReport", "StepStats", "StepTimes"]

_CONTACT, _TO_SENSOR = 0, 1  # of `kernels.events`, importing which would import the compiler


class StepTimes(NamedTuple):
    """Seconds that the phases of a step took."""

    update: float
    """Taking in what has changed since the last question."""
    pairs: float
    """Finding the present pairs."""
    events: float
    """Comparing them with those of the step before."""


@dataclass(frozen=True, slots=True)
class StepStats:
    """Statistics of a step. What is counted afresh is counted on the boxes that it has left."""

    objects: int
    """Objects in the index."""
    static: int
    """Of these in the static part: static, or asleep."""
    dynamic: int
    """In the dynamic part."""
    coarse: int
    """In the coarse part: oversized, resting or not."""
    entries: int
    """Memberships in buckets of all parts, wide objects apart."""
    buckets: int
    """Occupied cells or nodes of all parts."""
    mean_bucket: float
    """Memberships an occupied bucket."""
    max_bucket: int
    """Memberships of the fullest bucket."""
    wide: int
    """Objects that a part scans apart."""
    visits: int
    """Pairs met when active pairs are found afresh, repeats included."""
    candidates: int
    """Distinct pairs met."""
    pairs: int
    """Active pairs of the step, those with sensors included."""
    masked: int
    """Overlapping pairs left out by layer and mask."""
    resting: int
    """Overlapping pairs met and left out because of static or sleeping members."""
    asleep: int
    """Pairs that are kept although all their members are asleep or static, one of them asleep."""
    began: int
    """Pairs that began, those with sensors included."""
    ended: int
    """Pairs that ended, those with sensors included."""
    times: StepTimes
    """Seconds of the phases."""

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name, for tables and JSON; times have a dict of their own."""
        return asdict(self) | {"times": self.times._asdict()}


class StepReport:
    """Current pairs, and what began and ended since the step before.

    It is of its step for good: pairs read from it later are still those of then.

    Its pairs are the *active* ones, what a solver works on; its events are of
    ``among="dynamic"``, so that falling asleep ends nothing. A pair whose
    members both fall asleep leaves `pairs` without being in `ended`, and comes back to it without
    being in `began`.

    Attributes
    ----------
    began, ended : (m, 2) int64 array
        Contacts that began and ended, rows (a, b) with a < b in canonical order: the differences of
        ``pairs(among="dynamic", sensors="exclude")``.
    sensor_began, sensor_ended : (m, 2) int64 array
        The same of pairs with a sensor in them.
    times : StepTimes
        Seconds of the phases.
    """

    def __init__(
        self,
        world: SplitIndex,
        active: CodedRows,
        events: tuple[NDArray[np.int64], ...],
        times: StepTimes,
        figures: dict[str, int],
    ) -> None:
        self._world = world
        self._version = world._version
        self._active = active
        self.began, self.ended, self.sensor_began, self.sensor_ended = events
        self.times = times
        self._figures = figures

    def __repr__(self) -> str:
        return (
            f"<StepReport of {self._figures['objects']} objects: "
            f"{len(self.began)} began, {len(self.ended)} ended, with sensors "
            f"{len(self.sensor_began)} and {len(self.sensor_ended)}>"
        )

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Contacts: active pairs without a sensor, ``(m, 2)`` in canonical order."""
        return self._of_code(_CONTACT)

    @cached_property
    def sensor_pairs(self) -> NDArray[np.int64]:
        """Active pairs with a sensor in them, ``(m, 2)`` in canonical order."""
        return self._of_code(_TO_SENSOR)

    def _of_code(self, code: int) -> NDArray[np.int64]:
        rows, codes = self._active
        is_wanted = codes == code
        return rows.copy() if is_wanted.all() else rows[is_wanted]

    @cached_property
    def stats(self) -> StepStats:
        """Statistics of the step, counted when they are first read.

        Raises
        ------
        InvalidArgumentError
            When they are first read after the world has changed again.

        Notes
        -----
        Cost: a pass of about finding all active pairs from scratch.
        """
        world = self._world
        if world._version != self._version:
            raise InvalidArgumentError(
                "the world has changed since this step; read its stats before the next change"
            )
        held, counts = world._figures()
        figures = counts._asdict() | self._figures
        return StepStats(
            entries=held.entries,
            buckets=held.buckets,
            mean_bucket=held.entries / held.buckets if held.buckets else 0.0,
            max_bucket=held.max_bucket,
            wide=held.wide,
            began=len(self.began) + len(self.sensor_began),
            ended=len(self.ended) + len(self.sensor_ended),
            times=self.times,
            **figures,
        )
