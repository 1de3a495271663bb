"""Inverse dynamics and inertia matrix from Lagrange's equations with 4x4 matrices, in Hollerbach's recursive form.

    τₖ = Tr{ L D } - gᵀ L c          L = ∂T/∂qₖ = T ξₖ                                                         (1)

    D = P T''ᵀ + Σ X_c D_c           c = P (0, 0, 0, 1)ᵀ + Σ X_c c_c                                             (2)

T'' is computed outward by (1) of `homogeneous`, D and c inward over the children. All motion is in world coordinates,
which makes the method expensive: several times the work of Newton-Euler, as Hollerbach notes. Cost O(n). Hollerbach
1980.

At rest and without gravity, the forces of a unit acceleration are a column of the inertia matrix: cost O(n²).
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.homogeneous import ORIGIN, placements, pseudo_inertia, transformations, twist
from appell.formulate.recursion import ExternalWrenches, link_transforms, minus_external
from appell.formulate.tree import Tree


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a)."""
    transforms = link_transforms(tree, q)
    X = transformations(tree, transforms)
    motion = placements(tree, X, v, a)
    gravity = (*tree.gravity, 0.0)

    inertias = {link.name: pseudo_inertia(link.inertia) for link in tree.links}
    D = {name: P @ motion[name].second_rate.T for name, P in inertias.items()}
    c = {name: P.apply(ORIGIN) for name, P in inertias.items()}
    tau: dict[str, list[Scalar]] = {}
    for link in reversed(tree.links):
        D_link, c_link = D[link.name], c[link.name]
        tau[link.name] = []
        for p in link.partials:
            L = motion[link.name].T @ twist(p)
            weight = sum((g * x for g, x in zip(gravity, L.apply(c_link), strict=True)), start=0.0)
            tau[link.name].append(L.trace_with(D_link.T) - weight)  # (1)
        if link.parent is not None:
            D[link.parent] = D[link.parent] + X[link.name] @ D_link  # (2)
            moved = X[link.name].apply(c_link)
            c[link.parent] = tuple(x + y for x, y in zip(c[link.parent], moved, strict=True))
    return minus_external(tree, transforms, tree.gather(tau), wrenches)


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q), column by column."""
    n, weightless = tree.robot.nv, tree.with_gravity(ZERO)
    rest = [0.0] * n
    columns = [inverse_dynamics(weightless, q, rest, [float(i == k) for i in range(n)]) for k in range(n)]
    return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
