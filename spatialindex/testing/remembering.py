"""Answers of the oracle, remembered: a suite asks the same of one structure after another.

``ask(oracle.pairs, ids, boxes)`` is ``oracle.pairs(ids, boxes)``, which is computed once::

    ask(oracle.pairs, [7, 3], boxes)      array([[3, 7]])     computed
    ask(oracle.pairs, [7, 3], boxes)      array([[3, 7]])     the same array, found by its question

A question is known by its function and a digest of its arguments, to the last bit, so that nothing
of these is kept. Answers are read-only. What was asked for longest ago is dropped when there are
too many of them.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    _Question = tuple[Callable[..., Any], bytes]

__all__ = ["ask"]

Answer = TypeVar("Answer")

_MOST = 50_000
"""Answers: what the suite and the machine ask of three structures of one number of dimensions."""

_MOST_BYTES = 2**26
"""Bytes of them; the suite's are 20 MB."""

_LOCK = Lock()  # checks ask from several threads


class _Answers:
    """Answers by their questions, the last asked for at the end."""

    def __init__(self) -> None:
        self.known: OrderedDict[_Question, Any] = OrderedDict()
        self.nbytes = 0

    def find(self, key: _Question) -> Any:
        """Return an answer, or None."""
        with _LOCK:
            if key in self.known:
                self.known.move_to_end(key)
            return self.known.get(key)

    def keep(self, key: _Question, answer: Any) -> None:
        """Keep an answer, and drop those asked for longest ago while they are too many."""
        with _LOCK:
            if key not in self.known:  # another thread may have asked the same
                self.known[key] = answer
                self.nbytes += _size(answer)
            while self.nbytes > _MOST_BYTES or len(self.known) > _MOST:
                _, dropped = self.known.popitem(last=False)
                self.nbytes -= _size(dropped)


_ANSWERS = _Answers()


def ask(question: Callable[..., Answer], *args: Any, **options: Any) -> Answer:
    """Return what a function of the oracle answers, an array or a tuple of arrays, read-only.

    It must depend on nothing but its arguments.

    >>> from spatialindex import oracle
    >>> found = ask(oracle.pairs, [7, 3], [[0.0, 0, 2, 1], [2, 0, 3, 1]])
    >>> found
    array([[3, 7]])
    >>> ask(oracle.pairs, [7, 3], [[0.0, 0, 2, 1], [2, 0, 3, 1]]) is found
    True
    """
    asked = pickle.dumps((args, options), pickle.HIGHEST_PROTOCOL)
    # the function itself: several may have one name
    key = question, hashlib.blake2b(asked, digest_size=16).digest()
    known: Answer | None = _ANSWERS.find(key)
    if known is not None:
        return known
    answer = question(*args, **options)
    for array in _arrays(answer):
        array.flags.writeable = False
    _ANSWERS.keep(key, answer)
    return answer


def _arrays(answer: Any) -> tuple[NDArray[Any], ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def _size(answer: Any) -> int:
    return sum(array.nbytes for array in _arrays(answer))
