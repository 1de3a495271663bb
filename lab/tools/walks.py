"""Count the source files of appell that a call enters, for six standard calls ("walks").

    python lab/tools/walks.py                     table of all walks
    python lab/tools/walks.py --json              the same as JSON
    python lab/tools/walks.py --files torque      the files of one walk, in the order in which they are entered

Counting rule: a file counts if a function defined in it is entered while no module of appell is being imported.
Module level, class bodies and functions that run during an import do not count, and neither does `import appell`
itself. Every walk runs in a new process, once with an empty kernel cache (cold) and once more with the cache that the
first run filled (warm).

This rule comes closest to the numbers of the two reviews of commit 63e07b5: 97, 108, 116 and 82 files for the first
four walks (cold), 172 for `simulate --view` and 111 for `rollout` (warm). At that commit this script counts 99, 110,
119, 81, 169 and 107.

The last line of the table is the number of modules of appell that `appell --version` loads.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = f"{REPOSITORY / 'src' / 'appell'}{os.sep}"
CO_OPTIMIZED = 1  # flag of the code of functions; module level and class bodies lack it
WALKS = {  # name -> title, and which of both runs the limits of issue 27 are about
    "torque": ("URDF to torque", "cold"),
    "derivative": ("URDF to compiled derivative", "cold"),
    "loop": ("TOML with a loop to constrained forward dynamics", "cold"),
    "c": ("URDF to C file of a function", "cold"),
    "simulate": ("simulate tree10 --wall circle:2.5 --view", "warm"),
    "rollout": ("rollout of the PUMA", "warm"),
}


# ---- walks; each runs in its own process, with arm.urdf and loop.toml in the current folder


def torque() -> None:
    import appell as ap

    dyn = ap.Dynamics(ap.load("arm.urdf"))
    dyn.inverse_dynamics(dyn.system.start, [0.1] * dyn.system.nv, [0.2] * dyn.system.nv)


def derivative() -> None:
    import appell as ap

    dyn = ap.Dynamics(ap.load("arm.urdf"))
    dyn.inverse_dynamics.jacobian("q", "v")(dyn.system.start, [0.1] * dyn.system.nv, [0.2] * dyn.system.nv)


def loop() -> None:
    import appell as ap

    dyn = ap.Dynamics(ap.load("loop.toml"))
    dyn.forward_dynamics(dyn.system.start, [0.1] * dyn.system.nv, [0.2] * dyn.system.nu)


def c() -> None:
    import appell as ap

    source = ap.Dynamics(ap.load("arm.urdf")).inverse_dynamics.to_c("torques")
    Path("torques.c").write_text(str(source), encoding="utf-8")


def simulate() -> None:
    """Run the command line until the page is served, then interrupt it as Ctrl-C would."""
    from importlib.metadata import entry_points

    [command] = [point for point in entry_points(group="console_scripts") if point.name == "appell"]
    sys.argv = ["appell", "simulate", "tree10", "--wall", "circle:2.5", "--view", "--no-browser"]
    sys.stdout = Interrupting()  # type: ignore[assignment]
    try:
        command.load()()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.stdout = sys.__stdout__


def rollout() -> None:
    import appell as ap

    ap.rollout(ap.load("puma"), steps=10)


class Interrupting:
    """A stream that interrupts the main thread when the viewer prints how to stop it."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        if "Ctrl-C" in text:
            import _thread

            threading.Timer(0.3, _thread.interrupt_main).start()
        return len(text)

    def flush(self) -> None:
        """Do nothing; output is discarded."""

    def isatty(self) -> bool:
        return False


def version() -> list[str]:
    """Return the modules of appell that the command `appell --version` loads."""
    from importlib.metadata import entry_points

    [command] = [point for point in entry_points(group="console_scripts") if point.name == "appell"]
    sys.argv = ["appell", "--version"]
    sys.stdout = Interrupting()  # type: ignore[assignment]
    try:
        command.load()()
    except SystemExit:
        pass
    finally:
        sys.stdout = sys.__stdout__
    return sorted(name for name in sys.modules if name.partition(".")[0] == "appell")


# ---- counting


def files_entered(walk: Callable[[], Any]) -> list[str]:
    """Return the files of appell that a walk enters, in the order in which it does."""
    entered: dict[str, None] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCES) or code.co_filename in entered:
            return
        if code.co_flags & CO_OPTIMIZED and not during_import(frame):
            entered[code.co_filename] = None

    import appell  # noqa: F401  (its own import does not count)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return [file.removeprefix(SOURCES) for file in entered]


def during_import(frame: FrameType | None) -> bool:
    """Return whether a module of appell is being imported in this stack."""
    while frame is not None:
        if is_module_level(frame.f_code):
            return True
        frame = frame.f_back
    return False


def is_module_level(code: CodeType) -> bool:
    return code.co_name == "<module>" and code.co_filename.startswith(SOURCES)


def child(name: str) -> list[str]:
    """Run one walk in a new process, in the current folder and with the current kernel cache."""
    run = subprocess.run(
        [sys.executable, __file__, "--child", name], capture_output=True, text=True, check=False, timeout=600
    )
    if run.returncode:
        raise SystemExit(f"walk '{name}' failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def measured(names: list[str]) -> dict[str, dict[str, list[str]]]:
    """Return the files of some walks, cold and warm."""
    results: dict[str, dict[str, list[str]]] = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="appell-walk-") as folder:
            os.chdir(folder)
            os.environ["APPELL_CACHE"] = str(Path(folder) / "inputs")
            child("inputs")
            os.environ["APPELL_CACHE"] = str(Path(folder) / "cache")
            results[name] = {state: child(name) for state in ("cold", "warm")}
            os.chdir(REPOSITORY)
    return results


def write_inputs() -> list[str]:
    """Write the robots that the walks read."""
    import warnings

    import appell as ap

    warnings.simplefilter("ignore")  # URDF cannot express rotors
    Path("arm.urdf").write_text(ap.to_urdf(ap.load("puma")), encoding="utf-8")
    Path("loop.toml").write_text(ap.to_toml(ap.load("four-bar")), encoding="utf-8")
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--files", metavar="WALK", choices=[*WALKS, "version"], help="list the files of one walk")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sources = [str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sources))
    sys.path.insert(0, sources[0])
    if options.child:
        special = {"version": version, "inputs": write_inputs}
        print(
            json.dumps(
                special[options.child]() if options.child in special else files_entered(globals()[options.child])
            )
        )
        return
    if options.files:
        modules = child("version") if options.files == "version" else None
        print("\n".join(modules or measured([options.files])[options.files][WALKS[options.files][1]]))
        return
    modules = len(child("version"))
    results = measured(list(WALKS))
    counts = {name: {state: len(files) for state, files in each.items()} for name, each in results.items()}
    if options.json:
        print(json.dumps({"walks": counts, "modules of appell --version": modules}, indent=1))
        return
    print(f"{'walk':52} {'cold':>6} {'warm':>6}   files entered; * marks the relevant number")
    for name, (title, counted) in WALKS.items():
        cells = [f"{count}{'*' if state == counted else ' '}" for state, count in counts[name].items()]
        print(f"{title:52} {cells[0]:>6} {cells[1]:>6}")
    print(f"{'modules of appell that appell --version loads':52} {modules:>5}")


if __name__ == "__main__":
    main()
