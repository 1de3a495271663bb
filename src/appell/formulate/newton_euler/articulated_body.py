"""Forward dynamics by articulated bodies, in link coordinates: O(n), and no inertia matrix is ever formed.

A link with everything outboard of it answers an acceleration a of its own with the wrench A a + p. From the tips
inward, with U = A S and D = Sᵀ U of the joint's partials S, and c = V × S v,

    A_p += X* (A - U D⁻¹ Uᵀ) X            p_p += X* (p + Aᵃ c + U D⁻¹ (τ - Sᵀ p))                                (1)

starting from each link's own inertia I and p = V ×* I V; then outward, from the world that accelerates with -g,

    a' = X a_p + c                        v̇ = D⁻¹ (τ - Sᵀ p - Uᵀ a')                a = a' + S v̇               (2)

Accelerations are spatial ones: of the matter that passes the origin, not of one point. Featherstone 1983, 2008 §7.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO
from appell.formulate.inward import Outside
from appell.formulate.link_motion import combine, steps
from appell.formulate.newton_euler.spatial import Articulated, Twist, Wrench
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches: Outside = None) -> list[Scalar]:
    """a(q, v, τ)."""
    step = steps(tree, q)
    velocity: dict[str | None, Twist] = {WORLD: Twist()}
    drift, body, bias = {}, {}, {}
    for link in tree.links:
        R, s, rates = step[link.name].R, step[link.name].s, tree.velocity(link, v)
        along = Twist(
            combine((p.angular for p in link.partials), rates), combine((p.linear for p in link.partials), rates)
        )
        velocity[link.name] = V = velocity[link.parent].to_link(R, s) + along
        drift[link.name] = V.cross(along)
        body[link.name] = Articulated.of(link.inertia)
        bias[link.name] = V.cross_wrench(body[link.name] @ V)
    for name, (force, moment) in (wrenches or {}).items():
        bias[name] = bias[name] - Wrench(force, moment)

    joint = {}
    for link in reversed(tree.links):
        A, p, c = body[link.name], bias[link.name], drift[link.name]
        S = [Twist.of(partial) for partial in link.partials]
        U = [A @ twist for twist in S]
        D = LDL.of(with_rotor([[u.power(twist) for u in U] for twist in S], link.rotor))
        net = [force - p.power(twist) for force, twist in zip(tree.velocity(link, tau), S, strict=True)]
        joint[link.name] = S, U, D, net
        if link.parent is not None:
            R, s = step[link.name].R, step[link.name].s
            rest = A.less(U, scaled(D, U))
            pushed = p + rest @ c + total(U, D.solve(net))
            body[link.parent] += rest.to_parent(R, s)  # (1)
            bias[link.parent] += pushed.to_parent(R, s)

    acceleration: dict[str | None, Twist] = {WORLD: Twist(ZERO, -tree.gravity)}
    found = {}
    for link in tree.links:
        S, U, D, net = joint[link.name]
        carried = acceleration[link.parent].to_link(step[link.name].R, step[link.name].s) + drift[link.name]
        found[link.name] = D.solve([x - u.power(carried) for x, u in zip(net, U, strict=True)])  # (2)
        acceleration[link.name] = sum((x * twist for x, twist in zip(found[link.name], S, strict=True)), start=carried)
    return tree.gather(found)


def with_rotor(D: list[list[Scalar]], rotor: Scalar) -> list[list[Scalar]]:
    """Sᵀ A S with the inertia of the joint's drive, which only the joint feels."""
    return [[x + rotor if i == k else x for k, x in enumerate(row)] for i, row in enumerate(D)]


def scaled(D: LDL, U: Sequence[Wrench]) -> list[Wrench]:
    """U D⁻¹, column by column."""
    units = [[float(i == k) for i in range(len(U))] for k in range(len(U))]
    return [total(U, D.solve(unit)) for unit in units]


def total(U: Sequence[Wrench], weights: Vector) -> Wrench:
    return sum((weight * u for weight, u in zip(weights, U, strict=True)), start=Wrench())
