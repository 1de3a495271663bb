"""A robot as a source FMU: FMI 2 for co-simulation, its equations in C, for tools that know nothing of Python.

    ap.to_fmu(ap.load("puma"), "puma.fmu", dt=1e-3)

Forces of the actuators are inputs, coordinates and velocities outputs, all with names and units; a step is one of
`ap.rollout`, to the last bit. The file holds sources, which most tools compile; with a `compiler` it holds a library
for this machine too.
"""

from __future__ import annotations

import hashlib
import io
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appell.compile.c.signature import c_name, comment, identifier
from appell.compile.c.source import c_source
from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, CompileError
from appell.model.system import System
from appell.simulation.contact.contact import Contact
from appell.simulation.fmu.description import Variable, description, variables
from appell.simulation.fmu.interface import interface
from appell.simulation.options import ImpulseContacts, SpringContacts
from appell.simulation.rollouts.plan import Rollout
from appell.simulation.rollouts.task import task_of
from appell.version import VERSION

FLAGS = ("-O2", "-std=c99", "-ffp-contract=off", "-fPIC", "-shared")
_FOLDERS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("win", ".dll")}


def to_fmu(
    system: Dynamics | System,
    path: str | Path,
    *,
    dt: float = 1e-3,
    method: str = "rk4",
    q0: Any = None,
    v0: Any = None,
    name: str | None = None,
    compiler: str | None = None,
    flags: Sequence[str] = (),
    overwrite: bool = False,
    contacts: Contact | Iterable[Contact] | None = None,
    stops: float | Mapping[str, float] | None = None,
    contact_model: SpringContacts | ImpulseContacts | None = None,
    saturate: bool = False,
    wrenches: Mapping[str, Any] | None = None,
    friction: bool | None = None,
    rotors: bool | None = None,
) -> Path:
    """Write an FMU; `contacts` and what follows are those of `rollout`.

    `name` is that of the model in C. `compiler` ("gcc") adds a library for this machine, made with `flags` besides
    those that the bits need; "-march=native" makes it fast on machines like this one.
    """
    target = Path(path)
    if target.suffix != ".fmu":
        raise ArgumentError(f"'{target}' is no name for an FMU.", expected="a path that ends in .fmu")
    if target.exists() and not overwrite:
        raise ArgumentError(f"{target} exists already.", hint="overwrite=True, or another path")
    plan = Rollout(
        system,
        method=method,
        contacts=contacts,
        stops=stops,
        contact_model=contact_model,
        saturate=saturate,
        wrenches=wrenches,
        friction=friction,
        rotors=rotors,
    )
    model = plan.dyn.system
    step = _checked(plan)
    task = task_of(plan, q0, v0, None, 1, dt, wrenches={frame: [0.0] * 6 for frame in plan.dyn.wrenches} or None)
    row = variables(model, plan.dyn.wrenches, task.carried["q"][0], task.carried["v"][0], task.dt)
    prefix = identifier(model.name) if name is None else c_name("name", name)
    content = _sources(prefix, step, row, comment(model.owner))
    entries = {f"sources/{file}": text.encode() for file, text in content.texts.items()}
    files = [file for file in content.texts if file.endswith(".c")]
    entries["modelDescription.xml"] = description(prefix, model.name, content.guid, VERSION, files, row, task.dt)
    if compiler is not None:
        place, library = _library(prefix, content.texts, compiler, flags)
        entries[place] = library
    target.write_bytes(_zipped(entries))
    return target


@dataclass(frozen=True)
class _Sources:
    """The files of C, and the hash that names them."""

    texts: dict[str, str]
    guid: str


def _sources(prefix: str, step: Function, row: Sequence[Variable], title: str) -> _Sources:
    code = c_source(step, f"{prefix}_step")
    total = hashlib.sha256("\n".join([code.source, *map(repr, row)]).encode()).hexdigest()
    guid = f"{{{total[:8]}-{total[8:12]}-{total[12:16]}-{total[16:20]}-{total[20:32]}}}"
    text = interface(code.name, title, guid, step, row)
    return _Sources({f"{code.name}.c": code.source, f"{code.name}.h": code.header, f"{prefix}_fmi.c": text}, guid)


def _checked(plan: Rollout) -> Function:
    """The step, if it is one of a state and of forces alone."""
    formula, owner = plan.formula, plan.dyn.system.owner
    for what, names in (
        ("free inertial parameters", plan.dyn.free_bodies),
        ("prescribed motions", plan.dyn.system.prescribed),
    ):
        if names:
            raise ArgumentError(f"{owner} has {what}, which an FMU does not take: {', '.join(map(str, names))}.")
    assert [*formula.carried] == ["q", "v"]
    return plan.march.step


def _library(prefix: str, texts: dict[str, str], compiler: str, flags: Sequence[str]) -> tuple[str, bytes]:
    """A library of this machine and its place in the file."""
    folder, ending = _FOLDERS.get(sys.platform, ("linux", ".so"))
    if shutil.which(compiler) is None:
        raise ArgumentError(f"there is no compiler '{compiler}' here.", hint="compiler=None: sources alone")
    with tempfile.TemporaryDirectory() as place:
        for name, text in texts.items():
            Path(place, name).write_text(text, encoding="utf-8")
        files = [name for name in texts if name.endswith(".c")]
        made = Path(place, prefix + ending)
        command = [compiler, *FLAGS, *flags, *files, "-o", str(made), "-lm"]
        found = subprocess.run(command, cwd=place, capture_output=True, text=True)
        if found.returncode:
            raise CompileError(f"{compiler} refused the FMU: {found.stderr.strip()[:500]}")
        bits = platform.architecture()[0].removesuffix("bit")
        return f"binaries/{folder}{bits}/{prefix}{ending}", made.read_bytes()


def _zipped(entries: dict[str, bytes]) -> bytes:
    """A zip file that is the same for the same content."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, entries[name])
    return whole.getvalue()
