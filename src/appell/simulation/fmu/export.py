"""Export of a robot as an FMU (FMI 2 for co-simulation) with its equations in C, for tools without Python.

    ap.to_fmu(ap.load("puma"), "puma.fmu", dt=1e-3)

Actuator forces are inputs, coordinates and velocities are outputs, all with names and units. A step is that of
`ap.rollout`, bit for bit. The file contains C sources, which most tools compile; with a `compiler` it also contains a
library for this machine.
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
from appell.files import check_target, replacing
from appell.model.system import System
from appell.simulation.contact.contact import Contact
from appell.simulation.fmu.description import Variable, description, variables
from appell.simulation.fmu.interface import interface
from appell.simulation.options import ImpulseContacts, SpringContacts
from appell.simulation.rollouts.plan import Rollout
from appell.simulation.rollouts.task import task_of
from appell.version import VERSION

FLAGS = ("-O2", "-std=c99", "-ffp-contract=off", "-fPIC", "-shared")  # no contraction: the same bits as `rollout`
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
    """Write a system as an FMU (FMI 2 for co-simulation).

    Parameters
    ----------
    system
        A robot or mechanism, exported with the friction and rotors of its description, or a `Dynamics`, which is used
        as it is.
    path
        Name of the file, ending in .fmu.
    dt
        Default length of an integration step, s; the tool can change it by the parameter `step`.
    method
        rk4, euler, midpoint or moreau; see `rollout`.
    q0, v0
        Start values of coordinates and velocities. None: the start of the system, and zero.
    name
        Identifier of the model in C. None: made from the name of the system.
    compiler
        C compiler, such as "gcc", that adds a library for this machine. None: sources only.
    flags
        Further flags of the compiler, such as "-march=native".
    overwrite
        Whether to replace an existing file.
    contacts, stops, contact_model, saturate, wrenches, friction, rotors
        As in `rollout`. Each frame of `wrenches` becomes an input; its six numbers are the start values.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ArgumentError
        If an argument is not valid, the file exists, or the system has free parameters or prescribed motions.
    CompileError
        If the compiler fails.

    Warns
    -----
    StepWarning
        If damping or contacts are too stiff for steps of the length `dt`, as in `rollout`.

    Examples
    --------
    >>> import appell as ap, tempfile, zipfile
    >>> folder = tempfile.mkdtemp()
    >>> file = ap.to_fmu(ap.load("pendulum"), f"{folder}/pendulum.fmu", dt=1e-3)
    >>> "modelDescription.xml" in zipfile.ZipFile(file).namelist()
    True
    """
    target = check_target(path, (".fmu",), overwrite)
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
    pushes = wrenches or dict.fromkeys(plan.dyn.wrenches)
    task = task_of(plan, q0, v0, None, 1, dt, wrenches=pushes or None)
    if task.members != 1:
        raise ArgumentError(
            f"q0, v0 or wrenches have {task.members} members.",
            expected="one member, because an FMU has one start state",
        )
    plan.check_step(task)
    starts = {name: array[0] for name, array in task.carried.items()}
    starts |= {name: array[0, 0] for name, array in task.driven.items() if name == "wrenches"}
    row = variables(model, plan.dyn.wrenches, starts, task.dt)
    prefix = identifier(model.name) if name is None else c_name("name", name)
    content = _sources(prefix, step, row, comment(model.owner))
    entries = {f"sources/{file}": text.encode() for file, text in content.texts.items()}
    files = [file for file in content.texts if file.endswith(".c")]
    entries["modelDescription.xml"] = description(prefix, model.name, content.guid, VERSION, files, row, task.dt)
    if compiler is not None:
        entry, library = _library(prefix, content.texts, compiler, flags)
        entries[entry] = library
    with replacing(target, "the FMU") as part:
        part.write_bytes(_zipped(entries))
    return target


@dataclass(frozen=True)
class _Sources:
    """The C files by name, and the identifier derived from their content."""

    texts: dict[str, str]
    guid: str


def _sources(prefix: str, step: Function, row: Sequence[Variable], title: str) -> _Sources:
    code = c_source(step, f"{prefix}_step")
    total = hashlib.sha256("\n".join([code.source, *map(repr, row)]).encode()).hexdigest()
    guid = f"{{{total[:8]}-{total[8:12]}-{total[12:16]}-{total[16:20]}-{total[20:32]}}}"
    text = interface(code.name, title, guid, step, row)
    return _Sources({f"{code.name}.c": code.source, f"{code.name}.h": code.header, f"{prefix}_fmi.c": text}, guid)


def _checked(plan: Rollout) -> Function:
    """Return the step of a plan; raise `ArgumentError` if it has inputs other than state, forces and wrenches."""
    formula, owner = plan.formula, plan.dyn.system.owner
    for what, names in (
        ("free inertial parameters", plan.dyn.free_bodies),
        ("prescribed motions", plan.dyn.system.prescribed),
    ):
        if names:
            raise ArgumentError(f"{owner} has {what}, which an FMU does not support: {', '.join(map(str, names))}.")
    assert [*formula.carried] == ["q", "v"]
    return plan.scan.step


def _library(prefix: str, texts: dict[str, str], compiler: str, flags: Sequence[str]) -> tuple[str, bytes]:
    """Return the name of the entry and the content of a library for this machine."""
    folder, ending = _FOLDERS.get(sys.platform, ("linux", ".so"))
    if shutil.which(compiler) is None:
        raise ArgumentError(
            f"compiler '{compiler}' is not installed.", hint="Install it, or pass compiler=None to write sources only."
        )
    with tempfile.TemporaryDirectory() as work:
        for name, text in texts.items():
            Path(work, name).write_text(text, encoding="utf-8")
        files = [name for name in texts if name.endswith(".c")]
        library = Path(work, prefix + ending)
        command = [compiler, *FLAGS, *flags, *files, "-o", str(library), "-lm"]
        process = subprocess.run(command, cwd=work, capture_output=True, text=True)
        if process.returncode:
            raise CompileError(f"{compiler} cannot compile the FMU: {process.stderr.strip()[:500]}")
        bits = platform.architecture()[0].removesuffix("bit")
        return f"binaries/{folder}{bits}/{prefix}{ending}", library.read_bytes()


def _zipped(entries: dict[str, bytes]) -> bytes:
    """Return a zip file whose bytes depend on its content only."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, entries[name])
    return buffer.getvalue()
