"""Compile MJCF with MuJoCo, and convert its errors to `DescriptionError`.

MuJoCo resolves defaults, frames, inertia from shapes, orientations in any of five forms and angles in degrees; none of
this is implemented again here. The package mujoco is optional and imported on first use.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

from appell.describe.mjcf.documents import Documents
from appell.errors import DescriptionError

INSTALL_HINT = "pip install 'appell[mjcf]'"
LINE = re.compile(r"[Ll]ine[ =:]+(\d+)")
CULPRIT = re.compile(r"Element (?:name )?'([^']+)'")
REQUIRED_ATTRIBUTES = ("nbody", "njnt", "jnt_type", "body_inertia", "qpos0", "opt")
MAX_PATH = 32_768  # characters of a path on Windows

WARNING_HANDLER_LOCK = threading.RLock()  # MuJoCo has one warning handler per process
if hasattr(os, "register_at_fork"):  # otherwise a child forked during a compilation would wait for the lock forever
    os.register_at_fork(
        before=WARNING_HANDLER_LOCK.acquire,
        after_in_parent=WARNING_HANDLER_LOCK.release,
        after_in_child=WARNING_HANDLER_LOCK.release,
    )


def mujoco() -> Any:
    """Import the package mujoco; raise DescriptionError with the command that installs it if it is missing."""
    try:
        import mujoco
    except ImportError:
        problem = "reading MJCF requires the package mujoco, which is not installed."
        raise DescriptionError(problem, hint=INSTALL_HINT) from None
    return mujoco


def compile_model(text: str, path: Path | None, documents: Documents) -> tuple[Any, list[str]]:
    """Compile a file, or a text that does not refer to files.

    Parameters
    ----------
    text : the document
    path : file that contains the text; None for a text in memory
    documents : the parsed text and all files it includes, to locate errors

    Returns
    -------
    The `MjModel`, and the warnings that MuJoCo would write to its log.
    """
    engine, notes = mujoco(), []
    with WARNING_HANDLER_LOCK:
        previous_handler = engine.get_mju_user_warning()
        engine.set_mju_user_warning(lambda message: notes.append(f"MuJoCo warns: {' '.join(message.split())}"))
        try:
            return _compile(engine, text, path, documents), notes
        finally:
            engine.set_mju_user_warning(previous_handler)


def _compile(engine: Any, text: str, path: Path | None, documents: Documents) -> Any:
    try:
        if path is not None:
            return engine.MjModel.from_xml_path(ascii_name(path))
        return engine.MjModel.from_xml_string(text)
    except (ValueError, RuntimeError, engine.FatalError, engine.UnexpectedError) as error:
        message = " ".join(str(error).split()).removeprefix("XML Error: ").removeprefix("Error: ")
        problem = f"MuJoCo rejects the model: {message.rstrip('.')}."
        raise DescriptionError(problem, source=_where(message, documents)) from None


def ascii_name(path: Path) -> str:
    """Return a name under which MuJoCo can open a file: on Windows a short name if the path has other letters."""
    name = str(path)
    if sys.platform != "win32" or name.isascii():
        return name
    short = ctypes.create_unicode_buffer(MAX_PATH)
    ctypes.windll.kernel32.GetShortPathNameW(name, short, MAX_PATH)
    if not short.value or not short.value.isascii():
        problem = "MuJoCo on Windows cannot open a file whose path contains letters outside ASCII."
        raise DescriptionError(problem, source=name, hint="Move it to another folder.")
    return short.value


def _where(message: str, documents: Documents) -> str:
    """Return file and line of an error; MuJoCo's message has the line and the element, but not the file."""
    source = documents.roots[0].source or "the text"
    line, culprit = LINE.search(message), CULPRIT.search(message)
    if line is None or line[1] == "0":
        return source
    for element in documents.elements() if culprit else ():
        if element.line == int(line[1]) and culprit[1] in (element.tag, element.attributes.get("name")):  # type: ignore[index]
            return element.where
    return f"{source}, line {line[1]}" if len(documents.roots) == 1 else source


def check_model(model: Any) -> None:
    """Raise DescriptionError unless this is a compiled MuJoCo model."""
    if missing := [what for what in REQUIRED_ATTRIBUTES if not hasattr(model, what)]:
        kind, hint = type(model).__name__, "Pass spec.compile()." if hasattr(model, "compile") else ""
        problem = f"a {kind} is not a MuJoCo model: it has no {', '.join(missing)}."
        raise DescriptionError(problem, expected="an MjModel, as from mujoco.MjModel.from_xml_path(...)", hint=hint)


def model_name(model: Any) -> str:
    """Return the name in <mujoco model="...">."""
    return bytes(model.names).split(b"\0")[0].decode("utf-8", "replace").strip() or "mujoco"


def enum_name(enum: str, value: Any) -> str:
    """Return the name of an enumeration value of a model: enum_name("mjtJoint", 3) is "hinge"."""
    return getattr(mujoco(), enum)(int(value)).name.partition("_")[2].lower()


def is_disabled(model: Any, what: str) -> bool:
    """Whether the model disables one of gravity, spring, damper, limit, frictionloss, equality."""
    bits = mujoco().mjtDisableBit
    flag = getattr(bits, f"mjDSBL_{what.upper()}", None)
    if flag is None:  # older versions disable springs and dampers together
        flag = bits.mjDSBL_PASSIVE
    return bool(int(model.opt.disableflags) & int(flag))
