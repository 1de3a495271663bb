"""How the matter outboard of a link moves, as the link sees it.

For M(q) a composite is one rigid body; its velocities are not those of one. With V' the velocity of its matter
relative to the link, in the link's axes and about its origin,

    p = ∫ V' dm            L = ∫ r × V' dm            Ψ̇ = ∫ r V'ᵀ + V' rᵀ dm                                     (1)

are zero for a link that carries nothing. A child hands in its own, after its joint has moved its composite (M, φ, Ψ, I)
with the angular velocity w and the linear velocity u of the joint:

    p' = p + M u + w × φ   L' = L + I w + φ × u   Ψ̇' = Ψ̇ + (w~Ψ - Ψw~) + (φ uᵀ + u φᵀ)                         (2)
    p_p += R p'            L_p += R L' + s × R p'     Ψ̇_p += R Ψ̇' Rᵀ + s (R p')ᵀ + (R p') sᵀ                    (3)

Only velocities of joints enter, so that what a joint does not do costs nothing.

What one degree of freedom contributes to the derivatives of inverse dynamics.

A step along v_k moves all matter outboard of its joint as one rigid body, by e + b × r. Everything is in the axes of
the joint's link and about its origin; ω_p, s̈_p, u_p and W_p are the motion of its parent at this origin, ω and u the
link's own, w and ū the velocities of the joint: ω = ω_p + w, u = u_p + ū.

Seen from the matter that moves along, it is the parent that stepped back. With ψ = ω_p × b, the accelerations change by

    by q:      W_p e + s̈_p × b + 2 u_p × ψ    +  (W_p b) × r  +  2 ψ × V(r)                                       (4)
    by v:      (ω_p + ω) × e + (u_p + u) × b  +  ((ω_p + ω) × b) × r  +  2 b × V(r)                               (5)

and (4), (5) are a velocity field c + d × r and a turning of the velocities V of the matter. A joint i outboard of k, or
k's own, works against them along J_i = e_i + b_i × r, so that

    ∂τᵢ/∂q_k = c·fᵢ + d·nᵢ + ψ·Gᵢ      ∂τᵢ/∂v_k = c·fᵢ + d·nᵢ + b·Gᵢ      ∂τᵢ/∂a_k = e·fᵢ + b·nᵢ                  (6)

    fᵢ = ∫ Jᵢ dm,   nᵢ = ∫ r × Jᵢ dm,   Gᵢ = 2 ∫ V × Jᵢ dm       over the composite of i                            (7)

A joint inboard of k feels the force and moment of (4), (5) on the composite of k, and by q the force F and moment N
there, which turn along:  b × F  and  b × N + e × F.                                                               (8)

V = u + ω × r + V' with V' the flow of the composite. In the sums of (8) the large u cancels beforehand:

    by q:      W_p e + s̈_p × b - 2 ū × ψ      +  (W_p b) × r     +  2 ψ × (ω × r + V')                             (9)
    by v:      (2ω - w) × e + b × ū           -  (w × b) × r     +  2 ω × (b × r)  +  2 b × V'                     (10)

    ∫ ω × (b × r) dm = ω × (b × φ)            ∫ r × (ω × (b × r)) dm = -b × Ψω                                     (11)

w × b and the like vanish for a joint of one axis. After Carpentier, Mansard 2018 and Singh, Russell, Wensing 2022, with
fields in place of spatial vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import ZEROS, Mat3, symmetric_product
from appell.algebra.scalar import Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.recursion import Acceleration, Step, Velocity, Wrench, carried_by_parent, combine, on_parent
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


STILL = InnerFlow()  # of matter that is rigid


@dataclass(frozen=True)
class Matter:
    """A link's composite, in its axes and about its origin."""

    body: Inertia
    wrench: Wrench
    flow: InnerFlow = STILL

    def __add__(self, other: Matter) -> Matter:
        (force, moment), (more_force, more_moment) = self.wrench, other.wrench
        return Matter(self.body + other.body, (force + more_force, moment + more_moment), self.flow + other.flow)

    def on_parent(self, partials: Sequence[Partial], rates: Vector, step: Step) -> Matter:
        """The same in the axes and about the origin of the parent."""
        flow = handed_in(self.flow, partials, rates, self.body, step)
        return Matter(carried_by_parent(self.body, step), on_parent(step, self.wrench), flow)


@dataclass(frozen=True)
class Field:
    """What a step of one degree of freedom changes, in its link's axes: (4) and (5) as (d, c)."""

    partial: Partial
    psi: Vec3
    by_q: Partial
    by_v: Partial


@dataclass(frozen=True)
class Share:
    """What one degree of freedom hands inward, in its link's axes: the wrenches of (7), (8), and G."""

    q: Wrench
    v: Wrench
    a: Wrench
    G: Vec3


@dataclass(frozen=True)
class AtJoint:
    """How a joint moves: its parent at the link's origin, in link axes, and its own velocities."""

    parent: Acceleration
    parent_velocity: Vec3
    rates: Vector


def fields(partials: Sequence[Partial], joint: AtJoint) -> list[Field]:
    """The field of each degree of freedom of one joint."""
    parent, twice_u = joint.parent, 2.0 * joint.parent_velocity
    w, slide = _velocities(partials, joint.rates)
    found = []
    for partial in partials:
        b, e = partial.angular, partial.linear
        psi = parent.omega.cross(b)
        still = parent.W @ e + parent.acc.cross(b)
        by_q = Partial(parent.W @ b, still + twice_u.cross(psi))  # (4)
        by_v = Partial(  # (5)
            2.0 * psi + w.cross(b),
            2.0 * parent.omega.cross(e) + twice_u.cross(b) + (w.cross(e) + slide.cross(b)),
        )
        found.append(Field(partial, psi, by_q, by_v))
    return found


def shares(partials: Sequence[Partial], joint: AtJoint, own: Velocity, all_: Matter) -> list[Share]:
    """The share of each degree of freedom of one joint; `own` is the velocity of the link."""
    w, slide = _velocities(partials, joint.rates)
    body, flow, (asked_force, asked_moment) = all_.body, all_.flow, all_.wrench
    omega, parent = own.omega, joint.parent
    twice_u = 2.0 * own.linear
    momentum = 2.0 * (flow.p + omega.cross(body.first))
    found = []
    for partial in partials:
        b, e = partial.angular, partial.linear
        psi, turned = parent.omega.cross(b), w.cross(b)
        still = parent.W @ e + parent.acc.cross(b)

        force, moment = body.impulse(Partial(parent.W @ b, still - 2.0 * slide.cross(psi)))  # (9)
        spun = body.second @ (2.0 * psi)
        stirred = flow.turned(psi)
        wrench_q = (
            force + psi.cross(momentum) + b.cross(asked_force),  # (8)
            moment - omega.cross(spun) + stirred + b.cross(asked_moment) + e.cross(asked_force),
        )

        force, moment = body.impulse(Partial(-turned, 2.0 * omega.cross(e) - w.cross(e) + b.cross(slide)))  # (10)
        wrench_v = (
            force + b.cross(momentum) + (2.0 * omega.cross(b)).cross(body.first),
            moment - 2.0 * b.cross(body.second @ omega) + flow.turned(b),
        )

        wrench_a = body.impulse(partial)
        G = twice_u.cross(wrench_a[0]) + body.second @ (2.0 * omega.cross(b)) + flow.met(b) + momentum.cross(e)
        found.append(Share(wrench_q, wrench_v, wrench_a, G))
    return found


def _velocities(partials: Sequence[Partial], rates: Vector) -> tuple[Vec3, Vec3]:
    """The angular and the linear velocity of a joint."""
    return combine((x.angular for x in partials), rates), combine((x.linear for x in partials), rates)
