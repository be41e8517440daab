"""What the player of a report draws: boxes, states and pairs, and the parts of each structure.

Boxes are in whole steps from the middle of the scene, see `packing`: for looking at, never for
deciding. Frames and parts are thinned out evenly until they fit a budget of bytes, and what was
left out is said::

    60 frames of 10,000 objects    25 bytes a box and its state in 3D: all frames
    900 frames of 100,000 objects  2.5 MB a frame: 19 frames, 0, 50, 100, ..., 899
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex import registry
from spatialindex.comparison.planning import estimated_pairs, spread
from spatialindex.comparison.report.packing import in_steps, packed, packed_boxes, step_of
from spatialindex.outlines import Outlines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from spatialindex.comparison.results import Comparison, Row
    from spatialindex.protocol import Among
    from spatialindex.scenes.recording import Recording

    Progress = Callable[[str, int, int], None]

__all__ = ["pack_scene"]

FRAME_BYTES = 48_000_000
"""Bytes of boxes and states, before they are compressed: what the browser has to keep."""

TEXT_BYTES = 4_000_000
"""Bytes of boxes in the page, compressed and as text."""

PART_BYTES = 12_000_000
"""Bytes of the parts of all structures, before they are compressed to about a tenth."""

MOST_OBJECTS = 100_000
"""Objects drawn; beyond it, an even sample."""

MOST_PARTS = 4_000
"""Parts drawn of a structure in a frame: those with the most members."""

MOST_LOOKS = 12
"""Frames in which the parts of a structure are drawn and its work is counted."""

MOST_PAIRS = 5_000_000
"""Pairs of a frame, estimated, beyond which pairs are not highlighted."""

_ALIVE, _ASLEEP, _PAIRED = 1, 2, 4
_STATIC, _SENSOR = 1, 2
_WIDEST = 1e300  # where float64 still has room to calculate
_THINNEST = 1e-300


@dataclass(frozen=True)
class _View:
    """How boxes are turned into what is drawn."""

    recording: Recording
    rows: NDArray[np.intp]
    """Objects drawn."""
    center: NDArray[np.float64]
    """What coordinates are relative to, ``(ndim,)``."""
    step: float
    """What they are whole multiples of."""

    def drawn(self, boxes: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return boxes as they are drawn."""
        return in_steps(boxes, self.center, self.step)

    def frames(self, frames: Sequence[int]) -> NDArray[np.int32]:
        """Return the boxes of frames, ``(frames, objects, 2*ndim)``; who is gone stays put."""
        rec = self.recording
        found = np.zeros((len(frames), len(self.rows), 2 * rec.ndim), np.int32)
        for i, t in enumerate(frames):
            found[i] = found[i - 1]  # in frame 0, zeros
            there = rec.alive[t, self.rows]
            found[i, there] = self.drawn(rec.boxes[t, self.rows[there]])
        return found


def pack_scene(
    result: Comparison, recording: Recording, progress: Progress | None = None
) -> dict[str, Any]:
    """Return what the player draws, ready for JSON.

    Parameters
    ----------
    result : Comparison
        Its rows say whose parts are drawn, the fastest one who is asked for pairs.
    recording : Recording
        What was compared.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    """
    last = result.scene.frames
    rows = np.array(spread(recording.n, MOST_OBJECTS), np.intp)
    view, world = _view(recording, rows, last)
    ranked = [row for row in result.rows if row.status == "ok" and not row.is_peer]
    frames, boxes = _frames(view, last, progress)
    notes = []
    if len(rows) < recording.n:
        notes.append(f"{len(rows):,} of {recording.n:,} objects are drawn, evenly sampled")
    if len(frames) < last:
        notes.append(f"{len(frames):,} of {last:,} frames are drawn, evenly sampled")
    states, counts = _states(result, view, frames, ranked, notes, progress)
    among = None if counts[0] is None else result.settings.among  # None: too many to ask for
    roles = recording.static[rows] * _STATIC + recording.sensor[rows] * _SENSOR
    return {
        "ndim": recording.ndim,
        "frames": list(frames),
        "objects": len(rows),
        "focus": view.drawn(world).tolist(),
        "center": view.center.tolist(),
        "step": view.step,
        "boxes": boxes,
        "states": packed(states),
        "roles": packed(roles.astype(np.uint8)),
        "pairs": counts,
        "structures": _structures(view, frames, ranked, among, notes, progress),
        "notes": notes,
    }


def _view(
    recording: Recording, rows: NDArray[np.intp], last: int
) -> tuple[_View, NDArray[np.float64]]:
    """Return how boxes are drawn, and the box that is looked at first.

    That is around most objects, not around a planet.
    """
    ndim = recording.ndim
    there = recording.boxes[:last][recording.alive[:last]]
    world, edge = np.repeat((0.0, 1.0), ndim), 0.0
    if len(there):
        there = np.clip(there, -_WIDEST, _WIDEST)
        middles = there[:, :ndim] / 2 + there[:, ndim:] / 2
        low, high = np.quantile(middles, (0.01, 0.99), axis=0)
        edges = np.median(there[:, ndim:] / 2 - there[:, :ndim] / 2, axis=0) * 2
        visible = np.maximum(np.abs(low), np.abs(high)) * 1e-9  # where points are all in one place
        room = np.max([edges, (high - low) * 0.05, visible, np.full(ndim, _THINNEST)], axis=0)
        world = np.concatenate((low - room, high + room))
        edge = float(min(edges[edges > 0.0], default=0.0))
    center = world[:ndim] / 2 + world[ndim:] / 2
    seen = float((world[ndim:] - world[:ndim]).max())
    step = step_of(seen, edge)
    with np.errstate(over="ignore"):
        even = np.rint(center / step) * step  # whole coordinates are drawn exactly
    center = np.where(np.isfinite(even), even, center)
    return _View(recording, rows, center, step), world


def _frames(view: _View, last: int, progress: Progress | None) -> tuple[Sequence[int], str]:
    """Return which frames are drawn, and their boxes as text: as many as the budgets have room."""
    each = max(1, len(view.rows)) * (8 * view.recording.ndim + 1)
    frames = spread(last, max(1, FRAME_BYTES // each))
    while True:
        if progress is not None:
            progress("packing frames", 0, len(frames))
        text = packed_boxes(view.frames(frames))
        if len(text) <= TEXT_BYTES or len(frames) == 1:
            return frames, text
        share = TEXT_BYTES / len(text)
        frames = spread(last, max(1, min(len(frames) - 1, int(len(frames) * share))))


def _states(
    result: Comparison,
    view: _View,
    frames: Sequence[int],
    ranked: Sequence[Row],
    notes: list[str],
    progress: Progress | None,
) -> tuple[NDArray[np.uint8], list[int | None]]:
    """Return the state of each object in each frame, and how many pairs each frame has."""
    rec, rows = view.recording, view.rows
    drawn = np.ix_(np.array(frames, np.intp), rows)
    states = np.where(rec.alive[drawn], _ALIVE, 0).astype(np.uint8)
    states |= np.where(rec.asleep[drawn], _ASLEEP, 0).astype(np.uint8)
    counts: list[int | None] = [None] * len(frames)
    crowded = max(estimated_pairs(rec.frame(t).boxes, 0) for t in spread(result.scene.frames, 3))
    if not ranked or crowded > MOST_PAIRS:
        notes.append("pairs are not highlighted: " + ("too many" if ranked else "nobody to ask"))
        return states, counts
    fastest = next((row for row in ranked if row.label == result.verdict.fastest), ranked[0])
    index = registry.create(fastest.name, rec.ndim, **fastest.parameters)
    at = {t: i for i, t in enumerate(frames)}
    order = np.argsort(rec.ids, kind="stable")
    for t in range(frames[-1] + 1):
        rec.changes(t).apply(index)
        if t in at:
            pairs = index.pairs(among=result.settings.among)
            paired = np.zeros(rec.n, np.bool_)
            paired[order[np.searchsorted(rec.ids[order], np.unique(pairs))]] = True
            states[at[t], paired[rows]] |= _PAIRED
            counts[at[t]] = len(pairs)
        if progress is not None:
            progress("drawing pairs", t + 1, frames[-1] + 1)
    return states, counts


def _structures(
    view: _View,
    frames: Sequence[int],
    ranked: Sequence[Row],
    among: Among | None,
    notes: list[str],
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """Return the parts of each structure in some of the frames, and the work counted there."""
    rec = view.recording
    each = len(ranked) * MOST_PARTS * (8 * rec.ndim + 5)
    looks = spread(len(frames), min(MOST_LOOKS, max(2, PART_BYTES // max(1, each))))
    wanted = {frames[i]: i for i in looks}
    found: list[dict[str, Any]] = []
    for done, row in enumerate(ranked, 1):
        index: Any = registry.create(row.name, rec.ndim, **row.parameters)
        taken: list[dict[str, Any]] = []
        for t in range(max(wanted) + 1):
            rec.changes(t).apply(index)
            if t in wanted:
                if among is not None:
                    index.pairs(among=among)  # what is counted
                counted = _work(index, has_pairs=among is not None)
                taken.append(_parts(index, view) | {"frame": wanted[t]} | counted)
        found.append({"label": row.label, "looks": taken})
        if untold := next((look["untold"] for look in taken if look["untold"]), ""):
            notes.append(f"of {row.label}, no parts are drawn: {untold}")
        if progress is not None:
            progress("drawing structures", done, len(ranked))
    if len(looks) < len(frames):
        notes.append(
            f"parts of structures are drawn in {len(looks):,} frames, the nearest is shown"
        )
    if any(look["of"] > MOST_PARTS for one in found for look in one["looks"]):
        notes.append(f"of a structure, at most {MOST_PARTS:,} parts are drawn, the fullest")
    return found


def _parts(index: Any, view: _View) -> dict[str, Any]:
    """Return the parts of an index, the fullest when there are too many.

    An index that is not one of this library need not tell them: then it is said that, and why.
    """
    untold = ""
    try:
        outlines: Outlines = index.outlines()
        counts = outlines.counts
    except Exception as error:  # whatever it is, it costs a drawing, not the page
        has_none = not hasattr(index, "outlines")
        untold = "it has no method outlines()" if has_none else f"outlines() failed: {error!r}"
        outlines = Outlines.of("", np.empty((0, 2 * view.recording.ndim)))
        counts = outlines.counts
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_PARTS])
    return {
        "of": len(counts),
        "kinds": sorted(set(outlines.kinds.tolist())),
        "untold": untold,
        "boxes": packed_boxes(view.drawn(outlines.boxes[kept])[:, None]),
        "counts": packed(counts[kept].astype("<u4")),
    }


def _work(index: Any, *, has_pairs: bool) -> dict[str, int | None]:
    """Return what was counted; without pairs, what an index holds."""
    stats = index.stats()
    return {
        "candidates": stats.candidates if has_pairs else None,
        "pairs": stats.pairs if has_pairs else None,
        "entries": stats.entries,
        "max_bucket": stats.max_bucket,
    }
