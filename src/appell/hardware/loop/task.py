"""A complete task on a cabinet: power on, arm, search the index pulses, follow a reference, hold its end, stop.

The steps are the same for all hardware and clocks; a callback after every tick can report the progress.
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
from appell.hardware.cabinet.standard_wirings import wiring_of
from appell.motion.working_limits import coordinate_ranges
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.startup import index_search
from appell.hardware.loop.supervisor import Guard, State, sentences
from appell.model.system import System
from appell.model.variations import with_stiction

SETTLING_TIME_S = 0.3  # for which the end of a search or a task is held
STICTION = 1.2  # ratio of static to Coulomb friction of a plant without a described static level
POTENTIOMETER_LIMIT = {"rad": 0.06, "m": 0.02}  # difference between encoder and potentiometer
IDLE_TICKS = 5  # after the potentiometers have been read


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task: whether it was finished, the last state, the faults as text, ticks, and the log file."""

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
    """Return a servo with all poles of the error at -frequency.

    The gains of laws that command torques are scaled by the inertia of each coordinate, or such that an error of half a
    radian demands the full torque if that is larger.

    Parameters
    ----------
    system : System
        The system behind the cabinet.
    law : str
        Name of the control law; see `control.LAWS`.
    frequency : float
        In 1/s.
    period : float
        In s.
    wiring : Wiring, optional
        By default `wiring_of(system)`.
    model : System, optional
        The model of the controller; by default the system itself.

    Examples
    --------
    >>> import appell as ap
    >>> servo = ap.hardware.standard_servo(ap.load("puma"), law="tracking", frequency=15.0)
    >>> servo.design.law.name, servo.wiring.name
    ('tracking', 'the PUMA 600 cabinet')
    """
    wiring, known = wiring or wiring_of(controllable(system)), find_law(law)
    modelled = system if model is None else model
    for kind in ("coordinate_names", "actuator_names"):
        if getattr(system, kind) != getattr(modelled, kind):
            raise ArgumentError(
                f"the model has {kind.replace('_', ' ')} {', '.join(getattr(modelled, kind))}; {system.owner} has "
                f"{', '.join(getattr(system, kind))}.",
                expected="a description of the same system",
            )
    gains = critical(frequency, period, integral=known.integral)
    torque = wiring.reachable_torque
    if known.model != "motion":
        dyn = Design(modelled, Gains(1.0, 1.0), period=period).parts.smooth
        start = np.array(wiring.start)
        inertia, reach = np.diag(dyn.mass_matrix(start)), np.abs(dyn.actuator_jacobian(start)).T @ torque
        scale = np.maximum(inertia, reach / (0.5 * np.asarray(gains.kp)))
        gains = Gains(*(tuple((gain * scale).tolist()) for gain in (gains.kp, gains.kd, gains.ki)))
    design = Design(modelled, gains, law=law, period=period, integral_limit=0.1)
    return Servo(design, wiring, standard_guard(system, wiring))


def standard_guard(system: System, wiring: Wiring) -> Guard:
    """Return the limits of a system: ranges of its coordinates or potentiometers, and torques of its actuators."""
    lower, upper = wiring.column("lower"), wiring.column("upper")
    if system.is_closed_form:
        lower, upper = coordinate_ranges(system).T
    gaps = [POTENTIOMETER_LIMIT[unit] for unit in system.actuator_units]
    return Guard(lower, upper, potentiometer=gaps, torque=wiring.reachable_torque.tolist())


def standard_plant(system: System, wiring: Wiring, payload: float = 0.0) -> CabinetModel:
    """Return the cabinet model of a system with stiction and, optionally, a payload in kg that its model lacks."""
    real = with_stiction(system, STICTION)
    return CabinetModel(real.with_payload(payload, com=(0.0, 0.0, 0.1)) if payload else real, wiring)


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
    calibrate : bool
        Whether to search the index pulses first, with laws that track a reference.
    after_tick : callable, optional
        Called as `after_tick(loop)` after every tick.
    settle : float
        Time in s for which the end of the reference is held.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import appell as ap
    >>> hw, robot = ap.hardware, ap.load("planar-2r")
    >>> servo, clock = hw.standard_servo(robot), hw.VirtualClock()
    >>> cabinet = hw.SimulatedCabinet(hw.standard_plant(robot, servo.wiring), clock, servo.wiring.start)
    >>> loop = hw.Loop(cabinet, servo, clock)
    >>> outcome = hw.run_task(loop, lambda q: hw.Reference.sampled(ap.motion.Ramp(q, q + 0.2, 0.8, 3.0), 1e-3))
    >>> loop.close()
    >>> outcome.finished, outcome.sentence
    (True, 'no fault')
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

    def follow(samples: Reference, hold: float) -> bool:
        loop.start(samples)
        if not run(len(samples) + int(hold / loop.period), State.RUNNING):
            run(int(2.0 * loop.supervisor.policy.stop_time / loop.period), State.SAFE_STOP)
            return False
        loop.stop()
        run(int(2.0 * loop.supervisor.policy.stop_time / loop.period), State.SAFE_STOP)
        return loop.state is State.ARMED

    finished = run(loop.supervisor.policy.readings + IDLE_TICKS, State.IDLE)
    if finished:
        loop.arm()
        if calibrate and loop.servo.design.law.tracks:
            finished = follow(index_search(loop.servo, loop.position), SETTLING_TIME_S)
            if finished:
                loop.refine()
        finished = finished and follow(reference(loop.position), settle)
    return Outcome(finished, loop.state, sentences(loop.fault), ticks, path)
