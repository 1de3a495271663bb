"""Static equilibrium of a system under constant torques: the forces along all its motions vanish.

    r(q) = h(q, 0) - B(q) τ = 0          q ← q ⊕ ξ,   ∂r/∂q ξ = -r                                              (1)

by a damped Gauss-Newton method with the exact derivative of the compiled r along the directions that keep loops closed;
every step ends on the constraint manifold. With rolling wheels there are more directions than forces: equilibria are
then not isolated, and the nearest one is returned.
"""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.constrained.assembly import nearest_root
from appell.kinematics.assembly import close_loops, recharted, step_along
from appell.model.system import System

FORCE_TOLERANCE = 1e-12  # relative to the largest force, or to 1 N m or 1 N if that is larger
MAX_STEP = 0.5  # rad or m, of one iteration


def equilibrium(system: Dynamics | System, q0=None, tau=None) -> np.ndarray:
    """Return the configuration near q0 in which constant torques keep a system at rest.

    The equilibrium may be unstable; `control.linearize` shows whether it is.

    Parameters
    ----------
    system : any system without prescribed motions, or its `Dynamics`
    q0 : configuration (nq,) to start from; by default the start configuration of the system
    tau : generalised forces of the actuators (nu,); zeros by default

    Returns
    -------
    q, (nq,)

    Raises
    ------
    ArgumentError
        If no equilibrium is found near q0, or the system has prescribed motions.

    Examples
    --------
    >>> import appell as ap
    >>> ap.kinematics.equilibrium(ap.load("pendulum"), tau=[1.0]).round(4)
    array([0.2053])
    """
    dyn = system if isinstance(system, Dynamics) else Dynamics(system)
    model = dyn.system
    if q0 is not None and (other := recharted(model, model.sized("q0", q0, model.nq))) is not model:
        return equilibrium(other, q0, tau)
    if model.prescribed:
        raise ArgumentError(
            f"{model.owner} has prescribed motions, so it has no equilibrium.", hint="Remove the prescribed motions."
        )
    q = np.array(model.start if q0 is None else model.sized("q0", q0, model.nq))
    torque = np.zeros(model.nu) if tau is None else model.sized("tau", tau, model.nu)
    if q.ndim != 1 or torque.ndim != 1 or not (np.isfinite(q).all() and np.isfinite(torque).all()):
        raise ArgumentError(
            "q0 or tau is a batch or not finite.", expected="one configuration and one vector of torques"
        )
    residual = dyn.function("forces_at_rest", _forces, "h(q, 0) - B(q) tau, the residual forces at rest.")
    slope = residual.jacobian("q")
    scale = max(1.0, float(np.abs(residual(q, torque)).max(initial=0.0)))

    def residual_and_slope(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return residual(at, torque), slope(at, torque)

    start = close_loops(dyn, q)
    max_step = np.full(slope(start, torque).shape[-1], MAX_STEP)
    root = nearest_root(
        residual_and_slope, lambda at, step: step_along(dyn, at, step), start, max_step, FORCE_TOLERANCE * scale
    )
    if not root.size <= FORCE_TOLERANCE * scale:
        worst = int(np.argmax(np.abs(root.gaps)))
        raise ArgumentError(
            f"no equilibrium of {model.owner} was found near q0: a force of {abs(root.gaps[worst]):.3g} remains along "
            f"'{model.velocity_names[worst]}'.",
            hint="Choose another q0, or other torques.",
        )
    return root.q


def _forces(equations, q, tau):
    h = equations.bias(q, [0.0] * equations.system.nv)
    return {"forces": [x - y for x, y in zip(h, equations.along_coordinates(q, tau), strict=True)]}
