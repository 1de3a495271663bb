"""The whole control step of a system as one compiled function: signals in, torques, codes and alarms out.

    θ_m = (counts + ½) / resolution + offset          an encoder rounds down                                   (1)
    q⁻ = q̂ + dt v̂ + ½dt² a,  v⁻ = v̂ + dt a           q̂ = q⁻ + α Δq,  v̂ = v⁻ + β/dt Δq                         (2)
    Δq = J⁻¹ (θ_m - θ(q⁻))                            one step of Newton's method; on an arm, q_m - q⁻          (3)
    τ, ∫e = design.step(q̂, v̂, reference, …)                                                                  (4)
    code = clamp(nearest(zero + τ / torque per code), codes within the torque limit)                           (5)

(2) is the observer that makes a velocity from counts: one pole θ = exp(-bandwidth dt) twice, α = 1 - θ², β = (1 - θ)².
It is driven by the acceleration a that the law asked for. Alarms are how far a coordinate or actuator is beyond a
limit; positive means trouble. Because a sample with a signal that is not a number gives nothing but such numbers, and
torques that are not numbers make the greatest alarm one, a single comparison sees every trouble.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar, clamp, larger, largest, magnitude, nearest, select
from appell.compile.function import Function
from appell.control.axes import word
from appell.control.design import Design
from appell.errors import ArgumentError
from appell.hardware.cabinet.hardware import Blocks, signal_blocks
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.loop.supervisor import Fault, Guard

ALARMS = (
    Fault.POSITION,
    Fault.VELOCITY,
    Fault.FOLLOWING,
    Fault.POTENTIOMETER,
    Fault.TEMPERATURE,
    Fault.POWER,
    Fault.WATCHDOG,
)
FRESH, STOPPING, PERIODS = range(3)  # the switches; PERIODS: how many periods passed since the last reading
HUGE = 1e300
GAP_SMOOTHING = 0.1  # of the difference to the potentiometer, a tick


class Servo:
    """A design wired to a cabinet, compiled."""

    def __init__(self, design: Design, wiring: Wiring, guard: Guard, observer: float = 300.0):
        self.system = system = design.model
        wiring.check(system)
        self.wiring, self.guard, self.observer = wiring, guard.of(system), observer
        self.design = replace(design, torque_limit=self.guard.torque)
        self.layout = signal_blocks(wiring.n)
        n, nu = system.nq, system.nu
        self.memory = Blocks(q=n, v=n, integral=n, gap=nu, tau=nu)  # what a step hands to the next one
        if not 0.0 < observer * design.period < 5.0:
            raise ArgumentError(f"the observer's bandwidth is {observer:g}/s.", expected="0 < bandwidth × period < 5")
        self._check_torque()
        self.function = self._function()
        self.bound: Any = self.function.bind()

    def _check_torque(self) -> None:
        for name, limit, most in zip(self.wiring.names, self.guard.torque, self.wiring.reachable_torque, strict=True):
            if limit > most * (1.0 + 1e-12):
                raise ArgumentError(
                    f"the torque limit of {word(self.system, 'actuator')} '{name}' is {limit:g} Nm.",
                    expected=f"at most {most:.4g} Nm, what the drive has",
                )

    def new_bound(self) -> Any:
        """Arrays of its own, for another loop with the same servo."""
        return self.function.bind()

    def _function(self) -> Function:
        inputs = {
            "signals": self.layout.size,
            "offset": self.wiring.n,
            "reference": (3, self.system.nq),
            "memory": self.memory.size,
            "switches": 3,
        }
        return Function.of("servo_step", inputs, self._body, "One control step.", self.system.owner)

    def _body(self, signals, offset, reference, memory, switches) -> dict[str, Any]:
        design, at = self.design, self.layout.at
        q, v, integral, gap, before = self.memory.split(memory)
        fresh, stopping, dt = switches[FRESH], switches[STOPPING], switches[PERIODS] * design.period
        resolution = self.wiring.column("resolution").tolist()
        measured = [(c + 0.5) / r + o for c, r, o in zip(signals[at["counts"]], resolution, offset, strict=True)]  # (1)
        ahead = [select(stopping, -design.stop_damping * rate, a) for rate, a in zip(v, reference[2], strict=True)]
        q, v = self._observe(q, v, measured, ahead, fresh, dt)
        gap = self._gap(signals, q, gap, fresh)
        step = design.step(q, v, reference, integral, before, stopping)  # (4)
        alarms = self._alarms(signals, q, v, reference, gap)
        known = sum(step.demand, start=0.0) - HUGE  # below any alarm, or not a number
        return {
            "memory_next": [*q, *v, *step.integral, *gap, *step.tau],
            "codes": self._codes(step.tau),
            "alarms": alarms,
            "alarm": larger(largest(alarms), known),
            "speed": largest(magnitude(rate) for rate in v),
        }

    def _observe(self, q, v, measured, ahead, fresh: Scalar, dt: Scalar):
        """(2), for the usual dt; after a gap of several periods the correction is the same, the prediction longer."""
        theta = float(np.exp(-self.observer * self.design.period))
        alpha, beta = 1.0 - theta**2, (1.0 - theta) ** 2 / self.design.period
        q = [x + dt * (rate + 0.5 * dt * acc) for x, rate, acc in zip(q, v, ahead, strict=True)]
        v = [rate + dt * acc for rate, acc in zip(v, ahead, strict=True)]
        equations = self.design.parts.equations
        expected = equations.actuator_positions_near(q, measured)
        miss = equations.to_coordinates(q, [m - x for m, x in zip(measured, expected, strict=True)])  # (3)
        miss = [select(fresh, x, 0.0) for x in miss]
        return (
            [x + alpha * change for x, change in zip(q, miss, strict=True)],
            [rate + beta * change for rate, change in zip(v, miss, strict=True)],
        )

    def _gap(self, signals, q, gap, fresh: Scalar):
        """Encoder less potentiometer, smoothed."""
        span = ((self.wiring.column("upper") - self.wiring.column("lower")) / self.wiring.potentiometer_volts).tolist()
        rows = zip(self.wiring.channels, span, signals[self.layout.at["volts"]], strict=True)
        shown = [channel.lower + scale * volts for channel, scale, volts in rows]
        theta = self.design.parts.equations.actuator_positions_near(q, shown)
        rows = zip(theta, shown, gap, strict=True)
        return [last + select(fresh, GAP_SMOOTHING * (x - seen - last), 0.0) for x, seen, last in rows]

    def _codes(self, tau) -> list[Scalar]:
        low, high = self.wiring.code_bounds(self.guard.torque)
        scale = (1.0 / self.wiring.torque_per_code).tolist()
        rows = zip(tau, scale, low.tolist(), high.tolist(), strict=True)
        return [
            clamp(nearest(self.wiring.zero_code + k * torque), least, most) for torque, k, least, most in rows
        ]  # (5)

    def _alarms(self, signals, q, v, reference, gap) -> list[Scalar]:
        guard, at = self.guard, self.layout.at
        ranges = zip(q, guard.lower, guard.upper, strict=True)
        position = largest(magnitude(x - 0.5 * (low + high)) - 0.5 * (high - low) for x, low, high in ranges)
        velocity = largest(magnitude(x) - most for x, most in zip(v, guard.velocity, strict=True))
        following: Scalar = -1.0
        if self.design.law.tracks:
            rows = zip(q, reference[0], guard.following, strict=True)
            following = largest(magnitude(x - wanted) - most for x, wanted, most in rows)
        doubt = largest(magnitude(x) - most for x, most in zip(gap, guard.potentiometer, strict=True))
        hot = largest(signals[at["hot"]]) - 0.5
        return [
            position,
            velocity,
            following,
            doubt,
            hot,
            0.5 - signals[at["power"]][0],
            signals[at["hardware_fault"]][0] - 0.5,
        ]
