"""Format MJCF: tags, lists of numbers, and poses as a position and a quaternion w x y z."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3


def pose_attributes(pose: Pose) -> dict[str, str]:
    """Return the attributes pos and quat of a pose; identities are omitted."""
    position = {"pos": numbers_text(pose.translation)} if any(pose.translation) else {}
    return position if pose.rotation == IDENTITY else {**position, "quat": numbers_text(quaternion(pose.rotation))}


def quaternion(R: Mat3) -> tuple[float, float, float, float]:
    """Return the quaternion w x y z of a rotation, computed from its largest component to avoid small divisors."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (tuple(row) for row in R.rows)
    rows = {
        1.0 + xx + yy + zz: (1.0 + xx + yy + zz, zy - yz, xz - zx, yx - xy),
        1.0 + xx - yy - zz: (zy - yz, 1.0 + xx - yy - zz, xy + yx, xz + zx),
        1.0 - xx + yy - zz: (xz - zx, xy + yx, 1.0 - xx + yy - zz, yz + zy),
        1.0 - xx - yy + zz: (yx - xy, xz + zx, yz + zy, 1.0 - xx - yy + zz),
    }
    row = rows[max(rows)]
    size = math.hypot(*row)
    w, x, y, z = (float(entry) / size for entry in row)
    return w, x, y, z


def tag(name: str, end: str = "", /, **attributes: str) -> str:
    """Return an XML tag; `end` is '/' for a tag without content."""
    return f"<{name}" + "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items()) + f"{end}>"


def numbers_text(values: Iterable[float] | Vec3) -> str:
    """Return numbers with all digits, separated by blanks."""
    return " ".join(repr(float(x)) for x in values)
