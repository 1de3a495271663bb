"""A rollout as a plan: one kernel for one system, one method, one law and one cost, called on any number of motions.

    plan = Rollout(dyn, law=law, cost=cost, final_cost=last)
    records = plan(q0, v0, torque, steps=100, dt=1e-2)
    plan.gradient(q0, v0, torque, steps=100, dt=1e-2).torque       by all torques: `gradients`
    plan.change(q0, v0, torque, along={"torque": du}, ...).cost    along directions: `changes`

The kernel is traced when the plan is made and compiled when it is first called; steps, dt and all arrays may change
from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.marching.march import March
from appell.display.bar import Bar
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.motion.records import Records
from appell.simulation.contact import Contact
from appell.simulation.rollouts.arguments import kind_of
from appell.simulation.rollouts.changes import Change, change_of, dual_march
from appell.simulation.rollouts.contacts.impulses import SWEEPS, Impulses
from appell.simulation.rollouts.contacts.penalty import DEPTH, Penalty
from appell.simulation.rollouts.formula import StepFormula
from appell.simulation.rollouts.gradients import CostGradient, adjoint_march, gradient_of
from appell.simulation.rollouts.laws import law_of
from appell.simulation.rollouts.results import Results
from appell.simulation.rollouts.schemes import IN_LOOPS
from appell.simulation.rollouts.stability import check_damping, check_springs, check_turns
from appell.simulation.rollouts.task import RolloutTask, task_of
from appell.simulation.rollouts.tracing import called, name_of, scalar_of
from appell.simulation.start import dynamics_of


class Rollout:
    """The kernel of a rollout; for what it takes see `rollout`. It pickles as what it was made from."""

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
        contacts: Contact | Iterable[Contact] | None = None,
        stops: float | Mapping[str, float] | None = None,
        depth: float = DEPTH,
        stiffness: float | None = None,
        sweeps: int = SWEEPS,
        wrenches: Mapping[str, Any] | None = None,
    ):
        self._made_from = {name: value for name, value in locals().items() if name != "self"}
        self.dyn = dyn = dynamics_of(dyn, wrenches, "rollout")
        self.method = _method(method)
        self.law = law_of(law, reference, memory, period)
        for name, function in {"cost": cost, "final_cost": final_cost}.items():
            if not (function is None or callable(function)):
                raise ArgumentError(f"{name} is {function!r}.", expected="a function over traced scalars, or None")
        self.final_cost = final_cost
        touching: Penalty | Impulses | None = None
        dry = bool(dyn.equations_with(*_any(dyn)).dry_drives)
        self._kicks = dry or contacts is not None or stops is not None
        if method == "moreau":
            if dyn.system.prescribed:
                raise ArgumentError(
                    f"moreau does not follow prescribed motions, and {dyn.system.owner} has some.",
                    expected=f"method {', '.join(name for name in IN_LOOPS if name != 'moreau')}",
                )
            touching = Impulses(dyn, contacts, stops, sweeps=sweeps)
        elif self._kicks:
            touching = Penalty(dyn, contacts, stops, depth=depth, stiffness=stiffness)
        self.formula = StepFormula(dyn, method, self.law, cost, saturate, touching)
        self.march: March = self.formula.march()

    def __repr__(self) -> str:
        law = f", law '{self.law.name}'" if self.law else ""
        return f"<Rollout of {self.dyn.system.owner} by {self.method}{law}>"

    def __reduce__(self):
        return _made, (self._made_from,)

    @property
    def costs(self) -> bool:
        return self.formula.cost is not None or self.final_cost is not None

    @cached_property
    def last_cost(self) -> Function:
        """The final cost as a function of q and v."""
        system, cost = self.dyn.system, self.final_cost
        assert cost is not None
        what = f"final_cost '{name_of(cost)}'"

        def body(q, v):
            return {"cost": scalar_of(called(cost, what, q, v), what)}

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
        run = Results(self, task.as_kind(kind), energy)
        try:
            with Bar("rollout", steps * dt, "s", enabled=progress) as bar:
                run.march(threads, bar)
        except KeyboardInterrupt as error:
            error.records = run.records()  # type: ignore[attr-defined]
            error.add_note(f"{run.rows} rows were done; `records` of this exception are what there is of them.")
            raise
        if check and "residual" in run.found:
            check_turns(run.found["residual"], run.found["v"])
        return run.records()

    def gradient(
        self,
        q0: Any = None,
        v0: Any = None,
        torque: Any = None,
        steps: int = 1000,
        dt: float = 1e-3,
        *,
        threads: int | None = None,
        **arrays: Any,
    ) -> CostGradient:
        """The cost and its gradient by all torques, by q0, v0 and parameters, backwards; arrays are those of a call."""
        return gradient_of(self, task_of(self, q0, v0, torque, steps, dt, **arrays), threads)

    def change(
        self,
        q0: Any = None,
        v0: Any = None,
        torque: Any = None,
        steps: int = 1000,
        dt: float = 1e-3,
        *,
        along: Mapping[str, Any],
        threads: int | None = None,
        **arrays: Any,
    ) -> Change:
        """The end and its change along directions of q0 (as velocities), v0, torque, parameters; (members, ...) each.

        Directions have the shapes that the arrays themselves may have; those that are not named are zero.
        """
        return change_of(self, task_of(self, q0, v0, torque, steps, dt, **arrays), along, threads)

    @cached_property
    def adjoint(self) -> March:
        """The kernel of `gradient`."""
        return adjoint_march(self)

    @cached_property
    def dual(self) -> March:
        """The kernel of `change`."""
        return dual_march(self)

    def _check_step(self, task: RolloutTask) -> None:
        """Warn of damping and contacts that are too stiff for the step; impulses are not, whatever they stop."""
        touching = self.formula.touching
        if isinstance(touching, Impulses) and self._kicks:
            return
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


def _made(options: dict[str, Any]) -> Rollout:
    return Rollout(**options)


def _method(name: Any) -> str:
    if name not in IN_LOOPS:
        raise ArgumentError(unknown_name("method", str(name), IN_LOOPS, "rollout"))
    return name


def _any(dyn: Dynamics) -> tuple[list[float], list[float]]:
    """Numbers for what the equations leave open."""
    return [0.0] * 10 * len(dyn.free_bodies), [0.0] * 3 * len(dyn.system.prescribed)
