"""What a time was measured on: interpreter, libraries, processor."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import spatialindex

__all__ = ["Machine", "this_machine"]

_CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine:
    """The facts that a time depends on."""

    cpu: str
    """Model of the processor, as the system calls it."""
    cpus: int
    """Logical processors that this process may use."""
    system: str
    """Operating system and architecture."""
    python: str
    """Version of the interpreter."""
    numpy: str
    """Version of NumPy."""
    numba: str
    """Version of Numba, the compiler of the kernels."""
    spatialindex: str
    """Version of this library."""

    @property
    def words(self) -> str:
        """The same in one line."""
        return (
            f"{self.cpu} ({self.cpus} logical), {self.system}, Python {self.python}, "
            f"NumPy {self.numpy}, Numba {self.numba}, spatialindex {self.spatialindex}"
        )


def this_machine() -> Machine:
    """Look up the facts of the machine and the process; nothing heavy is imported for it."""
    return Machine(
        cpu=_model(),
        cpus=_usable_cpus(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        numpy=_version("numpy"),
        numba=_version("numba"),
        spatialindex=spatialindex.__version__,
    )


def _model() -> str:
    try:
        for line in _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return " ".join(value.split())
    except OSError:
        pass  # not Linux
    return platform.processor() or "unknown processor"


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
