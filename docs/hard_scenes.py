"""Figures of the page on hard scenes: what structures count on scenes that differ in one property.

Counters alone, no clocks: the same on every machine. `pictures.py` draws them with the others::

    python docs/pictures.py FOLDER
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullFormatter

import spatialindex as si

N = 4000
"""Objects of a generated scene."""
COLORS = {
    "hash-grid": "#0b6fb8",
    "hierarchical-grid": "#d1495b",
    "loose-quadtree": "#2a8c5a",
    "bvh": "#b8860b",
    "sweep-and-prune": "#7b4fa3",
    "split": "#1b9aaa",
}
PLAIN = "#7a828a"
"""Of what is not in the library, and of objects."""
AWAKE = "#d1495b"
"""Of what stands out."""


class Chart:
    """A row of panels: a part of the scene to look at, and curves."""

    def __init__(self, panels: int, *, sketch: bool = False) -> None:
        self.figure = Figure((7.2, 3.2), layout="constrained")
        widths = [0.62] * sketch + [1.0] * panels
        axes: Any = self.figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
        self.sketch = axes[0] if sketch else None
        self.panels = axes[int(sketch) :]

    def scene(self, boxes: Any, view: Sequence[float], title: str, **style: Any) -> None:
        """Draw boxes as they lie, cut off a little beyond the view."""
        left, bottom, right, top = view
        reach = right - left
        low = np.array([left, bottom, left, bottom]) - reach
        boxes = np.clip(boxes, low, np.array([right, top, right, top]) + reach)
        patches = [Rectangle((x, y), to_x - x, to_y - y) for x, y, to_x, to_y in boxes]
        style = {"facecolor": PLAIN, "edgecolor": "white", "linewidth": 0.3, "alpha": 0.65, **style}
        axes = self.sketch
        axes.add_collection(PatchCollection(patches, **style))
        axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
        axes.set_title(title, fontsize=8)

    def curves(
        self,
        at: int,
        x: Sequence[Any],
        lines: Mapping[str, Sequence[float]],
        *,
        to: tuple[str, str],
        title: str,
        logy: bool = True,
        **place: Any,
    ) -> None:
        """Draw a line a structure, over values on a logarithmic axis, or over names."""
        axes = self.panels[at]
        is_named = isinstance(x[0], str)
        places = range(len(x)) if is_named else x
        for name, values in lines.items():
            structure, *variant = name.split(", ")
            color = COLORS.get(structure, PLAIN)
            dashes = ("-", ":", "--")[len(variant)]
            if structure not in COLORS:
                dashes = "--" if name.endswith(" x") else ":"
            axes.plot(places, values, dashes, color=color, marker="o", markersize=3, label=name)
        if is_named:
            axes.set_xticks(list(places), x)
        else:
            axes.set_xscale("log")
            axes.set_xticks(x, [f"{value:g}" for value in x])
            axes.minorticks_off()
        self.finish(at, to=to, title=title, logy=logy, **place)

    def finish(self, at: int, *, to: tuple[str, str], title: str, logy: bool, **place: Any) -> None:
        """Say what is shown."""
        axes = self.panels[at]
        if logy:
            axes.set_yscale("log")
            low, high = axes.get_ylim()
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(to[0], fontsize=8)
        axes.set_ylabel(to[1], fontsize=8)
        axes.set_title(title, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(color="#e3e6e9", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(fontsize=6, framealpha=0.85, borderpad=0.3, handlelength=1.6, **place)

    def png(self) -> bytes:
        """Return the picture."""
        out = io.BytesIO()
        self.figure.savefig(out, format="png", dpi=170, facecolor="white")
        return out.getvalue()


# -- what is counted ------------------------------------------------------------------------------


def counted(rec: Any, name: str, among: Any = "all", **parameters: Any) -> Any:
    """Return the statistics of a structure over the first frame of a scene."""
    index = si.create(name, ndim=2, **parameters)
    frame = rec.frame(0)
    index.insert(frame.boxes, frame.ids, static=frame.static, asleep=frame.asleep)
    index.pairs(among=among)
    return index.stats()


def met(stats: Any) -> float:
    """Return how many pairs are looked at for one that counts."""
    return float(stats.candidates / max(stats.pairs, 1))


def over(
    scenes: Iterable[Any],
    names: Iterable[str] = COLORS,
    figure: Callable[[Any], float] = met,
    **options: Any,
) -> dict[str, list[float]]:
    """Return a figure by structure, of each scene."""
    scenes = list(scenes)
    return {name: [figure(counted(rec, name, **options)) for rec in scenes] for name in names}


def plain_sweep(boxes: Any, axis: int) -> float:
    """Count the pairs whose extents meet on one axis: the candidates of a plain sweep along it."""
    lower, upper = np.sort(boxes[:, axis]), np.sort(boxes[:, axis + 2])
    begun = np.searchsorted(lower, boxes[:, axis + 2], side="right")
    ended = np.searchsorted(upper, boxes[:, axis], side="left")
    return (int((begun - ended).sum()) - len(boxes)) / 2


def inversions(before: Any, now: Any) -> float:
    """Count the places by which an insertion sort moves an object on average."""
    ranks = np.argsort(np.argsort(now[np.argsort(before, kind="stable")], kind="stable"))
    total, width = 0, 1
    while width < len(ranks):
        for start in range(0, len(ranks), 2 * width):
            left = np.sort(ranks[start : start + width])
            right = ranks[start + width : start + 2 * width]
            total += int((len(left) - np.searchsorted(left, right)).sum())
        width *= 2
    return total / len(ranks)


def renewed(rec: Any, name: str) -> float:
    """Return the share of the memberships in frame 1 that were not there in frame 0."""
    index = si.create(name, ndim=2)
    found = []
    for changes in rec.replay():
        changes.apply(index)
        index.pairs()
        parts = index.outlines()
        where = parts.boxes.round(6)
        found.append({(*where[part].tolist(), int(member)) for part, member in parts.members})
    return len(found[1] - found[0]) / len(found[1])


# -- the scenes -----------------------------------------------------------------------------------


def tower(stretch: float) -> Any:
    """Return squares in a world that is so many times higher, and as many times narrower."""
    boxes = si.generate("uniform", n=N, seed=1).boxes[0]
    centers, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    centers = centers * np.array([1 / stretch, stretch])
    return si.Recording(si.box_from_center(centers, half)[None])


def rubble() -> Any:
    """Return 36 heaps of a hundred boxes of edge 1, and 200 houses of edge 60 anywhere."""
    rng = np.random.default_rng(1)
    heaps = rng.uniform(20, 980, (36, 2))
    small = heaps[rng.integers(0, 36, 3600)] + rng.uniform(-5, 5, (3600, 2))
    houses = rng.uniform(30, 970, (200, 2))
    boxes = np.concatenate([si.box_from_center(small, 0.5), si.box_from_center(houses, 30.0)])
    return si.Recording(boxes[None])


def planets(count: int) -> Any:
    """Return bolts of edge 1, and squares of edge 500 among them."""
    bolts = np.random.default_rng(1).uniform(0, 1000, (N, 2))
    large = np.random.default_rng(2).uniform(400, 600, (count, 2))
    boxes = np.concatenate([si.box_from_center(bolts, 0.5), si.box_from_center(large, 250.0)])
    return si.Recording(boxes[None])


# -- the figures ----------------------------------------------------------------------------------


def sizes() -> Chart:
    """What one cell edge costs: memberships against candidates, on one size and on many."""
    chart = Chart(2, sketch=True)
    mixed = rubble()
    style = {"facecolor": ["black"] * 3600 + [PLAIN] * 200, "edgecolor": "none", "alpha": 0.5}
    chart.scene(mixed.boxes[0], (0, 500, 500, 1000), "rubble and houses", **style)
    one = si.generate("uniform", n=N, seed=1)
    for at, (rec, edges, title) in enumerate(
        (
            (one, (4, 8, 15, 30, 60, 120), "one size: 4,000 squares of edge 13.8"),
            (mixed, (2, 4, 8, 16, 32, 64, 128), "two: 3,600 of edge 1, 200 of edge 60"),
        )
    ):
        axes = chart.panels[at]
        stats = [counted(rec, "hash-grid", cell_size=edge) for edge in edges]
        x, y = [s.entries / s.objects for s in stats], [met(s) for s in stats]
        axes.plot(x, y, "--o", color=COLORS["hash-grid"], markersize=3, label="a grid, by its edge")
        for edge, *place in zip(edges, x, y, strict=True):
            axes.annotate(f"{edge:g}", place, xytext=(3, 3), textcoords="offset points", fontsize=6)
        for name in ("hierarchical-grid", "loose-quadtree", "bvh", "sweep-and-prune"):
            s = counted(rec, name)
            place = s.entries / s.objects, met(s)
            axes.plot(*place, "s", color=COLORS[name], markersize=5, label=name)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set(xlim=(0.8, 400), ylim=(0.9, 65))
        words = ("memberships an object", "candidates a pair")
        chart.finish(at, to=words, title=title, logy=True, loc="upper right")
    return chart


def crowd() -> Chart:
    """What is looked at as boxes meet more and more others."""
    chart = Chart(2, sketch=True)
    sketch = si.generate("uniform", n=150, seed=1, partners=16)
    chart.scene(sketch.boxes[0], (0, 0, 1000, 1000), "each meets 16 others")
    partners = (1, 4, 16, 64, 256)
    scenes = [si.generate("uniform", n=N, seed=1, partners=p) for p in partners]
    names = [name for name in COLORS if name != "split"]
    a_pair = over(scenes, names)
    pairs = over(scenes, names[:1], lambda s: s.pairs / s.objects)["hash-grid"]
    to = "others that a box meets"
    title = "of what is looked at, more is pairs"
    chart.curves(0, partners, a_pair, to=(to, "candidates a pair"), title=title)
    lines = {name: [m * p for m, p in zip(a_pair[name], pairs, strict=True)] for name in names}
    lines = {"pairs, to be reported": pairs, **lines}
    title = "work follows the answer"
    chart.curves(1, partners, lines, to=(to, "candidates an object"), title=title)
    return chart


def axis() -> Chart:
    """One crowded axis, for sweeps; and slabs, for square nodes."""
    chart = Chart(2, sketch=True)
    part = tower(10).boxes[0]
    chart.scene(part, (-100, 2000, 200, 2300), "a part of a tower")
    stretches = (1, 3, 10, 30)
    heights = [stretch**2 for stretch in stretches]
    scenes = [tower(stretch) for stretch in stretches]
    lines = over(scenes, ("sweep-and-prune", "hash-grid", "bvh"))
    pairs = over(scenes, ("sweep-and-prune",), lambda s: s.pairs)["sweep-and-prune"]
    for along, name in enumerate(("a plain sweep along x", "a plain sweep along y")):
        swept = [plain_sweep(rec.boxes[0], along) for rec in scenes]
        lines[name] = [count / found for count, found in zip(swept, pairs, strict=True)]
    words = ("times as high as wide", "candidates a pair")
    chart.curves(0, heights, lines, to=words, title="a tower", loc="upper left")
    aspects = (1, 3, 10, 30, 100)
    scenes = [si.generate("thin", n=N, seed=1, aspect=aspect) for aspect in aspects]
    words = ("times as long as thin", "candidates a pair")
    lines = over(scenes, [name for name in COLORS if name != "split"])
    chart.curves(1, aspects, lines, to=words, title="walls, along x or y", logy=False)
    return chart


def motion() -> Chart:
    """What of a structure changes from one frame to the next."""
    chart = Chart(2)
    speeds = (0.001, 0.01, 0.1, 1, 10)
    scenes = [si.generate("uniform", n=N, frames=2, seed=1, speed=speed) for speed in speeds]
    scenes.append(si.generate("teleport", n=N, frames=2, seed=1))
    names = [*(f"{speed:g}" for speed in speeds), "anywhere"]
    to = "edges that a box moves in a frame"
    lines = {
        name: [renewed(rec, name) for rec in scenes]
        for name in ("hash-grid", "hierarchical-grid", "loose-quadtree")
    }
    words = (to, "share of memberships that are new")
    chart.curves(0, names, lines, to=words, title="cells and nodes", logy=False)
    sorting = [inversions(rec.boxes[0][:, 0], rec.boxes[1][:, 0]) for rec in scenes]
    anew = [np.log2(N)] * len(names)
    lines = {
        "sweep-and-prune": sorting,
        "sorting anew: log2 of 4,000": anew,
    }
    words = (to, "places, or steps, an object")
    chart.curves(1, names, lines, to=words, title="an order, kept by insertion")
    return chart


def sleepers() -> Chart:
    """What is looked at for pairs that count, as more and more sleeps."""
    chart = Chart(1, sketch=True)
    sketch = si.generate("sleepers", n=250, seed=1, static=0, awake=0.1).frame(0)
    colors = [PLAIN if rests else AWAKE for rests in sketch.asleep]
    chart.scene(sketch.boxes, (0, 0, 1000, 1000), "a tenth is awake", facecolor=colors)
    shares = (1.0, 0.3, 0.1, 0.03, 0.01)
    scenes = [si.generate("sleepers", n=N, seed=1, static=0, awake=share) for share in shares]
    lines = over(scenes, among="active")
    words = ("share of the objects that is awake", "candidates an active pair")
    title = "4,000 squares; all pairs found from scratch"
    chart.curves(0, shares, lines, to=words, title=title, loc="upper left")
    chart.panels[0].invert_xaxis()
    return chart


def among_bolts() -> Chart:
    """What planets cost that are five hundred times as large as the bolts around them."""
    chart = Chart(2, sketch=True)
    few = planets(3).boxes[0]
    colors = [AWAKE] * 3 + ["black"] * N
    style = {"facecolor": colors, "edgecolor": "none", "alpha": 0.6}
    chart.scene(few[::-1], (0, 0, 1000, 1000), "4,000 bolts and 3 planets", **style)
    counts = (0, 1, 3, 10, 30)
    scenes = [planets(count) for count in counts]
    fixed = [counted(rec, "hash-grid", cell_size=2.0, max_cells=10**7) for rec in scenes]
    listed = [counted(rec, "hash-grid", cell_size=2.0) for rec in scenes]
    names = [str(count) for count in counts]
    for at, (figure, words, title) in enumerate(
        (
            (lambda s: s.entries / s.objects, "memberships an object", "where they are kept"),
            (lambda s: s.visits / N, "visits a bolt, repeats included", "what finding pairs takes"),
        )
    ):
        lines = {
            "hash-grid, cells of 2, endless": [figure(s) for s in fixed],
            "hash-grid, cells of 2": [figure(s) for s in listed],
            **over(scenes, COLORS, figure),
        }
        chart.curves(at, names, lines, to=("planets", words), title=title, loc="lower right")
    chart.panels[0].get_legend().set_bbox_to_anchor((1.0, 0.16))
    chart.panels[1].get_legend().remove()
    return chart


FIGURES = {
    "hard-sizes": sizes,
    "hard-crowd": crowd,
    "hard-axis": axis,
    "hard-motion": motion,
    "hard-sleepers": sleepers,
    "hard-planets": among_bolts,
}
