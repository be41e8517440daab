"""Running kernels over chunks: buffers that grow, and worker threads.

Kernels release the interpreter's lock, so a batch is cut into chunks for a pool of threads. Each
chunk writes into a buffer of its own and the pieces are put together in the order of the input: the
answer does not depend on the number of workers.

A kernel that fills a buffer goes on counting when it is full and returns the whole count; then the
items run again with a buffer of that size. Once the count is beyond the limit it stops, and
nothing of that size is ever allocated.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from spatialindex.constants import SLOT_DTYPE, TOGETHER
from spatialindex.errors import InvalidArgumentError, ResultTooLargeError
from spatialindex.states import is_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "NO_COUNTS",
    "NO_LIMIT",
    "NO_ROWS",
    "WORTH_THREADS",
    "check_workers",
    "chunks",
    "collect_rows",
    "reuse_freed_memory",
    "rows_within",
    "run_chunks",
    "too_large",
]

NO_ROWS = np.empty((0, 2), SLOT_DTYPE)
"""A buffer for kernels that are only to count."""

NO_COUNTS = np.empty(0, np.int64)
"""Counts of rows for kernels that are only to list."""

NO_LIMIT = 2**62
"""A limit that no answer reaches."""

WORTH_THREADS = 2**15
"""Rows below which handing work to threads costs more than it saves."""

T = TypeVar("T")

_CHUNKS_A_WORKER = 8  # more chunks than workers: an uneven scene still keeps them all busy
_SMALLEST_CHUNK = 64  # items, each quickly done: fewer cost more to hand to a thread than to do
_MOST_THREADS = 64  # of a pool, whatever is asked for
_LARGEST_GUESS = 2**26  # rows of a buffer that is not known to be filled: half a gigabyte
_WORTH_A_SAMPLE = 1024  # items of a piece whose answer is estimated before it is made
_LEARNT = 31 * 2**20  # bytes: the C library of Linux learns from blocks of up to 32 MiB

_pools: dict[int, ThreadPoolExecutor] = {}
_pools_lock = threading.Lock()


def _forget_pools() -> None:
    """Start anew in a forked process, which has the pools but none of their threads."""
    global _pools_lock
    _pools.clear()
    _pools_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def check_workers(workers: int) -> int:
    """Check a number of worker threads."""
    if type(workers) is int and workers > 0:
        return workers
    if not is_integer(workers) or workers < 1:
        raise InvalidArgumentError(f"workers is {workers!r}: pass the number of threads, 1 or more")
    return int(workers)


def chunks(n: int, workers: int, smallest: int = _SMALLEST_CHUNK) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into consecutive pieces of about `smallest` and more for so many workers."""
    pieces = 1 if workers == 1 else min(workers * _CHUNKS_A_WORKER, max(1, n // smallest))
    step = TOGETHER if smallest > TOGETHER else 1
    edges = [n * i // pieces // step * step for i in range(pieces)]
    return list(pairwise([*edges, n]))


def run_chunks(
    task: Callable[[int, int], T], n: int, workers: int, smallest: int = _SMALLEST_CHUNK
) -> list[T]:
    """Run ``task(start, stop)`` over pieces of ``range(n)``; results in the order of the pieces.

    A piece has `smallest` items or more: pass 1 where a single one is work enough for a thread.
    """
    if workers == 1:
        return [task(0, n)]
    pieces = chunks(n, workers, smallest)
    if len(pieces) < 2:
        return [task(start, stop) for start, stop in pieces]
    todo = deque(enumerate(pieces))
    done: dict[int, T] = {}

    def work() -> None:
        while True:
            try:
                i, piece = todo.popleft()
            except IndexError:  # some thread took the last one
                return
            done[i] = task(*piece)

    helpers = min(workers, _MOST_THREADS) - 1
    with _pools_lock:
        pool = _pools.get(helpers)
        if pool is None:
            pool = ThreadPoolExecutor(helpers, thread_name_prefix="spatialindex")
            _pools[helpers] = pool
    futures = [pool.submit(work) for _ in range(helpers)]
    try:
        work()  # the caller's thread is one of the workers
    finally:
        todo.clear()
        # nothing goes on reading arrays that the caller may change next; a thread that others keep
        # busy is not waited for, it would find nothing to do
        begun = [future for future in futures if not future.cancel()]
        wait(begun)
    for future in begun:
        future.result()
    return [done[i] for i in range(len(pieces))]


@cache
def reuse_freed_memory() -> None:
    """Let the C library keep freed memory for what is allocated later, once in a process.

    Memory from the system costs more to touch at first than to compute in, 0.5 µs a page and more.
    That of a large block that is freed makes glibc give out again all that is freed, instead of
    handing it back: 100,000 boxes in 2D take a hash grid 9 ms to all pairs instead of 12.
    """
    np.empty(_LEARNT, np.uint8)  # never touched, freed at once


def too_large(
    limit: int, remedy: str = "ask for less at a time (iter_pairs, fewer boxes, count)"
) -> ResultTooLargeError:
    """Make the error for an answer of more than `limit` rows; `remedy` says how to get less."""
    return ResultTooLargeError(
        f"the answer has more than {limit} rows, the limit that index.max_rows sets; "
        f"{remedy} or raise index.max_rows"
    )


def rows_within(
    max_rows: int,
    ask: Callable[..., NDArray[np.int32]],
    *args: Any,
    limit: int | None = None,
    workers: int,
) -> NDArray[np.int32]:
    """Return the rows of ``ask(*args)``, a method of a structure, at most `limit` of them.

    A refusal names `max_rows`, the limit by default, and not what a structure that asks in several
    places had left for one of them.
    """
    try:
        return ask(*args, limit=max_rows if limit is None else limit, workers=workers)
    except ResultTooLargeError:
        raise too_large(max_rows) from None


def collect_rows(
    fill: Callable[[int, int, NDArray[np.int32]], int],
    n: int,
    *,
    limit: int,
    workers: int = 1,
    guess: int = 0,
) -> NDArray[np.int32]:
    """Run ``fill(start, stop, out) -> count`` over ``range(n)`` and return all ``(m, 2)`` rows.

    Parameters
    ----------
    fill : callable
        Fills the int32 rows `out` for the items from `start` to `stop` and returns how many rows
        there are, more than `out` holds when it is too small.
    n : int
        Number of items.
    limit : int
        Rows that the answer may have.
    workers : int
        Number of threads.
    guess : int
        Expected number of rows, a good size for the first buffers.

    Raises
    ------
    ResultTooLargeError
        When there are more than `limit` rows.
    """
    budget = _Budget(limit)
    # of the calling thread, whose memory is reused: that of another comes new from the system
    expected = min(max(guess, 0), limit, _LARGEST_GUESS) + 64
    room = np.empty((expected, 2), SLOT_DTYPE)
    if workers == 1:
        return _collect_piece(fill, 0, n, room, budget, n)

    def piece(start: int, stop: int) -> NDArray[np.int32]:
        first, last = (expected * i // max(n, 1) for i in (start, stop))
        return _collect_piece(fill, start, stop, room[first:last], budget, n)

    parts = run_chunks(piece, n, workers)
    return parts[0] if len(parts) == 1 else _joined(parts, workers)


def _joined(parts: list[NDArray[np.int32]], workers: int) -> NDArray[np.int32]:
    """Put parts one behind the other."""
    ends = np.cumsum([len(part) for part in parts])
    out = np.empty((int(ends[-1]), 2), SLOT_DTYPE)

    def put(first: int, last: int) -> None:
        for end, part in zip(ends[first:last], parts[first:last], strict=True):
            out[end - len(part) : end] = part

    run_chunks(put, len(parts), workers if len(out) >= WORTH_THREADS else 1, smallest=1)
    return out


class _Budget:
    """The rows that an answer may have, shared by the pieces that make it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._claimed: list[int] = []

    def claim(self, rows: int) -> None:
        """Take rows before they are allocated, or raise `ResultTooLargeError`."""
        self._claimed.append(rows)  # at once, so that whoever is last sees what all have claimed
        if sum(self._claimed) > self.limit:
            raise too_large(self.limit)


def _collect_piece(
    fill: Callable[[int, int, NDArray[np.int32]], int],
    start: int,
    stop: int,
    out: NDArray[np.int32],
    budget: _Budget,
    n: int,
) -> NDArray[np.int32]:
    """Collect the rows of the items from `start` to `stop`, in `out` if they fit in.

    A first sixteenth tells how many rows to expect of the rest, which is seldom run twice then.
    """
    done = 0
    sample = (stop - start) // 16 // TOGETHER * TOGETHER
    middle = start + sample if stop - start >= _WORTH_A_SAMPLE else stop
    for first, last in ((start, middle), (middle, stop)):
        if first == last:
            continue
        count = fill(first, last, out[done:])
        budget.claim(count)
        if done + count > len(out):
            out = _grown(out, done, done + count)
            fill(first, last, out[done:])
        done += count
        if last < stop:
            most = _LARGEST_GUESS * (stop - start) // n
            expected = min(20 * done + 64, budget.limit, most + done)
            if expected > len(out):
                out = _grown(out, done, expected)
    return out[:done]


def _grown(out: NDArray[np.int32], done: int, rows: int) -> NDArray[np.int32]:
    """Return a buffer of so many rows that begins with those done."""
    larger = np.empty((rows, 2), SLOT_DTYPE)
    larger[:done] = out[:done]
    return larger
