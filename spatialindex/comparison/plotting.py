"""A curve as a picture, drawn by matplotlib without a display."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatialindex.comparison.curves import NEAR_BEST
from spatialindex.comparison.results import from_extra
from spatialindex.errors import InvalidArgumentError
from spatialindex.writing import check_target, replaced

if TYPE_CHECKING:
    import os

    from spatialindex.comparison.curves import Curve

__all__ = ["check_plot", "write_plot"]

_SUFFIXES = (".png", ".svg", ".pdf")
_TIME, _WORK, _ENTRIES = "#0b6e99", "#c05a00", "#7a5aa6"


def check_plot(path: str | os.PathLike[str]) -> None:
    """Refuse a picture that could not be written, before anything long begins.

    Raises
    ------
    InvalidArgumentError
        For a suffix of another kind, and for a folder that is not there.
    SpatialIndexError
        When matplotlib is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise InvalidArgumentError(
            f"{path}: the suffix {suffix!r} is none of a picture; take {', '.join(_SUFFIXES)}"
        )
    check_target(path)
    _figure()


def _figure() -> Any:
    with from_extra("a plot needs"):
        from matplotlib.figure import Figure
    return Figure(figsize=(8.0, 5.0), layout="constrained")  # of no window and no backend's state


def write_plot(curve: Curve, path: str | os.PathLike[str]) -> None:
    """Draw a curve into a file, which appears complete or not at all; see `Curve.plot`."""
    check_plot(path)
    figure = _figure()
    _draw(figure, curve)
    with replaced(path) as draft:
        figure.savefig(draft, format=Path(path).suffix.lower()[1:], dpi=150)


def _draw(figure: Any, curve: Curve) -> None:
    """Draw time and work against the parameter, all scales logarithmic."""
    axes = figure.subplots()
    values = [point.value for point in curve.points]
    low, high = curve.valley
    if low < high:
        axes.axvspan(low, high, color="#2e9e4f", alpha=0.15, label=f"within {NEAR_BEST:g}x")
    if curve.usual:
        words = "usual starting point, 1.5 to 2 x mean extent"
        axes.axvspan(*curve.usual, facecolor="none", edgecolor="#888888", hatch="//", label=words)
    milli = [point.seconds * 1e3 for point in curve.points]
    axes.plot(values, milli, "o-", color=_TIME, linewidth=2, label="ms a frame")
    best = curve.best
    axes.plot([best.value], [best.seconds * 1e3], "*", color="#2e9e4f", markersize=18, zorder=5)
    axes.annotate(
        f"{best.value:.4g}: {best.seconds * 1e3:.3g} ms",
        (best.value, best.seconds * 1e3),
        xytext=(0, -20),
        textcoords="offset points",
        ha="center",
        color="#1e7a3a",
    )
    if curve.own is not None:
        own = (curve.own.value, curve.own.seconds * 1e3)
        axes.plot(*own, "D", color="black", markersize=6, zorder=6, label="left to itself")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(y=0.2)
    axes.set_xlabel(curve.parameter)
    axes.set_ylabel("ms a frame", color=_TIME)
    work = axes.twinx()
    work.set_yscale("log")
    work.set_ylabel("candidates, entries")
    for name, color in (("candidates", _WORK), ("entries", _ENTRIES)):
        counts = [getattr(point, name) for point in curve.points]
        if all(count for count in counts):
            work.plot(values, counts, ".--", color=color, linewidth=1, label=name)
    for each in (axes.xaxis, axes.yaxis, work.yaxis):
        _plain_numbers(each)
    name = curve.scene.name if curve.scene else ""
    # letters that the font may lack, and what is no letter: matplotlib would warn of each
    name = "".join(c if c.isascii() and c.isprintable() else "?" for c in name)
    # a recording's name is text, not a formula
    axes.set_title(f"{curve.structure} on {name or 'scene'}".replace("$", r"\$"))
    handles = [axes.get_legend_handles_labels(), work.get_legend_handles_labels()]
    lines, labels = (handles[0][i] + handles[1][i] for i in (0, 1))
    figure.legend(lines, labels, loc="outside lower center", ncols=3, frameon=False)


def _plain_numbers(axis: Any) -> None:
    """Write numbers as numbers, not as powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
