"""From the wrenches of unit accelerations to the inertia matrix, column by column.

The wrench (f, n) that a unit acceleration of one joint asks for is carried inward; joint k on the way feels

    M_kj = linearₖ·f + angularₖ·n            f ← R f,   n ← R n + s × R f                                       (1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appell.algebra.scalar import Scalar
from appell.formulate.inward import Wrench
from appell.formulate.link_motion import Steps
from appell.formulate.tree import Tree


def columns_from_wrenches(tree: Tree, step: Steps, wrenches: Mapping[str, Sequence[Wrench]]) -> list[list[Scalar]]:
    """M(q) from the wrenches at each link for its own partials, by (1)."""
    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        carried, here = list(wrenches[link.name]), link
        for inboard in (link, *tree.ancestors(link)):
            if inboard is not here:
                R, s = step[here.name].R, step[here.name].s
                carried = [(f_parent := R @ f, R @ n + s.cross(f_parent)) for f, n in carried]
                here = inboard
            rows = [[p.linear.dot(f) + p.angular.dot(n) for f, n in carried] for p in here.partials]
            blocks[here.name, link.name] = rows
            if here is not link:
                blocks[link.name, here.name] = [list(column) for column in zip(*rows, strict=True)]
    return tree.gather_symmetric(blocks)
