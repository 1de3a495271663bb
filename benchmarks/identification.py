"""A million samples: reduction of a record of the PUMA in a stream, and a complete fit of a seven-axis arm; a payload.

    python benchmarks/identification.py [samples]

The record is generated in memory first and is not counted; the peak memory of the reduction is measured. The fit of the
Panda estimates all bodies and friction with their covariance on one core; its time is processor time, and its memory
includes the record. The payload of 1.3 kg on the Panda is estimated from logs of 10 s with noise, with ten seeds; their
torques are computed by Pinocchio.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np

from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.identify import (
    LeastSquares,
    Payload,
    base_parameters,
    identify_record,
    select_parameters,
    triangular_factors,
)
from appell.model.body import Body, welded
from appell.motion import Fourier, Record
from appell_lab.bench.machine import machine, versions
from appell_lab.references.oracle import Oracle

AIM = 5.0  # s for a million samples on two cores
FIT_AIM = 3.0  # s of processor time for a fit to a million samples on one core


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    robot = load("puma")
    base = base_parameters(robot)
    regressor = base.regressor.compile()
    rng = np.random.default_rng(0)
    q, v, a = (rng.normal(size=(samples, 6)) for _ in range(3))
    tau = Dynamics(robot).inverse_dynamics(q, v, a)
    figures = []
    with Peak() as peak:
        times = [_timed(lambda: triangular_factors(regressor, (q, v, a), tau)) for _ in range(3)]
    R = triangular_factors(regressor, (q[:20_000], v[:20_000], a[:20_000]), tau[:20_000]).weighted(np.ones(6))
    beta = np.linalg.solve(R[:-1, :-1], R[:-1, -1])
    error = float(np.abs(beta - base.values()).max() / np.abs(base.values()).max())
    figures.append(
        {"name": "puma/identification/qr", "samples": samples, "seconds": min(times), "aim": AIM,
         "extra_memory_mb": round(peak.megabytes, 1), "relative_error": error, "cores": os.cpu_count()}
    )  # fmt: skip
    print(f"qr      {min(times):6.2f} s  {peak.megabytes:6.1f} MB beside the record  relative error {error:.1e}")
    figures += [_fit("panda/fit", samples, 0.02), _fit("panda/fit with estimated widths", samples, None)]
    figures.append(_payload(seeds=10))
    result = {"machine": machine(), "versions": versions(), "figures": figures}
    path = Path(__file__).parent / "results" / "identification.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _fit(name: str, samples: int, width: float | None) -> dict:
    """Return the figures of a complete fit of the Panda on one core; the default is to estimate the widths."""
    parameter_set = select_parameters(load("panda"), friction=True, width=0.02)
    regressor, rng, n = parameter_set.base.regressor.compile(), np.random.default_rng(0), 7
    q, v, a = (rng.normal(size=(samples, n)) for _ in range(3))
    tau = 0.1 * rng.normal(size=(samples, n))
    for k in range(0, samples, 4096):
        tau[k : k + 4096] += regressor(*(x[k : k + 4096] for x in (q, v, a))) @ parameter_set.base.values()
    estimator = LeastSquares(load("panda"), friction=True, width=width, threads=1)
    estimator.fit(q[:5000], v[:5000], a[:5000], tau[:5000])  # compiles
    with Peak() as peak:
        start = time.process_time()
        estimator.fit(q, v, a, tau)
        seconds = time.process_time() - start
    error = float(np.abs((estimator.base_parameters_ - parameter_set.base.values()) / estimator.std_).max())
    record = sum(x.nbytes for x in (q, v, a, tau)) / 1e6
    print(f"{name}  {seconds:6.2f} s of processor time  {peak.megabytes:6.1f} MB beside {record:.0f} MB of samples")
    return {
        "name": name, "samples": samples, "seconds": seconds, "aim": FIT_AIM, "cores": 1,
        "extra_memory_mb": round(peak.megabytes, 1), "record_mb": round(record), "largest_deviations": error,
    }  # fmt: skip


def _payload(seeds: int) -> dict:
    """Return the largest errors of mass and centre of a load of 1.3 kg on the Panda, over several seeds."""
    robot, load_on_link = load("panda"), Body(1.3, (0.02, -0.03, 0.08), (0.004, 0.005, 0.002))
    oracle = Oracle(robot.with_bodies({"link7": welded(robot.bodies["link7"], load_on_link)}))
    masses, centres = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        size = 0.25 * rng.normal(size=(2, 5, robot.nv))
        motion = Fourier(0.1, *size, robot.start, 10.0).record(period=2e-3)
        tau = np.array([oracle.inverse_dynamics(*row) for row in zip(motion.q, motion.v, motion.a, strict=True)])
        tau += (0.05 * np.sqrt(np.mean(tau**2, axis=0)) + 0.1) * rng.normal(size=tau.shape)
        q = motion.q + 2e-5 * rng.normal(size=tau.shape)
        fit = Payload(robot, body="link7")
        identify_record(fit, Record.of(motion.t, {"q": q, "tau": tau}, robot.joint_names))
        masses.append(abs(fit.mass_ / 1.3 - 1.0))
        centres.append(float(np.linalg.norm(np.asarray(fit.com_) - (0.02, -0.03, 0.08))))
    print(f"payload: mass within {100 * max(masses):.2f} %, centre within {1e3 * max(centres):.2f} mm, {seeds} seeds")
    return {"name": "panda/payload", "seeds": seeds, "log_s": 10.0, "mass_errors": masses, "centre_errors_m": centres}


def _timed(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


class Peak:
    """Measures the growth of the resident memory of the process, sampled every few milliseconds."""

    def __enter__(self) -> Peak:
        self.start, self.top, self.done = _resident(), 0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.done.wait(0.005):
            self.top = max(self.top, _resident())

    def __exit__(self, *_) -> None:
        self.done.set()
        self.thread.join()
        self.megabytes = max(0, self.top - self.start) / 1e6


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
