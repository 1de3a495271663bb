"""What a mechanism is: coordinates, bodies with their poses as functions of them, joints, and how far the legs reach.

Nothing is computed here; `Mechanism` is the catalogue of functions made from it. All checks that need no trace stand in
`check`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.model.body import Body

Coordinates = Sequence[Scalar]
Polyline = Sequence[Sequence[float]]
Quantity = Callable[[Coordinates], Scalar]


@dataclass(frozen=True)
class MovingBody:
    """A rigid body and its pose, written over abstract scalars.

    `pose(q)` places the body in `base`, a system that stands still in the world: what all legs have in common is then
    written once, and turning it into world axes costs nothing. `outline` is a line through points of the body, for
    figures.
    """

    name: str
    pose: Callable[[Coordinates], Pose]
    body: Body
    base: Pose = Pose()  # noqa: RUF009 - frozen
    outline: Polyline = ()


@dataclass(frozen=True)
class LegJoint:
    """A joint of a leg: its angle or, with `unit="m"`, its length, as a function of the coordinates."""

    name: str
    position: Quantity
    unit: str = "rad"


@dataclass(frozen=True)
class Reach:
    """What keeps a leg closed: some part of it has a size that must lie between a least and a most.

    The second link of a leg whose elbow sweeps a circle must be as long as the shortest way from that circle to the
    point it holds, and no longer than the longest. A driven length must lie within its stroke.
    """

    leg: str
    part: str
    size: Quantity | float
    least: Quantity | float
    most: Quantity | float
    unit: str = "m"

    def values(self, q: Coordinates) -> list[Scalar]:
        """Size, least and most."""
        return [x(q) if callable(x) else float(x) for x in (self.size, self.least, self.most)]

    def sentence(self, size: float, least: float, most: float) -> str:
        """Why the leg does not close, as the end of a sentence; empty if it does."""
        if least <= size <= most:
            return ""
        error = (
            f"{least - size:.6g} {self.unit} too short" if size < least else f"{size - most:.6g} {self.unit} too long"
        )
        measured, needed = f"{size:.6g} {self.unit}", f"{least:.6g} to {most:.6g} {self.unit}"
        return f"leg '{self.leg}' cannot reach: its {self.part} measures {measured} and needs {needed}, {error}"


@dataclass(frozen=True)
class Assembly:
    """The parts of a mechanism; `home` is a pose that it can take."""

    name: str
    coordinates: tuple[str, ...]
    bodies: tuple[MovingBody, ...]
    actuators: tuple[LegJoint, ...]
    passive: tuple[LegJoint, ...]
    reaches: tuple[Reach, ...]
    gravity: Vec3
    home: tuple[float, ...]
    outlines: tuple[Polyline, ...] = ()

    def __post_init__(self):
        check(self)

    @property
    def owner(self) -> str:
        """How messages call it."""
        return f"mechanism '{self.name}'"

    @property
    def nq(self) -> int:
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        return len(self.coordinates)

    @property
    def nu(self) -> int:
        """How many actuators there are."""
        return len(self.actuators)

    # ---- what `simulate` and controllers ask of any robot

    free = frozenset[str]()  # every body's inertia is known
    moving = ()  # no joint of a tree: q̇ = v holds for all coordinates

    @property
    def start(self) -> np.ndarray:
        return np.array(self.home)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of v, as of any robot: here the coordinates."""
        return self.coordinates

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """The names of tau."""
        return tuple(joint.name for joint in self.actuators)

    def __str__(self) -> str:
        return f"{self.name} ({self.nq} coordinates, {len(self.bodies)} bodies, {self.nu} actuators)"


def check(assembly: Assembly) -> None:
    """Raise a ModelError for the first thing that keeps these parts from being a mechanism."""
    owner = assembly.owner
    kinds: dict[str, list[str]] = {
        "coordinate": list(assembly.coordinates),
        "body": [body.name for body in assembly.bodies],
        "actuator": [joint.name for joint in assembly.actuators],
        "joint": [joint.name for joint in (*assembly.actuators, *assembly.passive)],
    }
    for kind, names in kinds.items():
        if not names:
            raise ModelError(f"{owner} has no {kind}.", expected="at least one")
        for k, name in enumerate(names):
            if name in names[:k]:
                raise ModelError(f"{owner} has more than one {kind} named '{name}'.", expected="unique names")
    for body in assembly.bodies:
        if flaw := body.body.flaw():
            raise ModelError(f"body '{body.name}' of {owner} {flaw}.", expected="a body that can exist")
    if len(assembly.home) != assembly.nq:
        listed = ", ".join(assembly.coordinates)
        raise ModelError(f"{owner} has a home of {len(assembly.home)} numbers.", expected=f"{assembly.nq}: {listed}")
    for what, numbers in (("home", assembly.home), ("gravity", tuple(assembly.gravity))):
        if not all(math.isfinite(x) for x in numbers):
            raise ModelError(f"the {what} of {owner} is {numbers}.", expected="finite numbers")
