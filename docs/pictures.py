"""Site builder hook: pictures of the structures, drawn over recordings that come with the project.

The pages of structures show ``images/NAME.png`` for each name in `PICTURES`, and the page on hard
scenes those of `hard_scenes.py`. They are drawn when the site is built. To look at them::

    python docs/pictures.py FOLDER
"""

from __future__ import annotations

import io
import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import spatialindex as si

FOLDER = "explanation/images"
RECORDINGS = Path(__file__).parents[1] / "examples" / "recordings"
LEVEL = (0, -600, 7800, 2600)
"""A part of the arcade level, in its units."""
COUNTIES = (-125, 24, -66, 50)
"""The contiguous United States, in degrees."""
EAST = (-92, 29, -66, 46)
"""The eastern part of it, where counties are small."""
EMPTY = {LEVEL: "upper right", COUNTIES: "lower left", EAST: "lower right"}
"""Where there is room for a legend."""
OBJECTS = "#7a828a"
COLORS = ("#0b6fb8", "#d1495b", "#2a8c5a", "#b8860b", "#7b4fa3", "#1b9aaa")
"""Of levels, from the finest up or from the root down."""
STYLE = {
    "font.size": 9,
    "axes.edgecolor": "#b0b6bc",
    "xtick.color": "#5b636b",
    "ytick.color": "#5b636b",
}


@cache
def frame_of(name: str) -> Any:
    """Return the middle frame of a recording."""
    recording = si.Recording.load(RECORDINGS / f"{name}.npz")
    return recording.frame(recording.frames // 2)


def over(index: Any, name: str, **options: Any) -> Any:
    """Return an index of the middle frame of a recording, with as many of its options as wanted."""
    frame = frame_of(name)
    index.insert(frame.boxes, frame.ids, **options)
    return index


class Picture:
    """A drawing of a part of a scene, with room for more below it."""

    def __init__(self, view: tuple[float, ...], below: float = 0.0) -> None:
        left, bottom, right, top = view
        width = 8.0
        height = width * (top - bottom) / (right - left)
        self.figure = Figure((width, height + below + 0.5), layout="constrained")
        self.axes: Any = self.figure.subplots(
            *(1 + bool(below), 1), squeeze=False, height_ratios=[height, below][: 1 + bool(below)]
        )[:, 0]
        self.axes[0].set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        self.view = view
        self.handles: list[Any] = []

    def boxes(self, boxes: Any, **style: Any) -> None:
        """Draw boxes; those that begin or end outside are cut off a little beyond the view."""
        left, bottom, right, top = self.view
        reach = right - left
        low = np.array([left, bottom, left, bottom]) - reach
        boxes = np.clip(boxes, low, np.array([right, top, right, top]) + reach)
        patches = [Rectangle((x, y), to_x - x, to_y - y) for x, y, to_x, to_y in boxes]
        style = {"facecolor": "none", "edgecolor": "none", "linewidth": 0.7, **style}
        self.axes[0].add_collection(PatchCollection(patches, **style))

    def objects(self, boxes: Any, **style: Any) -> None:
        """Draw objects, but for those that would be all there is to see."""
        most = 0.5 * (self.view[2] - self.view[0])
        boxes = boxes[(boxes[:, 2:] - boxes[:, :2]).max(axis=1) < most]
        style = {
            "facecolor": OBJECTS,
            "edgecolor": "white",
            "alpha": 0.5,
            "linewidth": 0.2,
            **style,
        }
        self.boxes(boxes, zorder=2, **style)

    def note(self, color: str, label: str) -> None:
        """Put a line into the legend."""
        self.handles.append(Rectangle((0, 0), 1, 1, facecolor=color, label=label))
        place = {"loc": EMPTY[self.view], "fontsize": 7, "framealpha": 0.95}
        self.axes[0].legend(handles=self.handles, **place).set_zorder(20)

    def png(self) -> bytes:
        """Return the picture."""
        out = io.BytesIO()
        self.figure.savefig(out, format="png", dpi=170, facecolor="white")
        return out.getvalue()


# -- the pictures ---------------------------------------------------------------------------------


def grid() -> Picture:
    """Cells of a hash grid, the fuller the darker, with the number of members."""
    index = over(si.HashGrid(cell_size=512), "arcade_level")
    outlines = index.outlines()
    boxes, counts = outlines.boxes, outlines.counts
    picture = Picture(LEVEL)
    shades = np.full((len(boxes), 4), mpl.colors.to_rgba(COLORS[0]))
    shades[:, 3] = 0.03 + 0.6 * counts / counts.max()
    picture.boxes(boxes, facecolor=shades, edgecolor=COLORS[0])
    picture.objects(index.boxes())
    for (x, y, to_x, to_y), count in zip(boxes, counts, strict=True):
        if _is_inside([x, y, to_x, to_y], LEVEL):
            place = (x + to_x) / 2, (y + to_y) / 2
            picture.axes[0].text(*place, f"{count}", ha="center", va="center", zorder=3)
    return picture


def hierarchical_grid() -> Picture:
    """Cells of all levels, and in the color of its level each object."""
    index = over(si.HierarchicalGrid(), "us_counties")
    outlines = index.outlines()
    picture = Picture(COUNTIES)
    levels = outlines.levels[outlines.members[:, 0]]
    found = list(zip(COLORS, np.unique(levels), strict=False))
    for color, level in reversed(found):  # the small ones on top
        cells = outlines.boxes[outlines.levels == level]
        ids = np.unique(outlines.members[levels == level, 1])
        is_finest = level == levels.min()
        picture.objects(index.boxes(ids), facecolor=color, alpha=0.12 if is_finest else 0.4)
        width = 0.7 + 0.9 * (level - levels.min())
        picture.boxes(cells, edgecolor=color, linewidth=min(width, 5.0), zorder=3)
        picture.note(color, f"edge {2.0**level:g}°: {len(ids):,} objects in {len(cells)} cells")
    return picture


def tree(make: Any) -> Picture:
    """Nodes of a tree by depth, and its leaves."""
    index = over(make(), "us_counties")
    outlines = index.outlines()
    picture = Picture(EAST)
    picture.objects(index.boxes(), alpha=0.3)
    deepest = int(outlines.levels.max())
    for depth in range(deepest + 1):
        color, mine = COLORS[depth], outlines.levels == depth
        width = 0.5 + 0.6 * (deepest - depth)
        picture.boxes(outlines.boxes[mine], edgecolor=color, linewidth=width, zorder=9 - depth)
        picture.note(color, f"depth {depth}: {_counted(outlines.kinds[mine])}")
    return picture


def _counted(kinds: Any) -> str:
    """Say how many parts of each kind there are."""
    found = zip(*np.unique(kinds, return_counts=True), strict=True)
    plurals = {"leaf": "leaves"}
    words = [f"{n} {kind if n == 1 else plurals.get(kind, f'{kind}s')}" for kind, n in found]
    return " and ".join(words)


def loose_tree() -> Picture:
    """Cells, and of some of them the objects that are kept there, and the loose bounds."""
    index = over(si.LooseQuadtree(), "arcade_level")
    outlines = index.outlines()
    picture = Picture(LEVEL)
    picture.boxes(outlines.boxes[outlines.kinds == "cell"], edgecolor="#9aa4ad")
    picture.objects(index.boxes())
    loose = np.flatnonzero(outlines.kinds == "loose")
    for color, level in zip(COLORS, np.unique(outlines.levels[loose]), strict=False):
        inside = [
            at
            for at in loose[outlines.levels[loose] == level]
            if _is_inside(outlines.boxes[at], LEVEL)
        ]
        if not inside:
            continue
        at = max(inside, key=lambda at: outlines.counts[at])
        box, edge = outlines.boxes[at], 2.0**level
        margin = (box[2] - box[0] - edge) / 2
        cell = box + margin * np.array([1, 1, -1, -1])
        members = outlines.members[outlines.members[:, 0] == at, 1]
        picture.boxes([cell], edgecolor=color, linewidth=1.8, zorder=5)
        picture.boxes([box], edgecolor=color, linewidth=1.2, linestyle="--", zorder=5)
        picture.boxes(index.boxes(members), facecolor=color, alpha=0.6, zorder=4)
        picture.note(color, f"edge {edge:g}: {len(members)} objects of this node")
    return picture


def _is_inside(box: Any, view: tuple[float, ...]) -> bool:
    """Tell if a box lies within a view."""
    box = np.asarray(box)
    return bool((box[:2] >= view[:2]).all() and (box[2:] <= view[2:]).all())


def sweep() -> Picture:
    """Lanes, and the intervals of one of them in the order in which they are swept."""
    index = over(si.SweepAndPrune(), "us_counties")
    outlines = index.outlines()
    picture = Picture(EAST, below=3.0)
    picture.objects(index.boxes(), alpha=0.3)
    lanes = outlines.boxes[outlines.kinds == "lane"]
    levels = outlines.levels[outlines.members[:, 0]]
    lane = int(np.bincount(levels).argmax())
    ids = outlines.members[levels == lane, 1]
    entries = index.boxes(ids)[np.argsort(index.boxes(ids)[:, 0], kind="stable")]
    picture.boxes(lanes, edgecolor="#5b636b", linewidth=1.0, zorder=4)
    picture.objects(entries, facecolor=COLORS[0], alpha=0.7)
    picture.note(COLORS[0], f"the {len(ids)} entries of lane {lane} of {len(lanes)}")
    below = picture.axes[1]
    below.hlines(np.arange(len(entries)), entries[:, 0], entries[:, 2], COLORS[0], linewidth=0.8)
    seen = np.flatnonzero((entries[:, 0] >= EAST[0]) & (entries[:, 0] <= EAST[2]))
    below.set(xlim=(EAST[0], EAST[2]), ylim=(seen[-1] + 3, seen[0] - 3))
    below.set_ylabel("in the order of the sweep")
    return picture


def split() -> Picture:
    """Objects by the part that holds them, and the leaves and cells that they are in."""
    frame = frame_of("arcade_level")
    index = over(si.SplitIndex(), "arcade_level", static=frame.static, asleep=frame.asleep)
    outlines = index.outlines()
    route = index.route(index.ids)
    picture = Picture(LEVEL)
    for color, role in zip(COLORS, ("static", "dynamic", "coarse"), strict=False):
        mine = index.boxes()[route == role]
        listing = np.char.startswith(outlines.kinds, role) & (outlines.counts > 0)
        alpha = 0.08 if role == "coarse" else 0.75
        picture.boxes(mine, facecolor=color, alpha=alpha, zorder=2)
        picture.boxes(outlines.boxes[listing], edgecolor=color, zorder=3)
        words = _counted([kind.split()[-1] for kind in outlines.kinds[listing]])
        picture.note(color, f"{role}: {len(mine)} in {words}")
    return picture


PICTURES = {
    "grid": grid,
    "hierarchical-grid": hierarchical_grid,
    "bvh": lambda: tree(si.BVH),
    "kd-tree": lambda: tree(si.KDTree),
    "loose-quadtree": loose_tree,
    "sweep-and-prune": sweep,
    "split": split,
    **runpy.run_path(str(Path(__file__).with_name("hard_scenes.py")))["FIGURES"],
}


@cache
def draw(name: str) -> bytes:
    """Return a picture as PNG."""
    with mpl.rc_context(STYLE):
        return PICTURES[name]().png()


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pictures to the files of the site."""
    from mkdocs.structure.files import File

    for name in PICTURES:
        files.append(File.generated(config, f"{FOLDER}/{name}.png", content=draw(name)))
    return files


def main(folder: str) -> None:
    """Write all pictures to a folder."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (out / f"{name}.png").write_bytes(draw(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
