"""Drops of the tree robot of Shafei 2018 in its round wall: rollouts with impulses against `simulate`.

python benchmarks/rollout_drops.py. One thread, random starts, half a second each; restitution 1, no friction as in the
paper, then others. The rollout takes whole batches through one kernel, in steps of 1 ms, and moves impacts by up to
a step; the simulator finds each exactly and takes one motion after the other. Processor time, the best of several
turns; kernels are compiled before.
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

MEMBERS, EXACT, STEPS, DT, TURNS = 2000, 20, 500, 1e-3, 5
WALLS = {
    "smooth, e = 1": ap.Contact("all", ap.Circle(2.5)),
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
        _taken(lambda: plan(q0, v0, None, STEPS, DT, output=ap.simulation.Output(every=STEPS), threads=1))
        for _ in range(TURNS)
    )
    exact, events = 0.0, 0
    for q, v in zip(q0[:EXACT], v0[:EXACT], strict=True):
        begun = time.process_time()
        events += len(ap.simulate(dyn, q, v, until=STEPS * DT, contacts=wall).events)
        exact += time.process_time() - begun
    return {
        "drops a second, rollout": MEMBERS / stepped,
        "microseconds a step": 1e6 * stepped / MEMBERS / STEPS,
        "drops a second, simulate": EXACT / exact,
        "events a drop": events / EXACT,
        "ratio": (MEMBERS / stepped) / (EXACT / exact),
    }


def _starts(dyn: ap.Dynamics, wall: ap.Contact) -> tuple[np.ndarray, np.ndarray]:
    rng, nq = np.random.default_rng(0), dyn.system.nq
    q0 = dyn.system.start + rng.uniform(-0.3, 0.3, (4 * MEMBERS, nq))
    q0 = q0[Contacts(dyn, wall).gaps(q0).min(axis=-1) > 0.02][:MEMBERS]
    return q0, rng.normal(size=(len(q0), dyn.system.nv))


def _taken(work) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
