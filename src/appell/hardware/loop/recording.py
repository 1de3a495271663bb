"""Records of a path that a control loop follows on a simulated cabinet, for identification.

record    columns that the loop logged along the path: t, q_*, v_* (estimates), qd_*, vd_*, ad_*, and tau_*, the
          commanded torques in N m or N at the actuators
truth     true motion of the system at the same times: q_*, v_*, a_* (differences of v), and tau_*, the torques of the
          motors during the following period
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

import numpy as np

from appell.dynamics.moving import made_by, moving_dynamics
from appell.errors import SimulationError
from appell.hardware.cabinet.signals import cabinet_info
from appell.hardware.cabinet.simulated import Imperfections, SimulatedCabinet, standard_plant
from appell.hardware.cabinet.standard_wirings import wiring_of
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.defaults import standard_servo
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.task import run_task
from appell.model.system import System
from appell.motion.path import Path
from appell.motion.record import Record
from appell.motion.titles import parse, record_names

RECORDED_QUANTITIES = ("t", "q", "v", "qd", "vd", "ad", "tau")
DEFAULT_IMPERFECTIONS = Imperfections()


@dataclass(frozen=True)
class Recording:
    """The log along the path, and the true motion."""

    record: Record
    truth: Record


class Rig:
    """A servo and a simulated cabinet, compiled once for several recordings.

    Parameters
    ----------
    system : the system behind the cabinet
    model : the model of the controller; by default the system itself
    law : name of the control law
    frequency : all poles of the error are at -frequency, in 1/s
    period : in s
    payload : mass in kg at the tool that the model does not contain
    bits : resolution of the converters; by default that of the wiring
    stop_damping : damping of a safe stop in 1/s; by default that of `standard_servo`
    """

    def __init__(
        self,
        system: System,
        model: System | None = None,
        *,
        law: str = "tracking-integral",
        frequency: float = 20.0,
        period: float = 1e-3,
        payload: float = 0.0,
        bits: int | None = None,
        stop_damping: float | None = None,
    ):
        wiring = wiring_of(system)
        wiring = wiring if bits is None else replace(wiring, bits=bits)
        self.system, self.about = system, made_by(moving_dynamics(system, "control"))
        self.wiring, self.plant = wiring, standard_plant(system, wiring, payload)
        self.servo = standard_servo(
            system,
            cabinet_info(wiring),
            law=law,
            frequency=frequency,
            period=period,
            model=model,
            stop_damping=stop_damping,
        )

    def record(self, path: Path, seed: int = 0, imperfections: Imperfections = DEFAULT_IMPERFECTIONS) -> Recording:
        """Move to the start of the path, follow it, and return the log and the true motion along it.

        Parameters
        ----------
        path : Path
        seed : seed of imperfections and noise
        imperfections : Imperfections

        Raises
        ------
        SimulationError
            If a fault stops the arm before the end of the path.
        """
        clock, servo = VirtualClock(), self.servo
        cabinet = SimulatedCabinet(
            self.plant, clock, self.wiring.start, imperfections=imperfections, seed=seed, step=servo.design.period
        )
        states: list[np.ndarray] = []
        rows = slice(0, 0)

        def reference(q: np.ndarray) -> Reference:
            nonlocal rows
            samples, ticks = Reference.approached(path, servo.design.period, q)
            rows = slice(len(states) + ticks.start, len(states) + ticks.stop)
            return samples

        def watch(loop: Loop) -> None:
            states.append(np.concatenate([cabinet.bound.state_next[: 2 * self.system.nq], cabinet.torque]))

        with tempfile.TemporaryDirectory() as folder:
            loop = Loop(cabinet, servo, clock, log=FilePath(folder) / "run.log")
            outcome = run_task(loop, reference, after_tick=watch)
            loop.close()
            if not outcome.finished:
                raise SimulationError(f"the path was not completed: {outcome.sentence}.")
            log = Record.read(FilePath(folder) / "run.log").part(rows)
        return Recording(self._record(log, seed), self._truth(log, np.array(states), rows))

    def _record(self, log: Record, seed: int) -> Record:
        columns = [title for title in log.columns if parse(title)[0] in RECORDED_QUANTITIES]
        data = log.data[:, [log.columns.index(title) for title in columns]].copy()
        data[:, 0] -= data[0, 0]
        about = self.about | {key: log.about[key] for key in ("law", "period")} | {"seed": seed}
        return Record(tuple(columns), data, about=about)

    def _truth(self, log: Record, states: np.ndarray, rows: slice) -> Record:
        n = self.system.nq
        q, v = states[rows, :n], states[rows, n : 2 * n]
        tau = states[rows.start + 1 : rows.stop + 1, 2 * n :]  # a torque is held after its tick
        blocks = {"q": q, "v": v, "a": np.gradient(v, log.t, axis=0), "tau": tau}
        return Record.of(log.t - log.t[0], blocks, record_names(self.system), about=self.about)


def recorded(system: System, path: Path, model: System | None = None, seed: int = 0, **options) -> Record:
    """Return the record of a path that a loop follows on a simulated cabinet.

    recorded(puma, path, imperfections=PERFECT, bits=16).tau

    Parameters
    ----------
    system : the system behind the cabinet
    path : Path
    model : the model of the controller; by default the system itself
    seed : seed of imperfections and noise
    **options
        `imperfections`, and the options of `Rig`.
    """
    imperfections = options.pop("imperfections", DEFAULT_IMPERFECTIONS)
    return Rig(system, model, **options).record(path, seed, imperfections).record
