"""Long chains, as loops over links and as straight code: python benchmarks/chains.py [links ...].

Chains of revolute joints with random bodies and placements without zeros, and batches of random states: the time per
link of inverse and forward dynamics, the time to the first result with an empty cache, and Pinocchio's `rnea` and `aba`
in a Python loop. All methods alternate for each chain. Straight code is measured up to sizes that compile in reasonable
time, Pinocchio up to sizes that fit into memory (it allocates second derivatives, 32 n³ bytes).

An anchor alternates with them: a chain of dependent fused multiply-adds, whose time depends on the clock of the core
only. "ns at the anchor of the notes" are times scaled to `REFERENCE_FMA_NS` per multiply-add.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

import appell as ap
from appell.algebra.rotation import of_quaternion
from appell.model.joints import random_quaternion
from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions

SIZES = (10, 20, 50, 100, 200, 500, 1000)
MAX_STRAIGHT_LINKS = {"inverse_dynamics": 100, "forward_dynamics": 50}  # links up to which straight code is compiled
MAX_PINOCCHIO_LINKS = 200
THEIRS = {"inverse_dynamics": "rnea", "forward_dynamics": "aba"}
TOLERANCE = 1e-9  # relative difference
REPETITIONS = 60
REFERENCE_FMA_NS = 1.25  # latency of a fused multiply-add: four cycles at 3.2 GHz
ANCHOR_LENGTHS = (1000, 3000)  # multiply-adds; the difference of the two times excludes the call


@cache
def anchor(length: int) -> TimedStatement:
    """Return a chain of dependent multiply-adds as a bound function."""

    def body(x):
        for _ in range(length):
            x = 0.999 * x + 1e-3
        return {"y": x}

    return TimedStatement("f()", {"f": ap.Function.of(f"anchor{length}", {"x": ()}, body).bind()})


def chain(links: int, seed: int = 0) -> ap.Robot:
    """Return a chain of revolute joints about z with random bodies and placements."""
    rng = np.random.default_rng(seed)
    built = []
    for k in range(links):
        pose = ap.Pose(of_quaternion(*random_quaternion(rng).tolist()), ap.Vec3(*rng.uniform(-0.3, 0.3, 3)))
        masses, points = rng.uniform(0.1, 1.0, 8), rng.uniform(-0.3, 0.3, (8, 3))
        com = masses @ points / masses.sum()
        second = np.einsum("k,ki,kj->ij", masses, points - com, points - com)
        body = ap.Body(masses.sum(), com, (np.trace(second) * np.eye(3) - second).tolist())
        built.append(
            ap.Link(f"link{k}", f"link{k - 1}" if k else None, ap.Joint(f"joint{k}", ap.Revolute(), pose), body)
        )
    return ap.Robot(f"chain{links}", tuple(built))


def pinocchio_model(robot: ap.Robot):
    """Return the same chain as a model of Pinocchio, with its data."""
    import pinocchio as pin

    model, parent = pin.Model(), 0
    model.gravity.linear = np.array([*robot.gravity])
    for link in robot.links:
        rotation = np.array([[*row] for row in link.joint.placement.rotation.rows])
        placement = pin.SE3(rotation, np.array([*link.joint.placement.translation]))
        parent = model.addJoint(parent, pin.JointModelRZ(), placement, link.joint.name)
        body = pin.Inertia.FromDynamicParameters(np.array(link.body.parameters))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    return pin, model, model.createData()


def measure(links: int, name: str) -> dict[str, object]:
    """Time loops, straight code and Pinocchio on one chain."""
    robot, rng = chain(links), np.random.default_rng(links)
    batch = max(32, min(1024, 25_600 // links // 16 * 16))
    states = [rng.normal(size=(batch, links)) for _ in range(3)]
    figures: dict[str, object] = {"links": links, "function": name, "batch": batch}
    contestants, results = {}, {}
    for form, loops in {"loops": True, "straight": False}.items():
        if not loops and links > MAX_STRAIGHT_LINKS[name]:
            continue
        start = perf_counter()
        function = getattr(ap.Dynamics(robot, looped=loops), name)
        out = results[form] = function(*states)
        figures[f"{form}, s to the first result"] = round(perf_counter() - start, 3)
        names = {"f": function.ufunc, "x": states, "out": out}
        contestants[form] = TimedStatement("f(*x, out=out)", names)
    if links <= MAX_PINOCCHIO_LINKS:
        pin, model, data = pinocchio_model(robot)
        function = getattr(pin, THEIRS[name])
        results["pinocchio"] = np.array([function(model, data, *(x[k] for x in states)) for k in range(batch)])
        names = {"f": function, "model": model, "data": data, "rows": list(zip(*states, strict=True))}
        contestants["pinocchio"] = TimedStatement("[f(model, data, *row) for row in rows]", names)
    for form, result in results.items():
        error = np.abs(result - results["loops"]).max() / np.abs(results["loops"]).max()
        if not error <= TOLERANCE:
            sys.exit(f"{name} of {links} links: {form} differs from loops by {error:.1e}")
    timings = time_in_turns({**contestants, **{str(length): anchor(length) for length in ANCHOR_LENGTHS}}, REPETITIONS)
    short, long = (timings.pop(str(length)).best for length in ANCHOR_LENGTHS)
    latency = (long - short) / (ANCHOR_LENGTHS[1] - ANCHOR_LENGTHS[0]) * 1e9
    figures["ns of a multiply-add"] = round(latency, 4)
    for form, timing in timings.items():
        figures[f"{form}, ns"] = round(timing.best / batch * 1e9, 1)
        figures[f"{form}, ns per link"] = round(timing.best / batch / links * 1e9, 2)
        figures[f"{form}, ns at the anchor of the notes"] = round(
            timing.best / batch * 1e9 * REFERENCE_FMA_NS / latency, 1
        )
    return figures


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or list(SIZES)
    with tempfile.TemporaryDirectory() as folder, one_core():
        os.environ["APPELL_CACHE"] = folder
        ap.Dynamics(chain(3)).inverse_dynamics.compile()  # so that imports of the compiler are not measured
        figures = [measure(links, name) for name in THEIRS for links in sizes]
    for figure in figures:
        print("  ".join(f"{what}: {value}" for what, value in figure.items()))
    result = {"machine": machine(), "versions": versions(), "chains": figures}
    path = Path(__file__).parent / "results" / "chains.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
