"""A task on a cabinet, from power-on to rest: idle, arm, find the index pulses, follow a reference, hold, stop.

The same steps on any hardware and clock; a callback after every tick can show how it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np

from appell.control.axes import controllable
from appell.control.design import Design
from appell.control.gains import Gains, critical
from appell.control.laws import find_law
from appell.errors import ArgumentError
from appell.hardware.cabinet.simulated import CabinetModel
from appell.hardware.cabinet.standard_wirings import coordinate_ranges, wiring_of
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.startup import index_search
from appell.hardware.loop.supervisor import Guard, State, sentences
from appell.model.system import System
from appell.model.variations import with_stiction

SETTLE = 0.3  # s that a search or a task is held at its end
STICTION = 1.2  # static over Coulomb friction of a plant, where nobody knows better
DOUBT = {"rad": 0.06, "m": 0.02}  # between encoder and potentiometer


@dataclass(frozen=True)
class Outcome:
    """How a task went."""

    finished: bool
    state: State
    sentence: str
    ticks: int
    log: FilePath | None


def standard_servo(
    system: System,
    law: str = "tracking-integral",
    frequency: float = 20.0,
    period: float = 1e-3,
    wiring: Wiring | None = None,
    model: System | None = None,
) -> Servo:
    """A servo with all poles of the error at -frequency, on the system's own wiring; `model` is what it believes.

    Gains of torque laws are scaled by each coordinate's inertia, or so that half a radian of error calls for all its
    torque.
    """
    wiring, known = wiring or wiring_of(controllable(system)), find_law(law)
    believed = system if model is None else model
    for kind in ("coordinate_names", "actuator_names"):
        if getattr(system, kind) != getattr(believed, kind):
            raise ArgumentError(
                f"the model has {kind.replace('_', ' ')} {', '.join(getattr(believed, kind))}; {system.owner} has "
                f"{', '.join(getattr(system, kind))}.",
                expected="a description of the same system",
            )
    gains = critical(frequency, period, integral=known.integral)
    torque = wiring.reachable_torque
    if known.model != "motion":
        dyn = Design(believed, Gains(1.0, 1.0), period=period).parts.smooth
        start = np.array(wiring.start)
        inertia, reach = np.diag(dyn.mass_matrix(start)), np.abs(dyn.actuator_jacobian(start)).T @ torque
        scale = np.maximum(inertia, reach / (0.5 * np.asarray(gains.kp)))
        gains = Gains(*(tuple((gain * scale).tolist()) for gain in (gains.kp, gains.kd, gains.ki)))
    design = Design(believed, gains, law=law, period=period, integral_limit=0.1)
    return Servo(design, wiring, standard_guard(system, wiring))


def standard_guard(system: System, wiring: Wiring) -> Guard:
    """The ranges of a mechanism's coordinates, or of an arm's potentiometers; torques as the actuators have them."""
    lower, upper = wiring.column("lower"), wiring.column("upper")
    if system.is_closed_form:
        lower, upper = coordinate_ranges(system).T
    doubt = [DOUBT[unit] for unit in system.actuator_units]
    return Guard(lower, upper, potentiometer=doubt, torque=wiring.reachable_torque.tolist())


def standard_plant(system: System, wiring: Wiring, payload: float = 0.0) -> CabinetModel:
    """The system behind the cabinet: with friction that sticks and, if wanted, a load that no model knows."""
    real = with_stiction(system, STICTION)
    return CabinetModel(real.with_payload(payload, com=(0.0, 0.0, 0.1)) if payload else real, wiring)


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
        if calibrate and loop.servo.design.law.tracks:
            finished = follow(index_search(loop.servo, loop.position), SETTLE)
            if finished:
                loop.refine()
        finished = finished and follow(reference(loop.position), settle)
    return Outcome(finished, loop.state, sentences(loop.fault), ticks, path)
