"""The equations of a tree from those of its branches, I_f(θ) θ̈ = ℜ(θ, θ̇) + τ, (25).

Every branch has an inertia matrix (Figure 2) and a right-hand side (Figure 3) in coordinates of its own: its joints in
order, then the slides of the base. The matrix of the tree starts as zeros and each branch's is added where its
coordinates are (Figures 5 to 8):

    I_f = Σ_branches I_m          ℜ = Σ_branches ℜ_m                                                               (1)

Inverse dynamics is τ = I_f θ̈ - ℜ. Cost O(n_b n_m²), more than one pass over the tree: shared links move in every
branch. Shafei, Shafei 2018, Appendix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.inward import Outside, less_outside
from appell.formulate.link_motion import steps
from appell.formulate.shafei.branches import branches
from appell.formulate.shafei.chain import chain
from appell.formulate.shafei.compound import Compound
from appell.formulate.shafei.inertia import Blocks, gathered_lines, gathered_turns, inertia
from appell.formulate.shafei.right_side import outboard_terms, right_side, spins, velocity_gains
from appell.formulate.tree import Tree

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class BranchEquations:
    """I_m θ̈_m = ℜ_m of one branch: `order` are its joints and then its base's slides, by the names of their links."""

    branch: Tree
    order: tuple[str, ...]
    base: tuple[str, ...]
    inertia: Blocks
    right: dict[str, list[Scalar]]

    @property
    def matrix(self) -> Matrix:
        """I_m in the branch's own coordinates, as in Figure 2."""
        rows = []
        for one in self.order:
            for k in range(len(self.right[one])):
                rows.append([x for other in self.order for x in self.inertia[one, other][k]])
        return rows

    @property
    def vector(self) -> list[Scalar]:
        """ℜ_m in the branch's own coordinates, as in Figure 3."""
        return [x for name in self.order for x in self.right[name]]


def branch_equations(tree: Tree, q: Vector, v: Vector) -> list[BranchEquations]:
    """Steps 1 to 7 for every branch."""
    found = []
    for branch in branches(tree):
        matrices = chain(branch, q, v)
        compound = Compound(matrices)  # steps 1 and 2
        turning, gains = spins(matrices, compound), velocity_gains(matrices, compound)  # step 3
        outboard = outboard_terms(matrices, compound, turning, gains)  # step 4
        lines, turns = gathered_lines(matrices, compound), gathered_turns(matrices, compound)  # step 6
        found.append(
            BranchEquations(
                branch,
                (*(link.name for link in matrices.links), *matrices.base),
                matrices.base,
                inertia(matrices, compound, lines, turns),  # step 7
                right_side(matrices, compound, outboard),  # step 5
            )
        )
    return found


def assembled_matrix(tree: Tree, parts: Sequence[BranchEquations]) -> Matrix:
    """I_f, by (1)."""
    matrix: Matrix = [[0.0] * tree.robot.nv for _ in range(tree.robot.nv)]
    for part in parts:
        share = part.branch.gather_matrix(part.inertia)
        matrix = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(matrix, share, strict=True)]
    return matrix


def assembled_vector(tree: Tree, parts: Sequence[BranchEquations]) -> list[Scalar]:
    """ℜ, by (1)."""
    vector: list[Scalar] = [0.0] * tree.robot.nv
    for part in parts:
        vector = [x + y for x, y in zip(vector, part.branch.gather(part.right), strict=True)]
    return vector


def mass_matrix(tree: Tree, q: Vector) -> Matrix:
    """I_f(θ)."""
    return assembled_matrix(tree, branch_equations(tree, q, [0.0] * tree.robot.nv))


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> list[Scalar]:
    """τ(q, v, a) = I_f a - ℜ."""
    parts = branch_equations(tree, q, v)
    tau = [
        sum((x * y for x, y in zip(row, a, strict=True)), start=0.0) - right
        for row, right in zip(assembled_matrix(tree, parts), assembled_vector(tree, parts), strict=True)
    ]
    return less_outside(tree, steps(tree, q), tau, wrenches)
