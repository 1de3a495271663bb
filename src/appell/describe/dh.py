"""Denavit-Hartenberg tables, in both conventions.

Modified (Craig, proximal): link i carries its frame on its own joint axis,

    R = Rx(twist) Rz(angle),    s = [length, -offset sin twist, offset cos twist]                      (1)

Standard (distal): frame i sits at the far end of link i, and joint i turns about z of frame i-1,

    frame i-1 -> frame i:   Rz(angle) Tz(offset) Tx(length) Rx(twist)                                  (2)

A robot's links carry their frames on their joints. So a standard row is cut in two: what stands before the motion,
Rz(angle) (and Tz(offset) of a prismatic joint), places the joint on the frame before it; the rest places frame i on the
link, as the named frame 'frame<i>'. The matter given in frame i is moved to the link by that pose.

The coordinate of a revolute joint is added to `angle`, that of a prismatic joint to `offset`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.build import Builder
from appell.describe.values import matter, number
from appell.errors import DescriptionError
from appell.model.actuator import IDEAL, Actuator
from appell.model.frame import IN_PLACE
from appell.model.joints import Prismatic, Revolute
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import GRAVITY, Robot

KINDS = {"revolute": Revolute, "prismatic": Prismatic}
CONVENTIONS = ("modified", "standard")


@dataclass(frozen=True)
class DH:
    """One row: twist (α) and angle (θ) in rad, length (a) and offset (d) in m; matter in the frame of the row."""

    twist: float = 0.0
    length: float = 0.0
    offset: float = 0.0
    angle: float = 0.0
    kind: str = "revolute"
    mass: float | None = None
    com: Iterable[float] | None = None
    inertia: Iterable | None = None
    limits: Limits | tuple[float, float] = NO_LIMITS
    actuator: Actuator = IDEAL
    name: str = ""
    joint: str = ""


def from_dh(
    rows: Sequence[DH],
    convention: str = "modified",
    *,
    name: str = "robot",
    base: Pose = IN_PLACE,
    tool: Pose = IN_PLACE,
    gravity: Iterable[float] = GRAVITY,
    home: Iterable[float] | None = None,
    physical: bool = True,
) -> Robot:
    """The serial robot of a table; `base` places frame 0 in the world, `tool` the frame 'tool' in the last frame."""
    builder = Builder(name, at=base, gravity=gravity, home=home, physical=physical)
    add_rows(builder, rows, convention, tool)
    return builder.build()


def add_rows(
    builder: Builder,
    rows: Sequence[DH],
    convention: str,
    tool: Pose = IN_PLACE,
    where: str = "",
    places: Sequence[str] = (),
) -> None:
    """Stand the links of a table on the root of a builder; `places` are where its rows were read."""
    if convention not in CONVENTIONS:
        raise DescriptionError(f"the DH convention is '{convention}'.", expected=" or ".join(CONVENTIONS), source=where)
    if not rows:
        raise DescriptionError("a DH table without rows describes no robot.", source=where)
    parent, before = None, IN_PLACE
    for i, row in enumerate(rows, start=1):
        link, at = row.name or f"link{i}", places[i - 1] if places else where
        to_joint, to_frame = _halves(row, convention, f"row {i} of the DH table", at)
        body = matter(None, row.mass, row.com, row.inertia, f"link '{link}'", at)
        builder.link(
            link,
            KINDS[row.kind](),
            parent=parent,
            at=before @ to_joint,
            mass=row.mass if body is None else None,
            body=None if body is None else body.moved(to_frame),
            joint_name=row.joint or f"joint{i}",
            limits=row.limits,
            actuator=row.actuator,
            where=at,
        )
        if convention == "standard":
            builder.frame(f"frame{i}", on=link, at=to_frame)
        parent, before = link, to_frame
    builder.frame("tool", on=parent, at=before @ tool)


def check_row(row: DH, who: str, where: str) -> None:
    """Raise if a row cannot be read, before any row is added."""
    _halves(row, CONVENTIONS[0], who, where)
    matter(None, row.mass, row.com, row.inertia, who, where)


def _halves(row: DH, convention: str, who: str, where: str) -> tuple[Pose, Pose]:
    """From the frame before to the joint, and from the joint to the row's own frame."""
    if row.kind not in KINDS:
        raise DescriptionError(f"{who} has kind '{row.kind}'.", expected=" or ".join(KINDS), source=where)
    twist, length, offset, angle = (
        number(getattr(row, key), f"the {key} of {who}", where) for key in ("twist", "length", "offset", "angle")
    )
    along_x = Pose.from_rpy(Vec3(twist, 0.0, 0.0), Vec3(length, 0.0, 0.0))
    turn, rise = Pose.from_rpy(Vec3(0.0, 0.0, angle)), Pose(translation=Vec3(0.0, 0.0, offset))
    if convention == "modified":
        return along_x @ rise @ turn, IN_PLACE  # (1)
    if row.kind == "prismatic":
        return turn @ rise, along_x
    return turn, rise @ along_x  # (2), cut at the motion
