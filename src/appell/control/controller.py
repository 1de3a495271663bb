"""A sampled controller: a control law compiled to one function.

    controller = Controller(design)
    tau = controller(q, v, reference)          reference = (q_d, v_d, a_d), of shape (3, n)

The integral of the error and the last torque are its state between calls; `reset` clears them.

The same step as C99 code, with bit-identical results:

    code = design.to_c("arm_control")        arm_control_state, arm_control_init, arm_control_step
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.compile.c.signature import identifier
from appell.compile.c.source import CSource, StepMemory, c_step
from appell.compile.function import Function
from appell.control.design import Design

STATE = {  # input -> output that is its next value
    "integral": "integral_next",
    "before": "tau",
}


def control_function(design: Design) -> Function:
    """Return one control step as a compiled function.

    (q, v, reference, integral, before) -> (tau, integral_next, demand)
    """
    n = design.model.nv
    inputs = {"q": design.model.nq, "v": n, "reference": (3, n), "integral": n, "before": design.model.nu}

    def body(q, v, reference, integral, before):
        step = design.step(q, v, reference, integral, before)
        return {"tau": step.tau, "integral_next": step.integral, "demand": step.demand}

    doc = f"One step of the law '{design.law.name}'."
    return Function.of("control_step", inputs, body, doc, design.model.owner)


class Controller:
    """The compiled control law of a design, called once per period.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> arm = ap.load("planar-2r")
    >>> design = ap.control.Design(arm, ap.control.critical(10.0), law="tracking", ahead=0.0)
    >>> controller = ap.control.Controller(design)
    >>> q, v, rest = np.array([0.1, 0.2]), np.zeros(2), np.zeros((2, 2))
    >>> tau = controller(q, v, [[0.1, 0.2], *rest])  # the reference is the state itself
    >>> bool(np.allclose(tau, ap.Dynamics(arm).gravity(q)))
    True
    """

    def __init__(self, design: Design):
        self.design = design
        self.function = control_function(design)
        self._bound: Any = self.function.bind()

    def reset(self, tau=None) -> None:
        """Set the integral to zero and the last torque to `tau` (None: zero), in N m or N."""
        self._bound.integral[:] = 0.0
        self._bound.tau[:] = 0.0 if tau is None else tau
        self._bound.integral_next[:] = 0.0

    def __call__(self, q, v, reference) -> np.ndarray:
        """Return the torque for the next period.

        Parameters
        ----------
        q : array_like, shape (nq,)
        v : array_like, shape (nv,)
        reference : array_like, shape (3, nv)
            Desired position, velocity and acceleration of the controlled coordinates.

        Returns
        -------
        ndarray, shape (nu,)
            In N m or N. The next call overwrites this array.
        """
        bound = self._bound
        bound.q[:], bound.v[:], bound.reference[:] = q, v, reference
        bound.before[:], bound.integral[:] = bound.tau, bound.integral_next
        bound()
        return bound.tau

    @property
    def integral(self) -> np.ndarray:
        """Integral of the error, of shape (nv,), in rad s or m s."""
        return self._bound.integral_next.copy()

    def continuous(self, trajectory: Callable) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
        """Return the law as a torque(t, q, v) for `appell.simulate`: not sampled, without limits and integral action.

        `trajectory(t)` returns the reference (q_d, v_d, a_d).
        """
        function, model = self.function, self.design.model
        integral, before = np.zeros(model.nv), np.zeros(model.nu)

        def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return function(q, v, np.array(trajectory(t)), integral, before)[2]

        return torque


def control_code(design: Design, name: str | None, dtype: Any) -> CSource:
    """Return the control step of a design as C99; `name` is by default the name of the model followed by _control."""
    name = identifier(f"{design.model.name}_control") if name is None else name
    return c_step(control_function(design), StepMemory(STATE, {}, given=("tau",)), name, dtype)
