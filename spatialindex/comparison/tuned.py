"""Curves of a comparison: its structures tuned one by one, within a share of its budget.

The fastest comes first, then the grids, whose cell edge matters most, then what else declares
something to tune, each group in the order of the ranking. Everybody may take what is left over as
many as are still to come, but not less than a quarter of all: a few curves that tell something are
worth more than many that were cut short. Who was not reached is named in `Comparison.left_out`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from spatialindex import registry
from spatialindex.comparison.tuning import tune
from spatialindex.comparison.verdict import ranked
from spatialindex.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spatialindex.comparison.results import Comparison
    from spatialindex.scenes.recording import Recording

    Progress = Callable[[str, int, int], None]

__all__ = ["with_curves"]

_LEAST = 0.25  # of the budget: what one may take however many there are
_SHORTEST = 0.5  # seconds in which nothing can be tuned


def with_curves(
    result: Comparison, recording: Recording, budget: float, progress: Progress | None = None
) -> Comparison:
    """Return a comparison with the curves of those of its structures that can be tuned.

    Parameters
    ----------
    result : Comparison
        Says which structures, and what is asked in a frame.
    recording : Recording
        What was compared.
    budget : float
        Seconds after which nothing further is begun.
    progress : callable, optional
        Called as ``progress("tuning hash-grid", done, total)``.
    """
    settings = result.settings
    names = _names(result)
    deadline = time.monotonic() + budget
    curves, left_out = [], []
    for done, name in enumerate(names):
        room = deadline - time.monotonic()
        if room < min(_SHORTEST, budget / 2.0):
            left_out.append(
                f"curves of {', '.join(names[done:])}: the budget for tuning is used up"
            )
            break
        try:
            curve = tune(
                recording,
                name,
                None,
                settings.jobs,
                frames=result.scene.frames,
                among=settings.among,
                queries=settings.queries,
                seed=settings.seed,
                budget=min(room, max(room / (len(names) - done), budget * _LEAST)),
                progress=None if progress is None else partial(_tell, progress, name),
            )
        except InvalidArgumentError as error:  # no value gave right answers, or any times
            left_out.append(f"curve of {name}: {error}")
        else:
            curves.append(curve)
    return replace(result, curves=tuple(curves), left_out=(*result.left_out, *left_out))


def _tell(progress: Progress, name: str, _: str, done: int, total: int) -> None:
    progress(f"tuning {name}", done, total)


def _names(result: Comparison) -> list[str]:
    """Return who is tuned, in this order, each once, whatever parameters it was compared with."""
    rows = [entry.row for entry in ranked(result.rows, result.series) if not entry.row.is_peer]
    found = {
        row.name: tunables[0].default is None
        for row in rows
        if (tunables := registry.find(row.name).tunables)
    }
    fastest = [row.name for row in rows[:1] if row.name in found]
    lengths = [name for name, is_length in found.items() if is_length]
    return list(dict.fromkeys([*fastest, *lengths, *found]))
