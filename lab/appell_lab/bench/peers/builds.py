"""Compilers, headers, and builds with a time limit that are cached by content.

The key of a build consists of its commands and sources, so it is made once per machine; the folder is the cache folder
of the user, or APPELL_PEERS.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, files, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from appell.compile.native.machine import without_avx512
from appell_lab.bench.peers.peer import PeerUnavailableError

SOURCES = Path(__file__).parent / "sources"
PINOCCHIO_FLAGS = (  # definitions that the package of Pinocchio requires
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
TARGET = "TARGET"  # placeholder in a command for the file that it makes
STOPPED = "was stopped after"  # in the message of a build that exceeded the limit
BUILD_TIMEOUT_S = 900.0

Say = Callable[[str], object]


class BuildFolder:
    """The folder in which peers are built.

    Parameters
    ----------
    folder : cache folder of the user by default
    limit : maximum duration of one build, s
    say : called with a message about every build
    """

    def __init__(self, folder: Path | None = None, limit: float = BUILD_TIMEOUT_S, say: Say = lambda line: None):
        self.folder = folder or default_folder()
        self.limit, self.say = limit, say

    def make(self, name: str, command: Sequence[str], sources: Sequence[Path], title: str) -> Path:
        """Return the file made by a command, from the cache if possible; failures are cached as well.

        Parameters
        ----------
        name : name of the file, with its ending
        command : command and arguments; TARGET stands for the file
        sources : files on which the result depends
        title : name of the build in messages
        """
        stem, _, ending = name.partition(".")
        text = "\0".join(command).replace(str(SOURCES), "")  # independent of the location of the sources
        key = hashlib.sha256(text.encode() + _content(sources)).hexdigest()[:20]
        target = self.folder / f"{stem}-{key}.{ending}"
        failure = target.with_suffix(".failed")
        if target.exists():
            return target
        if failure.exists():
            raise PeerUnavailableError(failure.read_text(encoding="utf-8"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.say(f"building {title} (at most {self.limit:.0f} s, cached in {self.folder})")
        with TemporaryDirectory(dir=self.folder) as scratch:
            new = Path(scratch) / name
            start = monotonic()
            try:
                words = [str(new) if word == TARGET else word for word in command]
                _run(words, self.limit)
            except subprocess.TimeoutExpired:
                problem = f"{title}: {Path(command[0]).name} {STOPPED} {self.limit:.0f} s."
            except subprocess.CalledProcessError as error:
                problem = f"{title}: {Path(command[0]).name} failed: {_first_error(error.stderr)}"
            else:
                self.say(f"built {title} in {monotonic() - start:.0f} s")
                os.replace(new, target)
                return target
        failure.write_text(problem, encoding="utf-8")
        raise PeerUnavailableError(problem)

    def keep(self, name: str, text: str) -> Path:
        """Write a text to a file that is named by its content, and return the file."""
        stem, _, ending = name.partition(".")
        path = self.folder / f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.{ending}"
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def _run(words: Sequence[str], limit: float) -> None:
    """Run a command with a time limit; its child processes are ended with it, except on Windows."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, start_new_session=True, **pipes) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except BaseException:
            if os.name == "nt":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words, output, errors)


def default_folder() -> Path:
    """Return the folder in which builds are cached."""
    named = os.environ.get("APPELL_PEERS")
    cache_home = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(cache_home) if cache_home else Path.home() / ".cache") / "appell-peers"


def optimised() -> tuple[str, ...]:
    """Return the compiler flags for this processor, without AVX-512 if appell does not use it either."""
    return ("-O3", "-march=native", *(("-mno-avx512f",) if without_avx512() else ()), "-DNDEBUG")


@cache
def compiler(name: str) -> str:
    """Return the path of gcc or g++."""
    path = shutil.which(name)
    if path is None:
        raise PeerUnavailableError(
            f"{name} is not installed.", hint="Install a C and C++ compiler, for example the Debian package g++."
        )
    return path


@cache
def compiler_version(name: str) -> str:
    """Return the first line of the version text of a compiler."""
    text = subprocess.run([compiler(name), "--version"], capture_output=True, text=True, check=True).stdout
    return text.splitlines()[0]


def package_version(name: str) -> str:
    """Return the version of a package; raise PeerUnavailableError if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        raise PeerUnavailableError(
            f"the package {name} is not installed.", hint="pip install 'appell[peers]'"
        ) from None


@cache
def package_folder(name: str) -> Path:
    """Return the folder of an importable package."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PeerUnavailableError(f"the package {name} is not installed.", hint="pip install 'appell[peers]'")
    return Path(spec.submodule_search_locations[0])


@cache
def headers(package: str, header: str) -> Path:
    """Return the include folder of a header, in a package or in the system."""
    try:
        listed = files(package) or []
    except PackageNotFoundError:
        listed = []
    for file in listed:
        if file.as_posix().endswith(f"/{header}"):
            return Path(str(file.locate())).parents[header.count("/")]
    for folder in (Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3"), Path("/usr/include")):
        if (folder / header).exists():
            return folder
    raise PeerUnavailableError(f"the header {header} was not found.", hint=f"pip install {package}")


def includes() -> list[str]:
    """Return the compiler flags for the headers of Eigen, Boost and Pinocchio."""
    return [
        f"-I{headers('cmeel-eigen', 'Eigen/Core')}",
        f"-I{headers('cmeel-boost', 'boost/version.hpp')}",
        f"-I{headers('libpinocchio', 'pinocchio/config.hpp')}",
        *PINOCCHIO_FLAGS,
    ]


def _content(sources: Sequence[Path]) -> bytes:
    return b"\0".join(path.read_bytes() for path in sources)


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line.lower()] or text.splitlines() or ["no message"]
    return lines[0][:200]
