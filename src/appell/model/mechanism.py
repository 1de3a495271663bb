"""A mechanism in closed form: bodies whose poses are written down as functions of independent coordinates.

Poses and joint positions are Python functions over abstract scalars. With q̇ = v nothing else is needed: derivatives
are the compiler's affair, and the loops are closed by the functions themselves. Frozen, and validated once.

Nothing in poses that are written down one by one says that two bodies meet. A `Pin` does: a point of one body that is a
point of another, whatever the coordinates are, so that it can be checked whether the loops close.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.errors import Hint, ModelError, ModelWarning
from appell.model.actuator import IDEAL, Actuator, actuator_flaw
from appell.model.body import Body
from appell.model.frame import IN_PLACE, Frame
from appell.model.robot import GRAVITY
from appell.model.system import IdentityMap, Rng, System, generator, vector_of

ORTHONORMAL = 1e-9  # largest entry of RᵀR - 1 at home
BESIDE = 0.01  # rad or m from home, where poses are looked at as well
CLOSED = 1e-9  # m, and relative to how far the point of a pin is from the world's origin
CONDITION_LIMIT = 1e10  # of the actuator Jacobian; beyond it, torques are NaN
NEARBY = 0.1  # rad or m about home, where random configurations are looked for
TRIES = 200

Polyline = Sequence[Sequence[float]]
Quantity = Callable[[Vector], Scalar]


@dataclass(frozen=True)
class MovingBody:
    """A rigid body and its pose, written over abstract scalars.

    `pose(q)` places the body in `base`, a system that stands still in the world: what all legs have in common is then
    written once, and turning it into world axes costs nothing. `outline` is a line through points of the body, for
    figures.
    """

    name: str
    pose: Callable[[Vector], Pose]
    body: Body
    base: Pose = IN_PLACE
    outline: Polyline = ()

    def __post_init__(self):
        object.__setattr__(self, "outline", points(self.outline))


@dataclass(frozen=True)
class LegJoint:
    """A joint of a leg: its angle or, with `unit="m"`, its length as a function of the coordinates, and its drive."""

    name: str
    position: Quantity
    unit: str = "rad"
    actuator: Actuator = IDEAL


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

    def values(self, q: Vector) -> list[Scalar]:
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
class Recipe:
    """Which mechanism of the zoo this is, and the numbers it was made with: how a file can name it, how it travels."""

    maker: str
    options: Mapping[str, Any]
    make: Callable[..., Any] | None = field(default=None, compare=False)  # the maker itself


def points(line: Polyline) -> Polyline:
    """A line through points, as tuples, so that what holds it can be compared and hashed."""
    return tuple(tuple(float(x) for x in point) for point in line)


@dataclass(frozen=True)
class Pin:
    """Two bodies that meet in a point of each, in m: Pin("crank", (0.1, 0, 0), "rod"); without `other`, the world."""

    body: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    other: str | None = None
    other_point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        for name in ("point", "other_point"):
            point = vector_of(getattr(self, name), f"the {name.replace('_', ' ')} of a pin on body '{self.body}'")
            object.__setattr__(self, name, tuple(point))

    def ends(self, places: Mapping[str, Pose]) -> tuple[Vec3, Vec3]:
        """Where the two points are in the world, with the bodies in these places."""
        here, there = places[self.body].apply(Vec3.of(self.point)), Vec3.of(self.other_point)
        return here, there if self.other is None else places[self.other].apply(there)

    def opened(self, places: Mapping[str, Pose]) -> str:
        """By how much it does not hold, as the end of a sentence; empty if it does."""
        one, other = self.ends(places)
        apart = math.hypot(*(one - other))
        if apart <= CLOSED * max(1.0, math.hypot(*one)):
            return ""
        return f"body '{self.body}' and {repr(self.other) if self.other else 'the world'} are {apart:.3g} m apart"


@dataclass(frozen=True)
class SphericalLeg:
    """P, whose z axis is the motor's; v* on the platform, in its coordinates; the angles of both arcs; the branch of θ.

    Every leg has angles of its own.
    """

    base: Mat3
    v_star: Vec3
    alpha1: float
    alpha2: float
    branch: int


@dataclass(frozen=True)
class SphericalDesign:
    """The legs; bodies of the mechanism are the first and the second arc of every leg in turn, then the platform."""

    legs: tuple[SphericalLeg, ...]


@dataclass(frozen=True, repr=False)
class Mechanism(System):
    """A parallel robot: bodies whose poses are functions of independent coordinates, driven at some joints.

    Out of reach, every result that depends on the leg is NaN; where the condition number of the actuator Jacobian is
    above `condition_limit`, torques are. `motion.check_pose` names the leg, or says how large the number is.
    """

    kind: ClassVar[str] = "mechanism"
    tree: ClassVar[None] = None  # type: ignore[misc]
    constraints: ClassVar[tuple] = ()  # type: ignore[misc]
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
        """Pickle one of the zoo as its recipe and what was changed since: functions cannot be pickled."""
        return _pickled(self) or super().__reduce_ex__(protocol)

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

    @property
    def map(self) -> IdentityMap:
        return IdentityMap(self)

    def rate(self, q, v, prescribed=()):
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
            mend = Hint("mend the numbers, or {physical} to accept them with a warning", physical=False)
            hint = mend if part.body.is_finite else ""
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


# ---- pickling
#
# The poses of a mechanism of the zoo are closures, which cannot be pickled. What made them can: the maker by its name,
# and the numbers it was given. Bodies, actuators and whatever else was changed since are stored beside the recipe. A
# mechanism whose poses are no longer those of its recipe is not pickled this way; that is found by making it anew.

MADE = ("parts", "driven", "passive", "reaches", "design", "recipe")  # fields that hold functions, or that follow


def _pickled(mechanism: Mechanism) -> tuple | None:
    """What pickle makes it of; None if no recipe tells all of it."""
    recipe = mechanism.recipe
    if recipe is None or recipe.make is None:
        return None
    plain = {field.name: getattr(mechanism, field.name) for field in fields(mechanism) if field.name not in MADE}
    bodies, drives = [part.body for part in mechanism.parts], [joint.actuator for joint in mechanism.driven]
    given = (recipe, plain, bodies, drives)
    return (remade, given) if _places(remade(*given)) == _places(mechanism) else None


def remade(recipe: Recipe, plain: dict[str, Any], bodies: list[Body], drives: list[Actuator]) -> Mechanism:
    """The mechanism of a recipe with what was changed since."""
    assert recipe.make is not None
    fresh = recipe.make(**recipe.options, physical=plain["physical"])
    if (len(fresh.parts), len(fresh.driven)) != (len(bodies), len(drives)):
        return fresh
    parts = tuple(replace(part, body=body) for part, body in zip(fresh.parts, bodies, strict=True))
    driven = tuple(replace(joint, actuator=own) for joint, own in zip(fresh.driven, drives, strict=True))
    return replace(fresh, parts=parts, driven=driven, **plain)


def _places(mechanism: Mechanism) -> tuple:
    """Everything that its functions say at home and beside it."""
    home = list(mechanism.home)
    tried = [home, [x + 1e-3 * k for k, x in enumerate(home, start=1)]]
    joints = (*mechanism.driven, *mechanism.passive)
    return (
        mechanism.actuator_names,
        [(part.name, part.pose(q), part.base) for q in tried for part in mechanism.parts],
        [(joint.name, joint.unit, joint.position(q)) for q in tried for joint in joints],
        [reach.values(q) for q in tried for reach in mechanism.reaches],
    )
