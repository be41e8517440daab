"""Memory of this process, where the system tells."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["resident"]

_STATM = Path("/proc/self/statm")


def resident() -> int | None:
    """Return the bytes that are in memory now; None where the system does not tell.

    What is not used any more is given back to the system before, or something that is built next
    would find room in it and seem to be made of nothing.
    """
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):  # the GNU library has it
        ctypes.CDLL(None).malloc_trim(0)
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
