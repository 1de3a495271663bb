"""A tree as its branches, after Shafei: every way from the ground to a tip is a chain of its own.

A link that several branches share keeps its matter in the first of them and is massless in the others. Forces and
inertia are linear in the matter, so that what the branches need adds up to what the tree needs.
"""

from __future__ import annotations

from dataclasses import replace

from appell.formulate.tree import Tree
from appell.model.body import Inertia


def branches(tree: Tree) -> list[Tree]:
    """The chains of a tree, with each link's matter in the first that has it."""
    parents = {link.parent for link in tree.links}
    found, seen = [], set()
    for tip in tree.links:
        if tip.name in parents:
            continue
        way = [tip, *tree.ancestors(tip)][::-1]
        links = tuple(replace(link, inertia=Inertia()) if link.name in seen else link for link in way)
        seen |= {link.name for link in way}
        found.append(replace(tree, links=links))
    return found
