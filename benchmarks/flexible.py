"""Flexible double pendulum: appell against Exudyn, forward dynamics against the rigid arm, and the first run.

    python benchmarks/flexible.py [--exudyn PYTHON] [--out benchmarks/results/flexible.json]

Two beams of 0.5 m (EI = 1 N m², 0.2 kg/m) fall from the horizontal for 1 s. appell has two clamped-free modes per beam;
Exudyn has ANCF cables, with 1 ms steps of the generalised-alpha method. Each program is compared with its own converged
solution at t = 1 s, so that the times belong to known errors. Exudyn runs in the Python given with --exudyn (a
process of its own), before appell. All times are processor times, the best of several; those of first runs, in new
processes with an empty cache, are wall-clock times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import appell as ap
from appell.compile.function import Function

EXUDYN = r"""
import json, sys, time
import exudyn as exu
from exudyn.utilities import *
from exudyn.beams import GenerateStraightLineANCFCable2D
exu.SetWriteToConsole(False)

def run(elements, steps, threads=1):
    SC = exu.SystemContainer(); mbs = SC.AddSystem()
    ground = mbs.AddObject(ObjectGround(referencePosition=[0, 0, 0]))
    cable = Cable2D(physicsMassPerLength=0.2, physicsBendingStiffness=1.0, physicsAxialStiffness=1e4,
        useReducedOrderIntegration=2)
    ends = []
    for k in range(2):
        out = GenerateStraightLineANCFCable2D(mbs, [0.5 * k, 0, 0], [0.5 * k + 0.5, 0, 0], elements, cable,
            massProportionalLoad=[0, -9.81, 0], fixedConstraintsNode0=[0, 0, 0, 0], fixedConstraintsNode1=[0, 0, 0, 0])
        ends.append((out[0][0], out[0][-1]))
    pin = mbs.AddMarker(MarkerBodyPosition(bodyNumber=ground, localPosition=[0, 0, 0]))
    mark = lambda node: mbs.AddMarker(MarkerNodePosition(nodeNumber=node))
    mbs.AddObject(ObjectJointRevolute2D(markerNumbers=[pin, mark(ends[0][0])]))
    mbs.AddObject(ObjectJointRevolute2D(markerNumbers=[mark(ends[0][1]), mark(ends[1][0])]))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps; settings.timeIntegration.endTime = 1.0
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.verboseMode = 0; settings.solutionSettings.writeSolutionToFile = False
    settings.timeIntegration.newton.useModifiedNewton = True
    start = time.process_time()
    mbs.SolveDynamic(settings)
    spent = time.process_time() - start
    return [float(x) for x in mbs.GetNodeOutput(ends[1][1], exu.OutputVariableType.Position)][:2], spent

elements, repeats = int(sys.argv[1]), int(sys.argv[2])
tip, best = None, 1e9
for _ in range(repeats):
    tip, spent = run(elements, 1000); best = min(best, spent)
exact, _ = run(elements, 8000)
print(json.dumps({"tip": tip, "exact": exact, "seconds": best}))
"""


def arm(flexible: bool = True, modes: int = 2, **options) -> ap.Robot:
    """Return the double pendulum, flexible or rigid."""
    if flexible:
        bodies = [ap.shapes.beam(0.5, EI=1.0, mass_per_length=0.2, bending=(modes, 0), **options) for _ in range(2)]
    else:
        bodies = [ap.shapes.rod(0.1, 0.5, com=(0.25, 0, 0)) for _ in range(2)]
    first = ap.Link("upper", None, ap.Joint("shoulder", ap.Revolute()), bodies[0])
    placement = np.zeros(3) if flexible else np.array([0.5, 0.0, 0.0])
    second = ap.Link(
        "lower", "upper", ap.Joint("elbow", ap.Revolute(), placement), bodies[1], at="tip" if flexible else None
    )
    end = ap.Frame("end", "lower", at="tip") if flexible else ap.Frame("end", "lower", np.array([0.5, 0.0, 0.0]))
    return ap.Robot("double pendulum", (first, second), frames=(end,), gravity=(0, -9.81, 0))


def best(function, repeats: int) -> float:
    """Return the least processor time of a call, s."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def forward_ratio(repeats: int = 40, batch: int = 4096) -> dict:
    """Forward dynamics in batches, relative to the rigid arm; measured alternately."""
    rng, calls, counts = np.random.default_rng(0), {}, {}
    for name, robot in {"rigid": arm(False), "no stiffening": arm(stiffening=False), "default": arm()}.items():
        dyn = ap.Dynamics(robot)
        q, v, tau = (
            0.01 * rng.normal(size=(batch, robot.nq)),
            0.1 * rng.normal(size=(batch, robot.nv)),
            rng.normal(size=(batch, robot.nu)),
        )
        out = dyn.forward_dynamics(q, v, tau)  # reused: allocating results costs page faults
        calls[name] = lambda f=dyn.forward_dynamics, x=(q, v, tau), out=out: f(*x, out=out)
        counts[name] = dict(
            zip(("mul", "add", "div", "sqrt", "trig"), vars(dyn.forward_dynamics.count()).values(), strict=False)
        )
        transfer = copy_function(robot)
        given, copied = (q, v, tau), transfer(q, v, tau)
        calls[f"{name}, transfer only"] = lambda f=transfer, x=given, out=copied: f(*x, out=out)
    times = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            times[name] = min(times[name], best(lambda c=call: [c() for _ in range(20)], 1) / 20 / batch)
    return {
        name: {
            "ns": 1e9 * times[name],
            "ratio": times[name] / times["rigid"],
            "ns, transfer of inputs and results only": 1e9 * times[f"{name}, transfer only"],
            "operations": count,
            "operations per ns": (count["mul"] + count["add"] + count["div"]) / (1e9 * times[name]),
        }
        for name, count in counts.items()
    }


def copy_function(robot: ap.Robot) -> Function:
    """Return a function with the arguments and results of forward dynamics that computes one product per result."""

    def body(q, v, tau):
        given = [*q, *v, *tau]
        shares = [given[k :: robot.nv] for k in range(robot.nv)]  # every argument is read
        return {"a": [1.5 * sum(share[1:], start=share[0]) for share in shares]}

    return Function.of("transfer", {"q": robot.nq, "v": robot.nv, "tau": robot.nu}, body)


def first_runs() -> dict:
    """Return the times of a first simulation of 8 coordinates in new processes with an empty cache, s."""
    script = """
import sys, time
start = time.perf_counter()
sys.path.insert(0, sys.argv[1])
import appell as ap, flexible
model = time.perf_counter()
ap.simulate(flexible.arm(modes=3), until=0.01)
end = time.perf_counter()
print(end - start, end - model)
"""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(("without byte code", "with byte code", "with byte code, again")):
            changed = {"PYTHONPYCACHEPREFIX": f"{folder}/byte-code", "APPELL_CACHE": f"{folder}/cache-{k}"}
            environment = {key: x for key, x in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | changed
            command = [sys.executable, "-c", script, str(Path(__file__).parent)]
            reply = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split()
            times[name] = {"with imports": float(reply[0]), "model and run": float(reply[1])}
    return times


def motions(allowed: float, members: int = 1000) -> dict:
    """One motion with `t_eval`, and many in one kernel: the fastest settings whose error at t = 1 s is `allowed`."""
    robot = arm()
    dyn = ap.Dynamics(robot)
    t_eval = np.linspace(0.0, 1.0, 101)

    def one(rtol, method="DOP853"):
        return ap.simulate(dyn, until=1.0, t_eval=t_eval, solver=ap.Solver(method, rtol=rtol, atol=0.1 * rtol))

    def many(dt):
        output = ap.simulation.Output(every=round(0.01 / dt))
        return ap.rollout(dyn, q0=q0, steps=round(1.0 / dt), dt=dt, method="rk4", threads=1, output=output)

    def error(q):
        return float(np.linalg.norm(np.asarray(dyn.pose("end", q))[:2, 3] - exact))

    exact = np.asarray(dyn.pose("end", one(1e-12).q[-1]))[:2, 3]
    q0 = np.zeros((members, robot.nq))
    q0[:, 0] = np.linspace(0.0, 1e-9, members)
    single = [(m, x, error(one(x, m).q[-1])) for m in ("DOP853", "RK45") for x in (1e-2, 1e-3, 1e-4, 1e-5)]
    rolled = [(x, error(many(x).q[0, -1])) for x in (2e-3, 1e-3, 5e-4, 2.5e-4)]
    timed = [
        {"method": m, "rtol": x, "error_m": e, "seconds": best(lambda x=x, m=m: one(x, m), 7)}
        for m, x, e in single
        if e <= allowed
    ]
    kernels = [
        {"dt": x, "members": members, "error_m": e, "seconds": best(lambda x=x: many(x), 2)}
        for x, e in rolled
        if e <= allowed
    ]
    fastest = min(timed, key=lambda row: row["seconds"]), min(kernels, key=lambda row: row["seconds"])
    return {"tip": exact.tolist(), "one": fastest[0], "many": fastest[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exudyn", help="Python interpreter with exudyn")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = {"first_run_s": first_runs(), "forward": forward_ratio()}
    if options.exudyn:
        for elements in (2, 4):
            command = [options.exudyn, "-c", EXUDYN, str(elements), "3"]
            reply = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
            )
            error = float(np.linalg.norm(np.subtract(reply["tip"], reply["exact"])))
            result[f"exudyn, {elements} elements per link"] = {
                "seconds": reply["seconds"],
                "error_m": error,
                "tip": reply["tip"],
            }
    errors = [row["error_m"] for name, row in result.items() if name.startswith("exudyn")]
    result["appell"] = motions(min(errors, default=4e-5))
    for name, row in list(result.items()):
        if name.startswith("exudyn"):
            one, many = result["appell"]["one"]["seconds"], result["appell"]["many"]
            row["one_motion_ratio"] = row["seconds"] / one
            row["many_motions_ratio"] = many["members"] * row["seconds"] / many["seconds"]
    print(json.dumps(result, indent=2))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
