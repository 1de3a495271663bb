"""What one degree of freedom contributes to the derivatives of inverse dynamics.

A step along v_k moves all matter outboard of its joint as one rigid body, by e + b × r. Everything is in the axes of
the joint's link and about its origin; ω_p, s̈_p, u_p and W_p are the motion of its parent at this origin, ω and u the
link's own, w and ū the velocities of the joint: ω = ω_p + w, u = u_p + ū.

Seen from the matter that moves along, it is the parent that stepped back. With ψ = ω_p × b, the accelerations change by

    by q:      W_p e + s̈_p × b + 2 u_p × ψ    +  (W_p b) × r  +  2 ψ × V(r)                                       (1)
    by v:      (ω_p + ω) × e + (u_p + u) × b  +  ((ω_p + ω) × b) × r  +  2 b × V(r)                               (2)

and (1), (2) are a velocity field c + d × r and a turning of the velocities V of the matter. A joint i outboard of k, or
k's own, works against them along J_i = e_i + b_i × r, so that

    ∂τᵢ/∂q_k = c·fᵢ + d·nᵢ + ψ·Gᵢ      ∂τᵢ/∂v_k = c·fᵢ + d·nᵢ + b·Gᵢ      ∂τᵢ/∂a_k = e·fᵢ + b·nᵢ                  (3)

    fᵢ = ∫ Jᵢ dm,   nᵢ = ∫ r × Jᵢ dm,   Gᵢ = 2 ∫ V × Jᵢ dm       over the composite of i                            (4)

A joint inboard of k feels the force and moment of (1), (2) on the composite of k, and by q the force F and moment N
there, which turn along:  b × F  and  b × N + e × F.                                                               (5)

V = u + ω × r + V' with V' the flow of the composite. In the sums of (5) the large u cancels beforehand:

    by q:      W_p e + s̈_p × b - 2 ū × ψ      +  (W_p b) × r     +  2 ψ × (ω × r + V')                             (6)
    by v:      (2ω - w) × e + b × ū           -  (w × b) × r     +  2 ω × (b × r)  +  2 b × V'                     (7)

    ∫ ω × (b × r) dm = ω × (b × φ)            ∫ r × (ω × (b × r)) dm = -b × Ψω                                     (8)

w × b and the like vanish for a joint of one axis. After Carpentier, Mansard 2018 and Singh, Russell, Wensing 2022, with
fields in place of spatial vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Vector
from appell.algebra.vector import Vec3
from appell.formulate.derivatives.matter import Matter
from appell.formulate.inward import Wrench
from appell.formulate.link_motion import Acceleration, Velocity, combine
from appell.model.joints import Partial


@dataclass(frozen=True)
class Field:
    """What a step of one degree of freedom changes, in its link's axes: (1) and (2) as (d, c)."""

    partial: Partial
    psi: Vec3
    by_q: Partial
    by_v: Partial


@dataclass(frozen=True)
class Share:
    """What one degree of freedom hands inward, in its link's axes: the wrenches of (4), (5), and G."""

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
        by_q = Partial(parent.W @ b, still + twice_u.cross(psi))  # (1)
        by_v = Partial(  # (2)
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

        force, moment = body.impulse(Partial(parent.W @ b, still - 2.0 * slide.cross(psi)))  # (6)
        spun = body.second @ (2.0 * psi)
        stirred = flow.turned(psi)
        wrench_q = (
            force + psi.cross(momentum) + b.cross(asked_force),  # (5)
            moment - omega.cross(spun) + stirred + b.cross(asked_moment) + e.cross(asked_force),
        )

        force, moment = body.impulse(Partial(-turned, 2.0 * omega.cross(e) - w.cross(e) + b.cross(slide)))  # (7)
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
