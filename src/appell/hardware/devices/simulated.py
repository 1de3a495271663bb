"""An ideal simulated arm: the plant with friction, rotors and payload, exact sensors and drives without delay.

On every read, the system is simulated up to the present time with the last command. In torque mode the torques are
held. In the other modes the drives control the actuators once per integration step:

    impedance   τ = τ_c + kp (θ_c - θ) + kd (θ̇_c - θ̇)                                                          (1)
    position    τ = inverse dynamics of θ̈ = ω²(θ_c - θ) + 2ω (θ̇_c - θ̇), θ̇_c from the last two commands          (2)
    velocity    τ = inverse dynamics of θ̈ = ω (θ̇_c - θ̇)                                                         (3)

Torques are limited to those of the actuators. Without drives, the brakes hold the arm: `heartbeat` seconds after the
last command, when the device is disabled, or before it is enabled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.control.axes import check_wirable
from appell.errors import ArgumentError, check_number
from appell.hardware.cabinet.plant import Plant, real_system
from appell.hardware.clock import Clock
from appell.hardware.device import MODES, DeviceInfo, DeviceStatus, JointCommand, JointState
from appell.model.system import System
from appell.motion.working_limits import WorkingLimits

DRIVE_FREQUENCY = 0.2  # ω of the drives times the integration step
BRAKE_FACTOR = 2.0  # torque of the brakes over that of the actuators
STABLE_STEP = 1.0  # largest integration step times the largest rate of decay by friction


def arm_info(system: System, limits: WorkingLimits, heartbeat: float = 0.02, period: float = 1e-3) -> DeviceInfo:
    """Return what a simulated arm declares."""
    return DeviceInfo(
        name=f"the simulated {system.name}",
        actuators=system.actuator_names,
        modes=MODES,
        period=period,
        heartbeat=heartbeat,
        safe_state="brakes",
        speed=tuple(limits.speed.tolist()),
        torque=tuple(limits.torque.tolist()),
    )


class SimulatedArm:
    """An ideal simulated arm that measures q, v and tau of its actuators and offers all modes.

    Parameters
    ----------
    system : System
        The robot, with its friction and rotors.
    clock : Clock
        The clock of the loop.
    q : array_like, optional
        Initial configuration; by default `system.start`, moved into the ranges of the joints.
    payload : float
        Mass at the tool, in kg, in addition to the description.
    heartbeat : float
        Time in s without a command after which the brakes engage.
    period : float
        Time between two states, in s; also the largest integration step.

    Examples
    --------
    >>> import appell as ap
    >>> robot, clock = ap.load("planar-2r"), ap.hardware.VirtualClock()
    >>> arm = ap.hardware.SimulatedArm(robot, clock)
    >>> state = ap.hardware.JointState(arm.info)
    >>> arm.read(state), state.q.tolist() == robot.start.tolist()
    (True, True)
    """

    def __init__(
        self,
        system: System,
        clock: Clock,
        q: Any = None,
        *,
        payload: float = 0.0,
        heartbeat: float = 0.02,
        period: float = 1e-3,
    ):
        check_wirable(system)
        check_number("the heartbeat of a simulated arm, in s,", heartbeat, least=0.0, above=True)
        check_number("the period of a simulated arm, in s,", period, least=0.0, above=True)
        check_number("the payload, in kg,", payload, least=0.0)
        self.limits = limits = WorkingLimits.of(system)
        self.system, self.clock = real_system(system, payload), clock
        plant = Plant(self.system)
        self._parts, self._bound = plant.parts, plant.bound
        nq, nv = system.nq, system.nv
        self._blocks = slice(0, nq), slice(nq, nq + nv)
        start = np.clip(system.start, limits.lower, limits.upper) if q is None else np.asarray(q, float)
        plant.set_state(start)
        self._step = min(period, self._stable_step(start))
        self.info = arm_info(system, limits, heartbeat, period)
        self._dyn, self._at_joints = plant.parts.smooth, system.is_tree and system.nu == nq
        self._command, self._before = JointCommand(system.nu), np.zeros(system.nu)
        self._commanded_at = np.zeros(2)
        self._torque, self._mode = np.zeros(system.nu), "torque"
        self.enabled, self.watchdog = False, False
        self.time = self.last_write = clock.now()
        self._brakes = BRAKE_FACTOR * limits.torque + self._holding(start)

    def _stable_step(self, q: np.ndarray) -> float:
        """Return a step with which the integration of viscous friction is stable."""
        viscous = np.array([actuator.friction.viscous for actuator in self.system.actuators])
        if not viscous.any():
            return np.inf
        dyn = self._parts.smooth
        J = np.atleast_2d(dyn.actuator_jacobian(q))
        rates = np.linalg.eigvals(np.linalg.solve(dyn.mass_matrix(q), J.T @ (viscous[:, None] * J)))
        return STABLE_STEP / max(float(np.abs(rates).max()), 1e-12)

    def _holding(self, q: np.ndarray) -> np.ndarray:
        return np.abs(self._parts.smooth.gravity(q)) if self.system.nu == self.system.nv else np.zeros(self.system.nu)

    # ---- true state

    @property
    def q(self) -> np.ndarray:
        """True configuration, of shape (nq,)."""
        return self._bound.state_next[self._blocks[0]].copy()

    @property
    def v(self) -> np.ndarray:
        """True velocity, of shape (nv,)."""
        return self._bound.state_next[self._blocks[1]].copy()

    @property
    def torque(self) -> np.ndarray:
        """Torques of the actuators in the last step, in N m or N."""
        return self._torque.copy()

    def advance(self, until: float) -> None:
        """Simulate the system up to a time, in s."""
        bound = self._bound
        while (remaining := until - self.time) > 1e-9:
            if self.enabled and self.time + 1e-9 - self.last_write > self.info.heartbeat:
                self.watchdog = True
                self.disable()
            self._torque[:] = self._drive() if self.enabled else 0.0
            steps = int(np.ceil(remaining / self._step - 1e-9)) if self._mode == "torque" or not self.enabled else 1
            beat = self.info.heartbeat - (self.time - self.last_write)
            if self.enabled:  # check the heartbeat again when it is due
                steps = max(1, min(steps, int(beat / self._step) + 1))
            dt = min(self._step, remaining / steps)
            bound.tau[:], bound.dt[...] = self._torque, dt
            bound.brake[:] = 0.0 if self.enabled else self._brakes
            for _ in range(steps):
                bound.state[:] = bound.state_next
                bound()
            self.time += steps * dt
        self.time = until

    def _drive(self) -> np.ndarray:
        """Return the torques of the drives for the last command, (1) to (3)."""
        command, limit = self._command, self.limits.torque
        if self._mode == "torque":
            return np.clip(command.tau, -limit, limit)
        q, v = self.q, self.v
        theta, rate = self._measured(q, v)
        if self._mode == "impedance":
            tau = command.tau + command.kp * (command.q - theta) + command.kd * (command.v - rate)
            return np.clip(tau, -limit, limit)
        w = DRIVE_FREQUENCY / self._step
        if self._mode == "velocity":
            wanted = w * (command.v - rate)
        else:
            span = self._commanded_at[1] - self._commanded_at[0]
            speed = (command.q - self._before) / span if span > 0.0 else np.zeros(len(theta))
            late = self.time - self._commanded_at[1]  # the command moves on until the next one
            wanted = w * w * (command.q + late * speed - theta) + 2.0 * w * (speed - rate)
        a = wanted if self._at_joints else np.linalg.lstsq(self._dyn.actuator_jacobian(q), wanted, rcond=None)[0]
        return np.clip(self._dyn.inverse_dynamics(q, v, a), -limit, limit)

    def _measured(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and speeds of the actuators."""
        if self._at_joints:
            return q, v
        return self._dyn.actuator_positions(q), self._dyn.actuator_jacobian(q) @ v

    # ---- the device

    def open(self) -> None:
        """Engage the brakes."""
        self.disable()

    def read(self, state: JointState) -> bool:
        """Simulate up to the present time and measure."""
        now = self.clock.now()
        self.advance(now)
        numbers = self._bound.state_next
        state.numbers[0], state.numbers[1] = now, DeviceStatus.WATCHDOG.value if self.watchdog else 0.0
        state.q[:], state.v[:] = self._measured(numbers[self._blocks[0]], numbers[self._blocks[1]])
        state.tau[:] = self._torque
        return True

    def write(self, command: JointCommand) -> None:
        """Set the command of the drives, from now on."""
        now = self.clock.now()
        if self._mode == "position":
            self.advance(now)
            self._before[:] = self._command.q
            self._commanded_at[:] = self._commanded_at[1], now
        self._command.numbers[:] = command.numbers
        self.last_write = now

    def enable(self, mode: str) -> None:
        """Release the brakes and switch the drives on, unless the watchdog has tripped."""
        if mode not in MODES:
            raise ArgumentError(f"{self.info.name} has no mode '{mode}'.", expected=", ".join(MODES))
        self.enabled, self._mode = not self.watchdog, mode
        self.last_write = self.clock.now()
        self._commanded_at[:] = self.last_write
        theta, _ = self._measured(self.q, self.v)
        self._command.numbers[:] = 0.0
        self._command.q[:] = theta

    def disable(self) -> None:
        """Engage the brakes."""
        self.enabled = False

    def clear(self) -> None:
        """Reset the watchdog."""
        self.watchdog = False

    def close(self) -> None:
        """Engage the brakes."""
        self.disable()
