"""Denavit-Hartenberg tables, in both conventions.

Modified (Craig, proximal): link i carries its frame on its own joint axis,

    R = Rx(twist) Rz(angle),    s = [length, -offset sin twist, offset cos twist]                      (1)

Standard (distal): frame i is at the distal end of link i, and joint i rotates about z of frame i-1,

    frame i-1 -> frame i:   Rz(angle) Tz(offset) Tx(length) Rx(twist)                                  (2)

The frame of a robot's link is on its joint. A standard row is therefore split in two: the part before the motion,
Rz(angle) (and Tz(offset) for a prismatic joint), is the placement of the joint on the previous frame; the rest is the
pose of frame i on the link, kept as the named frame 'frame<i>'. Inertia given in frame i is moved to the link by that
pose.

The coordinate of a revolute joint is added to `angle`, that of a prismatic joint to `offset`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from appell.algebra.rotation import Pose, as_pose
from appell.algebra.vector import Vec3
from appell.describe.build import Builder
from appell.describe.values import body_from, number, numbers, shortened
from appell.errors import DescriptionError
from appell.model.actuator import IDEAL, Actuator
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import Prismatic, Revolute
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import GRAVITY, Robot

KINDS = {"revolute": Revolute, "prismatic": Prismatic}
CONVENTIONS = ("modified", "standard")
Row = TypeVar("Row")


SYMBOLS = {"alpha": "twist", "a": "length", "d": "offset", "theta": "angle"}  # parameters by their usual symbols


def _named_parameters(cls: type[Row]) -> type[Row]:
    """Make the constructor of a class reject the symbols of the parameters by name."""
    construct = cls.__init__

    @wraps(construct)
    def checked(self: Row, *values: Any, **named: Any) -> None:
        if symbols := [key for key in named if key in SYMBOLS]:
            problem = f"a DH row has no parameter {' or '.join(symbols)}."
            expected = "twist (alpha), length (a), offset (d) and angle (theta)"
            hint = f"Write {', '.join(f'{SYMBOLS[key]}=' for key in symbols)} instead."
            raise DescriptionError(problem, expected=expected, hint=hint)
        construct(self, *values, **named)

    cls.__init__ = checked  # type: ignore[method-assign, assignment]
    return cls


@_named_parameters
@dataclass(frozen=True)
class DH:
    """One row of a Denavit-Hartenberg table.

    Parameters
    ----------
    twist : α, rad
    length : a, m
    offset : d, m; the coordinate of a prismatic joint is added to it
    angle : θ, rad; the coordinate of a revolute joint is added to it
    kind : "revolute" or "prismatic"
    mass : kg; 0 for a massless link, None if unknown
    com : centre of mass in the frame of the row, m
    inertia : inertia about the centre of mass in the frame of the row, kg m²: three principal moments, six entries
        (xx, xy, xz, yy, yz, zz) or a 3x3 matrix
    limits : lower and upper limit of the joint, rad or m
    actuator : actuator of the joint
    name : name of the link; 'link<i>' by default
    joint : name of the joint; 'joint<i>' by default
    """

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
    rows: Iterable[DH] | Iterable[Iterable[float]],
    convention: str = "modified",
    *,
    columns: Sequence[str] | None = None,
    name: str = "robot",
    base: Pose = IDENTITY_POSE,
    tool: Pose = IDENTITY_POSE,
    gravity: Iterable[float] = GRAVITY,
    home: Iterable[float] | None = None,
    physical: bool = True,
) -> Robot:
    """Return the serial robot of a Denavit-Hartenberg table.

    Parameters
    ----------
    rows : one `DH` row per joint, from the base to the tool; or, with `columns`, a table of numbers, such as an array
        of shape (n, 4)
    columns : what the columns of a table are, such as ("twist", "length", "offset", "angle") or ("alpha", "a", "d",
        "theta"); their order differs between textbooks
    convention : "modified" (Craig) or "standard"
    name : name of the robot
    base : pose of frame 0 in the world
    tool : pose of the frame 'tool' in the last frame of the table
    gravity : gravitational acceleration in world axes, m/s²
    home : initial configuration (n,), rad or m; zeros by default
    physical : whether bodies that cannot exist are rejected

    Returns
    -------
    A `Robot` with links 'link1', 'link2', ..., joints 'joint1', ... (unless the rows name them) and the frame 'tool'.

    Raises
    ------
    DescriptionError
        If the table is empty, or the convention or a value of a row is not valid.

    Examples
    --------
    >>> import appell as ap
    >>> rod = dict(mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    >>> arm = ap.from_dh([ap.DH(**rod), ap.DH(length=1.0, **rod)], gravity=(0, -9.81, 0))
    >>> ap.Dynamics(arm).gravity([0.0, 0.0]).round(3)
    array([19.62 ,  4.905])
    >>> ap.from_dh([[0.0, 0.3, 0.0, 0.1], [1.57, 0.2, 0.0, 0.0]], columns=["alpha", "a", "d", "theta"]).nv
    2
    """
    builder = Builder(name, at=base, gravity=gravity, home=home, physical=physical)
    table: Sequence = list(rows) if columns is None else _rows_of_table(rows, columns)
    add_rows(builder, table, convention, as_pose(tool, "tool"))
    return builder.build()


def _rows_of_table(table: Iterable, columns: Sequence[str]) -> list[DH]:
    """Return the rows of a table of numbers whose columns are named."""
    names = [SYMBOLS.get(name, name) for name in columns]
    if len(set(names)) != len(names) or not set(names) <= set(SYMBOLS.values()):
        expected = "each at most once of twist (alpha), length (a), offset (d) and angle (theta)"
        raise DescriptionError(f"the columns of the DH table are {', '.join(map(str, columns))}.", expected=expected)
    checked = (numbers(row, len(names), f"row {i} of the DH table") for i, row in enumerate(table, start=1))
    parameters: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in checked]
    return [DH(**row) for row in parameters]


def add_rows(
    builder: Builder,
    rows: Sequence[DH],
    convention: str,
    tool: Pose = IDENTITY_POSE,
    where: str = "",
    row_sources: Sequence[str] = (),
) -> None:
    """Add the links of a table to a builder.

    Parameters
    ----------
    builder : receives the links, the first of them on its root
    rows, convention, tool : as in `from_dh`
    where : file and line of the convention, for messages
    row_sources : file and line of every row, for messages
    """
    if convention not in CONVENTIONS:
        raise DescriptionError(f"the DH convention is {convention!r}.", expected=" or ".join(CONVENTIONS), source=where)
    rows = list(rows)
    if not rows:
        raise DescriptionError("the DH table has no rows.", source=where)
    parent, before = None, IDENTITY_POSE
    for i, row in enumerate(rows, start=1):
        source = row_sources[i - 1] if row_sources else where
        if not isinstance(row, DH):
            problem = f"row {i} of the DH table is {shortened(row)}."
            expected = "DH(twist=..., length=..., offset=..., angle=...)"
            hint = (
                'Name the numbers of a row, or pass columns=("twist", "length", "offset", "angle") in the order of '
                "your table, because it differs between textbooks."
            )
            raise DescriptionError(problem, expected=expected, source=source, hint=hint)
        link = row.name or f"link{i}"
        to_joint, to_frame = _split_row(row, convention, f"row {i} of the DH table", source)
        body = body_from(None, row.mass, row.com, row.inertia, f"link '{link}'", source)
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
            where=source,
        )
        if convention == "standard":
            builder.frame(f"frame{i}", on=link, at=to_frame)
        parent, before = link, to_frame
    builder.frame("tool", on=parent, at=before @ tool)


def check_row(row: DH, owner: str, where: str) -> None:
    """Raise if a row is not valid, before any row is added."""
    _split_row(row, CONVENTIONS[0], owner, where)
    body_from(None, row.mass, row.com, row.inertia, owner, where)


def _split_row(row: DH, convention: str, owner: str, where: str) -> tuple[Pose, Pose]:
    """Return the poses of the joint in the previous frame, and of the row's frame on the joint."""
    if row.kind not in KINDS:
        raise DescriptionError(f"{owner} has kind {row.kind!r}.", expected=" or ".join(KINDS), source=where)
    twist, length, offset, angle = (
        number(getattr(row, key), f"the {key} of {owner}", where) for key in ("twist", "length", "offset", "angle")
    )
    along_x = Pose.from_rpy(Vec3(twist, 0.0, 0.0), Vec3(length, 0.0, 0.0))
    about_z, along_z = Pose.from_rpy(Vec3(0.0, 0.0, angle)), Pose(translation=Vec3(0.0, 0.0, offset))
    if convention == "modified":
        return along_x @ along_z @ about_z, IDENTITY_POSE  # (1)
    if row.kind == "prismatic":
        return about_z @ along_z, along_x
    return about_z, along_z @ along_x  # (2), split at the motion
