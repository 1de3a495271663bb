"""The formula of one step of a rollout: what acts, where it leads, what it costs; a kernel repeats it.

    tau   = cut(law(t, q, v, memory) + torque)            cut at what actuators give, if that is asked for           (1)
    q, v  = scheme(q, v)                                  `schemes`, under tau, wrenches, and what contacts do       (2)
    cost  = cost + dt c(t, q, v, tau)                     at the beginning of the step                               (3)

Carried from step to step are q, v and, where there are some, the memory of the law, the torque that it holds, and the
cost. The same in all steps are dt and the parameters of free bodies. Given for every step are its time, the torques,
and, where there are some, wrenches, motions that are prescribed (at the beginning, the middle and the end of the step),
whether a period of the law begins, and what the law is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.scalar import Scalar, Vector, clamp, dot, select, sqrt
from appell.compile.scan import Scan
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations, Wrenches
from appell.simulation.rollouts.contacts.impulses import Impulses, input_power, moreau_step
from appell.simulation.rollouts.contacts.penalty import Penalty
from appell.simulation.rollouts.laws import KernelLaw
from appell.simulation.rollouts.schemes import IN_LOOPS, SCHEMES, Stepped
from appell.simulation.rollouts.tracing import called, name_of, scalar_of


class StepFormula:
    """(1) to (3) of a system, over abstract scalars; `march` is the kernel.

    `touching` are contacts, stops and dry friction: as forces for any scheme, or as the impulses of Moreau's step.
    """

    def __init__(
        self,
        dyn: Dynamics,
        method: str = "rk4",
        law: KernelLaw | None = None,
        cost: Callable | None = None,
        saturate: bool = False,
        touching: Penalty | Impulses | None = None,
    ):
        self.touching = touching
        self.dyn, self.system, self.method, self.law, self.cost = dyn, dyn.system, method, law, cost
        self.looped = "forward_dynamics" in dyn.looped
        limits = [actuator.torque_limit for actuator in dyn.system.actuators]
        self.limits = [limit if saturate and np.isfinite(limit) else None for limit in limits]
        self.ticks = law is not None and law.period is not None
        self._loops: Loops = UNROLLED
        self._known: tuple[Any, Any, Any] = (None, None, None)

    @property
    def _rolled(self) -> bool:
        """Whether the equations run loops of their own: over links, or sweeps."""
        return self.looped or isinstance(self.touching, Impulses)

    # ---- what a step is given

    @property
    def carried(self) -> dict[str, Any]:
        law, system = self.law, self.system
        found: dict[str, Any] = {"q": system.nq, "v": system.nv}
        if law is not None and law.memory:
            found["memory"] = law.memory
        if self.ticks:
            found["held"] = system.nu
        return found | ({"cost": ()} if self.cost else {})

    @property
    def held(self) -> dict[str, Any]:
        free = self.dyn.free_bodies
        return {"dt": ()} | ({"parameters": 10 * len(free)} if free else {})

    @property
    def driven(self) -> dict[str, Any]:
        found: dict[str, Any] = {"t": (), "torque": self.system.nu}
        if self.dyn.wrenches:
            found["wrenches"] = 6 * len(self.dyn.wrenches)
        if self.system.prescribed:
            found["prescribed"] = (3, 3 * len(self.system.prescribed))
        if self.ticks:
            found["tick"] = ()
        if self.law is not None and self.law.told:
            found["told"] = self.law.told
        return found

    def march(self) -> Scan:
        """The kernel."""
        parts = self.carried, self.held, self.driven
        names = [name for part in parts for name in part]
        in_loops = self.looped or IN_LOOPS[self.method]  # sweeps of impulses are loops too

        def body(*inputs):
            self._loops = inputs[-1] if in_loops else UNROLLED
            try:
                return self.step(dict(zip(names, inputs, strict=False)))
            finally:  # what was traced is the kernel's, and does not travel with the formula
                self._loops, self._known = UNROLLED, (None, None, None)

        doc = f"A step of a rollout by {self.method}."
        return Scan.of("rollout", *parts, body, owner=self.system.owner, doc=doc, loops=in_loops)

    # ---- the step

    def step(self, given: dict[str, Any]) -> dict[str, Any]:
        q, v, t, dt = given["q"], given["v"], given["t"], given["dt"]
        asked, found = self._asked(given)
        u = [x + y for x, y in zip(asked, given["torque"], strict=True)]
        if self.law is not None and self.law.continuous:
            tau = self._cut([x + y for x, y in zip(self._law(t, q, v), u, strict=True)])
            around = [t, dt, *u]
        else:
            tau = self._cut(u)
            around = [t, dt, *tau]
        around += [*given.get("wrenches", ()), *given.get("parameters", ())]
        around += [x for row in given.get("prescribed", ()) for x in row]
        after, noted = self._moved(around, q, v)
        found |= {"q": self._kept(around, after.q), "v": after.v}
        if self.cost is not None:
            what = f"cost '{name_of(self.cost)}'"
            found["cost"] = given["cost"] + dt * scalar_of(
                called(self.cost, what, t, list(q), list(v), list(tau)), what
            )
        return found | {"tau": tau} | noted

    def _moved(self, around: Vector, q: Vector, v: Vector) -> tuple[Stepped, dict[str, Any]]:
        """(2), and what there is to be noted of it."""
        if isinstance(self.touching, Impulses):
            return self._kicked(self.touching, around, q, v)
        loops = self._loops if IN_LOOPS[self.method] and not self.looped else UNROLLED
        after = SCHEMES[self.method](loops, self, around, q, v)
        return after, {} if after.residual is None else {"residual": after.residual}

    def _kicked(self, impulses: Impulses, around: Vector, q: Vector, v: Vector) -> tuple[Stepped, dict[str, Any]]:
        equations = self._equations(around, 0.5)

        def power(q: Vector, v: Vector) -> Scalar:
            total = input_power(equations, q, v, self._tau(around, 0.5, q, v))
            for frame, wrench in self._wrenches(around).items():
                total = total + dot(wrench, equations.velocity(frame, equations.reference, q, v))
            return total

        def kept(q: Vector) -> list[Scalar]:
            return self._kept(around, q)

        def acceleration(q: Vector, v: Vector) -> list[Scalar]:
            return self.acceleration(around, 0.5, q, v)

        end, kick = moreau_step(equations, impulses, q, v, around[1], acceleration, power, kept, around[0])
        noted = {"impulse": [pushes[0] for pushes in kick.walls]} if kick.walls else {}
        return Stepped(end, kick.v), noted

    def _law(self, t: Scalar, q: Vector, v: Vector, memory: Vector = (), told: Vector = ()) -> list[Scalar]:
        assert self.law is not None
        return self.law(t, q, v, memory, told, self.system.actuator_names)[0]

    def _asked(self, given: dict[str, Any]) -> tuple[list[Scalar], dict[str, Any]]:
        """The torque that a law holds through the step, and what it remembers; nothing of a continuous one."""
        law = self.law
        if law is None or law.continuous:
            return [0.0] * self.system.nu, {}
        memory = given.get("memory", [])
        tau, kept = law(given["t"], given["q"], given["v"], memory, given.get("told", []), self.system.actuator_names)
        if self.ticks:
            tick = given["tick"]
            tau = [select(tick, new, old) for new, old in zip(tau, given["held"], strict=True)]
            kept = [select(tick, new, old) for new, old in zip(kept, memory, strict=True)]
        return tau, ({"memory": kept} if law.memory else {}) | ({"held": tau} if self.ticks else {})

    def _cut(self, tau: Sequence[Scalar]) -> list[Scalar]:
        return [x if limit is None else clamp(x, -limit, limit) for x, limit in zip(tau, self.limits, strict=True)]

    def _kept(self, around: Vector, q: Vector) -> list[Scalar]:
        """The configuration that is meant by one that a step has led to."""
        q = list(q)
        for span in self.system.quaternions:
            length = sqrt(sum((x * x for x in q[span]), start=0.0))
            q[span] = [x / length for x in q[span]]
        return self._equations(around, 1.0).closed(q)

    # ---- its slopes, as schemes ask for them

    def rate(self, around: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        return self._equations(around, c).rate(q, v)

    def acceleration(self, around: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        equations, tau, wrenches = self._equations(around, c), self._tau(around, c, q, v), self._wrenches(around)
        if isinstance(self.touching, Penalty):
            return self.touching.acceleration(equations, q, v, tau, wrenches, around[0] + c * around[1])
        directions = self.touching.directions(equations) if self.touching else None
        return equations.acceleration(q, v, tau, wrenches, directions)

    def _tau(self, around: Vector, c: Scalar, q: Vector, v: Vector) -> list[Scalar]:
        tau = list(around[2 : 2 + self.system.nu])
        if self.law is None or not self.law.continuous:
            return tau
        asked = self._law(around[0] + c * around[1], q, v)
        return self._cut([x + y for x, y in zip(asked, tau, strict=True)])

    def _wrenches(self, around: Vector) -> Wrenches:
        names, first = self.dyn.wrenches, 2 + self.system.nu
        return {
            self.system.frame(name): list(around[first + 6 * k : first + 6 * k + 6]) for k, name in enumerate(names)
        }

    def _equations(self, around: Vector, c: Scalar) -> Equations:
        """The equations with what is around the state; the same object while that is the same."""
        known, part, equations = self._known
        if known is not around or part is not c:
            free, motions = 10 * len(self.dyn.free_bodies), 3 * len(self.system.prescribed)
            rest = list(around[2 + self.system.nu + 6 * len(self.dyn.wrenches) :])
            samples = [rest[free + k * motions :][:motions] for k in range(3)] if motions else []
            equations = self.dyn.equations_with(rest[:free], _between(samples, c))
            equations = equations.run_by(self._loops) if self._rolled else equations
            self._known = (around, c, equations)
        return equations


def _between(samples: Sequence[Vector], c: Scalar) -> list[Scalar]:
    """What is prescribed at part c of a step: the parabola through its beginning, its middle and its end."""
    weights = (1.0 - c) * (1.0 - 2.0 * c), 4.0 * c * (1.0 - c), c * (2.0 * c - 1.0)
    return [sum((w * x for w, x in zip(weights, row, strict=True)), start=0.0) for row in zip(*samples, strict=True)]
