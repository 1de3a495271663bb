"""Functions of constrained robots: the velocities of their trees, and their constraint rows.

w is a velocity of the tree; `force` acts along all velocities of the tree. Rows are in the order of `system.row_names`.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.scalar import Vector
from appell.formulate.equations import Equations, Wrenches


def tree_velocity(equations: Equations, q: Vector, v: Vector) -> dict[str, Any]:
    """w(q, v) = N v + n, the velocities of the tree."""
    return {"w": equations.tree_velocity(q, v)}


def tree_acceleration(equations: Equations, q: Vector, v: Vector, a: Vector) -> dict[str, Any]:
    """The accelerations of the tree, dw/dt."""
    return {"acceleration": equations.tree_acceleration(q, v, a)}


def independent_velocity(equations: Equations, q: Vector, w: Vector) -> dict[str, Any]:
    """v of a velocity w of the tree."""
    return {"v": equations.independent_velocity(q, w)}


def basis(equations: Equations, q: Vector) -> dict[str, Any]:
    """N(q), with w = N v + n."""
    return {"N": equations.basis(q)}


def gap(equations: Equations, q: Vector) -> dict[str, Any]:
    """Violation of the rows on positions, m or 1."""
    return {"gap": equations.gap(q)}


def row_jacobian(equations: Equations, q: Vector) -> dict[str, Any]:
    """K(q), with the rates K w + b of every row."""
    return {"K": equations.row_jacobian(q)}


def row_rates(equations: Equations, q: Vector, w: Vector) -> dict[str, Any]:
    """K w + b of every row: zero for velocities that satisfy the constraints."""
    return {"rates": equations.row_rates(q, w)}


def witness(equations: Equations, q: Vector) -> dict[str, Any]:
    """Distance of the loop of every row that carries a force from a singular configuration: 0 in one, NaN beyond."""
    return {"witness": equations.witness(q)}


def constrained_acceleration(
    equations: Equations, q: Vector, w: Vector, force: Vector, wrenches: Wrenches
) -> dict[str, Any]:
    """The accelerations of the tree for any w that satisfies the rows; no velocity has to be independent."""
    return {"acceleration": equations.constrained_acceleration(q, w, force, wrenches)[0]}


def constraint_multipliers(
    equations: Equations, q: Vector, w: Vector, force: Vector, wrenches: Wrenches
) -> dict[str, Any]:
    """The multipliers of all rows for any w that satisfies them; 0 for rows that others imply."""
    return {"multipliers": equations.constrained_acceleration(q, w, force, wrenches)[1]}


def constraint_forces(equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches) -> dict[str, Any]:
    """The multipliers of all rows while actuator forces act; 0 for rows that others imply."""
    return {"multipliers": equations.constraint_forces(q, v, tau, wrenches)}


def mobility(equations: Equations, q: Vector) -> dict[str, Any]:
    """P(q), the changes of w caused by unit impulses along the tree with all rows satisfied."""
    return {"P": equations.mobility(q)}


def constraint_wrench(
    equations: Equations, q: Vector, v: Vector, tau: Vector, wrenches: Wrenches, *, constraint: str
) -> dict[str, Any]:
    """(force, moment) on the first side of constraint '{constraint}', in world axes."""
    force, moment = equations.constraint_wrench(constraint, q, v, tau, wrenches)
    return {"wrench": [*force, *moment]}
