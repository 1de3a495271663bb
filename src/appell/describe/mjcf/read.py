"""Robots in MJCF: screened, compiled by MuJoCo, and read off the compiled model.

Coordinates stand in MuJoCo's order. For hinges and slides q is qpos and v is qvel; `MujocoStates` turns what differs:
quaternions are x y z w here, and a free joint's linear velocity is in the axes of its link. The first keyframe, or the
one named "home", is the home of the robot; without one it is qpos0.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from appell.describe.build import Builder
from appell.describe.mjcf.drives import motors
from appell.describe.mjcf.engine import check_model, compiled, model_name, mujoco, word
from appell.describe.mjcf.findings import Findings, check_whole, scaled_gravity
from appell.describe.mjcf.lines import Lines
from appell.describe.mjcf.loops import equalities
from appell.describe.mjcf.screen import Documents
from appell.describe.mjcf.tree import ModelTree
from appell.describe.mjcf.visuals import read_visuals
from appell.describe.urdf.leniency import warn_of
from appell.errors import AppellError, DescriptionError
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
    """The robot of an MJCF document; `path` is the file it was read from, beside which it may name others."""
    if base != "fixed" or not mimic:
        option = "mimic=False" if base == "fixed" else f"base='{base}'"
        problem = f"{option} means nothing for MJCF, which says itself what moves."
        raise DescriptionError(problem, expected="<freejoint/> in the file", source=source)
    documents = Documents.of(text, source, None if path is None else path.parent)
    model, remarks = compiled(text, path, documents)
    return _robot(model, Lines(documents, source), physical, without, "", remarks)


def from_mujoco(
    model: Any, *, name: str | None = None, physical: bool = True, without: Iterable[str] = ()
) -> Robot | ConstrainedRobot:
    """The robot of a compiled model: from_mujoco(mujoco.MjModel.from_xml_path("arm.xml")).

    With equality constraints it is a constrained robot. What appell cannot honour is refused by name; `without` names
    kinds that are to be left out instead, such as "tendon", "actuator", "equality" or "fluid".
    """
    check_model(model)
    return _robot(model, Lines(None, ""), physical, without, name or "")


def _robot(
    model: Any, lines: Lines, physical: bool, without: Iterable[str], name: str, remarks: Iterable[str] = ()
) -> Robot | ConstrainedRobot:
    found = Findings(model, lines, without)
    check_whole(found)
    builder = Builder(
        name or model_name(model),
        root=None,
        gravity=scaled_gravity(found),
        home=coordinates(model, _home(model)),
        physical=physical,
        source=lines.source,
    )
    tree = ModelTree(found, builder, motors(found))
    constraints = list(equalities(found, tree, builder))
    read_visuals(found, tree, builder)
    found.flaws.tell()
    robot = builder.build()
    warn_of([*found.notes, *remarks], lines.source)
    return _closed(robot, constraints, lines) if constraints else robot


def _closed(robot: Robot, constraints: list, lines: Lines) -> ConstrainedRobot:
    try:
        return robot.with_loops(*(constraint for constraint, _ in constraints))
    except AppellError as error:
        told = "; ".join(part.problem.rstrip(".") for part in error.parts or (error,))
        named = [where for constraint, where in constraints if f"'{constraint.name}'" in told]
        hint = "without='equality' leaves out equality constraints"
        raise DescriptionError(f"{told}.", source=named[0] if named else lines.source, hint=hint) from error


def _home(model: Any) -> np.ndarray:
    engine = mujoco()
    names = [engine.mj_id2name(model, engine.mjtObj.mjOBJ_KEY, k) for k in range(model.nkey)]
    return model.key_qpos[names.index("home") if "home" in names else 0] if names else model.qpos0


def coordinates(model: Any, qpos: np.ndarray) -> list[float]:
    """qpos of MuJoCo as q: quaternions turned from w x y z to x y z w."""
    q, starts = [float(x) for x in qpos], {"free": 3, "ball": 0}
    for value, address in zip(model.jnt_type, model.jnt_qposadr, strict=True):
        if (kind := word("mjtJoint", value)) in starts:
            at = int(address) + starts[kind]
            q[at : at + 4] = [*q[at + 1 : at + 4], q[at]]
    return q
