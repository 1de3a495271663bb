"""An iiwa identified from logs of Pinocchio, three excitations by three noises by many seeds: python
benchmarks/iiwa_identification.py [seeds].

Masses must not be further from the truth than those of the description, held-out torques not worse predicted, and 95 %
intervals of friction must hold the truth in nine of ten cases.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from appell_lab.bench.machine import machine, versions
from appell_lab.campaigns.iiwa import EXCITATIONS, NOISE, IdentifiedArm, Case, identified


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    start, outcomes = time.process_time(), []
    for seed in range(seeds):
        outcomes += [identified(Case(excitation, noise, seed)) for excitation in EXCITATIONS for noise in NOISE]
        print(f"seed {seed + 1} of {seeds}", flush=True)
    figures = [_figures("all", outcomes)]
    for excitation in EXCITATIONS:
        for noise in NOISE:
            some = [o for o in outcomes if (o.case.excitation, o.case.noise) == (excitation, noise)]
            figures.append(_figures(f"{excitation}, {noise} noise", some))
    for figure in figures:
        print("  ".join(f"{key} {x if isinstance(x, (str, int)) else format(x, '.3g')}" for key, x in figure.items()))
    seconds = (time.process_time() - start) / len(outcomes)
    result = {"machine": machine(), "versions": versions(), "seconds_a_case": seconds, "figures": figures}
    path = Path(__file__).parent / "results" / "iiwa-identification.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _figures(name: str, outcomes: list[IdentifiedArm]) -> dict[str, str | int | float]:
    """What is claimed of some cases, in numbers."""
    friction = {kind: float(np.mean([o.covered[kind] for o in outcomes])) for kind in outcomes[0].covered}
    return {
        "name": name,
        "cases": len(outcomes),
        "mass_error_rms": float(np.sqrt(np.mean([o.masses**2 for o in outcomes]))),
        "mass_error_rms_described": float(np.sqrt(np.mean([o.described**2 for o in outcomes]))),
        "mass_further_worst": max(o.further for o in outcomes),
        "mass_ratio_worst": max(o.worst_ratio for o in outcomes),
        "held_out_over_described_worst": max(o.error / o.error_described for o in outcomes),
        "held_out_over_bodies_worst": max(o.error / o.error_bodies for o in outcomes),
        **{f"covered_{kind}": share for kind, share in friction.items()},
        "covered_friction": float(np.mean(list(friction.values()))),
    }


if __name__ == "__main__":
    main()
