"""A complete task on a device: read, arm, find the exact position if needed, follow a reference, hold its end, stop.

The steps are the same for all devices and clocks; a callback after every tick can report the progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np

from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.startup import homing_motion
from appell.hardware.loop.supervisor import State

SETTLING_TIME_S = 0.3  # for which the end of a search or a task is held
MAX_IDLE_FACTOR = 10  # waiting time for states over the normal one
IDLE_TICKS = 5  # after the states have been read


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task: whether it was finished, the last state, the faults as text, ticks, and the log file."""

    finished: bool
    state: State
    sentence: str
    ticks: int
    log: FilePath | None


def run_task(
    loop: Loop,
    reference: Callable[[np.ndarray], Reference],
    calibrate: bool = True,
    after_tick: Callable[[Loop], object] | None = None,
    settle: float = SETTLING_TIME_S,
) -> Outcome:
    """Execute a task on a loop: arm, calibrate, follow a reference, hold its end and stop.

    Parameters
    ----------
    loop : Loop
    reference : callable
        `reference(q)` returns the reference from the configuration q; it is called once.
    calibrate : whether a device that needs it first moves to find its exact position, with laws that track a reference
    after_tick : called as `after_tick(loop)` after every tick
    settle : time in s for which the end of the reference is held

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import appell as ap
    >>> hw, robot, clock = ap.hardware, ap.load("planar-2r"), ap.hardware.VirtualClock()
    >>> arm = hw.SimulatedArm(robot, clock)
    >>> servo = hw.standard_servo(robot, arm.info)
    >>> loop = hw.Loop(arm, servo, clock)
    >>> outcome = hw.run_task(loop, hw.standard_motion(servo))
    >>> loop.close()
    >>> outcome.finished, outcome.sentence
    (True, 'no fault')
    """
    path = None if loop.journal is None else loop.journal.writer.path
    stopping = int(2.0 * (loop.supervisor.policy.stop_time or 0.0) / loop.period)
    travel = getattr(loop.device, "travel", None)
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

    def follow(samples: Reference, hold: float) -> bool:
        loop.start(samples)
        if not run(len(samples) + int(hold / loop.period), State.RUNNING):
            run(stopping, State.SAFE_STOP)
            return False
        loop.stop()
        run(stopping, State.SAFE_STOP)
        return loop.state is State.ARMED

    idle = loop.supervisor.policy.readings + IDLE_TICKS
    finished = run(idle, State.IDLE)
    for _ in range(MAX_IDLE_FACTOR * idle):  # a device that is slower than the loop, or that starts late
        finished = finished and (loop.ready or run(1, State.IDLE))
    if finished:
        loop.arm()
        if calibrate and travel is not None and loop.servo.tracks:
            finished = follow(homing_motion(loop.servo, travel, loop.position), SETTLING_TIME_S)
            if finished:
                loop.refine()
        finished = finished and follow(reference(loop.position), settle)
    return Outcome(finished, loop.state, loop.sentence, ticks, path)
