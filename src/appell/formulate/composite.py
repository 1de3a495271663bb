"""Composite bodies: a link with everything outboard of it, as one rigid body about the link's origin.

    M_p += M        φ_p += Rφ + M s        Ψ_p += RΨRᵀ + (s φ'ᵀ + φ' sᵀ),   φ' = Rφ + ½ M s                  (1)

with φ = ∫ r dm and Ψ = ∫ r rᵀ dm.
"""

from __future__ import annotations

from appell.algebra.matrix import symmetric_product
from appell.formulate.link_motion import Step
from appell.formulate.tree import Tree
from appell.model.body import Inertia


def composites(tree: Tree, step: dict[str, Step]) -> dict[str, Inertia]:
    """Every link's composite, in its own axes, by (1)."""
    found = {link.name: link.inertia for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is None:
            continue
        body, R, s = found[link.name], step[link.name].R, step[link.name].s
        turned = R @ body.first
        middle = turned + 0.5 * (body.mass * s)
        moved = Inertia(
            body.mass,
            turned + body.mass * s,
            R.conjugate(body.second) + symmetric_product(s, middle),
        )
        found[link.parent] = found[link.parent] + moved
    return found
