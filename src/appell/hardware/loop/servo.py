"""The complete control step of a system as one compiled function, from signals to torques, codes and alarms.

    θ_m = (counts + ½) / resolution + offset          an encoder rounds down                                   (1)
    q⁻ = q̂ + dt v̂ + ½dt² a,  v⁻ = v̂ + dt a           q̂ = q⁻ + α Δq,  v̂ = v⁻ + β/dt Δq                         (2)
    Δq = J⁻¹ (θ_m - θ(q⁻))                            one step of Newton's method; on an arm, q_m - q⁻          (3)
    τ, memory = design.step(q̂, v̂, reference, memory)                                                          (4)
    code = clamp(nearest(zero + τ / torque per code), codes within the torque limit)                           (5)

(2) is the observer that estimates the velocity from counts, with a double pole θ = exp(-bandwidth dt), α = 1 - θ² and β
= (1 - θ)². Its input is the desired acceleration a. An alarm is the amount by which a coordinate or actuator exceeds a
limit; it is positive if the limit is exceeded. A signal that is not a number makes all results NaN, and torques that
are not numbers make the largest alarm NaN, so that a single comparison detects every problem.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar, clamp, maximum, nearest, select
from appell.compile.function import Function
from appell.control.axes import axis_word
from appell.control.blocks import Blocks
from appell.control.design import Design
from appell.errors import ArgumentError
from appell.hardware.cabinet.hardware import signal_blocks
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
FRESH, STOPPING, PERIODS = range(3)  # indices of `switches`; PERIODS: number of periods since the last reading
BELOW_ALL_ALARMS = 1e300  # subtracted from a finite sum, which then never is the largest alarm
GAP_SMOOTHING = 0.1  # per tick, of the difference between encoder and potentiometer


class Servo:
    """The compiled control step of a design on a wiring, with the limits of a guard.

    Parameters
    ----------
    design : Design
    wiring : Wiring
        The wiring of the cabinet.
    guard : Guard
        Limits of positions, velocities, errors and torques.
    observer : float
        Bandwidth of the velocity observer, in 1/s.
    """

    def __init__(self, design: Design, wiring: Wiring, guard: Guard, observer: float = 300.0):
        self.system = system = design.model
        wiring.check(system)
        self.wiring, self.guard, self.observer = wiring, guard.of(system), observer
        self.design = replace(design, torque_limit=self.guard.torque)
        self.layout = signal_blocks(wiring.n)
        n, nu = system.nq, system.nu
        if design.sensors:
            raise ArgumentError(
                f"law '{design.law.name}' needs the sensor '{next(iter(design.sensors))}'.",
                expected="a law without further sensors, which the cabinet does not have",
            )
        of_law = design.memory.named(design.memory.start)
        before = of_law.pop("before")
        self.memory = Blocks(q=n, v=n, **of_law, gap=nu, tau=before)  # state between two steps
        if not 0.0 < observer * design.period < 5.0:
            raise ArgumentError(
                f"the bandwidth of the observer is {observer:g}/s.", expected="0 < bandwidth × period < 5"
            )
        self._check_torque()
        self.function = self._function()
        self.bound: Any = self.function.bind()

    def _check_torque(self) -> None:
        for name, limit, most in zip(self.wiring.names, self.guard.torque, self.wiring.reachable_torque, strict=True):
            if limit > most * (1.0 + 1e-12):
                raise ArgumentError(
                    f"the torque limit of {axis_word(self.system, 'actuator')} '{name}' is {limit:g} N m or N.",
                    expected=f"at most {most:.4g}, the largest torque of the drive",
                )

    def new_bound(self) -> Any:
        """Return the function with new arrays, for another loop with the same servo."""
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
        q, v, *of_law, gap, before = self.memory.split(memory)
        fresh, stopping, dt = switches[FRESH], switches[STOPPING], switches[PERIODS] * design.period
        resolution = self.wiring.column("resolution").tolist()
        measured = [(c + 0.5) / r + o for c, r, o in zip(signals[at["counts"]], resolution, offset, strict=True)]  # (1)
        ahead = [select(stopping, -design.stop_damping * rate, a) for rate, a in zip(v, reference[2], strict=True)]
        q, v = self._observe(q, v, measured, ahead, fresh, dt)
        gap = self._gap(signals, q, gap, fresh)
        remembered = [*(x for block in of_law for x in block), *before]
        step = design.step(q, v, reference, remembered, time=signals[at["time"]][0], stopping=stopping)  # (4)
        alarms = self._alarms(signals, q, v, reference, gap)
        finite = sum(step.demand, start=0.0) - BELOW_ALL_ALARMS  # below every alarm, or not a number
        return {
            "memory_next": [*q, *v, *step.memory[: -len(before)], *gap, *step.tau],
            "codes": self._codes(step.tau),
            "alarms": alarms,
            "alarm": reduce(maximum, [*alarms, finite]),
            "speed": reduce(maximum, [abs(rate) for rate in v]),
        }

    def _observe(self, q, v, measured, ahead, fresh: Scalar, dt: Scalar):
        """Compute (2) with the correction for one period; after missed readings only the prediction is longer."""
        theta = float(np.exp(-self.observer * self.design.period))
        alpha, beta = 1.0 - theta**2, (1.0 - theta) ** 2 / self.design.period
        q = [x + dt * (rate + 0.5 * dt * acc) for x, rate, acc in zip(q, v, ahead, strict=True)]
        v = [rate + dt * acc for rate, acc in zip(v, ahead, strict=True)]
        equations = self.design.parts.equations
        expected = equations.actuator_positions_near(q, measured)
        innovation = equations.to_coordinates(q, [m - x for m, x in zip(measured, expected, strict=True)])  # (3)
        innovation = [select(fresh, x, 0.0) for x in innovation]
        return (
            [x + alpha * change for x, change in zip(q, innovation, strict=True)],
            [rate + beta * change for rate, change in zip(v, innovation, strict=True)],
        )

    def _gap(self, signals, q, gap, fresh: Scalar):
        """Return encoder minus potentiometer position, low-pass filtered."""
        span = ((self.wiring.column("upper") - self.wiring.column("lower")) / self.wiring.potentiometer_volts).tolist()
        rows = zip(self.wiring.channels, span, signals[self.layout.at["volts"]], strict=True)
        measured = [channel.lower + scale * volts for channel, scale, volts in rows]
        theta = self.design.parts.equations.actuator_positions_near(q, measured)
        rows = zip(theta, measured, gap, strict=True)
        return [last + select(fresh, GAP_SMOOTHING * (x - position - last), 0.0) for x, position, last in rows]

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
        position = reduce(maximum, [abs(x - 0.5 * (low + high)) - 0.5 * (high - low) for x, low, high in ranges])
        velocity = reduce(maximum, [abs(x) - most for x, most in zip(v, guard.velocity, strict=True)])
        following: Scalar = -1.0
        if self.design.law.tracks:
            rows = zip(q, reference[0], guard.following, strict=True)
            following = reduce(maximum, [abs(x - target) - most for x, target, most in rows])
        disagreement = reduce(maximum, [abs(x) - most for x, most in zip(gap, guard.potentiometer, strict=True)])
        hot = reduce(maximum, signals[at["hot"]]) - 0.5
        return [
            position,
            velocity,
            following,
            disagreement,
            hot,
            0.5 - signals[at["power"]][0],
            signals[at["hardware_fault"]][0] - 0.5,
        ]
