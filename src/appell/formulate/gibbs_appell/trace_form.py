"""The inertia matrix as a trace of 4x4 matrices, in one pass over the tree.

    M_kj = Tr{ L_k X…X F_j L_jᵀ }         k = j or inboard of it, X…X the transforms from k out to j               (1)

    F_p += X F Xᵀ,   starting from P = ∫ (r, 1)(r, 1)ᵀ dm of each link            L = ∂T/∂q = T ξ                  (2)

Since P contains all of the inertia of a body, no separate 3x3 term is needed. Cost O(n²). After Shafei, Shafei 2018.
The paper's own algorithm is in `formulate.shafei`: branch by branch, rods in 4x4 matrices and the remaining inertia in
3x3.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.homogeneous import Mat4, placements, pseudo_inertia, transformations, twist
from appell.formulate.recursion import link_transforms
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q)."""
    X = transformations(tree, link_transforms(tree, q))
    rest = [0.0] * tree.robot.nv
    motion = placements(tree, X, rest, rest)
    F = {link.name: pseudo_inertia(link.inertia) for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            F[link.parent] = F[link.parent] + X[link.name] @ F[link.name] @ X[link.name].T  # (2)

    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    carried: dict[str | None, dict[str, list[Mat4]]] = {WORLD: {}}
    for link in tree.links:
        L_link = [motion[link.name].T @ twist(p) for p in link.partials]
        carried[link.name] = {name: [L @ X[link.name] for L in Ls] for name, Ls in carried[link.parent].items()}
        carried[link.name][link.name] = L_link
        moved = [L @ F[link.name] for L in L_link]
        for name, inboard in carried[link.name].items():
            blocks[link.name, name] = [[m.trace_with(L) for L in inboard] for m in moved]  # (1)
            if name != link.name:
                blocks[name, link.name] = [list(row) for row in zip(*blocks[link.name, name], strict=True)]
    return tree.gather_symmetric(blocks)
