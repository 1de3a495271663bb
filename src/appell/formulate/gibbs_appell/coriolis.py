"""The Coriolis matrix C(q, v) with C v = bias - gravity and Ṁ - 2C skew.

With J_k(P) the velocity of a point for a unit of v_k, M_jk = ∫ J_j·J_k dm, and

    C_jk = ∫ J_j · dJ_k/dt dm                so that Ṁ_jk - 2 C_jk = ∫ (dJ_j/dt · J_k - J_j · dJ_k/dt) dm          (1)

which is skew. For a joint at O whose partial (b, e) is fixed in its link, J_k = e + b × (P - O), and in a link
outboard, with r from that link's origin and V the velocity of P,

    dJ_k/dt = c + d × r + b × V              d = ω × b,   c = ω × e - b × V_O   at the joint itself                (2)

where (d, c) are carried outward like any velocity field. With i the outer of the two links, the composite outboard of
it enters by its inertia and by the momentum p = ∫ V dm and Z = ∫ r Vᵀ dm, gathered inward by

    p_p += R p        Z_p += R Z Rᵀ + s (R p)ᵀ                                                                    (3)

    k at i:   C_jk = u_j·f + b_j·n           f = M c + d × φ + b × p     n = φ × c + I d + (tr Z 1 - Zᵀ) b         (4)
    j at i:   C_jk = c·F + d·N + b·G         F = M e + b_j × φ   N = I b_j + φ × e   G = p × e + (tr Z 1 - Z) b_j  (5)

Cost O(n²), for any joint and for a floating base too, where the Christoffel symbols of M do not apply.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.matrix import IDENTITY, Mat3, outer, skew
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.formulate.recursion import OfLinks, Steps, Velocity, carried_partials, carry, composites, steps, velocities
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import WORLD
from appell.model.joints import Partial


@dataclass(frozen=True)
class Flow:
    """The momentum of matter about an origin: p = ∫ V dm and Z = ∫ r Vᵀ dm."""

    p: Vec3
    Z: Mat3

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.p + other.p, self.Z + other.Z)


def coriolis(tree: Tree, q: Vector, v: Vector) -> list[list[Scalar]]:
    """C(q, v)."""
    step = steps(tree, q)
    velocity = velocities(tree, step, v)
    partials, rates = carried_partials(tree, step), _carried_rates(tree, step, velocity)
    composite, flows = composites(tree, step), _flows(tree, step, velocity)

    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        body, flow = composite[link.name], flows[link.name]
        spread = flow.Z.trace * IDENTITY
        columns, rows = [], []
        for p, rate in zip(link.partials, rates[link.name][link.name], strict=True):
            f, n = body.impulse(rate)
            columns.append((f + p.angular.cross(flow.p), n + (spread - flow.Z.T) @ p.angular))  # (4)
            rows.append((*body.impulse(p), flow.p.cross(p.linear) + (spread - flow.Z) @ p.angular))  # (5)
        for name, inboard in partials[link.name].items():
            blocks[name, link.name] = [[p.linear.dot(f) + p.angular.dot(n) for f, n in columns] for p in inboard]
            if name != link.name:
                pairs = list(zip(inboard, rates[link.name][name], strict=True))
                blocks[link.name, name] = [
                    [rate.linear.dot(F) + rate.angular.dot(N) + p.angular.dot(G) for p, rate in pairs]
                    for F, N, G in rows
                ]
    return tree.gather_matrix(blocks)


def _carried_rates(tree: Tree, step: Steps, velocity: OfLinks[Velocity]) -> dict[str | None, dict[str, list[Partial]]]:
    """(d, c) of (2) for every joint at a link or inboard of it."""
    found: dict[str | None, dict[str, list[Partial]]] = {WORLD: {}}
    for link in tree.links:
        inboard = found[link.parent].items()
        found[link.name] = {name: [carry(step[link.name], rate) for rate in rates] for name, rates in inboard}
        found[link.name][link.name] = [_rate(p, velocity[link.name]) for p in link.partials]
    return found


def _rate(partial: Partial, velocity: Velocity) -> Partial:
    b, e = partial.angular, partial.linear
    return Partial(velocity.omega.cross(b), velocity.omega.cross(e) - b.cross(velocity.linear))


def _flows(tree: Tree, step: Steps, velocity: OfLinks[Velocity]) -> dict[str, Flow]:
    """The momentum of each link with all outboard of it, by (3)."""
    found = {link.name: _flow(link, velocity[link.name]) for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            R, s, flow = step[link.name].R, step[link.name].s, found[link.name]
            p = R @ flow.p
            found[link.parent] += Flow(p, (R @ (R @ flow.Z).T).T + outer(s, p))
    return found


def _flow(link: TreeLink, velocity: Velocity) -> Flow:
    body, omega, linear = link.inertia, velocity.omega, velocity.linear
    return Flow(
        body.mass * linear + omega.cross(body.first),
        outer(body.first, linear) + body.second @ skew(omega).T,
    )
