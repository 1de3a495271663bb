"""Bodies that roll without slip, and blades that do not slide sideways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.errors import unknown_name
from appell.model.constraint.closures import tie_flaws
from appell.model.constraint.constraint import Constraint, Place, is_finite, is_positive
from appell.model.robot import Robot
from appell.model.validate import Flaw

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
