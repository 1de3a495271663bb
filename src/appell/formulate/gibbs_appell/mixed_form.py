"""Inverse dynamics: the gradient of the Gibbs function with 3x3 and 4x4 matrices, in one pass over the tree.

The inertia of a link is split into a part that moves with its origin, B₁ = [0 h; hᵀ m], a 4x4 matrix, and a rotational
part, B₂ = I about the origin, a 3x3 matrix. The Gibbs function is then

    S = Σ ½ Tr{ T'' B₁ T''ᵀ } + ½ ω̇·B₂ω̇ + ω̇·(ω × B₂ω)                                                        (1)

    τₖ = Tr{ L Q } - gᵀ L c + bₖ·t           L = ∂T''/∂aₖ = T ξₖ,   bₖ = ∂ω̇/∂aₖ                                 (2)

    Q = B₁ T''ᵀ + Σ X_c Q_c                  c = B₁ (0, 0, 0, 1)ᵀ + Σ X_c c_c                                    (3)
    t = B₂ω̇ + ω × B₂ω + Σ R_c t_c                                                                             (4)

Cost O(n). The idea is Shafei's, the algorithm is different: every link is visited once, even if several branches share
it, B₁ contains no second moments, and the accelerations a are included. `formulate.shafei` has the paper's algorithm.
"""

from __future__ import annotations

from appell.algebra.matrix import ZEROS
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.homogeneous import ORIGIN, Mat4, placements, transformations, twist
from appell.formulate.recursion import ExternalWrenches, accelerations, link_transforms, minus_external
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a)."""
    transforms = link_transforms(tree, q)
    X = transformations(tree, transforms)
    motion_4x4, motion = placements(tree, X, v, a), accelerations(tree, transforms, v, a)
    gravity = (*tree.gravity, 0.0)

    Q, c = {}, {}
    turning: dict[str | None, Vec3] = {WORLD: ZERO}
    for link in tree.links:
        body, m = link.inertia, motion[link.name]
        B1, B2 = Mat4.of(ZEROS, body.first, body.first, body.mass), body.rotational
        Q[link.name], c[link.name] = B1 @ motion_4x4[link.name].second_rate.T, B1.apply(ORIGIN)  # (3)
        turning[link.name] = B2 @ m.alpha + m.omega.cross(B2 @ m.omega)  # (4)

    tau: dict[str, list[Scalar]] = {}
    for link in reversed(tree.links):
        name, parent = link.name, link.parent
        tau[name] = []
        for p in link.partials:
            L = motion_4x4[name].T @ twist(p)
            weight = sum((g * x for g, x in zip(gravity, L.apply(c[name]), strict=True)), start=0.0)
            tau[name].append(L.trace_with(Q[name].T) - weight + p.angular.dot(turning[name]))  # (2)
        turning[parent] += transforms[name].R @ turning[name]
        if parent is not None:
            Q[parent] = Q[parent] + X[name] @ Q[name]
            c[parent] = tuple(x + y for x, y in zip(c[parent], X[name].apply(c[name]), strict=True))
    return minus_external(tree, transforms, tree.gather(tau), wrenches)
