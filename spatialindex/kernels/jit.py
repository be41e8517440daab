"""The compiler's options, in one place: `kernel` is the decorator of every compiled function.

Machine code is cached on disk, so that a kernel compiles once a machine. Numba's own cache notices
a change in a function's file but not in a function that it calls from another file, and would go on
with stale machine code. The cache therefore lives in a folder named by a hash of all sources that
can hold a kernel: ``<cache>/spatialindex/kernels-3f2a…``. Where no folder can be written, kernels
compile anew in each process.

``NUMBA_CACHE_DIR`` moves the folder, ``NUMBA_BOUNDSCHECK=1`` and ``NUMBA_DISABLE_JIT=1`` work as in
any numba program: bounds-checked code is cached apart, and `PLAIN` then selects plain Python for
what `spatialindex.kernels.simd` writes as vector instructions.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numba
from numba import config, types
from numba.core.registry import CPUDispatcher

__all__ = ["PLAIN", "allocating_kernel", "cache_directory", "inner_kernel", "kernel"]

PLAIN = bool(config.DISABLE_JIT or config.BOUNDSCHECK)
"""True when vector instructions are replaced by plain loops, whose bounds are checked."""

_PACKAGE = Path(__file__).resolve().parent.parent
_OURS = re.compile("kernels-[0-9a-f]{20}")
_KEPT_CACHES = 4  # older versions' folders beyond these are removed when a new one is made,
_UNUSED = 14 * 24 * 3600.0  # unless they were used in so many seconds: somebody may be at it


def _sources_key() -> str:
    """Hash every source that can hold a kernel, and what else changes the machine code."""
    digest = hashlib.blake2b(digest_size=10)
    files = [_PACKAGE / "constants.py"]
    for folder in ("kernels", "indexes"):
        files += sorted((_PACKAGE / folder).rglob("*.py"))
    for file in files:
        digest.update(file.relative_to(_PACKAGE).as_posix().encode())
        digest.update(file.read_bytes())
    digest.update(f"{numba.__version__} {sys.version_info[:3]} {config.BOUNDSCHECK}".encode())
    return digest.hexdigest()


def _base_directory() -> Path:
    """Return the user's cache folder, as the platform has it."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR) / "spatialindex"
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        root = "~/Library/Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "spatialindex"


def _prune(base: Path) -> None:
    """Remove the folders of older versions, all but the newest few and those in use lately."""
    caches = [path for path in base.iterdir() if _OURS.fullmatch(path.name)]
    caches.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in caches[_KEPT_CACHES:]:
        if time.time() - old.stat().st_mtime > _UNUSED:
            shutil.rmtree(old, ignore_errors=True)


def cache_directory() -> Path | None:
    """Return the folder for machine code, made when needed; None when none can be written."""
    try:
        base = _base_directory()
        path = base / f"kernels-{_sources_key()}"
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, RuntimeError):  # RuntimeError: no home folder to expand
        return None
    with suppress(OSError):  # another process may be pruning too
        os.utime(path)
        if is_new:
            _prune(base)
    return path


_CACHE = None if config.DISABLE_JIT else cache_directory()


def kernel(function):
    """Compile a function over plain arrays when it is first called; it runs without the lock.

    The function must not allocate: code that cannot own memory has no reference counts to keep,
    which makes it several times faster where it passes arrays around (entering 100,000 boxes into a
    grid: 45 against 12 ms) and quicker to compile. `simd.local_floats` is there for scratch. It
    becomes part of the kernels that call it: bundles of arrays are not handed on by value then
    (10,000 moves in a grid: 1.4 against 0.9 ms), and that too compiles faster.
    """
    return _compiled(function, _Kernel, _nrt=False, forceinline=True)


def inner_kernel(function):
    """Compile a function like `kernel` that only compiled code calls.

    Nothing is compiled that takes its arguments out of Python's objects, a third of what many a
    short function costs otherwise.
    """
    return _compiled(function, _InnerKernel, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def allocating_kernel(function):
    """Compile a function like `kernel` that may make arrays of its own."""
    return _compiled(function, _Kernel)


class _Kernel(CPUDispatcher):
    """A compiled function that is one and the same whatever numbers are written in its calls."""

    def get_call_template(self, args, kws):
        # Numba compiles for each literal anew, `scan(rows, 0)` beside `scan(rows, first)`. Code
        # that becomes part of its caller is fitted to what is constant there in any case.
        args = tuple(types.unliteral(arg) for arg in args)
        kws = {name: types.unliteral(arg) for name, arg in kws.items()}
        return super().get_call_template(args, kws)


class _InnerKernel(_Kernel):
    """A compiled function without a way in from Python."""

    def add_overload(self, cres):
        # not `_insert`ed: what looks for machine code on a call from Python finds none
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args, **kws):
        raise TypeError(f"{self.__name__} is only for compiled code; call it in a kernel")


def _compiled(function, kind, **options):
    before = config.CACHE_DIR
    # nothing calls a kernel from C
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    if _CACHE is None:
        compiled = numba.njit(function, **options)
    else:
        config.CACHE_DIR = str(_CACHE)
        try:
            compiled = numba.njit(function, cache=True, **options)
        finally:
            config.CACHE_DIR = before
    if not config.DISABLE_JIT:
        compiled.__class__ = kind
    return compiled
