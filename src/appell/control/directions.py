"""In which directions a configuration can change, and how such a small step ξ changes along a motion.

Velocities in link axes fail to commute, by [v, ·] (nothing for joints of one axis):

    ξ̇ = δv - [v, ξ]                                                                                            (1)

Loops leave fewer directions: dq = N_h ξ, N_h of the rows on positions, ξ the velocities S_h w of the tree that these
leave independent. With w = N v + n of all rows

    ξ̇ = S_h (∂w/∂q N_h ξ + N δv - [w, N_h ξ])                                                                   (2)

so that there may be more directions than velocities: a wheel can stand where it cannot roll to at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.kinematics.assembly import ConstraintRows
from appell.model.robot import ConstrainedRobot
from appell.model.system import System

CLOSED = 1e-9  # of the robot's size, at least of 1 m: a gap that is none


@dataclass(frozen=True)
class Directions:
    """ξ̇ = D ξ + E δv, with a name for every ξ."""

    D: np.ndarray
    E: np.ndarray
    names: tuple[str, ...]


@singledispatch
def directions(system: System, dyn: Dynamics, q: np.ndarray, v: np.ndarray) -> Directions:
    """(1) at a state."""
    return Directions(-system.bracket(v), np.eye(system.nv), system.velocity_names)


@directions.register
def _(system: ConstrainedRobot, dyn: Dynamics, q: np.ndarray, v: np.ndarray) -> Directions:
    """(2)."""
    tree, free, rows = system.tree, list(system.map.positions), ConstraintRows(dyn)
    if rows.open_by(q) > CLOSED * max(1.0, rows.loops.size):
        name, size, unit = rows.loops.remaining(rows.gap(q))
        raise ArgumentError(
            f"q of {system.owner} leaves constraint '{name}' open by {size:.4g} {unit}: no derivatives there.",
            hint="ap.kinematics.assemble(robot, q)",
        )
    dw_dq, N = dyn.tree_velocity.jacobian("q", "v")(q, v)
    turned = tree.bracket(dyn.tree_velocity(q, v)) @ rows.tangents(q)
    return Directions((dw_dq - turned)[free], N[free], tuple(tree.velocity_names[k] for k in free))


@singledispatch
def tangents(system: System, dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    """dq of every ξ, a column each, of joints about or along one axis."""
    return np.eye(system.nv)


@tangents.register
def _(system: ConstrainedRobot, dyn: Dynamics, q: np.ndarray) -> np.ndarray:
    return ConstraintRows(dyn).tangents(q)


@singledispatch
def deviation(system: System, q0: np.ndarray, v0: np.ndarray, t: float, q: np.ndarray) -> np.ndarray:
    """ξ of a configuration at time t, from one that moves on from q0 with constant velocity v0."""
    return system.difference(system.integrate(q0, t * v0), q)


@deviation.register
def _(system: ConstrainedRobot, q0: np.ndarray, v0: np.ndarray, t: float, q: np.ndarray) -> np.ndarray:
    tree = system.tree
    w = np.array(system.map.velocity(q0.tolist(), v0.tolist()), float)
    return tree.difference(tree.integrate(q0, t * w), q)[list(system.map.positions)]
