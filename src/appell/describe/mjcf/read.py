"""Read robots from MJCF: check the text, compile it with MuJoCo, and convert the compiled model.

Coordinates have MuJoCo's order. For hinge and slide joints q is qpos and v is qvel; `MujocoStates` converts what
differs: quaternions are x y z w here, and the linear velocity of a free joint is in the axes of its link. The home
configuration is the keyframe named "home", or else the first keyframe, or else qpos0.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from appell.describe.build import Builder, close_loops
from appell.describe.diagnostics import warn_ignored
from appell.describe.mjcf.actuators import motors_by_joint
from appell.describe.mjcf.compiler import check_model, compile_model, enum_name, model_name, mujoco
from appell.describe.mjcf.context import ReadContext, check_supported, remaining_gravity
from appell.describe.mjcf.documents import Documents
from appell.describe.mjcf.lines import Lines
from appell.describe.mjcf.loops import equalities
from appell.describe.mjcf.tree import ModelTree
from appell.describe.mjcf.visuals import read_collisions, read_visuals
from appell.errors import DescriptionError, Hint
from appell.model.robot import ConstrainedRobot, Robot


def read_mjcf(
    text: str,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    source: str = "",
    path: Path | None = None,
    without: Iterable[str] = (),
) -> Robot | ConstrainedRobot:
    """Return the robot of an MJCF document.

    Parameters
    ----------
    text : the document
    base, mimic : must have their defaults, because MJCF itself defines how bodies move
    physical, without : as in `load`
    source : name of the text in messages
    path : file that contains the text; other files are searched relative to its folder
    """
    if base != "fixed" or not mimic:
        option = "mimic=False" if base == "fixed" else f"base='{base}'"
        problem = f"{option} does not apply to MJCF, which defines the motion of every body itself."
        raise DescriptionError(problem, expected="<freejoint/> in the file", source=source)
    documents = Documents.of(text, source, None if path is None else path.parent)
    model, warnings = compile_model(text, path, documents)
    return _robot(model, Lines(documents, source), physical, without, "", warnings)


def from_mujoco(
    model: Any, *, name: str | None = None, physical: bool = True, without: Iterable[str] = ()
) -> Robot | ConstrainedRobot:
    """Return the robot of a compiled MuJoCo model.

    Parameters
    ----------
    model : a `mujoco.MjModel`
    name : name of the robot, instead of that of the model
    physical : whether bodies that cannot exist are rejected
    without : kinds of unsupported parts to leave out instead of rejecting the model: "tendon", "actuator", "equality",
        "fluid", ...

    Returns
    -------
    A `Robot`, or a `ConstrainedRobot` if the model has equality constraints.

    Raises
    ------
    DescriptionError
        If `model` is not a compiled model, or contains parts that appell does not support; the message names them.

    Examples
    --------
    >>> import appell as ap, mujoco
    >>> model = mujoco.MjModel.from_xml_string(
    ...     "<mujoco><worldbody><body name='rod'><joint name='hinge' axis='0 1 0'/>"
    ...     "<geom type='capsule' size='0.02 0.5'/></body></worldbody></mujoco>"
    ... )
    >>> ap.from_mujoco(model).joint_names
    ('hinge',)
    """
    check_model(model)
    return _robot(model, Lines(None, ""), physical, without, name or "")


def _robot(
    model: Any, lines: Lines, physical: bool, without: Iterable[str], name: str, warnings: Iterable[str] = ()
) -> Robot | ConstrainedRobot:
    context = ReadContext(model, lines, without)
    check_supported(context)
    builder = Builder(
        name or model_name(model),
        root=None,
        gravity=remaining_gravity(context),
        home=coordinates(model, _home(model)),
        physical=physical,
        source=lines.source,
    )
    tree = ModelTree(context, builder, motors_by_joint(context))
    constraints = list(equalities(context, tree, builder))
    read_visuals(context, tree, builder)
    read_collisions(context, tree, builder)
    context.errors.raise_collected()
    robot = builder.build()
    warn_ignored([*context.notes, *warnings], lines.source)
    hint = Hint("Pass {without} to leave out equality constraints.", without="equality")
    return close_loops(robot, constraints, hint) if constraints else robot


def _home(model: Any) -> np.ndarray:
    engine = mujoco()
    names = [engine.mj_id2name(model, engine.mjtObj.mjOBJ_KEY, k) for k in range(model.nkey)]
    return model.key_qpos[names.index("home") if "home" in names else 0] if names else model.qpos0


def coordinates(model: Any, qpos: np.ndarray) -> list[float]:
    """Convert qpos to q: reorder quaternions from w x y z to x y z w."""
    q, starts = [float(x) for x in qpos], {"free": 3, "ball": 0}
    for value, address in zip(model.jnt_type, model.jnt_qposadr, strict=True):
        if (kind := enum_name("mjtJoint", value)) in starts:
            at = int(address) + starts[kind]
            q[at : at + 4] = [*q[at + 1 : at + 4], q[at]]
    return q
