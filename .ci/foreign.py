"""Run tests and `lab/tools/bits.py` with the Python of another system; shared by windows.py and arm.py.

Tests run folder by folder, each in one process with a time limit. A folder whose process ends early or reaches the
limit is repeated by its subfolders and files, so that one crash hides no other results. The end lists the numbers of
tests that passed, failed and were skipped, the failures, and one line per reason of the skipped tests.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import floors

CLONE = Path(__file__).resolve().parents[1]
BITS = CLONE / "lab" / "tools" / "bits.py"
EXPECTED_EXIT_CODES = (0, 1, 5)  # of pytest: passed, failed, no tests
SUBSET = ("pytest", "pytest-timeout", "hypothesis", "mpmath")
OUTPUT_TIMEOUT_S = 20  # after the end of a process; processes that it left can hold its pipe open


class InstallationError(Exception):
    """A part of the other system cannot be installed on this machine; the message says which and why."""


def run(*command: str | Path, **options) -> None:
    """Run a command that installs something; raise InstallationError if it fails."""
    try:
        subprocess.run([str(part) for part in command], check=True, **options)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        raise InstallationError(str(error)) from None


def requirements(extras: Sequence[str], omitted: Sequence[str], subset: bool) -> list[str]:
    """Return the dependencies of the project and of extras, without the distributions that have no wheel.

    With `subset`, of those in the extras only the packages of `SUBSET`, which the tests of kernels need.
    """
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = dict.fromkeys(each for extra in extras for each in floors.requirements(project, extra))
    kept = {each: re.split(r"[<>=!]", each)[0] for each in names}
    core = project["dependencies"]
    return [
        each for each, name in kept.items() if name not in omitted and (not subset or each in core or name in SUBSET)
    ]


def is_installed(stamp: Path, wanted: Sequence[str]) -> bool:
    """Return whether the file that ends an installation lists everything that is wanted."""
    return stamp.exists() and set(wanted) <= set(stamp.read_text(encoding="utf-8").splitlines())


@dataclass
class Totals:
    """Numbers of tests, and the reasons of those that did not pass."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, report: Path) -> None:
        """Count the tests of a report of pytest."""
        for case in ElementTree.parse(report).iter("testcase"):
            outcomes = {child.tag: child.get("message", "") for child in case}
            if "failure" in outcomes or "error" in outcomes:
                self.failed.append(f"{case.get('classname')}::{case.get('name')}")
            elif "skipped" in outcomes:
                self.skipped[outcomes["skipped"].removeprefix("Skipped: ")] += 1
            else:
                self.passed += 1

    def lines(self) -> list[str]:
        return [
            *(f"failed: {name}" for name in self.failed),
            *(f"skipped {number}: {reason}" for reason, number in self.skipped.most_common()),
            f"{self.passed} passed, {len(self.failed)} failed, {self.skipped.total()} skipped",
        ]


@dataclass(frozen=True)
class Interpreter:
    """A Python of another system.

    Attributes
    ----------
    command : tuple of str
        Command that starts it.
    environment : dict
        Environment variables.
    folder : Path
        Folder for reports.
    path : callable
        Function that returns the path under which it sees a file.
    test_timeout_s : float
        Time limit of one test.
    clean_up : tuple of str
        Command that ends the processes that an interrupted run left.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    path: Callable[[Path], str] = str
    test_timeout_s: float = 900
    clean_up: tuple[str, ...] = ()

    def run(self, *arguments: str, seconds: float | None = None) -> int | None:
        """Run it with its output on a pipe; return its exit code, or None after the time limit."""
        command = [*self.command, *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, cwd=CLONE, env=self.environment, start_new_session=True, **pipes) as process:
            output = subprocess.Popen(["cat"], stdin=process.stdout)
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    if self.clean_up:
                        subprocess.run(self.clean_up, env=self.environment, check=False)
                try:
                    output.wait(OUTPUT_TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    output.kill()
                    output.wait()

    def test(self, part: str, options: Sequence[str], seconds: float, totals: Totals) -> None:
        """Run the tests of a file or folder and count them."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        sys.stdout.write(f"{part}\n")
        sys.stdout.flush()
        plain = ("-q", "--color=no", "--tb=short", "-p", "no:cacheprovider", "--continue-on-collection-errors")
        limit = ("-o", f"timeout={self.test_timeout_s:g}", f"--junitxml={self.path(report)}")
        code = self.run("-m", "pytest", *plain, *limit, *options, part, seconds=seconds)
        if code in EXPECTED_EXIT_CODES and report.exists():
            totals.add(report)
        elif (CLONE / part).is_dir():
            for inner in parts_of(CLONE / part):
                self.test(inner, options, seconds, totals)
        else:
            end = f"reached the limit of {seconds:g} s" if code is None else f"ended with exit code {code}"
            totals.failed.append(f"{part}: the process {end}")

    def has_equal_bits(self, robots: Sequence[str]) -> bool:
        """Return whether it computes the bits that this interpreter computes; print what was compared."""
        reference = self.folder / "bits.json"
        with reference.open("w", encoding="utf-8") as stream:
            subprocess.run([sys.executable, BITS, *robots], cwd=CLONE, stdout=stream, check=True)
        return self.run(self.path(BITS), *robots, "--against", self.path(reference)) == 0


def parts_of(folder: Path) -> list[str]:
    """Return the test files of a folder and its subfolders that contain some."""
    inner = [path for path in folder.iterdir() if path.is_dir() and any(path.rglob("test_*.py"))]
    return [str(path.relative_to(CLONE)) for path in sorted([*folder.glob("test_*.py"), *inner])]


def main(description: str, install: Callable[[bool], Interpreter], folders: Sequence[str]) -> int:
    """Evaluate the command line: bits, tests or a script; without arguments the bits of the zoo and all folders."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("tests", nargs="*", help="files and folders of tests; one process for each")
    parser.add_argument("--bits", nargs="*", metavar="ROBOT", help="compare bits of these robots, or of all")
    parser.add_argument("--minutes", type=float, default=60, help="time limit of a process")
    parser.add_argument("--options", default="", help="options of pytest")
    parser.add_argument("--optional", action="store_true", help="succeed if the other system cannot be installed")
    parser.add_argument("--subset", action="store_true", help="install only what the tests of kernels need")
    parser.add_argument("--run", nargs=argparse.REMAINDER, help="script and its arguments, to be run instead of tests")
    options = parser.parse_args()
    try:
        python = install(options.subset)
    except InstallationError as error:
        sys.stdout.write(f"not run, because the set-up failed: {error}\n")
        return 0 if options.optional else 1
    if options.run:
        return python.run(*options.run) or 0
    everything = not options.tests and options.bits is None
    equal = python.has_equal_bits(options.bits or []) if everything or options.bits is not None else True
    if not (parts := folders if everything else options.tests):
        return 0 if equal else 1
    totals = Totals()
    for part in parts:
        python.test(part, options.options.split(), 60 * options.minutes, totals)
    sys.stdout.write("\n".join([*totals.lines(), ""]))
    return 0 if equal and totals.passed and not totals.failed else 1
