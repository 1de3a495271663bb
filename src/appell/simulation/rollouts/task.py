"""What one call of a plan is to do: all arrays of its kernel, checked, with an axis of members and one of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.formulate.constrained.assembling import assemble_loops
from appell.model.constrained import ConstrainedRobot
from appell.motion.assembly.rows import ConstraintRows
from appell.simulation.constrained_states import MET
from appell.simulation.prescribed import PrescribedMotions
from appell.simulation.rollouts.arguments import (
    common,
    number_of_steps,
    over_time,
    per_member,
    step_length,
    unit_quaternions,
    wrench_rows,
)

if TYPE_CHECKING:
    from appell.simulation.rollouts.plan import Rollout

NEAR = 1e-9  # of a step: a period that misses a whole number of steps by less is one


@dataclass(frozen=True)
class RolloutTask:
    """Carried and held arrays (1 or members, ...), driven ones (1 or members, steps, ...), in the kernel's order."""

    members: int
    steps: int
    every: int
    dt: float
    start: float
    carried: dict[str, np.ndarray]
    held: dict[str, np.ndarray]
    driven: dict[str, np.ndarray]

    @property
    def kind(self) -> np.dtype:
        return self.carried["q"].dtype

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return self.carried | self.held | self.driven

    def as_kind(self, kind: np.dtype) -> RolloutTask:
        """With all arrays as float64 or float32; one row in place of equal ones is cast alone."""
        parts = (
            {name: _cast(array, kind) for name, array in part.items()}
            for part in (self.carried, self.held, self.driven)
        )
        carried, held, driven = parts
        return replace(self, carried=carried, held=held, driven=driven)

    def member(self, k: int) -> RolloutTask:
        """The task of one member alone."""
        parts = (
            {name: array[k : k + 1] if len(array) > 1 else array for name, array in part.items()}
            for part in (self.carried, self.held, self.driven)
        )
        carried, held, driven = parts
        return replace(self, members=1, carried=carried, held=held, driven=driven)


def task_of(
    plan: Rollout,
    q0: Any,
    v0: Any,
    torque: Any,
    steps: int,
    dt: float,
    every: int = 1,
    *,
    parameters: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Any] | None = None,
    start: float = 0.0,
    project: bool = False,
) -> RolloutTask:
    """The arrays of a call, or an error that says which is wrong."""
    dyn, law, formula, system = plan.dyn, plan.law, plan.formula, plan.dyn.system
    owner, steps, dt, every = system.owner, number_of_steps("steps", steps), step_length(dt), int_of_rows(every)
    check_number("start", start)
    if steps % every:
        raise ArgumentError(f"{steps} steps cannot be told every {every} steps.", expected="a number that divides them")
    motions = PrescribedMotions(system, prescribed, start)
    q = per_member("q0", system.start if q0 is None else q0, system.nq, owner)
    q = closed_starts(plan, unit_quaternions(system, q), motions(start), project)
    carried = {"q": q, "v": per_member("v0", np.zeros(system.nv) if v0 is None else v0, system.nv, owner)}
    t = start + dt * np.arange(steps)
    driven = {"t": t[None], "torque": over_time("torque", torque, system.actuator_names, steps, owner)}
    pushes = wrench_rows(dyn.wrenches, wrenches, steps, owner)
    if pushes is not None:
        driven["wrenches"] = pushes
    if motions:
        samples = np.array([[motions(x + c * dt) for c in (0.0, 0.5, 1.0)] for x in t])
        driven["prescribed"] = samples[None]
    held = {"dt": np.array([dt])}
    if "parameters" in formula.held:
        if parameters is None:
            raise ArgumentError(
                f"no parameters are given for the free bodies of {owner}: {', '.join(dyn.free_bodies)}.",
                expected=f"parameters=, ({formula.held['parameters']},) or one row a member",
            )
        held["parameters"] = per_member("parameters", parameters, formula.held["parameters"], owner)
    elif parameters is not None:
        raise ArgumentError(f"{owner} has no free bodies, and there are parameters.", hint="robot.with_free(names)")
    if law is not None:
        if law.memory:
            carried["memory"] = np.array(law.start, float).reshape(-1, law.memory)
        if law.period is not None:
            ticks = law.period / dt
            if ticks < 1.0 - NEAR or abs(ticks - round(ticks)) > NEAR * ticks:
                raise ArgumentError(
                    f"law '{law.name}' has a period of {law.period:g} s, {ticks:.9g} steps of {dt:g} s.",
                    expected="a whole number of steps",
                )
            carried["held"] = np.zeros((1, system.nu))
            driven["tick"] = (np.arange(steps) % round(ticks) == 0).astype(float)[None]
        if law.told:
            assert law.telling is not None
            told = np.asarray(law.telling(t), float)
            driven["told"] = told.reshape(-1, steps, law.told)
    if "cost" in formula.carried:
        carried["cost"] = np.zeros(1)
    members = common(carried | held | driven)
    driven = {name: np.broadcast_to(x, (len(x), steps, *x.shape[2:])) for name, x in driven.items()}
    return RolloutTask(members, steps, every, dt, float(start), carried, held, driven)


def int_of_rows(every: Any) -> int:
    return number_of_steps("every", every)


def closed_starts(plan: Rollout, q: np.ndarray, prescribed: np.ndarray, project: bool) -> np.ndarray:
    """Starts of a constrained robot with its loops closed, or an error that names the first one that is open."""
    system = plan.dyn.system
    if not isinstance(system, ConstrainedRobot):
        return q
    rows = ConstraintRows(plan.dyn, prescribed if len(prescribed) else None)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(rows.gap(q)).max(axis=-1, initial=0.0)
        wrong = np.flatnonzero(gaps > MET * max(1.0, rows.loops.size))
    if len(wrong) and not project:
        name, size, unit = rows.loops.remaining(rows.gap(q[wrong[0]]))
        raise ArgumentError(
            f"q0 of member {wrong[0]} of {system.owner} leaves constraint '{name}' open by {size:.4g} {unit}.",
            expected="configurations in which all loops are closed",
            hint="project=True, or ap.motion.assemble(robot, q0)",
        )
    q = q.copy()
    for k in wrong:
        q[k] = assemble_loops(rows.loops, q[k])
    return q


def _cast(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """The array in another kind of number, still without copies of what is the same in all steps."""
    if array.ndim > 1 and array.strides[1] == 0 and array.shape[1] > 1:
        return np.broadcast_to(array[:, :1].astype(kind), array.shape)
    return array.astype(kind, copy=False)
