"""Drops of the tree robot of Shafei 2018 in its round wall: rollouts with impulses compared with `simulate`.

    python benchmarks/rollout_drops.py

One thread, random initial states, half a second each; restitution 1 without friction as in the paper, then other
values. The rollout computes a batch in one kernel, in steps of 1 ms, and shifts impacts by up to one step; the
simulator locates each impact exactly and computes one motion after the other. Processor time, the best of several;
kernels are compiled before.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

import appell as ap
from appell.simulation import Rollout
from appell.simulation.contact.contact import Contacts
from appell_lab.bench.machine import machine, versions

MEMBERS, SIMULATED, STEPS, DT, REPETITIONS = 2000, 20, 500, 1e-3, 5
WALLS = {
    "smooth, e = 1": ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0),
    "friction 0.3, e = 0.5": ap.Contact("all", ap.Circle(2.5), 0.5, 0.3),
}


def main() -> None:
    dyn = ap.Dynamics(ap.load("tree10"))
    figures = {name: _drops(dyn, wall) for name, wall in WALLS.items()}
    path = Path(__file__).parent / "results" / "rollout-drops.json"
    path.write_text(json.dumps({"machine": machine(), "versions": versions(), "tree10": figures}, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


def _drops(dyn: ap.Dynamics, wall: ap.Contact) -> dict[str, float]:
    q0, v0 = _starts(dyn, wall)
    plan = Rollout(dyn, method="moreau", contacts=wall)
    ap.simulate(dyn, q0[0], v0[0], until=0.01, contacts=wall)
    stepped = min(
        _processor_time(lambda: plan(q0, v0, None, STEPS, DT, output=ap.simulation.Output(every=STEPS), threads=1))
        for _ in range(REPETITIONS)
    )
    exact, events = 0.0, 0
    for q, v in zip(q0[:SIMULATED], v0[:SIMULATED], strict=True):
        start = time.process_time()
        events += len(ap.simulate(dyn, q, v, until=STEPS * DT, contacts=wall).events)
        exact += time.process_time() - start
    return {
        "drops a second, rollout": MEMBERS / stepped,
        "microseconds a step": 1e6 * stepped / MEMBERS / STEPS,
        "drops a second, simulate": SIMULATED / exact,
        "events a drop": events / SIMULATED,
        "ratio": (MEMBERS / stepped) / (SIMULATED / exact),
    }


def _starts(dyn: ap.Dynamics, wall: ap.Contact) -> tuple[np.ndarray, np.ndarray]:
    rng, nq = np.random.default_rng(0), dyn.system.nq
    q0 = dyn.system.start + rng.uniform(-0.3, 0.3, (4 * MEMBERS, nq))
    q0 = q0[Contacts(dyn, wall).gaps(q0).min(axis=-1) > 0.02][:MEMBERS]
    return q0, rng.normal(size=(len(q0), dyn.system.nv))


def _processor_time(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
