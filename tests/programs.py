"""Programs of the operating system and Python packages that some tests need.

A test requests each program from the fixture `program` (`gcc = program("gcc")`). Where a program is missing, the test
is skipped with its name and its Debian package; with APPELL_PROGRAMS=required in the environment, as in CI, it fails
instead. The same holds where a compiler produces code for another processor than the one of this Python, which can be
emulated. `summary` condenses all skipped tests of a run to one line per reason.

Packages that judge results or provide robots, and have no wheel for some systems, are in `JUDGES`. Tests import them as
usual. Where one is not installed, every test, fixture and test module that ends with its ModuleNotFoundError is skipped
with the name of the package (`conftest.py`); with APPELL_PROGRAMS=required it fails.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec

import pytest

PACKAGES = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "chromedriver": "chromium-driver",
    "chromium": "chromium",
    "clang": "clang",
    "ffmpeg": "ffmpeg",
    "ffprobe": "ffmpeg",
    "g++": "g++",
    "gcc": "gcc",
    "nm": "binutils",
    "node": "nodejs",
    "qemu-aarch64": "qemu-user",
    "qemu-system-arm": "qemu-system-arm",
    "tsc": "node-typescript",
}
COMPILERS = ("gcc", "g++", "clang")  # whose results tests load into this process
PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}  # other names of processors
UNDER_WINE = sys.platform == "win32" and hasattr(ctypes.windll.ntdll, "wine_get_version")
NEEDS_CTRL_C = pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to all processes of a console")

JUDGES = {  # modules, and the distributions that contain them
    "coal": "coal",
    "eigenpy": "eigenpy",
    "example_robot_data": "example-robot-data",
    "jax": "jax",
    "pinocchio": "pin",
    "rtde_control": "ur-rtde",
    "rtde_receive": "ur-rtde",
    "torch": "torch",
}


def required() -> bool:
    """Return whether tests must fail instead of being skipped if something is missing."""
    return os.environ.get("APPELL_PROGRAMS") == "required"


def missing_judge(problem: BaseException | None) -> str | None:
    """Return why a test is skipped that ended with this exception, or None if no judge is missing."""
    while problem is not None and not required():
        module = (getattr(problem, "name", None) or "").partition(".")[0]
        if isinstance(problem, ModuleNotFoundError) and module in JUDGES and find_spec(module) is None:
            return f"{module} is not installed (pip install {JUDGES[module]})"
        problem = problem.__cause__ or problem.__context__
    return None


def find_program(name: str) -> str:
    """Return the path of a program; without it, skip the running test, or fail it if programs are required."""
    path, reason = shutil.which(name), None
    if path is None:
        reason = f"{name} is not installed (apt-get install {PACKAGES[name]})"
    elif name in COMPILERS and (target := target_of(path)) != (machine := processor(platform.machine())):
        reason = f"{name} compiles for {target}, and this Python runs on {machine}"
    if reason is not None:
        (pytest.fail if required() else pytest.skip)(reason)
    return path


def processor(name: str) -> str:
    """Return one name per kind of processor."""
    return PROCESSORS.get(name.lower(), name.lower())


@functools.cache
def target_of(compiler: str) -> str:
    """Return the kind of processor for which a compiler produces code."""
    result = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True)
    return processor(result.stdout.partition("-")[0].strip())


def summary(reasons: Iterable[str]) -> list[str]:
    """Return one line per reason for skipped tests, with their number, most frequent reason first."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    return [f"skipped {count} test{'s' * (count > 1)}: {reason}" for reason, count in counts.most_common()]
