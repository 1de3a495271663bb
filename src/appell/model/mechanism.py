"""A mechanism in closed form: bodies whose poses are written down as functions of independent coordinates.

Poses and joint positions are Python functions over abstract scalars. With q̇ = v nothing else is needed: derivatives
are the compiler's affair, and the loops are closed by the functions themselves. Frozen, and validated once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.errors import ModelError, ModelWarning
from appell.model.actuator import Actuator, actuator_flaw
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.mechanism_parts import LegJoint, MovingBody, Polyline, Reach, Recipe, points
from appell.model.pin import Pin
from appell.model.robot import GRAVITY
from appell.model.spherical_design import SphericalDesign
from appell.model.system import Rng, System, generator, vector_of
from appell.model.travel import travelling

ORTHONORMAL = 1e-9  # largest entry of RᵀR - 1 at home
BESIDE = 0.01  # rad or m from home, where poses are looked at as well
CONDITION_LIMIT = 1e10  # of the actuator Jacobian; beyond it, torques are NaN
NEARBY = 0.1  # rad or m about home, where random configurations are looked for
TRIES = 200


@dataclass(frozen=True, repr=False)
class Mechanism(System):
    """A parallel robot: bodies whose poses are functions of independent coordinates, driven at some joints.

    Out of reach, every result that depends on the leg is NaN; where the condition number of the actuator Jacobian is
    above `condition_limit`, torques are. `motion.check_pose` names the leg, or says how large the number is.
    """

    kind: ClassVar[str] = "mechanism"
    tree: ClassVar[None] = None  # type: ignore[misc]
    name: str
    coordinates: Sequence[str]
    parts: Sequence[MovingBody]
    driven: Sequence[LegJoint]
    home: Sequence[float]
    units: Sequence[str] = ()  # of the coordinates, rad if not given
    passive: Sequence[LegJoint] = ()
    reaches: Sequence[Reach] = ()
    pins: Sequence[Pin] = ()  # where bodies hold each other; none: not known, and whether loops close is not looked at
    ranges: tuple[tuple[float, float], ...] = ()  # lowest and highest of every coordinate, infinite if not given
    frames: tuple[Frame, ...] = ()
    gravity: Vec3 = GRAVITY
    free: frozenset[str] = frozenset()
    physical: bool = True  # refuse bodies that cannot exist
    outlines: Sequence[Polyline] = ()  # of what stands still
    condition_limit: float = CONDITION_LIMIT
    design: SphericalDesign | None = None  # as Abedloo et al. 2014 describe it, if it is spherical
    description: str = field(default="", compare=False)
    reference: str = field(default="", compare=False)
    source: str = field(default="", compare=False)
    recipe: Recipe | None = field(default=None, compare=False)

    def __post_init__(self):
        for name in ("coordinates", "parts", "driven", "passive", "reaches", "pins", "frames"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        unlimited = ((-math.inf, math.inf),) * len(self.coordinates)
        object.__setattr__(self, "ranges", tuple((float(low), float(high)) for low, high in self.ranges) or unlimited)
        object.__setattr__(self, "outlines", tuple(map(points, self.outlines)))
        object.__setattr__(self, "home", tuple(float(x) for x in self.home))
        object.__setattr__(self, "units", tuple(self.units) or ("rad",) * len(self.coordinates))
        object.__setattr__(self, "gravity", vector_of(self.gravity, f"the gravity of mechanism '{self.name}'"))
        check(self)

    def __str__(self) -> str:
        return f"{self.name} ({self.nq} coordinates, {len(self.parts)} bodies, {self.nu} actuators)"

    def __repr__(self) -> str:
        return f"<Mechanism {self}>"

    def __reduce_ex__(self, protocol):
        """One of the zoo travels as its recipe and what was changed since: functions of coordinates do not travel."""
        return travelling(self) or super().__reduce_ex__(protocol)

    def labelled(self, **labels: Any) -> Self:
        """The same with another source, recipe, description or reference; nothing is checked, or warned of, twice."""
        twin = object.__new__(type(self))
        for field_name, value in {**vars(self), **labels}.items():
            object.__setattr__(twin, field_name, value)
        return twin

    # ---- what every system has

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return tuple(self.coordinates)

    @property
    def velocity_names(self) -> tuple[str, ...]:
        return tuple(self.coordinates)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.driven)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        return tuple(self.units)

    @property
    def velocity_units(self) -> tuple[str, ...]:
        return tuple(self.units)

    @property
    def actuator_units(self) -> tuple[str, ...]:
        return tuple(joint.unit for joint in self.driven)

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        return tuple(joint.actuator for joint in self.driven)

    @property
    def drives(self) -> dict[str, Actuator]:
        return {joint.name: joint.actuator for joint in self.driven}

    @property
    def is_flat(self) -> bool:
        return True

    def rate(self, q, v):
        return list(v)

    def integrate(self, q, step) -> np.ndarray:
        return self.sized("q", q, self.nq) + self.sized("step", step, self.nv)

    def difference(self, q0, q1) -> np.ndarray:
        return self.sized("q1", q1, self.nq) - self.sized("q0", q0, self.nq)

    @property
    def start(self) -> np.ndarray:
        return np.array(self.home)

    @property
    def bodies(self) -> dict[str, Body | None]:
        return {part.name: part.body for part in self.parts}

    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """A pose about home in which every leg reaches."""
        rng, limits = generator(rng), self.limits
        for _ in range(TRIES):
            q = self.start + rng.uniform(-NEARBY, NEARBY, self.nq)
            q = np.clip(q, limits.lower, limits.upper) if within_limits else q
            if not self.out_of_reach(q.tolist()):
                return q
        raise ModelError(f"{self.owner} can be assembled nowhere about its home.", expected="legs that reach")

    def out_of_reach(self, q: Sequence[float]) -> str:
        """Why a leg does not close at a pose, as a sentence; empty if all do."""
        sentences = (reach.sentence(*reach.values(q)) for reach in self.reaches)
        return next(filter(None, sentences), "")

    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """Refused: see the error."""
        raise ModelError(
            f"no joint of {self.owner} can be held: its poses are functions of coordinates that its joints share.",
            hint="a Mechanism whose poses have the held coordinate as a constant",
        )

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        given: dict[str, Body] = {}
        for name, body in bodies.items():
            self.find("body", name, self.bodies)
            if body is None:
                raise ModelError(f"body '{name}' of {self.owner} is to have no mass.", expected="a Body")
            given[name] = body
        return replace(self, parts=tuple(replace(part, body=given.get(part.name, part.body)) for part in self.parts))

    def with_actuators(self, change: Mapping[str, Actuator] | Callable[[str, Actuator], Actuator]) -> Self:
        if not callable(change):
            for name in change:
                self.find("actuator", name, dict.fromkeys(self.actuator_names))

        def changed(joint: LegJoint) -> LegJoint:
            own = joint.actuator
            return replace(joint, actuator=change(joint.name, own) if callable(change) else change.get(joint.name, own))

        return replace(self, driven=tuple(changed(joint) for joint in self.driven))


def check(mechanism: Mechanism) -> None:
    """Raise a ModelError for the first thing that keeps these parts from being a mechanism."""
    _check_names(mechanism)
    owner = mechanism.owner
    _check_bodies(mechanism)
    for joint in mechanism.driven:
        if flaw := actuator_flaw(joint.actuator):
            raise ModelError(f"actuator '{joint.name}' of {owner} {flaw}.", expected="an actuator that can exist")
    listed = ", ".join(mechanism.coordinates)
    for what, given in (
        ("home", mechanism.home),
        ("list of units", mechanism.units),
        ("list of ranges", mechanism.ranges),
    ):
        if len(given) != mechanism.nq:
            raise ModelError(f"{owner} has a {what} of {len(given)}.", expected=f"{mechanism.nq}: {listed}")
    for what, numbers in (("home", mechanism.home), ("gravity", tuple(mechanism.gravity))):
        if not all(math.isfinite(x) for x in numbers):
            raise ModelError(f"the {what} of {owner} is {numbers}.", expected="finite numbers")
    _check_home(mechanism)


def _check_bodies(mechanism: Mechanism) -> None:
    doubts = []
    for part in mechanism.parts:
        flaw = part.body.flaw()
        if flaw and (mechanism.physical or not part.body.is_finite):
            problem = f"body '{part.name}' of {mechanism.owner} {flaw}."
            hint = "mend the numbers, or physical=False to accept them with a warning" if part.body.is_finite else ""
            raise ModelError(problem, expected="a body that can exist", source=mechanism.source, hint=hint)
        if doubt := flaw or part.body.doubt():
            doubts.append(f"body '{part.name}' {doubt}")
    if doubts:
        warnings.warn(f"{mechanism.owner}: {'; '.join(doubts)}.", ModelWarning, stacklevel=2)


def _check_names(mechanism: Mechanism) -> None:
    kinds: dict[str, Sequence[str]] = {
        "coordinate": mechanism.coordinates,
        "body": [part.name for part in mechanism.parts],
        "actuator": mechanism.actuator_names,
        "joint": [joint.name for joint in (*mechanism.driven, *mechanism.passive)],
        "frame": mechanism.frame_names,
    }
    for kind, names in kinds.items():
        if not names:
            raise ModelError(f"{mechanism.owner} has no {kind}.", expected="at least one")
        for k, name in enumerate(names):
            if name in names[:k]:
                raise ModelError(f"{mechanism.owner} has more than one {kind} named '{name}'.", expected="unique names")
    for frame in mechanism.frames:
        if frame.body is not None:
            mechanism.find("body", frame.body, mechanism.bodies)
    pinned = [name for pin in mechanism.pins for name in (pin.body, pin.other) if name is not None]
    for name in (*sorted(mechanism.free), *pinned):
        mechanism.find("body", name, mechanism.bodies)


def _check_home(mechanism: Mechanism) -> None:
    """Home must be in reach. There and a step beside it along every coordinate, as far as legs reach, poses must be
    proper rotations and loops closed, or every result would be wrong without notice."""
    owner, home = mechanism.owner, list(mechanism.home)
    if sentence := mechanism.out_of_reach(home):
        raise ModelError(f"{owner} cannot stand at home: {sentence}.", expected="a home that all legs reach")
    places = {}
    for part in mechanism.parts:
        try:
            places[part.name] = part.pose(home)
        except (ValueError, ArithmeticError) as reason:
            problem = f"body '{part.name}' of {owner} has no pose at home: {reason}."
            raise ModelError(problem, expected="a home that all legs reach") from None
    _check_places(mechanism, places, "home")
    for k, name in enumerate(mechanism.coordinates):
        for x in (home[k] + BESIDE, home[k] - BESIDE):
            q = [*home[:k], x, *home[k + 1 :]]
            try:
                reached = not mechanism.out_of_reach(q)
                places = {part.name: part.pose(q) for part in mechanism.parts if reached}
            except (ValueError, ArithmeticError):  # a root of what is negative, where nobody said how far legs reach
                continue
            if reached:
                _check_places(mechanism, places, f"{name} = {x:g}")


def _check_places(mechanism: Mechanism, places: Mapping[str, Pose], where: str) -> None:
    owner = mechanism.owner
    for name, pose in places.items():
        if not isinstance(pose, Pose):
            raise ModelError(f"the pose of body '{name}' of {owner} is {pose!r}.", expected="a Pose")
        R = pose.rotation
        error = max(abs(x) for row in (R.T @ R - IDENTITY).rows for x in row)
        if not (error <= ORTHONORMAL and R.rows[0].cross(R.rows[1]).dot(R.rows[2]) > 0.0):
            raise ModelError(
                f"the pose of body '{name}' of {owner} is no rotation at {where} (off by {error:.1e}).",
                expected="a 3x3 rotation matrix with determinant +1",
            )
    in_world = {part.name: part.base @ places[part.name] for part in mechanism.parts}
    for sentence in filter(None, (pin.opened(in_world) for pin in mechanism.pins)):
        raise ModelError(
            f"the loops of {owner} do not close: {sentence} at {where}.",
            expected="poses that keep the two points of every pin together",
        )
