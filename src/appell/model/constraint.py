"""Constraints on the motion of a tree of links: closed loops, gears, rolling wheels, prescribed motions.

A constraint consists of scalar rows. Every row restricts velocities; a row with a gap φ also restricts positions:

    K(q) v + b = 0                    for every row; where the row has a gap, φ(q) = 0 and φ̇ = K v + b

The multiplier of a row is a force or a moment; it acts on side a of a closure and in the opposite direction on side b.
Constraints are data. Their rows are formulated in `appell.formulate.constrained`.

A closure ties two frames, one on each side of a loop. Axes 1, 2, 3 of a frame are its x, y, z. Closures consist of
three kinds of rows: components of a - b, `along k` (the component of a - b along axis k of b) and `square ij` (axis i
of a perpendicular to axis j of b).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from appell.algebra.rotation import Pose, as_pose
from appell.algebra.scalar import Scalar, Vector
from appell.errors import AppellError, ArgumentError, ModelError, gathered, is_finite, unknown_name, value_text
from appell.model.frame import Frame
from appell.model.validate import Flaw

if TYPE_CHECKING:
    from appell.model.robot import Robot


FrameLike = str | Pose | None  # the name of a frame, a pose in the world, or the world itself
WORLD_NAME = "world"  # stands for the world where the name of a frame is expected


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """A restriction of a robot's motion in some directions."""

    kind: ClassVar[str]  # its name in robot files
    name: str = ""  # derived from the parts that it ties if empty

    def __post_init__(self):
        if not self.name:
            object.__setattr__(self, "name", self.default_name)

    @property
    @abstractmethod
    def default_name(self) -> str:
        """Name of the constraint if none is given."""

    @property
    @abstractmethod
    def row_labels(self) -> tuple[str, ...]:
        """One label per row."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.row_labels)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of each row, rad or m: its velocity is in rad/s or m/s."""
        return ("m",) * self.rows

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """For each row, whether it has a gap, that is, whether it restricts positions."""
        return (True,) * self.rows

    @property
    def drivable(self) -> tuple[str, ...]:
        """Labels of the rows whose motion can be prescribed as a function of time."""
        return ()

    @property
    def motions(self) -> tuple[str, ...]:
        """Labels of the rows whose motion is prescribed, each by a position, a velocity and an acceleration."""
        return ()

    @abstractmethod
    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        """Yield the reasons why this constraint cannot be added to a robot."""

    @property
    def owner(self) -> str:
        """Kind and name for messages: hinge 'tip-pin'."""
        return f"{self.kind} '{self.name}'"

    @property
    def culprit(self) -> tuple[str, str]:
        return self.kind, self.name


def frame_label(frame: FrameLike) -> str:
    """Name of a frame as part of a constraint's default name."""
    return frame if isinstance(frame, str) else WORLD_NAME


def in_world(frame: Any, what: str) -> FrameLike:
    """Return the name of a frame or None unchanged, and a place in the world as a pose.

    A place is a pose, a matrix of shape (4, 4) or (3, 4), a rotation, or a point of shape (3,), in m; `what` is its
    name in messages.
    """
    return frame if frame is None or isinstance(frame, str) else as_pose(frame, what)


def find_frame(robot: Robot, frame: FrameLike) -> Frame:
    """Look up a frame. The name `world` is the world, unless the robot has a frame of that name."""
    if frame is None or (frame == WORLD_NAME and WORLD_NAME not in robot.frame_names):
        return Frame(WORLD_NAME, None)
    return Frame(WORLD_NAME, None, frame) if isinstance(frame, Pose) else robot.frame(frame)


def is_finite_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and is_finite(value)


def is_positive(value: object) -> bool:
    return is_finite_real(value) and value > 0.0  # type: ignore[operator]


POSITION_LABELS, ROTATION_LABELS = ("x", "y", "z"), ("rx", "ry", "rz")
COAXIAL = ("square 13", "square 23")  # axes 3 of both frames are parallel


@dataclass(frozen=True)
class Closure(Constraint):
    """Base of the constraints that tie frame `a` to frame `b`, or to the world if `b` is None.

    `b` may also be a place in the world, as everything that `in_world` accepts.
    """

    labels: ClassVar[tuple[str, ...]]
    a: str
    b: FrameLike = None

    def __post_init__(self):
        if not isinstance(self.a, str):
            raise ArgumentError(
                f"frame a of a constraint of type '{self.kind}' is {value_text(self.a)}.",
                expected="the name of a frame",
                hint="Give a pose or a point of the world as frame b.",
            )
        object.__setattr__(self, "b", in_world(self.b, f"frame b of a constraint of type '{self.kind}'"))
        super().__post_init__()

    @property
    def default_name(self) -> str:
        return f"{frame_label(self.a)}-{frame_label(self.b)}"

    @property
    def row_labels(self) -> tuple[str, ...]:
        return self.labels

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple("rad" if label in ROTATION_LABELS or label.startswith("square") else "m" for label in self.labels)

    @property
    def drivable(self) -> tuple[str, ...]:
        return tuple(label for label in self.labels if label not in ROTATION_LABELS)

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from frame_flaws(self, robot, self.a, self.b)


class Point(Closure):
    """The origins of two frames coincide: a ball joint. The multipliers are the force on `a`, N, in the axes of b.

    Parameters
    ----------
    a : str
        Name of a frame of the robot.
    b : str, Pose or array, optional
        Name of the other frame, or a pose or a point (3,) in the world, in m. None: the origin of the world.
    name : str, keyword only
        Name of the constraint, `a-b` if empty.

    Examples
    --------
    >>> import appell as ap
    >>> bars = ap.load("four-bar").tree
    >>> robot = bars.with_loops(ap.Point("coupler tip", "rocker tip", name="pin"), actuated=["crank"])
    >>> robot
    <ConstrainedRobot four-bar (3 links, nq=3, nv=1, 3 rows of rank 2)>
    >>> robot.row_names
    ('pin.x', 'pin.y', 'pin.z')
    >>> robot.idle_rows  # the bars move in a plane, so the row along z is always satisfied
    ('pin.z',)
    """

    kind, labels = "point", POSITION_LABELS


class Orientation(Closure):
    """The axes of both frames are parallel. The multipliers are the moment on `a`."""

    kind, labels = "orientation", ROTATION_LABELS


class Weld(Closure):
    """Both frames coincide. The multipliers are the force and the moment on `a`."""

    kind, labels = "weld", POSITION_LABELS + ROTATION_LABELS


class Hinge(Closure):
    """The origins coincide and the z axes are parallel: b rotates on a about z."""

    kind, labels = "hinge", POSITION_LABELS + COAXIAL


class Universal(Closure):
    """The origins coincide and the z axes are perpendicular: a universal (Cardan) joint."""

    kind, labels = "universal", (*POSITION_LABELS, "square 33")


class Cylindrical(Closure):
    """The z axes coincide: b slides along z and rotates about it."""

    kind, labels = "cylinder", ("along 1", "along 2", *COAXIAL)


class Slider(Closure):
    """The z axes coincide: b slides along z without rotating."""

    kind, labels = "slider", (*Cylindrical.labels, "square 12")


class OnLine(Closure):
    """The origin of a stays on axis z of b."""

    kind, labels = "line", ("along 1", "along 2")


class OnPlane(Closure):
    """The origin of a stays in the x-y plane of b."""

    kind, labels = "plane", ("along 3",)


class Flat(Closure):
    """The x-y planes of both frames coincide."""

    kind, labels = "flat", ("along 3", *COAXIAL)


@dataclass(frozen=True)
class Distance(Closure):
    """The origins keep a fixed distance, as if joined by a massless rod. A positive multiplier pushes them apart.

    `length` is in m; None: the distance in the robot's start configuration.
    """

    kind, labels = "distance", ("length",)
    length: float | None = None

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.labels

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from super().flaws(robot)
        if self.length is not None and not is_positive(self.length):
            problem, expected = f"{self.owner} has length {value_text(self.length)}.", "a finite length above 0, in m"
            yield Flaw(self.culprit, problem, expected, "Use Point for two origins that coincide.")


def frame_flaws(constraint: Constraint, robot: Robot, a: FrameLike, b: FrameLike) -> Iterator[Flaw]:
    """Flaws of the two frames of a constraint: unknown names, or both frames on one link."""
    links = []
    for frame in (a, b):
        try:
            links.append(find_frame(robot, frame).body)
        except ModelError as error:
            yield Flaw(constraint.culprit, f"{constraint.owner} ties '{frame}'. {error.problem}")
    if len(links) == 2 and links[0] == links[1]:
        where = "in the world" if links[0] is None else f"on link '{links[0]}'"
        problem = f"{constraint.owner} of {robot.owner} ties '{frame_label(a)}' and '{frame_label(b)}', both {where}."
        yield Flaw(constraint.culprit, problem, "frames on two links, or on a link and the world")


@dataclass(frozen=True)
class Gear(Constraint):
    """One-axis joints that move in a fixed ratio, Σ cₖ qₖ = offset.

    `ratios` maps names of joints to the coefficients cₖ: `Gear({"roll": 1.0, "yaw": -0.5})` keeps roll = yaw / 2. A
    rack is a gear between a revolute and a prismatic joint whose ratio is a length. A single joint is held at `offset`
    divided by its ratio. The multiplier λ is a torque cₖ λ at each joint; a mimic joint stands for its leader.
    """

    kind: ClassVar[str] = "gear"
    ratios: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self):
        if isinstance(self.ratios, Mapping):
            object.__setattr__(self, "ratios", dict(self.ratios))
        super().__post_init__()

    def __hash__(self) -> int:
        return hash((self.name, frozenset(self.ratios.items()), self.offset))

    @property
    def default_name(self) -> str:
        return "-".join(map(str, self.ratios))

    @property
    def row_labels(self) -> tuple[str, ...]:
        return ("ratio",)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",)

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.row_labels

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        joints = {link.joint.name: link.joint for link in robot.links}
        if not isinstance(self.ratios, Mapping) or not self.ratios:
            expected = 'a dictionary from joint names to ratios, such as {"roll": 1.0, "yaw": -0.5}'
            yield Flaw(self.culprit, f"{self.owner} has ratios {self.ratios!r}.", expected)
            return
        for name, ratio in self.ratios.items():
            if name not in joints:
                sentence = unknown_name("joint", str(name), joints, robot.owner)
                yield Flaw(self.culprit, f"{self.owner} couples '{name}'. {sentence}")
            elif joints[name].motion.nv != 1:
                problem = f"{self.owner} couples joint '{name}', which is {joints[name].motion.name}."
                yield Flaw(self.culprit, problem, "joints of one axis", "Use Velocities for joints of several axes.")
            if not is_finite_real(ratio) or ratio == 0.0:
                problem = f"{self.owner} couples joint '{name}' with the ratio {value_text(ratio)}."
                yield Flaw(self.culprit, problem, "a finite number other than 0")
        if not is_finite_real(self.offset):
            yield Flaw(self.culprit, f"{self.owner} has offset {value_text(self.offset)}.", "a finite number")


@dataclass(frozen=True)
class Velocities(Constraint):
    """Custom rows A(q) v = b(q) on the velocities of the tree.

    `function(q)` returns the rows of A and the right-hand sides b, one per label, as a function of the tree's q. Write
    it with scalars (`ap.sin`, `ap.sqrt`, `ap.select`); it is differentiated along the motion:

        Velocities(lambda q: ([[ap.sin(q[2]), -ap.cos(q[2]), 0.0]], [0.0]), name="blade")
    """

    kind: ClassVar[str] = "velocities"
    function: Callable[[Vector], tuple[Sequence[Vector], Vector]]
    labels: tuple[str, ...] = ("1",)
    units: tuple[str, ...] = ()  # rad or m for each row; m for all rows if empty

    @property
    def default_name(self) -> str:
        return getattr(self.function, "__name__", "velocities")

    @property
    def row_labels(self) -> tuple[str, ...]:
        return tuple(self.labels)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(self.units) or super().row_units

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return (False,) * self.rows

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.row_labels

    def table(self, q: Vector) -> list[list[Scalar]]:
        """The matrix [A b]."""
        A, b = self.function(q)
        return [[*row, right] for row, right in zip(A, b, strict=True)]

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        if isinstance(self.labels, str) or not self.rows or len(set(self.row_labels)) < self.rows:
            yield Flaw(self.culprit, f"{self.owner} has labels {self.labels!r}.", "a different label for each row")
            return
        if len(self.row_units) != self.rows or any(unit not in ("rad", "m") for unit in self.row_units):
            yield Flaw(self.culprit, f"{self.owner} has units {self.units!r}.", "rad or m for each row")
        expected = f"{self.rows} rows of nv = {robot.nv} numbers and as many right-hand sides: ([[...]], [...])"
        hint = "Write a function of the list q with appell.sin, cos, sqrt, select."
        try:
            shape = [len(row) - 1 for row in self.table([float(x) for x in robot.start])]
        except (AppellError, TypeError, ValueError, IndexError) as error:
            yield Flaw(self.culprit, f"{self.owner} cannot be computed: {error}.", expected, hint)
            return
        if shape != [robot.nv] * self.rows:
            yield Flaw(self.culprit, f"{self.owner} returns {_row_sizes(shape)}.", expected)


def _row_sizes(shape: Any) -> str:
    sizes = sorted(set(shape))
    return f"{len(shape)} rows of {' and '.join(map(str, sizes))} numbers" if shape else "no rows"


AXES = ("x", "y", "z")


class Wall(Protocol):
    """A curved surface such as `ap.Sphere` or `ap.Implicit`: its gap is positive in free space and zero on the wall.

    If it also has a method `distance`, that is the gap in metres everywhere, not only near the wall.
    """

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar: ...


@dataclass(frozen=True)
class Rolling(Constraint):
    """A wheel or ball that rolls without slipping. A wheel is a thin disk that may lean and steer.

    The multipliers are the force on the wheel, N: along its heading, to its left, and away from the plane.

    Parameters
    ----------
    frame : str
        Frame at the centre of the wheel.
    radius : float
        Radius, m.
    axis : {"x", "y", "z"}
        Axis of the frame about which the wheel is round.
    on : str, Pose or surface, optional
        Frame on whose x-y plane it rolls, on the side of positive z; or a surface of the world such as `ap.Sphere`.
        None: the x-y plane of the world.
    ball : bool
        Whether it is a ball, which has no axis.
    turning : float
        Rate at which the plane turns about its z axis, rad/s, if it turns without being a link.
    name : str, keyword only
        Name of the constraint, that of the frame if empty.

    Examples
    --------
    >>> import appell as ap
    >>> cart = ap.load("differential-drive").tree
    >>> robot = cart.with_loops(ap.Rolling("left", 0.1), ap.Rolling("right", 0.1), ap.Rolling("caster", 0.05))
    >>> robot
    <ConstrainedRobot differential-drive (5 links, nq=7, nv=2, 9 rows of rank 5)>
    >>> robot.row_names[:3]
    ('left.heading', 'left.lateral', 'left.normal')
    """

    kind: ClassVar[str] = "rolling"
    frame: str
    radius: float
    axis: str = "y"
    on: FrameLike | Wall = None
    ball: bool = False
    turning: float = 0.0

    def __post_init__(self):
        if isinstance(self.on, (np.ndarray, list, tuple)) or hasattr(self.on, "as_matrix"):
            object.__setattr__(self, "on", in_world(self.on, f"the ground of a wheel on frame '{self.frame}'"))
        super().__post_init__()

    @property
    def default_name(self) -> str:
        return str(self.frame)

    @property
    def row_labels(self) -> tuple[str, ...]:
        return ("tangent 1", "tangent 2", "normal") if self.ball else ("heading", "lateral", "normal")

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return False, False, True

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.row_labels

    @property
    def wall(self) -> Any:
        """Surface on which it rolls; None for a plane."""
        return None if self.on is None or isinstance(self.on, (str, Pose)) else self.on

    @property
    def ground(self) -> FrameLike:
        """Frame on whose plane it rolls, or in which the surface is given."""
        return None if self.wall is not None else self.on  # type: ignore[return-value]

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        if self.wall is not None and not callable(getattr(self.wall, "gap", None)):
            expected = "None for the ground, the name of a frame, or a surface such as ap.Sphere(2.0)"
            yield Flaw(self.culprit, f"{self.owner} rolls on {self.on!r}.", expected)
            return
        yield from frame_flaws(self, robot, self.frame, self.ground)
        if not is_positive(self.radius):
            problem = f"{self.owner} has radius {value_text(self.radius)}."
            yield Flaw(self.culprit, problem, "a finite radius above 0, in m")
        if not self.ball and self.axis not in AXES:
            sentence = unknown_name("axis", str(self.axis), AXES, "A frame")
            hint = "Give the axis of the frame about which the wheel is round, or ball=True for a ball."
            yield Flaw(self.culprit, f"{self.owner} has axis '{self.axis}'. {sentence}", hint=hint)
        if not is_finite_real(self.turning):
            problem = f"{self.owner} rolls on a plane that turns at {value_text(self.turning)}."
            yield Flaw(self.culprit, problem, "a finite rate, in rad/s")
        elif self.turning and self.wall is not None:
            problem = f"{self.owner} rolls on a curved surface that turns."
            yield Flaw(self.culprit, problem, "a plane: only planes can turn (turning=)")


@dataclass(frozen=True)
class Skate(Constraint):
    """A blade, or a wheel of which only the heading matters: no velocity along the axis `across` of a frame.

    The velocity is relative to the frame `on`, the world if None. The multiplier is the force on the blade along the
    axis, N.
    """

    kind: ClassVar[str] = "skate"
    frame: str
    across: str = "y"
    on: FrameLike = None

    def __post_init__(self):
        object.__setattr__(self, "on", in_world(self.on, f"the ground of a skate on frame '{self.frame}'"))
        super().__post_init__()

    @property
    def default_name(self) -> str:
        return str(self.frame)

    @property
    def row_labels(self) -> tuple[str, ...]:
        return ("across",)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return (False,)

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.row_labels

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from frame_flaws(self, robot, self.frame, self.on)
        if self.across not in AXES:
            sentence = unknown_name("axis", str(self.across), AXES, "A frame")
            yield Flaw(self.culprit, f"{self.owner} blocks motion along '{self.across}'. {sentence}")


@dataclass(frozen=True)
class Prescribed(Constraint):
    """A constraint whose rows follow a prescribed motion s(t) instead of 0.

    Position, velocity and acceleration of every prescribed motion become inputs of the functions of the robot; the
    multiplier is the force of the drive. A point is driven along the axes of b; s is added to the offset of a gear and
    to the length of a distance. Where a row restricts velocities only, s itself has no effect.

    Parameters
    ----------
    constraint : Constraint
        The constraint whose rows follow the motion.
    labels : tuple of str
        Labels of the rows that do. Empty: all rows that can be prescribed.
    name : str, keyword only
        Name of the constraint, that of `constraint` if empty.

    Examples
    --------
    >>> import appell as ap
    >>> arm = ap.load("planar-2r")
    >>> robot = arm.with_loops(ap.Prescribed(ap.Gear({"shoulder": 1.0})))
    >>> robot.prescribed, robot.velocity_names
    (('shoulder',), ('elbow',))
    """

    kind: ClassVar[str] = "prescribed"
    constraint: Constraint
    labels: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.labels and isinstance(self.constraint, Constraint):
            object.__setattr__(self, "labels", self.constraint.drivable)
        super().__post_init__()

    @property
    def default_name(self) -> str:
        return getattr(self.constraint, "name", "")

    @property
    def row_labels(self) -> tuple[str, ...]:
        return self.constraint.row_labels

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.constraint.row_units

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return self.constraint.holonomic

    @property
    def motions(self) -> tuple[str, ...]:
        return tuple(label for label in self.row_labels if label in self.labels)

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from self.constraint.flaws(robot)
        if not self.constraint.drivable:
            problem = f"{self.constraint.owner} has no row whose motion can be prescribed."
            hint = "Use Gear for the motion of a joint, or add a link on a joint whose motion is prescribed."
            yield Flaw(self.culprit, problem, "a constraint that measures a position, a length or a velocity", hint)
        for label in self.labels:
            if label not in self.constraint.drivable:
                sentence = unknown_name("motion", str(label), self.constraint.drivable, self.constraint.owner)
                yield Flaw(self.culprit, sentence)


def check_constraints(robot: Robot, constraints: Sequence[Constraint]) -> None:
    """Raise a ModelError with all reasons why these constraints cannot be added to a robot."""
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ArgumentError(
                f"{constraint!r} is not a constraint.",
                expected="a constraint such as Point('tip', 'pin') or Rolling('wheel', 0.1)",
            )
    flaws = [*_name_flaws(constraints), *(flaw for constraint in constraints for flaw in constraint.flaws(robot))]
    if flaws:
        raise gathered([flaw.error(robot.source) for flaw in flaws], robot.source or robot.owner, ModelError)


def _name_flaws(constraints: Sequence[Constraint]) -> Iterator[Flaw]:
    for name, count in Counter(constraint.name for constraint in constraints).items():
        if not isinstance(name, str):
            yield Flaw(("loop", str(name)), f"a constraint is named {name!r}.", "a string")
        elif count > 1:
            kinds = ", ".join(constraint.kind for constraint in constraints if constraint.name == name)
            problem = f"{count} constraints are named '{name}': {kinds}."
            yield Flaw(("loop", name), problem, "unique names", "Pass name='...' to each of them.")


__all__ = [
    "Closure",
    "Constraint",
    "Cylindrical",
    "Distance",
    "Flat",
    "Gear",
    "Hinge",
    "OnLine",
    "OnPlane",
    "Orientation",
    "Point",
    "Prescribed",
    "Rolling",
    "Skate",
    "Slider",
    "Universal",
    "Velocities",
    "Weld",
    "check_constraints",
]
