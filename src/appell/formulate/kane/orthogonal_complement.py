"""The inertia matrix by the natural orthogonal complement, after Angeles and Ma.

The twists of all bodies, tᵢ = (ωᵢ, ċᵢ), are a linear function of v: tᵢ = Tᵢ v. The matrix T is the natural orthogonal
complement of the joints' constraint equations, and carries the bodies' inertias to the joints:

    M = Σᵢ Tᵢᵀ diag(Iᵢ, mᵢ 1) Tᵢ                                                                               (1)

Columns of Tᵢ are the partials carried outward to the link and then to its centre of mass,

    b ← Rᵀ b        u ← Rᵀ (u + b × s)        ċ: u + b × c                                                      (2)

Every body is summed for every pair of joints inboard of it: cost O(n³). Angeles, Ma 1988.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.centred import centred
from appell.formulate.link_motion import carried_partials, steps
from appell.formulate.tree import Tree


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q)."""
    partials = carried_partials(tree, steps(tree, q))  # (2)
    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        body = centred(link.inertia)
        twists = {
            name: [(p.angular, p.linear + p.angular.cross(body.com)) for p in inboard]
            for name, inboard in partials[link.name].items()
        }
        momenta = {name: [(body.inertia @ b, body.mass * u) for b, u in own] for name, own in twists.items()}
        names = list(twists)
        for k, first in enumerate(names):
            for second in names[: k + 1]:
                block = [[b.dot(n) + u.dot(f) for n, f in momenta[second]] for b, u in twists[first]]  # (1)
                blocks[first, second] = _sum(blocks.get((first, second)), block)
    for first, second in list(blocks):
        blocks[second, first] = [list(row) for row in zip(*blocks[first, second], strict=True)]
    return tree.gather_symmetric(blocks)


def _sum(left: list[list[Scalar]] | None, right: list[list[Scalar]]) -> list[list[Scalar]]:
    if left is None:
        return right
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(left, right, strict=True)]
