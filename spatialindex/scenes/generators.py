"""`generate`: recordings made from a seed, and scenes by what a person types.

>>> import spatialindex as si
>>> si.generate("uniform", n=1000, ndim=3, seed=1)
<Recording 'uniform': 1 frame of 1000 objects, 3D>

On a command line the same is ``uniform:n=1000,ndim=3,seed=1``; `open_scene` takes that or a path.
A kind is one line of the table below: where boxes are at first (`spatialindex.scenes.placements`)
and how they move (`spatialindex.scenes.motions`).
"""

from __future__ import annotations

import math
import operator
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from spatialindex.constants import NDIMS
from spatialindex.errors import InvalidArgumentError, did_you_mean
from spatialindex.scenes import motions, placements
from spatialindex.scenes.recording import SUFFIXES, Recording
from spatialindex.specifications import specified

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spatialindex.scenes.motions import Motion
    from spatialindex.scenes.placements import Placement

__all__ = ["Kind", "Option", "generate", "kinds", "open_scene", "parse_specification"]

_LARGE: Final = 1e6
"""Upper limit of factors: far beyond any use, and far from where coordinates overflow."""


@dataclass(frozen=True)
class Option:
    """A number that a kind understands."""

    name: str
    """Its keyword."""
    default: float
    """Value when it is not given; an int where only whole numbers make sense."""
    low: float
    """The smallest legal value."""
    high: float
    """The largest legal value; where it is infinite, values are finite all the same."""
    summary: str
    """What it says, in a sentence."""

    def check(self, kind: str, value: object) -> float:
        """Return the value as a number of the default's type, or say what is wrong with it."""
        whole = isinstance(self.default, int)
        number = _number(value, whole)
        if number is None or not self.low <= number <= self.high or math.isinf(number):
            words = f"{'an integer' if whole else 'a finite number'} of at least {self.low:.12g}"
            words += "" if math.isinf(self.high) else f" and at most {self.high:.12g}"
            raise InvalidArgumentError(f"{kind}: {self.name}={value!r} is not {words}")
        return number


@dataclass(frozen=True)
class Kind:
    """A kind of generated scene."""

    name: str
    """The name used by `generate` and in specifications."""
    summary: str
    """What it is, in a sentence."""
    options: tuple[Option, ...]
    """What it understands beside `n`, `ndim`, `frames` and `seed`."""
    place: Placement
    """Makes the first boxes."""
    move: Motion
    """Makes the frames."""


_COMMON: Final = {
    option.name: option
    for option in (
        Option("n", 1000, 0, np.iinfo(np.int32).max, "objects"),
        Option("ndim", 2, min(NDIMS), max(NDIMS), "dimensions"),
        Option("frames", 1, 1, np.iinfo(np.int32).max, "frames"),
        Option("seed", 0, 0, math.inf, "seed of the random numbers"),
    )
}
"""Options of every kind."""


def _partners(default: float) -> Option:
    return Option(
        "partners", default, 0.0, math.inf, "others that a box meets at first, on average"
    )


_PARTNERS = _partners(3.0)
_MOVING = Option("moving", 1.0, 0.0, 1.0, "share of the objects that move")
_SPEED = Option("speed", 0.1, 0.0, _LARGE, "displacement a frame, in edges of a median box")
_COHERENT = (_MOVING, _SPEED)

_KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(
            "uniform",
            "equal cubes anywhere, about three overlaps each",
            (_PARTNERS, *_COHERENT),
            placements.uniform,
            motions.coherent,
        ),
        Kind(
            "clustered",
            "cubes in clouds, with much empty space between them",
            (
                _partners(4.0),
                Option("clusters", 20, 1, math.inf, "clouds, of fifty objects at least"),
                *_COHERENT,
            ),
            placements.clustered,
            motions.coherent,
        ),
        Kind(
            "sizes",
            "cubes with edges over three orders of magnitude",
            (_PARTNERS, *_COHERENT),
            placements.sizes,
            motions.coherent,
        ),
        Kind(
            "thin",
            "walls: thin along one axis, long along the others",
            (
                _PARTNERS,
                Option("aspect", 50.0, 1.0, _LARGE, "how many times as long as thin"),
                *_COHERENT,
            ),
            placements.thin,
            motions.coherent,
        ),
        Kind(
            "stack",
            "unit cubes stacked without a gap: all neighbours touch exactly in the first frame",
            _COHERENT,
            placements.stack,
            motions.coherent,
        ),
        Kind(
            "point",
            "everything at one point: each box meets all others",
            (Option("edge", 1.0, 0.0, _LARGE, "edge of the cubes"), *_COHERENT),
            placements.point,
            motions.coherent,
        ),
        Kind(
            "planet",
            "equal cubes and a few boxes around nearly everything",
            (
                _PARTNERS,
                Option("planets", 1, 0, math.inf, "boxes around nearly everything"),
                *_COHERENT,
            ),
            placements.planet,
            motions.coherent,
        ),
        Kind(
            "brownian",
            "equal cubes on random walks",
            (_PARTNERS, _SPEED),
            placements.uniform,
            motions.brownian,
        ),
        Kind(
            "explosion",
            "a pile that flies apart, every object across the others",
            (
                _partners(10.0),
                Option("speed", 0.01, 0.0, _LARGE, "displacement a frame, in worlds"),
            ),
            placements.pile,
            motions.explosion,
        ),
        Kind(
            "teleport",
            "equal cubes that jump anywhere in every frame",
            (_PARTNERS, _MOVING),
            placements.uniform,
            motions.teleport,
        ),
        Kind(
            "sleepers",
            "equal cubes, some static, most asleep, waking by turns",
            (
                _PARTNERS,
                Option("static", 0.3, 0.0, 1.0, "share of the objects that are static"),
                Option("awake", 0.1, 0.0, 1.0, "share of the others that are awake at a time"),
                _SPEED,
            ),
            placements.uniform,
            motions.sleepers,
        ),
        Kind(
            "churn",
            "equal cubes that come and go, half of them there at a time",
            (
                _PARTNERS,
                Option("lifetime", 20, 1, _LARGE, "frames that an object lives, and is gone"),
                _SPEED,
            ),
            placements.uniform,
            motions.churn,
        ),
    )
}


def kinds() -> tuple[Kind, ...]:
    """Return the kinds of generated scenes, in the order in which lists show them.

    Examples
    --------
    >>> from spatialindex.scenes.generators import kinds
    >>> [kind.name for kind in kinds()][:3]
    ['uniform', 'clustered', 'sizes']
    """
    return tuple(_KINDS.values())


def generate(
    kind: str,
    n: int = 1000,
    ndim: int = 2,
    frames: int = 1,
    seed: int = 0,
    **options: float,
) -> Recording:
    """Make a recording from a seed.

    The same arguments give the same recording, and more frames one that begins with the fewer. The
    world is about 1000 wide, apart from ``stack``, whose cubes have edge 1.

    Parameters
    ----------
    kind : str
        What to make: ``uniform``, ``clustered``, ``sizes``, ``thin``, ``stack``, ``point``,
        ``planet``, ``brownian``, ``explosion``, ``teleport``, ``sleepers`` or ``churn``; `kinds`
        tells of each.
    n : int, default 1000
        Objects, 0 or more.
    ndim : {2, 3}, default 2
        Number of dimensions.
    frames : int, default 1
        Frames, 1 or more. Kinds that do not say how they move drift: a share ``moving`` of the
        objects (default 1.0), chosen by the seed, each with a velocity of its own that turns back
        at the borders of the scene; the others are the same in every frame, bit for bit.
    seed : int, default 0
        Seed of ``numpy.random.default_rng``.
    **options : float
        What the kind understands beside: `kinds` lists them.

    Returns
    -------
    Recording
        Ids are 0 to n-1; `notes` holds the specification that makes it again.

    Raises
    ------
    InvalidArgumentError
        For an unknown kind or option, with the nearest known one, for a number that cannot be,
        and for more boxes than the machine has memory for.

    Examples
    --------
    >>> import spatialindex as si
    >>> rec = si.generate("brownian", n=100, ndim=3, frames=5, seed=7, speed=0.5)
    >>> rec.boxes.shape
    (5, 100, 6)
    >>> rec.notes
    'brownian:n=100,ndim=3,frames=5,seed=7,speed=0.5'
    """
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise InvalidArgumentError(f"unknown kind of scene {kind!r}; {_nearest(kind, _KINDS)}")
    common = {
        name: int(_COMMON[name].check(kind, value))
        for name, value in {"n": n, "ndim": ndim, "frames": frames, "seed": seed}.items()
    }
    known = {option.name: option for option in found.options}
    for name in options:
        if name not in known:
            raise InvalidArgumentError(
                f"{kind} has no option {name!r}; {_nearest(name, [*_COMMON, *known])}"
            )
    given = {name: known[name].check(kind, value) for name, value in options.items()}
    size = 8 * 2 * common["ndim"] * common["n"] * common["frames"]
    if size > _memory():
        raise InvalidArgumentError(
            f"{kind}: n={n} objects in frames={frames} are {size / 2**30:,.0f} GiB of boxes, more "
            "than this machine's memory; ask for fewer"
        )
    chosen = {name: option.default for name, option in known.items()} | given
    rng = np.random.default_rng(common["seed"])
    start = found.place(rng, common["n"], common["ndim"], chosen)
    fields = found.move(rng, start, common["frames"], chosen)
    words = ",".join(f"{name}={value!r}" for name, value in (common | given).items())
    return Recording(
        **fields,
        dt=1 / 60,
        name=kind,
        source="spatialindex generator",
        licence="none needed: made from random numbers",
        notes=f"{kind}:{words}",
    )


def parse_specification(text: str) -> Recording:
    """Make the recording that a specification such as ``uniform:n=10000,ndim=3,seed=2`` names.

    Parameters
    ----------
    text : str
        A kind, and after a colon its options with commas between them, in any order.

    Raises
    ------
    InvalidArgumentError
        For what `generate` refuses, and for text that is not of that form.

    Examples
    --------
    >>> from spatialindex.scenes.generators import parse_specification
    >>> parse_specification("thin:n=1e4,aspect=20")
    <Recording 'thin': 1 frame of 10000 objects, 2D>
    """
    kind = text.partition(":")[0].strip()
    if kind not in _KINDS:
        raise InvalidArgumentError(f"unknown kind of scene {kind!r}; {_nearest(kind, _KINDS)}")
    whole = {option.name: isinstance(option.default, int) for option in _KINDS[kind].options}
    whole |= dict.fromkeys(_COMMON, True)
    options: dict[str, float] = {}
    _, words = specified(text, form="option=number", sample=f"{kind}:n=10000,seed=2")
    for name, word in words.items():
        if name not in whole:
            raise InvalidArgumentError(f"{kind} has no option {name!r}; {_nearest(name, whole)}")
        options[name] = _parsed(kind, name, word, whole[name])
    return generate(kind, **options)  # type: ignore[arg-type]  # whole where they have to be


def open_scene(scene: str | os.PathLike[str]) -> Recording:
    """Return the recording that a path or a specification names.

    Parameters
    ----------
    scene : str or path
        The path of a ``.npz`` or ``.aabbs`` file, or what `parse_specification` takes. A file with
        such a suffix goes first.

    Raises
    ------
    RecordingError
        When it is a path, and `Recording.load` refuses it.
    InvalidArgumentError
        When it is a specification that cannot be, or neither.

    Examples
    --------
    >>> from spatialindex.scenes.generators import open_scene
    >>> open_scene("stack:n=27,ndim=3")
    <Recording 'stack': 1 frame of 27 objects, 3D>
    """
    text = os.fspath(scene)
    path = Path(text)
    if path.suffix.lower() in SUFFIXES:
        return Recording.load(path)
    kind, colon, _ = text.partition(":")
    if kind.strip() in _KINDS:
        return parse_specification(text)
    if text and os.path.exists(text):
        return Recording.load(path)  # which says what is wrong with it
    if colon and not os.path.dirname(text):
        return parse_specification(text)  # likewise
    raise InvalidArgumentError(
        f"{text!r} is neither a file nor a kind of scene; {_nearest(kind, _KINDS)}"
    )


def _memory() -> float:
    """Return the machine's memory in bytes, infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _number(value: object, whole: bool) -> float | None:
    """Return a number, whole ones as int; None when the value is none or is NaN."""
    if isinstance(value, bool | np.bool_):
        return None
    if whole:
        try:
            return operator.index(value)  # type: ignore[arg-type]  # that it fails is the point
        except TypeError:
            return None
    if not isinstance(value, int | float | np.integer | np.floating):
        return None
    return None if math.isnan(value) else float(value)


def _parsed(kind: str, name: str, word: str, whole: bool) -> float:
    """Return the number that a word of a specification says; 1e6 is a whole number."""
    try:
        return int(word)
    except ValueError:
        pass
    try:
        number = float(word)
    except ValueError:
        raise InvalidArgumentError(f"{kind}: {name}={word!r} is not a number") from None
    if whole and number.is_integer():
        return int(number)
    return number


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return a suggestion and the list of what is known, for the end of a message."""
    known = list(known)
    return f"{did_you_mean(name, known, cutoff=0.5)}known: {', '.join(known)}"
