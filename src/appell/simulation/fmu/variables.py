"""What another tool sees of a simulated system: numbers in a row, each with a name, a unit and a value at the start.

    q_…, v_…            outputs: the state, whose start values a tool may set
    tau_…, wrench_…     inputs: what acts during a step
    step                a parameter: the length of a step, in s

The place in the row is FMI's value reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from appell.model.system import System
from appell.motion.names import record_names, record_units

WRENCH = {"fx": "N", "fy": "N", "fz": "N", "mx": "N m", "my": "N m", "mz": "N m"}


@dataclass(frozen=True)
class Variable:
    """One number; `role` is output, input or parameter."""

    name: str
    role: str
    unit: str
    start: float
    about: str


def variables(system: System, wrenches: Sequence[str], q0: Sequence, v0: Sequence, dt: float) -> list[Variable]:
    """All of them, in the order of the row."""
    names, units = record_names(system), record_units(system)

    def state(kind: str, start: Sequence, about: str):
        for name, value in zip(names[kind], start, strict=True):
            title = f"{kind}_{name}"
            yield Variable(title, "output", units[title], float(value), f"{about} of {name}")

    forces = (Variable(f"tau_{x}", "input", units[f"tau_{x}"], 0.0, f"force of actuator {x}") for x in names["tau"])
    pushes = (
        Variable(f"wrench_{frame}_{axis}", "input", unit, 0.0, f"outside force or moment on frame {frame}")
        for frame in wrenches
        for axis, unit in WRENCH.items()
    )
    step = Variable("step", "parameter", "s", dt, "length of a step of the integration")
    return list(chain(state("q", q0, "coordinate"), state("v", v0, "velocity"), forces, pushes, [step]))
