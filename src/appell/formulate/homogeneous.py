"""Homogeneous 4x4 matrices over abstract scalars, for the methods that use them.

The pose of a link is X = [R s; 0 1] in its parent and T = T_p X in the world. With ξ = [ω_J~ v_J; 0 0] the twist of its
joint in link coordinates, and ξₖ that of one partial,

    T' = T_p' X + T ξ                       T'' = T_p'' X + 2 T_p' X ξ + T (ξξ + ξ')                            (1)

for every joint. For joints of one axis these are the papers' U₁ = ∂A/∂q and U₂ = ∂²A/∂q², since X ξₖ = E U₁. The
pseudo-inertia of a link is P = ∫ (r, 1)(r, 1)ᵀ dm. The last row of T' and T'' is zero; literal zeros cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.matrix import Mat3, skew
from appell.algebra.rotation import Twist
from appell.algebra.scalar import Scalar, Vector, dot
from appell.algebra.vector import Vec3
from appell.formulate.recursion import LinkTransform, LinkTransforms, joint_twist
from appell.formulate.tree import Tree
from appell.model.body import Inertia
from appell.model.frame import WORLD


@dataclass(frozen=True)
class Mat4:
    """A 4x4 matrix."""

    rows: tuple[tuple[Scalar, ...], ...]

    @staticmethod
    def of(block: Mat3, right: Vec3, below: Vec3, corner: Scalar) -> Mat4:
        top = tuple((*row, x) for row, x in zip(block.rows, right, strict=True))
        return Mat4((*top, (*below, corner)))

    @property
    def T(self) -> Mat4:
        return Mat4(tuple(zip(*self.rows, strict=True)))

    @property
    def rotation(self) -> Mat3:
        """The upper left block."""
        return Mat3.of(row[:3] for row in self.rows[:3])

    def __add__(self, other: Mat4) -> Mat4:
        pairs = zip(self.rows, other.rows, strict=True)
        return Mat4(tuple(tuple(x + y for x, y in zip(a, b, strict=True)) for a, b in pairs))

    def __rmul__(self, scale: Scalar) -> Mat4:
        return Mat4(tuple(tuple(scale * x for x in row) for row in self.rows))

    def __matmul__(self, other: Mat4) -> Mat4:
        columns = other.T.rows
        return Mat4(tuple(tuple(dot(row, column) for column in columns) for row in self.rows))

    def apply(self, vector: Vector) -> tuple[Scalar, ...]:
        return tuple(dot(row, vector) for row in self.rows)

    def trace_with(self, other: Mat4) -> Scalar:
        """Tr(self otherᵀ), without the products that the trace does not need."""
        return sum((dot(a, b) for a, b in zip(self.rows, other.rows, strict=True)), start=0.0)


ZEROS_4X4 = Mat4(((0.0,) * 4,) * 4)
IDENTITY = Mat4(tuple(tuple(float(i == j) for j in range(4)) for i in range(4)))
ORIGIN = (0.0, 0.0, 0.0, 1.0)


def transformation(transform: LinkTransform) -> Mat4:
    """Matrix X of a link in its parent."""
    return Mat4.of(transform.R.matrix, transform.s, Vec3(0.0, 0.0, 0.0), 1.0)


def twist(velocity: Twist) -> Mat4:
    """Matrix ξ of a twist."""
    return Mat4.of(skew(velocity.angular), velocity.linear, Vec3(0.0, 0.0, 0.0), 0.0)


def pseudo_inertia(body: Inertia) -> Mat4:
    """Pseudo-inertia P of a body about its origin."""
    return Mat4.of(body.second, body.first, body.first, body.mass)


@dataclass(frozen=True)
class Placement:
    """Pose of a link in the world and its derivatives: T, T', T''."""

    T: Mat4 = IDENTITY
    rate: Mat4 = ZEROS_4X4
    second_rate: Mat4 = ZEROS_4X4


def transformations(tree: Tree, transforms: LinkTransforms) -> dict[str, Mat4]:
    """Matrix X of every link."""
    return {link.name: transformation(transforms[link.name]) for link in tree.links}


def placements(tree: Tree, X: dict[str, Mat4], v: Vector, a: Vector) -> dict[str | None, Placement]:
    """T, T' and T'' of every link, by (1)."""
    placed: dict[str | None, Placement] = {WORLD: Placement()}
    for link in tree.links:
        parent = placed[link.parent]
        xi, xi_rate = (twist(joint_twist(link.partials, tree.velocity(link, x))) for x in (v, a))
        T, carried = parent.T @ X[link.name], parent.rate @ X[link.name]
        second_rate = parent.second_rate @ X[link.name] + 2.0 * (carried @ xi) + T @ (xi @ xi + xi_rate)
        placed[link.name] = Placement(T, carried + T @ xi, second_rate)
    return placed
