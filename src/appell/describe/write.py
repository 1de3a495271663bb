"""Robots back to text, such that the text reads back to the same robot, number for number.

Floats are written with all their digits. A rotation is written as roll, pitch and yaw where these give back exactly the
same matrix, and with the matrix itself where they do not.
"""

from __future__ import annotations

from pathlib import Path

from appell.describe.files import write_text
from appell.describe.write_toml import toml_lines
from appell.describe.write_urdf import urdf_lines
from appell.model.robot import Robot


def to_urdf(robot: Robot, path: str | Path | None = None) -> str:
    """The robot in URDF; with a path, also in that file.

    Spherical joints and what stands in <appell> tags are for appell alone; the rest is for any reader of URDF. Of an
    inertia, the upper triangle is written.
    """
    return _deliver(urdf_lines(robot), path)


def to_toml(robot: Robot, path: str | Path | None = None) -> str:
    """The robot in appell's own format; with a path, also in that file."""
    return _deliver(toml_lines(robot), path)


def _deliver(lines: list[str], path: str | Path | None) -> str:
    text = "\n".join(lines) + "\n"
    if path is not None:
        write_text(Path(path), text)
    return text
