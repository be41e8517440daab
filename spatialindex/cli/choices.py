"""From words on the command line to structures with parameters."""

from __future__ import annotations

from typing import Any

from spatialindex import registry
from spatialindex.errors import InvalidArgumentError

__all__ = ["parsed_value", "structure_names", "with_parameters"]


def structure_names(text: str | None, ndim: int | None = None) -> list[str]:
    """Return the names in ``a,b``, each of which is known; all that index `ndim` when None."""
    if text is None:
        return [
            entry.name for entry in registry.structures() if ndim is None or ndim in entry.ndims
        ]
    names = [word.strip() for word in text.split(",") if word.strip()]
    if not names:
        raise InvalidArgumentError(f"--structures {text!r} names none; leave it out to take all")
    return [registry.find(name).name for name in names]


def with_parameters(
    text: str | None, parameters: tuple[str, ...], ndim: int
) -> list[tuple[str, dict[str, Any]]]:
    """Return the chosen structures with their parameters, from words such as ``a.key=2``."""
    names = structure_names(text, ndim)
    chosen: dict[str, dict[str, Any]] = {name: {} for name in names}
    for word in parameters:
        target, equals, value = word.partition("=")
        name, dot, key = target.strip().partition(".")
        if not (equals and dot and name and key and value.strip()):
            raise InvalidArgumentError(
                f"--param {word!r} is not name.key=value, as in hash-grid.cell_size=2"
            )
        registry.find(name)
        if name not in chosen:
            raise InvalidArgumentError(f"--param {word!r}: {name} is not among {', '.join(names)}")
        if key in chosen[name]:
            raise InvalidArgumentError(f"--param {word!r}: {name}.{key} is given twice")
        chosen[name][key] = parsed_value(value.strip())
    return [(name, chosen[name]) for name in names]


def parsed_value(word: str) -> Any:
    """Return what a word says: a number, true, false, none, or itself.

    >>> parsed_value("2"), parsed_value("0.5"), parsed_value("none"), parsed_value("refuse")
    (2, 0.5, None, 'refuse')
    """
    known = {"none": None, "true": True, "false": False}
    if word.lower() in known:
        return known[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
