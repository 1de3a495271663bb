"""Contributions of the bodies outboard of a joint to the derivatives of inverse dynamics.

**Relative momentum of a composite.** In M(q) a composite is one rigid body, but its parts move relative to each other.
With V' the velocity of a point of the composite relative to the link, in the link's axes and about its origin,

    p = ∫ V' dm            L = ∫ r × V' dm            Ψ̇ = ∫ r V'ᵀ + V' rᵀ dm                                     (1)

are zero for a link without children. A child adds its own, after the motion of its composite (M, φ, Ψ, I) with the
angular velocity w and the linear velocity u of its joint:

    p' = p + M u + w × φ   L' = L + I w + φ × u   Ψ̇' = Ψ̇ + (w~Ψ - Ψw~) + (φ uᵀ + u φᵀ)                         (2)
    p_p += R p'            L_p += R L' + s × R p'     Ψ̇_p += R Ψ̇' Rᵀ + s (R p')ᵀ + (R p') sᵀ                    (3)

Only velocities of joints enter, so that components that a joint does not have cost nothing.

**Derivatives for one degree of freedom.** A displacement along v_k moves everything outboard of its joint as one rigid
body, by e + b × r. All quantities are in the axes of the joint's link and about its origin; ω_p, s̈_p, u_p and W_p are
the motion of its parent at this origin, ω and u that of the link, w and ū the velocities of the joint: ω = ω_p + w,
u = u_p + ū.

In the frame of the displaced bodies, the parent moves in the opposite direction. With ψ = ω_p × b, accelerations change
by

    by q:      W_p e + s̈_p × b + 2 u_p × ψ    +  (W_p b) × r  +  2 ψ × V(r)                                       (4)
    by v:      (ω_p + ω) × e + (u_p + u) × b  +  ((ω_p + ω) × b) × r  +  2 b × V(r)                               (5)

where (4), (5) are a velocity field c + d × r and a cross product with the velocities V of the body points. For a joint
i outboard of k, or k itself, with J_i = e_i + b_i × r,

    ∂τᵢ/∂q_k = c·fᵢ + d·nᵢ + ψ·Gᵢ      ∂τᵢ/∂v_k = c·fᵢ + d·nᵢ + b·Gᵢ      ∂τᵢ/∂a_k = e·fᵢ + b·nᵢ                  (6)

    fᵢ = ∫ Jᵢ dm,   nᵢ = ∫ r × Jᵢ dm,   Gᵢ = 2 ∫ V × Jᵢ dm       over the composite of i                            (7)

A joint inboard of k is loaded by the force and moment of (4), (5) on the composite of k and, in the derivative by q, by
the rotation of the force F and moment N there:  b × F  and  b × N + e × F.                                        (8)

V = u + ω × r + V' with V' as in (1). In the sums of (8) the large u cancels analytically:

    by q:      W_p e + s̈_p × b - 2 ū × ψ      +  (W_p b) × r     +  2 ψ × (ω × r + V')                             (9)
    by v:      (2ω - w) × e + b × ū           -  (w × b) × r     +  2 ω × (b × r)  +  2 b × V'                     (10)

    ∫ ω × (b × r) dm = ω × (b × φ)            ∫ r × (ω × (b × r)) dm = -b × Ψω                                     (11)

Terms such as w × b vanish for a joint of one axis. After Carpentier, Mansard 2018 and Singh, Russell, Wensing 2022,
with velocity fields instead of spatial vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import ZEROS, Mat3, symmetric_product
from appell.algebra.rotation import Twist
from appell.algebra.scalar import Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.recursion import (
    Acceleration,
    LinkTransform,
    Wrench,
    inertia_on_parent,
    joint_twist,
    on_parent,
)
from appell.model.body import Inertia, rotational_inertia
from appell.model.joints import Partial


@dataclass(frozen=True)
class RelativeMomentum:
    """p, L and Ψ̇ of (1)."""

    p: Vec3 = ZERO
    L: Vec3 = ZERO
    psi_rate: Mat3 = ZEROS  # Ψ̇

    def __add__(self, other: RelativeMomentum) -> RelativeMomentum:
        return RelativeMomentum(self.p + other.p, self.L + other.L, self.psi_rate + other.psi_rate)

    def rotated_moment(self, b: Vec3) -> Vec3:
        """2 ∫ r × (b × V') dm, the moment of accelerations 2 b × V'."""
        return rotational_inertia(self.psi_rate) @ b + b.cross(self.L)

    def gyroscopic_moment(self, b: Vec3) -> Vec3:
        """2 ∫ V' × (b × r) dm."""
        return rotational_inertia(self.psi_rate) @ b + self.L.cross(b)


def momentum_on_parent(
    momentum: RelativeMomentum, partials: Sequence[Partial], rates: Vector, body: Inertia, transform: LinkTransform
) -> RelativeMomentum:
    """Momentum of a child's composite relative to its parent, by (2) and (3)."""
    R, s = transform.R, transform.s
    moved = momentum + _of_joint(partials, rates, body)
    p = R @ moved.p
    return RelativeMomentum(p, R @ moved.L + s.cross(p), R.conjugate(moved.psi_rate) + symmetric_product(s, p))


def _of_joint(partials: Sequence[Partial], rates: Vector, body: Inertia) -> RelativeMomentum:
    """Momentum of a rigid composite relative to its parent due to its joint, by (2)."""
    joint = joint_twist(partials, rates)
    p, L = ZERO, ZERO
    for partial, rate in zip(partials, rates, strict=True):
        force, moment = body.impulse(partial)
        p, L = p + rate * force, L + rate * moment
    return RelativeMomentum(p, L, _commutator(joint.angular, body.second) + symmetric_product(body.first, joint.linear))


def _commutator(w: Vec3, S: Mat3) -> Mat3:
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


RIGID = RelativeMomentum()  # of a rigid composite


@dataclass(frozen=True)
class Composite:
    """A link's composite with the wrench that its motion requires, in the link's axes and about its origin."""

    body: Inertia
    wrench: Wrench
    momentum: RelativeMomentum = RIGID

    def __add__(self, other: Composite) -> Composite:
        (force, moment), (more_force, more_moment) = self.wrench, other.wrench
        body, wrench = self.body + other.body, (force + more_force, moment + more_moment)
        return Composite(body, wrench, self.momentum + other.momentum)

    def on_parent(self, partials: Sequence[Partial], rates: Vector, transform: LinkTransform) -> Composite:
        """Transform to the axes and the origin of the parent."""
        momentum = momentum_on_parent(self.momentum, partials, rates, self.body, transform)
        return Composite(inertia_on_parent(self.body, transform), on_parent(transform, self.wrench), momentum)


@dataclass(frozen=True)
class Field:
    """Changes due to a displacement of one degree of freedom, in its link's axes: (4) and (5) as (d, c)."""

    partial: Partial
    psi: Vec3
    by_q: Partial
    by_v: Partial


@dataclass(frozen=True)
class JointWrenches:
    """Terms that one degree of freedom passes inward, in its link's axes: the wrenches of (7), (8), and G."""

    q: Wrench
    v: Wrench
    a: Wrench
    G: Vec3


@dataclass(frozen=True)
class AtJoint:
    """Motion at a joint: that of its parent at the link's origin, in link axes, and the rates of the joint."""

    parent: Acceleration
    parent_velocity: Vec3
    rates: Vector


def fields(partials: Sequence[Partial], joint: AtJoint) -> list[Field]:
    """Field of each degree of freedom of a joint."""
    parent, twice_u = joint.parent, 2.0 * joint.parent_velocity
    relative = joint_twist(partials, joint.rates)
    w, slide = relative.angular, relative.linear
    result = []
    for partial in partials:
        b, e = partial.angular, partial.linear
        psi = parent.omega.cross(b)
        common = parent.W @ e + parent.acc.cross(b)
        by_q = Partial(parent.W @ b, common + twice_u.cross(psi))  # (4)
        by_v = Partial(  # (5)
            2.0 * psi + w.cross(b),
            2.0 * parent.omega.cross(e) + twice_u.cross(b) + (w.cross(e) + slide.cross(b)),
        )
        result.append(Field(partial, psi, by_q, by_v))
    return result


def joint_wrenches(
    partials: Sequence[Partial], joint: AtJoint, velocity: Twist, composite: Composite
) -> list[JointWrenches]:
    """Terms of each degree of freedom of a joint, from the velocity of its link and the composite of the link."""
    relative = joint_twist(partials, joint.rates)
    w, slide = relative.angular, relative.linear
    body, inner, (required_force, required_moment) = composite.body, composite.momentum, composite.wrench
    omega, parent = velocity.angular, joint.parent
    twice_u = 2.0 * velocity.linear
    momentum = 2.0 * (inner.p + omega.cross(body.first))
    result = []
    for partial in partials:
        b, e = partial.angular, partial.linear
        psi, w_cross_b = parent.omega.cross(b), w.cross(b)
        common = parent.W @ e + parent.acc.cross(b)

        force, moment = body.impulse(Partial(parent.W @ b, common - 2.0 * slide.cross(psi)))  # (9)
        spun = body.second @ (2.0 * psi)
        inner_moment = inner.rotated_moment(psi)
        wrench_q = (
            force + psi.cross(momentum) + b.cross(required_force),  # (8)
            moment - omega.cross(spun) + inner_moment + b.cross(required_moment) + e.cross(required_force),
        )

        force, moment = body.impulse(Partial(-w_cross_b, 2.0 * omega.cross(e) - w.cross(e) + b.cross(slide)))  # (10)
        wrench_v = (
            force + b.cross(momentum) + (2.0 * omega.cross(b)).cross(body.first),
            moment - 2.0 * b.cross(body.second @ omega) + inner.rotated_moment(b),
        )

        wrench_a = body.impulse(partial)
        G = twice_u.cross(wrench_a[0]) + body.second @ (2.0 * omega.cross(b))
        G = G + inner.gyroscopic_moment(b) + momentum.cross(e)
        result.append(JointWrenches(wrench_q, wrench_v, wrench_a, G))
    return result
