"""Two arms that hold one load: a motion of the load, and the wrench that passes through one of the grasps.

The arms and the load are one tree, closed by a `Weld` of the load to the second hand. Cut there, every joint has a
motor, and the torques of a motion with a wrench f through the weld, on its first side, are those of the tree

    τ = Q_tree(q, w, dw/dt) - (J_a - J_b)ᵀ f            w = N v,   dw/dt = N u + ν                                (1)
    u = a_d - Kd (v - v_d) - Kp e                      along the independent velocities                          (2)

Both frames of the weld move alike, Nᵀ(J_a - J_b)ᵀ = 0, so that f does not change the motion. The weld then transmits
exactly f: the parameter squeezes or stretches the load, and distributes its weight. With f = 0, the arm to which the
load belongs carries it alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from appell.compile.tape.traced_array import traced_array
from appell.control.axes import controlled_indices
from appell.control.task_space import AXES, joint_gain
from appell.control.traced_law import LawState, TracedLaw
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.model.constraint import Weld
from appell.model.system import System


def two_arms() -> TracedLaw:
    """Return control (1) of a robot whose one constraint is a weld between two hands, with a motor at every joint.

    Parameters of the law: `kp` (1/s²) and `kd` (1/s) of the independent coordinates, by default the gains of the
    design; `wrench` f, the force (N) and moment (N m) on the first frame of the weld, in world axes.
    """
    parameters = {
        "kp": partial(joint_gain, name="kp"),
        "kd": partial(joint_gain, name="kd"),
        "wrench": np.zeros(6),
    }
    return TracedLaw("two-arms", _two_arms, parameters=parameters)


def _weld(system: System) -> Weld:
    constraints: Any = system.constraints if system.is_constrained else ()
    if len(constraints) != 1 or not isinstance(constraints[0], Weld) or not isinstance(constraints[0].b, str):
        raise ModelError(
            f"law 'two-arms' does not apply to {system.owner}.",
            expected="two arms in one tree, closed by one weld: robot.with_loops(ap.Weld('load', 'left hand'))",
        )
    if system.nu != system.tree.nv:
        raise ModelError(
            f"{system.owner} has {system.nu} actuators for the {system.tree.nv} joints of its arms.",
            expected="a motor at every joint",
        )
    return constraints[0]


def _two_arms(dyn: Dynamics, state: LawState):
    system, gains, equations = state.design.model, state.parameters, dyn.equations
    weld, q = _weld(system), list(state.q)
    error = state.q[list(controlled_indices(system))] - state.q_d
    u = state.a_d - gains["kd"] * (state.v - state.v_d) - gains["kp"] * error  # (2)
    w, w_dot = equations.tree_velocity(q, state.v), equations.tree_acceleration(q, state.v, list(u))
    forces = traced_array(equations.tree.forces(q, w, w_dot, {}))  # type: ignore[union-attr]
    frames = [system.frame(weld.a), system.frame(str(weld.b))]
    J_a, J_b = (traced_array(equations.bodies.jacobian(frame, AXES, q)) for frame in frames)
    return forces - (J_a - J_b).T @ gains["wrench"] + state.dry_friction(state.v_d)  # (1)
