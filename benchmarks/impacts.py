"""Timing of the tree robot of Shafei 2018 with its five impacts: python benchmarks/impacts.py.

The simulation runs in a new process with an empty cache folder, again with the folder of that process, and once more in
the same process. The processor time is measured from loading the robot to the complete trajectory; the imports of NumPy
and SciPy are listed separately. The best of several processes counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from appell_lab.bench.machine import machine, versions

AIMS = {"from the cache, s": 0.5, "from scratch, s": 5.0}
REPETITIONS = 5

RUN = """
import json, time
start = time.process_time()
import numpy as np, appell as ap
from appell.simulation import simulate
imported = time.process_time()
def run():
    dyn = ap.Dynamics(ap.load("tree10"))
    solver = ap.Solver(rtol=1e-11, atol=1e-12)
    wall = ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0)
    return simulate(dyn, until=1.5, contacts=wall, impact_law="newton", solver=solver)
motion = run()
first = time.process_time()
run()
again = time.process_time()
print(json.dumps({
    "import": imported - start, "run": first - imported, "again": again - first, "steps": len(motion.between),
    "impacts": len(motion.impacts), "energy spread, J": float(np.ptp(motion.energy)),
}))
"""


def main() -> None:
    scratch, cached = [], []
    for _ in range(REPETITIONS):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            scratch.append(_process(folder))
            cached.append(_process(folder))
    best = min(cached, key=lambda turn: turn["run"])
    figures = {
        "from scratch, s": min(turn["run"] for turn in scratch),
        "from the cache, s": best["run"],
        "again in the same process, s": min(turn["again"] for turn in cached),
        "imports, s": min(turn["import"] for turn in cached),
        **{key: best[key] for key in ("steps", "impacts", "energy spread, J")},
        "aims": AIMS,
        "paper": "40 hours of CPU time",
    }
    path = Path(__file__).parent / "results" / "impacts.json"
    path.write_text(json.dumps({"machine": machine(), "versions": versions(), "tree10": figures}, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


def _process(folder: str) -> dict:
    environment = os.environ | {"APPELL_CACHE": folder}
    process = subprocess.run([sys.executable, "-c", RUN], env=environment, check=True, capture_output=True, text=True)
    return json.loads(process.stdout)


if __name__ == "__main__":
    main()
