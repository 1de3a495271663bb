"""The whole control step of an arm as one compiled function: signals in, torques, codes and alarms out.

    q_m = (counts + ½) / resolution + offset          an encoder rounds down                                   (1)
    q⁻ = q̂ + dt v̂ + ½dt² a,  v⁻ = v̂ + dt a      q̂ = q⁻ + α (q_m - q⁻),  v̂ = v⁻ + β/dt (q_m - q⁻)              (2)
    τ, ∫e = design.step(q̂, v̂, reference, …)                                                                  (3)
    code = clamp(nearest(zero + τ / torque per code), codes within the torque limit)                           (4)

(2) is the observer that makes a velocity from counts: one pole θ = exp(-bandwidth dt) twice, α = 1 - θ², β = (1 - θ)².
It is driven by the acceleration a that the law asked for. Alarms are how far a joint is beyond a limit; positive means
trouble. Because a sample with a signal that is not a number gives nothing but such numbers, one comparison sees every
trouble.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from appell.algebra.piecewise import clamp, largest, magnitude
from appell.algebra.scalar import Scalar, nearest, select
from appell.compile.function import Function
from appell.control.cabinet.drive import Wiring
from appell.control.cabinet.signals import Layout
from appell.control.law.design import Design
from appell.control.loop.limits import Limits
from appell.control.loop.states import Fault
from appell.errors import ArgumentError

MEMORY = ("q", "v", "integral", "tau", "gap")  # what the step hands to the next one, n numbers each
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
GAP_SMOOTHING = 0.1  # of the difference to the potentiometer, a tick


class Servo:
    """A design wired to a cabinet, compiled."""

    def __init__(self, design: Design, wiring: Wiring, limits: Limits, observer: float = 300.0):
        robot = design.model.robot
        wiring.check(robot)
        self.wiring, self.limits, self.observer = wiring, limits.of(design.model.coordinates), observer
        self.design = replace(design, torque_limit=self.limits.torque)
        self.layout = Layout(wiring.n)
        if not 0.0 < observer * design.period < 5.0:
            raise ArgumentError(f"the observer's bandwidth is {observer:g}/s.", expected="0 < bandwidth × period < 5")
        self._check_torque()
        self.function = self._function()
        self.bound: Any = self.function.bind()

    def _check_torque(self) -> None:
        reach, joints = self.wiring.reachable_torque, self.wiring.joint_names
        for joint, limit, most in zip(joints, self.limits.torque, reach, strict=True):
            if limit > most * (1.0 + 1e-12):
                raise ArgumentError(
                    f"the torque limit of joint '{joint}' is {limit:g} Nm.",
                    expected=f"at most {most:.4g} Nm, what the drive has",
                )

    def new_bound(self) -> Any:
        """Arrays of its own, for another loop with the same servo."""
        return self.function.bind()

    def _function(self) -> Function:
        n, size = self.wiring.n, self.layout.size
        inputs = {"signals": size, "offset": n, "reference": (3, n), "memory": len(MEMORY) * n, "switches": 3}
        owner = f"robot '{self.design.model.robot.name}'"
        return Function.of("servo_step", inputs, self._body, "One control step.", owner)

    def _body(self, signals, offset, reference, memory, switches) -> dict[str, Any]:
        n, design, at = self.wiring.n, self.design, self.layout.at
        q, v, integral, before, gap = (memory[k * n : (k + 1) * n] for k in range(len(MEMORY)))
        fresh, stopping, dt = switches[FRESH], switches[STOPPING], switches[PERIODS] * design.period
        resolution = self.wiring.column("counts_per_radian").tolist()
        measured = [(c + 0.5) / r + o for c, r, o in zip(signals[at["counts"]], resolution, offset, strict=True)]  # (1)
        ahead = [select(stopping, -design.stop_damping * rate, a) for rate, a in zip(v, reference[2], strict=True)]
        q, v = self._observe(q, v, measured, ahead, fresh, dt)
        gap = self._gap(signals, q, gap, fresh)
        step = design.step(q, v, reference, integral, before, stopping)
        alarms = self._alarms(signals, q, v, reference, gap)
        return {
            "memory_next": [*q, *v, *step.integral, *step.tau, *gap],
            "codes": self._codes(step.tau),
            "alarms": alarms,
            "alarm": largest(alarms),
            "speed": largest(magnitude(rate) for rate in v),
        }

    def _observe(self, q, v, measured, ahead, fresh: Scalar, dt: Scalar):
        """(2), for the usual dt; after a gap of several periods the correction is the same, the prediction longer."""
        theta = float(np.exp(-self.observer * self.design.period))
        alpha, beta = 1.0 - theta**2, (1.0 - theta) ** 2 / self.design.period
        positions, rates = [], []
        for x, rate, seen, acc in zip(q, v, measured, ahead, strict=True):
            x, rate = x + dt * (rate + 0.5 * dt * acc), rate + dt * acc
            miss = select(fresh, seen - x, 0.0)
            positions.append(x + alpha * miss)
            rates.append(rate + beta * miss)
        return positions, rates

    def _gap(self, signals, q, gap, fresh: Scalar):
        """Encoder less potentiometer, smoothed."""
        found = []
        for volts, drive, x, last in zip(signals[self.layout.at["volts"]], self.wiring.drives, q, gap, strict=True):
            span = (drive.upper - drive.lower) / self.wiring.potentiometer_volts
            found.append(last + select(fresh, GAP_SMOOTHING * (x - drive.lower - span * volts - last), 0.0))
        return found

    def _codes(self, tau) -> list[Scalar]:
        low, high = self.wiring.code_bounds(self.limits.torque)
        scale = (1.0 / self.wiring.torque_per_code).tolist()
        rows = zip(tau, scale, low.tolist(), high.tolist(), strict=True)
        return [
            clamp(nearest(self.wiring.zero_code + k * torque), least, most) for torque, k, least, most in rows
        ]  # (4)

    def _alarms(self, signals, q, v, reference, gap) -> list[Scalar]:
        limits, at = self.limits, self.layout.at
        ranges = zip(q, limits.lower, limits.upper, strict=True)
        position = largest(magnitude(x - 0.5 * (low + high)) - 0.5 * (high - low) for x, low, high in ranges)
        velocity = largest(magnitude(x) - most for x, most in zip(v, limits.velocity, strict=True))
        following: Scalar = -1.0
        if self.design.law.tracks:
            rows = zip(q, reference[0], limits.following, strict=True)
            following = largest(magnitude(x - wanted) - most for x, wanted, most in rows)
        doubt = largest(magnitude(x) - most for x, most in zip(gap, limits.potentiometer, strict=True))
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
