"""Run tests with an aarch64 Python under qemu-user, on Linux x86-64 with apt.

    python .ci/arm.py                                     bits of the zoo, then all parts
    python .ci/arm.py --bits                              bits of the zoo
    python .ci/arm.py tests/compile/llvm tests/laws       the tests named, one part per argument

Needed are apt-get, dpkg-deb, Debian's archive keyring and qemu-aarch64; root is not needed. The folder `.arm` receives
Debian's Python for arm64 with its libraries (unpacked, not installed) and the aarch64 wheels of the tests. Its
`usr/bin/python` starts the emulator, so that processes which tests start by `sys.executable` are emulated too.

A part is one pytest process with a limit of time. Each prints its summary; the end lists passed, failed and skipped
tests of all parts, with one line per reason. The bits are those of `lab/tools/bits.py`, computed by this interpreter
and compared by the emulated one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from floors import FLOOR, requirements

CLONE = Path(__file__).resolve().parents[1]
FOLDER = CLONE / ".arm"
ROOT = FOLDER / "root"
SUITE, VERSION = "bookworm", "3.11"  # of Debian, and of its Python
LIBRARIES = ("libstdc++6", "libgomp1")  # which wheels expect of the system
GLIBC = 36  # wheels for glibc 2.17 up to 2.36, the one of the suite
PROCESSOR = "neoverse-n1"
WITHOUT_WHEEL = ("ur-rtde",)
PARTS = (
    "tests/algebra tests/model tests/compile/native tests/compile/llvm",
    "tests/compile/tape tests/compile/ode tests/compile/cache",
    "tests/formulate tests/dynamics",
    "tests/laws",
)
TEST_TIMEOUT_S = 1800


def run(*command: str | Path) -> None:
    subprocess.run([*map(str, command)], check=True)


def mirror() -> str:
    """Return the first archive of the suite among the sources of this machine."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", f"Codename: {SUITE}"]
    sites = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if not sites:
        sys.exit(f"apt has no source for Debian {SUITE}; run apt-get update, or add one.")
    return sites[0]


def unpack_debian() -> None:
    """Download Debian's Python and the packages it depends on with an apt of its own, and unpack them."""
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    apt = FOLDER / "apt"
    for path in ("etc/preferences.d", "state/lists/partial", "cache/archives/partial"):
        (apt / path).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "etc/sources.list").write_text(f"deb [signed-by={keyring}] {mirror()} {SUITE} main\n")
    settings = {
        "Dir::Etc": apt / "etc",
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    options = [text for name, value in settings.items() for text in ("-o", f"{name}={value}")]
    run("apt-get", *options, "-qq", "update")
    run("apt-get", *options, "-qq", "-y", "--download-only", "install", f"python{VERSION}", *LIBRARIES)
    for package in (apt / "cache/archives").glob("*.deb"):
        run("dpkg-deb", "-x", package, ROOT)


def install_wheels() -> None:
    """Install the packages of the tests for aarch64."""
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [each for each in requirements(project, "test") if FLOOR.fullmatch(each)["name"] not in WITHOUT_WHEEL]
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in range(GLIBC, 16, -1)]
    target = ROOT / f"usr/local/lib/python{VERSION}/dist-packages"
    # Its resolver also warns about packages of this interpreter, which are not those of the target.
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qqq", "install", "--no-compile"]
    run(*pip, "--only-binary=:all:", f"--python-version={VERSION}", *platforms, "--target", target, *wanted)


def emulated_python() -> Path:
    """Return the aarch64 Python, which is set up again if this script or pyproject.toml changed."""
    python, stamp = ROOT / "usr/bin/python", FOLDER / "complete"
    state = "".join(path.read_text(encoding="utf-8") for path in (Path(__file__), CLONE / "pyproject.toml"))
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != state:
        shutil.rmtree(FOLDER, ignore_errors=True)
        unpack_debian()
        install_wheels()
        emulator = f"qemu-aarch64 -cpu {PROCESSOR} -L '{ROOT}' -0 '{python}' '{python}{VERSION}'"
        python.write_text(f'#!/bin/sh\nexec {emulator} "$@"\n')
        python.chmod(0o755)
        stamp.write_text(state, encoding="utf-8")
    return python


def compare_bits(python: Path, environment: dict[str, str], robots: list[str]) -> bool:
    """Return whether the emulated Python computes the bits of this one; both print what they compared."""
    tool, reference = CLONE / "lab/tools/bits.py", FOLDER / "bits.json"
    with reference.open("w", encoding="utf-8") as stream:
        subprocess.run([sys.executable, tool, *robots], env=environment, stdout=stream, check=True)
    command = [python, tool, *robots, "--against", reference]
    return subprocess.run(command, env=environment, check=False).returncode == 0


class Totals:
    """Numbers of tests of all parts, and the reasons of those that did not pass."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.skipped: Counter[str] = Counter()

    def add(self, report: Path) -> None:
        """Count the tests of a report of pytest."""
        for case in ElementTree.parse(report).iter("testcase"):
            outcomes = {child.tag: child.get("message", "") for child in case}
            if "failure" in outcomes or "error" in outcomes:
                self.failed.append(f"{case.get('classname')}::{case.get('name')}")
            elif "skipped" in outcomes:
                self.skipped[outcomes["skipped"]] += 1
            else:
                self.passed += 1

    def lines(self) -> list[str]:
        count = sum(self.skipped.values())
        return [
            f"aarch64: {self.passed} passed, {len(self.failed)} failed, {count} skipped",
            *(f"failed: {name}" for name in self.failed),
            *(f"skipped {number}: {reason}" for reason, number in self.skipped.most_common()),
        ]


def test_part(
    python: Path, environment: dict[str, str], part: str, options: argparse.Namespace, totals: Totals
) -> None:
    """Run the tests of one part, and count them."""
    report = FOLDER / "report.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "--color=no", "--tb=short", "-o", f"timeout={TEST_TIMEOUT_S}"]
    command += ["-p", "no:cacheprovider", f"--junit-xml={report}", *part.split()]
    command += ["-n", options.jobs, "--dist", "worksteal"] if options.jobs != "0" else []
    command += ["-m", options.select] if options.select else []
    try:
        code = subprocess.run(command, cwd=CLONE, env=environment, timeout=60 * options.minutes, check=False).returncode
    except subprocess.TimeoutExpired:
        totals.failed.append(f"{part}: not finished after {options.minutes:g} minutes")
        return
    if report.exists():
        totals.add(report)
    if not report.exists() or code > 1:
        totals.failed.append(f"{part}: pytest ended with exit code {code}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tests", nargs="*", help="files or folders of tests, one part per argument")
    parser.add_argument(
        "--bits", nargs="*", metavar="ROBOT", help="compare bits of these robots; without names, of all"
    )
    parser.add_argument("--minutes", type=float, default=60, help="limit of a part")
    parser.add_argument("--jobs", default="2", help="processes of pytest")
    parser.add_argument("--select", help="expression of pytest's option -m")
    options = parser.parse_args()
    missing = [name for name in ("apt-get", "dpkg-deb", "qemu-aarch64") if shutil.which(name) is None]
    if missing:
        sys.exit(f"{', '.join(missing)} not found; install the Debian packages apt, dpkg and qemu-user.")
    python = emulated_python()
    environment = {name: value for name, value in os.environ.items() if name != "APPELL_PROGRAMS"}
    environment |= {"PYTHONPATH": f"{CLONE / 'src'}{os.pathsep}{CLONE / 'lab'}", "APPELL_CACHE": str(FOLDER / "cache")}
    everything = not options.tests and options.bits is None
    equal = compare_bits(python, environment, options.bits or []) if everything or options.bits is not None else True
    totals = Totals()
    for part in options.tests or (PARTS if everything else ()):
        test_part(python, environment, part, options, totals)
    if totals.passed or totals.failed or totals.skipped:
        sys.stdout.write("\n".join([*totals.lines(), ""]))
    return 0 if equal and not totals.failed else 1


if __name__ == "__main__":
    sys.exit(main())
