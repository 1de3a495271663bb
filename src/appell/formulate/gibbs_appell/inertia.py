"""The inertia matrix as the Hessian of the Gibbs function.

    M_kj = ∂²S/∂a_k∂a_j = Σᵢ ∫ ∂r̈/∂a_k · ∂r̈/∂a_j dm                                                          (1)

For k at joint j or inboard of it, both accelerations move all links outboard of j as one rigid body, so that only
their composite matters: mass M, first moment φ and second moment Ψ about O_j, gathered inward by
`recursion.composites`. A unit of a_j is an angular acceleration b and an acceleration u of O_j, which require the force
and moment

    f = M u + b × φ            n = (tr Ψ 1 - Ψ) b + φ × u                                                    (2)

and (1) is their power along the unit motion of a_k. The papers carry that motion outward to frame j; here the forces
are carried inward to frame k, where the motion is a constant axis and the power is one of their components:

    f ← R f                    n ← R n + s × R f                M_kj = linearₖ·f + angularₖ·n                  (3)

This is the arithmetic of composite rigid bodies, derived from S alone. `hessian_loops` has the version of the papers.
Entries of two joints of which neither is inboard of the other are structural zeros. Cost O(n²). Provenzano et al.; Mata
et al. 2002, §4.2.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.recursion import columns_from_wrenches, composites, link_transforms
from appell.formulate.tree import Tree


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q), symmetric and positive definite."""
    transforms = link_transforms(tree, q)
    composite = composites(tree, transforms)
    required = {link.name: [composite[link.name].impulse(p) for p in link.partials] for link in tree.links}  # (2)
    return columns_from_wrenches(tree, transforms, required)  # (3)
