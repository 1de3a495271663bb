"""A rollout as a plan: one kernel for one system, one method, one law and one cost, called on any number of motions.

    plan = Rollout(dyn, law=law, cost=cost, final_cost=last)
    records = plan(q0, v0, torque, steps=100, dt=1e-2)
    plan.gradient(q0, v0, torque, steps=100, dt=1e-2).torque       by all torques: `gradients`
    plan.change(q0, v0, torque, along={"torque": du}, ...).cost    along directions: `changes`

The kernel is traced when the plan is made and compiled when it is first called; steps, dt and all arrays may change
from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.marching.march import March
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.motion.names import record_names, record_units
from appell.motion.records import Records
from appell.simulation.progress import Bar
from appell.simulation.rollouts.arguments import kind_of
from appell.simulation.rollouts.chunks import march_on
from appell.simulation.rollouts.contacts.impulses import SWEEPS, Impulses
from appell.simulation.rollouts.contacts.penalty import DEPTH, Penalty
from appell.simulation.rollouts.formula import StepFormula
from appell.simulation.rollouts.laws import law_of
from appell.simulation.rollouts.schemes import IN_LOOPS
from appell.simulation.rollouts.stability import check_damping, check_springs
from appell.simulation.rollouts.task import Task, task_of
from appell.simulation.rollouts.tracing import called, name_of, scalar_of
from appell.simulation.start import dynamics_of


class Rollout:
    """The kernel of a rollout; for what it takes see `rollout`."""

    def __init__(
        self,
        dyn: Dynamics | System,
        *,
        method: str = "rk4",
        law: Any = None,
        reference: Any = None,
        memory: Any = None,
        period: float | None = None,
        cost: Callable | None = None,
        final_cost: Callable | None = None,
        saturate: bool = False,
        contacts: Any = None,
        stops: Any = None,
        depth: float = DEPTH,
        stiffness: float | None = None,
        sweeps: int = SWEEPS,
        wrenches: Mapping[str, Any] | None = None,
    ):
        self.dyn = dyn = dynamics_of(dyn, wrenches, "rollout")
        self.method = _method(method)
        self.law = law_of(law, reference, memory, period)
        for name, function in {"cost": cost, "final_cost": final_cost}.items():
            if not (function is None or callable(function)):
                raise ArgumentError(f"{name} is {function!r}.", expected="a function over traced scalars, or None")
        self.final_cost = final_cost
        touching: Penalty | Impulses | None = None
        if method == "moreau":
            if dyn.system.prescribed:
                raise ArgumentError(
                    f"moreau does not follow prescribed motions, and {dyn.system.owner} has some.",
                    expected=f"method {', '.join(name for name in IN_LOOPS if name != 'moreau')}",
                )
            touching = Impulses(dyn, contacts, stops, sweeps=sweeps)
        elif contacts is not None or stops is not None or dyn.equations_with(*_any(dyn)).dry_drives:
            touching = Penalty(dyn, contacts, stops, depth=depth, stiffness=stiffness)
        self.formula = StepFormula(dyn, method, self.law, cost, saturate, touching)
        self.march: March = self.formula.march()

    def __repr__(self) -> str:
        law = f", law '{self.law.name}'" if self.law else ""
        return f"<Rollout of {self.dyn.system.owner} by {self.method}{law}>"

    @property
    def costs(self) -> bool:
        return self.formula.cost is not None or self.final_cost is not None

    @cached_property
    def last_cost(self) -> Function:
        """The final cost as a function of q and v."""
        system, what = self.dyn.system, f"final_cost '{name_of(self.final_cost)}'" if self.final_cost else ""

        def body(q, v):
            return {"cost": scalar_of(called(self.final_cost, what, q, v), what)}

        return Function.of("final_cost", {"q": system.nq, "v": system.nv}, body, "The final cost.", system.owner)

    # ---- running

    def __call__(
        self,
        q0: Any = None,
        v0: Any = None,
        torque: Any = None,
        steps: int = 1000,
        dt: float = 1e-3,
        *,
        every: int = 1,
        parameters: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
        start: float = 0.0,
        project: bool = False,
        energy: bool = False,
        threads: int | None = None,
        dtype: Any = float,
        progress: bool | None = None,
        check: bool = True,
    ) -> Records:
        """The motions of all members; see `rollout`."""
        kind = kind_of(dtype)
        arrays = {"parameters": parameters, "wrenches": wrenches, "prescribed": prescribed}
        task = task_of(self, q0, v0, torque, steps, dt, every, start=start, project=project, **arrays)
        if check:
            self._check_step(task)
        run = _Run(self, task.as_kind(kind), energy)
        try:
            with Bar(0.0, steps * dt, progress, label="rollout") as bar:
                run.march(threads, bar)
        except KeyboardInterrupt as error:
            error.records = run.records()  # type: ignore[attr-defined]
            error.add_note(f"{run.rows} rows were done; `records` of this exception are what there is of them.")
            raise
        return run.records()

    def _check_step(self, task: Task) -> None:
        """Warn of damping and contacts that are too stiff for the step."""
        touching = self.formula.touching
        finite = np.ones(task.members, bool)
        for array in task.carried.values():
            finite &= np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if finite.any():
            first = task.member(int(np.argmax(finite)))

            def velocity(v: np.ndarray, h: float) -> np.ndarray:
                carried = {**first.carried, "v": v}
                given = [*carried.values(), *({**first.held, "dt": np.array([h])}).values()]
                return self.march(*given, *(array[:, :1] for array in first.driven.values()))[1][:, 0]

            period = self.law.period if self.law else None
            check_damping(velocity, first.carried["v"][0], self.method, task.dt, period, self.dyn.system.velocity_names)
        if isinstance(touching, Penalty):
            check_springs(touching.fastest, self.method, task.dt)


@dataclass
class _Run:
    """One call of a plan: results as they are filled, row 0 being the start."""

    plan: Rollout
    task: Task
    energy: bool
    rows: int = 0

    def __post_init__(self):
        task, march, kind = self.task, self.plan.march, self.task.kind
        shape = (task.members, task.steps // task.every + 1)
        try:
            self.found = {array.name: np.empty((*shape, *array.shape), kind) for array in march.outputs}
        except MemoryError:
            size = sum(array.size for array in march.outputs) * shape[0] * shape[1] * kind.itemsize
            raise ArgumentError(
                f"the results of {shape[0]} members and {shape[1]} rows take {size / 1e9:.3g} GB, more than there is.",
                hint="every=..., fewer members at a time, dtype='float32'",
            ) from None
        for name, array in task.carried.items():
            self.found[name][:, 0] = array

    def march(self, threads: int | None, bar: Bar) -> None:
        task, march = self.task, self.plan.march
        carried = [np.broadcast_to(array, self.found[name][:, 0].shape) for name, array in task.carried.items()]
        noted = [array.name for array in march.outputs if array.name not in task.carried]
        first = {name: array[:, :1] for name, array in task.driven.items()}
        results = march(*carried, *task.held.values(), *first.values(), threads=threads)
        for array, result in zip(march.outputs, results, strict=True):
            if array.name in noted:
                self.found[array.name][:, :1] = result

        def told(rows: int) -> None:
            self.rows = rows + 1
            bar(rows * task.every * task.dt)

        out = [self.found[array.name][:, 1:] for array in march.outputs]
        march_on(march, carried, list(task.held.values()), task.driven, out, task.every, threads, told)

    def records(self) -> Records:
        plan, task, system = self.plan, self.task, self.plan.dyn.system
        blocks = {name: array[:, : self.rows] for name, array in self.found.items() if name != "held"}
        q, v = blocks["q"], blocks["v"]
        if self.energy:
            given = [array[:, None] for name, array in task.held.items() if name == "parameters"]
            blocks["energy"] = np.add(*plan.dyn.energy(q, v, *given))
        cost = None
        if plan.costs and self.rows:
            cost = blocks["cost"][:, -1].astype(float) if "cost" in blocks else np.zeros(task.members)
            if plan.final_cost is not None:
                cost = cost + plan.last_cost(q[:, -1], v[:, -1])
        names: dict[str, tuple[str, ...]] = dict(record_names(system))
        if plan.law is not None:
            names["memory"] = tuple(f"{k + 1}" for k in range(plan.law.memory))
        if "impulse" in blocks and isinstance(plan.formula.touching, Impulses):
            names["impulse"] = tuple(plan.formula.touching.facings.names)
        about: dict[str, Any] = {"robot": system.name, "method": plan.method, "dt": task.dt, "every": task.every}
        if plan.law is not None:
            about["law"] = plan.law.name
        t = task.start + task.dt * task.every * np.arange(self.rows)
        return Records(t, blocks, names, record_units(system), about, cost, dynamics=plan.dyn)


def _method(name: Any) -> str:
    if name not in IN_LOOPS:
        raise ArgumentError(unknown_name("method", str(name), IN_LOOPS, "rollout"))
    return name


def _any(dyn: Dynamics) -> tuple[list[float], list[float]]:
    """Numbers for what the equations leave open."""
    return [0.0] * 10 * len(dyn.free_bodies), [0.0] * 3 * len(dyn.system.prescribed)
