"""MuJoCo as the front end: text in, compiled model out, and its complaints as errors of ours.

MuJoCo resolves defaults, frames, inertia from shapes, orientations in any of five forms and angles in degrees. None of
that is written again here. Its package is optional: it is imported when it is first needed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from appell.describe.mjcf.screen import Documents
from appell.errors import DescriptionError

PIP = "pip install 'appell[mjcf]'"
LINE = re.compile(r"[Ll]ine[ =:]+(\d+)")
CULPRIT = re.compile(r"Element (?:name )?'([^']+)'")
NEEDED = ("nbody", "njnt", "jnt_type", "body_inertia", "qpos0", "opt")


def mujoco() -> Any:
    """The package, or an error with the line that installs it."""
    try:
        import mujoco
    except ImportError:
        problem = "MJCF is read by MuJoCo's own compiler, and the package mujoco is not installed."
        raise DescriptionError(problem, hint=PIP) from None
    return mujoco


def compiled(text: str, path: Path | None, documents: Documents) -> tuple[Any, list[str]]:
    """The MjModel of a file, or of a text that names no files, and what MuJoCo would write into a log."""
    engine, remarks = mujoco(), []
    before = engine.get_mju_user_warning()
    engine.set_mju_user_warning(lambda remark: remarks.append(f"MuJoCo says that {' '.join(remark.split())}"))
    try:
        return _compiled(engine, text, path, documents), remarks
    finally:
        engine.set_mju_user_warning(before)


def _compiled(engine: Any, text: str, path: Path | None, documents: Documents) -> Any:
    try:
        if path is not None:
            return engine.MjModel.from_xml_path(str(path))
        return engine.MjModel.from_xml_string(text)
    except (ValueError, RuntimeError, engine.FatalError, engine.UnexpectedError) as error:
        told = " ".join(str(error).split()).removeprefix("XML Error: ").removeprefix("Error: ")
        problem = f"MuJoCo refuses this: {told.rstrip('.')}."
        raise DescriptionError(problem, source=_where(told, documents)) from None


def _where(told: str, documents: Documents) -> str:
    """The file and line of a complaint: MuJoCo tells the line, and of which element, but not of which file."""
    source = documents.roots[0].source or "the text"
    line, culprit = LINE.search(told), CULPRIT.search(told)
    if line is None or line[1] == "0":
        return source
    for element in documents.elements() if culprit else ():
        if element.line == int(line[1]) and culprit[1] in (element.tag, element.attributes.get("name")):  # type: ignore[index]
            return element.where
    return f"{source}, line {line[1]}" if len(documents.roots) == 1 else source


def check_model(model: Any) -> None:
    """Raise unless this is a compiled model of MuJoCo."""
    if lacking := [what for what in NEEDED if not hasattr(model, what)]:
        kind, hint = type(model).__name__, "spec.compile()" if hasattr(model, "compile") else ""
        problem = f"a {kind} is no model of MuJoCo: it has no {', '.join(lacking)}."
        raise DescriptionError(problem, expected="what mujoco.MjModel.from_xml_path(...) gives", hint=hint)


def model_name(model: Any) -> str:
    """The name in <mujoco model="...">."""
    return bytes(model.names).split(b"\0")[0].decode("utf-8", "replace").strip() or "mujoco"


def word(enum: str, value: Any) -> str:
    """What a number of the model means: word("mjtJoint", 3) is "hinge"."""
    return getattr(mujoco(), enum)(int(value)).name.partition("_")[2].lower()


def is_off(model: Any, what: str) -> bool:
    """Whether a file switches something off: gravity, spring, damper, limit, frictionloss, equality."""
    bits = mujoco().mjtDisableBit
    flag = getattr(bits, f"mjDSBL_{what.upper()}", None)
    if flag is None:  # older versions switch springs and dampers together
        flag = bits.mjDSBL_PASSIVE
    return bool(int(model.opt.disableflags) & int(flag))
