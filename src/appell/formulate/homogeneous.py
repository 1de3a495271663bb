"""Homogeneous 4x4 matrices over abstract scalars, for the methods that are written with them.

A link stands in its parent by X = [R s; 0 1] and in the world by T = T_p X. With ξ = [ω_J~ v_J; 0 0] the joint's own
twist in link coordinates, and ξₖ that of one partial,

    T' = T_p' X + T ξ                       T'' = T_p'' X + 2 T_p' X ξ + T (ξξ + ξ')                            (1)

for every joint: for one axis these are the papers' U₁ = ∂A/∂q and U₂ = ∂²A/∂q², since X ξₖ = E U₁.
The matter of a link is P = ∫ (r, 1)(r, 1)ᵀ dm. The last row of T' and T'' is zero, and literal zeros cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.matrix import Mat3, skew
from appell.algebra.scalar import Scalar, Vector, dot
from appell.algebra.vector import Vec3
from appell.formulate.recursion import Step, Steps, combine
from appell.formulate.tree import Tree
from appell.model.body import Inertia
from appell.model.frame import WORLD


@dataclass(frozen=True)
class Mat4:
    """Four rows of four."""

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
        """Tr(self otherᵀ), the products that the trace needs and no others."""
        return sum((dot(a, b) for a, b in zip(self.rows, other.rows, strict=True)), start=0.0)


NOTHING = Mat4(((0.0,) * 4,) * 4)
IDENTITY = Mat4(tuple(tuple(float(i == j) for j in range(4)) for i in range(4)))
ORIGIN = (0.0, 0.0, 0.0, 1.0)


def transformation(step: Step) -> Mat4:
    """X of a link in its parent."""
    return Mat4.of(step.R.matrix, step.s, Vec3(0.0, 0.0, 0.0), 1.0)


def twist(angular: Vec3, linear: Vec3) -> Mat4:
    return Mat4.of(skew(angular), linear, Vec3(0.0, 0.0, 0.0), 0.0)


def pseudo_inertia(body: Inertia) -> Mat4:
    """P of a body about its origin."""
    return Mat4.of(body.second, body.first, body.first, body.mass)


@dataclass(frozen=True)
class Placement:
    """Where a link stands in the world and how it accelerates there: T, T', T''."""

    T: Mat4 = IDENTITY
    rate: Mat4 = NOTHING
    gain: Mat4 = NOTHING


def transformations(tree: Tree, step: Steps) -> dict[str, Mat4]:
    """X of every link."""
    return {link.name: transformation(step[link.name]) for link in tree.links}


def placements(tree: Tree, X: dict[str, Mat4], v: Vector, a: Vector) -> dict[str | None, Placement]:
    """T, T' and T'' of every link, by (1)."""
    found: dict[str | None, Placement] = {WORLD: Placement()}
    for link in tree.links:
        parent, angular, linear = (
            found[link.parent],
            [p.angular for p in link.partials],
            [p.linear for p in link.partials],
        )
        rates, gains = tree.velocity(link, v), tree.velocity(link, a)
        xi = twist(combine(angular, rates), combine(linear, rates))
        xi_rate = twist(combine(angular, gains), combine(linear, gains))
        T, carried = parent.T @ X[link.name], parent.rate @ X[link.name]
        gain = parent.gain @ X[link.name] + 2.0 * (carried @ xi) + T @ (xi @ xi + xi_rate)
        found[link.name] = Placement(T, carried + T @ xi, gain)
    return found
