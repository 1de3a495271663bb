"""One control step, set up for timing: from a joint state to torques, as in a control loop."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from appell.describe.load import load
from appell.hardware.cabinet.signals import cabinet_info
from appell.hardware.cabinet.standard_wirings import wiring_of
from appell.hardware.clock import VirtualClock
from appell.hardware.device import DeviceInfo, JointCommand, JointState
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.defaults import standard_servo
from appell.hardware.loop.reference import Reference


class ConstantState:
    """A device that always returns the same state, so that a tick contains only the loop and not the robot."""

    def __init__(self, info: DeviceInfo, clock: VirtualClock, q: np.ndarray):
        self.info, self._clock = info, clock
        self._state = JointState(info)
        self._state.q[:] = q
        self.tau = np.zeros(len(q))

    def read(self, state: JointState) -> bool:
        """Write the constant state, with the current time."""
        state.numbers[:] = self._state.numbers
        state.numbers[0] = self._clock.time
        return True

    def write(self, command: JointCommand) -> None:
        """Store the torques."""
        self.tau[:] = command.tau

    def enable(self, mode: str) -> None:
        """Have no effect."""

    def open(self) -> None:
        """Have no effect."""

    disable = clear = close = open


@dataclass(frozen=True)
class ControlStep:
    """Three things to time: the compiled step, a step with its arrays filled and read, and a tick of a loop."""

    compiled: Any
    names: dict[str, Any]
    loop: Loop

    STATEMENT = (
        "f.state[:] = state; f.reference[:] = reference; f.memory[:] = f.memory_next; f(); tau[:] = f.command[torque]"
    )

    def step(self) -> None:
        """Execute `STATEMENT` as a function, like a loop written by a user."""
        f, names = self.compiled, self.names
        f.state[:] = names["state"]
        f.reference[:] = names["reference"]
        f.memory[:] = f.memory_next
        f()
        names["tau"][:] = f.command[names["torque"]]


def puma_control_step() -> ControlStep:
    """Return the control step of the PUMA under tracking control with integral action, in operation."""
    robot, clock = load("puma"), VirtualClock()
    wiring = wiring_of(robot)
    info, start = cabinet_info(wiring), np.array(wiring.start)
    servo = standard_servo(robot, info)
    loop = Loop(ConstantState(info, clock, start), servo, clock)
    loop.run(loop.supervisor.policy.readings)
    loop.arm()
    loop.start(Reference.hold(loop.position, loop.period, 1.0))
    loop.tick()
    bound, n = servo.new_bound(), wiring.n
    bound.memory_next[:n] = loop.position
    bound.switches[:] = (1.0, 0.0, 1.0)
    state, reference = np.zeros(servo.layout.size), np.zeros((3, n))
    state[servo.layout.at["q"]] = reference[0] = loop.position
    names = {"f": bound, "state": state, "reference": reference, "tau": np.zeros(n)}
    names["torque"] = slice(2 * n, 3 * n)
    return ControlStep(bound, names, loop)


def median_seconds(call, runs: int = 2000) -> float:
    """Return the median time of single calls, including the overhead of the clock, s."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return statistics.median(times)
