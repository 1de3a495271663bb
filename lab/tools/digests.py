"""Digests of everything the library computes, to show that a change of structure changes no result.

    python lab/tools/digests.py write lab/tools/digests.json                     compute and store all groups
    python lab/tools/digests.py write lab/tools/digests.json --only runs         replace one group
    python lab/tools/digests.py compare lab/tools/digests.json                   recompute, print what differs
    python lab/tools/digests.py compare lab/tools/digests.json --only formulas,commands --match puma
    python lab/tools/digests.py write before.json --numbers                      numbers alone, for changes of wording

`compare` ends with exit code 1 if a key differs, appeared or disappeared. Groups:

    formulas    fused formulas of all catalogue functions
    commands    output of command lines, most of them with --json
    runs        motions, controllers, identification and inverse kinematics through the Python API
    reproduce   every section of `appell reproduce`; slow
    pages       HTML pages, a film frame, drawings and plots

The file maps keys to the first 16 hexadecimal digits of a SHA-256, or to "error: Type: message" where an entry raises,
so that refusals are stored too. The header says what made the file and is not compared.

Results depend on the processor where they go through LAPACK or NumPy's vectorised functions. This holds for runs, and
for some formulas: joints with oblique axes (base parameters are grouped with a pseudo-inverse) and spatial loops (the
scales of their pivots) have constants that differ in the last bit. The tool therefore pins both libraries to their
code for AVX2. Formulas of the zoo do not depend on the processor.

The tool runs on the sources of the repository it stands in (src/, lab/ and tests/ come first on the path) and with an
empty kernel cache, so that nothing is read that other sources made; `--cache FOLDER` keeps the cache for the next run.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
GROUPS = ("formulas", "commands", "runs", "reproduce", "pages")
HEX_DIGITS = 16
ERROR_LENGTH = 160  # characters of a message that are stored; longer ones end with a hash of the whole message

PINNED = {  # LAPACK and NumPy take the same code on every x86 processor with AVX2; read when NumPy is imported
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4",
}

Case = tuple[str, Callable[[], Any]]  # key, and what computes its value


# ---- values to hashes


def digest(value: Any) -> str:
    """Return the hash of a value: numbers by their bits, arrays by dtype, shape and bytes, mappings in their order."""
    total = hashlib.sha256()
    _feed(total, value)
    return total.hexdigest()[:HEX_DIGITS]


def _feed(total: Any, value: Any) -> None:
    import numpy as np

    if value is None or isinstance(value, bool):
        total.update(f"{value};".encode())
    elif isinstance(value, (int, np.integer)):
        total.update(f"int {int(value)};".encode())
    elif isinstance(value, (float, np.floating)):
        total.update(b"float" + struct.pack("<d", float(value)))
    elif isinstance(value, complex):
        total.update(b"complex" + struct.pack("<dd", value.real, value.imag))
    elif isinstance(value, str):
        total.update(f"str {len(value)} {value};".encode())
    elif isinstance(value, bytes):
        total.update(b"bytes %d " % len(value) + value)
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            _feed(total, value.tolist())
            return
        total.update(f"array {value.dtype.str} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        total.update(f"mapping {len(value)};".encode())
        for key, item in value.items():
            _feed(total, key)
            _feed(total, item)
    elif isinstance(value, (set, frozenset)):
        _feed(total, sorted(digest(item) for item in value))
    elif isinstance(value, Iterable):
        items = list(value)
        total.update(f"sequence {len(items)};".encode())
        for item in items:
            _feed(total, item)
    else:
        raise TypeError(f"no digest for a {type(value).__name__}")


NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")


def numbers_of(value: Any) -> Any:
    """Return a value without its wording: texts are reduced to the numbers in them, mappings lose their keys."""
    import numpy as np

    if isinstance(value, str):
        return NUMBER.findall(value)
    if isinstance(value, bytes) or (isinstance(value, np.ndarray) and value.dtype != object):
        return value
    if isinstance(value, Mapping):
        return [numbers_of(item) for item in value.values()]
    if isinstance(value, Iterable) and not isinstance(value, (set, frozenset)):
        return [numbers_of(item) for item in value]
    return value


def masked(text: str, folder: str | Path | None = None) -> str:
    """Return a text without what differs between runs: temporary folders, the version, addresses in a `repr`."""
    version = importlib.import_module("appell").__version__
    text = re.sub(rf"\b{re.escape(version)}\b", "<version>", text)
    for path in filter(None, (folder, os.environ.get("APPELL_CACHE"), str(REPOSITORY))):
        text = text.replace(str(path), "<folder>")
    return re.sub(r"\b0x[0-9a-f]{6,}\b", "<address>", text)


def error_text(error: BaseException) -> str:
    """Return an exception as it is stored."""
    text = masked(f"error: {type(error).__name__}: {error}").replace("\n", " | ")
    if len(text) > ERROR_LENGTH:
        text = f"{text[:ERROR_LENGTH]}… #{hashlib.sha256(text.encode()).hexdigest()[:HEX_DIGITS]}"
    return text


# ---- groups


def cases(group: str) -> Iterator[Case]:
    """Yield the entries of a group; a group is a module `digest_<group>` with a function `cases`."""
    sys.path.insert(0, str(Path(__file__).parent))
    return importlib.import_module(f"digest_{group}").cases()


def results(
    group: str,
    entries: Iterable[Case],
    match: str = "",
    report: Callable[[str], None] = lambda line: None,
    reduce: Callable[[Any], Any] = lambda value: value,
) -> dict[str, str]:
    """Return digests by key of entries of a group, of what `reduce` makes of their values.

    With `match`, only keys that contain this text are computed.
    """
    computed: dict[str, str] = {}
    start = time.process_time()
    for name, compute in entries:
        key = f"{group}/{name}"
        if match not in key:
            continue
        if key in computed:
            raise ValueError(f"the key {key} occurs twice")
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                computed[key] = digest(reduce(compute()))
            except (Exception, SystemExit) as error:
                computed[key] = digest(reduce(str(error))) if reduce is numbers_of else error_text(error)
        seconds = time.process_time() - begin
        if len(computed) % 100 == 0 or seconds > 2.0:
            report(f"  {time.process_time() - start:7.1f} s  {len(computed):5d}  {key}  {seconds:.1f} s")
    report(f"{group}: {len(computed)} keys in {time.process_time() - start:.0f} s of processor time")
    return computed


# ---- files


def header() -> dict[str, str]:
    """Return what made the file; none of it is compared."""
    import llvmlite
    import numpy
    import scipy

    import appell

    git = ["git", "-C", str(REPOSITORY), "rev-parse", "HEAD"]
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = {flag for line in lines if line.startswith("flags") for flag in line.split()}
    wide = next((name for name in ("avx512f", "avx2") if name in flags), "")
    return {
        "commit": subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip(),
        "date": datetime.date.today().isoformat(),
        "processor": f"{models[0] if models else platform.processor()} {wide}".strip(),
        "python": platform.python_version(),
        "versions": f"appell {appell.__version__}, numpy {numpy.__version__}, scipy {scipy.__version__}, "
        f"llvmlite {llvmlite.__version__}",
    }


def read(path: Path) -> dict[str, Any]:
    """Return header and digests of a file; both are empty if it does not exist."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"about": {}, "digests": {}}


def write(path: Path, groups: Iterable[str], digests: Mapping[str, str]) -> None:
    """Store the digests of some groups; other groups in the file stay as they are, with their own headers."""
    before = read(path)
    groups = tuple(groups)
    merged = {key: value for key, value in before["digests"].items() if key.partition("/")[0] not in groups}
    about = before["about"] | dict.fromkeys(groups, header())
    content = {"about": dict(sorted(about.items())), "digests": dict(sorted({**merged, **digests}.items()))}
    path.write_text(json.dumps(content, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def differences(stored: Mapping[str, str], computed: Mapping[str, str]) -> list[str]:
    """Return one line for every key that differs, appeared or disappeared."""
    lines = []
    for key in sorted(stored.keys() | computed.keys()):
        if key not in computed:
            lines.append(f"disappeared  {key}: {stored[key]}")
        elif key not in stored:
            lines.append(f"appeared     {key}: {computed[key]}")
        elif stored[key] != computed[key]:
            lines.append(f"differs      {key}: {stored[key]} -> {computed[key]}")
    return lines


# ---- command line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("file", type=Path, help="JSON file of digests")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups, separated by commas; all by default")
    parser.add_argument("--match", default="", help="compare: only keys that contain this text")
    parser.add_argument("--cache", type=Path, help="kernel cache to use; a new empty folder by default")
    parser.add_argument(
        "--numbers", action="store_true", help="digests of the numbers in values, without their wording"
    )
    options = parser.parse_args()
    groups = options.only.split(",")
    if unknown := [group for group in groups if group not in GROUPS]:
        parser.error(f"unknown group '{unknown[0]}', expected some of {', '.join(GROUPS)}")
    if options.match and options.action == "write":
        parser.error("--match is for compare")

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="appell-digests-") as folder:
        _prepare(str(options.cache.resolve() if options.cache else folder))
        computed: dict[str, str] = {}
        reduce = numbers_of if options.numbers else lambda value: value
        for group in groups:
            computed |= results(group, cases(group), options.match, report, reduce)
    if options.action == "write":
        write(options.file, groups, computed)
        report(f"wrote {len(computed)} digests to {options.file}")
        return 0
    content = read(options.file)
    here = header()
    for group in groups:
        if content["about"].get(group, here)["processor"] != here["processor"]:
            report(f"note: {group} was stored on another processor: {content['about'][group]['processor']}")
    stored = {
        key: value
        for key, value in content["digests"].items()
        if key.partition("/")[0] in groups and options.match in key
    }
    lines = differences(stored, computed)
    print("\n".join([*lines, f"{len(lines)} of {len(stored.keys() | computed.keys())} digests differ"]))
    return 1 if lines else 0


def _prepare(cache: str) -> None:
    """Use the sources of this repository and one kernel cache, here and in every process started from here."""
    sources = [str(REPOSITORY / folder) for folder in ("src", "lab", "tests")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*sources, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    os.environ["APPELL_CACHE"] = cache
    os.environ["COLUMNS"], os.environ["MPLBACKEND"] = "100", "agg"
    os.environ |= PINNED
    sys.path[:0] = sources


if __name__ == "__main__":
    sys.modules["digests"] = sys.modules["__main__"]  # so that groups import this very module
    sys.exit(main())
