"""The tangent space of the configurations, and how a small deviation ξ in it evolves along a motion.

Velocities in link axes do not commute; their bracket is [v, ·] (zero for joints with one axis):

    ξ̇ = δv - [v, ξ]                                                                                            (1)

Loops reduce the dimension: dq = N_h ξ, with N_h the null space of the rows on positions and ξ the tree velocities S_h w
that these rows leave independent. With w = N v + n for all rows

    ξ̇ = S_h (∂w/∂q N_h ξ + N δv - [w, N_h ξ])                                                                   (2)

so that ξ may have more entries than v: a rolling wheel can reach positions to which it cannot move directly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.kinematics.assembly import ConstraintRows
from appell.model.system import System

GAP_TOLERANCE = 1e-9  # of the robot's size, at least 1 m: larger gaps leave a loop open


@dataclass(frozen=True)
class Directions:
    """The matrices of ξ̇ = D ξ + E δv, with a name for every entry of ξ."""

    D: np.ndarray
    E: np.ndarray
    names: tuple[str, ...]


def directions(system: System, dyn: Dynamics, q: np.ndarray, v: np.ndarray) -> Directions:
    """Return (1), or for a robot with constraints (2), at a state."""
    if not system.is_constrained:
        return Directions(-system.bracket(v), np.eye(system.nv), system.velocity_names)
    tree, free, rows = system.tree, list(system.map.positions), ConstraintRows(dyn)
    if rows.largest_gap(q) > GAP_TOLERANCE * max(1.0, rows.loops.size):
        name, size, unit = rows.loops.widest_gap(rows.gap(q))
        raise ArgumentError(
            f"q of {system.owner} violates constraint '{name}' by {size:.4g} {unit}, so it cannot be linearised there.",
            hint="Assemble the robot first: q = ap.kinematics.assemble(robot, q).",
        )
    dw_dq, N = dyn.tree_velocity.jacobian("q", "v")(q, v)
    bracket = tree.bracket(dyn.tree_velocity(q, v)) @ rows.tangents(q)
    return Directions((dw_dq - bracket)[free], N[free], tuple(tree.velocity_names[k] for k in free))


def tangents(system: System, dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    """Return dq/dξ, one column per entry of ξ, for joints with one axis."""
    return ConstraintRows(dyn).tangents(q) if system.is_constrained else np.eye(system.nv)


def deviation(system: System, q0: np.ndarray, v0: np.ndarray, t: float, q: np.ndarray) -> np.ndarray:
    """Return ξ of a configuration at time t relative to a motion from q0 with constant velocity v0."""
    if not system.is_constrained:
        return system.difference(system.integrate(q0, t * v0), q)
    tree = system.tree
    w = np.array(system.map.velocity(q0.tolist(), v0.tolist()), float)
    return tree.difference(tree.integrate(q0, t * w), q)[list(system.map.positions)]
