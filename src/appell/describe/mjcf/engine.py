"""MuJoCo as the front end: text in, compiled model out, and its complaints as errors of ours.

MuJoCo resolves defaults, frames, inertia from shapes, orientations in any of five forms and angles in degrees. None of
that is written again here. Its package is optional: it is imported when it is first needed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from appell.errors import DescriptionError

PIP = "pip install 'appell[mjcf]'"
LINE = re.compile(r"[Ll]ine[ =:]+(\d+)")
NEEDED = ("nbody", "njnt", "jnt_type", "body_inertia", "qpos0", "opt")


def mujoco() -> Any:
    """The package, or an error with the line that installs it."""
    try:
        import mujoco
    except ImportError:
        problem = "MJCF is read by MuJoCo's own compiler, and the package mujoco is not installed."
        raise DescriptionError(problem, hint=PIP) from None
    return mujoco


def compiled(text: str, path: Path | None, source: str) -> Any:
    """The MjModel of a file, or of a text that names no files."""
    engine = mujoco()
    try:
        if path is not None:
            return engine.MjModel.from_xml_path(str(path))
        return engine.MjModel.from_xml_string(text)
    except (ValueError, RuntimeError, engine.FatalError, engine.UnexpectedError) as error:
        told = " ".join(str(error).split()).removeprefix("XML Error: ").removeprefix("Error: ")
        line = LINE.search(told)
        where = f"{source or 'the text'}, line {line[1]}" if line else source or "the text"
        raise DescriptionError(f"MuJoCo refuses this: {told.rstrip('.')}.", source=where) from None


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
    return bool(int(model.opt.disableflags) & int(getattr(mujoco().mjtDisableBit, f"mjDSBL_{what.upper()}")))
