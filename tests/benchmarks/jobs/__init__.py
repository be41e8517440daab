"""The jobs by name, in the order in which they run."""

from tests.benchmarks.jobs import (
    borders,
    build,
    capacity,
    cells,
    churn,
    decay,
    frames,
    nearest,
    pairs,
    points,
    query,
    rays,
    singles,
    sizes,
    start,
    steps,
    workers,
    worst,
)
from tests.benchmarks.scenes import GENERATED, RECORDINGS
from tests.benchmarks.settings import Job

__all__ = ["DEFAULT", "JOBS"]

_SIZES = (10_000, 100_000)
_GROWING = (10_000, 100_000, 1_000_000)
_EVERYWHERE = (*GENERATED, RECORDINGS)
_CROWDED = ("uniform", "clustered", "sizes")

JOBS = {
    job.name: job
    for job in (
        Job("pairs", "insert and pairs from scratch", pairs.groups, _SIZES, _EVERYWHERE),
        Job("build", "building until questions can be answered", build.groups, _SIZES),
        Job("query", "a batch of range queries", query.groups, _SIZES, _EVERYWHERE),
        Job("single", "range queries one by one from Python", query.single_groups, _SIZES),
        Job("points", "balls around points", points.groups, _SIZES),
        Job("nearest", "nearest objects of points", nearest.groups, _SIZES, _CROWDED),
        Job("rays", "first hits of rays, all of segments", rays.groups, _SIZES, _CROWDED),
        Job("planes", "what a camera sees", rays.plane_groups, _SIZES),
        Job("frames", "update and pairs", frames.groups, _SIZES, ("uniform", RECORDINGS)),
        Job("capacity", "boxes in a frame of 16.7 ms", capacity.groups, (20_000,)),
        Job("steps", "update and what began", steps.groups, (1_000_000,), ("uniform", RECORDINGS)),
        Job("inserts", "inserts one by one, then pairs", singles.insert_groups, (100_000,)),
        Job("removals", "removals one by one, then pairs", singles.remove_groups, (100_000,)),
        Job("churn", "a million operations in batches, and memory", churn.groups, (10_000,)),
        Job("decay", "queries after 1,000 frames, and memory", decay.groups, (10_000,)),
        Job("memory", "bytes an object", sizes.memory_groups, (1_000_000,)),
        Job("growth", "cost an object by number of objects", sizes.growth_groups, _GROWING),
        Job("workers", "one thread against two", workers.groups, (1_000_000,)),
        Job("worst", "worst cases", worst.groups, (100_000,)),
        Job("kept", "where kept pairs end to pay: kept_share", borders.kept_groups, (10_000,)),
        Job("sweep", "where one pass begins to pay: sweep_share", borders.sweep_groups, _SIZES),
        Job("bulk", "where building anew begins to pay: bulk_share", borders.bulk_groups, _SIZES),
        Job("cells", "the edge that a grid chooses", cells.groups, _SIZES, GENERATED),
        Job("start", "importing, first pairs, compiling", start.groups, (10,)),
    )
}
"""What can be measured."""

DEFAULT = ("pairs", "build", "query", "single", "frames")
"""What is measured when nothing is asked for."""
