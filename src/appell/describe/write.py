"""Systems back to text, such that the text reads back to the same system, number for number.

Floats are written with all their digits. A rotation is written as roll, pitch and yaw where these give back exactly the
same matrix, and with the matrix itself where they do not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from appell.describe.files import read_text
from appell.describe.mjcf.write import left_out, mjcf_lines, reworded
from appell.describe.toml.constraints import constraint_lines, settings_lines
from appell.describe.toml.mechanism import mechanism_lines
from appell.describe.toml.write import toml_lines
from appell.describe.urdf.edit import edited_urdf
from appell.describe.urdf.write import unseen, urdf_lines
from appell.errors import ModelError, ModelWarning
from appell.files import write_text
from appell.model.mechanism import Mechanism
from appell.model.robot import ConstrainedRobot, Robot
from appell.model.system import System
from appell.model.visual import Visual


def to_urdf(robot: System, path: str | Path | None = None, *, like: str | Path | None = None) -> str:
    """The robot in URDF; with a path, also in that file: to_urdf(robot, "arm.urdf").

    `like` is the URDF file that the robot was once read from: its text is kept, visuals, comments, order and all, and
    only the numbers of bodies and actuators that differ are changed. A file of another robot is refused.

    Spherical joints and what stands in <appell> tags are for appell alone; the rest is for any reader of URDF. What
    other readers will not see of the actuators is named in one ModelWarning. Of an inertia, the upper triangle is
    written.
    """
    tree = _tree(robot)
    if lost := unseen(tree):
        told = f"{tree.owner}: URDF has no words for these, which readers other than appell will not see: {lost}."
        warnings.warn(told, ModelWarning, stacklevel=2)
    if like is None:
        _warn_of_looks(tree, "URDF", lambda own: own.triangles is None and own.shape != "ellipsoid")
        return _deliver(urdf_lines(tree), path)
    text = edited_urdf(read_text(Path(like)), tree)
    if text is None:
        raise ModelError(
            f"{tree.owner} differs from {like} in more than its bodies, friction and rotors.",
            hint="to_urdf without like=, which writes the robot anew",
        )
    return _deliver(text.split("\n"), path, end="")


def to_mjcf(system: System, path: str | Path | None = None) -> str:
    """The robot in MJCF, for MuJoCo; with a path, also in that file: to_mjcf(robot, "arm.xml").

    Points, welds and gears of two joints are written as equality constraints. Other constraints, bodies that MuJoCo
    does not take and free joints that do not stand on the world are refused; what MJCF has no words for otherwise, or
    says in other words, is named in one ModelWarning.
    """
    if not isinstance(system, (Robot, ConstrainedRobot)):
        problem = f"{system.owner} is no tree of links, which is what MJCF describes."
        raise ModelError(problem, hint="to_toml()")
    lines = mjcf_lines(system)
    if lost := left_out(system.tree):
        warnings.warn(f"{system.owner}: MJCF has no words for {lost}.", ModelWarning, stacklevel=2)
    if others := reworded(system.tree):
        warnings.warn(f"{system.owner}: in MJCF {others}.", ModelWarning, stacklevel=2)
    _warn_of_looks(system.tree, "MJCF", lambda own: own.shape != "mesh")
    return _deliver(lines, path)


def to_toml(system: System, path: str | Path | None = None) -> str:
    """The robot or mechanism in appell's own format; with a path, also in that file: to_toml(robot, "arm.toml")."""
    if isinstance(system, Mechanism):
        return _deliver(mechanism_lines(system), path)
    if isinstance(system, (Robot, ConstrainedRobot)):
        _warn_of_looks(system.tree, "TOML", lambda own: own.triangles is None)
    if isinstance(system, ConstrainedRobot):
        return _deliver([*toml_lines(system.tree, settings_lines(system)), *constraint_lines(system)], path)
    return _deliver(toml_lines(_tree(system)), path)


def _warn_of_looks(tree: Robot, format: str, is_written: Callable[[Visual], bool]) -> None:
    """Say which shapes a format, or its writer, has no words for."""
    lost = [own for own in tree.visuals if not is_written(own)]
    if lost:
        kinds = " and ".join(sorted({"meshes" if own.shape == "mesh" else f"{own.shape}s" for own in lost}))
        told = f"{tree.owner}: {len(lost)} of {len(tree.visuals)} shapes are not written to {format}: {kinds}."
        warnings.warn(told, ModelWarning, stacklevel=3)


def _tree(system: System) -> Robot:
    if not isinstance(system, Robot):
        inner = " or to_urdf(system.tree), without its loops" if isinstance(system, ConstrainedRobot) else ""
        problem = f"{system.owner} is no tree of links, which is all that URDF describes."
        raise ModelError(problem, hint=f"to_toml(){inner}")
    return system


def _deliver(lines: list[str], path: str | Path | None, end: str = "\n") -> str:
    text = "\n".join(lines) + end
    if path is not None:
        write_text(Path(path), text)
    return text
