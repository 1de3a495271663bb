"""An ideal simulated arm: the plant with friction, rotors and payload, exact sensors and drives without delay.

On every read, the system is simulated up to the present time with the last command. In torque mode the torques are
held; in the other modes the drives (`SimulatedDrives`) control the actuators once per integration step. Torques are
limited to those of the actuators. In its safe state, and until the first command after `enable`, brakes hold the arm.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from appell.control.axes import check_wirable
from appell.control.friction_parts import FrictionParts
from appell.dynamics import Dynamics
from appell.dynamics.elastic import spring_mode
from appell.errors import check_number
from appell.hardware.clock import Clock
from appell.hardware.device import MODES, DeviceInfo, JointCommand, JointState
from appell.hardware.devices.drives import DrivenRobot, SimulatedDrives
from appell.hardware.plant import Plant, real_system
from appell.model.system import System
from appell.motion.working_limits import WorkingLimits

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


class SimulatedArm(DrivenRobot):
    """An ideal simulated arm that measures q, v and tau of its actuators and offers all modes.

    Parameters
    ----------
    system : the robot, with its friction and rotors
    clock : the clock of the loop
    q : initial configuration; by default `system.start`, moved into the ranges of the joints
    payload : mass at the tool, in kg, in addition to the description
    heartbeat : time in s without a command after which the brakes engage
    period : time between two states, in s; also the largest integration step

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
        limits.warn()
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
        self.drives, self._torque = SimulatedDrives(self.info), np.zeros(system.nu)
        self.time = clock.now()
        self._brakes = BRAKE_FACTOR * limits.torque + self._holding(start)

    def _stable_step(self, q: np.ndarray) -> float:
        """Return a step with which the integration of viscous friction and of the springs of joints is stable."""
        viscous, dyn = np.array([actuator.friction.viscous for actuator in self.system.actuators]), self._parts.smooth
        mode = spring_mode(dyn, q) if self.system.elastic_joints else None
        springs = max(mode.frequency, mode.decay) if mode else 0.0
        if not viscous.any():
            return STABLE_STEP / springs if springs else np.inf
        J = np.atleast_2d(dyn.actuator_jacobian(q))
        rates = np.linalg.eigvals(np.linalg.solve(dyn.mass_matrix(q), J.T @ (viscous[:, None] * J)))
        return STABLE_STEP / max(float(np.abs(rates).max()), springs, 1e-12)

    def _holding(self, q: np.ndarray) -> np.ndarray:
        if self.system.elastic_joints:
            n = self.system.link_nq
            return np.abs(self._rigid.inverse_dynamics(q[:n], np.zeros(n), np.zeros(n)))
        return np.abs(self._parts.smooth.gravity(q)) if self.system.nu == self.system.nv else np.zeros(self.system.nu)

    @cached_property
    def _rigid(self) -> Dynamics:
        """The dynamics with rigid joints, by which the drives compute torques."""
        return FrictionParts(self.system.rigid).smooth

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
        bound, drives = self._bound, self.drives
        while (remaining := until - self.time) > 1e-9:
            q, v = self.q, self.v
            self._torque[:] = drives.torque(self.time + 1e-9, *self._measured(q, v), partial(self._forces, q, v))
            steps = int(np.ceil(remaining / self._step - 1e-9)) if drives.mode in ("", "torque") else 1
            if drives.mode:  # check the heartbeat again when it is due
                steps = max(1, min(steps, int(drives.remaining(self.time) / self._step) + 1))
            dt = min(self._step, remaining / steps)
            bound.tau[:], bound.dt[...] = self._torque, dt
            bound.brake[:] = self._brakes if drives.safe else 0.0
            for _ in range(steps):
                bound.state[:] = bound.state_next
                bound()
            self.time += steps * dt
        self.time = until

    def _forces(self, q: np.ndarray, v: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Return the torques for accelerations of the actuators."""
        if self.system.elastic_joints:
            n = self.system.link_nq
            rates = np.linalg.lstsq(self._rigid.actuator_jacobian(q[:n]), acceleration, rcond=None)[0]
            return self._rigid.inverse_dynamics(q[:n], v[:n], rates)
        if not self._at_joints:
            acceleration = np.linalg.lstsq(self._dyn.actuator_jacobian(q), acceleration, rcond=None)[0]
        return self._dyn.inverse_dynamics(q, v, acceleration)

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
        state.numbers[0], state.numbers[1] = now, self.drives.status
        state.q[:], state.v[:] = self._measured(numbers[self._blocks[0]], numbers[self._blocks[1]])
        state.tau[:], state.faults[:] = self._torque, self.drives.faults
        return True

    def write(self, command: JointCommand) -> None:
        """Set the command of the drives, from now on."""
        now = self.clock.now()
        self.advance(now)
        self.drives.write(command, now)
