"""From words on the command line to structures with parameters."""

from __future__ import annotations

from typing import Any

from spatialindex import registry
from spatialindex.errors import InvalidArgumentError
from spatialindex.specifications import key_and_value, specified, value_of

__all__ = ["structure_names", "structure_of", "with_parameters"]


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
        target, value = key_and_value(word)
        name, _, key = target.partition(".")
        if not (name and key):
            raise InvalidArgumentError(
                f"--param {word!r} is not name.key=value, as in hash-grid.cell_size=2"
            )
        registry.find(name)
        if name not in chosen:
            raise InvalidArgumentError(f"--param {word!r}: {name} is not among {', '.join(names)}")
        if key in chosen[name]:
            raise InvalidArgumentError(f"--param {word!r}: {name}.{key} is given twice")
        chosen[name][key] = value_of(value)
    return [(name, chosen[name]) for name in names]


def structure_of(option: str, text: str) -> tuple[str, dict[str, Any]]:
    """Return the structure and the parameters that an option such as ``--dynamic`` names.

    >>> structure_of("--dynamic", "hash-grid:cell_size=2")
    ('hash-grid', {'cell_size': 2})
    """
    name, words = specified(
        text, where=f"{option} ", form="key=value", sample="hash-grid:cell_size=2"
    )
    return name, {key: value_of(word) for key, word in words.items()}
