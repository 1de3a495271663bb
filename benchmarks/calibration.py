"""Calibration of five arms of example-robot-data from 40 simulated positions with 0.05 mm noise, with many seeds.

    python benchmarks/calibration.py [seeds]

The RMS error of the target at held-out poses must be below 0.1 mm for every seed; the share of single poses below
0.1 mm is stated too. 95 % intervals must contain the true values in nine of ten cases. On one arm, an independent
Gauss-Newton solver on Pinocchio must give the same predictions.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from appell import identify
from appell_lab.bench.machine import machine, versions
from appell_lab.campaigns.calibration import ARMS, NOISE_M, Arm, calibrated, gauss_newton, plan


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    figures, start = [], time.process_time()
    for name in ARMS:
        outcomes = [calibrated(name, seed) for seed in range(seeds)]
        covered = np.array([o.covered for o in outcomes])
        figures.append(
            {
                "robot": name,
                "axes": len(plan(name).geometry.coordinates),
                "parameters": covered.shape[1],
                "described_rms_mm": 1e3 * float(np.mean([o.described for o in outcomes])),
                "held_out_rms_mm": 1e3 * float(np.sqrt(np.mean([o.error**2 for o in outcomes]))),
                "held_out_rms_worst_seed_mm": 1e3 * max(o.error for o in outcomes),
                "held_out_share_below_0.1_mm": float(np.mean([o.within for o in outcomes])),
                "expected_rms_mm": 1e3 * NOISE_M * (covered.shape[1] / len(plan(name).q)) ** 0.5,
                "held_out_largest_mm": 1e3 * max(o.largest for o in outcomes),
                "held_out_largest_without_noise_mm": 1e3 * max(o.exact for o in outcomes),
                "covered": float(covered.mean()),
                "covered_least_of_a_parameter": float(covered.mean(axis=0).min()),
            }
        )
        print(
            "  ".join(f"{key} {x if isinstance(x, (str, int)) else format(x, '.4g')}" for key, x in figures[-1].items())
        )
    calibrations = 2 * seeds * len(ARMS)
    result = {
        "machine": machine(),
        "versions": versions(),
        "seeds": seeds,
        "noise_mm": 1e3 * NOISE_M,
        "seconds_per_calibration": (time.process_time() - start) / calibrations,
        "figures": figures,
        "gauss_newton_difference_mm": 1e3 * _difference("panda"),
    }
    print(f"difference from Gauss-Newton on Pinocchio {result['gauss_newton_difference_mm']:.3g} mm")
    path = Path(__file__).parent / "results" / "calibration.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _difference(name: str) -> float:
    """Return the largest difference between the predictions of both solvers at held-out poses, in m."""
    rng, poses, described = np.random.default_rng(0), plan(name), Arm.described(name)
    truth = described.with_errors(rng)
    points = truth.positions(poses.q) + NOISE_M * rng.normal(size=(len(poses.q), 3))
    geometry = identify.geometric_parameters(poses.geometry.robot, ARMS[name])
    held_out = geometry.sample(200, rng)
    ours = identify.calibrate(geometry, poses.q, points).predict(held_out)[:, :3, 3]
    theirs = gauss_newton(described, poses.q, points).positions(held_out)
    return float(np.linalg.norm(ours - theirs, axis=1).max())


if __name__ == "__main__":
    main()
