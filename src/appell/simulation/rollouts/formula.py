"""The formula of one step of a rollout, which the kernel repeats: torques, motion and cost.

    tau   = clip(law(t, q, v, memory) + torque)           clipped to the torque limits if saturated                  (1)
    q, v  = scheme(q, v)                                  `schemes`, under tau, wrenches and contacts                (2)
    cost  = cost + dt c(t, q, v, tau)                     at the start of the step                                   (3)

Carried from step to step: q, v and, if present, the memory of the law, the torque that it holds, and the cost. Held
constant: dt, the parameters of free bodies, and the arguments of law and cost, such as the weights of a policy. Driven,
one value per step: its time, the torques and, if present, wrenches, prescribed motions (at the start, the middle and
the end of the step), whether a period of the law starts, and the signal of the law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Scalar, Vector, dot, select, sqrt
from appell.compile.scan import Scan
from appell.compile.tape.traced_array import traced_array
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations, Wrenches
from appell.simulation.rollouts.contacts.impulses import Impulses, input_power, moreau_step
from appell.simulation.rollouts.contacts.penalty import Penalty
from appell.simulation.rollouts.laws import NO_ARGUMENTS, KernelLaw, keyword_names
from appell.simulation.rollouts.schemes import IN_LOOPS, SCHEMES, Stepped
from appell.simulation.rollouts.tracing import called, name_of, scalar_of

CLOSING_STEPS = 2  # of Newton's method after a move along the tangent: errors of order |ξ|⁸ remain


class StepFormula:
    """Equations (1) to (3) of a system over abstract scalars; `scan` makes the kernel.

    `contact` models contacts, stops and dry friction: as forces for any scheme, or as impulses for Moreau's step.
    """

    def __init__(
        self,
        dyn: Dynamics,
        method: str = "rk4",
        law: KernelLaw | None = None,
        cost: Callable | None = None,
        saturate: bool = False,
        contact: Penalty | Impulses | None = None,
        arguments: Mapping[str, tuple[int, ...]] = NO_ARGUMENTS,
    ):
        self.contact, self.arguments = contact, arguments
        self._used = {what: keyword_names(function) for what, function in (("law", law and law.source), ("cost", cost))}
        self.dyn, self.system, self.method, self.law, self.cost = dyn, dyn.system, method, law, cost
        self.looped = "forward_dynamics" in dyn.looped
        self.saturate = saturate
        self.falling = saturate and any(actuator.no_load_speed is not None for actuator in dyn.system.actuators)
        self.ticks = law is not None and law.period is not None
        self._loops: Loops = UNROLLED
        self._cached: tuple[Any, Any, Any] = (None, None, None)  # inputs, part of the step, equations with them

    @property
    def _rolled(self) -> bool:
        """Whether the equations contain loops: over links, or over sweeps."""
        return self.looped or isinstance(self.contact, Impulses)

    # ---- inputs of a step, by name with their shapes

    @cached_property
    def carried(self) -> dict[str, Any]:
        """Inputs that are results of the step before."""
        law, system = self.law, self.system
        shapes: dict[str, Any] = {"q": system.nq, "v": system.nv}
        if law is not None and law.memory:
            shapes["memory"] = law.memory
        if self.ticks:
            shapes["held"] = system.nu
        return shapes | ({"cost": ()} if self.cost else {})

    @cached_property
    def held(self) -> dict[str, Any]:
        """Inputs that are the same in all steps."""
        free = self.dyn.free_bodies
        sizes = {name: prod(shape) for name, shape in self.arguments.items()}
        return {"dt": ()} | ({"parameters": 10 * len(free)} if free else {}) | sizes

    @cached_property
    def driven(self) -> dict[str, Any]:
        """Inputs with one value per step."""
        shapes: dict[str, Any] = {"t": (), "torque": self.system.nu}
        if self.dyn.wrenches:
            shapes["wrenches"] = 6 * len(self.dyn.wrenches)
        if self.system.prescribed:
            shapes["prescribed"] = (3, 3 * len(self.system.prescribed))
        if self.ticks:
            shapes["tick"] = ()
        if self.law is not None and self.law.signal_size:
            shapes["signal"] = self.law.signal_size
        return shapes

    def scan(self) -> Scan:
        """Return the kernel."""
        parts = self.carried, self.held, self.driven
        names = [name for part in parts for name in part]
        in_loops = (
            self.looped or IN_LOOPS[self.method] or (self.law is not None and self.law.looped)
        )  # sweeps of impulses are loops too

        def body(*scalars):
            self._loops = scalars[-1] if in_loops else UNROLLED
            try:
                lists = (x.tolist() if isinstance(x, np.ndarray) else x for x in scalars)
                return self.step(dict(zip(names, lists, strict=False)))
            finally:  # traced objects belong to this kernel and must not stay in the formula
                self._loops, self._cached = UNROLLED, (None, None, None)

        doc = f"A step of a rollout by {self.method}."
        return Scan.of("rollout", *parts, body, owner=self.system.owner, doc=doc, loops=in_loops)

    # ---- the step

    def step(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the results of a step by name, from its inputs by name."""
        q, v, t, dt = given["q"], given["v"], given["t"], given["dt"]
        law_torque, results = self._held_torque(given)
        u = [x + y for x, y in zip(law_torque, given["torque"], strict=True)]
        if self.law is not None and self.law.continuous:
            law_torque = self.law(t, q, v, (), (), self.system.actuator_names, self._given("law", given))[0]
            tau = self._clip([x + y for x, y in zip(law_torque, u, strict=True)], q, v)
            inputs = [t, dt, *u]
        else:
            tau = self._clip(u, q, v)
            inputs = [t, dt, *(u if self.falling else tau)]
        inputs += [*given.get("wrenches", ()), *given.get("parameters", ())]
        inputs += [x for row in given.get("prescribed", ()) for x in row]
        inputs += [x for name in self._continuous for x in given[name]]
        after, noted = self._state_after(inputs, q, v)
        results |= {"q": self._projected(inputs, after.q), "v": after.v}
        if self.cost is not None:
            what = f"cost '{name_of(self.cost)}'"
            function = partial(self.cost, **self._given("cost", given))
            rate = called(function, what, t, *map(traced_array, (q, v, tau)), source=self.cost)
            results["cost"] = given["cost"] + dt * scalar_of(rate, what)
        return results | {"tau": tau} | noted

    def _given(self, what: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a user's function, by name."""
        return {name: traced_array(values[name]).reshape(self.arguments[name]) for name in self._used[what]}

    @property
    def _continuous(self) -> list[str]:
        """Arguments of a law that is evaluated in every stage of a step."""
        return self._used["law"] if self.law is not None and self.law.continuous else []

    def _state_after(self, inputs: Vector, q: Vector, v: Vector) -> tuple[Stepped, dict[str, Any]]:
        """Return the state of (2), and further results for the records: residuals or impulses."""
        if isinstance(self.contact, Impulses):
            return self._impulse_step(self.contact, inputs, q, v)
        loops = self._loops if IN_LOOPS[self.method] and not self.looped else UNROLLED
        after = SCHEMES[self.method](loops, self, inputs, q, v)
        return after, {} if after.residual is None else {"residual": after.residual}

    def _impulse_step(self, impulses: Impulses, inputs: Vector, q: Vector, v: Vector) -> tuple[Stepped, dict[str, Any]]:
        equations = self._equations(inputs, 0.5)

        def power(q: Vector, v: Vector) -> Scalar:
            total = input_power(equations, q, v, self._tau(inputs, 0.5, q, v))
            for frame, wrench in self._wrenches(inputs).items():
                total = total + dot(wrench, equations.velocity(frame, equations.reference, q, v))
            return total

        def projected(q: Vector) -> list[Scalar]:
            return self._projected(inputs, q)

        def acceleration(q: Vector, v: Vector) -> list[Scalar]:
            return self.acceleration(inputs, 0.5, q, v)

        feedback = self.law is not None and self.law.continuous
        end, response = moreau_step(
            equations, impulses, q, v, inputs[1], acceleration, power, projected, inputs[0], feedback
        )
        noted = {"impulse": [pair[0] for pair in response.walls]} if response.walls else {}
        return Stepped(end, response.v), noted

    def _held_torque(self, given: dict[str, Any]) -> tuple[list[Scalar], dict[str, Any]]:
        """Return the torque that a sampled law holds through the step, and its memory; zero for a continuous law."""
        law = self.law
        if law is None or law.continuous:
            return [0.0] * self.system.nu, {}
        memory, signal = given.get("memory", []), given.get("signal", [])
        state, named = (given["t"], given["q"], given["v"], memory, signal), self._given("law", given)
        named |= {"loops": self._loops} if law.looped else {}
        tau, remembered = law(*state, self.system.actuator_names, named)
        if self.ticks:
            tick = given["tick"]
            tau = [select(tick, new, old) for new, old in zip(tau, given["held"], strict=True)]
            remembered = [select(tick, new, old) for new, old in zip(remembered, memory, strict=True)]
        return tau, ({"memory": remembered} if law.memory else {}) | ({"held": tau} if self.ticks else {})

    def _clip(self, tau: Sequence[Scalar], q: Vector, v: Vector) -> list[Scalar]:
        if not self.saturate:
            return list(tau)
        rates = self.dyn.equations.actuator_rates(q, v) if self.falling else [0.0] * len(tau)
        rows = zip(self.system.actuators, tau, rates, strict=True)
        return [actuator.limited(x, rate, actuator.torque_limit) for actuator, x, rate in rows]

    def _projected(self, inputs: Vector, q: Vector) -> list[Scalar]:
        """Return the result of a step with unit quaternions and closed loops."""
        q = list(q)
        for span in self.system.quaternions:
            length = sqrt(sum((x * x for x in q[span]), start=0.0))
            q[span] = [x / length for x in q[span]]
        for _ in range(CLOSING_STEPS):
            q = self._equations(inputs, 1.0).closed(q)
        return q

    # ---- derivatives of the state (`schemes.Slopes`)

    def rate(self, inputs: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        """Return q̇ at part c of the step."""
        return self._equations(inputs, c).rate(q, v)

    def acceleration(self, inputs: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        """Return v̇ at part c of the step."""
        equations, tau, wrenches = self._equations(inputs, c), self._tau(inputs, c, q, v), self._wrenches(inputs)
        if isinstance(self.contact, Penalty):
            return self.contact.acceleration(equations, q, v, tau, wrenches, inputs[0] + c * inputs[1])
        directions = self.contact.directions(equations) if self.contact else None
        return equations.acceleration(q, v, tau, wrenches, directions)

    def _tau(self, inputs: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        tau = list(inputs[2 : 2 + self.system.nu])
        if self.law is None or not self.law.continuous:
            return self._clip(tau, q, v) if self.falling else tau
        values, end = {}, len(inputs)
        for name in reversed(self._continuous):
            start = end - prod(self.arguments[name])
            values[name], end = list(inputs[start:end]), start
        time, named = inputs[0] + c * inputs[1], self._given("law", values)
        law_torque = self.law(time, q, v, (), (), self.system.actuator_names, named)[0]
        return self._clip([x + y for x, y in zip(law_torque, tau, strict=True)], q, v)

    def _wrenches(self, inputs: Vector) -> Wrenches:
        names, first = self.dyn.wrenches, 2 + self.system.nu
        return {
            self.system.frame(name): list(inputs[first + 6 * k : first + 6 * k + 6]) for k, name in enumerate(names)
        }

    def _equations(self, inputs: Vector, c: Scalar) -> Equations:
        """Return the equations with these inputs at part c of the step; cached while both are the same."""
        cached, part, equations = self._cached
        if cached is not inputs or part is not c:
            free, motions = 10 * len(self.dyn.free_bodies), 3 * len(self.system.prescribed)
            rest = list(inputs[2 + self.system.nu + 6 * len(self.dyn.wrenches) :])
            samples = [rest[free + k * motions :][:motions] for k in range(3)] if motions else []
            equations = self.dyn.equations_with(rest[:free], _between(samples, c))
            equations = equations.run_by(self._loops) if self._rolled else equations
            self._cached = (inputs, c, equations)
        return equations


def _between(samples: Sequence[Vector], c: Scalar) -> list[Scalar]:
    """Return the prescribed motions at part c of a step: the parabola through its start, middle and end."""
    weights = (1.0 - c) * (1.0 - 2.0 * c), 4.0 * c * (1.0 - c), c * (2.0 * c - 1.0)
    return [sum((w * x for w, x in zip(weights, row, strict=True)), start=0.0) for row in zip(*samples, strict=True)]
