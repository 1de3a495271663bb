"""A record as a real cabinet would make it: counts for positions, steps for torques, noise on what the motors give.

    encoder    whole counts: `counts` lines a motor revolution, four edges each, `gears` motor turns a joint turn
    velocity   the controller's own affair (see `forward.Tracking`); it is not logged
    torque     what the converter gives: `bits` over ±10 V, of which 10 V stand for `torque`; clipped there
    noise      added to the torque on its way to the joint, white, `noise` of the full torque; the log does not see it

The log has the columns of any log, t, q_<joint>, tau_<joint>; that of a real cabinet takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.identify.base.base import BaseParameters
from appell.identify.forward import Forward, Tracking
from appell.motion.record import Record

# a PUMA 560: lines of its encoders (Valera et al. 2003); gear ratios and largest joint torques are plausible values,
# not checked against a source
PUMA_COUNTS = (200, 200, 250, 250, 250, 250)
PUMA_GEARS = (62.61, 107.82, 53.71, 76.04, 71.92, 76.69)
PUMA_TORQUE = (97.6, 186.4, 89.4, 24.2, 20.1, 21.3)


@dataclass(frozen=True, eq=False)
class Cabinet:
    """The signal chain between a controller and a robot; one number a joint."""

    counts: tuple[float, ...] = PUMA_COUNTS
    gears: tuple[float, ...] = PUMA_GEARS
    torque: tuple[float, ...] = PUMA_TORQUE
    bits: int = 12
    noise: float = 0.01

    @property
    def resolution(self) -> np.ndarray:
        """The angle of one count."""
        return 2.0 * np.pi / (4.0 * np.array(self.counts) * np.array(self.gears))

    @property
    def quantum(self) -> np.ndarray:
        """The torque of one step of the converter."""
        return 2.0 * np.array(self.torque) / (2**self.bits - 1)

    def record(
        self, base: BaseParameters, parameters, control: Tracking, seeds=(0,)
    ) -> list[tuple[Record, dict[str, np.ndarray]]]:
        """A log for every seed, and beside it the true motion and torque: q, v, a, tau."""
        model = base.model
        seeds = tuple(seeds)
        generators = [np.random.default_rng(seed) for seed in seeds]
        full, quantum, grain = np.array(self.torque), self.quantum, self.resolution
        start = np.broadcast_to(control.q[0], (len(seeds), model.nq))
        steps = len(control.q)
        disturbance = np.stack([rng.normal(size=(steps, model.nv)) for rng in generators], axis=1) * self.noise * full
        shift = np.stack([rng.uniform(-0.5, 0.5, model.nv) for rng in generators])  # where the counts begin
        counted, given = np.empty((steps, *start.shape)), np.empty((steps, *start.shape))
        law = control.start()

        def torque(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            counted[k] = grain * np.round(q / grain + shift) - grain * shift
            wanted = np.clip(law(k, counted[k], v), -full, full)
            given[k] = quantum * np.round(wanted / quantum)
            return given[k] + disturbance[k]

        plant = Forward(base, base.values(parameters))
        q, v, a, tau = plant.run(start, np.broadcast_to(control.v[0], start.shape), steps, control.period, torque)
        t = control.period * np.arange(steps)
        return [
            (
                Record.of(
                    t,
                    {"q": counted[:, i], "tau": given[:, i]},
                    model.velocity_names,
                    about={"robot": model.name, "seed": seed},
                ),
                {"q": q[:, i], "v": v[:, i], "a": a[:, i], "tau": tau[:, i]},
            )
            for i, seed in enumerate(seeds)
        ]
