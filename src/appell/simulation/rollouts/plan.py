"""A rollout as a plan: one kernel for one system, method, control law and cost, called for any number of motions.

    plan = Rollout(dyn, law=law, cost=cost, final_cost=last)
    records = plan(q0, v0, torque, steps=100, dt=1e-2)
    plan.gradient(q0, v0, torque, steps=100, dt=1e-2).torque       with respect to all torques; see `derivatives`
    plan.change(q0, v0, torque, along={"torque": du}, ...).dcost   along given directions

The kernel is traced when the plan is constructed and compiled at the first call; steps, dt and all arrays may differ
between calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.scan import Scan
from appell.dynamics import Dynamics
from appell.dynamics.elastic import spring_mode
from appell.dynamics.moving import moving_dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.robot import refuse_immobile
from appell.model.system import System
from appell.motion.records import Records
from appell.motion.titles import record_names, record_units
from appell.progress import Bar
from appell.simulation.contact.contact import BodyContact, Contact
from appell.simulation.flexible import check_sampling
from appell.simulation.inputs import wrench_frames
from appell.simulation.options import ImpulseContacts, Output, SpringContacts, float_type
from appell.simulation.rollouts.contacts.impulses import Impulses
from appell.simulation.rollouts.contacts.joint_damping import friction_decay
from appell.simulation.rollouts.contacts.penalty import Penalty
from appell.simulation.rollouts.derivatives import (
    Change,
    CostGradient,
    adjoint_scan,
    change_of,
    gradient_of,
    tangent_scan,
)
from appell.simulation.rollouts.formula import StepFormula
from appell.simulation.rollouts.laws import NO_ARGUMENTS, KernelLaw, keyword_names, law_of
from appell.simulation.rollouts.results import Results
from appell.simulation.rollouts.schemes import IN_LOOPS
from appell.simulation.rollouts.stability import check_convergence, check_damping, check_modes, check_springs
from appell.simulation.rollouts.task import RolloutTask, task_of
from appell.simulation.rollouts.tracing import called, name_of, scalar_of

RESERVED = frozenset(("q", "v", "memory", "held", "cost", "dt", "parameters", "t", "torque", "wrenches", "prescribed"))
RESERVED |= frozenset(("tick", "signal", "tau", "residual", "impulse", "q0", "v0"))
_KEPT_PLANS: deque[tuple[Any, dict[str, Any], Rollout]] = deque(maxlen=16)  # of `rollout`: systems, options, plans


class Rollout:
    """The kernel of a rollout; see `rollout` for the parameters.

    A plan can be called, differentiated (`gradient`, `change`) and pickled; a pickle contains its arguments.

    Examples
    --------
    >>> import appell as ap
    >>> from appell.simulation import Rollout
    >>> plan = Rollout(ap.load("pendulum"), final_cost=lambda q, v: q[0] * q[0])
    >>> plan(q0=[[0.1], [0.2]], steps=100, dt=1e-2).cost.round(5)
    array([0.00593, 0.02403])
    >>> plan.gradient(q0=[[0.1], [0.2]], steps=100, dt=1e-2).torque.shape
    (2, 100, 1)
    """

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
        contacts: Contact | BodyContact | Iterable[Contact | BodyContact] | str | None = None,
        stops: float | Mapping[str, float] | None = None,
        contact_model: SpringContacts | ImpulseContacts | None = None,
        wrenches: Mapping[str, Any] | None = None,
        arguments: Mapping[str, int | tuple[int, ...]] = NO_ARGUMENTS,
        friction: bool | None = None,
        rotors: bool | None = None,
    ):
        self._arguments = {name: value for name, value in locals().items() if name != "self"}
        self.dyn = dyn = moving_dynamics(
            dyn, "rollout", friction=friction, rotors=rotors, wrenches=wrench_frames(wrenches)
        )
        refuse_immobile(dyn.system, "rollout")
        self.method = _method(method)
        self.law = law_of(law, reference)
        for name, function in {"cost": cost, "final_cost": final_cost}.items():
            if not (function is None or callable(function)):
                raise ArgumentError(f"{name} is {function!r}.", expected="a function over traced scalars, or None")
        self.final_cost = final_cost
        dry = bool(dyn.equations_with(*_zero_inputs(dyn)).dry_drives)
        self._has_contacts = dry or contacts is not None or stops is not None
        model = _contact_model(contact_model, self.method, self._has_contacts, contacts is not None)
        contact: Penalty | Impulses | None = None
        if isinstance(model, ImpulseContacts):
            if dyn.system.prescribed:
                raise ArgumentError(
                    f"method 'moreau' does not support prescribed motions, which {dyn.system.owner} has.",
                    expected=f"method {', '.join(name for name in IN_LOOPS if name != 'moreau')}",
                )
            contact = Impulses(dyn, contacts, stops, model)
        elif self._has_contacts:
            contact = Penalty(dyn, contacts, stops, model)
        self.arguments = _checked_arguments(arguments, self.law, cost, final_cost)
        self.formula = StepFormula(dyn, method, self.law, cost, saturate, contact, self.arguments)
        self.scan: Scan = self.formula.scan()
        self._stable_steps: set[float] = set()  # lengths, s, for which damping was checked

    def __repr__(self) -> str:
        law = f", law '{self.law.name}'" if self.law else ""
        return f"<Rollout of {self.dyn.system.owner} by {self.method}{law}>"

    def __reduce__(self):
        return _rebuilt, (self._arguments,)

    @property
    def has_cost(self) -> bool:
        """Whether there is a running cost or a final cost."""
        return self.formula.cost is not None or self.final_cost is not None

    @cached_property
    def last_cost(self) -> Function:
        """The final cost as a `Function` of q and v."""
        system, cost = self.dyn.system, self.final_cost
        assert cost is not None
        what = f"final_cost '{name_of(cost)}'"

        shapes = {name: self.arguments[name] for name in keyword_names(cost)}

        def body(q, v, *values):
            named = dict(zip(shapes, values, strict=True))
            return {"cost": scalar_of(called(partial(cost, **named), what, q, v, source=cost), what)}

        inputs = {"q": system.nq, "v": system.nv} | shapes
        return Function.of("final_cost", inputs, body, "The final cost.", system.owner)

    @cached_property
    def titles(self) -> dict[str, tuple[str, ...]]:
        """Names of the columns of the records, by quantity."""
        names = dict(record_names(self.dyn.system))
        if self.law is not None:
            names["memory"] = tuple(f"{k + 1}" for k in range(self.law.memory))
        if isinstance(self.formula.contact, Impulses):
            names["impulse"] = self.formula.contact.walls.names
        return names

    @cached_property
    def units(self) -> dict[str, str]:
        """Units of the columns of the records, by title."""
        return record_units(self.dyn.system)

    def final_arguments(self, task: RolloutTask) -> list[np.ndarray]:
        """Return the arguments of the final cost after q and v, (1 or members, ...) each."""
        return [task.held[array.name].reshape(-1, *array.shape) for array in self.last_cost.inputs[2:]]

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
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        wrenches: Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
        start: float = 0.0,
        project: bool = False,
        output: Output = Output(),  # noqa: B008 - frozen
        threads: int | None = None,
        progress: bool | None = None,
        check: bool = True,
    ) -> Records:
        """Simulate all members and return their records; see `rollout` for the parameters."""
        if not isinstance(output, Output):
            raise ArgumentError(f"output is {output!r}.", expected="Output(every=..., energy=..., dtype=...)")
        arrays = {
            "parameters": parameters,
            "arguments": arguments,
            "wrenches": wrenches,
            "prescribed": prescribed,
        }
        task = task_of(self, q0, v0, torque, steps, dt, output.every, start=start, project=project, **arrays)
        if self.dyn.system.flexible:
            check_sampling(self.dyn, dt)
        if check:
            self.check_step(task)
        results = Results(self, task.as_type(float_type(output.dtype)), output.energy)
        try:
            with Bar("rollout", steps * dt, "s", enabled=progress) as bar:
                results.fill(threads, bar)
        except KeyboardInterrupt as error:
            error.records = results.records()  # type: ignore[attr-defined]
            error.add_note(f"{results.rows} rows were computed; attribute `records` of this exception contains them.")
            raise
        if check and "residual" in results.arrays:
            check_convergence(results.arrays["residual"], results.arrays["v"])
        return results.records()

    def gradient(
        self,
        q0: Any = None,
        v0: Any = None,
        torque: Any = None,
        steps: int = 1000,
        dt: float = 1e-3,
        *,
        parameters: Any = None,
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        wrenches: Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
        start: float = 0.0,
        project: bool = False,
        threads: int | None = None,
    ) -> CostGradient:
        """Return the cost and its gradient with respect to torques, q0, v0, parameters and arguments, by reverse mode.

        The parameters are those of a call; see `rollout`.
        """
        arrays = {
            "parameters": parameters,
            "arguments": arguments,
            "wrenches": wrenches,
            "prescribed": prescribed,
        }
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
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        wrenches: Mapping[str, Any] | None = None,
        prescribed: Mapping[str, Any] | None = None,
        start: float = 0.0,
        project: bool = False,
        threads: int | None = None,
    ) -> Change:
        """Return the final state and cost and their change along directions of the inputs, by forward mode.

        `along` maps "q0" (as velocities), "v0", "torque", "parameters" and names of arguments to directions, which may
        have the shapes of the arrays themselves; directions that are not given are zero. The other parameters are those
        of a call; see `rollout`.
        """
        arrays = {
            "parameters": parameters,
            "arguments": arguments,
            "wrenches": wrenches,
            "prescribed": prescribed,
        }
        task = task_of(self, q0, v0, torque, steps, dt, start=start, project=project, **arrays)
        return change_of(self, task, along, threads)

    @cached_property
    def adjoint(self) -> Scan:
        """The kernel of `gradient`."""
        return adjoint_scan(self)

    @cached_property
    def tangent(self) -> Scan:
        """The kernel of `change`."""
        return tangent_scan(self)

    def check_step(self, task: RolloutTask) -> None:
        """Warn if damping or contact springs are too stiff for the step; contacts as impulses never are.

        A step length that was found stable is not checked again, unless damping may depend on data of the call.
        """
        contact = self.formula.contact
        if isinstance(contact, Penalty):
            check_springs(contact.max_frequency, self.method, task.dt)
        if self.dyn.system.elastic_joints and task.dt not in self._stable_steps:
            q = task.carried["q"][0]
            if np.isfinite(q).all() and not self.dyn.system.prescribed:
                check_modes(spring_mode(self.dyn, q), task.dt, self.dyn.system.owner)
        if task.dt in self._stable_steps or (isinstance(contact, Impulses) and self._has_contacts):
            return
        finite = np.ones(task.members, bool)
        for array in task.carried.values():
            finite &= np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if finite.any():
            first = task.member(int(np.argmax(finite)))

            def velocity(v: np.ndarray, h: float) -> np.ndarray:
                carried = {**first.carried, "v": v}
                given = [*carried.values(), *({**first.held, "dt": np.array([h])}).values()]
                return self.scan(*given, *(array[:, :1] for array in first.driven.values()))[1][:, 0]

            period = self.law.period if self.law else None
            names = self.dyn.system.velocity_names
            q, v = first.carried["q"][0], first.carried["v"][0]
            implicit = friction_decay(self.dyn.equations, q.tolist()) if isinstance(contact, Impulses) else None
            stable = check_damping(velocity, v, self.method, task.dt, period, names, implicit)
            if stable and list(task.held) == ["dt"] and not (contact and len(contact.walls)):
                self._stable_steps.add(task.dt)


def _checked_arguments(
    arguments: Mapping[str, Any], law: KernelLaw | None, *costs: Callable | None
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arguments of law and costs; raise `ArgumentError` if one is not used or not declared."""
    shapes = {name: (size,) if isinstance(size, int) else tuple(size) for name, size in arguments.items()}
    functions = [function for function in (law and law.source, *costs) if function is not None]
    for function in functions:
        for name in keyword_names(function):
            if name not in shapes:
                raise ArgumentError(
                    f"parameter '{name}' of '{name_of(function)}' is not an argument of the rollout.",
                    expected=f"arguments={{'{name}': its size or shape}}",
                )
    for name, shape in shapes.items():
        if name in RESERVED:
            raise ArgumentError(f"argument '{name}' has the name of an input of rollouts.", expected="another name")
        if not prod(shape) > 0:
            raise ArgumentError(f"argument '{name}' of the rollout has shape {shape}.", expected="positive sizes")
        if all(name not in keyword_names(function) for function in functions):
            raise ArgumentError(
                f"argument '{name}' of the rollout is not used.",
                expected=f"a law or cost with the keyword-only parameter '{name}': law(t, q, v, *, {name})",
            )
    return shapes


def _rebuilt(arguments: dict[str, Any]) -> Rollout:
    return Rollout(**arguments)


def _kept_plan(dyn: Dynamics | System, **options: Any) -> Rollout:
    """Return a plan without functions of the user, whose results may change between calls, and without contacts."""
    for system, others, plan in _KEPT_PLANS:
        if system is dyn and others == options:
            return plan
    plan = Rollout(dyn, **options)
    _KEPT_PLANS.append((dyn, options, plan))
    return plan


def _method(name: Any) -> str:
    if name not in IN_LOOPS:
        raise ArgumentError(unknown_name("method", str(name), IN_LOOPS, "rollout"))
    return name


def _contact_model(given: Any, method: str, has_contacts: bool, walls: bool) -> SpringContacts | ImpulseContacts:
    """Return the contact model of a method; raise `ArgumentError` for one without effect or of another method."""
    kind = ImpulseContacts if method == "moreau" else SpringContacts
    if given is None:
        return kind()
    if not isinstance(given, kind):
        what = type(given).__name__ if isinstance(given, SpringContacts | ImpulseContacts) else repr(given)
        raise ArgumentError(
            f"contact_model is {what}, which does not belong to method '{method}'.",
            expected=f"{kind.__name__}(...)",
        )
    if not has_contacts:
        raise ArgumentError(
            f"contact_model={kind.__name__}(...) has no effect: there are no contacts, stops or dry friction."
        )
    if isinstance(given, SpringContacts) and given.stiffness is not None and not walls:
        raise ArgumentError(
            "stiffness of SpringContacts has no effect: it applies to walls, and there are no contacts.",
            hint="Set depth instead.",
        )
    return given


def _zero_inputs(dyn: Dynamics) -> tuple[list[float], list[float]]:
    """Return zeros for the parameters of free bodies and for prescribed motions."""
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
    contacts: Contact | BodyContact | Iterable[Contact | BodyContact] | str | None = None,
    stops: float | Mapping[str, float] | None = None,
    contact_model: SpringContacts | ImpulseContacts | None = None,
    parameters: Any = None,
    arguments: Mapping[str, Any] = NO_ARGUMENTS,
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
    """Simulate many motions of one system with a fixed step, in one compiled kernel.

    Members are independent motions. Contacts are approximate here, unlike in `simulate`: springs or impulses, see
    `contact_model`. For repeated calls construct a `Rollout` once; it keeps the kernel.

    Parameters
    ----------
    dyn
        A robot or mechanism, simulated with the friction and rotors of its description, or a `Dynamics`, which is used
        as it is.
    q0, v0
        Initial coordinates and velocities, (n,) for all members or (members, n). None: the start of the system, and
        zero. For a constrained robot, v0 are its independent velocities, and the loops must be closed in q0.
    torque
        Actuator forces, N m or N, held through each step: (nu,), (steps, nu), (members, nu) or (members, steps, nu).
        Two axes are (steps, nu) if the first is as long as `steps`; pass (members, 1, nu) for one row per member.
        None: zero.
    steps, dt
        Number of steps, and length of a step in s.
    method
        rk4 (order 4), euler (semi-implicit, order 1), midpoint (implicit, order 2, symmetric in time: energy does not
        drift; six iterations per step, see `schemes`), or moreau (order 2, contacts as impulses).
    law
        Feedback over traced scalars, compiled into the kernel and added to `torque`: a function of (t, q, v), evaluated
        in every stage of a step; a `Feedback(function, memory, period)`, evaluated once per step or period; or a design
        or regulator of `ap.control`.
    reference
        Reference motion of a design of `ap.control`.
    cost
        Function (t, q, v, tau) -> scalar over traced scalars; Σ dt cost is accumulated at the start of each step.
    final_cost
        Function (q, v) -> scalar over traced scalars, added at the end.
    saturate
        Whether to clip torques to the limits of the actuators.
    contacts, stops
        Walls, shapes that touch and joint stops, as in `simulate`. Spheres, capsules and boxes touch each other; these
        and cylinders touch planes (see `appell.formulate.distance.manifold`).
    contact_model
        `SpringContacts` for rk4, euler and midpoint: springs, with dry friction smoothed near rest. `ImpulseContacts`
        for moreau: impulses computed with a fixed number of sweeps, by Newton's law of restitution. None: the default
        of the method.
    parameters
        Inertial parameters of free bodies, (10 per body,) or (members, 10 per body).
    arguments
        Arrays for the keyword-only parameters of law and costs, by name, the same for all members: weights of a policy,
        gains, goals. A `Rollout` is constructed with their sizes or shapes and called with arrays, which may have one
        row per member; other values need no new kernel.
    wrenches
        For each frame of the `Dynamics`, an array like `torque` with 6 numbers (N, N m) in place of nu.
    prescribed
        Prescribed motions of constraints, as in `simulate`.
    start
        Initial time, s.
    project
        Whether to close open loops of q0.
    output
        `Output(every, energy, dtype)`: rows, energy and precision of the records.
    threads
        Number of threads for this call. None: the setting of `ap.set_threads`.
    progress
        Whether to show a progress bar. None: on a terminal only.
    check
        Whether to issue a `StepWarning` if damping or contacts are too stiff for the step.
    friction, rotors
        False: ignore the actuators' friction or rotor inertia. None: the settings of `dyn`.

    Returns
    -------
    Records
        q, v and tau at time `start` and after every step (or every `output.every` steps). tau acted during the step
        before a row (the value of a continuous law at its start); in the first row, during the first step.
        `records["cost"]` is the accumulated running cost, `records.cost` the total cost of each member. A member that
        starts with a non-finite number or diverges is NaN from there on; `records.finished` marks the others.

    Raises
    ------
    ArgumentError
        If an argument is not valid, or has no effect with the chosen method.
    KeyboardInterrupt
        On Ctrl-C; its attribute `records` contains the rows computed so far.

    Examples
    --------
    >>> import appell as ap
    >>> records = ap.rollout(ap.load("pendulum"), q0=[[0.1], [0.2], [0.3]], steps=100, dt=1e-2)
    >>> records.q.shape
    (3, 101, 1)
    >>> print(records.q[:, -1, 0].round(4))
    [-0.077  -0.155  -0.2349]
    """
    options: dict[str, Any] = {"method": method, "saturate": saturate, "friction": friction, "rotors": rotors}
    others = {
        "law": law,
        "reference": reference,
        "cost": cost,
        "final_cost": final_cost,
        "contacts": contacts,
        "stops": stops,
        "contact_model": contact_model,
        "wrenches": wrenches,
        "arguments": {name: np.shape(value) for name, value in arguments.items()} or None,
    }
    others = {name: value for name, value in others.items() if value is not None}
    plan = Rollout(dyn, **options, **others) if others else _kept_plan(dyn, **options)
    return plan(
        q0,
        v0,
        torque,
        steps,
        dt,
        parameters=parameters,
        arguments=arguments,
        wrenches=wrenches,
        prescribed=prescribed,
        start=start,
        project=project,
        output=output,
        threads=threads,
        progress=progress,
        check=check,
    )
