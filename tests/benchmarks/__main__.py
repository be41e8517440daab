"""``python -m tests.benchmarks``: measure, check, print tables and write JSON.

Exit codes: 0; 1 when a structure of this library gave a wrong answer or none; 2 for a choice that
cannot be.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from spatialindex.errors import SpatialIndexError
from spatialindex.registry import structures
from tests.benchmarks.jobs import DEFAULT, JOBS
from tests.benchmarks.peers import PEERS
from tests.benchmarks.report import as_dict, header, print_group, write_json
from tests.benchmarks.scenes import GENERATED, RECORDINGS
from tests.benchmarks.settings import Settings
from tests.benchmarks.timing import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the jobs that were asked for."""
    options = _parser().parse_args(arguments)
    if options.list:
        for job in JOBS.values():
            print(f"{job.name:10} {job.summary}")
        return 0
    names = _chosen(options.job, JOBS, "job", DEFAULT)
    settings = _settings(options)
    results = header(settings, names, sys.argv[1:] if arguments is None else arguments)
    is_wrong = False
    try:
        groups = [group for name in names for group in JOBS[name].groups(settings.of(JOBS[name]))]
    except SpatialIndexError as error:
        _refuse(str(error))
    if not groups:
        _refuse("these jobs have nothing to measure in these scenes, sizes and dimensions")
    number, total = 0, len(groups)
    while groups:
        group = groups.pop(0)  # which keeps scenes; they go with it
        number += 1
        title = f"[{number}/{total}] {group.job} {group.scene} {group.ndim}D {group.n:,}"
        measured = measure(
            group, settings.rounds, settings.budget, _teller(title), turn=settings.turn
        )
        _clear()
        written = as_dict(group, measured, settings)
        print_group(written, is_timed=group.is_timed)
        results["groups"].append(written)
        is_wrong |= any(result.is_wrong and result.task.is_ours for result in measured)
        if options.json is not None:
            write_json(options.json, results)
        # modules and kernels stay; to go through them takes each collection a tenth of a second
        del group, measured
        gc.collect()
        gc.freeze()
    return int(is_wrong)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measure the structures beside other libraries, every answer checked.",
        epilog="Lists are separated by commas. Round 0 is not counted. See --list for the jobs.",
    )
    add = parser.add_argument
    add("--job", metavar="A,B", help=f"what to measure, or all; default: {','.join(DEFAULT)}")
    add(
        "--scene",
        metavar="A,B",
        help=f"{', '.join(GENERATED)}, {RECORDINGS} or one, other kinds, files, folders",
    )
    add("--n", metavar="N,M", help="objects of generated scenes, 1e5 for instance")
    add("--ndim", metavar="2,3", default="2,3", help="dimensions (default: %(default)s)")
    add("--structures", metavar="A,B", help="structures of the library; default: all")
    add("--peers", metavar="A,B", help="other libraries, or none; default: all installed")
    add("--baseline", metavar="NAME", help="contestant that times are divided by")
    add("--rounds", type=int, default=5, help="rounds that count (default: %(default)s)")
    add("--budget", type=float, default=60.0, metavar="S", help="seconds a group (%(default)g)")
    add("--workers", type=int, default=1, help="threads of our calls (default: %(default)s)")
    add("--seed", type=int, default=1, help="of scenes and queries (default: %(default)s)")
    add("--quick", action="store_true", help="small sizes and few queries: does it work at all")
    add("--json", type=Path, metavar="FILE", help="write all results, the single rounds included")
    add("--list", action="store_true", help="list the jobs")
    return parser


def _settings(options: argparse.Namespace) -> Settings:
    """Check the choices, or end with one line."""
    if options.rounds < 1 or options.workers < 1 or not options.budget > 0 or options.seed < 0:
        _refuse("--rounds and --workers are at least 1, --budget above 0, --seed not below")
    peers: tuple[str, ...] | None = ()
    if options.peers != "none":
        peers = _chosen(options.peers, [peer.name for peer in PEERS], "peer", ()) or None
    known = [entry.name for entry in structures()]
    if options.json is not None and not options.json.resolve().parent.is_dir():
        _refuse(f"--json {options.json}: there is no such folder")
    return Settings(
        sizes=tuple(_whole(word, "--n", 1) for word in _words(options.n)),
        ndims=tuple(_whole(word, "--ndim", 2, 3) for word in _words(options.ndim)),
        scenes=tuple(_words(options.scene)),
        structures=_chosen(options.structures, known, "structure", ()),
        peers=peers,
        baseline=options.baseline,
        rounds=options.rounds,
        budget=options.budget,
        workers=options.workers,
        seed=options.seed,
        is_quick=options.quick,
    )


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _whole(word: str, option: str, least: int, most: int = 10**9) -> int:
    """Return a whole number, which may be written as 1e5."""
    try:
        number = float(word)
    except ValueError:
        _refuse(f"{option}: {word!r} is not a number")
    if not (least <= number <= most and number == int(number)):
        _refuse(f"{option}: {word} is not a whole number from {least} to {most}")
    return int(number)


def _chosen(
    text: str | None, known: Iterable[str], what: str, default: tuple[str, ...]
) -> tuple[str, ...]:
    """Return names from a list, or end with one line that suggests the nearest."""
    names = _words(text)
    known = list(known)
    for name in names:
        if name not in (*known, "all"):
            near = get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}? " if near else ""
            _refuse(f"unknown {what} {name!r}; {hint}known: {', '.join(known)}")
    if "all" in names:
        return tuple(known)
    return tuple(names) or default


def _refuse(words: str) -> NoReturn:
    print(f"error: {words}", file=sys.stderr)
    raise SystemExit(2)


def _teller(title: str) -> Callable[[str], None]:
    """Return what shows on a terminal how far a group is; it draws when told, never by itself."""
    drawn = 0.0

    def tell(words: str) -> None:
        nonlocal drawn
        if sys.stderr.isatty() and time.monotonic() - drawn > 0.1:
            drawn = time.monotonic()
            print(f"\r\x1b[K{title} · {words}", end="", file=sys.stderr, flush=True)

    return tell


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
