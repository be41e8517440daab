"""Scenes: generated ones of any size, bundled recordings, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spatialindex.scenes.generators import generate, kinds, open_scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from spatialindex.scenes.recording import Recording
    from tests.benchmarks.settings import Settings

__all__ = ["GENERATED", "RECORDINGS", "ROOT", "Scene", "query_boxes", "scenes"]

ROOT = Path(__file__).resolve().parents[2]
"""Root of the project."""

GENERATED = ("uniform", "clustered", "sizes", "thin", "stack")
"""Kinds of generated scenes that differ in what makes boxes hard to find."""

RECORDINGS = "recordings"
"""Stands for all bundled recordings."""

_BUNDLED = ROOT / "examples" / "recordings"


@dataclass(frozen=True)
class Scene:
    """A scene by name; it is made, or read, when it is needed."""

    name: str
    n: int
    ndim: int
    seed: int
    source: str = ""
    """Path or specification of a scene that is as it is; empty: made in any size."""

    @property
    def is_generated(self) -> bool:
        """Whether it can be made with any number of frames and share of moving objects."""
        return not self.source

    def recording(self, frames: int = 1, **options: float) -> Recording:
        """Return the recording, of that many frames when it is generated."""
        if self.source:
            return open_scene(self.source)
        return generate(self.name, self.n, self.ndim, frames, self.seed, **options)

    def boxes(self) -> NDArray[np.float64]:
        """Return the boxes of one frame, the middle one of a recording."""
        return _boxes(self)


@lru_cache(maxsize=2)  # groups of one scene follow one another
def _boxes(scene: Scene) -> NDArray[np.float64]:
    recording = scene.recording()
    boxes = recording.frame(recording.frames // 2).boxes
    boxes.flags.writeable = False
    return boxes


def scenes(settings: Settings) -> Iterator[Scene]:
    """Return the scenes asked for: every generated one in all sizes, the others as they are."""
    known = {kind.name for kind in kinds()}
    for name in settings.scenes:
        if name in known:
            for ndim in settings.ndims:
                for n in settings.sizes:
                    yield Scene(name, n, ndim, settings.seed)
            continue
        for path in _paths(name):
            recording = open_scene(path)
            if recording.ndim in settings.ndims:
                n = len(recording.frame(recording.frames // 2).ids)
                label = recording.name or path.stem
                yield Scene(label, n, recording.ndim, settings.seed, source=str(path))


def _paths(name: str) -> list[Path]:
    """Return the recordings that a name stands for: a file, those of a folder, a bundled one."""
    bundled = _BUNDLED / f"{name}.npz"
    if bundled.is_file():
        return [bundled]
    folder = _BUNDLED if name == RECORDINGS else Path(name)
    found = sorted(path for path in folder.glob("*") if path.suffix in (".npz", ".aabbs"))
    return found or [folder]


def query_boxes(boxes: NDArray[np.float64], count: int, seed: int) -> NDArray[np.float64]:
    """Return boxes to ask with, around objects, one to three times as long as a median edge."""
    ndim = boxes.shape[1] // 2
    rng = np.random.default_rng((seed, len(boxes), ndim))
    lower, upper = boxes[:, :ndim], boxes[:, ndim:]
    edge = float(np.median(upper - lower)) or 1.0
    near = rng.integers(len(boxes), size=count)
    centers = (lower[near] + upper[near]) / 2 + rng.normal(0, edge, (count, ndim))
    reach = edge * rng.uniform(0.5, 1.5, (count, ndim))
    return np.concatenate((centers - reach, centers + reach), axis=1)
