"""A record as a real cabinet would make it: counts for positions, steps for torques, noise on what the motors give.

    encoder    whole counts: `COUNTS` lines a motor revolution, four edges each, the actuator's gear
    velocity   the controller's own affair (see `TrackingLaw`); it is not logged
    torque     what the converter gives: `BITS` over ±10 V, of which 10 V stand for the actuator's limit; clipped there
    noise      added to the torque on its way to the joint, white, `NOISE` of the limit; the log does not see it

The record has the columns of any other, t, q_<coordinate>, tau_<actuator>; that of a real cabinet takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.identify import ParameterMotion, Sought, TrackingLaw, seek
from appell.model.system import System
from appell.motion.names import record_names
from appell.motion.path import Path
from appell.motion.record import Record

COUNTS = (200, 200, 250, 250, 250, 250)  # lines of a PUMA's encoders, Valera et al. 2003
BITS = 12
NOISE = 0.01


def recorded(system: System, path: Path, *, model: Sought, period: float = 1e-3, seed: int = 0) -> Record:
    """A system made to follow a path by a controller that knows it as `model` has it."""
    return recordings(system, path, model=model, period=period, seeds=(seed,))[0]


def recordings(system: System, path: Path, *, model: Sought, period: float, seeds: Sequence[int]) -> list[Record]:
    """The same for several seeds, simulated as one batch."""
    plant, control = seek(system, friction=True, rotor=True).base, TrackingLaw.along(model, path, period)
    generators = [np.random.default_rng(seed) for seed in seeds]
    full, quantum, grain = limits(system), quantum_of(system), resolution(system)
    start = np.broadcast_to(control.q[0], (len(seeds), system.nq))
    steps = len(control.q)
    disturbance = np.stack([rng.normal(size=(steps, system.nu)) for rng in generators], axis=1) * NOISE * full
    shift = np.stack([rng.uniform(-0.5, 0.5, system.nq) for rng in generators])  # where the counts begin
    counted, given = np.empty((steps, *start.shape)), np.empty((steps, *start.shape))
    law = control.start()

    def torque(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        counted[k] = grain * np.round(q / grain + shift) - grain * shift
        wanted = np.clip(law(k, counted[k], v), -full, full)
        given[k] = quantum * np.round(wanted / quantum)
        return given[k] + disturbance[k]

    ParameterMotion(plant, plant.values()).run(start, np.broadcast_to(control.v[0], start.shape), steps, period, torque)
    t, names = period * np.arange(steps), record_names(system)
    return [
        Record.of(
            t, {"q": counted[:, i], "tau": given[:, i]}, names, about={"robot": system.name, "seed": int(seed)}
        )
        for i, seed in enumerate(seeds)
    ]  # fmt: skip


def limits(system: System) -> np.ndarray:
    return np.array([own.torque_limit for own in system.actuators])


def resolution(system: System) -> np.ndarray:
    """The angle of one count."""
    return 2.0 * np.pi / (4.0 * np.array(COUNTS) * np.array([own.gear for own in system.actuators]))


def quantum_of(system: System) -> np.ndarray:
    """The torque of one step of the converter."""
    return 2.0 * limits(system) / (2**BITS - 1)
