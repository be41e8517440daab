"""``spatialindex info``: what a scene holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from spatialindex.cli.show import opened, print_json, print_rich, progress_bar

if TYPE_CHECKING:
    from spatialindex.comparison.facts import SceneFacts
    from spatialindex.scenes.recording import Recording

__all__ = ["info"]

_COUNTED = 20_000_000  # box tests that counting the pairs of a frame may take: about two seconds


@click.command(short_help="Tell what a scene holds.")
@click.argument("scene", metavar="SCENE")
@click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout.")
def info(scene: str, as_json: bool) -> None:
    """Tell what a scene holds: counts, sizes, motion, pairs, where it comes from.

    SCENE is a path (.npz, .aabbs) or a specification such as uniform:n=10000,ndim=3.
    """
    from spatialindex.comparison.facts import scene_facts

    recording = opened(scene)
    with progress_bar(recording.name or scene) as progress:
        facts = scene_facts(recording, progress=progress)
        pairs = _pairs(recording)
    if as_json:
        print_json(
            {
                "format": 1,
                "scene": asdict(facts),
                "pairs": [{"frame": t, "pairs": count} for t, count in pairs.items()],
                **{name: getattr(recording, name) for name in _TEXTS},
            }
        )
        return
    print_rich(_grid(recording, facts, pairs))


_TEXTS = ("source", "version", "licence", "notes")


def _pairs(recording: Recording) -> dict[int, int | None]:
    """Count all overlaps in the first, middle and last frame; None where there are too many."""
    from spatialindex import oracle
    from spatialindex.comparison.planning import box_tests, spread

    counts: dict[int, int | None] = {}
    for t in spread(recording.frames, 3):
        frame = recording.frame(t)
        is_small = box_tests(frame.boxes, frame.boxes) <= _COUNTED
        counts[t] = len(oracle.pairs(frame.ids, frame.boxes)) if is_small else None
    return counts


def _grid(recording: Recording, facts: SceneFacts, pairs: dict[int, int | None]) -> Any:
    """Draw the facts, a line each."""
    from rich.table import Table
    from rich.text import Text

    from spatialindex.comparison.tables import printable

    small, middle, large = facts.longest_edges
    half = len(facts.bounds) // 2
    counted = [f"{_count(count)} in frame {t}" for t, count in pairs.items()]
    lines = [
        ("name", facts.name),
        ("dimensions", str(facts.ndim)),
        ("frames", f"{facts.of_frames:,}" + (f", {facts.dt:.6g} s apart" if facts.dt else "")),
        ("objects", f"{facts.objects:,}, {facts.alive:,} there in the median frame"),
        ("static", f"{facts.static:,}"),
        ("asleep", f"{facts.asleep:,} in the median frame"),
        ("moving", f"{facts.moved:,.1f} boxes change in a frame, {facts.most_moved:,} at most"),
        ("come and go", f"{facts.inserted:,} inserted, {facts.removed:,} removed on the way"),
        ("sensors", f"{facts.sensors:,}"),
        ("layers", f"{facts.layers:,} combination{'s' * (facts.layers != 1)} of layer and mask"),
        ("longest edges", f"smallest {small:.4g}, median {middle:.4g}, largest {large:.4g}"),
        ("bounds", f"{_point(facts.bounds[:half])} to {_point(facts.bounds[half:])}"),
        ("pairs", f"{', '.join(counted)}, resting and masked ones too"),
        *((name, getattr(recording, name)) for name in _TEXTS),
    ]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in lines:
        if words:
            table.add_row(name, Text(printable(words)))
    return table


def _count(count: int | None) -> str:
    return "too many to count here" if count is None else f"{count:,}"


def _point(corner: tuple[float, ...]) -> str:
    return f"({', '.join(f'{bound:.6g}' for bound in corner)})"
