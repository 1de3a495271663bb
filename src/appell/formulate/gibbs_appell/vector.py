"""Inverse dynamics: the gradient of the Gibbs function with vectors, after Valera.

    τₖ = Σᵢ (∂ω̇ᵢ/∂aₖ)·(Iᵢω̇ᵢ + ωᵢ × Iᵢωᵢ) + (∂r̈ᵢ/∂aₖ)·mᵢr̈ᵢ                                                     (1)

The two sums are gathered inward, α from the moments and β from the forces, with φ the force from the children:

    α = I ω̇ + ω × I ω + Σ R_c α_c                                                                              (2)
    β = m r̈ × c + Σ (φ_c × s_c + R_c β_c)            φ_c = R_c (m_c r̈_c + φ of c)                               (3)
    τₖ = angularₖ·(α - β) + linearₖ·(m r̈ + Σ φ_c)                                                              (4)

Only α - β is needed, and both are rotated by the same R_c, so that their difference is gathered. About the joint origin
instead of the centre of mass, with h = m c and I_O, the contribution of a link costs the same, and base parameters can
be used:

    m r̈ = m s̈ + ω̇ × h + ω × (ω × h)                 α - β = I_O ω̇ + ω × I_O ω - s̈ × h                          (5)

The accelerations are those of `recursion`, with vector products. Cost O(n). Valera et al. 2003, eqs. 7-26, for any
tree.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.recursion import ExternalWrenches, accelerations, by_crosses, link_transforms
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a)."""
    transforms = link_transforms(tree, q)
    motion = accelerations(tree, transforms, v, a, by_crosses)

    moment: dict[str | None, Vec3] = {WORLD: ZERO}  # α - β
    force: dict[str | None, Vec3] = {WORLD: ZERO}
    for link in tree.links:
        body, inertia, m = link.inertia, link.inertia.rotational, motion[link.name]
        force[link.name] = body.mass * m.acc + by_crosses(m, body.first)  # (5)
        moment[link.name] = inertia @ m.alpha + m.omega.cross(inertia @ m.omega) - m.acc.cross(body.first)
    for name, (external_force, external_moment) in (wrenches or {}).items():
        force[name], moment[name] = force[name] - external_force, moment[name] - external_moment

    tau = {}
    for link in reversed(tree.links):
        R, s, f, n = transforms[link.name].R, transforms[link.name].s, force[link.name], moment[link.name]
        tau[link.name] = [p.angular.dot(n) + p.linear.dot(f) for p in link.partials]  # (4)
        phi = R @ f  # (3)
        force[link.parent] += phi
        moment[link.parent] += R @ n - phi.cross(s)
    return tree.gather(tau)
