"""A task on a cabinet, from power-on to rest: idle, arm, find the index pulses, follow a reference, hold, stop.

The same steps on any hardware and clock; a callback after every tick can show how it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from appell.control.cabinet.drive import Wiring
from appell.control.cabinet.generic import generic_wiring
from appell.control.cabinet.puma600 import TORQUE_LIMIT, puma_600
from appell.control.cabinet.simulated import CabinetModel
from appell.control.law.design import Design
from appell.control.law.gains import Gains, critical
from appell.control.law.laws import find_law
from appell.control.loop.limits import Limits
from appell.control.loop.loop import Loop
from appell.control.loop.reference import Reference
from appell.control.loop.servo import Servo
from appell.control.loop.startup import index_search
from appell.control.loop.states import State, sentences
from appell.model.robot import Robot

SETTLE = 0.3  # s that a search or a task is held at its end
PUMA_START = (0.1, -0.7, 2.6, 0.2, 0.6, -0.3)


@dataclass(frozen=True)
class Outcome:
    """How a task went."""

    finished: bool
    state: State
    sentence: str
    ticks: int
    log: Path | None


def wiring_of(robot: Robot) -> Wiring:
    """The PUMA 600's for the PUMA, a generic one for other arms."""
    return puma_600(robot.joint_names) if robot.name == "puma" else generic_wiring(robot)


def standard_servo(
    robot: Robot,
    law: str = "tracking-integral",
    frequency: float = 20.0,
    period: float = 1e-3,
    wiring: Wiring | None = None,
) -> Servo:
    """A servo with all poles of the error at -frequency.

    Gains of torque laws are scaled by each joint's inertia, or so that half a radian of error calls for all its torque.
    """
    wiring = wiring or wiring_of(robot)
    known = find_law(law)
    arm = wiring.arm(robot)
    gains = critical(frequency, period, integral=known.integral)
    torque = np.minimum(TORQUE_LIMIT if robot.name == "puma" else np.inf, wiring.reachable_torque)
    if known.model != "motion":
        inertia = np.diag(np.array(arm.mass_matrix(standard_start(robot).tolist()), float))
        scale = np.maximum(inertia, torque / (0.5 * np.asarray(gains.kp)))
        gains = Gains(*(tuple((gain * scale).tolist()) for gain in (gains.kp, gains.kd, gains.ki)))
    design = Design(arm, gains, law=law, period=period, integral_limit=0.1)
    return Servo(design, wiring, Limits(wiring.column("lower"), wiring.column("upper"), torque=torque.tolist()))


def standard_start(robot: Robot) -> np.ndarray:
    return np.array(PUMA_START) if robot.name == "puma" else robot.start


def standard_plant(robot: Robot, wiring: Wiring, payload: float = 0.0) -> CabinetModel:
    """The arm behind the cabinet: with friction that sticks and, if wanted, a load that no model knows."""
    arm = wiring.arm(robot, stiction=1.2)
    return CabinetModel(arm.with_payload(payload, (0.0, 0.0, 0.1)) if payload else arm, wiring)


def run_task(
    loop: Loop,
    reference: Callable[[np.ndarray], Reference],
    calibrate: bool = True,
    after_tick: Callable[[Loop], object] | None = None,
    settle: float = SETTLE,
) -> Outcome:
    """Carry out a task; `reference` is asked once, with the position from which it is to start.

    Its end is held for `settle` seconds.
    """
    path = None if loop.journal is None else loop.journal.writer.path
    ticks = 0

    def run(count: int, state: State) -> bool:
        nonlocal ticks
        for _ in range(count):
            if loop.state is not state:
                return False
            loop.tick()
            ticks += 1
            if after_tick is not None:
                after_tick(loop)
        return loop.state is state

    def follow(wanted: Reference, hold: float) -> bool:
        loop.start(wanted)
        if not run(len(wanted) + int(hold / loop.period), State.RUNNING):
            run(int(2.0 * loop.supervisor.policy.stop_time / loop.period), State.SAFE_STOP)
            return False
        loop.stop()
        run(int(2.0 * loop.supervisor.policy.stop_time / loop.period), State.SAFE_STOP)
        return loop.state is State.ARMED

    finished = run(loop.supervisor.policy.readings + 5, State.IDLE)
    if finished:
        loop.arm()
        tracks = loop.servo.design.law.tracks
        if calibrate and tracks:
            finished = follow(index_search(loop.servo.wiring, loop.position, loop.period), SETTLE)
            if finished:
                loop.refine()
        finished = finished and follow(reference(loop.position), settle)
    return Outcome(finished, loop.state, sentences(loop.fault), ticks, path)
