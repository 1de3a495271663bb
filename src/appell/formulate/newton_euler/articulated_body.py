"""Forward dynamics by articulated bodies, in link coordinates: O(n), and no inertia matrix is ever formed.

A link with everything outboard of it answers an acceleration a of its own with the wrench A a + p. From the tips
inward, with U = A S and D = Sᵀ U of the joint's partials S, and c = V × S v,

    A_p += X* (A - U D⁻¹ Uᵀ) X            p_p += X* (p + Aᵃ c + U D⁻¹ (τ - Sᵀ p))                                (1)

starting from each link's own inertia I and p = V ×* I V; then outward, from the world that accelerates with -g,

    a' = X a_p + c                        v̇ = D⁻¹ (τ - Sᵀ p - Uᵀ a')                a = a' + S v̇               (2)

A joint without a rotor hands on nothing along its own partials: (A - U D⁻¹ Uᵀ) S = 0, and where S is a unit along an
axis these entries are known to be zero. Accelerations are spatial ones: of the matter that passes the origin, not of
one point. Featherstone 1983, 2008 §7.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, Vector, is_number
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Twist, Wrench
from appell.formulate.recursion import Outside, combine, steps
from appell.formulate.tree import Tree
from appell.model.frame import WORLD
from appell.model.joints import Partial


def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches: Outside = None) -> list[Scalar]:
    """a(q, v, τ)."""
    step = steps(tree, q)
    velocity: dict[str | None, Twist] = {WORLD: Twist()}
    drift, body, bias = {}, {}, {}
    for link in tree.links:
        own = relative(link.partials, tree.velocity(link, v))
        velocity[link.name] = V = velocity[link.parent].to_link(step[link.name].R, step[link.name].s) + own
        drift[link.name] = V.cross(own)
        body[link.name] = ArticulatedInertia.of(link.inertia)
        bias[link.name] = V.cross_wrench(body[link.name] @ V)
    for name, (force, moment) in (wrenches or {}).items():
        bias[name] = bias[name] - Wrench(force, moment)

    answer = {}
    for link in reversed(tree.links):
        A, p, S = body[link.name], bias[link.name], [Twist.of(partial) for partial in link.partials]
        answer[link.name] = Answer.of(A, p, S, link.rotor, tree.velocity(link, tau))
        if link.parent is not None:
            rest, pushed = answer[link.name].handed_on(A, p, drift[link.name])
            body[link.parent] += rest.to_parent(step[link.name].R, step[link.name].s)  # (1)
            bias[link.parent] += pushed.to_parent(step[link.name].R, step[link.name].s)

    acceleration: dict[str | None, Twist] = {WORLD: Twist(ZERO, -tree.gravity)}
    found = {}
    for link in tree.links:
        carried = acceleration[link.parent].to_link(step[link.name].R, step[link.name].s) + drift[link.name]
        found[link.name] = answer[link.name].gains(carried)
        acceleration[link.name] = answer[link.name].accelerated(carried, found[link.name])
    return tree.gather(found)


def relative(partials: Sequence[Partial], rates: Vector) -> Twist:
    """S v: the velocity of a link relative to its parent."""
    return Twist(combine((p.angular for p in partials), rates), combine((p.linear for p in partials), rates))


@dataclass(frozen=True)
class Answer:
    """How a joint answers the forces along it: S, U, D, τ - Sᵀ p, and the rotor of its drive, which only it feels."""

    S: Sequence[Twist]
    U: Sequence[Wrench]
    D: LDL
    net: Sequence[Scalar]
    rotor: Scalar = 0.0

    @staticmethod
    def of(A: ArticulatedInertia, p: Wrench, S: Sequence[Twist], rotor: Scalar, forces: Vector) -> Answer:
        U = [A @ twist for twist in S]
        D = [[u.power(twist) + (rotor if i == k else 0.0) for k, u in enumerate(U)] for i, twist in enumerate(S)]
        return Answer(S, U, LDL.of(D), [f - p.power(twist) for f, twist in zip(forces, S, strict=True)], rotor)

    def handed_on(self, A: ArticulatedInertia, p: Wrench, drift: Twist) -> tuple[ArticulatedInertia, Wrench]:
        """What the parent feels of the link by (1), still in the link's own coordinates."""
        units = [[float(i == k) for i in range(len(self.U))] for k in range(len(self.U))]
        rest = A.less(self.U, [_total(self.U, self.D.solve(unit)) for unit in units])
        if is_number(self.rotor) and self.rotor == 0.0:
            rest = rest.without(self.S)
        return rest, p + rest @ drift + _total(self.U, self.D.solve(self.net))

    def gains(self, carried: Twist) -> list[Scalar]:
        """(2): v̇."""
        return self.D.solve([x - u.power(carried) for x, u in zip(self.net, self.U, strict=True)])

    def accelerated(self, carried: Twist, gains: Vector) -> Twist:
        """(2): a."""
        return sum((x * twist for x, twist in zip(gains, self.S, strict=True)), start=carried)


def _total(U: Sequence[Wrench], weights: Vector) -> Wrench:
    return sum((weight * u for weight, u in zip(weights, U, strict=True)), start=Wrench())
