"""Where a system stands still under constant torques: no force is left along the motions that it has.

    r(q) = h(q, 0) - B(q) τ = 0          q ← q ⊕ ξ,   ∂r/∂q ξ = -r                                              (1)

by Gauss and Newton's method, damped (`gauss_newton`), with the exact derivative of the compiled r along the directions
in which loops stay closed; every step ends on the manifold. With rolling wheels there are more directions than forces:
equilibria are not isolated then, and the nearest is taken.
"""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.constrained.assembling import nearest_root
from appell.kinematics.assembly import charted, close_loops, step_along
from appell.model.system import System

EXACT = 1e-12  # of the largest force, or of 1 N m or N: what may be left
STEP = 0.5  # rad or m: the longest of a step


def equilibrium(system: Dynamics | System, q0=None, tau=None) -> np.ndarray:
    """The configuration near q0 (its start if None) in which torques `tau` (zeros if None) keep a system at rest.

    Stable or not; `control.linearize` tells. Dry friction and motions that are prescribed stand still.
    """
    dyn = system if isinstance(system, Dynamics) else Dynamics(system)
    own = dyn.system
    if q0 is not None and (other := charted(own, own.sized("q0", q0, own.nq))) is not own:
        return equilibrium(other, q0, tau)
    if own.prescribed:
        raise ArgumentError(f"{own.owner} has prescribed motions, and stands still nowhere.", hint="leave them out")
    q = np.array(own.start if q0 is None else own.sized("q0", q0, own.nq))
    torque = np.zeros(own.nu) if tau is None else own.sized("tau", tau, own.nu)
    if q.ndim != 1 or torque.ndim != 1 or not (np.isfinite(q).all() and np.isfinite(torque).all()):
        raise ArgumentError("q0 and tau must be one configuration and one torque.", expected="finite numbers")
    left = dyn.function("forces_at_rest", _forces, "h(q, 0) - B(q) tau, the forces that are left at rest.")
    slope = left.jacobian("q")
    scale = max(1.0, float(np.abs(left(q, torque)).max(initial=0.0)))

    def gaps(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return left(at, torque), slope(at, torque)

    start = close_loops(dyn, q)
    longest = np.full(slope(start, torque).shape[-1], STEP)
    root = nearest_root(gaps, lambda at, step: step_along(dyn, at, step), start, longest, EXACT * scale)
    if not root.size <= EXACT * scale:
        worst = int(np.argmax(np.abs(root.gaps)))
        raise ArgumentError(
            f"no equilibrium of {own.owner} is found near q0: {abs(root.gaps[worst]):.3g} is left along "
            f"'{own.velocity_names[worst]}'.",
            hint="another q0, or other torques",
        )
    return root.q


def _forces(equations, q, tau):
    h = equations.bias(q, [0.0] * equations.system.nv)
    return {"forces": [x - y for x, y in zip(h, equations.along_coordinates(q, tau), strict=True)]}
