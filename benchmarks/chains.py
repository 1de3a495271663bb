"""Long chains, as loops over links and as straight code: python benchmarks/chains.py [links ...].

Chains of revolute joints with random bodies and placements without a zero, batches of random states; nanoseconds a
link of inverse and forward dynamics, the time from a robot to the first result with an empty cache, and Pinocchio's
`rnea` and `aba` in a Python loop beside them. All contestants of a chain take turns. Straight code ends where it takes
too long to compile, Pinocchio where it takes too much memory (it makes room for second derivatives, 32 n³ bytes).

An anchor takes turns with them: fused multiply-adds, each waiting for the one before, which nothing but the clock of
the core can change. Times at the anchor of the notes are what they would be at `CLOCK` ns for one of them.
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
from appell_lab.bench.clock import TimedStatement, time_in_turns, one_core
from appell_lab.bench.machine import machine, versions

SIZES = (10, 20, 50, 100, 200, 500, 1000)
STRAIGHT = {"inverse_dynamics": 100, "forward_dynamics": 50}  # links up to which straight code is compiled
PINOCCHIO = 200  # links
THEIRS = {"inverse_dynamics": "rnea", "forward_dynamics": "aba"}
AGREE = 1e-9
TURNS = 60
CLOCK = 1.25  # ns of a fused multiply-add: four cycles at 3.2 GHz, where 673 and 1,750 ns for 100 links were measured
WAITING = (1000, 3000)  # multiply-adds of the anchor: the difference of two has no call in it


@cache
def anchor(length: int) -> TimedStatement:
    """A chain of dependent multiply-adds in machine code, for one sample."""

    def body(x):
        for _ in range(length):
            x = 0.999 * x + 1e-3
        return {"y": x}

    return TimedStatement("f()", {"f": ap.Function.of(f"anchor{length}", {"x": ()}, body).bind()})


def chain(links: int, seed: int = 0) -> ap.Robot:
    """Revolute joints about z, with random bodies and placements."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(links):
        pose = ap.Pose(of_quaternion(*random_quaternion(rng).tolist()), ap.Vec3(*rng.uniform(-0.3, 0.3, 3)))
        masses, points = rng.uniform(0.1, 1.0, 8), rng.uniform(-0.3, 0.3, (8, 3))
        com = masses @ points / masses.sum()
        second = np.einsum("k,ki,kj->ij", masses, points - com, points - com)
        body = ap.Body(masses.sum(), com, (np.trace(second) * np.eye(3) - second).tolist())
        made.append(
            ap.Link(f"link{k}", f"link{k - 1}" if k else None, ap.Joint(f"joint{k}", ap.Revolute(), pose), body)
        )
    return ap.Robot(f"chain{links}", tuple(made))


def pinocchio_model(robot: ap.Robot):
    """The same chain there, joint by joint."""
    import pinocchio as pin

    model, parent = pin.Model(), 0
    model.gravity.linear = np.array([*robot.gravity])
    for link in robot.links:
        rotation = np.array([[*row] for row in link.joint.placement.rotation.rows])
        place = pin.SE3(rotation, np.array([*link.joint.placement.translation]))
        parent = model.addJoint(parent, pin.JointModelRZ(), place, link.joint.name)
        body = pin.Inertia.FromDynamicParameters(np.array(link.body.parameters))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    return pin, model, model.createData()


def measure(links: int, name: str) -> dict[str, object]:
    """Both forms and Pinocchio on one chain."""
    robot, rng = chain(links), np.random.default_rng(links)
    batch = max(32, min(1024, 25_600 // links // 16 * 16))
    states = [rng.normal(size=(batch, links)) for _ in range(3)]
    found: dict[str, object] = {"links": links, "function": name, "batch": batch}
    contestants, results = {}, {}
    for form, loops in {"loops": True, "straight": False}.items():
        if not loops and links > STRAIGHT[name]:
            continue
        begin = perf_counter()
        function = getattr(ap.Dynamics(robot, looped=loops), name)
        out = results[form] = function(*states)
        found[f"{form}, s to the first result"] = round(perf_counter() - begin, 3)
        names = {"f": function.ufunc, "x": states, "out": out}
        contestants[form] = TimedStatement("f(*x, out=out)", names)
    if links <= PINOCCHIO:
        pin, model, data = pinocchio_model(robot)
        function = getattr(pin, THEIRS[name])
        results["pinocchio"] = np.array([function(model, data, *(x[k] for x in states)) for k in range(batch)])
        names = {"f": function, "model": model, "data": data, "rows": list(zip(*states, strict=True))}
        contestants["pinocchio"] = TimedStatement("[f(model, data, *row) for row in rows]", names)
    for who, result in results.items():
        error = np.abs(result - results["loops"]).max() / np.abs(results["loops"]).max()
        if not error <= AGREE:
            sys.exit(f"{name} of {links} links: {who} differs from loops by {error:.1e}")
    timings = time_in_turns({**contestants, **{str(length): anchor(length) for length in WAITING}}, TURNS)
    short, long = (timings.pop(str(length)).best for length in WAITING)
    waited = (long - short) / (WAITING[1] - WAITING[0]) * 1e9
    found["ns of a multiply-add"] = round(waited, 4)
    for who, timing in timings.items():
        found[f"{who}, ns"] = round(timing.best / batch * 1e9, 1)
        found[f"{who}, ns a link"] = round(timing.best / batch / links * 1e9, 2)
        found[f"{who}, ns at the anchor of the notes"] = round(timing.best / batch * 1e9 * CLOCK / waited, 1)
    return found


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or list(SIZES)
    with tempfile.TemporaryDirectory() as folder, one_core():
        os.environ["APPELL_CACHE"] = folder
        ap.Dynamics(chain(3)).inverse_dynamics.compile()  # imports of the compiler are not a chain's cost
        figures = [measure(links, name) for name in THEIRS for links in sizes]
    for figure in figures:
        print("  ".join(f"{what}: {value}" for what, value in figure.items()))
    result = {"machine": machine(), "versions": versions(), "chains": figures}
    path = Path(__file__).parent / "results" / "chains.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
