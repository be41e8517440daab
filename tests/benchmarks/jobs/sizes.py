"""What grows with the number of objects: memory, and the cost of an object."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks import child
from tests.benchmarks.jobs.pairs import of_peer, of_structure
from tests.benchmarks.model import Figures, Group, Result, Step, Task
from tests.benchmarks.peers import peers
from tests.benchmarks.scenes import Scene, scenes
from tests.benchmarks.structures import structures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.settings import Settings

__all__ = ["growth_groups", "memory_groups"]


def memory_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a scene; every contestant is built in a process of its own."""
    for scene in scenes(settings):
        if scene.is_generated:
            yield Group(
                "memory",
                *(scene.name, scene.n, scene.ndim),
                "bytes an object: nbytes of an index, and what the process has grown by",
                partial(_memory_tasks, settings, scene),
                rounds=1,
                runs=1,
                is_timed=False,
            )


def _memory_tasks(settings: Settings, scene: Scene) -> list[Task]:
    ours = [structure.name for structure in structures(settings, scene.ndim)]
    theirs = [peer.name for peer in peers(settings, scene.ndim, scene.n, "query")]
    return [_memory(name, scene, is_ours=name in ours) for name in ours + theirs]


def _memory(name: str, scene: Scene, *, is_ours: bool) -> Task:
    looks: list[dict[str, Any]] = []

    def look(state: Any) -> Any:
        if not looks:  # once is enough: bytes do not scatter as times do
            looks.append(child.run("memory", name, scene.name, scene.n, scene.ndim, scene.seed))
        return looks[0]

    def figures() -> Figures:
        heads = {
            "nbytes": "nbytes an object",
            "with_pairs": "with kept pairs",
            "resident": "resident an object",
        }
        found = {key: value for key, value in looks[0].items() if value is not None}
        return {head: found[key] / scene.n for key, head in heads.items() if key in found}

    return Task(
        name,
        (Step("look", look),),
        rows=lambda found: found["found"],
        workers=0,
        is_ours=is_ours,
        figures=figures,
    )


def growth_groups(settings: Settings) -> Iterator[Group]:
    """Make a group a kind of scene and number of dimensions, with all sizes in it."""
    sizes = sorted(settings.sizes)
    every = [scene for scene in scenes(settings) if scene.is_generated]
    for first in (scene for scene in every if scene.n == sizes[0]):
        row = [scene for scene in every if (scene.name, scene.ndim) == (first.name, first.ndim)]
        yield Group(
            "growth",
            *(first.name, sizes[-1], first.ndim),
            f"insert + pairs from scratch, from {sizes[0]:,} objects on",
            partial(_growth_tasks, settings, row),
            part="object",
            conclude=_growth,
        )


def _growth_tasks(settings: Settings, row: list[Scene]) -> list[Task]:
    tasks = []
    for scene in row:
        ndim, n = scene.ndim, scene.n
        options: dict[str, Any] = {"parts": n, "question": n}
        for structure in structures(settings, ndim, n, is_quadratic=True):
            label, first = (f"{structure.label} {size:,}" for size in (n, row[0].n))
            tasks.append(
                of_structure(
                    structure,
                    scene.boxes(),
                    settings.workers,
                    label=label,
                    baseline=first,
                    **options,
                )
            )
        for peer in peers(settings, ndim, n, "pairs"):
            label, first = (f"{peer.name} {size:,}" for size in (n, row[0].n))
            tasks.append(of_peer(peer, scene.boxes(), label=label, baseline=first, **options))
    return sorted(tasks, key=lambda task: task.label.rpartition(" ")[0])


def _growth(results: list[Result]) -> Figures:
    """Compare the cost of an object at the largest size with that at the smallest."""
    costs: dict[str, list[tuple[int, float]]] = {}
    for result in results:
        if result.median is not None:
            name = result.task.label.rpartition(" ")[0]
            costs.setdefault(name, []).append((result.task.parts, result.median))
    return {
        f"{name} from {min(row)[0]:,} to {max(row)[0]:,}": max(row)[1] / min(row)[1]
        for name, row in costs.items()
        if len(row) > 1
    }
