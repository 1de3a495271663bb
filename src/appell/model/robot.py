"""A robot: a tree of links, each carried by one joint; frozen, and validated once when it is made.

Links stand in an order in which every parent comes before its children. Fixed joints are not here: whoever describes a
robot lumps them, with rotation, and keeps what they carried as named frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.body import Body
from appell.model.joints import Motion
from appell.model.validate import validate

WORLD = None  # the parent of a link that stands on the ground
GRAVITY = Vec3(0.0, 0.0, -9.81)
IN_PLACE = Pose()  # no turn, no shift


@dataclass(frozen=True)
class Limits:
    """What a one-axis joint must not exceed (a continuous one has no last position); None: not known. SI units."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Mimic:
    """A joint without a coordinate of its own: q = multiplier q_leader + offset."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A named motion, placed on the parent link."""

    name: str
    motion: Motion
    placement: Pose = IN_PLACE
    limits: Limits = NO_LIMITS
    mimic: Mimic | None = None
    damping: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True)
class Link:
    """A rigid part of the robot and the joint that carries it; `body` is None for a link without mass."""

    name: str
    parent: str | None
    joint: Joint
    body: Body | None = None


@dataclass(frozen=True)
class Frame:
    """A named place on a link (or on the world, None)."""

    name: str
    link: str | None
    pose: Pose = IN_PLACE


@dataclass(frozen=True, repr=False)
class Robot:
    """A validated tree of links."""

    name: str
    links: tuple[Link, ...]
    frames: tuple[Frame, ...] = ()
    gravity: Vec3 = GRAVITY
    home: tuple[float, ...] | None = None  # a configuration worth starting from; the neutral one if None
    free: frozenset[str] = frozenset()  # links whose inertial parameters stay inputs
    missing: tuple[str, ...] = ()  # links whose description lacks the inertia that dynamics needs
    physical: bool = True  # refuse bodies that cannot exist
    description: str = field(default="", compare=False)  # what the robot is, in a sentence
    reference: str = field(default="", compare=False)  # where its numbers come from
    source: str = field(default="", compare=False)  # the file it was read from

    def __post_init__(self):
        validate(self)

    def __str__(self) -> str:
        return f"{self.name} ({len(self.links)} links, nq={self.nq}, nv={self.nv})"

    def __repr__(self) -> str:
        return f"<Robot {self}>"

    # ---- coordinates

    @cached_property
    def moving(self) -> tuple[Link, ...]:
        """The links with coordinates of their own, in the order of v."""
        return tuple(link for link in self.links if link.joint.mimic is None)

    @property
    def nq(self) -> int:
        return sum(link.joint.motion.nq for link in self.moving)

    @property
    def nv(self) -> int:
        return sum(link.joint.motion.nv for link in self.moving)

    @cached_property
    def _spans(self) -> dict[str, tuple[slice, slice]]:
        spans, q, v = {}, 0, 0
        for link in self.moving:
            motion = link.joint.motion
            spans[link.joint.name] = slice(q, q + motion.nq), slice(v, v + motion.nv)
            q, v = q + motion.nq, v + motion.nv
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

    # ---- names

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(link.joint.name for link in self.moving)

    @property
    def link_names(self) -> tuple[str, ...]:
        return tuple(link.name for link in self.links)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every place that `pose` and `jacobian` know: the links, then the named frames."""
        return (*self.link_names, *(frame.name for frame in self.frames))

    def link(self, name: str) -> Link:
        return self._find("link", name, {link.name: link for link in self.links})

    def joint(self, name: str) -> Joint:
        return self._find("joint", name, {link.joint.name: link.joint for link in self.links})

    def frame(self, name: str) -> Frame:
        """A named frame; a link's name is the frame of its joint."""
        links = {link.name: Frame(link.name, link.name) for link in self.links}
        return self._find("frame", name, links | {frame.name: frame for frame in self.frames})

    def _find(self, kind: str, name: str, known: Mapping):
        if name not in known:
            raise ModelError(unknown_name(kind, name, known, f"robot '{self.name}'"))
        return known[name]

    # ---- configurations

    @property
    def neutral(self) -> np.ndarray:
        """The configuration in which every link stands on its joint's placement."""
        return np.array([x for link in self.moving for x in link.joint.motion.neutral])

    @property
    def start(self) -> np.ndarray:
        """`home`, or the neutral configuration."""
        return self.neutral if self.home is None else np.array(self.home)

    def random_configuration(self, rng: np.random.Generator) -> np.ndarray:
        """Any reachable q, limits aside; quaternions are of unit length."""
        return np.concatenate([link.joint.motion.random(rng) for link in self.moving])

    def integrate(self, q, step) -> np.ndarray:
        """The configuration reached from q by moving with velocity `step` for unit time; batches broadcast."""
        q, step = np.asarray(q, float), np.asarray(step, float)
        for name, array, size in (("q", q, self.nq), ("step", step, self.nv)):
            if array.shape[-1:] != (size,):
                raise ArgumentError(f"{name} has shape {array.shape}; the last axis of robot '{self.name}' is {size}.")
        batch = np.broadcast_shapes(q.shape[:-1], step.shape[:-1])
        q, step = np.broadcast_to(q, (*batch, self.nq)), np.broadcast_to(step, (*batch, self.nv))
        parts = [(link.joint.motion, *self.span(link.joint)) for link in self.moving]
        return np.concatenate([motion.step(q[..., sq], step[..., sv]) for motion, sq, sv in parts], axis=-1)

    # ---- variations

    def with_free(self, *links: str) -> Robot:
        """The robot with the inertial parameters of these links (of all, if none is named) left open as inputs."""
        for name in links:
            self.link(name)
        return replace(self, free=frozenset(links or self.link_names))

    def with_bodies(self, bodies: Mapping[str, Body | None]) -> Robot:
        """The robot with other bodies on some of its links."""
        for name in bodies:
            self.link(name)
        links = tuple(replace(link, body=bodies.get(link.name, link.body)) for link in self.links)
        return replace(self, links=links, missing=tuple(name for name in self.missing if name not in bodies))

    def with_frames(self, frames: Iterable[Frame]) -> Robot:
        return replace(self, frames=(*self.frames, *frames))

    def with_gravity(self, gravity: Iterable[float]) -> Robot:
        return replace(self, gravity=Vec3.of(gravity))

    # ---- texts

    def to_urdf(self, path: str | Path | None = None) -> str:
        """The robot in URDF; with a path, also in that file. Reads back to an equal robot."""
        from appell.describe.write import to_urdf

        return to_urdf(self, path)

    def to_toml(self, path: str | Path | None = None) -> str:
        """The robot in appell's own format; with a path, also in that file. Reads back to an equal robot."""
        from appell.describe.write import to_toml

        return to_toml(self, path)
