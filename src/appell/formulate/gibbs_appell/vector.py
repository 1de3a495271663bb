"""Inverse dynamics: the gradient of the Gibbs function in vectors, after Valera.

    τₖ = Σᵢ (∂ω̇ᵢ/∂aₖ)·(Iᵢω̇ᵢ + ωᵢ × Iᵢωᵢ) + (∂r̈ᵢ/∂aₖ)·mᵢr̈ᵢ                                                     (1)

The two sums are gathered inward, α from the moments and β from the forces, with φ the force handed in by the children:

    α = I ω̇ + ω × I ω + Σ R_c α_c                                                                              (2)
    β = m r̈ × c + Σ (φ_c × s_c + R_c β_c)            φ_c = R_c (m_c r̈_c + φ of c)                               (3)
    τₖ = angularₖ·(α - β) + linearₖ·(m r̈ + Σ φ_c)                                                              (4)

Only α - β is ever needed, and both turn with the same R_c, so that their difference is gathered. About the joint
origin instead of the centre of mass, with h = m c and I_O, a link's own share is the same at the same cost, and base
parameters do:

    m r̈ = m s̈ + ω̇ × h + ω × (ω × h)                 α - β = I_O ω̇ + ω × I_O ω - s̈ × h                          (5)

The accelerations are those of `motion`, with vector products. Cost O(n). Valera et al. 2003, eqs. 7-26, for any tree.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.recursion import Outside, accelerations, by_crosses, steps
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> list[Scalar]:
    """τ(q, v, a)."""
    step = steps(tree, q)
    motion = accelerations(tree, step, v, a, by_crosses)

    moment: dict[str | None, Vec3] = {WORLD: ZERO}  # α - β
    force: dict[str | None, Vec3] = {WORLD: ZERO}
    for link in tree.links:
        body, inertia, m = link.inertia, link.inertia.rotational, motion[link.name]
        force[link.name] = body.mass * m.acc + by_crosses(m, body.first)  # (5)
        moment[link.name] = inertia @ m.alpha + m.omega.cross(inertia @ m.omega) - m.acc.cross(body.first)
    for name, (outside_force, outside_moment) in (wrenches or {}).items():
        force[name], moment[name] = force[name] - outside_force, moment[name] - outside_moment

    tau = {}
    for link in reversed(tree.links):
        R, s, f, n = step[link.name].R, step[link.name].s, force[link.name], moment[link.name]
        tau[link.name] = [p.angular.dot(n) + p.linear.dot(f) for p in link.partials]  # (4)
        phi = R @ f  # (3)
        force[link.parent] += phi
        moment[link.parent] += R @ n - phi.cross(s)
    return tree.gather(tau)
