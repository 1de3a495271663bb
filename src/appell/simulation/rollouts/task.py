"""The arrays of one call of a rollout, checked and brought to a common form with axes of members and steps.

    q0, v0        (n,) for all members, or (members, n)
    torque        None, (nu,), (steps, nu), (members, nu), (members, steps, nu); so are wrenches, with 6 for nu
    parameters    (10 per free body,), or (members, 10 per free body)

Two axes are (steps, n) if the first is as long as the number of steps, also if there are as many members;
(members, 1, n) is unambiguous. A non-finite number that belongs to one member makes only that member NaN; one that is
shared by all members is an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, check_number, value_text
from appell.formulate.constrained.assembly import assemble_loops
from appell.kinematics.assembly import ConstraintRows
from appell.model.joints import unit_quaternion
from appell.model.system import System
from appell.simulation.inputs import COMPONENTS, PrescribedMotions
from appell.simulation.options import checked_step_length, checked_steps
from appell.simulation.rollouts.laws import NO_ARGUMENTS
from appell.simulation.states import CLOSURE_TOLERANCE

if TYPE_CHECKING:
    from appell.simulation.rollouts.plan import Rollout

PERIOD_TOLERANCE = 1e-9  # relative: a period this close to an integer number of steps is accepted


@dataclass(frozen=True)
class RolloutTask:
    """The arrays of a call in the order of the kernel.

    `carried` from step to step and `held` constant: (1 or members, ...); `driven`, given per step: (1 or members,
    steps, ...).
    """

    members: int
    steps: int
    every: int
    dt: float
    start: float
    carried: dict[str, np.ndarray]
    held: dict[str, np.ndarray]
    driven: dict[str, np.ndarray]

    @property
    def dtype(self) -> np.dtype:
        return self.carried["q"].dtype

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return self.carried | self.held | self.driven

    def as_type(self, dtype: np.dtype) -> RolloutTask:
        """Return the task with all arrays as float64 or float32."""
        parts = (
            {name: _cast(array, dtype) for name, array in part.items()}
            for part in (self.carried, self.held, self.driven)
        )
        carried, held, driven = parts
        return replace(self, carried=carried, held=held, driven=driven)

    def member(self, k: int) -> RolloutTask:
        """Return the task of one member."""
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
    arguments: Mapping[str, Any] = NO_ARGUMENTS,
    wrenches: Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Any] | None = None,
    start: float = 0.0,
    project: bool = False,
) -> RolloutTask:
    """Return the checked arrays of a call; raise `ArgumentError` that names the one that is wrong.

    The parameters are those of `Rollout.__call__`; `every` is the number of steps between two rows.
    """
    dyn, law, formula, system = plan.dyn, plan.law, plan.formula, plan.dyn.system
    owner, steps, dt = system.owner, checked_steps("steps", steps), checked_step_length(dt)
    every = checked_steps("every", every)
    check_number("start", start)
    if steps % every:
        raise ArgumentError(f"every is {every} and steps is {steps}.", expected="a value of every that divides steps")
    motions = PrescribedMotions(system, prescribed, start)
    q = per_member("q0", system.start if q0 is None else q0, system.nq, owner)
    q = closed_starts(plan, unit_quaternions(system, q), motions(start), project)
    carried = {"q": q, "v": per_member("v0", np.zeros(system.nv) if v0 is None else v0, system.nv, owner)}
    t = start + dt * np.arange(steps)
    driven = {"t": t[None], "torque": over_time("torque", torque, system.actuator_names, steps, owner)}
    wrench_array = wrench_rows(dyn.wrenches, wrenches, steps, owner)
    if wrench_array is not None:
        driven["wrenches"] = wrench_array
    if motions:
        samples = np.array([[motions(x + c * dt) for c in (0.0, 0.5, 1.0)] for x in t])
        driven["prescribed"] = samples[None]
    held = {"dt": np.array([dt])}
    if "parameters" in formula.held:
        if parameters is None:
            raise ArgumentError(
                f"no parameters are given for the free bodies of {owner}: {', '.join(dyn.free_bodies)}.",
                expected=f"parameters=, ({formula.held['parameters']},) or one row per member",
            )
        held["parameters"] = per_member("parameters", parameters, formula.held["parameters"], owner)
    elif parameters is not None:
        raise ArgumentError(
            f"parameters are given, but {owner} has no free bodies.",
            hint="Use robot.with_free(names), or no parameters.",
        )
    if {*arguments} != {*plan.arguments}:
        raise ArgumentError(
            f"arguments are given for {', '.join(map(str, arguments)) or 'nothing'}.",
            expected=", ".join(f"{name} {shape}" for name, shape in plan.arguments.items()) or "no arguments",
        )
    for name, shape in plan.arguments.items():
        held[name] = flat_per_member(f"argument '{name}'", arguments[name], shape)
    if law is not None:
        if law.memory:
            carried["memory"] = np.array(law.start, float).reshape(-1, law.memory)
        if law.period is not None:
            ticks = law.period / dt
            if ticks < 1.0 - PERIOD_TOLERANCE or abs(ticks - round(ticks)) > PERIOD_TOLERANCE * ticks:
                raise ArgumentError(
                    f"law '{law.name}' has a period of {law.period:g} s, which is {ticks:.9g} steps of {dt:g} s.",
                    expected="an integer number of steps",
                )
            carried["held"] = np.zeros((1, system.nu))
            driven["tick"] = (np.arange(steps) % round(ticks) == 0).astype(float)[None]
        if law.signal_size:
            assert law.signal is not None
            signal = np.asarray(law.signal(t), float)
            driven["signal"] = signal.reshape(-1, steps, law.signal_size)
    if "cost" in formula.carried:
        carried["cost"] = np.zeros(1)
    members = member_count(carried | held | driven)
    driven = {
        name: x if x.shape[1] == steps else np.broadcast_to(x, (len(x), steps, *x.shape[2:]))
        for name, x in driven.items()
    }
    return RolloutTask(members, steps, every, dt, float(start), carried, held, driven)


def closed_starts(plan: Rollout, q: np.ndarray, prescribed: np.ndarray, project: bool) -> np.ndarray:
    """Return initial configurations with closed loops, (members, nq).

    Open loops of a constrained robot are closed if `project` is true; otherwise the first one is an error.
    """
    system = plan.dyn.system
    if not system.is_constrained:
        return q
    rows = ConstraintRows(plan.dyn, prescribed if len(prescribed) else None)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(rows.gap(q)).max(axis=-1, initial=0.0)
        open_members = np.flatnonzero(gaps > CLOSURE_TOLERANCE * max(1.0, rows.loops.size))
    if len(open_members) and not project:
        name, size, unit = rows.loops.widest_gap(rows.gap(q[open_members[0]]))
        raise ArgumentError(
            f"q0 of member {open_members[0]} of {system.owner} leaves constraint '{name}' open by {size:.4g} {unit}.",
            expected="configurations in which all loops are closed",
            hint="Pass project=True, or use ap.kinematics.assemble(robot, q0).",
        )
    q = q.copy()
    for k in open_members:
        q[k] = assemble_loops(rows.loops, q[k])
    return q


def _cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the array in another type; an array that is constant over the steps stays one row in memory."""
    if array.ndim > 1 and array.strides[1] == 0 and array.shape[1] > 1:
        return np.broadcast_to(array[:, :1].astype(dtype), array.shape)
    return array.astype(dtype, copy=False)


def per_member(what: str, given: Any, size: int, owner: str) -> np.ndarray:
    """Return an array (1 or members, size); `what` starts the messages of errors."""
    array = _numbers(what, given, f"({size},) or (members, {size}) for {owner}")
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise ArgumentError(f"{what} has shape {array.shape}.", expected=f"({size},) or (members, {size}) for {owner}")
    if array.ndim == 1 and not np.isfinite(array).all():
        raise ArgumentError(
            f"{what} contains a value that is not finite: {array}.",
            expected="finite numbers, because all members share them",
        )
    return array.reshape(-1, size)


def flat_per_member(what: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a shape, or one per member, as (1 or members, number of elements)."""
    size, expected = math.prod(shape), f"{shape} or {('members', *shape)}".replace("'", "")
    array = _numbers(what, given, expected)
    if array.shape != shape and array.shape[1:] != shape:
        raise ArgumentError(f"{what} has shape {array.shape}.", expected=expected)
    return per_member(what, array.reshape(size if array.shape == shape else (-1, size)), size, "the rollout")


def over_time(what: str, given: Any, names: Sequence[str], steps: int, owner: str) -> np.ndarray:
    """Return an array (1 or members, 1 or steps, size); None is zero. `names` are those of its last axis."""
    size = len(names)
    shapes = ", ".join(f"({lead}{size})" for lead in ("", f"{steps}, ", "members, ", f"members, {steps}, "))
    expected = f"None, or an array {shapes} for {owner}: {', '.join(names)}"
    if given is None:
        return np.zeros((1, 1, size))
    array = _numbers(what, given, expected)
    if not 1 <= array.ndim <= 3 or array.shape[-1] != size:
        raise ArgumentError(f"{what} has shape {array.shape}.", expected=expected)
    if array.ndim == 2:
        array = array[None] if len(array) == steps else array[:, None]
    array = array.reshape(-1, *array.shape[-2:]) if array.ndim == 3 else array.reshape(1, 1, size)
    if array.shape[1] not in (1, steps):
        raise ArgumentError(f"{what} has {array.shape[1]} steps, but the rollout has {steps}.", expected=expected)
    if len(array) == 1 and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        raise ArgumentError(
            f"{what} of '{names[bad[2]]}' is not finite{f' in step {bad[1]}' if array.shape[1] > 1 else ''}.",
            expected="finite numbers, because all members share them",
        )
    return array


def member_count(arrays: Mapping[str, np.ndarray]) -> int:
    """Return the common number of members; arrays of length 1 are shared by all members."""
    counts = {name: len(array) for name, array in arrays.items() if len(array) != 1}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ArgumentError(
            f"the arrays differ in their number of members: {listed}.", expected="the same number of members, or 1"
        )
    return next(iter(counts.values()), 1)


def unit_quaternions(system: System, q: np.ndarray) -> np.ndarray:
    """Return configurations with unit quaternions; a zero quaternion becomes NaN."""
    q = q.copy()
    for span in system.quaternions:
        with np.errstate(invalid="ignore", divide="ignore"):
            q[:, span] = unit_quaternion(q[:, span])
    return q


def wrench_rows(
    dyn_wrenches: Sequence[str], given: Mapping[str, Any] | None, steps: int, owner: str
) -> np.ndarray | None:
    """Return the wrenches on all frames of the Dynamics, (1 or members, 1 or steps, 6 frames), or None if none."""
    wrenches = {} if given is None else given
    if not isinstance(wrenches, Mapping):
        raise ArgumentError(f"wrenches is {value_text(given)}.", expected="a mapping from frames to arrays, or None")
    if {*wrenches} != {*dyn_wrenches}:
        listed = ", ".join(dyn_wrenches) or "none"
        raise ArgumentError(
            f"wrenches are given on {', '.join(map(str, wrenches)) or 'no frame'}.",
            expected=f"a mapping with the frames of the Dynamics of {owner}: {listed}",
            hint=f"Use Dynamics(robot, wrenches={[*wrenches]!r})."
            if wrenches
            else "Pass wrenches={frame: six numbers (force, moment)}.",
        )
    if not dyn_wrenches:
        return None
    rows = [over_time(f"the wrench on {name}", wrenches[name], COMPONENTS, steps, owner) for name in dyn_wrenches]
    shape = np.broadcast_shapes(*(row.shape for row in rows))
    return np.concatenate([np.broadcast_to(row, shape) for row in rows], axis=2)


def _numbers(what: str, given: Any, expected: str) -> np.ndarray:
    try:
        array = np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{what} is not an array of numbers.", expected=expected) from None
    if 0 in array.shape[:-1]:
        raise ArgumentError(f"{what} has shape {array.shape}: there are no members.", expected=expected)
    return array
