"""A controller as C: one step of its law and of the model that it trusts, with the state that `Controller` keeps.

    code = design.to_c("arm_control")        arm_control_state, arm_control_init, arm_control_step

The state is the integral of the error and the torque of the step before. Step by step the torques have the bits of
`Controller`, which runs the same function.
"""

from __future__ import annotations

from typing import Any

from appell.compile.export.c.carried import StepMemory, c_step
from appell.compile.export.c.names import identifier
from appell.compile.export.c.source import CSource
from appell.control.law.controller import control_function
from appell.control.law.design import Design

REMEMBERED = {"integral": "integral_next", "before": "tau"}


def control_code(design: Design, name: str | None, dtype: Any) -> CSource:
    """The step of a design; `name` is by default that of the model, and _control."""
    name = identifier(f"{design.model.name}_control") if name is None else name
    return c_step(control_function(design), StepMemory(REMEMBERED, {}, given=("tau",)), name, dtype)
