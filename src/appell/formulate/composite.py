"""Composite bodies: a link with everything outboard of it, as one rigid body about the link's origin.

    M_p += M        φ_p += Rφ + M s        Ψ_p += RΨRᵀ + (s φ'ᵀ + φ' sᵀ),   φ' = Rφ + ½ M s                  (1)

with φ = ∫ r dm and Ψ = ∫ r rᵀ dm.
"""

from __future__ import annotations

from appell.algebra.matrix import symmetric_product
from appell.formulate.link_motion import Step, Steps
from appell.formulate.tree import Tree
from appell.model.body import Inertia


def composites(tree: Tree, step: Steps) -> dict[str, Inertia]:
    """Every link's composite, in its own axes, by (1)."""
    found = {link.name: link.inertia for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            found[link.parent] = found[link.parent] + carried_by_parent(found[link.name], step[link.name])
    return found


def carried_by_parent(body: Inertia, step: Step) -> Inertia:
    """A composite as its parent carries it, by (1)."""
    R, s = step.R, step.s
    turned = R @ body.first
    middle = turned + 0.5 * (body.mass * s)
    return Inertia(body.mass, turned + body.mass * s, R.conjugate(body.second) + symmetric_product(s, middle))
