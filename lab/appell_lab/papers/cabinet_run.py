"""A task on the simulated cabinet of the PUMA 600, from power-on to rest, and the references of Valera's Figure 5."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.control.laws import Law
from appell.errors import SimulationError
from appell.hardware.cabinet.signals import cabinet_info
from appell.hardware.cabinet.simulated import SimulatedCabinet, standard_plant
from appell.hardware.cabinet.standard_wirings import wiring_of
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.defaults import standard_servo
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.task import run_task
from appell.motion import Path, Ramp, Record, Spline

FREQUENCY = {"point-to-point": 8.0}  # 1/s; a jump of half a radian with poles at -20/s would be too fast for the arm
CABINET_SETTINGS: dict[str, Any] = {
    "stop_damping": 25.0,
    "velocity": 3.0,
    "following": 0.05,
}  # of the PUMA's cabinet: 1/s, rad/s, rad
HOLD = 3.0  # s at the end of a motion with a load
FOLLOWING_LIMIT = 0.5  # rad: following error at which a printed law is stopped, ten times the standard limit
DISPLACEMENT = np.array([0.6, -0.4, -0.4, 0.5, -0.5, 0.6])  # rad


def cabinet_run(
    robot,
    law: str,
    motion: Callable[[np.ndarray], Path],
    start=None,
    payload: float = 0.0,
    printed: Law | None = None,
) -> Record:
    """Run a motion on the simulated cabinet and return its log.

    Parameters
    ----------
    robot : System
        The robot of the cabinet and of the controller's model.
    law : str
        Name of the control law.
    motion : callable
        Returns the path for the configuration in which the motion starts.
    start : array, optional
        Initial configuration; by default that of the wiring.
    payload : float
        Mass at the tool in kg that the model does not include.
    printed : Law, optional
        Another form of the law with the same gains; it may have a large following error.

    Returns
    -------
    Record
        The log of the control loop.

    Raises
    ------
    SimulationError
        If the loop stops the motion.
    """
    wiring, clock = wiring_of(robot), VirtualClock()
    servo = standard_servo(
        robot, cabinet_info(wiring), law=law, frequency=FREQUENCY.get(law, 20.0), start=wiring.start, **CABINET_SETTINGS
    )
    if printed is not None:
        guard = replace(servo.guard, following=FOLLOWING_LIMIT)
        servo = Servo(replace(servo.design, law=printed), servo.info, guard)
    period = servo.design.period
    cabinet = SimulatedCabinet(standard_plant(robot, wiring, payload), clock, wiring.start if start is None else start)

    def reference(q: np.ndarray) -> Reference:
        trajectory = motion(q)
        if servo.design.law.tracks:
            return Reference.sampled(trajectory, period)
        return Reference.hold(trajectory(trajectory.duration)[0], period, trajectory.duration)

    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(cabinet, servo, clock, log=FilePath(folder) / "run.log")
        outcome = run_task(loop, reference, settle=HOLD if payload else 0.3)
        loop.close()
        if not outcome.finished:
            raise SimulationError(f"the run of law '{law}' was stopped: {outcome.sentence}.")
        return Record.read(FilePath(folder) / "run.log")


def ramp(q: np.ndarray) -> Ramp:
    return Ramp(q, q + DISPLACEMENT, 0.6, 2.0)


def spline(q: np.ndarray) -> Spline:
    return Spline([0.0, 1.0, 2.0, 3.0], [q, q + DISPLACEMENT, q + 0.3 * DISPLACEMENT, q + 0.8 * DISPLACEMENT], degree=5)
