"""A controller that runs: its law compiled to one function on arrays of its own.

    controller = Controller(design)
    tau = controller(q, v, reference)          reference = (q_d, v_d, a_d), of shape (3, n)

The integral of the error and the last torque are remembered between calls; `reset` forgets them.

As C99, with the same state and the same bits:

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

REMEMBERED = {"integral": "integral_next", "before": "tau"}


def control_function(design: Design) -> Function:
    """(q, v, reference, integral, before) -> (tau, integral_next, demand), as one compiled function."""
    n = design.model.nv
    inputs = {"q": design.model.nq, "v": n, "reference": (3, n), "integral": n, "before": design.model.nu}

    def body(q, v, reference, integral, before):
        step = design.step(q, v, reference, integral, before)
        return {"tau": step.tau, "integral_next": step.integral, "demand": step.demand}

    doc = f"One step of the law '{design.law.name}'."
    return Function.of("control_step", inputs, body, doc, design.model.owner)


class Controller:
    """A design, compiled; called once a period."""

    def __init__(self, design: Design):
        self.design = design
        self.function = control_function(design)
        self._bound: Any = self.function.bind()

    def reset(self, tau=None) -> None:
        """Forget the integral; start from the torque `tau`, zero if None."""
        self._bound.integral[:] = 0.0
        self._bound.tau[:] = 0.0 if tau is None else tau
        self._bound.integral_next[:] = 0.0

    def __call__(self, q, v, reference) -> np.ndarray:
        """The torque for the next period; an array that the next call overwrites."""
        bound = self._bound
        bound.q[:], bound.v[:], bound.reference[:] = q, v, reference
        bound.before[:], bound.integral[:] = bound.tau, bound.integral_next
        bound()
        return bound.tau

    @property
    def integral(self) -> np.ndarray:
        return self._bound.integral_next.copy()

    def continuous(self, trajectory: Callable) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
        """The law without sampling and limits in time, as a torque for `appell.simulate`; no integral action."""
        function, model = self.function, self.design.model
        integral, before = np.zeros(model.nv), np.zeros(model.nu)

        def torque(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return function(q, v, np.array(trajectory(t)), integral, before)[2]

        return torque


def control_code(design: Design, name: str | None, dtype: Any) -> CSource:
    """The step of a design; `name` is by default that of the model, and _control."""
    name = identifier(f"{design.model.name}_control") if name is None else name
    return c_step(control_function(design), StepMemory(REMEMBERED, {}, given=("tau",)), name, dtype)
