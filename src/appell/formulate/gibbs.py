"""The Gibbs function (acceleration energy), its gradient and its Hessian: the definition of all dynamics in appell.

    S(q, v, a) = Σᵢ  ½ mᵢ r̈ᵢ·r̈ᵢ + ½ ω̇ᵢ·Iᵢω̇ᵢ + ω̇ᵢ·(ωᵢ × Iᵢωᵢ)                                           (1)

r̈ is the acceleration of the centre of mass minus gravity, and I the inertia about it. About the origin O of a link,
with h = ∫ r dm and J = ∫ r rᵀ dm, the same sum up to terms without a is

    S = Σᵢ  ½ mᵢ s̈ᵢ·s̈ᵢ + s̈ᵢ·Wᵢhᵢ + ½ tr(Wᵢ Jᵢ Wᵢᵀ)                                                       (2)

This is half the integral of the squared acceleration s̈ + W r, and it also holds for links without mass. Appell's
equations follow, with bias = ∂S/∂a at a = 0:

    τ = ∂S/∂a                     M = ∂²S/∂a²                                                                   (3)

The functions below use no hand-derived recursion: S is computed by (2) and differentiated in reverse mode. ∂S/∂a is
linear in a, so that at rest and without gravity its value for a unit acceleration is a column of M. One gradient costs
O(n), M costs O(n²). All other methods are tested against them.
"""

from __future__ import annotations

from appell.algebra.derivative import gradient
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.recursion import ExternalWrenches, accelerations, link_transforms, minus_external
from appell.formulate.tree import Tree


def gibbs_function(tree: Tree, q: Vector, v: Vector, a: Vector) -> Scalar:
    """S(q, v, a), by (2)."""
    motion = accelerations(tree, link_transforms(tree, q), v, a)
    S: Scalar = 0.0
    for link in tree.links:
        body, acc, W = link.inertia, motion[link.name].acc, motion[link.name].W
        weighted = W @ body.second
        S = S + 0.5 * body.mass * acc.dot(acc) + acc.dot(W @ body.first)
        S = S + 0.5 * sum((row.dot(other) for row, other in zip(weighted.rows, W.rows, strict=True)), start=0.0)
    return S


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a)."""
    tau = gradient(lambda acceleration: gibbs_function(tree, q, v, acceleration), a)
    return minus_external(tree, link_transforms(tree, q), tau, wrenches)


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q), column by column."""
    n, weightless = tree.robot.nv, tree.with_gravity(ZERO)
    rest = [0.0] * n
    columns = []
    for k in range(n):
        unit = [float(i == k) for i in range(n)]
        columns.append(gradient(lambda acceleration: gibbs_function(weightless, q, rest, acceleration), unit))
    return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
