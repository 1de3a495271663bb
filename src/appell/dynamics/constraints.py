"""Functions of constrained robots: the velocities of their trees, and their constraint rows.

w holds the velocities of all joints of the tree, v the independent ones; `force` acts along w. Rows are in the order of
`system.row_names`.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.scalar import Vector
from appell.formulate.equations import Equations, Wrenches


def tree_velocity(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """w(q, v) = N v + n, the velocities of the tree."""
    return {"w": equations.tree_velocity(q, v)}


def tree_acceleration(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """dw/dt (q, v, a), the accelerations of the tree."""
    return {"acceleration": equations.tree_acceleration(q, v, a)}


def independent_velocity(equations: Equations, q: Vector, w: Vector) -> dict[str, Any]:
    """v(q, w), the independent velocities of given velocities of the tree."""
    return {"v": equations.independent_velocity(q, w)}


def basis(equations: Equations, q: Vector) -> dict[str, Any]:
    """N(q), the matrix with w = N v + n."""
    return {"N": equations.basis(q)}


def gap(equations: Equations, q: Vector) -> dict[str, Any]:
    """Violation of the position constraints, one value per row, in m or without unit."""
    return {"gap": equations.gap(q)}


def row_jacobian(equations: Equations, q: Vector) -> dict[str, Any]:
    """K(q), the Jacobian of the constraint rows: row rates K w + b."""
    return {"K": equations.row_jacobian(q)}


def row_rates(equations: Equations, q: Vector, w: Vector) -> dict[str, Any]:
    """Row rates K w + b; zero for velocities that satisfy the constraints."""
    return {"rates": equations.row_rates(q, w)}


def witness(equations: Equations, q: Vector) -> dict[str, Any]:
    """Distance of the loops from a singular configuration, one value per row that carries a force.

    It is 0 in a singular configuration and NaN beyond it.
    """
    return {"witness": equations.witness(q)}


def constrained_acceleration(
    equations: Equations, q: Vector, w: Vector, force: Vector, wrenches: Wrenches
) -> dict[str, Any]:
    """Accelerations of the tree for any w that satisfies the rows, without a choice of independent velocities."""
    return {"acceleration": equations.constrained_acceleration(q, w, force, wrenches)[0]}


def constraint_multipliers(
    equations: Equations, q: Vector, w: Vector, force: Vector, wrenches: Wrenches
) -> dict[str, Any]:
    """Multipliers of all rows for any w that satisfies them; 0 for redundant rows."""
    return {"multipliers": equations.constrained_acceleration(q, w, force, wrenches)[1]}


def constraint_forces(equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """Multipliers of all rows for given actuator forces; 0 for redundant rows."""
    return {"multipliers": equations.constraint_forces(q, v, tau, wrenches)}


def mobility(equations: Equations, q: Vector) -> dict[str, Any]:
    """P(q), the changes of w caused by unit impulses along w while all rows stay satisfied."""
    return {"P": equations.mobility(q)}


def constraint_wrench(
    equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches, *, constraint: str
) -> dict[str, Any]:
    """Force (N) and moment (N m) on the first side of constraint '{constraint}', in world axes."""
    force, moment = equations.constraint_wrench(constraint, q, v, tau, wrenches)
    return {"wrench": [*force, *moment]}
