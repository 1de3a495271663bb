"""How a kind of joint takes its turn in a loop: the numbers of its placement, and the step from link to parent.

In aligned frames (see `aligned`) a joint of one axis is placed by Rz(a) Rx(b) Rz(c) and a shift s, and a is zero
but for the second child of a link and others that branch off. Its pose is kept from pass to pass as few numbers:

    revolute       cos(q + c), sin(q + c)           R = Rz(a) Rx(b) Rz(q + c)                                       (1)
                   from cos q and sin q, so that nothing of a large q is rounded off
    prismatic      q                                R = Rz(a) Rx(b) Rz(c),  s + q R e_z                             (2)
    all others     R and s                                                                                          (3)

Each kind is one step of a loop. What all links of a kind have in common folds away when the step is traced.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, Rotation
from appell.algebra.scalar import Scalar, Vector, cos, sin, snap
from appell.algebra.vector import UNITS, Vec3
from appell.formulate.recursion import Step, step_of
from appell.formulate.tree import TreeLink
from appell.model.joints import Motion, OneAxis, Partial, Revolute

STRAIGHT = 1e-15  # a turn about z below this is none: rounding of the frames


@dataclass(frozen=True)
class Mount(ABC):
    """A kind of joint, as one step of a loop; equal ones share it."""

    motion: Motion
    turned: bool = False  # whether a is not zero

    @property
    def nv(self) -> int:
        return self.motion.nv

    @property
    def partials(self) -> tuple[Partial, ...]:
        return self.motion.partials

    @staticmethod
    def of(link: TreeLink) -> Mount:
        """The kind of a link's joint, in aligned frames."""
        motion = link.joint.motion
        if not isinstance(motion, OneAxis):
            return PlacedMount(motion)
        turned = abs(link.placement.rotation[0, 2]) > STRAIGHT
        return TurningMount(Revolute(), turned) if isinstance(motion, Revolute) else SlidingMount(motion, turned)

    @abstractmethod
    def numbers(self, link: TreeLink) -> list[float]:
        """What places the joint of a link, for the table; the same count for all links of the kind."""

    @property
    @abstractmethod
    def kept(self) -> int:
        """How many numbers hold its pose."""

    @abstractmethod
    def keep(self, numbers: Vector, q: Vector) -> list[Scalar]:
        """The pose of the joint at q, as kept."""

    @abstractmethod
    def step(self, numbers: Vector, kept: Vector) -> Step:
        """From the link to its parent."""

    @abstractmethod
    def share(self, numbers: Vector, v: Vector) -> list[Scalar]:
        """The joint's own velocities, given those of its coordinates: a mimic's are scaled."""


class OneAxisMount(Mount):
    """About or along z: [cos b, sin b, cos c, sin c, s, offset, scale, and cos a, sin a if turned]."""

    def numbers(self, link: TreeLink) -> list[float]:
        rotation, mimic = link.placement.rotation, link.joint.mimic
        a = math.atan2(rotation[0, 2], -rotation[1, 2]) if self.turned else 0.0
        inner = about_z(math.cos(a), -math.sin(a)) @ rotation
        b, c = math.atan2(-inner[1, 2], inner[2, 2]), math.atan2(-inner[0, 1], inner[0, 0])
        circles = (snap(f(angle)) for angle in (b, c) for f in (math.cos, math.sin))
        turn = (math.cos(a), math.sin(a)) if self.turned else ()
        offset = mimic.offset if mimic else 0.0
        return [*circles, *link.placement.translation, offset, link.joint.scale, *turn]

    def placement(self, numbers: Vector) -> tuple[Mat3, ...]:
        """The factors before the turn about the link's own z."""
        placed = (about_x(numbers[0], numbers[1]),)
        return (about_z(*numbers[9:11]), *placed) if self.turned else placed

    def position(self, numbers: Vector, q: Vector) -> Scalar:
        return numbers[8] * q[0] + numbers[7]

    def share(self, numbers, v):
        return [numbers[8] * v[0]]


class TurningMount(OneAxisMount):
    """(1)."""

    kept = 2

    def keep(self, numbers, q):
        (c, s), angle = numbers[2:4], self.position(numbers, q)
        x, y = cos(angle), sin(angle)
        return [x * c - y * s, x * s + y * c]

    def step(self, numbers, kept):
        return Step(Rotation((*self.placement(numbers), about_z(*kept))), Vec3.of(numbers[4:7]))


class SlidingMount(OneAxisMount):
    """(2)."""

    kept = 1

    def keep(self, numbers, q):
        return [self.position(numbers, q)]

    def step(self, numbers, kept):
        R = Rotation((*self.placement(numbers), about_z(*numbers[2:4])))
        return Step(R, Vec3.of(numbers[4:7]) + kept[0] * (R @ UNITS[2]))


class PlacedMount(Mount):
    """(3): nine numbers of the placement's rotation, three of its shift."""

    kept = 12

    def numbers(self, link):
        return [*(x for row in link.placement.rotation.rows for x in row), *link.placement.translation]

    def keep(self, numbers, q):
        step = step_of(Pose(_matrix(numbers), Vec3.of(numbers[9:])), self.motion.pose(q))
        return [*(x for row in step.R.matrix.rows for x in row), *step.s]

    def step(self, numbers, kept):
        return Step(Rotation((_matrix(kept),)), Vec3.of(kept[9:]))

    def share(self, numbers, v):
        return list(v)


def about_x(c: Scalar, s: Scalar) -> Mat3:
    """A turn about x by an angle of cosine c and sine s."""
    return Mat3.of([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_z(c: Scalar, s: Scalar) -> Mat3:
    """A turn about z by an angle of cosine c and sine s."""
    return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _matrix(entries: Sequence[Scalar]) -> Mat3:
    return Mat3.of([entries[0:3], entries[3:6], entries[6:9]])
