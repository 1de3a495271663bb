"""Mechanisms in closed form: bodies whose poses are explicit functions of independent coordinates.

Poses and joint positions are Python functions of abstract scalars. Since q̇ = v, nothing else is needed: the compiler
differentiates the functions, and the functions themselves close the loops. Mechanisms are immutable and validated when
they are created.

Separate pose functions do not express that two bodies are connected. A `Pin` does: it states that a point of one body
coincides with a point of another for all coordinates, so that the closure of the loops can be checked.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose, as_vector
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.errors import Hint, ModelError, ModelWarning, is_finite, value_text
from appell.model.actuator import IDEAL, Actuator, ActuatorChanges, actuator_flaw, changed_actuators, is_elastic
from appell.model.body import Body
from appell.model.flexible import FlexibleBody
from appell.model.frame import IDENTITY_POSE, Frame
from appell.model.positions import coordinate
from appell.model.robot import GRAVITY
from appell.model.system import IdentityMap, Rng, System, deflected, generator

ORTHONORMAL_TOLERANCE = 1e-9  # largest entry of RᵀR - 1
CHECK_OFFSET = 0.01  # rad or m from home along each coordinate, where poses are checked as well
PIN_TOLERANCE = 1e-9  # largest gap of a pin in m, relative to its distance from the world's origin if that exceeds 1 m
CONDITION_LIMIT = 1e10  # condition number of the actuator Jacobian above which torques are NaN
RANDOM_RANGE = 0.1  # rad or m around home from which random configurations are drawn
MAX_RANDOM_TRIES = 200

Polyline = Sequence[Sequence[float]]
Quantity = Callable[[Vector], Scalar]


@dataclass(frozen=True)
class MovingBody:
    """A body and its pose as a function of the coordinates.

    `pose(q)` is the pose of the body in `base`, a frame fixed in the world. With one base per leg, the formulas of all
    legs can be the same, and rotating the results into world axes costs nothing. `outline` is a polyline through points
    of the body (m, body axes), for figures. `modes` are the coordinates of the mechanism that are the modal coordinates
    of a `FlexibleBody`; `pose` is then the pose of the axes in which it deforms.
    """

    name: str
    pose: Callable[[Vector], Pose]
    body: Body | FlexibleBody
    base: Pose = IDENTITY_POSE
    outline: Polyline = ()
    modes: Sequence[str] = ()

    def __post_init__(self):
        object.__setattr__(self, "outline", points(self.outline))
        object.__setattr__(self, "modes", tuple(self.modes))


@dataclass(frozen=True)
class LegJoint:
    """A joint of a leg: its angle (or length, with `unit="m"`) as a function of the coordinates, and its actuator."""

    name: str
    position: Quantity
    unit: str = "rad"
    actuator: Actuator = IDEAL


@dataclass(frozen=True)
class Reach:
    """Condition for a leg to reach: the size of one of its parts lies between `least` and `most`.

    `leg` and `part` are names for messages; `size`, `least` and `most` are numbers or functions of q, in `unit`. The
    second link of a leg whose elbow moves on a circle must be at least as long as the shortest distance from that
    circle to the point it holds, and at most as long as the longest. A driven length must lie within its stroke.
    """

    leg: str
    part: str
    size: Quantity | float
    least: Quantity | float
    most: Quantity | float
    unit: str = "m"

    def values(self, q: Vector) -> list[Scalar]:
        """Size, least and most at a configuration."""
        return [x(q) if callable(x) else float(x) for x in (self.size, self.least, self.most)]

    def sentence(self, size: float, least: float, most: float) -> str:
        """Return why the leg does not reach, as the end of a sentence; empty if it does."""
        if least <= size <= most:
            return ""
        error = (
            f"{least - size:.6g} {self.unit} too short" if size < least else f"{size - most:.6g} {self.unit} too long"
        )
        measured, needed = f"{size:.6g} {self.unit}", f"{least:.6g} to {most:.6g} {self.unit}"
        return f"leg '{self.leg}' cannot reach: its {self.part} measures {measured} and needs {needed}, {error}"


@dataclass(frozen=True)
class Recipe:
    """The zoo function that made a mechanism and its arguments, by which files refer to it and pickles restore it."""

    maker: str
    options: Mapping[str, Any]
    make: Callable[..., Any] | None = field(default=None, compare=False)  # the function named `maker`


def points(line: Polyline) -> Polyline:
    """Convert a polyline to tuples, so that objects that contain it can be compared and hashed."""
    return tuple(tuple(float(x) for x in point) for point in line)


@dataclass(frozen=True)
class Pin:
    """A point of one body that coincides with a point of another: `Pin("crank", (0.1, 0, 0), "rod")`.

    Points are in m, in the axes of their bodies. If `other` is None, the other point is fixed in the world.
    """

    body: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    other: str | None = None
    other_point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        for name in ("point", "other_point"):
            point = as_vector(getattr(self, name), f"the {name.replace('_', ' ')} of a pin on body '{self.body}'")
            object.__setattr__(self, name, tuple(point))

    def ends(self, poses: Mapping[str, Pose]) -> tuple[Vec3, Vec3]:
        """Positions of the two points in the world for given poses of the bodies in the world."""
        one, other = poses[self.body].apply(Vec3.of(self.point)), Vec3.of(self.other_point)
        return one, other if self.other is None else poses[self.other].apply(other)

    def gap_message(self, poses: Mapping[str, Pose]) -> str:
        """Return how far the pin is open, as the end of a sentence; empty if it is closed."""
        one, other = self.ends(poses)
        gap = math.hypot(*(one - other))
        if gap <= PIN_TOLERANCE * max(1.0, math.hypot(*one)):
            return ""
        return f"body '{self.body}' and {repr(self.other) if self.other else 'the world'} are {gap:.3g} m apart"


@dataclass(frozen=True)
class SphericalLeg:
    """A leg of a spherical mechanism.

    `base` is the rotation P, whose z axis is the axis of the motor; `v_star` the direction v* on the platform, in
    platform axes; `alpha1` and `alpha2` the angles of both arcs, rad; `branch` the branch of θ.
    """

    base: Mat3
    v_star: Vec3
    alpha1: float
    alpha2: float
    branch: int


@dataclass(frozen=True)
class SphericalDesign:
    """Legs of a spherical mechanism. Its bodies are the first and second arc of each leg in turn, then the platform."""

    legs: tuple[SphericalLeg, ...]


@dataclass(frozen=True, repr=False)
class Mechanism(System):
    """A parallel robot: bodies whose poses are functions of independent coordinates, driven at some joints.

    Where a leg does not reach, all results that depend on it are NaN. Where the condition number of the actuator
    Jacobian exceeds `condition_limit`, torques are NaN. `ap.kinematics.check_pose` reports the leg or the number.

    Parameters
    ----------
    name : str
        Name of the mechanism.
    coordinates : sequence of str
        Names of the independent coordinates q; v = q̇.
    parts : sequence of MovingBody
        Bodies and their poses.
    driven : sequence of LegJoint
        Actuated joints, in the order of tau.
    home : sequence of float
        Configuration at which all legs reach, rad or m per coordinate.
    units : sequence of str
        Unit of each coordinate, "rad" or "m"; all "rad" if empty.
    passive : sequence of LegJoint
        Other joints of which the positions are of interest.
    reaches : sequence of Reach
        Conditions for the legs to reach.
    pins : sequence of Pin
        Connections of bodies. They are checked near home; without pins the closure of loops is not checked.
    ranges : tuple of (float, float)
        Lowest and highest value of each coordinate; infinite if empty.
    frames : tuple of Frame
        Named frames on the bodies or the world.
    gravity : sequence of 3 floats
        Gravitational acceleration in the world, m/s².
    free : frozenset of str
        Bodies whose inertial parameters are inputs of the functions.
    physical : bool
        Whether to reject bodies that are physically impossible (otherwise: warn).
    outlines : sequence of polylines
        Lines fixed in the world, for figures.
    condition_limit : float
        Condition number of the actuator Jacobian above which torques are NaN.
    design : SphericalDesign, optional
        Design of a spherical mechanism as in Abedloo et al. 2014.

    Raises
    ------
    ModelError
        If parts have equal or unknown names, bodies or actuators are impossible, or loops do not close near home.

    Examples
    --------
    A slider moved along x by one motor:

    >>> import appell as ap
    >>> from appell.algebra.matrix import IDENTITY
    >>> slider = ap.MovingBody("slider", lambda q: ap.Pose(IDENTITY, ap.Vec3(q[0], 0.0, 0.0)), ap.Body(2.0))
    >>> motor = ap.LegJoint("motor", lambda q: q[0], unit="m")
    >>> robot = ap.Mechanism("stage", ["x"], [slider], [motor], home=[0.0], units=["m"])
    >>> robot
    <Mechanism stage (1 coordinates, 1 bodies, 1 actuators)>
    >>> ap.Dynamics(robot).inverse_dynamics([0.0], [0.0], [3.0])
    array([6.])
    """

    kind: ClassVar[str] = "mechanism"
    tree: ClassVar[None] = None  # type: ignore[misc]
    constraints: ClassVar[tuple] = ()  # type: ignore[misc]
    name: str
    coordinates: Sequence[str]
    parts: Sequence[MovingBody]
    driven: Sequence[LegJoint]
    home: Sequence[float]
    units: Sequence[str] = ()
    passive: Sequence[LegJoint] = ()
    reaches: Sequence[Reach] = ()
    pins: Sequence[Pin] = ()
    ranges: tuple[tuple[float, float], ...] = ()
    frames: tuple[Frame, ...] = ()
    gravity: Vec3 = GRAVITY
    free: frozenset[str] = frozenset()
    physical: bool = True
    outlines: Sequence[Polyline] = ()
    condition_limit: float = CONDITION_LIMIT
    design: SphericalDesign | None = None
    description: str = field(default="", compare=False)
    reference: str = field(default="", compare=False)
    source: str = field(default="", compare=False)
    recipe: Recipe | None = field(default=None, compare=False)

    def __post_init__(self):
        for name in ("coordinates", "parts", "driven", "passive", "reaches", "pins", "frames"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        n, unlimited = len(self.coordinates), (-math.inf, math.inf)
        ranges = tuple((float(low), float(high)) for low, high in self.ranges) or (unlimited,) * n
        of_motors = (unlimited,) * len(self.elastic_joints)
        if ranges[n:] == (unlimited,) * len(ranges[n:]):  # those of motors, in a copy with other elastic joints
            ranges = ranges[:n] + of_motors
        object.__setattr__(self, "ranges", ranges)
        object.__setattr__(self, "outlines", tuple(map(points, self.outlines)))
        object.__setattr__(self, "home", tuple(float(x) for x in self.home))
        object.__setattr__(self, "units", tuple(self.units) or ("rad",) * len(self.coordinates))
        object.__setattr__(self, "gravity", as_vector(self.gravity, f"the gravity of mechanism '{self.name}'"))
        check(self)

    def __str__(self) -> str:
        return f"{self.name} ({self.nq} coordinates, {len(self.parts)} bodies, {self.nu} actuators)"

    def __repr__(self) -> str:
        return f"<Mechanism {self}>"

    def __reduce_ex__(self, protocol):
        """Pickle a mechanism of the zoo as its recipe and later changes, since its functions cannot be pickled."""
        return _reduced_to_recipe(self) or super().__reduce_ex__(protocol)

    def labelled(self, **labels: Any) -> Self:
        """Copy with another source, recipe, description or reference, without repeating checks and warnings."""
        copy = object.__new__(type(self))
        for field_name, value in {**vars(self), **labels}.items():
            object.__setattr__(copy, field_name, value)
        return copy

    # ---- interface of every system

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return tuple(self.coordinates) + self.motor_names

    @property
    def velocity_names(self) -> tuple[str, ...]:
        return self.coordinate_names

    @property
    def actuator_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.driven)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        return tuple(self.units) + tuple(joint.unit for joint in self.driven if is_elastic(joint.actuator))

    @property
    def velocity_units(self) -> tuple[str, ...]:
        return self.coordinate_units

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

    def with_relaxed_springs(self, q) -> np.ndarray:
        q = np.asarray(q, float)
        elastic = [joint for joint in self.driven if is_elastic(joint.actuator)]
        motors = np.empty((*q.shape[:-1], len(elastic)))
        for index in np.ndindex(q.shape[:-1]):
            motors[index] = [joint.position(q[index].tolist()) for joint in elastic]
        return np.concatenate([q, motors], axis=-1)

    @property
    def start(self) -> np.ndarray:
        return self.with_relaxed_springs(self.home)

    def configuration(self, positions: Mapping[str, Any]) -> np.ndarray:
        values = {}
        for name, position in positions.items():
            self.find("coordinate", name, dict.fromkeys(self.coordinate_names))
            values[name] = coordinate(self, name, position)
        q = [values.get(name, x) for name, x in zip(self.coordinates, self.home, strict=True)]
        pairs = zip(self.coordinate_names, self.with_relaxed_springs(q), strict=True)
        return np.array([values.get(name, x) for name, x in pairs])

    @property
    def bodies(self) -> dict[str, Any]:
        return {part.name: part.body for part in self.parts}

    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """Random configuration near home at which all legs reach."""
        rng, limits = generator(rng), self.limits
        n = len(self.coordinates)
        for _ in range(MAX_RANDOM_TRIES):
            q = np.array(self.home) + rng.uniform(-RANDOM_RANGE, RANDOM_RANGE, n)
            q = np.clip(q, limits.lower[:n], limits.upper[:n]) if within_limits else q
            if not self.out_of_reach(q.tolist()):
                return deflected(self.with_relaxed_springs(q), self.nq - n, rng)
        raise ModelError(
            f"{self.owner} has no configuration near its home at which all legs reach.",
            expected="legs that reach at home and near it",
        )

    def out_of_reach(self, q: Sequence[float]) -> str:
        """Return why a leg does not reach at a configuration, as a sentence; empty if all legs reach."""
        sentences = (reach.sentence(*sizes) for reach, sizes in zip(self.reaches, self.reach_sizes(q), strict=True))
        return next(filter(None, sentences), "")

    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """Raise a ModelError: the joints of a mechanism cannot be locked individually."""
        raise ModelError(
            f"the joints of {self.owner} cannot be locked: its poses are functions of coordinates that they share.",
            hint="Create a Mechanism whose pose functions have the locked coordinate as a constant.",
        )

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        replaced: dict[str, Body] = {}
        for name, body in bodies.items():
            self.find("body", name, self.bodies)
            if body is None:
                raise ModelError(f"body '{name}' of {self.owner} cannot be without mass.", expected="a Body")
            replaced[name] = body
        return replace(self, parts=tuple(replace(part, body=replaced.get(part.name, part.body)) for part in self.parts))

    def with_actuators(self, change: ActuatorChanges) -> Self:
        if not callable(change):
            for name in change:
                self.find("actuator", name, dict.fromkeys(self.actuator_names))
        actuators = changed_actuators({joint.name: joint.actuator for joint in self.driven}, change, self.owner)
        return replace(self, driven=tuple(replace(joint, actuator=actuators[joint.name]) for joint in self.driven))


def check(mechanism: Mechanism) -> None:
    """Raise a ModelError for the first flaw of a mechanism."""
    _check_names(mechanism)
    owner = mechanism.owner
    _check_bodies(mechanism)
    for joint in mechanism.driven:
        if flaw := actuator_flaw(joint.actuator):
            raise ModelError(f"actuator '{joint.name}' of {owner} {flaw}.", expected="an actuator that can exist")
    listed = ", ".join(mechanism.coordinates)
    for field_name, values in (
        ("home", mechanism.home),
        ("list of units", mechanism.units),
        ("list of ranges", mechanism.ranges[: len(mechanism.ranges) - len(mechanism.elastic_joints)]),
    ):
        if len(values) != len(mechanism.coordinates):
            problem = f"{owner} has a {field_name} of length {len(values)}."
            raise ModelError(problem, expected=f"length {len(mechanism.coordinates)}: {listed}")
    for field_name, numbers in (("home", mechanism.home), ("gravity", tuple(mechanism.gravity))):
        if not all(map(is_finite, numbers)):
            raise ModelError(f"the {field_name} of {owner} is {value_text(numbers)}.", expected="finite numbers")
    _check_home(mechanism)


def _check_bodies(mechanism: Mechanism) -> None:
    messages = []
    _check_modes(mechanism)
    for part in mechanism.parts:
        flaw = part.body.flaw()
        if flaw and (mechanism.physical or not part.body.is_finite):
            problem = f"body '{part.name}' of {mechanism.owner} {flaw}."
            remedy = Hint("Correct the numbers, or pass {physical} to accept them with a warning.", physical=False)
            hint = remedy if part.body.is_finite else ""
            raise ModelError(problem, expected="a body that can exist", source=mechanism.source, hint=hint)
        if message := flaw or part.body.rounding_warning():
            messages.append(f"body '{part.name}' {message}")
    if messages:
        warnings.warn(f"{mechanism.owner}: {'; '.join(messages)}.", ModelWarning, stacklevel=2)


def _check_modes(mechanism: Mechanism) -> None:
    """Every flexible body has one coordinate per mode; no coordinate belongs to two bodies."""
    owner, used = mechanism.owner, dict[str, str]()
    known = dict.fromkeys(mechanism.coordinates)
    for part in mechanism.parts:
        modes = part.body.modes if isinstance(part.body, FlexibleBody) else ()
        if len(part.modes) != len(modes):
            raise ModelError(
                f"body '{part.name}' of {owner} has {len(modes)} modes and {len(part.modes)} modal coordinates.",
                expected=f"one coordinate per mode: {', '.join(modes)}" if modes else "no modes of a rigid body",
            )
        for name in part.modes:
            mechanism.find("coordinate", name, known)
            if name in used:
                raise ModelError(
                    f"coordinate '{name}' of {owner} belongs to a mode of '{used[name]}' and '{part.name}'."
                )
            used[name] = part.name
        if modes and part.name in mechanism.free:
            raise ModelError(
                f"the inertial parameters of the flexible body '{part.name}' of {owner} are inputs.",
                expected="rigid bodies as free bodies",
            )
    for frame in mechanism.frames:
        body = mechanism.bodies.get(frame.body) if frame.body else None
        if frame.at is None:
            continue
        if not isinstance(body, FlexibleBody):
            raise ModelError(
                f"frame '{frame.name}' of {owner} is at node '{frame.at}' of '{frame.body}', which is not flexible."
            )
        body.node(frame.at, f"body '{frame.body}' of {owner}")
        if any(frame.pose.translation):
            raise ModelError(
                f"frame '{frame.name}' of {owner} has an offset from node '{frame.at}'.",
                expected="a frame at the node itself",
                hint="Fix the offset to a rigid body.",
            )


def _check_names(mechanism: Mechanism) -> None:
    kinds: dict[str, Sequence[str]] = {
        "coordinate": mechanism.coordinate_names,
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
    """Check poses and loops at home and next to it.

    All legs must reach at home. At home, and at a small offset along each coordinate where legs reach, poses must be
    proper rotations and loops closed; otherwise all results would be silently wrong.
    """
    owner, home = mechanism.owner, list(mechanism.home)
    if sentence := mechanism.out_of_reach(home):
        raise ModelError(f"{owner} cannot be at home: {sentence}.", expected="a home that all legs reach")
    poses = {}
    for part in mechanism.parts:
        try:
            poses[part.name] = part.pose(home)
        except (ValueError, ArithmeticError) as reason:
            problem = f"body '{part.name}' of {owner} has no pose at home: {reason}."
            raise ModelError(problem, expected="a home that all legs reach") from None
    _check_poses(mechanism, poses, "home")
    for k, name in enumerate(mechanism.coordinates):
        for x in (home[k] + CHECK_OFFSET, home[k] - CHECK_OFFSET):
            q = [*home[:k], x, *home[k + 1 :]]
            try:
                reached = not mechanism.out_of_reach(q)
                poses = {part.name: part.pose(q) for part in mechanism.parts if reached}
            except (ValueError, ArithmeticError):  # root of a negative number, in a mechanism without reach conditions
                continue
            if reached:
                _check_poses(mechanism, poses, f"{name} = {x:g}")


def _check_poses(mechanism: Mechanism, poses: Mapping[str, Pose], where: str) -> None:
    owner = mechanism.owner
    for name, pose in poses.items():
        if not isinstance(pose, Pose):
            raise ModelError(f"the pose of body '{name}' of {owner} is {pose!r}.", expected="a Pose")
        R = pose.rotation
        error = max(abs(x) for row in (R.T @ R - IDENTITY).rows for x in row)
        if not (error <= ORTHONORMAL_TOLERANCE and R.rows[0].cross(R.rows[1]).dot(R.rows[2]) > 0.0):
            raise ModelError(
                f"the pose of body '{name}' of {owner} is not a rotation at {where} (error {error:.1e}).",
                expected="a 3x3 rotation matrix with determinant +1",
            )
    in_world = {part.name: part.base @ poses[part.name] for part in mechanism.parts}
    for sentence in filter(None, (pin.gap_message(in_world) for pin in mechanism.pins)):
        raise ModelError(
            f"the loops of {owner} do not close: {sentence} at {where}.",
            expected="poses that keep the two points of every pin together",
        )


# ---- pickling
#
# The pose functions of a mechanism of the zoo are closures, which cannot be pickled. The recipe can: the name of the
# zoo function and its arguments. Bodies, actuators and all other fields that may have changed are stored with it. A
# mechanism whose pose functions differ from those of its recipe is not pickled this way; to detect this, the mechanism
# is rebuilt and the values of its functions are compared.

REBUILT_FIELDS = ("parts", "driven", "passive", "reaches", "design", "recipe")  # contain functions, or follow from them


def _reduced_to_recipe(mechanism: Mechanism) -> tuple | None:
    """Function and arguments from which pickle restores a mechanism; None if its recipe does not reproduce it."""
    recipe = mechanism.recipe
    if recipe is None or recipe.make is None:
        return None
    plain = {
        field.name: getattr(mechanism, field.name) for field in fields(mechanism) if field.name not in REBUILT_FIELDS
    }
    bodies, drives = [part.body for part in mechanism.parts], [joint.actuator for joint in mechanism.driven]
    arguments = (recipe, plain, bodies, drives)
    return (rebuild, arguments) if _samples(rebuild(*arguments)) == _samples(mechanism) else None


def rebuild(
    recipe: Recipe, plain: dict[str, Any], bodies: list[Body | FlexibleBody], drives: list[Actuator]
) -> Mechanism:
    """Create the mechanism of a recipe with other bodies, actuators and plain fields."""
    assert recipe.make is not None
    fresh = recipe.make(**recipe.options, physical=plain["physical"])
    if (len(fresh.parts), len(fresh.driven)) != (len(bodies), len(drives)):
        return fresh
    parts = tuple(replace(part, body=body) for part, body in zip(fresh.parts, bodies, strict=True))
    driven = tuple(replace(joint, actuator=drive) for joint, drive in zip(fresh.driven, drives, strict=True))
    return replace(fresh, parts=parts, driven=driven, **plain)


def _samples(mechanism: Mechanism) -> tuple:
    """Values of all functions of a mechanism at home and next to it."""
    home = list(mechanism.home)
    configurations = [home, [x + 1e-3 * k for k, x in enumerate(home, start=1)]]
    joints = (*mechanism.driven, *mechanism.passive)
    return (
        mechanism.actuator_names,
        [(part.name, part.pose(q), part.base) for q in configurations for part in mechanism.parts],
        [(joint.name, joint.unit, joint.position(q)) for q in configurations for joint in joints],
        [reach.values(q) for q in configurations for reach in mechanism.reaches],
    )
