"""The inertia matrix by Featherstone's composite rigid bodies, with spatial vectors about the joint origins.

    Ic_p += X* Ic X              the composite's spatial inertia, transformed to the parent                      (1)
    F = Ic S_j                   the wrench of a unit acceleration of joint j                                    (2)
    M_kj = S_kᵀ F                F ← X* F on the way from j inward                                               (3)

Cost O(n²). Featherstone 2008, §6.2.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.newton_euler.spatial import Wrench
from appell.formulate.recursion import composites, link_transforms
from appell.formulate.tree import Tree


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q)."""
    transforms = link_transforms(tree, q)
    composite = composites(tree, transforms)  # (1)
    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        impulses = [composite[link.name].impulse(p) for p in link.partials]
        F = [Wrench(*impulse) for impulse in impulses]  # (2)
        here = link
        for inboard in (link, *tree.ancestors(link)):
            if inboard is not here:
                F = [wrench.to_parent(transforms[here.name].R, transforms[here.name].s) for wrench in F]
                here = inboard
            rows = [[wrench.power(p) for wrench in F] for p in here.partials]  # (3)
            blocks[here.name, link.name] = rows
            blocks[link.name, here.name] = [list(column) for column in zip(*rows, strict=True)]
    return tree.gather_symmetric(blocks)
