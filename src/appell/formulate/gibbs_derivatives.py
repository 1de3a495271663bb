"""Dynamics straight from the definition: the Gibbs function, differentiated.

    τ = ∂S/∂a                     M = ∂²S/∂a²                                                                   (1)

No recursion is thought out by hand here: S is written down as in `gibbs`, and its derivatives are taken by the rules
of calculus, backwards through the arithmetic. ∂S/∂a is linear in a, so that at rest and without gravity its value for
a unit acceleration is a column of M. One gradient costs O(n), M costs O(n²).
"""

from __future__ import annotations

from appell.algebra.derivative import gradient
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.gibbs import gibbs_function
from appell.formulate.inward import Outside, less_outside
from appell.formulate.link_motion import steps
from appell.formulate.tree import Tree


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> list[Scalar]:
    """τ(q, v, a)."""
    tau = gradient(lambda gains: gibbs_function(tree, q, v, gains), a)
    return less_outside(tree, steps(tree, q), tau, wrenches)


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q), column by column."""
    n, still = tree.robot.nv, tree.with_gravity(ZERO)
    rest = [0.0] * n
    columns = []
    for k in range(n):
        unit = [float(i == k) for i in range(n)]
        columns.append(gradient(lambda gains: gibbs_function(still, q, rest, gains), unit))
    return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
