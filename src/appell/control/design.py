"""A controller on paper: a law, the model it trusts, its gains, period and limits; and one step of it as arithmetic.

    τ* = law(q, v, reference, ∫e)                                     laws.py                                  (1)
    τ  = clamp(clamp(τ*, ±limit), τ⁻ ± rate T)                                                                 (2)
    ∫e grows by T e unless τ* lies beyond τ on the side to which e pushes, and never beyond its own limit      (3)

(3) is the anti-windup; what the actuators of a parallel robot lack is judged along its coordinates. The torque is held
for a period T, so the model is best asked about the middle of it:

    q̃ = q + εT v + ½(εT)² u          ṽ = v + εT u                     ε = `ahead`, ½ for a held output          (4)

A stop replaces u, whatever the law: the arm is braked in every joint alike, its weight is carried, and

    u = -(Ks + κ) v - Ks κ (q - q_s)         q_s = q + v / Ks at its beginning, given as q_d                   (5)

From there u = -Ks v leads to q_s; what else pushes is held against, with the second pole at -κ.

The model's rotors, viscous friction and offsets count at the measured motion. Its dry friction is fed forward at the
velocity that is wanted, smoothly through zero: at the measured one it would chatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import Scalar, clamp, select
from appell.control.axes import PerAxis, controllable, led, per_axis
from appell.control.friction_parts import FrictionParts
from appell.control.gains import Gains
from appell.control.laws import feedback, find_law
from appell.control.rollout_laws import design_law
from appell.errors import ArgumentError, Hint
from appell.model.system import System
from appell.simulation.rollouts.laws import KernelLaw

if TYPE_CHECKING:
    from appell.compile.c.source import CSource

SLOW = 0.02  # rad/s or m/s; a model's friction goes through zero over this much velocity


@dataclass(frozen=True)
class ControlStep:
    """What one step gives, torques at the actuators, the integral along the coordinates."""

    tau: list[Scalar]
    integral: list[Scalar]
    demand: list[Scalar]  # τ*, before limits


@dataclass(frozen=True)
class Design:
    """A law for a robot, checked as a whole before anything is compiled; `law` may be given by name.

    Gains and the integral are along coordinates, torques at actuators; on an arm both are its joints.
    """

    model: System
    gains: Gains
    law: Any = "tracking"  # a Law, or the name of one
    period: float = 1e-3
    torque_limit: PerAxis = 1e6
    torque_rate: PerAxis = 1e9  # per second
    integral_limit: PerAxis = 1e6
    ahead: float = 0.5
    stop_damping: float = 25.0  # Ks, 1/s
    stop_holding: float = 10.0  # κ, 1/s

    def __post_init__(self):
        set_field = object.__setattr__
        controllable(self.model)
        set_field(self, "law", find_law(self.law) if isinstance(self.law, str) else self.law)
        set_field(self, "gains", self.gains.of(self.model))
        checked_period(self.period)
        limits = {"torque_limit": "actuator", "torque_rate": "actuator", "integral_limit": "coordinate"}
        for name, axis in limits.items():
            set_field(self, name, per_axis(self.model, axis, name, getattr(self, name), least=0.0, above=True))
        if not 0.0 <= self.ahead <= 2.0:
            raise ArgumentError(f"the model looks {self.ahead:g} periods ahead.", expected="0 to 2; a half is best")
        if not 0.0 < self.stop_damping * self.period < 1.0:
            raise ArgumentError(
                f"a stop with damping {self.stop_damping:g}/s does not suit a period of {self.period:g} s.",
                expected="0 < damping × period < 1",
            )
        integrates = any(self.gains.ki)
        if integrates and not self.law.integral:
            raise ArgumentError(
                f"law '{self.law.name}' has no integral action, but gain ki is given.",
                hint=Hint("{law}", law="tracking-integral"),
            )
        if self.law.integral and not integrates:
            raise ArgumentError(f"law '{self.law.name}' integrates, but gain ki is zero.", expected="ki > 0")
        if not any(self.gains.kp):
            raise ArgumentError(
                "gain kp is zero for all joints.", expected="kp > 0: nothing would hold the arm in place"
            )

    def kernel_law(self, reference: Any) -> KernelLaw:
        """This law for `ap.rollout(..., law=design, reference=path)`."""
        return design_law(self, reference)

    @cached_property
    def parts(self) -> FrictionParts:
        """The model's equations."""
        return FrictionParts(self.model)

    def step(
        self,
        q: Sequence,
        v: Sequence,
        reference: Sequence[Sequence],
        integral: Sequence,
        before: Sequence,
        stopping: Scalar = 0.0,
    ) -> ControlStep:
        """(1) to (5) over abstract scalars."""
        demand = self._demand(q, v, reference, integral, stopping)
        tau, total = [], []
        rows = zip(demand, before, self.torque_limit, self.torque_rate, strict=True)
        for wanted, last, limit, rate in rows:
            swing = rate * self.period
            tau.append(clamp(clamp(wanted, -limit, limit), last - swing, last + swing))  # (2)
        missing = [given - wanted for given, wanted in zip(tau, demand, strict=True)]
        missing = self.parts.equations.along_coordinates(q, missing)
        errors = zip(self._led(q), reference[0], integral, missing, self.integral_limit, strict=True)
        for position, target, sum_, lack, limit in errors:
            error = position - target
            pushes = lack * error  # > 0 where the error asks for more than there is
            grown = clamp(sum_ + self.period * error, -limit, limit)
            total.append(select(stopping, sum_, select(pushes, sum_, grown)))  # (3)
        return ControlStep(tau, total, demand)

    def to_c(self, name: str | None = None, *, dtype: Any = np.float64) -> CSource:
        """One step and its state as C99, with the bits of `Controller`: `design.to_c("arm_control").write("here")`."""
        from appell.control.controller import control_code

        return control_code(self, name, dtype)

    def _demand(self, q, v, reference, integral, stopping: Scalar) -> list[Scalar]:
        law, equations = self.law, self.parts.equations
        damping, stiffness = self.stop_damping + self.stop_holding, self.stop_damping * self.stop_holding
        rows = zip(self._led(q), v, reference[0], strict=True)
        brake = [-damping * rate - stiffness * (x - stand) for x, rate, stand in rows]  # (5)
        given = feedback(law, self.gains, self._led(q), v, reference, integral)
        if law.model == "motion":
            dry = self._friction_ahead(q, reference[1])
            u = [select(stopping, slow, fast) for slow, fast in zip(brake, given, strict=True)]
            lead = self.ahead * self.period
            moved = zip(q, equations.rate(q, v), equations.rate(q, u), strict=True)
            q = [x + lead * rate + 0.5 * lead * lead * acc for x, rate, acc in moved]  # (4)
            v = [rate + lead * acc for rate, acc in zip(v, u, strict=True)]
            tau = equations.tau(q, v, u, {})
            return [force + select(stopping, 0.0, extra) for force, extra in zip(tau, dry, strict=True)]
        carries = law.model == "gravity"
        still = [select(stopping, rate, 0.0) for rate in v]
        model = equations.tau(q, still, [select(stopping, acc, 0.0) for acc in brake], {})
        pushed = [row[0] for row in equations.at_actuators(q, [[force] for force in given])]
        return [
            (force if carries else select(stopping, force, 0.0)) + select(stopping, 0.0, extra)
            for force, extra in zip(model, pushed, strict=True)
        ]

    def _led(self, q) -> list[Scalar]:
        """The coordinates that are led."""
        return [q[k] for k in led(self.model)]

    def _friction_ahead(self, q, v_wanted) -> list[Scalar]:
        """The actuators' part against the dry friction of the motion to come."""
        equations, dry = self.parts.equations, self.parts.dry
        if not self.parts.sticks:
            return [0.0] * self.model.nu
        rates = equations.drive_rates(q, v_wanted)
        ahead = [replace(own, width=own.width or SLOW).force(rate) for own, rate in zip(dry, rates, strict=True)]
        return equations.drives_at_actuators(q, ahead)


def checked_period(period: float) -> float:
    if not (np.isfinite(period) and period > 0.0):
        raise ArgumentError(f"the period is {period!r} s.", expected="a positive number, such as 0.001")
    return float(period)
