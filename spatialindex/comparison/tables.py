"""A comparison as tables for a terminal, drawn by `rich`.

Columns that belong together stay together (the median of a job and its worst frame), and as many
groups as fit go into one table; the rest follow in further tables below, each with the names of the
structures again. So nothing is cut off in a narrow window. The best figure of a column carries a
star, for those who see no colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from spatialindex.comparison.verdict import is_whole, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from spatialindex.comparison.results import Comparison, Row, Timing

__all__ = ["draw", "printable"]

_GAP = 2  # between columns: a space of padding and one of the frame
_BEST = "*"


@dataclass(frozen=True)
class _Column:
    """One column: what it is called, what is in it, and what is good."""

    head: str
    """Two lines: what, and the unit or which of them."""
    value: Callable[[Row], float | None]
    """The figure of a row; None where there is none."""
    write: Callable[[float], str]
    is_ranked: bool = True
    """Whether the least figure is the best."""

    def width(self, rows: Sequence[Row]) -> int:
        """Return how wide the column is."""
        words = [len(cell) for cell in self.cells(rows)]
        return max(words + [len(line) + 1 for line in self.head.split("\n")])

    def cells(self, rows: Sequence[Row]) -> list[Text]:
        """Return the cells, the best marked."""
        values = [self.value(row) for row in rows]
        fair = _whole_rows(rows)
        ranked = [
            value
            for row, value in zip(rows, values, strict=True)
            if value is not None and row in fair
        ]
        marks = self.is_ranked and len(ranked) > 1
        least = self.write(min(ranked)) if marks else None
        cells = []
        for row, value in zip(rows, values, strict=True):
            words = "-" if value is None else self.write(value)
            is_best = marks and row in fair and words == least
            style = "bold green" if is_best else ("dim" if row.status == "floor" else "")
            cells.append(Text(f"{words}{_BEST if is_best else ' '}", style))
        return cells


def _whole_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that can be the best: right, and measured in as many frames as others."""
    right = [row for row in rows if row.status == "ok"]
    most = max((_frames(row) for row in right), default=0)
    return [row for row in right if is_whole(_frames(row), most)]


def _frames(row: Row) -> int:
    """Return in how many frames a row was timed."""
    return row.frame.samples if row.frame else 0


def draw(result: Comparison, width: int) -> RenderableType:
    """Return a comparison as something that `rich` prints within `width` columns."""
    parts: list[RenderableType] = [
        _scene(result),
        Text(f"checked against the oracle: {result.checked.words}"),
    ]
    for row in result.rows:
        if row.status == "differs":
            parts.append(Text(f"DIFFERS  {row.label}: {row.note}", "bold red"))
        elif row.status == "failed":
            parts.append(Text(f"FAILED  {row.label}: {row.note}", "bold red"))
    parts += [Text(f"left out: {words}", "yellow") for words in result.left_out]
    if any(row.status == "ok" for row in result.rows):
        parts += _figures(result, width)
    if result.curves:
        parts += [Text(), Text("tuned, apart from the tables above", "bold")]
        parts += [Text(f"{curve.structure}, {curve.words}") for curve in result.curves]
    return Group(*parts, Text(), Text(result.verdict.words, "bold"))


def _figures(result: Comparison, width: int) -> list[RenderableType]:
    """Return the tables, and the notes that explain them."""
    of_what = "frame" if result.scene.frames > 1 else "fresh index"
    parts: list[RenderableType] = [Text(), Text(f"times in ms, median and worst {of_what}", "bold")]
    parts += _tables(result.rows, _time_groups(result), width)
    if any(row.work is not None for row in result.rows):
        rows = [row for row in result.rows if row.work is not None]
        parts += [Text(), Text.assemble(("work and memory, median frame", "bold"), _early(rows))]
        parts += _tables(rows, _work_groups(result), width)
    pairs = f"pairs among {result.settings.among}"
    return [
        *parts,
        Text(),
        Text(
            f"{_BEST} best of its column; frame = {' + '.join(result.frame_jobs)}; {pairs}", "dim"
        ),
        Text(
            "compile: first calls in this process; of two that share kernels the first pays",
            "dim",
        ),
        Text(result.machine.words, "dim"),
    ]


def _early(rows: Sequence[Row]) -> str:
    """Say whose work was counted in fewer frames than that of others."""
    counts = {row.label: row.work.frames for row in rows if row.work}
    short = [label for label, count in counts.items() if count < max(counts.values())]
    return f"; of early frames only: {', '.join(short)}" if short else ""


def _scene(result: Comparison) -> Text:
    """Say in a line what was played."""
    scene = result.scene
    return Text.assemble((printable(scene.name) or "scene", "bold"), f": {scene.words}")


def printable(text: str) -> str:
    """Replace what a terminal would obey, such as escapes, in a text from a recording."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def _time_groups(result: Comparison) -> list[list[_Column]]:
    """Return the columns of times: two a job, and the time of the first calls."""
    groups = [
        _timed(job)
        for job in (*result.settings.jobs, "frame")
        if any(row.timing(job) is not None for row in result.rows)
    ]
    compile_ = _Column(
        "compile\ns", lambda row: row.compile, lambda value: f"{value:.2f}", is_ranked=False
    )
    return [*groups, [compile_]]


def _timed(job: str) -> list[_Column]:
    def figure(name: str) -> Callable[[Row], float | None]:
        def value(row: Row) -> float | None:
            timing: Timing | None = row.timing(job)
            return None if timing is None else float(getattr(timing, name))

        return value

    return [
        _Column(f"{job}\nmedian", figure("median"), milliseconds),
        _Column(f"{job}\nworst", figure("worst"), milliseconds),
    ]


def _work_groups(result: Comparison) -> list[list[_Column]]:
    """Return the columns of what was counted."""

    def figure(name: str) -> Callable[[Row], float | None]:
        def value(row: Row) -> float | None:
            counted = None if row.work is None else getattr(row.work, name)
            return None if counted is None else float(counted)

        return value

    def whole(value: float) -> str:
        return f"{value:,.0f}"

    columns = [
        _Column("pairs", figure("pairs"), whole, is_ranked=False),
        _Column("candidates", figure("candidates"), whole),
        _Column("visits", figure("visits"), whole),
        _Column("entries", figure("entries"), whole),
        _Column("buckets", figure("buckets"), whole, is_ranked=False),
        _Column("largest\nbucket", figure("max_bucket"), whole),
        _Column("memory\nKiB", figure("nbytes"), lambda value: f"{value / 1024:,.0f}"),
    ]
    if any(row.work is not None and row.work.wide for row in result.rows):
        columns.insert(6, _Column("wide", figure("wide"), whole, is_ranked=False))
    return [[column] for column in columns]


def _tables(rows: Sequence[Row], groups: list[list[_Column]], width: int) -> list[RenderableType]:
    """Put groups of columns into as few tables as fit."""
    names = [Text(row.label, "dim" if row.status == "floor" else "") for row in rows]
    first = max(len("structure"), *(len(name) for name in names))
    first = min(first, max(12, width // 3))  # a long name is folded rather than widening all
    packed: list[list[_Column]] = []
    room = 0
    for group in groups:
        needed = sum(column.width(rows) + _GAP for column in group)
        if not packed or needed > room:
            packed.append([])
            room = width - first - 1
        packed[-1] += group
        room -= needed
    tables: list[RenderableType] = []
    for columns in packed:
        tables += (
            [Text(), _table(rows, names, columns, first)]
            if tables
            else [_table(rows, names, columns, first)]
        )
    return tables


def _table(rows: Sequence[Row], names: list[Text], columns: list[_Column], first: int) -> Table:
    """Draw one table."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("structure", overflow="fold", width=first)
    for column in columns:
        # a space where a figure has its star keeps heads above figures
        head = "\n".join(f"{line} " for line in column.head.split("\n"))
        table.add_column(head, justify="right", no_wrap=True)
    for cells in zip(names, *(column.cells(rows) for column in columns), strict=True):
        table.add_row(*cells)
    return table
