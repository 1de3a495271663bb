"""How the matter outboard of a link moves, as the link sees it.

For M(q) a composite is one rigid body; its velocities are not those of one. With V' the velocity of its matter
relative to the link, in the link's axes and about its origin,

    p = ∫ V' dm            L = ∫ r × V' dm            Ψ̇ = ∫ r V'ᵀ + V' rᵀ dm                                     (1)

are zero for a link that carries nothing. A child hands in its own, after its joint has moved its composite (M, φ, Ψ, I)
with the angular velocity w and the linear velocity u of the joint:

    p' = p + M u + w × φ   L' = L + I w + φ × u   Ψ̇' = Ψ̇ + (w~Ψ - Ψw~) + (φ uᵀ + u φᵀ)                         (2)
    p_p += R p'            L_p += R L' + s × R p'     Ψ̇_p += R Ψ̇' Rᵀ + s (R p')ᵀ + (R p') sᵀ                    (3)

Only velocities of joints enter, so that what a joint does not do costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import ZEROS, Mat3, symmetric_product
from appell.algebra.scalar import Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.link_motion import Step, combine
from appell.model.body import Inertia, rotational_of
from appell.model.joints import Partial


@dataclass(frozen=True)
class InnerFlow:
    """(1)."""

    p: Vec3 = ZERO
    L: Vec3 = ZERO
    spread: Mat3 = ZEROS  # Ψ̇

    def __add__(self, other: InnerFlow) -> InnerFlow:
        return InnerFlow(self.p + other.p, self.L + other.L, self.spread + other.spread)

    def turned(self, b: Vec3) -> Vec3:
        """2 ∫ r × (b × V') dm, the moment of accelerations 2 b × V'."""
        return rotational_of(self.spread) @ b + b.cross(self.L)

    def met(self, b: Vec3) -> Vec3:
        """2 ∫ V' × (b × r) dm."""
        return rotational_of(self.spread) @ b + self.L.cross(b)


def handed_in(flow: InnerFlow, partials: Sequence[Partial], rates: Vector, body: Inertia, step: Step) -> InnerFlow:
    """The flow of a child's composite as its parent sees it, by (2) and (3)."""
    R, s = step.R, step.s
    moved = flow + _by_joint(partials, rates, body)
    p = R @ moved.p
    return InnerFlow(p, R @ moved.L + s.cross(p), R.conjugate(moved.spread) + symmetric_product(s, p))


def _by_joint(partials: Sequence[Partial], rates: Vector, body: Inertia) -> InnerFlow:
    """The flow that a joint makes of a rigid composite, by (2)."""
    spin, slide = combine((x.angular for x in partials), rates), combine((x.linear for x in partials), rates)
    p, L = ZERO, ZERO
    for partial, rate in zip(partials, rates, strict=True):
        force, moment = body.impulse(partial)
        p, L = p + rate * force, L + rate * moment
    return InnerFlow(p, L, _turned(spin, body.second) + symmetric_product(body.first, slide))


def _turned(w: Vec3, S: Mat3) -> Mat3:
    """w~S - Sw~ of a symmetric S, every entry computed once."""
    (xx, xy, xz, yy, yz, zz), (x, y, z) = S.upper, w
    return Mat3.symmetric(
        2.0 * (y * xz - z * xy),
        (y * yz - x * xz) + z * (xx - yy),
        (x * xy - z * yz) + y * (zz - xx),
        2.0 * (z * xy - x * yz),
        (z * xz - y * xy) + x * (yy - zz),
        2.0 * (x * yz - y * xz),
    )
