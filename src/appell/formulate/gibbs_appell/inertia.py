"""The inertia matrix as the Hessian of the Gibbs function.

    M_kj = ∂²S/∂a_k∂a_j = Σᵢ ∫ ∂r̈/∂a_k · ∂r̈/∂a_j dm                                                          (1)

For k at joint j or inboard of it, all links outboard of j move as one rigid body with both accelerations, so that
only their composite matters: mass M, first moment φ and second moment Ψ about O_j, gathered inward by `composite`. A
unit of a_j turns it by b and moves O_j by u, which asks for the force and moment

    f = M u + b × φ            n = (tr Ψ 1 - Ψ) b + φ × u                                                    (2)

and (1) is their work along the unit motion of a_k. The papers carry that motion outward to frame j; here the forces are
carried inward to frame k instead, where the motion is a constant axis and the work is one of their components:

    f ← R f                    n ← R n + s × R f                M_kj = linearₖ·f + angularₖ·n                  (3)

That is the arithmetic of composite rigid bodies, found from S alone. `hessian_loops` has the papers' way. Links that
are neither above the other give a structural zero. Cost O(n²). Provenzano et al.; Mata et al. 2002, §4.2.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.recursion import columns_from_wrenches, composites, steps
from appell.formulate.tree import Tree


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q), symmetric and positive definite."""
    step = steps(tree, q)
    composite = composites(tree, step)
    asked = {link.name: [composite[link.name].impulse(p) for p in link.partials] for link in tree.links}  # (2)
    return columns_from_wrenches(tree, step, asked)  # (3)
