"""Which structures would need longer for one frame of a large scene than there is time at all.

A call that runs cannot be interrupted, and a scan of a million boxes takes minutes. So in large
scenes each contestant first gets a sixteenth and an eighth of the objects of the first frame. With
twice the objects a call takes 2 times as long when its cost is linear and 4 times when it is
quadratic; what was measured tells which, and so what the whole frame will take::

    62,500 objects  0.11 s      125,000  0.44 s      four times: quadratic
    1,000,000 objects: 0.44 s * 4 * 4 * 4 = 28 s
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from spatialindex.comparison.contestants import Contestant
    from spatialindex.comparison.peer_indexes import PeerContestant
    from spatialindex.comparison.playback import Playback

__all__ = ["LARGE", "predict"]

LARGE = 50_000
"""Objects from which on a first frame is tried out in parts."""


def predict(play: Playback, contestant: Contestant | PeerContestant) -> tuple[float, str]:
    """Return the seconds that the pairs of the first frame will take, and how that is known."""
    frame = play.frame(0)
    n = len(frame.ids)
    order = np.random.default_rng(play.seed).permutation(n)
    options = frame.options()
    seconds = {}
    for count in (n // 16, n // 8):
        rows = np.sort(order[:count])
        state = {key: options[key][rows] for key in options}
        tries = []
        for _ in range(2):  # the first of a size may still have something to load
            index: Any = contestant.make(play.ndim)
            started = time.perf_counter()
            index.insert(frame.boxes[rows], frame.ids[rows], **state)
            index.pairs(among=play.among)
            tries.append(time.perf_counter() - started)
        seconds[count] = min(tries)
    small, large = seconds[n // 16], seconds[n // 8]
    exponent = min(2.0, max(1.0, math.log2(large / small))) if small > 0.0 else 2.0
    predicted = large * 8.0**exponent
    words = (
        f"its pairs would take about {predicted:.3g} s a frame "
        f"({small:.3g} s for {n // 16:,} objects, {large:.3g} s for {n // 8:,})"
    )
    return predicted, words
