"""Named layers and who meets whom, as data that designers edit.

An object has a `layer`, bits of what it is, and a `mask`, bits of what it wants to meet. A table
gives the bits names and derives the masks from one list of rules::

    [layers]                      # layers.toml
    bullet = ["enemy", "wall"]
    enemy  = ["bullet", "wall"]
    wall   = ["bullet", "enemy"]
    debris = []

    layers("bullet") -> 0b0001        mask("bullet") -> 0b0110   (enemy and wall)

Bits go by the order of the names, so new names belong at the end of a file whose bits are stored
somewhere, in recordings for instance.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialindex.errors import InvalidArgumentError, did_you_mean

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["LayerTable"]

_MOST = 64  # bits of a layer


class LayerTable:
    """Names for layers, and a symmetric rule of who meets whom.

    Parameters
    ----------
    rules : mapping of str to iterables of str
        For each layer the layers that it meets, itself among them where its objects meet one
        another. The order of the names gives the bits.

    Raises
    ------
    InvalidArgumentError
        For an unknown name, a rule that only one side has, or more than 64 layers.

    Examples
    --------
    >>> import spatialindex as si
    >>> table = si.LayerTable({"bullet": ["wall"], "wall": ["bullet", "wall"]})
    >>> table.layers("wall"), table.mask("bullet")
    (2, 2)
    >>> index = si.HashGrid(ndim=2)
    >>> index.insert([0, 0, 1, 1], layer=table.layers("bullet"), mask=table.mask("bullet"))
    0
    """

    def __init__(self, rules: Mapping[str, Iterable[str]]) -> None:
        self._met = _checked(rules)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LayerTable:
        """Read a table from a TOML or JSON file, told apart by the suffix.

        The file has one table or object, ``layers``, of names to lists of names.

        Raises
        ------
        InvalidArgumentError
            Naming the file and what is wrong in it.
        OSError
            When the file cannot be read.
        """
        path = Path(path)
        readers = {".toml": tomllib.loads, ".json": json.loads}
        if path.suffix.lower() not in readers:
            raise InvalidArgumentError(f"{path}: a table of layers is a .toml or a .json file")
        try:
            content: Any = readers[path.suffix.lower()](path.read_text("utf-8"))
        except ValueError as error:  # of both readers, and of what is no text
            raise InvalidArgumentError(f"{path}: {error}") from None
        if not isinstance(content, Mapping) or list(content) != ["layers"]:
            raise InvalidArgumentError(f"{path}: expected one table, 'layers', and nothing else")
        try:
            return cls(content["layers"])
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{path}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a TOML or JSON file that `load` reads.

        Raises
        ------
        InvalidArgumentError
            For another suffix.
        OSError
            When the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() == ".json":
            text = json.dumps({"layers": self._met}, indent=2, ensure_ascii=False)
        elif path.suffix.lower() == ".toml":
            # strings of JSON are strings of TOML
            lines = [f"{json.dumps(name)} = {json.dumps(met)}" for name, met in self._met.items()]
            text = "\n".join(["[layers]", *lines])
        else:
            raise InvalidArgumentError(f"{path}: a table of layers is a .toml or a .json file")
        path.write_text(text + "\n", "utf-8")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the layers, in the order of their bits."""
        return tuple(self._met)

    def __len__(self) -> int:
        return len(self._met)

    def __iter__(self) -> Iterator[str]:
        return iter(self._met)

    def __contains__(self, name: object) -> bool:
        return name in self._met

    def __repr__(self) -> str:
        return f"<LayerTable of {', '.join(self._met) or 'no layers'}>"

    def layers(self, *names: str) -> int:
        """Return the bits of layers: for ``layer=`` of objects and ``layers=`` of questions.

        Raises
        ------
        InvalidArgumentError
            For an unknown name, and for a list of names: each is an argument of its own.
        """
        places = self.names
        bits = 0
        for name in names:
            bits |= 1 << places.index(self._known(name))
        return bits

    def mask(self, *names: str) -> int:
        """Return the bits of all layers that any of these meets: for ``mask=`` of objects.

        Raises
        ------
        InvalidArgumentError
            For an unknown name, and for a list of names: each is an argument of its own.
        """
        bits = 0
        for name in names:
            bits |= self.layers(*self._met[self._known(name)])
        return bits

    def meets(self, one: str, other: str) -> bool:
        """Tell if objects of two layers meet."""
        return self._known(other) in self._met[self._known(one)]

    def allow(self, one: str, other: str) -> None:
        """Let two layers meet from now on; `apply` tells an index that has objects on them."""
        for a, b in ((self._known(one), self._known(other)), (other, one)):
            if b not in self._met[a]:
                self._met[a].append(b)

    def forbid(self, one: str, other: str) -> None:
        """Let two layers pass each other from now on; `apply` tells an index with such objects."""
        for a, b in ((self._known(one), self._known(other)), (other, one)):
            if b in self._met[a]:
                self._met[a].remove(b)

    def apply(self, index: Any) -> None:
        """Give every object of an index the mask that its layer has by the present rules.

        Objects on no layer get mask 0.

        Raises
        ------
        InvalidArgumentError
            When an object is on a bit without a name, or what is given is no index. Nothing has
            been changed.

        Notes
        -----
        Cost: one pass over the states, and `set_state` for the objects whose mask changes.
        """
        if isinstance(index, type) or not hasattr(index, "set_state"):
            raise InvalidArgumentError(
                f"apply was given {index!r}: pass the index whose objects get their masks"
            )
        ids: NDArray[np.int64] = index.ids
        state = index.state()
        found, of = np.unique(state["layer"], return_inverse=True)
        strangers = found >> np.uint64(len(self)) if len(self) < _MOST else np.zeros_like(found)
        if strangers.any():
            layer = found[np.flatnonzero(strangers)[0]]
            id_ = ids[np.flatnonzero(state["layer"] == layer)[0]]
            raise InvalidArgumentError(
                f"object {id_} is on layer {int(layer):#b}: bits from {len(self)} on have no name "
                f"in this table of {len(self)}; add names for them, or put it on a named layer"
            )
        names = self.names
        masks = np.zeros(len(found), np.uint64)
        for i, layer in enumerate(found.tolist()):
            masks[i] = self.mask(*(name for bit, name in enumerate(names) if layer >> bit & 1))
        wanted = masks[of]
        changed = wanted != state["mask"]
        if changed.any():
            index.set_state(ids[changed], mask=wanted[changed])

    def _known(self, name: str) -> str:
        """Return a name that is in the table, or refuse it and suggest the nearest."""
        if not isinstance(name, str):
            raise InvalidArgumentError(
                f"layer {name!r} is no text: pass names as arguments of their own, as in "
                "layers('bullet', 'debris') or layers(*names)"
            )
        if name not in self._met:
            hint = did_you_mean(name, self._met)
            raise InvalidArgumentError(
                f"layer {name!r} is unknown; {hint}known: {', '.join(self._met)}"
            )
        return name


def _checked(rules: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Check rules and copy them."""
    if not isinstance(rules, Mapping):
        raise InvalidArgumentError(
            f"layers is {type(rules).__name__}: pass names with the names that they meet"
        )
    if len(rules) > _MOST:
        raise InvalidArgumentError(
            f"{len(rules)} layers: an object has {_MOST} bits; join layers that have the same rules"
        )
    met: dict[str, list[str]] = {}
    for name, others in rules.items():
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"layer {name!r}: a name is a text of one letter or more")
        if isinstance(others, str) or not all(isinstance(other, str) for other in others):
            raise InvalidArgumentError(f"layer {name!r} meets {others!r}: pass a list of names")
        met[name] = list(dict.fromkeys(others))
    for name, others in met.items():
        for other in others:
            if other not in met:
                hint = did_you_mean(other, met)
                raise InvalidArgumentError(
                    f"layer {name!r} meets {other!r}, which is no layer; "
                    f"{hint}known: {', '.join(met)}"
                )
            if name not in met[other]:
                raise InvalidArgumentError(
                    f"layer {name!r} meets {other!r}, but {other!r} does not meet {name!r}; "
                    "pairs pass when both want it: name it on both sides or on none"
                )
    return met
