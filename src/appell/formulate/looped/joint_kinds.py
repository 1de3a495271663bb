"""Kinds of joints in loops: the numbers of a joint's placement, and the transform from link to parent.

In aligned frames (see `aligned`) a joint of one axis is placed by Rz(a) Rx(b) Rz(c) and an offset s; a is zero except
for the second and further children of a link. The pose of a joint is stored from pass to pass as few numbers:

    revolute       cos(q + c), sin(q + c)           R = Rz(a) Rx(b) Rz(q + c)                                       (1)
                   from cos q and sin q, so that no digits of a large q are lost
    prismatic      q                                R = Rz(a) Rx(b) Rz(c),  s + q R e_z                             (2)
    all others     R and s                                                                                          (3)

Each kind is one body of a loop. Constants that all links of a kind have in common fold away when the body is traced.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, Rotation, about_x, about_z
from appell.algebra.scalar import Scalar, Vector, atan2, cos, sin, snap
from appell.algebra.vector import UNITS, Vec3
from appell.formulate.recursion import LinkTransform, joint_transform
from appell.formulate.tree import TreeLink
from appell.model.joints import Motion, OneAxis, Partial, Revolute

ROTATION_TOLERANCE = 1e-15  # a smaller rotation about z is a rounding error of the frames


@dataclass(frozen=True)
class JointKind(ABC):
    """A kind of joint, for which a loop has one body; joints of equal kinds share it."""

    motion: Motion
    turned: bool = False  # whether a is not zero

    @property
    def nv(self) -> int:
        return self.motion.nv

    @property
    def partials(self) -> tuple[Partial, ...]:
        return self.motion.partials

    @staticmethod
    def of(link: TreeLink) -> JointKind:
        """Kind of a link's joint, in aligned frames."""
        motion = link.joint.motion
        if not isinstance(motion, OneAxis):
            return GeneralKind(motion)
        turned = abs(link.placement.rotation[0, 2]) > ROTATION_TOLERANCE
        return RevoluteKind(Revolute(), turned) if isinstance(motion, Revolute) else PrismaticKind(motion, turned)

    @abstractmethod
    def numbers(self, link: TreeLink) -> list[float]:
        """Numbers of a joint's placement, for the table; all links of a kind have the same count."""

    @property
    @abstractmethod
    def pose_size(self) -> int:
        """Count of the numbers that store the joint's pose."""

    @abstractmethod
    def joint_pose(self, numbers: Vector, q: Vector) -> list[Scalar]:
        """Stored pose of the joint at q."""

    @abstractmethod
    def transform(self, numbers: Vector, pose: Vector) -> LinkTransform:
        """Transform from the link to its parent."""

    @abstractmethod
    def joint_rates(self, numbers: Vector, v: Vector) -> list[Scalar]:
        """Rates of the joint for those of its coordinates: scaled for a mimic joint."""


class OneAxisKind(JointKind):
    """About or along z: [cos b, sin b, cos c, sin c, s, offset, scale, and cos a, sin a if turned]."""

    def numbers(self, link: TreeLink) -> list[float]:
        rotation, mimic = link.placement.rotation, link.joint.mimic
        a = atan2(rotation[0, 2], -rotation[1, 2]) if self.turned else 0.0
        inner = about_z(cos(a), -sin(a)) @ rotation
        b, c = atan2(-inner[1, 2], inner[2, 2]), atan2(-inner[0, 1], inner[0, 0])
        circles = (snap(f(angle)) for angle in (b, c) for f in (cos, sin))
        about_a = (cos(a), sin(a)) if self.turned else ()
        offset = mimic.offset if mimic else 0.0
        return [*circles, *link.placement.translation, offset, link.joint.scale, *about_a]

    def placement(self, numbers: Vector) -> tuple[Mat3, ...]:
        """Factors of the rotation before that about the link's own z."""
        factors = (about_x(numbers[0], numbers[1]),)
        return (about_z(*numbers[9:11]), *factors) if self.turned else factors

    def position(self, numbers: Vector, q: Vector) -> Scalar:
        return numbers[8] * q[0] + numbers[7]

    def joint_rates(self, numbers, v):
        return [numbers[8] * v[0]]


class RevoluteKind(OneAxisKind):
    """Equation (1)."""

    pose_size = 2

    def joint_pose(self, numbers, q):
        (c, s), angle = numbers[2:4], self.position(numbers, q)
        x, y = cos(angle), sin(angle)
        return [x * c - y * s, x * s + y * c]

    def transform(self, numbers, pose):
        return LinkTransform(Rotation((*self.placement(numbers), about_z(*pose))), Vec3.of(numbers[4:7]))


class PrismaticKind(OneAxisKind):
    """Equation (2)."""

    pose_size = 1

    def joint_pose(self, numbers, q):
        return [self.position(numbers, q)]

    def transform(self, numbers, pose):
        R = Rotation((*self.placement(numbers), about_z(*numbers[2:4])))
        return LinkTransform(R, Vec3.of(numbers[4:7]) + pose[0] * (R @ UNITS[2]))


class GeneralKind(JointKind):
    """Equation (3): nine numbers of the placement's rotation, three of its translation."""

    pose_size = 12

    def numbers(self, link):
        return [*(x for row in link.placement.rotation.rows for x in row), *link.placement.translation]

    def joint_pose(self, numbers, q):
        transform = joint_transform(Pose(_matrix(numbers), Vec3.of(numbers[9:])), self.motion.pose(q))
        return [*(x for row in transform.R.matrix.rows for x in row), *transform.s]

    def transform(self, numbers, pose):
        return LinkTransform(Rotation((_matrix(pose),)), Vec3.of(pose[9:]))

    def joint_rates(self, numbers, v):
        return list(v)


def _matrix(entries: Sequence[Scalar]) -> Mat3:
    return Mat3.of([entries[0:3], entries[3:6], entries[6:9]])
