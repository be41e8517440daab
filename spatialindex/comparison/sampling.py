"""A few frames that stand for all of a recording, so that many contestants can be tried on them.

Motion is coherent from one frame to the next, and structures live on that: so runs of neighbouring
frames are taken, spread over the recording, and put one behind the other::

    100 frames, 12 wanted     0 1 2 3   48 49 50 51   96 97 98 99

From one run to the next everything jumps. That is one frame of many, and figures are medians.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spatialindex.comparison.planning import spread
from spatialindex.scenes.recording import Recording

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["excerpt", "sampled_frames", "typical_edge"]

_RUNS = 3
_SHORTEST = 4  # frames of a run: fewer, and the jump between two is no exception any more


def sampled_frames(frames: int, wanted: int) -> tuple[int, ...]:
    """Return which of `frames` stand for all of them, `wanted` at most, ascending.

    >>> sampled_frames(100, 12)
    (0, 1, 2, 3, 48, 49, 50, 51, 96, 97, 98, 99)
    >>> sampled_frames(5, 12)
    (0, 1, 2, 3, 4)
    """
    if wanted >= frames:
        return tuple(range(frames))
    runs = min(_RUNS, max(1, wanted // _SHORTEST))
    length = max(1, wanted // runs)
    if runs == 1:
        first = (frames - length) // 2
        return tuple(range(first, first + length))
    starts = spread(frames - length + 1, runs)
    return tuple(sorted({start + i for start in starts for i in range(length)}))


def excerpt(recording: Recording, frames: int, wanted: int) -> Recording:
    """Return a recording of `wanted` of the first `frames`, at most.

    Parameters
    ----------
    recording : Recording
        What is sampled; itself is returned when all its frames are wanted.
    frames : int
        Frames, from the first on, that the sample stands for.
    wanted : int
        Frames of the sample.

    Examples
    --------
    >>> import spatialindex as si
    >>> excerpt(si.generate("brownian", n=5, frames=50), 50, 12)
    <Recording 'brownian': 12 frames of 5 objects, 2D>
    """
    picked = sampled_frames(frames, wanted)
    if len(picked) == recording.frames:
        return recording
    rows = np.array(picked)
    return Recording(
        recording.boxes[rows],
        recording.static,
        dt=recording.dt,
        name=recording.name,
        asleep=recording.asleep[rows],
        alive=recording.alive[rows],
        swept=recording.swept,
        ids=recording.ids,
        layer=recording.layer,
        mask=recording.mask,
        sensor=recording.sensor,
    )


def typical_edge(recording: Recording) -> float:
    """Return the mean extent of the boxes: the longest edge of each, over all of its frames.

    >>> import spatialindex as si
    >>> typical_edge(si.Recording([[[0, 0, 1, 2], [0, 0, 4, 1]]]))
    3.0
    """
    ndim = recording.ndim
    boxes: NDArray[np.float64] = recording.boxes[recording.alive]
    if len(boxes) == 0:
        return 0.0
    with np.errstate(over="ignore"):
        return float((boxes[:, ndim:] - boxes[:, :ndim]).max(axis=1).mean())
