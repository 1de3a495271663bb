"""One control step, set up for timing: from signals to torques and codes, as in a control loop."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from appell.describe.load import load
from appell.hardware.cabinet.hardware import PassiveHardware
from appell.hardware.cabinet.simulated import SimulatedCabinet
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.task import standard_plant, standard_servo


class ConstantReading(PassiveHardware):
    """Hardware that always returns the same reading, so that a tick contains only the loop and not the cabinet."""

    def __init__(self, servo: Servo, clock: VirtualClock, reading: np.ndarray):
        self.wiring, self._clock, self._reading = servo.wiring, clock, reading
        self.codes = np.zeros(servo.wiring.n)

    def read(self, into: np.ndarray) -> bool:
        """Write the constant reading, with the current time, into the array."""
        into[:] = self._reading
        into[0] = self._clock.time
        return True

    def write(self, codes: np.ndarray) -> None:
        """Store the codes."""
        self.codes[:] = codes


@dataclass(frozen=True)
class ControlStep:
    """Three things to time: the compiled step, a step with its arrays filled and read, and a tick of a loop."""

    compiled: Any
    names: dict[str, Any]
    loop: Loop

    STATEMENT = (
        "f.signals[:] = signals; f.reference[:] = reference; f.memory[:] = f.memory_next; f(); "
        "tau[:] = f.memory_next[tau_slice]; codes[:] = f.codes"
    )

    def step(self) -> None:
        """Execute `STATEMENT` as a function, like a loop written by a user."""
        f, names = self.compiled, self.names
        f.signals[:] = names["signals"]
        f.reference[:] = names["reference"]
        f.memory[:] = f.memory_next
        f()
        names["tau"][:] = f.memory_next[names["tau_slice"]]
        names["codes"][:] = f.codes


def puma_control_step() -> ControlStep:
    """Return the control step of the PUMA under tracking control with integral action, in operation."""
    robot = load("puma")
    servo, clock = standard_servo(robot), VirtualClock()
    cabinet = SimulatedCabinet(standard_plant(robot, servo.wiring), clock, servo.wiring.start)
    signals = np.zeros(servo.layout.size)
    cabinet.read(signals)
    loop = Loop(ConstantReading(servo, clock, signals), servo, clock)
    loop.run(loop.supervisor.policy.readings)
    loop.arm()
    loop.start(Reference.hold(loop.position, loop.period, 1.0))
    loop.tick()
    bound, n = servo.new_bound(), servo.wiring.n
    bound.offset[:] = loop._tick.offset
    bound.memory_next[:n] = loop.position
    bound.switches[:] = (1.0, 0.0, 1.0)
    reference = np.zeros((3, n))
    reference[0] = loop.position
    names = {"f": bound, "signals": signals, "reference": reference, "tau": np.zeros(n), "codes": np.zeros(n)}
    names["tau_slice"] = servo.memory.at["tau"]
    return ControlStep(bound, names, loop)


def median_seconds(call, runs: int = 2000) -> float:
    """Return the median time of single calls, including the overhead of the clock, s."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return statistics.median(times)
