"""Programs of the operating system that some tests need.

A test requests each of them from the fixture `program` (`gcc = program("gcc")`). Where a program is missing, the test
is skipped with its name and its Debian package; with APPELL_PROGRAMS=required in the environment, as in CI, it fails
instead. `summary` condenses all skipped tests of a run to one line per reason.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable

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


def find_program(name: str) -> str:
    """Return the path of a program; without it, skip the running test, or fail it if programs are required."""
    path = shutil.which(name)
    if path is None:
        reason = f"{name} is not installed (apt-get install {PACKAGES[name]})"
        (pytest.fail if os.environ.get("APPELL_PROGRAMS") == "required" else pytest.skip)(reason)
    return path


def summary(reasons: Iterable[str]) -> list[str]:
    """Return one line per reason for skipped tests, with their number, most frequent reason first."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    return [f"skipped {count} test{'s' * (count > 1)}: {reason}" for reason, count in counts.most_common()]
