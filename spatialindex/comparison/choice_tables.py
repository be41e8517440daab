"""What `tune` and `advise` return as tables for a terminal, drawn by `rich`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from spatialindex.comparison.curves import NEAR_BEST
from spatialindex.comparison.tables import printable
from spatialindex.comparison.verdict import milliseconds

if TYPE_CHECKING:
    from rich.console import RenderableType

    from spatialindex.comparison.curves import Curve, CurvePoint
    from spatialindex.comparison.recommendations import Advice, Choice

__all__ = ["draw_advice", "draw_curve"]

_BAR = 20  # columns of the longest bar


def draw_curve(curve: Curve) -> RenderableType:
    """Return a curve as a table with a bar a value: the U lies on its side."""
    scene = curve.scene
    parts: list[RenderableType] = []
    if scene is not None:
        parts.append(Text.assemble((printable(scene.name) or "scene", "bold"), f": {scene.words}"))
    parts += [
        Text(f"{curve.structure}: {curve.parameter}, a frame is {' + '.join(curve.jobs)}"),
        *(Text(f"note: {printable(words)}", "yellow") for words in curve.notes),
        Text(),
        _curve_table(curve),
        Text(),
    ]
    legend = f"* best; | as good, within {NEAR_BEST:g}x"
    if curve.usual:
        low, high = curve.usual
        legend += f"; usual starting point: {low:.4g} to {high:.4g}, 1.5 to 2 times the mean extent"
    parts.append(Text(legend, "dim"))
    if curve.machine is not None:
        parts.append(Text(curve.machine.words, "dim"))
    return Group(*parts, Text(), Text(curve.words, "bold"), Text(_to_paste(curve)))


def _to_paste(curve: Curve) -> str:
    """Return code without the parameter where that is as good, and the best value beside it."""
    if not curve.is_own_as_good:
        return curve.code
    code = f'si.create("{curve.structure}", ndim={curve.ndim})'
    if curve.own is not None and curve.own.value == curve.best.value:
        return code
    return f"{code}  # or {curve.parameter}={curve.best.value!r}"


def _curve_table(curve: Curve) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for head in (curve.parameter, "ms", "candidates", "entries", "visits", "largest\nbucket"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    longest = max(point.seconds for point in curve.points)
    for point in curve.points:
        is_good = curve.valley[0] <= point.value <= curve.valley[1]
        is_best = point.value == curve.best.value
        mark = "*" if is_best else ("|" if is_good else " ")
        style = "bold green" if is_best else ("green" if is_good else "")
        bar = "#" * max(1, round(_BAR * point.seconds / longest)) if longest else ""
        table.add_row(*_cells(f"{point.value:.6g}", point), f"{mark} {bar}", style=style)
    if curve.own is not None and curve.own not in curve.points:
        table.add_row(*_cells(f"own {curve.own.value:.6g}", curve.own), "", style="dim")
    return table


def _cells(name: str, point: CurvePoint) -> list[str]:
    counts = (point.candidates, point.entries, point.visits, point.max_bucket)
    return [
        name,
        milliseconds(point.seconds),
        *("-" if count is None else f"{count:,}" for count in counts),
    ]


def draw_advice(advice: Advice) -> RenderableType:
    """Return an advice: the scene, who came how far, and what to take."""
    name = printable(advice.final.scene.name) or "scene"
    parts: list[RenderableType] = [Text(name, "bold")]
    parts += [Text(f"  {words}") for words in advice.traits.words]
    parts += [Text(), Text(f"a frame is {' + '.join(advice.jobs)}")]
    parts += [Text(words) for words in advice.rounds]
    parts += [Text(f"note: {printable(words)}", "yellow") for words in advice.notes]
    parts += [Text(), _choice_table(advice), Text()]
    parts += [
        Text("ms: of the frames of that round; x best: times as long as the best in it", "dim"),
        Text(advice.final.machine.words, "dim"),
    ]
    return Group(*parts, Text(), Text(advice.words, "bold"), Text(advice.code))


def _choice_table(advice: Advice) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("structure", overflow="fold")
    for head in ("round", "ms", "x best"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for choice in advice.choices:
        style = "bold green" if choice is advice.best else ("red" if _is_wrong(choice) else "")
        table.add_row(
            Text(choice.label),
            str(choice.round),
            "-" if choice.seconds is None else milliseconds(choice.seconds),
            "-" if choice.ratio is None else f"{choice.ratio:.2f}",
            Text(printable(f"{choice.status}: {choice.note}" if _is_wrong(choice) else "")),
            style=style,
        )
    return table


def _is_wrong(choice: Choice) -> bool:
    return choice.status != "ok"
