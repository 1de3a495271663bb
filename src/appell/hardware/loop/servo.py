"""The complete control step of a system as one compiled function, from a joint state to a command and alarms.

    q⁻ = q̂ + dt v̂ + ½dt² a,  v⁻ = v̂ + dt a           q̂ = q⁻ + α Δq,  v̂ = v⁻ + β/dt Δq                         (1)
    Δq = J⁻¹ (θ_m - θ(q⁻))                            one step of Newton's method; on an arm, q_m - q⁻          (2)
    τ, memory = design.step(q̂, v̂, reference, …)                                                               (3)
    command = resolution · nearest(τ / resolution)    if the device has a resolution                           (4)

(1) is the observer that estimates the velocity of a device that measures positions only, with a double pole θ =
exp(-bandwidth dt), α = 1 - θ² and β = (1 - θ)². Its input is the desired acceleration a. If the device measures
velocities, q̂ and v̂ are the measurements, and (1) only predicts over missing states.

(3) is torque mode. In the other modes the device closes the loop:

    position    θ_c = θ(q_d)                                                                                   (5)
    velocity    θ̇_c = J (v_d - Kp/Kd (q̂ - q_d))                                                                (6)
    impedance   θ_c, θ̇_c = J v_d, τ_c = inverse dynamics of the reference, kp and kd = Kp and Kd times inertia   (7)

With a margin, collision shapes are monitored at some points between the present position and the one at which a stop
would end, with the damping Ks and the duration t₀ until the stop begins:

    q + s v (t₀ + β/Ks),  0 ≤ s ≤ 1           β = ½ (ρ + 1/ρ) for ρ > 1, else 1                                 (8)

ρ is the largest torque that braking demands, relative to the torque that gravity leaves: with ρ > 1 the deceleration is
limited until the speed has fallen to v/ρ, and the stop is longer by β.

An alarm is the amount by which a coordinate exceeds a limit, or a positive number if the device reports a fault; it is
positive if something is wrong. A measurement that is not a number makes all results NaN, and torques that are not
numbers make the largest alarm NaN, so that a single comparison detects every problem.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.loops import UNROLLED, Loops, Rows
from appell.algebra.scalar import Scalar, clamp, maximum, nearest, select
from appell.compile.function import Function
from appell.control.axes import axis_word, check_wirable
from appell.control.blocks import Blocks
from appell.control.design import ControlStep, Design
from appell.dynamics.margins import Margin, distance_text, margin_of
from appell.errors import ArgumentError
from appell.hardware.device import DeviceInfo
from appell.hardware.loop.supervisor import Guard, Policy

if TYPE_CHECKING:
    from appell.compile.c.source import CSource

COMMAND = ("q", "v", "tau", "kp", "kd")  # blocks of a `JointCommand`
FRESH, STOPPING, PERIODS = range(3)  # indices of `switches`; PERIODS: number of periods since the last reading
BELOW_ALL_ALARMS = 1e300  # subtracted from a finite sum, which then never is the largest alarm
STOP_RESERVE = 1.5  # longest duration of a stop over its expected duration
DETECTION_TIME_S = 0.05  # added to it, for the ticks at rest
BRAKING_POINTS = 5  # of (8)
REACTION_PERIODS = 2  # from a measurement to the torque that answers it, (8)
MIN_BRAKING_TORQUE = 0.1  # of the limit, that counts as left by gravity, (8)


class Servo:
    """The compiled control step of a design on a device, with the limits of a guard.

    Parameters
    ----------
    design : Design
    info : what the device declares
    guard : limits of positions, velocities, errors and torques
    observer : bandwidth of the velocity observer, in 1/s, for devices that do not measure velocities
    mode : mode of the device: torque, position, velocity or impedance
    """

    def __init__(self, design: Design, info: DeviceInfo, guard: Guard, observer: float = 300.0, mode: str = "torque"):
        self.system = system = design.model
        check_wirable(system)
        check_actuators(info, system.actuator_names)
        self.info, self.guard, self.observer, self.mode = info, guard.of(system), observer, mode
        self.design = replace(design, torque_limit=self.guard.torque)
        if self.guard.margin is not None and any(shape.shape == "hull" for shape in system.tree.collisions):
            raise ArgumentError(
                f"{system.owner} has convex hulls, with which a guard takes too long for a control loop.",
                expected="spheres, capsules, boxes, and shapes that capsules cover",
                hint="Use the robot as it was before ap.hull.",
            )
        self.margin = None if self.guard.margin is None else margin_of(system, self.guard.margin)
        self.layout = state_blocks(info)
        n = system.nq
        of_law = design.memory.named(design.memory.start)
        before = of_law.pop("before")
        self.memory = Blocks(q=n, v=n, **of_law, tau=before)  # state between two steps
        self._check(observer)
        self.function = self._function()
        self.bound: Any = self.function.bind()

    @property
    def tracks(self) -> bool:
        """Whether the reference must be continuous and start at the position of the arm."""
        return self.design.law.tracks or self.mode != "torque"

    @property
    def observes_contacts(self) -> bool:
        """Whether the design detects contacts, from the torques that it commands."""
        return self.design.observer is not None and self.mode == "torque"

    @property
    def stop_time(self) -> float:
        """Longest duration of a safe stop in s: until the fastest joint has slowed down to rest, with a reserve."""
        slowing = np.log(max(self.guard.velocity) / 0.02) / self.design.stop_damping
        return DETECTION_TIME_S + STOP_RESERVE * max(float(slowing), 0.1 / self.design.stop_damping)

    def _check(self, observer: float) -> None:
        if self.mode not in self.info.modes:
            raise ArgumentError(
                f"{self.info.name} has no mode '{self.mode}'.", expected=f"one of {', '.join(self.info.modes)}"
            )
        if not 0.0 < observer * self.design.period < 5.0:
            raise ArgumentError(
                f"the bandwidth of the observer is {observer:g}/s.", expected="0 < bandwidth × period < 5"
            )
        if "q" not in self.info.measures:
            raise ArgumentError(f"{self.info.name} does not measure positions.", expected="a device that measures q")
        for name, size in self.design.sensors.items():
            if self.info.sensors.get(name) != size:
                offered = ", ".join(f"{key} ({count})" for key, count in self.info.sensors.items()) or "none"
                raise ArgumentError(
                    f"law '{self.design.law.name}' needs the sensor '{name}' with {size} numbers; {self.info.name} has "
                    f"{offered}.",
                    expected="a device with this sensor",
                )
        for name, limit, most in zip(
            self.info.actuators, self.guard.torque, self.info.torque or self.guard.torque, strict=True
        ):
            if limit > most * (1.0 + 1e-12):
                raise ArgumentError(
                    f"the torque limit of {axis_word(self.system, 'actuator')} '{name}' is {limit:g} N m or N.",
                    expected=f"at most {most:.4g}, the largest torque of the drive",
                )

    def to_c(self, name: str | None = None, policy: Policy = Policy()) -> CSource:  # noqa: B008 - frozen
        """Return law, guard and supervisor as one C99 step with its state, for torque mode; see `embedded`."""
        from appell.hardware.loop.embedded import embedded_code

        return embedded_code(self, policy, name)

    def new_bound(self) -> Any:
        """Return the function with new arrays, for another loop with the same servo."""
        return self.function.bind()

    def _function(self) -> Function:
        inputs = {
            "state": self.layout.size,
            "reference": (3, self.system.nq),
            "memory": self.memory.size,
            "switches": 3,
        }
        return Function.of("servo_step", inputs, self._body, "One control step.", self.system.owner, loops=self.looped)

    @property
    def looped(self) -> bool:
        """Whether loops of the step stay loops in the compiled code."""
        return self.design.looped or self.margin is not None

    def _body(self, state, reference, memory, switches, loops: Loops = UNROLLED) -> dict[str, Any]:
        q, v, remembered = self.parts_of(memory)
        fresh, stopping, dt = switches[FRESH], switches[STOPPING], switches[PERIODS] * self.design.period
        q, v = self.observe(q, v, state, reference, fresh, dt, stopping)
        if self.mode == "torque":
            step = self.law(q, v, state, reference, remembered, stopping, loops)
            demand, after, command = step.demand, step.memory, {"tau": self.rounded(step.tau)}
        else:
            command, after = self._joint_command(q, reference), remembered
            demand = [x for block in command.values() for x in block]
        alarms = self.alarms(state, q, v, reference)
        if self.observes_contacts:
            alarms.append(step.contact)
        if self.margin is not None:
            alarms.append(self.nearness(self.margin, q, v, loops))
        finite = sum(demand, start=0.0) - BELOW_ALL_ALARMS  # below every alarm, or not a number
        return {
            "memory_next": [*q, *v, *after],
            "command": [x for name in COMMAND for x in command.get(name, [0.0] * self.system.nu)],
            "alarms": alarms,
            "alarm": reduce(maximum, [*alarms, finite]),
            "speed": reduce(maximum, [abs(rate) for rate in v]),
        }

    def parts_of(self, memory) -> tuple[Any, Any, Any]:
        """Return q̂, v̂ and the memory of the design."""
        n = self.system.nq
        return memory[:n], memory[n : 2 * n], memory[2 * n :]

    def law(self, q, v, state, reference, remembered, stopping: Scalar, loops: Loops = UNROLLED) -> ControlStep:
        """Compute (3)."""
        at = self.layout.at
        sensors = {name: state[at[name]] for name in self.design.sensors}
        time = state[at["stamp"]][0]
        return self.design.step(q, v, reference, remembered, time=time, sensors=sensors, stopping=stopping, loops=loops)

    def observe(self, q, v, state, reference, fresh: Scalar, dt: Scalar, stopping: Scalar):
        """Compute (1) with the correction for one period; after missed readings only the prediction is longer."""
        damping = self.design.stop_damping
        ahead = [select(stopping, -damping * rate, a) for rate, a in zip(v, reference[2], strict=True)]
        theta = float(np.exp(-self.observer * self.design.period))
        alpha, beta = 1.0 - theta**2, (1.0 - theta) ** 2 / self.design.period
        measured, equations = state[self.layout.at["q"]], self.design.parts.equations
        q = [x + dt * (rate + 0.5 * dt * acc) for x, rate, acc in zip(q, v, ahead, strict=True)]
        v = [rate + dt * acc for rate, acc in zip(v, ahead, strict=True)]
        expected = equations.actuator_positions_near(q, measured)
        innovation = equations.to_coordinates(q, [m - x for m, x in zip(measured, expected, strict=True)])  # (2)
        innovation = [select(fresh, x, 0.0) for x in innovation]
        if "v" in self.info.measures:
            q = [x + change for x, change in zip(q, innovation, strict=True)]
            rates = equations.to_coordinates(q, state[self.layout.at["v"]])
            return q, [select(fresh, rate, before) for rate, before in zip(rates, v, strict=True)]
        return (
            [x + alpha * change for x, change in zip(q, innovation, strict=True)],
            [rate + beta * change for rate, change in zip(v, innovation, strict=True)],
        )

    def rounded(self, tau) -> list[Scalar]:
        """Return torques that the device can apply, (4), within the limit."""
        if self.info.resolution is None:
            return list(tau)
        rows = zip(tau, self.info.resolution, self.guard.torque, strict=True)
        steps = [(torque, size, float(np.floor(limit / size * (1.0 + 1e-15)))) for torque, size, limit in rows]
        return [clamp(nearest((1.0 / size) * torque), -most, most) * size for torque, size, most in steps]

    def _joint_command(self, q, reference) -> dict[str, list[Scalar]]:
        """Return the blocks of the command (5) to (7) of a device that closes the loop."""
        equations, gains = self.design.parts.equations, self.design.gains
        assert gains is not None
        target, rate, acceleration = reference
        theta = equations.actuator_positions(target)
        if self.mode == "position":
            return {"q": theta}
        if self.mode == "velocity":
            rows = zip(rate, q, target, gains.kp, gains.kd, strict=True)
            rate = [v - (kp / kd if kd else 0.0) * (x - x_d) for v, x, x_d, kp, kd in rows]
            return {"v": equations.actuator_rates(q, rate)}
        tau = equations.tau(target, rate, acceleration, {})
        dry = self.design.dry_friction(target, rate)
        limits = self.guard.torque
        tau = [clamp(x + y, -most, most) for x, y, most in zip(tau, dry, limits, strict=True)]
        kp, kd = (gain.tolist() for gain in self.impedance())
        return {"q": theta, "v": equations.actuator_rates(target, rate), "tau": tau, "kp": kp, "kd": kd}

    def impedance(self) -> tuple[np.ndarray, np.ndarray]:
        """Return kp and kd of impedance mode at the actuators: the gains times the inertia at the start."""
        dyn, start = self.design.parts.smooth, self.system.start
        inverse = np.linalg.pinv(np.atleast_2d(dyn.actuator_jacobian(start)))
        gains = self.design.gains
        assert gains is not None
        inertia = np.diag(inverse.T @ dyn.mass_matrix(start) @ inverse)
        if getattr(self.design.law, "model", "motion") != "motion":  # the gains are forces already
            inertia = np.ones(self.system.nu)
        most = np.abs(inverse.T)
        most = most / most.sum(axis=1, keepdims=True)  # the coordinates that move an actuator, by their share
        return inertia * (most @ np.array(gains.kp)), inertia * (most @ np.array(gains.kd))

    def alarms(self, state, q, v, reference) -> list[Scalar]:
        """Return the amounts by which limits are exceeded, and that of a fault of the device."""
        guard, at = self.guard, self.layout.at
        ranges = zip(q, guard.lower, guard.upper, strict=True)
        position = reduce(maximum, [abs(x - 0.5 * (low + high)) - 0.5 * (high - low) for x, low, high in ranges])
        velocity = reduce(maximum, [abs(x) - most for x, most in zip(v, guard.velocity, strict=True)])
        following: Scalar = -1.0
        if self.tracks:
            rows = zip(q, reference[0], guard.following, strict=True)
            following = reduce(maximum, [abs(x - target) - most for x, target, most in rows])
        device = reduce(maximum, [*state[at["status"]], *state[at["faults"]]]) - 0.5
        return [position, velocity, following, device]

    def nearness(self, margin: Margin, q, v, loops: Loops = UNROLLED) -> Scalar:
        """Return the largest amount in m by which collision shapes are too near during a stop from here, by (8)."""
        damping, equations = self.design.stop_damping, self.design.parts.equations
        zeros = [0.0] * len(q)
        hold = equations.tau(q, zeros, zeros, {})
        brake = equations.tau(q, v, [-damping * rate for rate in v], {})
        ratio: Scalar = 0.0
        for held, demand, limit in zip(hold, brake, self.guard.torque, strict=True):
            ratio = maximum(ratio, abs(demand - held) / maximum(limit - abs(held), MIN_BRAKING_TORQUE * limit))
        ratio = maximum(ratio, 1.0)
        until = REACTION_PERIODS * self.design.period + self.info.latency + 0.5 * (ratio + 1.0 / ratio) / damping
        shares = [k / (BRAKING_POINTS - 1) for k in range(BRAKING_POINTS)]
        points = loops.given([[*q, *(until * rate for rate in v)]])
        excess = loops.table(BRAKING_POINTS, 1)

        def body(row, numbers):
            n, (share,) = len(q), numbers
            distance = margin.distances([x + share * step for x, step in zip(row[:n], row[n:], strict=True)])
            return [[reduce(maximum, [least - d for least, d in zip(margin.least.tolist(), distance, strict=True)])]]

        every = range(BRAKING_POINTS)
        loops.each([body], [0] * BRAKING_POINTS, [Rows(points, [0] * BRAKING_POINTS)], [Rows(excess, every)],
                   [[share] for share in shares])  # fmt: skip
        return reduce(maximum, [row[0] for row in loops.values(excess)])

    def nearest(self, q: np.ndarray) -> str:
        """Return a clause on the pair of collision shapes that is nearest to its margin at q (nq)."""
        if self.margin is None:
            return ""
        slack = np.atleast_1d(self.margin.slack(q))
        k = int(np.argmin(slack))
        return distance_text(self.margin.pairs[k], float(slack[k] + self.margin.least[k]))


def state_blocks(info: DeviceInfo) -> Blocks:
    """Return the layout of the numbers of a `JointState`."""
    n = len(info.actuators)
    return Blocks(stamp=1, status=1, q=n, v=n, tau=n, faults=n, **info.sensors)


def measured_indices(info: DeviceInfo) -> np.ndarray:
    """Return the indices of the numbers in a `JointState` that a device measures."""
    blocks, skipped = state_blocks(info), {"q", "v", "tau"} - {*info.measures}
    return np.concatenate([np.arange(blocks.size)[at] for name, at in blocks.at.items() if name not in skipped])


def check_actuators(info: DeviceInfo, names: tuple[str, ...]) -> None:
    """Raise an ArgumentError unless a device has the actuators of a system, in their order."""
    if info.actuators == names:
        return
    count = "" if len(info.actuators) == len(names) else f" ({len(info.actuators)} instead of {len(names)})"
    different = [f"'{a}' for '{b}'" for a, b in zip(info.actuators, names, strict=False) if a != b]
    raise ArgumentError(
        f"{info.name} has the actuators {', '.join(info.actuators)}{count}{': ' if different else ''}"
        f"{', '.join(different[:3])}.",
        expected=f"the actuators of the robot, in their order: {', '.join(names)}",
    )
