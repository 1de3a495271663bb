"""Records as a real cabinet would make them: a path, followed on the simulated one by a loop, and what became of it.

record    what the loop logged along the path: t, q_, v_ (its estimates), qd_, vd_, ad_, code_, and as tau_ what was
          written to the converters, in N m or N at the actuators
truth     what the system behind the cabinet did at the same times: q_, v_, a_ (differences of v), and as tau_ what
          its motors gave from then on
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

import numpy as np

from appell.dynamics.moving import made_by, moving_dynamics
from appell.errors import SimulationError
from appell.hardware.cabinet.generic import wiring_of
from appell.hardware.cabinet.simulated import Imperfections, SimulatedCabinet
from appell.hardware.clock import VirtualClock
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.task import run_task, standard_plant, standard_servo
from appell.model.system import System
from appell.motion.path import Path
from appell.motion.record import Record
from appell.motion.titles import parse, record_names

KEPT = ("t", "q", "v", "qd", "vd", "ad", "code", "tau")
ORDINARY = Imperfections()


@dataclass(frozen=True)
class Recording:
    """What was logged along the path, and what really happened."""

    record: Record
    truth: Record


class Rig:
    """A servo and the simulated cabinet that it runs on, compiled once for many recordings.

    `model` is what the controller believes, the system itself if None; `bits` those of the converters.
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
    ):
        wiring = wiring_of(system)
        wiring = wiring if bits is None else replace(wiring, bits=bits)
        self.system, self.about = system, made_by(moving_dynamics(system, "control"))
        self.servo = standard_servo(system, law, frequency, period, wiring, model)
        self.plant = standard_plant(system, wiring, payload)

    def record(self, path: Path, seed: int = 0, imperfections: Imperfections = ORDINARY) -> Recording:
        """The path, approached from where the system stands, and followed."""
        clock, servo = VirtualClock(), self.servo
        cabinet = SimulatedCabinet(
            self.plant, clock, servo.wiring.start, imperfections=imperfections, seed=seed, step=servo.design.period
        )
        seen: list[np.ndarray] = []
        place = slice(0, 0)

        def reference(q: np.ndarray) -> Reference:
            nonlocal place
            wanted, ticks = Reference.approached(path, servo.design.period, q)
            place = slice(len(seen) + ticks.start, len(seen) + ticks.stop)
            return wanted

        def watch(loop: Loop) -> None:
            seen.append(np.concatenate([cabinet.bound.state_next[: 2 * self.system.nq], cabinet.torque]))

        with tempfile.TemporaryDirectory() as folder:
            loop = Loop(cabinet, servo, clock, log=FilePath(folder) / "run.log")
            outcome = run_task(loop, reference, after_tick=watch)
            loop.close()
            if not outcome.finished:
                raise SimulationError(f"the path was not followed to its end: {outcome.sentence}.")
            log = Record.read(FilePath(folder) / "run.log").part(place)
        return Recording(self._kept(log, seed), self._truth(log, np.array(seen), place))

    def _kept(self, log: Record, seed: int) -> Record:
        columns = [title for title in log.columns if parse(title)[0] in KEPT]
        data = log.data[:, [log.columns.index(title) for title in columns]].copy()
        data[:, 0] -= data[0, 0]
        about = self.about | {key: log.about[key] for key in ("law", "period")} | {"seed": seed}
        return Record(tuple(columns), data, about=about)

    def _truth(self, log: Record, seen: np.ndarray, place: slice) -> Record:
        n = self.system.nq
        q, v = seen[place, :n], seen[place, n : 2 * n]
        given = seen[place.start + 1 : place.stop + 1, 2 * n :]  # a torque is held after its tick
        blocks = {"q": q, "v": v, "a": np.gradient(v, log.t, axis=0), "tau": given}
        return Record.of(log.t - log.t[0], blocks, record_names(self.system), about=self.about)


def recorded(system: System, path: Path, model: System | None = None, seed: int = 0, **options) -> Record:
    """The record of a path on the simulated cabinet: `recorded(puma, path, imperfections=PERFECT, bits=16).tau`.

    Options as of `Rig` and of `Rig.record`.
    """
    imperfections = options.pop("imperfections", ORDINARY)
    return Rig(system, model, **options).record(path, seed, imperfections).record
