"""The arrays of one call of a rollout, checked before any work is done, with an axis of members and one of steps.

    q0, v0        (n,) for all members, or (members, n)
    torque        None, (nu,), (steps, nu), (members, nu), (members, steps, nu); so are wrenches, with 6 for nu
    parameters    (10 per free body,), or (members, 10 per free body)

Two axes are (steps, n) if the first is as long as the steps, even if there are as many members; (members, 1, n) says
the other. A start, or a row of one member alone, that is not finite makes that member not a number, and no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.formulate.constrained.assembling import assemble_loops
from appell.kinematics.assembly import ConstraintRows
from appell.model.joints import unit_quaternion
from appell.model.robot import ConstrainedRobot
from appell.model.system import System
from appell.simulation.inputs import PrescribedMotions
from appell.simulation.options import number_of_steps, step_length
from appell.simulation.states import MET

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
            hint="project=True, or ap.kinematics.assemble(robot, q0)",
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


def per_member(what: str, given: Any, size: int, owner: str) -> np.ndarray:
    """(1 or members, size)."""
    found = _numbers(what, given, f"({size},) or (members, {size}) for {owner}")
    if found.ndim not in (1, 2) or found.shape[-1] != size:
        raise ArgumentError(f"{what} has shape {found.shape}.", expected=f"({size},) or (members, {size}) for {owner}")
    if found.ndim == 1 and not np.isfinite(found).all():
        raise ArgumentError(
            f"{what} holds a value that is not finite: {found}.", expected="finite numbers, as all members have them"
        )
    return found.reshape(-1, size)


def over_time(what: str, given: Any, names: Sequence[str], steps: int, owner: str) -> np.ndarray:
    """(1 or members, 1 or steps, size)."""
    size = len(names)
    shapes = ", ".join(f"({lead}{size})" for lead in ("", f"{steps}, ", "members, ", f"members, {steps}, "))
    expected = f"None, or an array {shapes} for {owner}: {', '.join(names)}"
    if given is None:
        return np.zeros((1, 1, size))
    found = _numbers(what, given, expected)
    if not 1 <= found.ndim <= 3 or found.shape[-1] != size:
        raise ArgumentError(f"{what} has shape {found.shape}.", expected=expected)
    if found.ndim == 2:
        found = found[None] if len(found) == steps else found[:, None]
    found = found.reshape(-1, *found.shape[-2:]) if found.ndim == 3 else found.reshape(1, 1, size)
    if found.shape[1] not in (1, steps):
        raise ArgumentError(f"{what} has {found.shape[1]} steps, and the rollout {steps}.", expected=expected)
    if len(found) == 1 and not np.isfinite(found).all():
        bad = np.argwhere(~np.isfinite(found))[0]
        raise ArgumentError(
            f"{what} of '{names[bad[2]]}' is not finite{f' in step {bad[1]}' if found.shape[1] > 1 else ''}.",
            expected="finite numbers, as all members have them",
        )
    return found


def common(arrays: Mapping[str, np.ndarray]) -> int:
    """The number of members that all arrays agree on; each is for one of them, or for all."""
    counts = {name: len(array) for name, array in arrays.items() if len(array) != 1}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ArgumentError(f"the arrays differ in their number of members: {told}.", expected="one number, or 1")
    return next(iter(counts.values()), 1)


def unit_quaternions(system: System, q: np.ndarray) -> np.ndarray:
    """Configurations with quaternions of unit length; what has no direction becomes not a number."""
    q = q.copy()
    for span in system.quaternions:
        with np.errstate(invalid="ignore", divide="ignore"):
            q[:, span] = unit_quaternion(q[:, span])
    return q


def wrench_rows(
    dyn_wrenches: Sequence[str], given: Mapping[str, Any] | None, steps: int, owner: str
) -> np.ndarray | None:
    """Six numbers for every frame of the Dynamics, (1 or members, 1 or steps, 6 frames); None if there are none."""
    told = {} if given is None else given
    if not isinstance(told, Mapping) or {*told} != {*dyn_wrenches}:
        listed = ", ".join(dyn_wrenches) or "none"
        raise ArgumentError(
            f"wrenches are given on {', '.join(map(str, told)) or 'nothing'}.",
            expected=f"a mapping with the frames of the Dynamics of {owner}: {listed}",
            hint=f"Dynamics(robot, wrenches={[*told]!r})" if told else "wrenches={frame: six numbers (force, moment)}",
        )
    if not dyn_wrenches:
        return None
    rows = [
        over_time(f"the wrench on {name}", told[name], ("fx", "fy", "fz", "mx", "my", "mz"), steps, owner)
        for name in dyn_wrenches
    ]
    shape = np.broadcast_shapes(*(row.shape for row in rows))
    return np.concatenate([np.broadcast_to(row, shape) for row in rows], axis=2)


def _numbers(what: str, given: Any, expected: str) -> np.ndarray:
    try:
        found = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is no array of numbers.", expected=expected) from None
    if 0 in found.shape[:-1]:
        raise ArgumentError(f"{what} has shape {found.shape}: there are no members.", expected=expected)
    return found
