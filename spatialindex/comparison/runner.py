"""`compare`: structures side by side on one recording, checked first, then timed."""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from spatialindex.comparison import forecast
from spatialindex.comparison.contestants import EMPTY, Entrant, Nothing, chosen
from spatialindex.comparison.facts import scene_facts
from spatialindex.comparison.machine import this_machine
from spatialindex.comparison.peer_indexes import chosen_peers
from spatialindex.comparison.planning import MOST_PAIRS, estimated_pairs, make_plan, spread
from spatialindex.comparison.playback import Playback
from spatialindex.comparison.results import (
    ANSWERING,
    DEFAULT_JOBS,
    JOBS,
    Checked,
    Comparison,
    Row,
    Settings,
)
from spatialindex.comparison.timing import Player, frame_jobs, time_all
from spatialindex.comparison.verdict import decide, is_whole
from spatialindex.comparison.verification import verify
from spatialindex.comparison.warm import warm_up
from spatialindex.constants import AMONG
from spatialindex.errors import InvalidArgumentError, did_you_mean
from spatialindex.scenes.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from spatialindex.comparison.planning import Plan
    from spatialindex.protocol import Among

    Progress = Callable[[str, int, int], None]

__all__ = ["check_settings", "compare", "frames_to_play"]

_CURVES_SHARE = 1.0 / 3.0  # of the budget: what tuning may take, where it is asked for


def compare(
    recording: Recording,
    structures: Iterable[str | tuple[str, Mapping[str, Any]]] | None = None,
    jobs: Iterable[str] = DEFAULT_JOBS,
    *,
    peers: str | Iterable[str] = (),
    frames: int | None = None,
    among: Among | None = None,
    queries: int = 64,
    seed: int = 0,
    budget: float = 60.0,
    work: int = 100_000_000,
    repeats: int = 5,
    plays: int = 5,
    curves: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Play a recording through structures, check every answer, then time them side by side.

    Parameters
    ----------
    recording : Recording
        The scene; `spatialindex.Recording` loads one, `spatialindex.generate` makes one.
    structures : iterable of str or (str, mapping), optional
        Names of the registry, or names with parameters. None takes all that index the recording's
        number of dimensions.
    jobs : iterable of {"build", "update", "pairs", "query", "nearest", "raycast"}
        What is timed; the first four when it is not given.
    peers : str or iterable of {"shapely", "geoindex-rs", "rtree", "scipy", "all"}
        Other libraries that take part, none when it is not given. Each is checked as all are; one
        that differs is shown as differing, one that does not answer what is asked as left out.
    frames : int, optional
        Frames to play, from the first on; None plays all.
    among : {"active", "dynamic", "all"}, optional
        Which pairs are timed. None takes ``"active"``, and ``"all"`` for a scene in which nothing
        is ever awake and dynamic. Both of these are checked in any case.
    queries : int, default 64
        Range queries asked in every frame, as one batch; as many points and rays in batches of
        theirs.
    seed : int, default 0
        Seed of the queries.
    budget : float, default 60.0
        Seconds that the structures' own calls may take, half for being checked, half for being
        timed, in equal shares. What is cut short is said in the result.
    work : int, default 100,000,000
        Tests of two boxes that the oracle may take, about 0.1 µs each. Where it is not enough for
        all frames, evenly spaced ones are checked, and the result says which part.
    repeats : int, default 5
        Fresh indexes that ``"build"`` is timed on.
    plays : int, default 5
        Times that all frames are played, as far as the budget goes; a frame takes what it takes in
        its fastest play.
    curves : bool, default False
        Also tune the structures that declare something to tune, as `tune` does, the fastest and the
        grids first: see `Comparison.curves`. A third of the budget is for that, in seconds of the
        clock; who is not reached is said in the result.
    progress : callable, optional
        Called as ``progress(what, done, total)`` as the work goes on.

    Returns
    -------
    Comparison
        The scene, the machine, what was checked, one row a structure and the verdict. A structure
        whose answers differ from the oracle's is reported as differing, and has no times.

    Raises
    ------
    InvalidArgumentError
        For an unknown structure, parameter or job, or a number that cannot be meant.

    Notes
    -----
    All figures but times are the same in every run, as long as nothing is cut short by the budget.

    Examples
    --------
    >>> import spatialindex as si
    >>> rec = si.generate("brownian", n=50, frames=3)
    >>> result = si.compare(rec, structures=["brute-force"], budget=5.0)
    >>> result.agrees, result.checked.frames
    (True, 3)
    >>> [row.label for row in result.rows]
    ['brute-force', '(empty)']
    """
    settings = check_settings(
        jobs,
        among=among,
        queries=queries,
        seed=seed,
        budget=budget,
        work=work,
        repeats=repeats,
        plays=plays,
    )
    tuning = settings.budget * _CURVES_SHARE if curves else 0.0
    play = Playback(
        recording,
        frames_to_play(recording, frames),
        settings.queries,
        settings.seed,
        settings.among,
    )
    if among is None and not play.is_ever_active:
        settings, play = replace(settings, among="all"), replace(play, among="all")
    contestants = chosen(structures, play.ndim)
    entrants = [Entrant(contestant) for contestant in contestants]
    crowd = _too_many_pairs(play)
    jobs = tuple(job for job in settings.jobs if not (crowd and job == "pairs"))
    checked = _checked_jobs(jobs, crowd)
    entrants += chosen_peers(peers, play, checked)
    share = (settings.budget - tuning) / 2.0 / len(entrants)
    facts = scene_facts(recording, play.frames, progress)
    _compile(entrants, play.ndim, jobs, progress)
    if "pairs" in checked:
        _drop_hopeless(play, entrants, share, progress)
    plan = make_plan(play, jobs=checked, work=settings.work, progress=progress)
    able = [entrant for entrant in entrants if entrant.status == "ok"]
    verification = verify(play, plan, able, allowance=share, progress=progress)

    players = _players(play, entrants, plan.frames[-1])
    time_all(
        play,
        players,
        jobs,
        repeats=settings.repeats,
        plays=settings.plays,
        allowance=share,
        progress=progress,
    )

    in_frame = frame_jobs(jobs, play.frames)
    counted = _counted_frames(entrants)
    timed = {player.label: player for player in players}
    rows = [
        _row(entrant, timed.get(entrant.label), plan, play.frames, in_frame, counted)
        for entrant in entrants
    ]
    rows.append(_empty_row(timed[EMPTY], in_frame))
    series = {label: player.per_frame(in_frame) for label, player in timed.items()}
    result = Comparison(
        scene=facts,
        machine=this_machine(),
        settings=settings,
        checked=Checked(
            frames=verification.frames,
            planned=len(plan.frames),
            of_frames=play.frames,
            pairs=plan.pairs,
            share=plan.share,
            queries=plan.queries,
            pair_rows=verification.pair_rows,
            query_rows=verification.query_rows,
            points=len(plan.points),
            neighbors=verification.neighbors,
            rays=len(plan.rays),
            hits=verification.hits,
            box_tests=plan.box_tests,
        ),
        frame_jobs=in_frame,
        rows=tuple(rows),
        left_out=_left_out(play, crowd, rows, len(plan.frames)),
        verdict=decide(rows, in_frame, series),
        series=series,
    )
    if not curves:
        return result
    from spatialindex.comparison.tuned import with_curves  # which is made of comparisons

    return with_curves(result, recording, tuning, progress)


def check_settings(
    jobs: Iterable[str],
    *,
    among: Among | None,
    queries: int,
    seed: int,
    budget: float,
    work: int = 1,
    repeats: int = 1,
    plays: int = 1,
) -> Settings:
    """Check what was asked for, of `compare` and of what is made with it."""
    asked = [jobs] if isinstance(jobs, str) else list(jobs)
    for job in asked:
        _known("job", job, JOBS)
    if among is not None:
        _known("among", among, AMONG)
    if not asked:
        raise InvalidArgumentError(f"jobs is empty: name at least one of {', '.join(JOBS)}")
    if not (isinstance(budget, int | float) and 0.0 < budget < math.inf):
        raise InvalidArgumentError(f"budget is {budget!r}: pass a number of seconds above 0")
    return Settings(
        jobs=tuple(job for job in JOBS if job in asked),
        among=among or "active",
        queries=_whole("queries", queries, 1),
        seed=_whole("seed", seed, 0),
        budget=float(budget),
        work=_whole("work", work, 1),
        repeats=_whole("repeats", repeats, 1),
        plays=_whole("plays", plays, 1),
    )


def _known(name: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        hint = did_you_mean(word, words)
        raise InvalidArgumentError(f"unknown {name} {word!r}; {hint}known: {', '.join(words)}")


def _whole(name: str, value: int, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise InvalidArgumentError(f"{name} is {value!r}: pass a whole number, at least {least}")
    return number


def frames_to_play(recording: Recording, frames: int | None) -> int:
    """Return how many frames are played: as many as asked for, at most all."""
    if not isinstance(recording, Recording):
        raise InvalidArgumentError(
            f"recording is {recording!r}: pass what spatialindex.Recording.load(path) or "
            "spatialindex.generate(kind) returns"
        )
    if frames is None:
        return recording.frames
    return min(_whole("frames", frames, 1), recording.frames)


def _too_many_pairs(play: Playback) -> str:
    """Say that pairs are left out because a frame has far too many; empty when it has not."""
    for t in spread(play.frames, 3):
        estimate = estimated_pairs(play.frame(t).boxes, play.seed)
        if estimate > MOST_PAIRS:
            return (
                f"pairs: frame {t} has about {estimate:.1e} of them, as a sample of its objects "
                f"tells, more than the {MOST_PAIRS:,} that are compared"
            )
    return ""


def _checked_jobs(jobs: tuple[str, ...], crowd: str) -> tuple[str, ...]:
    """Return whose answers are checked: pairs and queries when nothing that is timed has any."""
    answering = tuple(job for job in jobs if job in ANSWERING)
    return answering or (("query",) if crowd else ("pairs", "query"))


def _compile(
    entrants: Sequence[Entrant], ndim: int, jobs: tuple[str, ...], progress: Progress | None
) -> None:
    """Make every first call, and note what it took."""
    for done, entrant in enumerate(entrants, 1):
        make: Any = entrant.contestant.make
        with entrant.blamed("failed", "its first calls"):
            if not entrant.is_peer:
                entrant.compile = warm_up(partial(make, ndim), jobs)
        if progress is not None:
            progress("compiling", done, len(entrants))


def _drop_hopeless(
    play: Playback, entrants: Sequence[Entrant], share: float, progress: Progress | None
) -> None:
    """Leave out who would need more than its share of the time for the pairs of one frame."""
    if len(play.frame(0).ids) < forecast.LARGE:
        return
    for done, entrant in enumerate(entrants, 1):
        if entrant.status == "ok":
            with entrant.blamed("failed", "the first frame in parts"):
                seconds, words = forecast.predict(play, entrant.contestant)
                if seconds > share:
                    entrant.drop(
                        "left out", f"{words}, and its share of the budget is {share:.3g} s"
                    )
        if progress is not None:
            progress("trying out", done, len(entrants))


def _players(play: Playback, entrants: Sequence[Entrant], last_planned: int) -> list[Player]:
    """Return who is timed: all whose answers were right, as far as they were checked."""
    players = [
        Player(
            entrant.label,
            partial(entrant.contestant.make, play.ndim),
            play.frames if entrant.last_checked == last_planned else entrant.last_checked + 1,
            entrant,
        )
        for entrant in entrants
        if entrant.status == "ok"
    ]
    return [*players, Player(EMPTY, Nothing, play.frames)]


def _counted_frames(entrants: Sequence[Entrant]) -> int:
    """Return how many frames figures of work are of, so that they are of the same ones."""
    counts = [len(entrant.stats) for entrant in entrants if entrant.status == "ok"]
    most = max(counts, default=0)
    return min((count for count in counts if count and is_whole(count, most)), default=0)


def _row(
    entrant: Entrant,
    player: Player | None,
    plan: Plan,
    frames: int,
    in_frame: tuple[str, ...],
    counted: int,
) -> Row:
    """Put together what is known of a contestant; one that is not right has no times."""
    timed = player if player is not None and entrant.status == "ok" else None
    if timed is not None:
        entrant.note = _shortfall(entrant, timed, plan, frames)
    return Row(
        label=entrant.label,
        name=entrant.contestant.name,
        parameters=dict(entrant.contestant.parameters),
        status=entrant.status,
        note=entrant.note,
        checked=entrant.checked,
        plays=timed.plays if timed else 0,
        compile=entrant.compile,
        work=entrant.work(frames=counted, has_pairs=plan.pairs) if entrant.status == "ok" else None,
        build=timed.timing("build") if timed else None,
        update=timed.timing("update") if timed else None,
        pairs=timed.timing("pairs") if timed else None,
        query=timed.timing("query") if timed else None,
        nearest=timed.timing("nearest") if timed else None,
        raycast=timed.timing("raycast") if timed else None,
        frame=timed.timing(*in_frame) if timed else None,
        is_peer=entrant.is_peer,
    )


def _empty_row(player: Player, in_frame: tuple[str, ...]) -> Row:
    """Return the row of the contestant that does nothing."""
    return Row(
        label=EMPTY,
        name="",
        parameters={},
        status="floor",
        note="does nothing: what the harness itself costs",
        checked=0,
        plays=player.plays,
        compile=None,
        work=None,
        build=player.timing("build"),
        update=player.timing("update"),
        pairs=player.timing("pairs"),
        query=player.timing("query"),
        nearest=player.timing("nearest"),
        raycast=player.timing("raycast"),
        frame=player.timing(*in_frame),
    )


def _shortfall(entrant: Entrant, player: Player, plan: Plan, frames: int) -> str:
    """Say what the budget cut short for a contestant; empty when nothing was."""
    parts = []
    if entrant.checked < len(plan.frames):
        parts.append(f"checked in {entrant.checked:,} of {len(plan.frames):,} frames")
    if player.reached < frames - 1:
        parts.append(f"timed in {player.reached:,} of {frames - 1:,} frames")
    return f"{' and '.join(parts)}: its share of the budget was used up" if parts else ""


def _left_out(play: Playback, crowd: str, rows: Sequence[Row], planned: int) -> tuple[str, ...]:
    """Say in sentences what was not done, or not in full."""
    sentences = []
    every = play.recording.frames
    if play.frames < every:
        sentences.append(f"frames {play.frames:,} to {every - 1:,} of {every:,}, as asked")
    if crowd:
        sentences.append(crowd)
    short = [row for row in rows if row.status == "ok" and row.note]
    if len(short) > 1:
        counts = (f"{row.label} {row.checked:,} and {_timed(row):,}" for row in short)
        sentences.append(
            f"frames of {len(short)} structures, whose shares of the budget were used up: checked "
            f"of {planned:,} and timed of {play.frames - 1:,} were {'; '.join(counts)}"
        )
    sentences += [
        f"{row.label}: {row.note}"
        for row in rows
        if row.note and (row.status == "left out" or short == [row])
    ]
    return tuple(sentences)


def _timed(row: Row) -> int:
    return row.frame.samples if row.frame else 0
