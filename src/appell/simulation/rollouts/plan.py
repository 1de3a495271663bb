"""A rollout as a plan: one kernel for one system, one method, one law and one cost, called on any number of motions.

    plan = Rollout(dyn, law=law, cost=cost, final_cost=last)
    records = plan(q0, v0, torque, steps=100, dt=1e-2)
    plan.gradient(q0, v0, torque, steps=100, dt=1e-2).torque       by all torques: `derivatives`
    plan.change(q0, v0, torque, along={"torque": du}, ...).cost    along directions

The kernel is traced when the plan is made and compiled when it is first called; steps, dt and all arrays may change
from call to call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.scan import Scan
from appell.dynamics import Dynamics
from appell.dynamics.moving import moving_dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.motion.records import Records
from appell.progress import Bar
from appell.simulation.contact.contact import Contact
from appell.simulation.inputs import wrench_frames
from appell.simulation.options import ImpulseContacts, Output, SpringContacts, kind_of
from appell.simulation.rollouts.contacts.impulses import Impulses
from appell.simulation.rollouts.contacts.penalty import Penalty
from appell.simulation.rollouts.derivatives import (
    Change,
    CostGradient,
    adjoint_march,
    change_of,
    dual_march,
    gradient_of,
)
from appell.simulation.rollouts.formula import StepFormula
from appell.simulation.rollouts.laws import law_of
from appell.simulation.rollouts.results import Results
from appell.simulation.rollouts.schemes import IN_LOOPS
from appell.simulation.rollouts.stability import check_damping, check_springs, check_turns
from appell.simulation.rollouts.task import RolloutTask, task_of
from appell.simulation.rollouts.tracing import called, name_of, scalar_of


class Rollout:
    """The kernel of a rollout; for what it takes see `rollout`. It pickles as what it was made from."""

    def __init__(
        self,
        dyn: Dynamics | System,
        *,
        method: str = "rk4",
        law: Any = None,
        reference: Any = None,
        cost: Callable | None = None,
        final_cost: Callable | None = None,
        saturate: bool = False,
        contacts: Contact | Iterable[Contact] | None = None,
        stops: float | Mapping[str, float] | None = None,
        contact_model: SpringContacts | ImpulseContacts | None = None,
        wrenches: Mapping[str, Any] | None = None,
        friction: bool | None = None,
        rotors: bool | None = None,
    ):
        self._made_from = {name: value for name, value in locals().items() if name != "self"}
        self.dyn = dyn = moving_dynamics(
            dyn, "rollout", friction=friction, rotors=rotors, wrenches=wrench_frames(wrenches)
        )
        self.method = _method(method)
        self.law = law_of(law, reference)
        for name, function in {"cost": cost, "final_cost": final_cost}.items():
            if not (function is None or callable(function)):
                raise ArgumentError(f"{name} is {function!r}.", expected="a function over traced scalars, or None")
        self.final_cost = final_cost
        dry = bool(dyn.equations_with(*_any(dyn)).dry_drives)
        self._kicks = dry or contacts is not None or stops is not None
        model = _contact_model(contact_model, self.method, self._kicks, contacts is not None)
        touching: Penalty | Impulses | None = None
        if isinstance(model, ImpulseContacts):
            if dyn.system.prescribed:
                raise ArgumentError(
                    f"moreau does not follow prescribed motions, and {dyn.system.owner} has some.",
                    expected=f"method {', '.join(name for name in IN_LOOPS if name != 'moreau')}",
                )
            touching = Impulses(dyn, contacts, stops, model)
        elif self._kicks:
            touching = Penalty(dyn, contacts, stops, model)
        self.formula = StepFormula(dyn, method, self.law, cost, saturate, touching)
        self.march: Scan = self.formula.march()

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
        parameters: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
        start: float = 0.0,
        project: bool = False,
        output: Output = Output(),  # noqa: B008 - frozen
        threads: int | None = None,
        progress: bool | None = None,
        check: bool = True,
    ) -> Records:
        """The motions of all members; see `rollout`."""
        if not isinstance(output, Output):
            raise ArgumentError(f"output is {output!r}.", expected="Output(every=..., energy=..., dtype=...)")
        arrays = {"parameters": parameters, "wrenches": wrenches, "prescribed": prescribed}
        task = task_of(self, q0, v0, torque, steps, dt, output.every, start=start, project=project, **arrays)
        if check:
            self._check_step(task)
        run = Results(self, task.as_kind(kind_of(output.dtype)), output.energy)
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
        parameters: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
        start: float = 0.0,
        project: bool = False,
        threads: int | None = None,
    ) -> CostGradient:
        """The cost and its gradient by all torques, by q0, v0 and parameters, backwards; arrays are those of a call."""
        arrays = {"parameters": parameters, "wrenches": wrenches, "prescribed": prescribed}
        task = task_of(self, q0, v0, torque, steps, dt, start=start, project=project, **arrays)
        return gradient_of(self, task, threads)

    def change(
        self,
        q0: Any = None,
        v0: Any = None,
        torque: Any = None,
        steps: int = 1000,
        dt: float = 1e-3,
        *,
        along: Mapping[str, Any],
        parameters: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
        start: float = 0.0,
        project: bool = False,
        threads: int | None = None,
    ) -> Change:
        """The end and its change along directions of q0 (as velocities), v0, torque, parameters; (members, ...) each.

        Directions have the shapes that the arrays themselves may have; those that are not named are zero.
        """
        arrays = {"parameters": parameters, "wrenches": wrenches, "prescribed": prescribed}
        task = task_of(self, q0, v0, torque, steps, dt, start=start, project=project, **arrays)
        return change_of(self, task, along, threads)

    @cached_property
    def adjoint(self) -> Scan:
        """The kernel of `gradient`."""
        return adjoint_march(self)

    @cached_property
    def dual(self) -> Scan:
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


def _contact_model(given: Any, method: str, kicks: bool, walls: bool) -> SpringContacts | ImpulseContacts:
    """Return the contact model of a method; one that has no effect, or belongs to another method, is refused."""
    own = ImpulseContacts if method == "moreau" else SpringContacts
    if given is None:
        return own()
    if not isinstance(given, own):
        what = type(given).__name__ if isinstance(given, SpringContacts | ImpulseContacts) else repr(given)
        raise ArgumentError(
            f"contact_model is {what}, which method '{method}' does not take.",
            expected=f"{own.__name__}(...)",
        )
    if not kicks:
        raise ArgumentError(
            f"contact_model={own.__name__}(...) has no effect: there are no contacts, stops or dry friction."
        )
    if isinstance(given, SpringContacts) and given.stiffness is not None and not walls:
        raise ArgumentError(
            "stiffness of SpringContacts has no effect: it is that of walls, and there are no contacts.", hint="depth="
        )
    return given


def _any(dyn: Dynamics) -> tuple[list[float], list[float]]:
    """Numbers for what the equations leave open."""
    return [0.0] * 10 * len(dyn.free_bodies), [0.0] * 3 * len(dyn.system.prescribed)


def rollout(
    dyn: Dynamics | System,
    q0: Any = None,
    v0: Any = None,
    torque: Any = None,
    steps: int = 1000,
    dt: float = 1e-3,
    *,
    method: str = "rk4",
    law: Any = None,
    reference: Any = None,
    cost: Callable | None = None,
    final_cost: Callable | None = None,
    saturate: bool = False,
    contacts: Contact | Iterable[Contact] | None = None,
    stops: float | Mapping[str, float] | None = None,
    contact_model: SpringContacts | ImpulseContacts | None = None,
    parameters: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Any] | None = None,
    start: float = 0.0,
    project: bool = False,
    output: Output = Output(),  # noqa: B008 - frozen
    threads: int | None = None,
    progress: bool | None = None,
    check: bool = True,
    friction: bool | None = None,
    rotors: bool | None = None,
) -> Records:
    """Many motions of one system, `steps` steps of `dt` seconds each, whole steps in machine code.

    `dyn` is a robot or mechanism, which moves with the friction and rotors it was described with (`friction=False` and
    `rotors=False` switch them off), or a `Dynamics`, which is used as it is. q0 (its start if None) and v0 (rest)
    are (n,) for all members or (members, n); v0 of a constrained robot are its independent velocities, and its loops
    are closed in q0, or by `project=True`.

    What acts. `torque` is None, (nu,), (steps, nu), (members, nu) or (members, steps, nu), held through each step; two
    axes are (steps, nu) if the first is as long as the steps, and (members, 1, nu) says the other. `law` is feedback
    over traced scalars, compiled into the kernel, to which `torque` is added: a function of (t, q, v), evaluated in
    every stage of a step; a `Feedback(function, memory, period)`, evaluated once per step or per period; or a design of
    `ap.control` with a `reference`, or a regulator. `saturate=True` cuts torques
    off at the limits of the actuators. `wrenches` gives for every frame of the Dynamics what `torque` is with 6 numbers
    for nu. `parameters` are the inertial parameters of free bodies, (10 a body,) or (members, 10 a body). `prescribed`
    gives motions as for `simulate`.

    How. `method` is rk4 (order 4), euler (semi-implicit, order 1), midpoint (implicit, order 2, symmetric in time: no
    drift of energy; six turns a step, see `schemes`), or moreau (order 2, contacts as impulses). `contacts` and `stops`
    are those of `simulate`, and approximate, unlike there: springs with rk4, euler and midpoint, which also round dry
    friction off; with moreau impulses, by a fixed number of sweeps. `contact_model` is a `SpringContacts` or an
    `ImpulseContacts`.

    What it costs. `cost(t, q, v, tau)`, traced, is summed up as Σ dt cost at the beginnings of steps; to this comes
    `final_cost(q, v)` at the end. `records["cost"]` is the sum so far, `records.cost` all of it.

    The records have q, v and tau at t = `start` and after every step; `Output(every=10, energy=True)` asks for every
    tenth step and for the energy, `Output(dtype="float32")` for single precision. tau is what acted in the step before
    a row (a continuous law's at its beginning); in the first row, in the first step. A member that starts with a number
    that is not finite, or whose motion diverges, is NaN from there on; `records.finished` says which members are not.
    `threads` is for this call what `ap.set_threads` is for all. A bar shows progress on a terminal; Ctrl-C raises
    KeyboardInterrupt with the rows so far as its attribute `records`. With `check` (the default) a `StepWarning` says
    if damping or contacts are too stiff for the step. For repeated calls make a `Rollout` once: it keeps the kernel.
    """
    plan = Rollout(
        dyn,
        method=method,
        law=law,
        reference=reference,
        cost=cost,
        final_cost=final_cost,
        saturate=saturate,
        contacts=contacts,
        stops=stops,
        contact_model=contact_model,
        wrenches=wrenches,
        friction=friction,
        rotors=rotors,
    )
    return plan(
        q0,
        v0,
        torque,
        steps,
        dt,
        parameters=parameters,
        wrenches=wrenches,
        prescribed=prescribed,
        start=start,
        project=project,
        output=output,
        threads=threads,
        progress=progress,
        check=check,
    )
