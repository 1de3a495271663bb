"""The machine and the package versions of a measurement."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from appell.compile.native.machine import without_avx512

PACKAGES = ("appell", "numpy", "llvmlite", "pin")


def machine() -> dict[str, object]:
    """Return processor, cores and system, but nothing that identifies the computer."""
    import llvmlite.binding as llvm

    return {
        "cpu": _processor(),
        "kind": llvm.get_host_cpu_name() + (", AVX2 instructions" if without_avx512() else ""),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages involved."""
    result = {}
    for package in PACKAGES:
        try:
            result[package] = version(package)
        except PackageNotFoundError:
            result[package] = _appell_version() if package == "appell" else "not installed"
    return result


def _appell_version() -> str:
    import appell

    return appell.__version__


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
