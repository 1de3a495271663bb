"""A constraint: rows on top of a tree of links, that tie velocities and, most of them, positions.

    K(q) v + b = 0                    of every row; where the row has a gap, φ(q) = 0 and φ̇ = K v + b

A multiplier of a row is a force or a moment: on side a of a closure, and its opposite on side b. Constraints are data;
their rows are written in `appell.formulate.constrained`.

Closures: what two frames keep in common, one on each side of a loop.

Axes 1, 2, 3 of a frame are its x, y, z. Rows of three kinds make all closures: components of a - b, `along k` (the
component along axis k of b) and `square ij` (axis i of a at a right angle to axis j of b).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector
from appell.errors import AppellError, ArgumentError, ModelError, gathered, unknown_name
from appell.model.frame import Frame
from appell.model.validate import Flaw

if TYPE_CHECKING:
    from appell.model.robot import Robot


Place = str | Pose | None  # a frame by its name, a place in the world, or the world itself
GROUND = "world"  # how the world is called where a frame's name is expected


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """Something that keeps a robot from moving in some directions."""

    kind: ClassVar[str]  # what it is called in files
    name: str = ""  # of its own, or made of what it ties

    def __post_init__(self):
        if not self.name:
            object.__setattr__(self, "name", self.usual_name)

    @property
    @abstractmethod
    def usual_name(self) -> str:
        """Its name if none is given."""

    @property
    @abstractmethod
    def row_labels(self) -> tuple[str, ...]:
        """A label for every row."""

    @property
    def rows(self) -> int:
        return len(self.row_labels)

    @property
    def row_units(self) -> tuple[str, ...]:
        """rad or m: what the velocity in a row is the rate of."""
        return ("m",) * self.rows

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Of every row, whether it ties positions: whether it has a gap."""
        return (True,) * self.rows

    @property
    def drivable(self) -> tuple[str, ...]:
        """The rows that measure something, which may be prescribed as a function of time."""
        return ()

    @property
    def motions(self) -> tuple[str, ...]:
        """The rows whose motion is prescribed, each by three numbers: position, velocity and acceleration."""
        return ()

    @abstractmethod
    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        """What keeps it from constraining this robot."""

    @property
    def owner(self) -> str:
        """How messages call it: hinge 'tip-pin'."""
        return f"{self.kind} '{self.name}'"

    @property
    def culprit(self) -> tuple[str, str]:
        return self.kind, self.name


def place_name(place: Place) -> str:
    """How a place is called in a name that is made of two."""
    return place if isinstance(place, str) else GROUND


def find_frame(robot: Robot, place: Place) -> Frame:
    """The frame that a place is: `world` is the world, unless the robot has a frame of that name."""
    if place is None or (place == GROUND and GROUND not in robot.frame_names):
        return Frame(GROUND, None)
    return Frame(GROUND, None, place) if isinstance(place, Pose) else robot.frame(place)


def is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_positive(value: object) -> bool:
    return is_finite(value) and value > 0.0  # type: ignore[operator]


POSITION, TURN = ("x", "y", "z"), ("rx", "ry", "rz")
COAXIAL = ("square 13", "square 23")  # axis 3 of both frames is one direction


@dataclass(frozen=True)
class Closure(Constraint):
    """Ties frame `a` to frame `b`, the world if None."""

    labels: ClassVar[tuple[str, ...]]
    a: str
    b: Place = None

    @property
    def usual_name(self) -> str:
        return f"{place_name(self.a)}-{place_name(self.b)}"

    @property
    def row_labels(self) -> tuple[str, ...]:
        return self.labels

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple("rad" if label in TURN or label.startswith("square") else "m" for label in self.labels)

    @property
    def drivable(self) -> tuple[str, ...]:
        return tuple(label for label in self.labels if label not in TURN)

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from tie_flaws(self, robot, self.a, self.b)


class Point(Closure):
    """The origins of both frames coincide: a ball joint. The multipliers are the force on a."""

    kind, labels = "point", POSITION


class Orientation(Closure):
    """The axes of both frames are parallel. The multipliers are the moment on a."""

    kind, labels = "orientation", TURN


class Weld(Closure):
    """Both frames coincide. The multipliers are the force and the moment on a."""

    kind, labels = "weld", POSITION + TURN


class Hinge(Closure):
    """The origins coincide, and axis z is shared: b turns on a."""

    kind, labels = "hinge", POSITION + COAXIAL


class Universal(Closure):
    """The origins coincide, and the axes z cross at a right angle: a cross of Cardan."""

    kind, labels = "universal", (*POSITION, "square 33")


class Cylindrical(Closure):
    """Axis z is shared, along which and about which b moves on a."""

    kind, labels = "cylinder", ("along 1", "along 2", *COAXIAL)


class Slider(Closure):
    """Axis z is shared, along which b slides on a without a turn."""

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
    """The origins keep a length apart, as on a rod without mass; a positive multiplier pushes them apart.

    Without a length it is that of the configuration in which the robot starts.
    """

    kind, labels = "distance", ("length",)
    length: float | None = None

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.labels

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from super().flaws(robot)
        if self.length is not None and not is_positive(self.length):
            problem, wanted = f"{self.owner} has length {self.length!r}.", "a finite length above 0, in m"
            yield Flaw(self.culprit, problem, wanted, "Point for two origins that coincide")


def tie_flaws(constraint: Constraint, robot: Robot, a: Place, b: Place) -> Iterator[Flaw]:
    """Flaws of two frames that are to be tied: unknown ones, or both on one link."""
    links = []
    for place in (a, b):
        try:
            links.append(find_frame(robot, place).body)
        except ModelError as error:
            yield Flaw(constraint.culprit, f"{constraint.owner} ties '{place}'. {error.problem}")
    if len(links) == 2 and links[0] == links[1]:
        where = "in the world" if links[0] is None else f"on link '{links[0]}'"
        problem = f"{constraint.owner} of {robot.owner} ties '{place_name(a)}' and '{place_name(b)}', both {where}."
        yield Flaw(constraint.culprit, problem, "frames on two links, or on a link and the world")


@dataclass(frozen=True)
class Gear(Constraint):
    """Joints of one axis that move in a fixed ratio: Gear({"roll": 1.0, "yaw": -0.5}) keeps roll = yaw / 2.

    A rack is a gear between a joint that turns and one that slides, its ratio a length. One joint alone is held at
    `offset` over its ratio. The multiplier λ is a torque cₖ λ at every joint; a mimic joint stands for its leader.
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
    def usual_name(self) -> str:
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
            expected = 'ratios by the names of joints, such as {"roll": 1.0, "yaw": -0.5}'
            yield Flaw(self.culprit, f"{self.owner} has ratios {self.ratios!r}.", expected)
            return
        for name, ratio in self.ratios.items():
            if name not in joints:
                sentence = unknown_name("joint", str(name), joints, robot.owner)
                yield Flaw(self.culprit, f"{self.owner} couples '{name}'. {sentence}")
            elif joints[name].motion.nv != 1:
                problem = f"{self.owner} couples joint '{name}', which is {joints[name].motion.name}."
                yield Flaw(self.culprit, problem, "joints of one axis", "Velocities for a ratio of several axes")
            if not is_finite(ratio) or ratio == 0.0:
                problem = f"{self.owner} couples joint '{name}' by the ratio {ratio!r}."
                yield Flaw(self.culprit, problem, "a finite number that is not 0")
        if not is_finite(self.offset):
            yield Flaw(self.culprit, f"{self.owner} has offset {self.offset!r}.", "a finite number")


@dataclass(frozen=True)
class Velocities(Constraint):
    """A(q) v = b(q) with a function of the tree's q that gives the rows of A and the numbers b, one for each label.

    It is written over scalars, with appell.sin, sqrt and select, and is differentiated along the motion:

        Velocities(lambda q: ([[ap.sin(q[2]), -ap.cos(q[2]), 0.0]], [0.0]), name="blade")
    """

    kind: ClassVar[str] = "velocities"
    function: Callable[[Vector], tuple[Sequence[Vector], Vector]]
    labels: tuple[str, ...] = ("1",)
    units: tuple[str, ...] = ()  # rad or m, of what each row is the rate; m if nothing is said

    @property
    def usual_name(self) -> str:
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
        """[A b], a row for each row."""
        A, b = self.function(q)
        return [[*row, right] for row, right in zip(A, b, strict=True)]

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        if isinstance(self.labels, str) or not self.rows or len(set(self.row_labels)) < self.rows:
            yield Flaw(self.culprit, f"{self.owner} has labels {self.labels!r}.", "a name for each of its rows")
            return
        if len(self.row_units) != self.rows or any(unit not in ("rad", "m") for unit in self.row_units):
            yield Flaw(self.culprit, f"{self.owner} has units {self.units!r}.", "rad or m for each of its rows")
        wanted = f"{self.rows} rows of nv = {robot.nv} numbers, and as many right sides: ([[...]], [...])"
        hint = "a function of the list q that is written with appell.sin, cos, sqrt, select"
        try:
            shape = [len(row) - 1 for row in self.table([float(x) for x in robot.start])]
        except (AppellError, TypeError, ValueError, IndexError) as error:
            yield Flaw(self.culprit, f"{self.owner} cannot be computed: {error}.", wanted, hint)
            return
        if shape != [robot.nv] * self.rows:
            yield Flaw(self.culprit, f"{self.owner} gives {_listed(shape)}.", wanted)


def _listed(shape: Any) -> str:
    sizes = sorted(set(shape))
    return f"{len(shape)} rows of {' and '.join(map(str, sizes))} numbers" if shape else "no rows"


AXES = ("x", "y", "z")


class Wall(Protocol):
    """A curved surface, positive where a body may be and zero on the wall, such as ap.Sphere or ap.Implicit.

    Where it also has a `distance`, that is the gap in metres wherever it is asked, not only near the wall.
    """

    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar: ...


@dataclass(frozen=True)
class Rolling(Constraint):
    """A wheel, or a ball, whose point of contact does not slip: Rolling("left", 0.1) on the ground.

    `frame` is at the centre, `axis` the one of its axes about which a wheel is round; a thin disk may lean and turn.
    It rolls on the x-y plane of the frame `on`, the world's if None, on the side to which z points; or on a surface of
    the world, such as ap.Sphere. A plate that turns about z without being a link has its rate in `turning` (rad/s).
    The multipliers are the force on the wheel: along its heading, to its left, and away from the plane.
    """

    kind: ClassVar[str] = "rolling"
    frame: str
    radius: float
    axis: str = "y"
    on: Place | Wall = None
    ball: bool = False
    turning: float = 0.0

    @property
    def usual_name(self) -> str:
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
        """The surface on which it rolls; None for a plane."""
        return None if self.on is None or isinstance(self.on, (str, Pose)) else self.on

    @property
    def ground(self) -> Place:
        """The frame on whose plane it rolls, or in which the surface is given."""
        return None if self.wall is not None else self.on  # type: ignore[return-value]

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        if self.wall is not None and not callable(getattr(self.wall, "gap", None)):
            expected = "None for the ground, a frame by its name, or a surface such as ap.Sphere(2.0)"
            yield Flaw(self.culprit, f"{self.owner} rolls on {self.on!r}.", expected)
            return
        yield from tie_flaws(self, robot, self.frame, self.ground)
        if not is_positive(self.radius):
            problem = f"{self.owner} has radius {self.radius!r}, which is no wheel."
            yield Flaw(self.culprit, problem, "a finite radius above 0, in m")
        if not self.ball and self.axis not in AXES:
            sentence = unknown_name("axis", str(self.axis), AXES, "A frame")
            hint = "the axis of the frame about which the wheel is round; ball=True for a ball"
            yield Flaw(self.culprit, f"{self.owner} turns about '{self.axis}'. {sentence}", hint=hint)
        if not is_finite(self.turning):
            yield Flaw(self.culprit, f"{self.owner} rolls on a plate that turns at {self.turning!r}.", "rad/s")
        elif self.turning and self.wall is not None:
            problem = f"{self.owner} rolls on a surface that turns."
            yield Flaw(self.culprit, problem, "a plane, which is told to turn by turning=")


@dataclass(frozen=True)
class Skate(Constraint):
    """A blade, or a wheel of which only the direction counts: no velocity along one axis of a frame.

    The multiplier is the force on the blade along this axis.
    """

    kind: ClassVar[str] = "skate"
    frame: str
    across: str = "y"
    on: Place = None

    @property
    def usual_name(self) -> str:
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
        yield from tie_flaws(self, robot, self.frame, self.on)
        if self.across not in AXES:
            sentence = unknown_name("axis", str(self.across), AXES, "A frame")
            yield Flaw(self.culprit, f"{self.owner} does not move along '{self.across}'. {sentence}")


@dataclass(frozen=True)
class Prescribed(Constraint):
    """Rows of a constraint that follow s(t) in place of 0: Prescribed(Gear({"lift": 1.0})).

    `labels` are those that do; all that can if none is named. Position, velocity and acceleration of every motion are
    inputs of the functions; the multiplier is the drive's force. A point is driven along the axes of b; a gear adds s
    to its offset, a distance to its length. Where a row ties velocities only, s itself does not count.
    """

    kind: ClassVar[str] = "prescribed"
    constraint: Constraint
    labels: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.labels and isinstance(self.constraint, Constraint):
            object.__setattr__(self, "labels", self.constraint.drivable)
        super().__post_init__()

    @property
    def usual_name(self) -> str:
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
            hint = "Gear for the motion of a joint, or a link on a joint whose motion is prescribed"
            yield Flaw(self.culprit, problem, "a constraint that measures a place, a length or a velocity", hint)
        for label in self.labels:
            if label not in self.constraint.drivable:
                sentence = unknown_name("motion", str(label), self.constraint.drivable, self.constraint.owner)
                yield Flaw(self.culprit, sentence)


def check_constraints(robot: Robot, constraints: Sequence[Constraint]) -> None:
    """Raise a ModelError with all that keeps these constraints from being laid on a robot."""
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise ArgumentError(
                f"{constraint!r} is no constraint.", expected="such as Point('tip', 'pin') or Rolling('wheel', 0.1)"
            )
    flaws = [*_names(constraints), *(flaw for constraint in constraints for flaw in constraint.flaws(robot))]
    if flaws:
        raise gathered([flaw.error(robot.source) for flaw in flaws], robot.source or robot.owner, ModelError)


def _names(constraints: Sequence[Constraint]) -> Iterator[Flaw]:
    for name, count in Counter(constraint.name for constraint in constraints).items():
        if not isinstance(name, str):
            yield Flaw(("loop", str(name)), f"a constraint is named {name!r}.", "a text")
        elif count > 1:
            kinds = ", ".join(constraint.kind for constraint in constraints if constraint.name == name)
            problem = f"{count} constraints are named '{name}': {kinds}."
            yield Flaw(("loop", name), problem, "unique names", "name='...' for each of them")


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
