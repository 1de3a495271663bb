"""Robots: trees of links, each carried by one joint, without and with constraints. Immutable, validated when created.

Every parent comes before its children in the order of links. There are no fixed joints: the readers of descriptions
combine bodies on fixed joints with their carriers and keep their frames as named frames.

Constraints close loops and let wheels roll; the velocities then satisfy rows K(q) w + b = 0:

    q    the coordinates of the tree                v    f independent velocities, so that w = N(q) v + n(q, t)
    tau  forces at the actuated joints              w    the velocities of all joints of the tree

The map of the robot (`ConstrainedRobot.map`, see `formulate.constrained.map`) defines the independent velocities, N, n.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.rotation import Pose, as_pose, as_vector
from appell.algebra.scalar import Scalar, is_number, plain
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, ModelError, is_finite, value_text
from appell.model.actuator import IDEAL, Actuator, ActuatorChanges, changed_actuators, is_elastic
from appell.model.body import Body
from appell.model.collision import (
    Collision,
    CollisionPairs,
    IgnoredPair,
    collision_pairs,
    shapes_named,
    uniquely_named,
)
from appell.model.constraint import Constraint, check_constraints
from appell.model.flexible import FlexibleBody
from appell.model.frame import IDENTITY_POSE, Frame
from appell.model.joints import Fixed, Motion, OneAxis
from appell.model.limits import NO_LIMITS, Limits
from appell.model.locking import locked, rigid
from appell.model.positions import configuration
from appell.model.system import IdentityMap, Rng, System, constraint_map, deflected, generator
from appell.model.validate import validate
from appell.model.visual import Visual


@dataclass(frozen=True)
class Mimic:
    """Coupling of a joint that has no coordinate of its own: q = multiplier q_leader + offset."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A joint: its name, kind of motion, placement on the parent link, limits and actuator."""

    name: str
    motion: Motion
    placement: Pose = IDENTITY_POSE
    limits: Limits = NO_LIMITS
    mimic: Mimic | None = None
    actuator: Actuator = IDEAL

    def __post_init__(self) -> None:
        object.__setattr__(self, "placement", as_pose(self.placement, f"the placement of joint '{self.name}'"))

    @property
    def scale(self) -> float:
        """Velocity of the joint per unit of its coordinate's velocity: 1, or the multiplier of a mimic joint."""
        return self.mimic.multiplier if self.mimic else 1.0

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Random position within the limits. If one limit is open, within 2π rad or 2 m of the other."""
        lower, upper = self.limits.lower, self.limits.upper
        if not isinstance(self.motion, OneAxis) or (lower is None and upper is None):
            return self.motion.random(rng)
        width = 2.0 * self.motion.random_range
        low = lower if lower is not None else (upper or 0.0) - width
        return rng.uniform(low, low + width if upper is None else upper, 1)


@dataclass(frozen=True)
class Link:
    """A link and the joint that carries it on `parent` (None: the world); `body` is None for a massless link.

    `at` names the node of a flexible parent to which the joint is fixed; None: the origin of the parent.
    """

    name: str
    parent: str | None
    joint: Joint
    body: Any = None  # a Body, a FlexibleBody, or None
    at: str | None = None

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the modal coordinates of a flexible link; empty for a rigid one."""
        return self.body.modes if isinstance(self.body, FlexibleBody) else ()


RANDOM_RANGE = 0.3  # largest step from the start, rad or m, to random configurations of a constrained robot
MAX_RANDOM_TRIES = 50
MODAL_STEP = 0.05  # steps of modal coordinates relative to those of joints
GRAVITY = Vec3(0.0, 0.0, -9.81)  # m/s²
IndependentVelocities = Sequence[str] | Constraint | None  # names of velocities of the tree, or rows that define others
NOT_HASHED = {"content": False}  # metadata of fields that `compile.cache.content_hash` leaves out


@dataclass(frozen=True, repr=False)
class Robot(System):
    """A tree of links. `ap.load`, `ap.from_dh` and `ap.Builder` create robots from descriptions.

    Parameters
    ----------
    name : str
        Name of the robot.
    links : tuple of Link
        Links with their joints; every parent before its children.
    frames : tuple of Frame
        Named frames on links or the world.
    gravity : sequence of 3 floats
        Gravitational acceleration in the world, m/s².
    home : tuple of float, optional
        Default start configuration (nq). None: the neutral configuration.
    free : frozenset of str
        Links whose inertial parameters are inputs of the functions.
    missing : tuple of str
        Links without the inertia that dynamics needs.
    physical : bool
        Whether to reject bodies that are physically impossible (otherwise: warn).
    visuals : tuple of Visual
        Shapes of the links for pictures.
    collisions : tuple of Collision
        Shapes of the links and the world for distances.
    ignored_pairs : tuple of IgnoredPair
        Links or shapes whose distance is not checked, with the reason.
    description, reference, source : str
        What the robot is, where its numbers come from, and the file it was read from.

    Raises
    ------
    ModelError
        If the links do not form a valid robot. The error lists all flaws and names their parts.

    Examples
    --------
    >>> import appell as ap
    >>> rod = ap.shapes.rod(1.0, 0.5, com=(0.25, 0, 0))
    >>> hinge = ap.Joint("hinge", ap.Revolute(axis=(0, 1, 0)))
    >>> robot = ap.Robot("pendulum", (ap.Link("rod", None, hinge, rod),))
    >>> robot
    <Robot pendulum (1 links, nq=1, nv=1)>
    >>> ap.Dynamics(robot).gravity([0.0]).round(4)
    array([-2.4525])
    """

    kind: ClassVar[str] = "robot"
    parts: ClassVar[tuple] = ()  # type: ignore[misc]
    outlines: ClassVar[tuple] = ()  # type: ignore[misc]
    reaches: ClassVar[tuple] = ()  # type: ignore[misc]
    constraints: ClassVar[tuple] = ()  # type: ignore[misc]
    name: str
    links: tuple[Link, ...]
    frames: tuple[Frame, ...] = ()
    gravity: Vec3 = GRAVITY
    home: tuple[float, ...] | None = None
    free: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    physical: bool = True
    visuals: tuple[Visual, ...] = field(default=(), compare=False, metadata=NOT_HASHED)
    collisions: tuple[Collision, ...] = field(default=(), compare=False, metadata=NOT_HASHED)
    ignored_pairs: tuple[IgnoredPair, ...] = field(default=(), compare=False, metadata=NOT_HASHED)
    description: str = field(default="", compare=False)
    reference: str = field(default="", compare=False)
    source: str = field(default="", compare=False)

    def __post_init__(self):
        object.__setattr__(self, "gravity", as_vector(self.gravity, f"the gravity of robot '{self.name}'"))
        for field_name in ("links", "frames", "visuals", "ignored_pairs"):
            object.__setattr__(self, field_name, tuple(getattr(self, field_name)))
        object.__setattr__(self, "collisions", uniquely_named(self.collisions))
        if isinstance(self.home, (np.ndarray, list)):
            object.__setattr__(self, "home", tuple(map(plain, self.home)))
        validate(self)

    def __str__(self) -> str:
        return f"{self.name} ({len(self.links)} links, nq={self.nq}, nv={self.nv})"

    def __repr__(self) -> str:
        return f"<Robot {self}>"

    tree = property(lambda self: self)

    # ---- coordinates

    @cached_property
    def moving(self) -> tuple[Link, ...]:
        """Links on joints with their own coordinates (all but mimic joints), in the order of v."""
        return tuple(link for link in self.links if link.joint.mimic is None)

    @cached_property
    def flexible(self) -> tuple[Link, ...]:
        """Links with a flexible body. Their modal coordinates follow those of their joint in q and v."""
        return tuple(link for link in self.links if link.modes)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        names = tuple(name for link in self.moving for name in _names_of(link, link.joint.motion.coordinates))
        return names + self.motor_names

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        names = tuple(name for link in self.moving for name in _names_of(link, link.joint.motion.velocities))
        return names + self.motor_names

    @cached_property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of tau: a force acts along every velocity of a joint, or on its motor, and none along a mode."""
        return tuple(_name(joint, label) for joint in self._joints for label, _ in joint.motion.velocities)

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """Indices of the velocities along which tau acts: the motor of an elastic joint, or the joint."""
        index = {name: k for k, name in enumerate(self.velocity_names)}
        index |= {name: self.link_nv + k for k, name in enumerate(self.elastic_joints)}
        return tuple(index[name] for name in self.actuator_names)

    @cached_property
    def coordinate_units(self) -> tuple[str, ...]:
        units = tuple(unit for link in self.moving for unit in _units_of(link, link.joint.motion.coordinates))
        return units + self._motor_units

    @cached_property
    def velocity_units(self) -> tuple[str, ...]:
        units = tuple(unit for link in self.moving for unit in _units_of(link, link.joint.motion.velocities))
        return units + self._motor_units

    @cached_property
    def actuator_units(self) -> tuple[str, ...]:
        return tuple(unit for joint in self._joints for _, unit in joint.motion.velocities)

    @property
    def _motor_units(self) -> tuple[str, ...]:
        return tuple(self.joint(name).motion.coordinates[0][1] for name in self.elastic_joints)

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        return tuple(joint.actuator for joint in self._joints for _ in joint.motion.velocities)

    @property
    def drives(self) -> dict[str, Actuator]:
        return {link.joint.name: link.joint.actuator for link in self.links}

    @property
    def _joints(self) -> Iterator[Joint]:
        return (link.joint for link in self.moving)

    @cached_property
    def _spans(self) -> dict[str, tuple[slice, slice]]:
        spans, q, v = {}, 0, 0
        for link in self.moving:
            nq, nv, modes = link.joint.motion.nq, link.joint.motion.nv, len(link.modes)
            spans[link.joint.name] = slice(q, q + nq), slice(v, v + nv)
            q, v = q + nq + modes, v + nv + modes
        return spans

    def span(self, joint: Joint) -> tuple[slice, slice]:
        """Slices of the joint's coordinates in q and v; a mimic joint has those of its leader."""
        return self._spans[joint.mimic.leader if joint.mimic else joint.name]

    @cached_property
    def _moving_spans(self) -> list[tuple[Link, tuple[slice, slice], tuple[slice, slice] | None]]:
        """Every moving link with the slices of its joint, and those of its modes if it has any."""
        return [(x, self.span(x.joint), self.modal_span(x) if len(x.modes) else None) for x in self.moving]

    def modal_span(self, link: Link) -> tuple[slice, slice]:
        """Slices of the modal coordinates of a link in q and v."""
        q, v = self.span(link.joint)
        return slice(q.stop, q.stop + len(link.modes)), slice(v.stop, v.stop + len(link.modes))

    @property
    def modal_velocities(self) -> list[int]:
        """Indices of the modal velocities in v."""
        return [k for link in self.flexible for k in range(self.nv)[self.modal_span(link)[1]]]

    @property
    def step_scales(self) -> np.ndarray:
        scales = np.ones(self.nv)
        scales[self.modal_velocities] = MODAL_STEP
        return scales

    def joint_position(self, joint: Joint, q: Sequence[Scalar]) -> list[Scalar]:
        """Position of a joint in q, with the multiplier and offset of a mimic joint."""
        position = list(q[self.span(joint)[0]])
        return [joint.mimic.multiplier * position[0] + joint.mimic.offset] if joint.mimic else position

    def joint_velocity(self, joint: Joint, v: Sequence[Scalar]) -> list[Scalar]:
        """Components of a joint in any vector with the layout of v, with the multiplier of a mimic joint."""
        velocity = list(v[self.span(joint)[1]])
        return [joint.mimic.multiplier * velocity[0]] if joint.mimic else velocity

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of arguments, including `a_joints` for a robot with flexible links."""
        return super().sizes | ({"a_joints": self.nu} if self.flexible else {})

    @cached_property
    def quaternions(self) -> tuple[slice, ...]:
        ends = [self.span(joint)[0].stop for joint in self._joints if ("qw", "1") in joint.motion.coordinates]
        return tuple(slice(end - 4, end) for end in ends)

    @property
    def is_flat(self) -> bool:
        return all(joint.motion.nv <= 1 for joint in self._joints)

    @property
    def map(self) -> IdentityMap:
        return IdentityMap(self)

    def coordinate_of(self, velocity: int) -> int | None:
        """Index of the coordinate whose rate is the velocity with this index; None for joints of several axes."""
        if velocity >= self.link_nv:
            return velocity - self.link_nv + self.link_nq
        for link in self.moving:
            q, v = self.span(link.joint)
            if v.start == velocity and link.joint.motion.nv == 1:
                return q.start
            if v.stop <= velocity < self.modal_span(link)[1].stop:
                return q.stop + velocity - v.stop
        return None

    def rate(self, q, v, prescribed=()):
        rates = []
        for link in self.moving:
            sq, sv = self.span(link.joint)
            rates += [*link.joint.motion.rate(q[sq], v[sv]), *v[self.modal_span(link)[1]]]
        return [*rates, *v[self.link_nv :]]

    # ---- names

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints with their own coordinates (all but mimic and fixed joints), in the order of v."""
        return tuple(joint.name for joint in self._joints if joint.motion.nv)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, in order."""
        return tuple(link.name for link in self.links)

    @property
    def bodies(self) -> dict[str, Any]:
        return {link.name: link.body for link in self.links}

    def link(self, name: str) -> Link:
        """Look up a link by name."""
        return self.find("link", name, self._links_by_name)

    @cached_property
    def _links_by_name(self) -> dict[str, Link]:
        return {link.name: link for link in self.links}

    def joint(self, name: str) -> Joint:
        """Look up a joint by name, including mimic joints."""
        return self.find("joint", name, self._joints_by_name)

    @cached_property
    def _joints_by_name(self) -> dict[str, Joint]:
        return {link.joint.name: link.joint for link in self.links}

    def missing_inertias(self) -> tuple[str, ...]:
        """Links without inertia that carry no inertia either. A link that carries some is treated as massless."""
        if not self.physical:
            return ()
        with_inertia: set[str | None] = set()
        for link in reversed(self.links):
            if link.name in with_inertia or link.body is not None or link.name in self.free:
                with_inertia |= {link.name, link.parent}
        return tuple(name for name in self.missing if name not in with_inertia)

    @property
    def collision_pairs(self) -> CollisionPairs:
        """Pairs of collision shapes to check, and those that are left out: neighbours, and `ignored_pairs`."""
        return collision_pairs(self)

    # ---- configurations

    @property
    def neutral(self) -> np.ndarray:
        """The configuration in which every link coincides with its joint's placement."""
        parts = ((*link.joint.motion.neutral, *(0.0 for _ in link.modes)) for link in self.moving)
        return self.with_relaxed_springs([x for part in parts for x in part])

    @property
    def start(self) -> np.ndarray:
        """Default start configuration: `home`, or the neutral configuration."""
        if self.home is None:
            return self.neutral
        return self.with_relaxed_springs(self.home) if len(self.home) == self.link_nq else np.array(self.home)

    def with_relaxed_springs(self, q) -> np.ndarray:
        q = np.asarray(q, float)
        spans = (self.span(self.joint(name))[0] for name in self.elastic_joints)
        return np.concatenate([q, *(q[..., span] for span in spans)], axis=-1)

    def configuration(self, positions: Mapping[str, Any]) -> np.ndarray:
        return configuration(self, positions)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        def interval(limits: Limits) -> tuple[float, float]:
            lower, upper = limits.lower, limits.upper
            return -math.inf if lower is None else lower, math.inf if upper is None else upper

        def intervals(link: Link) -> list[tuple[float, float]]:
            return [interval(link.joint.limits)] * link.joint.motion.nq + [(-math.inf, math.inf)] * len(link.modes)

        links = tuple(x for link in self.moving for x in intervals(link))
        return links + ((-math.inf, math.inf),) * len(self.elastic_joints)

    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """Random configuration (nq) within the limits; lengths without limits are within ±1 m.

        The tip of a flexible link is deflected by a few hundredths of its length.
        """
        rng, parts = generator(rng), []
        for link in self.moving:
            parts.append((link.joint if within_limits else link.joint.motion).random(rng))
            if isinstance(link.body, FlexibleBody):
                parts.append(link.body.random(rng))
        return deflected(self.with_relaxed_springs(np.concatenate(parts)), len(self.elastic_joints), rng)

    def integrate(self, q, step) -> np.ndarray:
        q, step = _broadcast(self.sized("q", q, self.nq), self.sized("step", step, self.nv))
        parts = []
        for link, (sq, sv), modal in self._moving_spans:
            parts.append(link.joint.motion.integrate(q[..., sq], step[..., sv]))
            if modal is not None:
                parts.append(q[..., modal[0]] + step[..., modal[1]])
        return np.concatenate([*parts, q[..., self.link_nq :] + step[..., self.link_nv :]], axis=-1)

    def difference(self, q0, q1) -> np.ndarray:
        q0, q1 = _broadcast(self.sized("q0", q0, self.nq), self.sized("q1", q1, self.nq))
        parts = []
        for link in self.moving:
            joint, modal = self.span(link.joint)[0], self.modal_span(link)[0]
            parts += [link.joint.motion.difference(q0[..., joint], q1[..., joint]), q1[..., modal] - q0[..., modal]]
        return np.concatenate([*parts, q1[..., self.link_nq :] - q0[..., self.link_nq :]], axis=-1)

    def bracket(self, v) -> np.ndarray:
        v, matrix = self.sized("v", v, self.nv), super().bracket(v)
        for joint in self._joints:
            span = self.span(joint)[1]
            matrix[span, span] = joint.motion.bracket(v[span])
        return matrix

    # ---- variations

    def with_collisions(self, *shapes: Collision, without: Iterable[str] = ()) -> Self:
        """Return a copy with additional collision shapes on its links or in the world, and without the named ones.

        >>> import appell as ap
        >>> floor = ap.Collision(None, "plane", name="floor")
        >>> tip = ap.Collision("link6", "sphere", (0.05,), name="tip")
        >>> ap.load("puma").with_collisions(floor, tip).collision_pairs.pairs
        (('floor', 'tip'),)
        """
        for shape in shapes:
            if shape.body is not None:
                self.link(shape.body)
        left_out = {shape.name for name in without for shape in shapes_named(self, name)}
        kept = (shape for shape in self.collisions if shape.name not in left_out)
        return replace(self, collisions=(*kept, *shapes))

    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """Return a smaller robot in which some joints are locked.

        Links on locked joints become frames; their bodies are combined with those of the links that carry them. Joints
        that mimic a locked joint are locked with it.

        Parameters
        ----------
        joints : str, iterable of str, or mapping
            Names of the joints to lock at their position in `start`, or a mapping from names to positions (rad or m). A
            joint with several coordinates needs all of them; a floating base may be locked at a pose.

        Returns
        -------
        Robot

        Raises
        ------
        ModelError
            If a joint is unknown or mimics another one.
        ArgumentError
            If a position has the wrong size or is not finite.

        Examples
        --------
        >>> import appell as ap
        >>> arm = ap.load("puma").locked({"joint4": 0.0, "joint5": 0.5, "joint6": 0.0})
        >>> arm.joint_names
        ('joint1', 'joint2', 'joint3')
        >>> "link6" in arm.frame_names
        True
        """
        return locked(self, joints)  # type: ignore[return-value]

    @property
    def rigid(self) -> Robot:  # type: ignore[override]
        """The robot with rigid joints, and with rigid links: flexible bodies lose their modes.

        >>> import appell as ap
        >>> beam = ap.shapes.beam(1.0, EI=50.0, mass_per_length=1.0)
        >>> robot = ap.Robot("beam", (ap.Link("beam", None, ap.Joint("hinge", ap.Revolute()), beam),))
        >>> robot.nv, robot.rigid.nv
        (4, 1)
        """
        robot = super().rigid
        return rigid(robot) if self.flexible else robot

    def with_loops(
        self,
        *constraints: Constraint,
        actuated: Iterable[str] | Mapping[str, float] | None = None,
        independent: Any = None,
        home: Iterable[float] | None = None,
    ) -> ConstrainedRobot:
        """Return this robot under constraints: closed loops, rolling wheels or other rows on its velocities.

        Parameters
        ----------
        *constraints : Constraint
            Constraints such as `ap.Point`, `ap.Hinge`, `ap.Gear` or `ap.Rolling`; see `ap.constraint`.
        actuated : iterable of str, or mapping, optional
            Names of the joints that have a motor. If there are more motors than degrees of freedom, a mapping from
            names to positive weights decides how forces are distributed. None: a force acts along every velocity of the
            tree.
        independent : iterable of str, or Constraint, optional
            Names of the velocities of the tree that become v, or a constraint whose rows define v. None: they are
            chosen automatically, actuated joints first.
        home : iterable of float, optional
            Configuration (nq) near which all loops can be closed. None: `start`.

        Returns
        -------
        ConstrainedRobot
            Its q are those of the tree, its v are independent velocities.

        Raises
        ------
        ModelError
            If a constraint does not fit the robot, or the loops cannot be closed near `home`.

        Examples
        --------
        >>> import appell as ap
        >>> bars = ap.load("four-bar").tree
        >>> robot = bars.with_loops(ap.Point("coupler tip", "rocker tip"), actuated=["crank"])
        >>> robot.nq, robot.velocity_names, robot.actuator_names
        (3, ('crank',), ('crank',))
        """
        return constrained(self, constraints, actuated, independent, home)

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        for name in bodies:
            self.link(name)
        links = tuple(replace(link, body=bodies.get(link.name, link.body)) for link in self.links)
        return replace(self, links=links, missing=tuple(name for name in self.missing if name not in bodies))

    def _with_load(self, target: Frame, load: Body) -> Self:
        if not isinstance(self.bodies[target.body], FlexibleBody):  # type: ignore[index]
            return super()._with_load(target, load)
        names = {*self.frame_names, *(link.joint.name for link in self.links)}
        name = next(x for k in count(1) if (x := f"load{k}") not in names)
        link = Link(name, target.body, Joint(name, Fixed(), target.pose), load, target.at)
        return replace(self, links=(*self.links, link))

    def with_actuators(self, change: ActuatorChanges) -> Self:
        if not callable(change):
            for name in change:
                self.joint(name)
        actuators = changed_actuators({link.joint.name: link.joint.actuator for link in self.links}, change, self.owner)
        joints = (replace(link.joint, actuator=actuators[link.joint.name]) for link in self.links)
        links = tuple(replace(link, joint=x) for link, x in zip(self.links, joints, strict=True))
        same = all(is_elastic(actuators[name]) == is_elastic(old) for name, old in self.drives.items())
        return replace(self, links=links, home=self.home if same or self.home is None else self.home[: self.link_nq])


def constrained(
    tree: Robot,
    constraints: Iterable[Constraint],
    actuated: Iterable[str] | Mapping[str, float] | None = None,
    independent: IndependentVelocities = None,
    home: Iterable[float] | None = None,
) -> ConstrainedRobot:
    """Create a constrained robot; the parameters are those of `Robot.with_loops`."""
    constraints = tuple(constraints)
    check_constraints(tree, constraints)
    weights = _weights(tree, actuated)
    if home is not None:
        home = tuple(home)
        tree = replace(
            tree, home=home if len(home) == tree.link_nq else tuple(tree.sized("home", home, tree.nq).tolist())
        )
    preferred = tuple(weights) if actuated is not None else ()
    chosen = independent if isinstance(independent, Constraint | None) else _names("independent", independent)
    velocity_map, q = constraint_map(tree, constraints, chosen, preferred, tree.start)
    if tree.home is None or len(tree.home) == tree.link_nq:
        q = tree.with_relaxed_springs(q[: tree.link_nq])
    return ConstrainedRobot(tree, constraints, weights, tuple(q.tolist()), velocity_map, chosen, actuated is not None)


def _weights(tree: Robot, actuated: Iterable[str] | Mapping[str, float] | None) -> dict[str, float]:
    """Actuated velocities of the tree and the weights of their forces."""
    if actuated is None:
        return dict.fromkeys(tree.actuator_names, 1.0)
    weights = dict(actuated) if isinstance(actuated, Mapping) else dict.fromkeys(_names("actuated", actuated), 1.0)
    for name, weight in weights.items():
        tree.find("velocity", name, dict.fromkeys(tree.actuator_names))
        if not (is_number(weight) and is_finite(weight) and weight > 0.0):
            raise ModelError(
                f"actuator '{name}' of {tree.owner} has weight {value_text(weight)}.", expected="a positive number"
            )
    if not weights:
        raise ModelError(f"{tree.owner} has no actuated joint.", expected="names of joints, or None for all of them")
    return weights


def _names(argument: str, value: Any) -> tuple[str, ...]:
    """Convert an argument to names of velocities, or raise an error with its value."""
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else ()
    if (not names and value != ()) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{argument} is {value!r}.", expected="names of velocities of the tree, or None")
    return names


def refuse_unconstrained(system: System, function: str) -> None:
    """Raise unless a system has constraints, which `function` needs."""
    if system.map.is_identity:
        raise ModelError(
            f"{function} is for constrained robots; {system.owner} has no constraints.",
            hint="Use robot.with_loops(...).",
        )


def refuse_flexible(system: System, function: str) -> None:
    """Raise if a system has flexible links, which `function` does not support."""
    if system.flexible:
        raise ModelError(
            f"{function} does not support flexible links; {system.owner} has '{system.flexible[0].name}'.",
            hint="Use robot.rigid.",
        )


def refuse_immobile(system: System, function: str) -> None:
    """Raise if a system has no independent velocities, which `function` needs."""
    if not system.nv:
        reason = "its constraints determine all motions" if system.is_constrained else "no joint can move"
        raise ModelError(
            f"{function} needs a degree of freedom, and {system.owner} has none: {reason}.",
            hint="Use simulate(...) for its motion, and Dynamics.constraint_forces(q, tau, prescribed) for the forces "
            "of its constraints and drives; its functions do not have the argument v."
            if system.is_constrained
            else "",
        )


@dataclass(frozen=True, repr=False)
class ConstrainedRobot(System):
    """A tree of links with closed loops, rolling wheels or other constraints; created by `robot.with_loops(...)`."""

    kind: ClassVar[str] = "constrained robot"
    parts: ClassVar[tuple] = ()  # type: ignore[misc]
    outlines: ClassVar[tuple] = ()  # type: ignore[misc]
    reaches: ClassVar[tuple] = ()  # type: ignore[misc]
    tree: Robot
    constraints: tuple[Constraint, ...]
    weights: dict[str, float]  # of the forces along the actuated velocities of the tree
    home: tuple[float, ...]
    map: Any = field(compare=False, metadata=NOT_HASHED)  # a `formulate.constrained.map` map; follows from other fields
    chosen: IndependentVelocities = None  # the argument `independent` of `with_loops`
    motors: bool = False  # whether the argument `actuated` of `with_loops` was given

    def __str__(self) -> str:
        rows = f"{len(self.row_names)} rows of rank {self.rank}"
        return f"{self.name} ({len(self.tree.links)} links, nq={self.nq}, nv={self.nv}, {rows})"

    def __repr__(self) -> str:
        return f"<ConstrainedRobot {self}>"

    # ---- rows

    @property
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints, in order."""
        return tuple(constraint.name for constraint in self.constraints)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names `constraint.label` of all rows, in the order of the multipliers."""
        return self.map.row_names

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return self.map.rank

    @property
    def idle_rows(self) -> tuple[str, ...]:
        """Names of redundant rows, which others imply: they carry no force."""
        return tuple(self.row_names[k] for k in self.map.implied)

    @property
    def prescribed(self) -> tuple[str, ...]:
        """Names of the prescribed motions: the constraint's name, with the row's label if it prescribes several."""
        names = []
        for constraint in self.constraints:
            several = len(constraint.motions) > 1
            names += [f"{constraint.name}.{label}" if several else constraint.name for label in constraint.motions]
        return tuple(names)

    # ---- interface of every system

    name = property(lambda self: self.tree.name)
    gravity = property(lambda self: self.tree.gravity)
    frames = property(lambda self: self.tree.frames)
    free = property(lambda self: self.tree.free)
    description = property(lambda self: self.tree.description)
    reference = property(lambda self: self.tree.reference)
    source = property(lambda self: self.tree.source)
    physical = property(lambda self: self.tree.physical)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return self.tree.coordinate_names

    @property
    def velocity_names(self) -> tuple[str, ...]:
        return self.map.names

    @property
    def actuator_names(self) -> tuple[str, ...]:
        return tuple(self.weights)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        return self.tree.coordinate_units

    @property
    def velocity_units(self) -> tuple[str, ...]:
        return self.map.units

    @property
    def actuator_units(self) -> tuple[str, ...]:
        return tuple(self.tree.velocity_units[k] for k in self.actuated)

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        return tuple(self.tree.actuators[self.tree.actuator_names.index(name)] for name in self.weights)

    @property
    def actuated(self) -> tuple[int, ...]:
        """Indices of the velocities of the tree that have a motor."""
        return tuple(self.tree.actuated[self.tree.actuator_names.index(name)] for name in self.weights)

    @property
    def drives(self) -> dict[str, Actuator]:
        return self.tree.drives

    @property
    def flexible(self) -> tuple[Link, ...]:
        return self.tree.flexible

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.tree.joint_names

    @property
    def bodies(self) -> dict[str, Body | None]:
        return self.tree.bodies

    def missing_inertias(self) -> tuple[str, ...]:
        return self.tree.missing_inertias()

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of arguments, including `w` (velocities of the tree) and `force` (forces along them)."""
        return super().sizes | {"w": self.tree.nv, "force": self.tree.nv}

    @property
    def is_flat(self) -> bool:
        return False

    @property
    def quaternions(self) -> tuple[slice, ...]:
        return self.tree.quaternions

    def rate(self, q, v, prescribed=()):
        return self.map.driven(prescribed).rate(q, v)

    # ---- configurations

    @property
    def start(self) -> np.ndarray:
        return np.array(self.home)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return self.tree.ranges

    def assembled(self, q, prescribed=()) -> np.ndarray:
        """Configuration near q at which all loops are closed; without `prescribed`, prescribed motions are 0."""
        return self.map.driven(prescribed).assembled(self.sized("q", q, self.nq))

    def configuration(self, positions: Mapping[str, Any]) -> np.ndarray:
        q = configuration(replace(self.tree, home=self.home), positions)
        names = {name: link.joint.name for link in self.tree.moving for name in self._names_of(link.joint)}
        held = tuple(dict.fromkeys(names[name] for name in positions if name in names))
        q = self.map.assembled(q, held)
        relaxed = self.tree.with_relaxed_springs(q[: self.link_nq])
        return np.where([name in positions for name in self.coordinate_names], q, relaxed)

    def _names_of(self, joint: Joint) -> tuple[str, ...]:
        """Name of a joint and names of its coordinates."""
        return (joint.name, *self.coordinate_names[self.tree.span(joint)[0]])

    def with_relaxed_springs(self, q) -> np.ndarray:
        return self.tree.with_relaxed_springs(q)

    def integrate(self, q, step) -> np.ndarray:
        """Move along the tangent, then back to the constraints, at fixed time.

        Prescribed motions keep their values at q and planes do not turn, so that `integrate(q, 0)` is q.
        """
        q, step = _broadcast(self.sized("q", q, self.nq), self.sized("step", step, self.nv))
        moved = np.empty(q.shape)
        for index in np.ndindex(q.shape[:-1]):
            moved[index] = self.map.integrate(q[index], step[index])
        return moved

    def difference(self, q0, q1) -> np.ndarray:
        """Differences along `map.positions`. Where wheels roll, there are more positions than velocities."""
        return self.tree.difference(q0, q1)[..., list(self.map.positions)]

    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """Random configuration near the start at which all loops are closed."""
        rng, limits = generator(rng), self.limits
        for k in range(MAX_RANDOM_TRIES):
            step = RANDOM_RANGE * 0.9**k
            try:
                change = step * rng.uniform(-1.0, 1.0, self.tree.nv) * self.tree.step_scales
                q = self.assembled(self.tree.integrate(self.start, change))
            except ModelError:
                continue
            q = deflected(self.with_relaxed_springs(q[: self.link_nq]), len(self.elastic_joints), rng)
            if not within_limits or limits.contain(q):
                return q
        raise ModelError(
            f"{self.owner} has no configuration near its start that closes its loops within its limits.",
            hint="Choose another home, or pass within_limits=False.",
        )

    # ---- variations

    def with_loops(self, *constraints: Constraint) -> Self:
        """Return a copy with additional constraints."""
        return self._rebuilt(self.tree, (*self.constraints, *constraints))

    def with_free(self, *names: str) -> Self:
        return self._with_tree(self.tree.with_free(*names))

    def with_frames(self, frames: Iterable[Frame]) -> Self:
        return self._with_tree(self.tree.with_frames(frames))

    def with_gravity(self, gravity: Iterable[float]) -> Self:
        return self._with_tree(self.tree.with_gravity(gravity))

    def with_collisions(self, *shapes: Collision, without: Iterable[str] = ()) -> Self:
        """Return a copy with additional collision shapes on its links or in the world, and without the named ones."""
        return self._with_tree(self.tree.with_collisions(*shapes, without=without))

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        return self._with_tree(self.tree.with_bodies(bodies))

    def with_actuators(self, change: ActuatorChanges) -> Self:
        tree = self.tree.with_actuators(change)
        same = tree.elastic_joints == self.tree.elastic_joints
        return self._with_tree(tree) if same else self._rebuilt(tree, self.constraints)

    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """Return a smaller robot in which some joints are locked and become frames; the constraints stay.

        The positions of joints given by name alone are those of `home`.
        """
        names = (joints,) if isinstance(joints, str) else joints
        positions = joints if isinstance(joints, Mapping) else self._home_positions(names)
        return self._rebuilt(replace(self.tree, home=self.home).locked(positions), self.constraints)

    def _with_tree(self, tree: Robot) -> Self:
        """Copy with a tree that differs only in bodies, actuators, gravity or frames."""
        return replace(self, tree=tree, map=self.map.on(tree))

    def _home_positions(self, joints: Iterable[str]) -> dict[str, Any]:
        return {name: self.home[self.tree.span(self.tree.joint(name))[0]] for name in joints}

    def _rebuilt(self, tree: Robot, constraints: Iterable[Constraint]) -> Self:
        """Copy with another tree or other constraints, and with the chosen velocities that still exist."""
        remaining = {name: weight for name, weight in self.weights.items() if name in tree.actuator_names}
        chosen = self.chosen
        if not isinstance(chosen, Constraint | None):
            chosen = tuple(name for name in chosen if name in tree.velocity_names)
        links = self.home[: self.tree.link_nq]
        home = self.home if len(self.home) == tree.nq else links if len(links) == tree.link_nq else None
        actuated = remaining if self.motors else None
        return constrained(tree, constraints, actuated, chosen, home)  # type: ignore[return-value]


def _broadcast(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Broadcast two arrays to common leading axes."""
    batch = np.broadcast_shapes(one.shape[:-1], other.shape[:-1])
    return np.broadcast_to(one, (*batch, one.shape[-1])), np.broadcast_to(other, (*batch, other.shape[-1]))


def _name(joint: Joint, label: str) -> str:
    return f"{joint.name}_{label}" if label else joint.name


def _names_of(link: Link, labels: Iterable[tuple[str, str]]) -> list[str]:
    """Names of the coordinates or velocities of a joint, then of the modes of its link."""
    return [_name(link.joint, label) for label, _ in labels] + [f"{link.name}.{mode}" for mode in link.modes]


def _units_of(link: Link, labels: Iterable[tuple[str, str]]) -> list[str]:
    modal = link.body.units if isinstance(link.body, FlexibleBody) else ()
    return [unit for _, unit in labels] + list(modal)
