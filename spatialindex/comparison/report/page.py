"""A comparison as one HTML file: assembled from ``assets``, written completely or not at all."""

from __future__ import annotations

import html
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from spatialindex.comparison.report.scene import pack_scene
from spatialindex.comparison.results import finite
from spatialindex.errors import InvalidArgumentError
from spatialindex.scenes.recording import SUFFIXES
from spatialindex.writing import check_target, replaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spatialindex.comparison.results import Comparison
    from spatialindex.scenes.recording import Recording

__all__ = ["check_page", "to_html", "write_html"]

_ASSETS = files("spatialindex.comparison.report") / "assets"
_SCRIPTS = ("figures.js", "flat.js", "player.js")


def check_page(path: str | os.PathLike[str], scenes: Sequence[str]) -> None:
    """Refuse a page that could not be written, before anything long begins.

    Raises
    ------
    InvalidArgumentError
        For several scenes, for the file of a recording, and for a file that cannot be written.
    """
    if len(scenes) != 1:
        raise InvalidArgumentError(
            f"a page shows one scene, and there are {len(scenes)}; write one page for each"
        )
    # of the name that is asked for and, where that is a link, of the file behind it
    if any(Path(name).suffix.lower() in SUFFIXES for name in (path, os.path.realpath(path))):
        raise InvalidArgumentError(
            f"{path}: is named as a recording, which a page would replace; name it .html"
        )
    check_target(path)


def to_html(
    result: Comparison,
    recording: Recording,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> str:
    """Return the page; see `Comparison.to_html`."""
    scene = result.scene
    if (recording.ndim, recording.frames) != (scene.ndim, scene.of_frames):
        raise InvalidArgumentError(
            f"recording has {recording.frames} frames in {recording.ndim}D, but {scene.of_frames} "
            f"in {scene.ndim}D were compared; pass the recording that was compared"
        )
    data = {
        "comparison": result.as_dict(),
        "machine": result.machine.words,
        "scene": pack_scene(result, recording, progress),
    }
    libraries = ["uplot"] + (["three"] if recording.ndim == 3 else [])
    scripts = [_asset(f"{name}.min.js") for name in libraries]
    scripts += [_asset("solid.js")] if recording.ndim == 3 else []
    scripts += [_asset(name) for name in _SCRIPTS]
    parts = {
        "title": html.escape(f"{scene.name or 'scene'}: structures compared"),
        "name": html.escape(scene.name or "scene"),
        "facts": html.escape(scene.words),
        "verdict": _verdict(result),
        "wrong": _wrong(result),
        "checked": html.escape(result.checked.words),
        "frame": html.escape(" + ".join(result.frame_jobs)),
        "among": html.escape(result.settings.among),
        "styles": _asset("uplot.min.css") + _asset("page.css"),
        "licences": html.escape("\n\n".join(_asset(f"{name}.LICENSE") for name in libraries)),
        # a recording's texts must not end the script that they are in
        "data": json.dumps(finite(data), allow_nan=False).replace("<", "\\u003c"),
        "scripts": "".join(f"<script>{script}</script>\n" for script in scripts),
    }
    page = _asset("page.html").split("{{")
    # one pass: what a recording's name holds is never taken for a place to fill
    return page[0] + "".join(
        parts[key] + rest for key, rest in (piece.split("}}", 1) for piece in page[1:])
    )


def write_html(path: str | os.PathLike[str], page: str) -> None:
    """Write a page to a file, which appears complete or not at all.

    Raises
    ------
    InvalidArgumentError
        When it cannot be written.
    """
    with replaced(path) as draft:
        draft.write_bytes(page.encode(errors="replace"))  # a name may hold what is no text


def _verdict(result: Comparison) -> str:
    """Return the verdict as markup: a heading that says it, how clear it is, what speaks for whom.

    The words are those of `Verdict.words`, its reasons apart from the rest.
    """
    verdict = result.verdict
    best, other = verdict.fastest, verdict.against
    _, _, words = verdict.words.partition(": ")
    if best is None:
        return '<h2 id="h-verdict">No structure was timed</h2>'
    if verdict.is_clear:
        heading = f"{best} is fastest"
        words = words.partition("; because: ")[0].partition("; although: ")[0]
    elif other is None:
        heading = f"{best} was timed alone"
    else:
        heading = f"No clear winner: {best} or {other}"
    clear = ' class="clear"' if verdict.is_clear else ""
    parts = [
        f'<h2 id="h-verdict"{clear}>{html.escape(heading)}</h2>',
        f'<p id="verdict">{html.escape(words)}.</p>',
    ]
    for word, reasons in (("For", verdict.reasons), ("Against", verdict.contrary)):
        if reasons:
            items = "".join(f"<li>{html.escape(reason)}</li>" for reason in reasons)
            title = html.escape(f"{word} {best}, compared with {other}")
            parts.append(f"<h3>{title}</h3><ul>{items}</ul>")
    named = [best] if verdict.is_clear or other is None else [best, other]
    codes = [f"<code>{html.escape(code)}</code>" for name in named if (code := _code(result, name))]
    if codes:
        parts.append(f"<p>In Python: {' or '.join(codes)}</p>")
    return "\n".join(parts)


def _wrong(result: Comparison) -> str:
    """Return who differed from the oracle or failed, as markup; empty when nobody did."""
    said = {"differs": "Wrong answers", "failed": "Failed"}
    wrong = [row for row in result.rows if row.status in said]
    lines = [f"{said[row.status]}, not timed: {row.label}: {row.note}." for row in wrong]
    return "".join(f'<p class="wrong">{html.escape(line)}</p>' for line in lines)


def _code(result: Comparison, label: str) -> str:
    """Return a structure to paste into code; empty for another library."""
    row = result.row(label)
    if row.is_peer:
        return ""
    given = [f"ndim={result.scene.ndim}", *(f"{k}={v!r}" for k, v in row.parameters.items())]
    return f'si.create("{row.name}", {", ".join(given)})'


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
