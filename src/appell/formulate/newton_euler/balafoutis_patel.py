"""Inverse dynamics after Balafoutis and Patel: Newton-Euler with Cartesian tensors and augmented bodies.

The augmented body of link k is its own body and, for each child c, the mass M_c of everything outboard of c,
concentrated at the origin of c. Its first and second moments about O_k are

    u = h + Σ M_c s_c            K = J + Σ M_c s_c s_cᵀ            constant if the children are on revolute joints (1)

With s̈_c = Rᵀ(s̈ + W s_c) + d_c, where d_c is the acceleration along a prismatic joint, the force on everything
outboard of k is F_k = M_k s̈_k + Φ_k - M_k d_k, and the moment about O_k is X_k:

    Φ = M d + W u + Σ R_c Φ_c                                                                                  (2)
    X = u × s̈ + axial(W K) + Σ (s_c × R_c Φ_c + R_c X_c)                                                       (3)

so that m s̈ of a single link is never computed. Cost O(n). Balafoutis, Patel, Misra 1988.
"""

from __future__ import annotations

from appell.algebra.matrix import axial_of_product, outer
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.recursion import ExternalWrenches, LinkTransforms, accelerations, link_transforms, minus_external
from appell.formulate.tree import Tree
from appell.model.body import Inertia
from appell.model.frame import WORLD


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a)."""
    transforms = link_transforms(tree, q)
    motion = accelerations(tree, transforms, v, a)
    body = augmented(tree, transforms)

    phi: dict[str | None, Vec3] = {WORLD: ZERO}
    moment: dict[str | None, Vec3] = {WORLD: ZERO}
    for link in tree.links:
        (_, u, K), m = body[link.name], motion[link.name]
        phi[link.name] = m.W @ u
        moment[link.name] = u.cross(m.acc) + axial_of_product(m.W, K)  # (3)

    tau = {}
    for link in reversed(tree.links):
        R, s, m = transforms[link.name].R, transforms[link.name].s, motion[link.name]
        mass = body[link.name][0]
        force = phi[link.name] + mass * m.acc  # F of (2); only prismatic joints use it
        tau[link.name] = [p.angular.dot(moment[link.name]) + p.linear.dot(force) for p in link.partials]
        phi_parent = R @ (phi[link.name] + mass * m.relative)  # (2)
        phi[link.parent] += phi_parent
        moment[link.parent] += R @ moment[link.name] + s.cross(phi_parent)
    return minus_external(tree, transforms, tree.gather(tau), wrenches)


def augmented(tree: Tree, transforms: LinkTransforms) -> dict[str, tuple]:
    """(M, u, K) of every link, by (1)."""
    masses = {link.name: link.inertia.mass for link in tree.links}
    bodies = {link.name: link.inertia for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            mass, s = masses[link.name], transforms[link.name].s
            masses[link.parent] = masses[link.parent] + mass
            bodies[link.parent] = bodies[link.parent] + Inertia(0.0, mass * s, mass * outer(s, s))
    return {name: (masses[name], body.first, body.second) for name, body in bodies.items()}
