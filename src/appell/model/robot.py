"""A robot: a tree of links, each carried by one joint; frozen, and validated once when it is made.

Links stand in an order in which every parent comes before its children. Fixed joints are not here: whoever describes a
robot lumps them, with rotation, and keeps what they carried as named frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from appell.algebra.scalar import Scalar
from appell.algebra.vector import Vec3
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.closing import closed
from appell.model.frame import Frame
from appell.model.limits import Limits
from appell.model.link import Joint, Link, Mimic
from appell.model.locking import locked
from appell.model.system import Rng, System, generator, vector_of
from appell.model.validate import validate
from appell.model.visual import Visual

__all__ = ["GRAVITY", "Joint", "Link", "Mimic", "Robot"]

GRAVITY = Vec3(0.0, 0.0, -9.81)
UNTOLD = {"content": False}  # of a field that no hash of a robot needs to tell (`compile.content`)


@dataclass(frozen=True, repr=False)
class Robot(System):
    """A validated tree of links."""

    kind: ClassVar[str] = "robot"
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

    def rate(self, q, v):
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
        *constraints: Any,
        actuated: Iterable[str] | Mapping[str, float] | None = None,
        independent: Any = None,
        home: Iterable[float] | None = None,
    ) -> Any:
        """A constrained robot: with loops closed, wheels that roll, or other rows on its velocities (`ap.constraint`).

        `actuated` names the joints that carry a motor, or gives each the weight by which forces are shared out where
        there are more of them than freedoms; None: a force acts along every velocity. `independent` names the
        velocities of the tree that become v, or gives rows of others; None: found. `home` is a configuration near
        which all loops can be closed, the start of the tree if None.
        """
        return closed(self, constraints, actuated, independent, home)

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


def _broadcast(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays whose leading axes agree."""
    batch = np.broadcast_shapes(one.shape[:-1], other.shape[:-1])
    return np.broadcast_to(one, (*batch, one.shape[-1])), np.broadcast_to(other, (*batch, other.shape[-1]))


def _name(joint: Joint, label: str) -> str:
    return f"{joint.name}_{label}" if label else joint.name
