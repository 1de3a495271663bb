"""The Coriolis matrix C(q, v) with C v = bias - gravity and Ṁ - 2C skew.

With J_k(P) the velocity of a point for a unit of v_k, M_jk = ∫ J_j·J_k dm, and

    C_jk = ∫ J_j · dJ_k/dt dm                so that Ṁ_jk - 2 C_jk = ∫ (dJ_j/dt · J_k - J_j · dJ_k/dt) dm          (1)

which is skew. For a joint at O whose partial (b, e) is fixed in its link, J_k = e + b × (P - O), and in a link outboard
of it, with r from that link's origin and V the velocity of P,

    dJ_k/dt = c + d × r + b × V              d = ω × b,   c = ω × e - b × V_O   at the joint itself                (2)

where (d, c) are carried outward like any velocity field. With i the outer of the two links, its composite enters with
its inertia, its momentum p = ∫ V dm and Z = ∫ r Vᵀ dm, gathered inward by

    p_p += R p        Z_p += R Z Rᵀ + s (R p)ᵀ                                                                    (3)

    k at i:   C_jk = u_j·f + b_j·n           f = M c + d × φ + b × p     n = φ × c + I d + (tr Z 1 - Zᵀ) b         (4)
    j at i:   C_jk = c·F + d·N + b·G         F = M e + b_j × φ   N = I b_j + φ × e   G = p × e + (tr Z 1 - Z) b_j  (5)

Cost O(n²), for all joints including a floating base, for which the Christoffel symbols of M do not apply.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.matrix import IDENTITY, Mat3, outer, skew
from appell.algebra.rotation import Twist
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.formulate.recursion import (
    LinkTransforms,
    PerLink,
    carried_partials,
    carry,
    composites,
    link_transforms,
    velocities,
)
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import WORLD
from appell.model.joints import Partial


@dataclass(frozen=True)
class Momentum:
    """Momentum of a body about an origin: p = ∫ V dm and Z = ∫ r Vᵀ dm."""

    p: Vec3
    Z: Mat3

    def __add__(self, other: Momentum) -> Momentum:
        return Momentum(self.p + other.p, self.Z + other.Z)


def coriolis(tree: Tree, q: Vector, v: Vector) -> list[list[Scalar]]:
    """C(q, v)."""
    transforms = link_transforms(tree, q)
    velocity = velocities(tree, transforms, v)
    partials, rates = carried_partials(tree, transforms), _carried_rates(tree, transforms, velocity)
    composite, momenta = composites(tree, transforms), _momenta(tree, transforms, velocity)

    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        body, momentum = composite[link.name], momenta[link.name]
        trace = momentum.Z.trace * IDENTITY
        columns, rows = [], []
        for p, rate in zip(link.partials, rates[link.name][link.name], strict=True):
            f, n = body.impulse(rate)
            columns.append((f + p.angular.cross(momentum.p), n + (trace - momentum.Z.T) @ p.angular))  # (4)
            rows.append((*body.impulse(p), momentum.p.cross(p.linear) + (trace - momentum.Z) @ p.angular))  # (5)
        for name, inboard in partials[link.name].items():
            blocks[name, link.name] = [[p.linear.dot(f) + p.angular.dot(n) for f, n in columns] for p in inboard]
            if name != link.name:
                pairs = list(zip(inboard, rates[link.name][name], strict=True))
                blocks[link.name, name] = [
                    [rate.linear.dot(F) + rate.angular.dot(N) + p.angular.dot(G) for p, rate in pairs]
                    for F, N, G in rows
                ]
    return tree.gather_matrix(blocks)


def _carried_rates(
    tree: Tree, transforms: LinkTransforms, velocity: PerLink[Twist]
) -> dict[str | None, dict[str, list[Partial]]]:
    """(d, c) of (2) for every joint at a link or inboard of it."""
    carried: dict[str | None, dict[str, list[Partial]]] = {WORLD: {}}
    for link in tree.links:
        inboard = carried[link.parent].items()
        carried[link.name] = {name: [carry(transforms[link.name], rate) for rate in rates] for name, rates in inboard}
        carried[link.name][link.name] = [_rate(p, velocity[link.name]) for p in link.partials]
    return carried


def _rate(partial: Partial, velocity: Twist) -> Partial:
    b, e = partial.angular, partial.linear
    return Partial(velocity.angular.cross(b), velocity.angular.cross(e) - b.cross(velocity.linear))


def _momenta(tree: Tree, transforms: LinkTransforms, velocity: PerLink[Twist]) -> dict[str, Momentum]:
    """Momentum of each link with everything outboard of it, by (3)."""
    momenta = {link.name: _momentum(link, velocity[link.name]) for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            R, s, momentum = transforms[link.name].R, transforms[link.name].s, momenta[link.name]
            p = R @ momentum.p
            momenta[link.parent] += Momentum(p, (R @ (R @ momentum.Z).T).T + outer(s, p))
    return momenta


def _momentum(link: TreeLink, velocity: Twist) -> Momentum:
    body, omega, linear = link.inertia, velocity.angular, velocity.linear
    return Momentum(
        body.mass * linear + omega.cross(body.first),
        outer(body.first, linear) + body.second @ skew(omega).T,
    )
