"""What came out, as tables for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import statistics
import sys
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from spatialindex.comparison.machine import this_machine
from tests.benchmarks.peers import installed
from tests.benchmarks.timing import LEAST_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.benchmarks.model import Group, Result
    from tests.benchmarks.settings import Settings

__all__ = ["as_dict", "baseline_of", "header", "print_group", "write_json"]

FORMAT = 1
"""Version of the JSON: raised when a field changes its meaning or goes."""

_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
_BUSY = 1.25  # times the threads it was given: above, it is said that a task used more
_QUIET = 0.9  # share of a processor below which others have been using it
_LONG = 0.01  # seconds below which the clock of the processor is too coarse for that


def header(settings: Settings, jobs: Sequence[str], arguments: Sequence[str]) -> dict[str, Any]:
    """Return what the results were measured on and with."""
    libraries = {peer.name: peer.words() for peer in installed()}
    return {
        "format": FORMAT,
        "command": ["python", "-m", "tests.benchmarks", *arguments],
        "machine": asdict(this_machine()) | {"load": _load()},
        "libraries": libraries,
        "settings": asdict(settings) | {"jobs": list(jobs)},
        "groups": [],
    }


def _load() -> float | None:
    """Return how many processes have been running in the last minute, where the system tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def baseline_of(result: Result, group: Group, results: Sequence[Result], wanted: str | None) -> str:
    """Return the label of what a time is compared with, nothing when there is none."""
    able = [other.task.label for other in results if other.laps and not other.is_wrong]
    own = result.task.baseline
    choices = (own,) if own is not None else (wanted, *group.baselines, *able[:1])
    return next((label for label in choices if label in able), "")


def as_dict(group: Group, results: Sequence[Result], settings: Settings) -> dict[str, Any]:
    """Return a group as plain numbers and strings; times in seconds, a part."""
    rows = []
    medians = {result.task.label: result.median for result in results}
    for result in results:
        baseline = baseline_of(result, group, results, settings.baseline)
        median, base = result.median, medians.get(baseline)
        seconds = [value / result.task.parts for value in result.seconds]
        steps = {name: result.step(name) for name in dict.fromkeys(chain(*result.laps))}
        row = {
            "contestant": result.task.label,
            "ours": result.task.is_ours,
            "answer": result.answer,
            "workers": result.task.workers,
            "parts": result.task.parts,
            "rounds": result.rounds,
            "runs": len(seconds),
            "first": result.first / result.task.parts,
            "median": median,
            "min": min(seconds, default=None),
            "max": max(seconds, default=None),
            "baseline": baseline,
            "ratio": median / base if median is not None and base else None,
            "budget": result.task.budget,
            "steps": steps,
            "cpu": statistics.median(result.cpu) / result.task.parts if result.cpu else None,
            "threads": round(result.threads, 3),
            "seconds": seconds,
            "figures": dict(result.figures),
        }
        rows.append(row)
    return {
        "job": group.job,
        "scene": group.scene,
        "n": group.n,
        "ndim": group.ndim,
        "what": group.what,
        "part": group.part,
        "checked": "oracle" if group.oracle is not None else "each other",
        "rows": rows,
        "figures": {} if group.conclude is None else dict(group.conclude(list(results))),
    }


def write_json(path: Path, results: dict[str, Any]) -> None:
    """Write all results so far."""
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def print_group(written: dict[str, Any], *, is_timed: bool) -> None:
    """Print a group as a table, drawn by rich where it is installed."""
    rows = written["rows"]
    unit = _unit(rows)
    head = f"{written['job']} · {written['scene']} {written['ndim']}D · {written['n']:,} objects"
    times = f"; {unit} per {written['part']}" if is_timed else ""
    print(f"\n{head}\n{written['what']}{times}")
    columns = {"contestant": [row["contestant"] for row in rows]}
    if is_timed:
        columns |= _times(rows, _UNITS[unit])
    columns |= _figures(rows)
    if any(row["answer"] for row in rows):
        columns["answer"] = [_words(row, is_timed=is_timed) for row in rows]
    try:
        _draw(columns)
    except ImportError:
        _print(columns)
    for name, value in written["figures"].items():
        print(f"{name}: {_number(value)}")
    shares = [row["threads"] for row in rows if row["workers"] == 1 and _is_long(row)]
    if is_timed and shares and statistics.median(shares) < _QUIET:
        share = f"{statistics.median(shares):.2f}"
        print(f"the machine was busy: this process had {share} of a processor; measure again")
    sys.stdout.flush()


def _unit(rows: list[dict[str, Any]]) -> str:
    """Return the unit in which the usual time has digits before the point."""
    medians = [row["median"] for row in rows if row["median"] is not None]
    usual = statistics.median(medians) if medians else 1.0
    return next((unit for unit, scale in _UNITS.items() if usual >= scale), "ns")


def _times(rows: list[dict[str, Any]], scale: float) -> dict[str, list[str]]:
    """Return the columns of times."""

    def shown(values: list[float | None]) -> list[str]:
        return ["-" if value is None else _digits(value / scale) for value in values]

    columns = {name: shown([row[name] for row in rows]) for name in ("median", "min", "max")}
    baselines = {row["baseline"] for row in rows if row["ratio"] is not None}
    ratios = ["-" if row["ratio"] is None else f"{row['ratio']:.3f}" for row in rows]
    if len(baselines) == 1:
        columns[f"to {baselines.pop()}"] = ratios
    else:
        columns |= {"ratio": ratios, "to": [row["baseline"] for row in rows]}
    for name in dict.fromkeys(
        name for row in rows if len(row["steps"]) > 1 for name in row["steps"]
    ):
        columns[name] = shown([row["steps"].get(name) for row in rows])
    if any(row["budget"] for row in rows):
        columns["budget"] = shown([row["budget"] for row in rows])
        columns["kept"] = [_is_kept(row) for row in rows]
    if len({row["workers"] for row in rows}) > 1:
        columns["busy"] = [f"{row['threads']:.2f}" for row in rows]
    columns["rounds"] = [str(row["rounds"]) for row in rows]
    return columns


def _is_kept(row: dict[str, Any]) -> str:
    """Say if a row has kept to the time that it may take."""
    if row["budget"] is None or row["median"] is None:
        return "-"
    return "within" if row["median"] <= row["budget"] else "OVER"


def _figures(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return a column for every figure that a row has."""
    names = dict.fromkeys(name for row in rows for name in row["figures"])
    return {name: [_number(row["figures"].get(name)) for row in rows] for name in names}


def _words(row: dict[str, Any], *, is_timed: bool) -> str:
    """Say what is to be said about a row."""
    if not is_timed:
        return str(row["answer"])
    words = [row["answer"]] if row["answer"] else []
    if not row["rounds"] and row["answer"] and not row["answer"].startswith("FAILED"):
        words.append(f"too slow: {row['first'] * row['parts']:.1f} s a round")
    elif 0 < row["rounds"] < LEAST_ROUNDS:
        words.append("few rounds")
    if row["workers"] and row["threads"] > _BUSY * row["workers"] and _is_long(row):
        words.append(f"{row['threads']:.1f} threads")
    return ", ".join(words)


def _is_long(row: dict[str, Any]) -> bool:
    """Tell if the clock of the processor is fine enough for a row."""
    return bool(row["median"] is not None and row["median"] * row["parts"] > _LONG)


def _number(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return _digits(value) if isinstance(value, float) else str(value)


def _digits(value: float) -> str:
    """Write a number with three digits, whole ones from 100 on."""
    for limit, digits in ((100, 0), (10, 1), (1, 2)):
        if abs(value) >= limit:
            return f"{value:,.{digits}f}"
    return f"{value:.3f}"


def _draw(cells: dict[str, list[str]]) -> None:
    """Print a table by rich."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for head in cells:
        is_text = head in ("contestant", "to", "answer")
        table.add_column(head, justify="left" if is_text else "right", no_wrap=head != "answer")
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 200
    Console(file=sys.stdout, highlight=False, markup=False, width=width).print(table)


def _print(cells: dict[str, list[str]]) -> None:
    """Print a table of plain text."""
    widths = [max(map(len, (head, *column))) for head, column in cells.items()]
    for row in (list(cells), *map(list, zip(*cells.values(), strict=True))):
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join((first.strip().ljust(widths[0]), *others)).rstrip())
