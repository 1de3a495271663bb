"""Format MJCF: tags, lists of numbers, and poses as a position and a quaternion w x y z."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose, quaternion_of
from appell.algebra.vector import Vec3


def pose_attributes(pose: Pose) -> dict[str, str]:
    """Return the attributes pos and quat of a pose; identities are omitted."""
    position = {"pos": numbers_text(pose.translation)} if any(pose.translation) else {}
    return position if pose.rotation == IDENTITY else {**position, "quat": numbers_text(quaternion(pose.rotation))}


def quaternion(R: Mat3) -> tuple[float, float, float, float]:
    """Return the quaternion w x y z of a rotation."""
    x, y, z, w = quaternion_of(R)
    return w, x, y, z


def tag(name: str, end: str = "", /, **attributes: str) -> str:
    """Return an XML tag; `end` is '/' for a tag without content."""
    return f"<{name}" + "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items()) + f"{end}>"


def numbers_text(values: Iterable[float] | Vec3) -> str:
    """Return numbers with all digits, separated by blanks."""
    return " ".join(repr(float(x)) for x in values)
