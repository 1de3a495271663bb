"""Forward dynamics from an inertia matrix and a bias: M(q) a = τ - h(q, v), solved by one of three factorisations.

Any inverse dynamics gives the bias (at a = 0), any method the matrix. Mata et al. 2002, §4.3.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.algebra.cholesky import Cholesky
from appell.algebra.gauss_jordan import solve_gauss_jordan
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.solve import LDL
from appell.formulate.tree import Tree

SOLVERS: dict[str, Callable[..., list[Scalar]]] = {
    "ldl": lambda matrix, right: LDL.of(matrix).solve(right),
    "cholesky": lambda matrix, right: Cholesky.of(matrix).solve(right),
    "gauss-jordan": solve_gauss_jordan,
}


def solved(inverse_dynamics: Callable, mass_matrix: Callable, solver: str) -> Callable:
    """The forward dynamics of a way to the bias, a way to the inertia matrix and a solver."""
    solve = SOLVERS[solver]

    def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches=None) -> list[Scalar]:
        """a(q, v, τ)."""
        bias = inverse_dynamics(tree, q, v, [0.0] * len(v), wrenches)
        return solve(tree.plus_rotors(mass_matrix(tree, q)), [force - h for force, h in zip(tau, bias, strict=True)])

    return forward_dynamics
