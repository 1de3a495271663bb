"""A tree taken branch by branch, after Shafei: every way from the ground to a tip is a chain of its own.

A link that several branches share keeps its matter in the first of them and is massless in the others. Forces and
inertia are linear in the matter, so that the sums over the branches are those of the tree:

    M = Σ_branches M_b          τ = Σ_branches τ_b                                                            (1)

More work than one pass over the tree (shared links move in every branch), and the same matrices.
"""

from __future__ import annotations

from dataclasses import replace

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.gibbs_appell import shafei, trace_form
from appell.formulate.inward import Outside
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


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> list[Scalar]:
    """τ(q, v, a), by (1)."""
    remaining = dict(wrenches or {})
    tau: list[Scalar] = [0.0] * tree.robot.nv
    for branch in branches(tree):
        outside = {link.name: remaining.pop(link.name) for link in branch.links if link.name in remaining}
        share = shafei.inverse_dynamics(branch, q, v, a, outside)
        tau = [x + y for x, y in zip(tau, share, strict=True)]
    return tau


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q), by (1)."""
    matrix: list[list[Scalar]] = [[0.0] * tree.robot.nv for _ in range(tree.robot.nv)]
    for branch in branches(tree):
        share = trace_form.mass_matrix(branch, q)
        matrix = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(matrix, share, strict=True)]
    return matrix
