"""What a comparison is made of: plain frozen records that turn into JSON and into tables.

Times are seconds here and in JSON; tables show milliseconds. The layout of `Comparison.as_dict` is
numbered by its entry ``format``: a name that changes its meaning, or goes, raises the number.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from spatialindex.errors import SpatialIndexError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import RenderableType

    from spatialindex.comparison.curves import Curve
    from spatialindex.comparison.facts import SceneFacts
    from spatialindex.comparison.machine import Machine
    from spatialindex.protocol import Among
    from spatialindex.scenes.recording import Recording

__all__ = [
    "ANSWERING",
    "DEFAULT_JOBS",
    "FORMAT",
    "FRAME_JOBS",
    "JOBS",
    "Checked",
    "Comparison",
    "Row",
    "Settings",
    "Status",
    "Timing",
    "Verdict",
    "Work",
    "finite",
    "from_extra",
    "plain",
]

FORMAT = 1
"""Number of the layout of `Comparison.as_dict`."""

JOBS = ("build", "update", "pairs", "query", "nearest", "raycast")
"""What can be timed, in the order in which a frame asks for it."""

DEFAULT_JOBS = ("build", "update", "pairs", "query")
"""What is timed when nothing is asked for: what a broad phase does in every frame."""

ANSWERING = ("pairs", "query", "nearest", "raycast")
"""The jobs that have answers, which are compared with the oracle's."""

FRAME_JOBS = ("update", *ANSWERING)
"""The jobs that come again in every frame; a recording of one frame has build in update's place."""

Status = Literal["ok", "differs", "failed", "left out", "floor"]
"""What became of a contestant; only rows that are `ok` are ranked, `floor` is the empty one."""


@dataclass(frozen=True)
class Settings:
    """What was asked for."""

    jobs: tuple[str, ...]
    """Jobs that were asked for."""
    among: Among
    """Which pairs are timed."""
    queries: int
    """Range queries asked in every frame, as one batch; as many points and rays in theirs."""
    seed: int
    """Seed of all of them."""
    budget: float
    """Seconds that timing may take."""
    work: int
    """Box tests that checking may take."""
    repeats: int
    """Fresh indexes that `build` is timed on."""
    plays: int
    """Times that all frames are played, as far as the budget goes."""


@dataclass(frozen=True)
class Checked:
    """What was compared with the oracle before anything was timed."""

    frames: int
    """Frames in which answers were compared."""
    planned: int
    """Frames that were to be compared; fewer were when no structure was left to compare."""
    of_frames: int
    """Frames that were played."""
    pairs: bool
    """Whether pairs were compared: those that are timed, among active ones and among all."""
    share: float
    """Share of the objects whose pairs were compared; 1.0 is all."""
    queries: int
    """Range queries compared in each of these frames."""
    pair_rows: int
    """Rows of pairs that the oracle found, over all frames and options."""
    query_rows: int
    """Rows of query answers that the oracle found, over all frames."""
    points: int
    """Points whose nearest objects were compared in each of these frames."""
    neighbors: int
    """Neighbours that the oracle found, over all frames."""
    rays: int
    """Rays whose first hits were compared in each of these frames."""
    hits: int
    """Rays that hit something, as the oracle says, over all frames."""
    box_tests: int
    """Tests of two boxes that the oracle was to make; a distance or a time counts as one."""

    @property
    def words(self) -> str:
        """The same in words."""
        if self.frames == 0:
            return "nothing"
        sampled = "" if self.planned == self.of_frames else " (evenly sampled)"
        if self.frames < self.planned:
            sampled += ", no structure going further"
        asked = []
        if self.pairs:
            part = "" if self.share == 1.0 else f" of {self.share:.2%} of the objects"
            asked.append(f"pairs{part} ({self.pair_rows:,} rows)")
        if self.queries:
            asked.append(f"{self.queries:,} queries each ({self.query_rows:,} rows)")
        if self.points:
            asked.append(f"{self.points:,} points each ({self.neighbors:,} neighbours)")
        if self.rays:
            asked.append(f"{self.rays:,} rays each ({self.hits:,} hits)")
        words = " and ".join(filter(None, (", ".join(asked[:-1]), asked[-1])))
        noun = "frame" if self.of_frames == 1 else "frames"
        return f"{self.frames:,} of {self.of_frames:,} {noun}{sampled}, {words}"


@dataclass(frozen=True)
class Timing:
    """One job of one structure, in seconds."""

    median: float
    """Median over the frames."""
    worst: float
    """The slowest frame."""
    worst_frame: int
    """Which one that is; for `build`, which fresh index."""
    samples: int
    """Frames timed; for `build`, fresh indexes."""


@dataclass(frozen=True)
class Work:
    """What a structure held and met, counted in frames that were checked: `si.IndexStats`.

    Counts that add up over a frame are the lower median over the frames counted, so that each is
    the figure of some frame; peaks are the largest. Pair counts are None where no pairs were asked.
    """

    frames: int
    """Frames counted, evenly sampled from the checked ones."""
    pairs: int | None
    """Pairs reported, median."""
    candidates: int | None
    """Distinct pairs met, median."""
    visits: int | None
    """Pairs met, repeats included, median."""
    entries: int
    """Memberships in buckets, median."""
    buckets: int
    """Occupied cells or nodes, median."""
    max_bucket: int
    """Memberships of the fullest bucket, peak."""
    wide: int
    """Objects scanned apart, peak."""
    nbytes: int
    """Memory of the index with its table of objects, in bytes, peak."""
    rebuilds: int
    """Times the structure was built, at the end."""


@dataclass(frozen=True)
class Row:
    """One contestant."""

    label: str
    """What tables call it."""
    name: str
    """Its name in the registry."""
    parameters: dict[str, Any]
    """Parameters that were given."""
    status: Status
    """Whether its times stand; see `note` when they do not."""
    note: str
    """What is to be said about it: where it differs, why it was left out, what was cut short."""
    checked: int
    """Frames in which all its answers were equal to the oracle's."""
    plays: int
    """Times that all its frames were played; a frame takes what it takes in its fastest play."""
    compile: float | None
    """Seconds of its first calls in this process: compiling, or loading what was compiled."""
    work: Work | None
    """What it held and met; None when it was not counted."""
    build: Timing | None
    """Inserting the first frame into a fresh index and bringing its structure up to date."""
    update: Timing | None
    """Applying a frame's changes and bringing the structure up to date."""
    pairs: Timing | None
    """All pairs in canonical order, among those that `Settings.among` says."""
    query: Timing | None
    """One batch of range queries, in canonical order."""
    nearest: Timing | None
    """One batch of points, the nearest objects of each."""
    raycast: Timing | None
    """One batch of rays, the first hit of each."""
    frame: Timing | None
    """The timed jobs of a frame together, frame by frame: what contestants are ranked by."""
    is_peer: bool = False
    """Whether it is another library, asked for as one of `peers`."""

    def timing(self, job: str) -> Timing | None:
        """Return the timing of a job, or of ``"frame"``."""
        found: Timing | None = getattr(self, job)
        return found


@dataclass(frozen=True)
class Verdict:
    """Who is fastest, by how much, and what was measured that says why."""

    fastest: str | None
    """Label of the fastest structure; None when none was timed."""
    against: str | None
    """Label of the runner-up; None when there is none."""
    ratio: float | None
    """Median frame of the runner-up over that of the fastest, on the frames timed for both."""
    won: int
    """Frames of these in which it was faster."""
    frames: int
    """Frames timed for both."""
    is_clear: bool
    """False when the two are too close to say."""
    reasons: tuple[str, ...]
    """Measured differences between the two in favour of the fastest."""
    contrary: tuple[str, ...]
    """Measured differences against it."""
    words: str
    """All of it in a sentence."""


@dataclass(frozen=True)
class Comparison:
    """What `si.compare` returns: a scene, a machine, what was checked, and a row a contestant."""

    scene: SceneFacts
    """The scene that was played."""
    machine: Machine
    """What it was measured on."""
    settings: Settings
    """What was asked for."""
    checked: Checked
    """What was compared with the oracle before anything was timed."""
    frame_jobs: tuple[str, ...]
    """Jobs that make up `Row.frame`."""
    rows: tuple[Row, ...]
    """One a contestant, in the order of the choice; the empty one is the last."""
    left_out: tuple[str, ...]
    """What was not done, or not in full, and why."""
    verdict: Verdict
    """Who is fastest."""
    series: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Seconds of `frame_jobs` together, by label and frame: what medians were taken of."""
    curves: tuple[Curve, ...] = ()
    """Structures against the first parameter that they declare as tunable, where curves were asked
    for; measured apart from the rows, on a sample of the frames."""

    @property
    def agrees(self) -> bool:
        """Whether no structure differed from the oracle or failed; other libraries may."""
        return all(row.status not in ("differs", "failed") or row.is_peer for row in self.rows)

    def row(self, label: str) -> Row:
        """Return the row of that label; `KeyError` when there is none."""
        for row in self.rows:
            if row.label == label:
                return row
        raise KeyError(f"no row {label!r}; there are {', '.join(row.label for row in self.rows)}")

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dictionaries, numbers and strings, ready for JSON.

        Times are in seconds. ``format`` is the number of this layout; each of ``curves`` is laid
        out as `Curve.as_dict`, with a number of its own. Edges of a scene that is wider than floats
        reach are infinite here; the command line writes them as null.
        """
        parts = {
            entry.name: plain(getattr(self, entry.name))
            for entry in fields(self)
            if entry.name != "curves"
        }
        parts["curves"] = [curve.as_dict() for curve in self.curves]
        parts["checked"]["words"] = self.checked.words
        return {"format": FORMAT, "agrees": self.agrees} | parts

    def table(self, width: int | None = None) -> RenderableType:
        """Return the comparison for a terminal, to be printed by `rich`.

        Parameters
        ----------
        width : int, optional
            Columns that there are; 100 when it is not given. Tables that would be wider are cut
            into several below each other.
        """
        with from_extra("tables need"):
            from spatialindex.comparison.tables import draw  # rich is an extra, wanted only here
        return draw(self, 100 if width is None else width)

    def to_html(
        self,
        recording: Recording,
        *,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> str:
        """Return the comparison as one HTML page that opens offline, with the scene to look at.

        The figures are those of `as_dict`. Structures are played once more, untimed, for what the
        page draws of them.

        Parameters
        ----------
        recording : Recording
            What was compared.
        progress : callable, optional
            Called as ``progress(what, done, total)``.

        Raises
        ------
        InvalidArgumentError
            When the recording has other frames or dimensions than what was compared.
        """
        from spatialindex.comparison.report.page import to_html

        return to_html(self, recording, progress=progress)

    def write_html(
        self,
        path: str | os.PathLike[str],
        recording: Recording,
        *,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Write the page of `to_html` to a file, completely or not at all.

        Raises
        ------
        InvalidArgumentError
            As `to_html`, and when the file cannot be written.
        """
        from spatialindex.comparison.report.page import write_html

        write_html(path, self.to_html(recording, progress=progress))


def plain(value: Any) -> Any:
    """Turn records into dictionaries, tuples into lists and NumPy's numbers into Python's."""
    if hasattr(value, "__dataclass_fields__"):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        return value.item()
    return value


def finite(value: Any) -> Any:
    """Put None in the place of numbers that JSON does not have, in all depths."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def from_extra(words: str) -> Iterator[None]:
    """Import what comes with an extra; `words` are who needs it: "tables need".

    Raises
    ------
    SpatialIndexError
        When it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise SpatialIndexError(
            f"{words} {error.name}, which is not installed; "
            'pip install "spatialindex[compare]", or use as_dict()'
        ) from error
