"""Run tests and `lab/tools/bits.py` with the Python of another system; shared by windows.py and arm.py.

Tests run folder by folder, each in one process. A process that ends during a test, or reaches the time limit of a test,
is started again and continues with the next test (`outcomes.py`), so that a crash fails one test and hides no other
results. The end lists the numbers of tests that passed, failed and were skipped, the failures, and one line per reason
of the skipped tests.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import floors
import outcomes

CLONE = Path(__file__).resolve().parents[1]
BITS = CLONE / "lab" / "tools" / "bits.py"
SUBSET = ("pytest", "pytest-timeout", "hypothesis", "mpmath")
POLL_S = 1.0
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


def install_lab(packages: Path) -> None:
    """Install the description of appell-lab, which lists its commands; its modules are those of the clone."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile")
    run(*pip, "--no-deps", "--target", packages, CLONE / "lab")
    shutil.rmtree(packages / "appell_lab")


def is_installed(stamp: Path, wanted: Sequence[str]) -> bool:
    """Return whether the file that ends an installation lists everything that is wanted."""
    return stamp.exists() and set(wanted) <= set(stamp.read_text(encoding="utf-8").splitlines())


@dataclass
class Totals:
    """Numbers of tests, and the reasons of those that did not pass."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, lines: Sequence[tuple[str, str, str]]) -> None:
        """Count the tests of a file of outcomes; a test fails if any of its lines says so."""
        outcome_of: dict[str, tuple[str, str]] = {}
        for node, outcome, reason in lines:
            if outcome_of.get(node, ("",))[0] != "failed" and outcome != "finished":
                outcome_of[node] = outcome, reason
        for node, (outcome, reason) in outcome_of.items():
            if outcome == "failed":
                self.failed.append(f"{node}: {reason}" if reason else node)
            elif outcome == "skipped":
                self.skipped[reason] += 1
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

    def run(self, *arguments: str, progress: Path | None = None) -> int | None:
        """Run it with its output on a pipe; return its exit code, or None if the file `progress` does not grow."""
        command = [*self.command, *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, cwd=CLONE, env=self.environment, start_new_session=True, **pipes) as process:
            output = subprocess.Popen(["cat"], stdin=process.stdout)
            try:
                return process.wait() if progress is None else self.wait(process, progress)
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

    def wait(self, process: subprocess.Popen, progress: Path) -> int | None:
        """Return the exit code of a process, or None if a file does not grow within twice the time limit of a test."""
        size, last_s = -1, time.monotonic()
        while (code := process.poll()) is None and time.monotonic() < last_s + 2 * self.test_timeout_s:
            if progress.exists() and progress.stat().st_size > size:
                size, last_s = progress.stat().st_size, time.monotonic()
            time.sleep(POLL_S)
        return code

    def test(self, part: str, options: Sequence[str], totals: Totals) -> None:
        """Run the tests of a file or folder and count them."""
        file = self.folder / f"outcomes-{os.getpid()}.jsonl"
        file.unlink(missing_ok=True)
        sys.stdout.write(f"{part}\n")
        sys.stdout.flush()
        plain = ("-q", "--color=no", "--tb=short", "-p", "no:cacheprovider", "--continue-on-collection-errors")
        record = ("-p", "outcomes", f"--outcomes={self.path(file)}", "-o", f"timeout={self.test_timeout_s:g}")
        lines: list[tuple[str, str, str]] = []
        while not lines or lines[-1][1] != "finished":
            code = self.run("-m", "pytest", *plain, *record, *options, part, progress=file)
            count, lines = len(lines), outcomes.read(file)
            end = "reached the time limit" if code is None else f"ended with exit code {code}"
            if len(lines) == count:  # before or between two tests
                lines.append((part, "failed", f"the process {end}"))
                break
            if lines[-1][1] == "running":
                with file.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps([lines[-1][0], "failed", f"the process {end}"]) + "\n")
                lines = outcomes.read(file)
        totals.add(lines)
        file.unlink(missing_ok=True)

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
    parser.add_argument("--minutes", type=float, help="time limit of a test")
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
    if options.minutes:
        python = replace(python, test_timeout_s=60 * options.minutes)
    if options.run:
        return python.run(*options.run) or 0
    everything = not options.tests and options.bits is None
    equal = python.has_equal_bits(options.bits or []) if everything or options.bits is not None else True
    if not (parts := folders if everything else options.tests):
        return 0 if equal else 1
    totals = Totals()
    for part in parts:
        python.test(part, options.options.split(), totals)
    sys.stdout.write("\n".join([*totals.lines(), ""]))
    return 0 if equal and totals.passed and not totals.failed else 1
