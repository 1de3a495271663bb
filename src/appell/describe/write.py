"""Write systems as text that reads back as the same system, number for number.

Floats are written with all digits. A rotation is written as roll, pitch and yaw if these reproduce exactly the same
matrix, otherwise the matrix itself is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from appell.describe.files import read_text
from appell.describe.mjcf.write import changed_in_mjcf, lost_in_mjcf, mjcf_lines
from appell.describe.toml.constraints import constraint_lines, settings_lines
from appell.describe.toml.mechanism import mechanism_lines
from appell.describe.toml.write import toml_lines
from appell.describe.urdf.edit import edited_urdf
from appell.describe.urdf.write import UNKNOWN_TO_URDF, nonstandard_actuators, urdf_lines
from appell.errors import ModelError, ModelWarning
from appell.files import check_target, write_text
from appell.model.mechanism import Mechanism
from appell.model.robot import ConstrainedRobot, Robot
from appell.model.system import System


def to_urdf(
    robot: System, path: str | Path | None = None, *, like: str | Path | None = None, overwrite: bool = False
) -> str:
    """Return a robot as URDF text and, if a path is given, write it to that file.

    Parameters
    ----------
    robot : a tree without loops
    path : file to write
    like : URDF file from which the robot was read. Its text is kept, with visuals, comments and order, and only the
        numbers of bodies, joint placements and actuators that differ are changed.
    overwrite : whether to replace an existing file

    Raises
    ------
    ModelError
        If the system is not a tree, or differs from the file `like` in more than its bodies, joint placements,
        friction, rotors and gears.
    ArgumentError
        If the file exists or cannot be written.

    Warns
    -----
    ModelWarning
        For actuator data that URDF cannot express. They are written in <appell> tags, which other readers ignore, as
        are spherical joints.

    Notes
    -----
    Only the upper triangle of an inertia is written.

    Examples
    --------
    >>> import appell as ap
    >>> text = ap.to_urdf(ap.load("pendulum"))
    >>> ap.load(text).link_names
    ('rod',)
    """
    tree = _without_modes(_tree(robot), "URDF")
    if lost := nonstandard_actuators(tree):
        message = f"{tree.owner}: URDF cannot express these values, which readers other than appell ignore: {lost}."
        warnings.warn(message, ModelWarning, stacklevel=2)
    if like is None:
        _warn_unwritten(tree, "URDF", lambda shape: shape.triangles is None and shape.shape not in UNKNOWN_TO_URDF)
        return _deliver(urdf_lines(tree), path, overwrite)
    text = edited_urdf(read_text(Path(like)), tree)
    if text is None:
        raise ModelError(
            f"{tree.owner} differs from {like} in more than its bodies, joint placements, friction, rotors and gears.",
            hint="Call to_urdf without like= to write a new file.",
        )
    return _deliver(text.split("\n"), path, overwrite, end="")


def to_mjcf(system: System, path: str | Path | None = None, *, overwrite: bool = False) -> str:
    """Return a robot as MJCF text for MuJoCo and, if a path is given, write it to that file.

    Point and weld constraints and gears between two joints are written as equality constraints.

    Parameters
    ----------
    system : a tree, with or without constraints
    path : file to write
    overwrite : whether to replace an existing file

    Raises
    ------
    ModelError
        If the system is not a tree, has other constraints, a body that MuJoCo does not accept (such as a moving body
        without mass), or a floating joint that is not at the origin of the world.

    Warns
    -----
    ModelWarning
        For values that MJCF cannot express, and for joints whose coordinates differ in MJCF.

    Examples
    --------
    >>> import appell as ap
    >>> print(ap.to_mjcf(ap.load("pendulum")).splitlines()[1])
    <mujoco model="pendulum">
    """
    if not isinstance(system, (Robot, ConstrainedRobot)):
        problem = f"{system.owner} cannot be written as MJCF, because it is not a tree of links."
        raise ModelError(problem, hint="Use to_toml().")
    if isinstance(system, Robot):
        system = _without_modes(system, "MJCF")
    lines = mjcf_lines(system)
    if lost := lost_in_mjcf(system.tree):
        warnings.warn(f"{system.owner}: MJCF cannot express {lost}.", ModelWarning, stacklevel=2)
    if changed := changed_in_mjcf(system.tree):
        warnings.warn(f"{system.owner}: in MJCF, {changed}.", ModelWarning, stacklevel=2)
    _warn_unwritten(system.tree, "MJCF", lambda visual: visual.shape != "mesh")
    return _deliver(lines, path, overwrite)


def _without_modes(robot: Robot, language: str) -> Robot:
    """Return a robot of rigid links, with a warning that names the flexible ones."""
    if not robot.flexible:
        return robot
    names = ", ".join(f"'{link.name}'" for link in robot.flexible)
    message = f"{robot.owner}: {language} cannot express flexible links; {names} are written as rigid. Use to_toml()."
    warnings.warn(message, ModelWarning, stacklevel=3)
    return robot.rigid


def to_toml(system: System, path: str | Path | None = None, *, overwrite: bool = False) -> str:
    """Return a robot or mechanism in appell's TOML format and, if a path is given, write it to that file.

    Parameters
    ----------
    system : any system
    path : file to write
    overwrite : whether to replace an existing file

    Raises
    ------
    ModelError
        If the system contains Python functions that a file cannot express, such as a mechanism that is not in the zoo.

    Examples
    --------
    >>> import appell as ap
    >>> print(ap.to_toml(ap.load("pendulum")).splitlines()[0])
    name = "pendulum"
    """
    if isinstance(system, Mechanism):
        return _deliver(mechanism_lines(system), path, overwrite)
    if isinstance(system, (Robot, ConstrainedRobot)):
        _warn_unwritten(system.tree, "TOML", lambda visual: visual.triangles is None)
    if isinstance(system, ConstrainedRobot):
        lines = [*toml_lines(system.tree, settings_lines(system)), *constraint_lines(system)]
        return _deliver(lines, path, overwrite)
    return _deliver(toml_lines(_tree(system)), path, overwrite)


def _warn_unwritten(tree: Robot, format: str, is_written: Callable[[Any], bool]) -> None:
    """Warn about shapes that a format, or its writer, does not support."""
    sentences = []
    collisions: tuple[Any, ...] = tree.collisions if format != "MJCF" else ()
    for what, shapes in (("shapes", tree.visuals), ("collision shapes", collisions)):
        lost = [shape for shape in shapes if not is_written(shape)]
        if lost:
            kinds = " and ".join(sorted({"meshes" if shape.shape == "mesh" else f"{shape.shape}s" for shape in lost}))
            sentences.append(f"{len(lost)} of {len(shapes)} {what} are not written to {format}: {kinds}.")
    if sentences:
        message = f"{tree.owner}: {' '.join(sentences)}"
        warnings.warn(message, ModelWarning, stacklevel=3)


def _tree(system: System) -> Robot:
    if not isinstance(system, Robot):
        alternative = ", or to_urdf(system.tree) without the loops" if isinstance(system, ConstrainedRobot) else ""
        problem = f"{system.owner} cannot be written as URDF, because it is not a tree of links."
        raise ModelError(problem, hint=f"Use to_toml(){alternative}.")
    return system


def _deliver(lines: list[str], path: str | Path | None, overwrite: bool, end: str = "\n") -> str:
    text = "\n".join(lines) + end
    if path is not None:
        write_text(check_target(path, overwrite=overwrite), text, "the robot")
    return text
