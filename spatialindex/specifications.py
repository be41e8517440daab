"""What a person types for a thing and its options: ``name:key=value,key=value``.

A structure with parameters and a generated scene are written alike. Here the text is taken apart;
which names and keys there are, and which values can be, is for those to say who know them::

    "bvh:leaf_size=4"  ->  "bvh", {"leaf_size": "4"}
"""

from __future__ import annotations

from typing import Any

from spatialindex.errors import InvalidArgumentError

__all__ = ["key_and_value", "specified", "value_of"]


def specified(text: str, *, where: str = "", form: str, sample: str) -> tuple[str, dict[str, str]]:
    """Take ``name:key=value,key=value`` apart.

    Parameters
    ----------
    text : str
        A name, and after a colon its options, if there are any.
    where : str
        What a message begins with, such as the option of the command line.
    form : str
        What an option looks like, for a message: ``"key=value"``.
    sample : str
        The same for all of it: ``"hash-grid:cell_size=2"``.

    Raises
    ------
    InvalidArgumentError
        For an option that is not of that form, and one that is there twice.

    Examples
    --------
    >>> specified("bvh: leaf_size = 4", form="key=value", sample="bvh:leaf_size=4")
    ('bvh', {'leaf_size': '4'})
    """
    name, _, rest = text.partition(":")
    options: dict[str, str] = {}
    for part in rest.split(",") if rest.strip() else []:
        key, value = key_and_value(part)
        if not key:
            raise InvalidArgumentError(
                f"{where}{text!r}: {part.strip()!r} is not {form}, as in {sample}"
            )
        if key in options:
            raise InvalidArgumentError(f"{where}{text!r}: {key} is given twice")
        options[key] = value
    return name.strip(), options


def key_and_value(text: str) -> tuple[str, str]:
    """Take ``key=value`` apart; both are empty where it is not that.

    >>> key_and_value(" edge = 0.5 "), key_and_value("edge"), key_and_value("edge=")
    (('edge', '0.5'), ('', ''), ('', ''))
    """
    key, _, value = (piece.strip() for piece in text.partition("="))
    return (key, value) if key and value else ("", "")


def value_of(word: str) -> Any:
    """Return what a word says: a number, true, false, none, or itself.

    >>> value_of("2"), value_of("0.5"), value_of("none"), value_of("refuse")
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
