"""Robots: a tree of links, each carried by one joint, and the same tree under constraints; frozen, validated once.

Links stand in an order in which every parent comes before its children. Fixed joints are not here: whoever describes a
robot lumps them, with rotation, and keeps what they carried as named frames.

Under constraints, loops are closed, wheels roll, and velocities keep rows K(q) w + b = 0:

    q    the coordinates of the tree                v    f independent velocities, so that w = N(q) v + n(q, t)
    tau  forces at the actuated joints              w    the velocities of the tree, all of them

Which velocities are independent, and what N and n are, is in the map of the robot (`model.map`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, is_number
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, ModelError
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.constraint import Constraint, check_constraints
from appell.model.frame import IN_PLACE, Frame
from appell.model.joints import Motion, OneAxis
from appell.model.limits import NO_LIMITS, Limits
from appell.model.locking import locked
from appell.model.system import IdentityMap, Rng, System, constraint_map, generator, vector_of
from appell.model.validate import validate
from appell.model.visual import Visual


@dataclass(frozen=True)
class Mimic:
    """A joint without a coordinate of its own: q = multiplier q_leader + offset."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A named motion, placed on the parent link, and what drives it."""

    name: str
    motion: Motion
    placement: Pose = IN_PLACE
    limits: Limits = NO_LIMITS
    mimic: Mimic | None = None
    actuator: Actuator = IDEAL

    @property
    def scale(self) -> float:
        """How fast it moves for a unit of its coordinate's velocity: 1, or a mimic's multiplier."""
        return self.mimic.multiplier if self.mimic else 1.0

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A position within the limits; where one of them is open, up to a turn or 2 m from the other."""
        lower, upper = self.limits.lower, self.limits.upper
        if not isinstance(self.motion, OneAxis) or (lower is None and upper is None):
            return self.motion.random(rng)
        width = 2.0 * self.motion.spread
        low = lower if lower is not None else (upper or 0.0) - width
        return rng.uniform(low, low + width if upper is None else upper, 1)


@dataclass(frozen=True)
class Link:
    """A rigid part of the robot and the joint that carries it; `body` is None for a link without mass."""

    name: str
    parent: str | None
    joint: Joint
    body: Body | None = None


NEARBY = 0.3  # rad or m about the start, where random configurations of a constrained robot are looked for
TRIES = 50
GRAVITY = Vec3(0.0, 0.0, -9.81)
Chosen = Sequence[str] | Constraint | None  # names of velocities of the tree, or rows of others
UNTOLD = {"content": False}  # of a field that no hash of a robot needs to tell (`compile.content`)


@dataclass(frozen=True, repr=False)
class Robot(System):
    """A validated tree of links."""

    kind: ClassVar[str] = "robot"
    parts: ClassVar[tuple] = ()  # type: ignore[misc]
    outlines: ClassVar[tuple] = ()  # type: ignore[misc]
    reaches: ClassVar[tuple] = ()  # type: ignore[misc]
    constraints: ClassVar[tuple] = ()  # type: ignore[misc]
    name: str
    links: tuple[Link, ...]
    frames: tuple[Frame, ...] = ()
    gravity: Vec3 = GRAVITY
    home: tuple[float, ...] | None = None  # a configuration worth starting from; the neutral one if None
    free: frozenset[str] = frozenset()  # links whose inertial parameters stay inputs
    missing: tuple[str, ...] = ()  # links whose description lacks the inertia that dynamics needs
    physical: bool = True  # refuse bodies that cannot exist
    visuals: tuple[Visual, ...] = field(default=(), compare=False, metadata=UNTOLD)  # how its links look
    description: str = field(default="", compare=False)  # what the robot is, in a sentence
    reference: str = field(default="", compare=False)  # where its numbers come from
    source: str = field(default="", compare=False)  # the file it was read from

    def __post_init__(self):
        object.__setattr__(self, "gravity", vector_of(self.gravity, f"the gravity of robot '{self.name}'"))
        validate(self)

    def __str__(self) -> str:
        return f"{self.name} ({len(self.links)} links, nq={self.nq}, nv={self.nv})"

    def __repr__(self) -> str:
        return f"<Robot {self}>"

    tree = property(lambda self: self)

    # ---- coordinates

    @cached_property
    def moving(self) -> tuple[Link, ...]:
        """The links with coordinates of their own, in the order of v."""
        return tuple(link for link in self.links if link.joint.mimic is None)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        return tuple(_name(joint, label) for joint in self._joints for label, _ in joint.motion.coordinates)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        return tuple(_name(joint, label) for joint in self._joints for label, _ in joint.motion.velocities)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Those of v: a force acts along every component."""
        return self.velocity_names

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        return tuple(unit for joint in self._joints for _, unit in joint.motion.coordinates)

    @property
    def velocity_units(self) -> tuple[str, ...]:
        return tuple(unit for joint in self._joints for _, unit in joint.motion.velocities)

    @property
    def actuator_units(self) -> tuple[str, ...]:
        return self.velocity_units

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
        for joint in self._joints:
            nq, nv = joint.motion.nq, joint.motion.nv
            spans[joint.name] = slice(q, q + nq), slice(v, v + nv)
            q, v = q + nq, v + nv
        return spans

    def span(self, joint: Joint) -> tuple[slice, slice]:
        """Where the joint's coordinates stand in q and in v; a mimic joint has those of its leader."""
        return self._spans[joint.mimic.leader if joint.mimic else joint.name]

    def joint_position(self, joint: Joint, q: Sequence[Scalar]) -> list[Scalar]:
        own = list(q[self.span(joint)[0]])
        return [joint.mimic.multiplier * own[0] + joint.mimic.offset] if joint.mimic else own

    def joint_velocity(self, joint: Joint, v: Sequence[Scalar]) -> list[Scalar]:
        """The joint's share of any vector with the layout of v."""
        own = list(v[self.span(joint)[1]])
        return [joint.mimic.multiplier * own[0]] if joint.mimic else own

    @property
    def quaternions(self) -> tuple[slice, ...]:
        ends = [self.span(joint)[0].stop for joint in self._joints if ("qw", "1") in joint.motion.coordinates]
        return tuple(slice(end - 4, end) for end in ends)

    @property
    def is_flat(self) -> bool:
        return all(joint.motion.nv == 1 for joint in self._joints)

    @property
    def map(self) -> IdentityMap:
        return IdentityMap(self)

    def coordinate_of(self, velocity: int) -> int | None:
        """The coordinate whose rate a velocity is, by their numbers; None for joints of several axes."""
        for link in self.moving:
            q, v = self.span(link.joint)
            if v.start == velocity and link.joint.motion.nv == 1:
                return q.start
        return None

    def rate(self, q, v, prescribed=()):
        spans = [(joint.motion, *self.span(joint)) for joint in self._joints]
        return [x for motion, sq, sv in spans for x in motion.rate(q[sq], v[sv])]

    # ---- names

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Of the joints with coordinates of their own."""
        return tuple(joint.name for joint in self._joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        return tuple(link.name for link in self.links)

    @property
    def bodies(self) -> dict[str, Body | None]:
        return {link.name: link.body for link in self.links}

    def link(self, name: str) -> Link:
        return self.find("link", name, {link.name: link for link in self.links})

    def joint(self, name: str) -> Joint:
        return self.find("joint", name, {link.joint.name: link.joint for link in self.links})

    def lacking(self) -> tuple[str, ...]:
        """Links without inertia that carry none either; between joints, such a link counts as massless."""
        if not self.physical:
            return ()
        laden: set[str | None] = set()
        for link in reversed(self.links):
            if link.name in laden or link.body is not None or link.name in self.free:
                laden |= {link.name, link.parent}
        return tuple(name for name in self.missing if name not in laden)

    # ---- configurations

    @property
    def neutral(self) -> np.ndarray:
        """The configuration in which every link stands on its joint's placement."""
        return np.array([x for joint in self._joints for x in joint.motion.neutral])

    @property
    def start(self) -> np.ndarray:
        """`home`, or the neutral configuration."""
        return self.neutral if self.home is None else np.array(self.home)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        def reach(limits: Limits) -> tuple[float, float]:
            lower, upper = limits.lower, limits.upper
            return -math.inf if lower is None else lower, math.inf if upper is None else upper

        return tuple(reach(joint.limits) for joint in self._joints for _ in joint.motion.coordinates)

    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """Any reachable q; lengths without limits are within ±1 m, quaternions of unit length."""
        rng = generator(rng)
        return np.concatenate([(joint if within_limits else joint.motion).random(rng) for joint in self._joints])

    def integrate(self, q, step) -> np.ndarray:
        q, step = _broadcast(self.sized("q", q, self.nq), self.sized("step", step, self.nv))
        parts = [(joint.motion, *self.span(joint)) for joint in self._joints]
        return np.concatenate([motion.step(q[..., sq], step[..., sv]) for motion, sq, sv in parts], axis=-1)

    def difference(self, q0, q1) -> np.ndarray:
        q0, q1 = _broadcast(self.sized("q0", q0, self.nq), self.sized("q1", q1, self.nq))
        parts = [(joint.motion, self.span(joint)[0]) for joint in self._joints]
        return np.concatenate([motion.difference(q0[..., s], q1[..., s]) for motion, s in parts], axis=-1)

    def bracket(self, v) -> np.ndarray:
        v, matrix = self.sized("v", v, self.nv), super().bracket(v)
        for joint in self._joints:
            span = self.span(joint)[1]
            matrix[span, span] = joint.motion.bracket(v[span])
        return matrix

    # ---- variations

    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """A smaller robot: links on held joints become frames, their matter is added to the links that carry them.

        A joint of several coordinates is held at as many numbers, such as a floating base at place and quaternion.
        Joints that mimic a held one are held with it.
        """
        return locked(self, joints)  # type: ignore[return-value]

    def with_loops(
        self,
        *constraints: Constraint,
        actuated: Iterable[str] | Mapping[str, float] | None = None,
        independent: Any = None,
        home: Iterable[float] | None = None,
    ) -> ConstrainedRobot:
        """A constrained robot: with loops closed, wheels that roll, or other rows on its velocities (`ap.constraint`).

        `actuated` names the joints that carry a motor, or gives each the weight by which forces are shared out where
        there are more of them than freedoms; None: a force acts along every velocity. `independent` names the
        velocities of the tree that become v, or gives rows of others; None: found. `home` is a configuration near
        which all loops can be closed, the start of the tree if None.
        """
        return constrained(self, constraints, actuated, independent, home)

    with_loop = with_rolling = with_loops

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        for name in bodies:
            self.link(name)
        links = tuple(replace(link, body=bodies.get(link.name, link.body)) for link in self.links)
        return replace(self, links=links, missing=tuple(name for name in self.missing if name not in bodies))

    def with_actuators(self, change: Mapping[str, Actuator] | Callable[[str, Actuator], Actuator]) -> Self:
        if not callable(change):
            for name in change:
                self.joint(name)

        def changed(joint: Joint) -> Joint:
            own = joint.actuator
            return replace(joint, actuator=change(joint.name, own) if callable(change) else change.get(joint.name, own))

        return replace(self, links=tuple(replace(link, joint=changed(link.joint)) for link in self.links))


def constrained(
    tree: Robot,
    constraints: Iterable[Constraint],
    actuated: Iterable[str] | Mapping[str, float] | None = None,
    independent: Chosen = None,
    home: Iterable[float] | None = None,
) -> ConstrainedRobot:
    """The tree under constraints: checked, closed and counted."""
    rows = tuple(constraints)
    check_constraints(tree, rows)
    weights = _weights(tree, actuated)
    if home is not None:
        tree = replace(tree, home=tuple(tree.sized("home", home, tree.nq).tolist()))
    preferred = tuple(weights) if actuated is not None else ()
    chosen = independent if isinstance(independent, Constraint | None) else _names("independent", independent)
    motions, q = constraint_map(tree, rows, chosen, preferred, tree.start)
    return ConstrainedRobot(tree, rows, weights, tuple(q.tolist()), motions, chosen, actuated is not None)


def _weights(tree: Robot, actuated: Iterable[str] | Mapping[str, float] | None) -> dict[str, float]:
    """The velocities of the tree that carry a motor, and what a unit of force weighs there."""
    if actuated is None:
        return dict.fromkeys(tree.velocity_names, 1.0)
    weights = dict(actuated) if isinstance(actuated, Mapping) else dict.fromkeys(_names("actuated", actuated), 1.0)
    for name, weight in weights.items():
        tree.find("velocity", name, dict.fromkeys(tree.velocity_names))
        if not (is_number(weight) and np.isfinite(weight) and weight > 0.0):
            raise ModelError(f"actuator '{name}' of {tree.owner} has weight {weight!r}.", expected="a positive number")
    if not weights:
        raise ModelError(f"{tree.owner} is to have no actuator.", expected="names of joints, or None for all of them")
    return weights


def _names(what: str, given: Any) -> tuple[str, ...]:
    """Names of velocities, or an error that says what was given."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if (not names and given != ()) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{what} is {given!r}.", expected="names of velocities of the tree, or None")
    return names


def refuse_unconstrained(system: System, what: str) -> None:
    """Raise unless a system has constraints, which `what` needs."""
    if system.map.is_identity:
        raise ModelError(
            f"{what} is for constrained robots; {system.owner} has no constraints.", hint="robot.with_loops(...)"
        )


@dataclass(frozen=True, repr=False)
class ConstrainedRobot(System):
    """A tree with loops, rolling wheels or other rows on its velocities; made by `robot.with_loops(...)`."""

    kind: ClassVar[str] = "constrained robot"
    parts: ClassVar[tuple] = ()  # type: ignore[misc]
    outlines: ClassVar[tuple] = ()  # type: ignore[misc]
    reaches: ClassVar[tuple] = ()  # type: ignore[misc]
    tree: Robot
    constraints: tuple[Constraint, ...]
    weights: dict[str, float]  # of the actuated velocities of the tree
    home: tuple[float, ...]
    map: Any = field(compare=False, metadata=UNTOLD)  # follows from the other fields
    chosen: Chosen = None  # what was asked to be independent
    motors: bool = False  # whether it was said which joints are actuated

    def __str__(self) -> str:
        rows = f"{len(self.row_names)} rows of rank {self.rank}"
        return f"{self.name} ({len(self.tree.links)} links, nq={self.nq}, nv={self.nv}, {rows})"

    def __repr__(self) -> str:
        return f"<ConstrainedRobot {self}>"

    # ---- rows

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return tuple(constraint.name for constraint in self.constraints)

    @property
    def row_names(self) -> tuple[str, ...]:
        """constraint.label of every row, in the order of multipliers."""
        return self.map.row_names

    @property
    def rank(self) -> int:
        return self.map.rank

    @property
    def idle_rows(self) -> tuple[str, ...]:
        """Rows that others imply: they carry no force."""
        return tuple(self.row_names[k] for k in self.map.implied)

    @property
    def prescribed(self) -> tuple[str, ...]:
        """A name for each: its constraint's, with the row's label where one constraint has several."""
        found = []
        for constraint in self.constraints:
            several = len(constraint.motions) > 1
            found += [f"{constraint.name}.{label}" if several else constraint.name for label in constraint.motions]
        return tuple(found)

    # ---- what every system has

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
        return tuple(self.tree.actuators[k] for k in self.actuated)

    @property
    def actuated(self) -> tuple[int, ...]:
        """The velocities of the tree that carry a motor."""
        return tuple(self.tree.velocity_names.index(name) for name in self.weights)

    @property
    def drives(self) -> dict[str, Actuator]:
        return self.tree.drives

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.tree.joint_names

    @property
    def bodies(self) -> dict[str, Body | None]:
        return self.tree.bodies

    def lacking(self) -> tuple[str, ...]:
        return self.tree.lacking()

    @property
    def sizes(self) -> dict[str, int]:
        """With w, a velocity of the tree, and forces along all of its velocities."""
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
        """The configuration near q in which all loops are closed; motions that are not prescribed rest at 0."""
        return self.map.driven(prescribed).assembled(self.sized("q", q, self.nq))

    def integrate(self, q, step) -> np.ndarray:
        """Along the tangent, then back to the constraints, at fixed time.

        Prescribed motions stay where they are at q, and planes do not turn, so that `integrate(q, 0)` is q.
        """
        q, step = _broadcast(self.sized("q", q, self.nq), self.sized("step", step, self.nv))
        found = np.empty(q.shape)
        for at in np.ndindex(q.shape[:-1]):
            found[at] = self.map.integrate(q[at], step[at])
        return found

    def difference(self, q0, q1) -> np.ndarray:
        """One number for each of `map.positions`; where wheels roll, there are more of them than velocities."""
        return self.tree.difference(q0, q1)[..., list(self.map.positions)]

    def random_configuration(self, rng: Rng = None, *, within_limits: bool = True) -> np.ndarray:
        """One about the start in which all loops are closed."""
        rng, limits = generator(rng), self.limits
        for k in range(TRIES):
            spread = NEARBY * 0.9**k
            try:
                q = self.assembled(self.tree.integrate(self.start, spread * rng.uniform(-1.0, 1.0, self.tree.nv)))
            except ModelError:
                continue
            if not within_limits or limits.contain(q):
                return q
        raise ModelError(
            f"{self.owner} can be assembled nowhere about its start within its limits.",
            hint="another home, or within_limits=False",
        )

    # ---- variations

    def with_loops(self, *constraints: Constraint) -> Self:
        """With more constraints."""
        return self._again(self.tree, (*self.constraints, *constraints))

    with_loop = with_rolling = with_loops

    def with_free(self, *names: str) -> Self:
        return self._on(self.tree.with_free(*names))

    def with_frames(self, frames: Iterable[Frame]) -> Self:
        return self._on(self.tree.with_frames(frames))

    def with_gravity(self, gravity: Iterable[float]) -> Self:
        return self._on(self.tree.with_gravity(gravity))

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Self:
        return self._on(self.tree.with_bodies(bodies))

    def with_actuators(self, change: Mapping[str, Actuator] | Callable[[str, Actuator], Actuator]) -> Self:
        return self._on(self.tree.with_actuators(change))

    def locked(self, joints: str | Iterable[str] | Mapping[str, Any]) -> Self:
        """Held joints become frames; the loops stay closed, with fewer freedoms."""
        held = joints if isinstance(joints, Mapping) else self._here((joints,) if isinstance(joints, str) else joints)
        return self._again(replace(self.tree, home=self.home).locked(held), self.constraints)

    def _on(self, tree: Robot) -> Self:
        """The same on a tree that differs in its bodies, drives, gravity or frames only."""
        return replace(self, tree=tree, map=self.map.on(tree))

    def _here(self, joints: Iterable[str]) -> dict[str, Any]:
        """Where these joints stand at home."""
        return {name: self.home[self.tree.span(self.tree.joint(name))[0]] for name in joints}

    def _again(self, tree: Robot, constraints: Iterable[Constraint]) -> Self:
        """The same on another tree or with other constraints, as far as what was asked for is still there."""
        left = {name: weight for name, weight in self.weights.items() if name in tree.velocity_names}
        chosen = self.chosen
        if not isinstance(chosen, Constraint | None):
            chosen = tuple(name for name in chosen if name in tree.velocity_names)
        home = self.home if len(self.home) == tree.nq else None
        return constrained(tree, constraints, left if self.motors else None, chosen, home)  # type: ignore[return-value]


def _broadcast(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays whose leading axes agree."""
    batch = np.broadcast_shapes(one.shape[:-1], other.shape[:-1])
    return np.broadcast_to(one, (*batch, one.shape[-1])), np.broadcast_to(other, (*batch, other.shape[-1]))


def _name(joint: Joint, label: str) -> str:
    return f"{joint.name}_{label}" if label else joint.name
