"""Elastic joints: operation counts, batch times, and one motion of the PUMA on springs against Exudyn at equal error.

    python benchmarks/elastic.py [--output benchmarks/results/elastic-joints.json]

Exudyn (pip install exudyn) is optional. Its model is the same: a kinematic tree of the links, one rotational inertia
per motor, and a spring-damper between the coordinates of both. Times are processor times, the best of several runs that
alternate between the programs; errors are the largest differences of the links' positions at the end from a run with
tight tolerances. Neither program stores the motion; Exudyn's time does not include the construction of its model.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import appell as ap

K, D = (25000.0, 40000.0, 20000.0, 2000.0, 2000.0, 1500.0), (10.0, 15.0, 8.0, 1.0, 1.0, 0.5)
START, UNTIL, REPEATS = (0.0, -0.7, 0.4, 0.3, 0.5, 0.0), 1.0, 5
BATCHES = {512: 160, 4096: 20}  # samples of a batch, and its calls per measurement; the larger one exceeds the L2 cache


def arm(damped: bool = True) -> ap.Robot:
    puma = ap.load("puma")
    springs = zip(puma.joint_names, K, D, strict=True)
    return puma.with_elastic_joints({name: ap.Elasticity(k, damping=d * damped) for name, k, d in springs})


def best(calls: dict, repeats: int, turn: float = 0.0) -> dict:
    """Return the least processor time of every call, s; the calls alternate in turns of at least `turn` seconds."""
    times = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            first = begin = time.process_time()
            while begin == first or begin - first < turn:
                call()
                end = time.process_time()
                times[name], begin = min(times[name], end - begin), end
    return times


def kernels(samples: int, repeats: int) -> dict:
    """Return operations and batch times of forward dynamics and feedforward, and their ratios to the rigid arm."""
    rigid, elastic, undamped = (ap.Dynamics(robot) for robot in (ap.load("puma"), arm(), arm(False)))
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(samples, 6)) for _ in range(5)]  # parts of one array would share the sets of the L1 cache
    q, v = np.concatenate([x[0], x[0] + 1e-3 * x[1]], axis=1), np.concatenate([x[1], x[1]], axis=1)
    functions = {
        "rigid forward": (rigid.forward_dynamics, (x[0], x[1], x[2])),
        "elastic forward": (elastic.forward_dynamics, (q, v, x[2])),
        "rigid inverse": (rigid.inverse_dynamics, tuple(x[:3])),
        "feedforward": (undamped.feedforward, tuple(x)),
    }
    calls = {}
    for name, (function, given) in functions.items():
        out = function(*given)  # reused: allocating results costs page faults
        calls[name] = lambda f=function, given=given, out=out: [f(*given, out=out) for _ in range(repeats)]
    sizes = {
        name: 8 * (sum(x.shape[-1] for x in given) + f(*given).shape[-1]) for name, (f, given) in functions.items()
    }
    ns = {name: 1e9 * seconds / (repeats * samples) for name, seconds in best(calls, 15).items()}
    counts = {name: f.count().mul + f.count().add for name, (f, _) in functions.items()}
    pairs = {"forward": ("elastic forward", "rigid forward"), "feedforward": ("feedforward", "rigid inverse")}
    return {
        "bytes per sample": sizes,
        "ns per sample": {name: round(x, 1) for name, x in ns.items()},
        "operations": counts,
        "time ratio": {key: round(ns[a] / ns[b], 2) for key, (a, b) in pairs.items()},
        "operation ratio": {key: round(counts[a] / counts[b], 2) for key, (a, b) in pairs.items()},
    }


def exudyn_model():
    """Return the arm in Exudyn's fast build, which does not check ranges, and the node of the links."""
    sys.exudynFast = True  # type: ignore[attr-defined] - read by Exudyn when it is imported
    import exudyn as exu
    from exudyn import utilities as items

    robot, n, mbs = arm(), 6, exu.SystemContainer().AddSystem()
    start = {"referenceCoordinates": [0.0] * n, "initialCoordinates": list(START), "initialCoordinates_t": [0.0] * n}
    joints = mbs.AddNode(items.NodeGenericODE2(**start, numberOfODE2Coordinates=n))

    def matrices(chosen):
        return exu.Matrix3DList([np.array([list(row) for row in matrix.rows], float) for matrix in chosen])

    links = robot.links
    mbs.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=joints,
            jointTypes=[exu.JointType.RevoluteZ] * n,
            linkParents=list(range(-1, n - 1)),
            jointTransformations=matrices(link.joint.placement.rotation for link in links),
            jointOffsets=exu.Vector3DList([list(link.joint.placement.translation) for link in links]),
            linkInertiasCOM=matrices(link.body.inertia for link in links),
            linkCOMs=exu.Vector3DList([list(link.body.com) for link in links]),
            linkMasses=[link.body.mass for link in links],
            gravity=list(robot.gravity),
        )
    )
    for k, actuator in enumerate(robot.actuators):
        rest = {"referenceCoordinates": [0.0], "initialCoordinates": [START[k]], "initialVelocities": [0.0]}
        node = mbs.AddNode(items.Node1D(**rest))
        mbs.AddObject(items.Rotor1D(nodeNumber=node, inertia=actuator.reflected_inertia))
        ends = [
            mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=joints, coordinate=k)),
            mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=0)),
        ]
        mbs.AddObject(items.CoordinateSpringDamper(markerNumbers=ends, stiffness=K[k], damping=D[k]))
    mbs.Assemble()
    return exu, mbs, joints


def exudyn_run(solver: str, tolerance: float, steps: int):
    """Return a function that simulates the arm in Exudyn, from its start, and returns the final positions of the links.

    `steps` is the number of equal steps, or the smallest number of steps of the adaptive method.
    """
    exu, mbs, joints = exudyn_model()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = UNTIL, steps
    settings.timeIntegration.verboseMode, settings.solution.file.write = 0, False
    settings.timeIntegration.relativeTolerance = settings.timeIntegration.absoluteTolerance = tolerance
    method = getattr(exu.DynamicSolverType, solver)

    def run() -> np.ndarray:
        mbs.SolveDynamic(settings, solverType=method)
        return np.array(mbs.GetNodeOutput(joints, exu.OutputVariableType.Coordinates))[:6]

    return run


def motion() -> dict:
    """Return times and errors of one motion, 1 s of free fall on springs from rest."""
    dyn = ap.Dynamics(arm())
    q0 = [*START, *START]

    def ours(rtol: float, method: str = "DOP853"):
        solver = ap.Solver(method, rtol=rtol, atol=1e-2 * rtol)
        return lambda: ap.simulate(dyn, q0, until=UNTIL, solver=solver, t_eval=[UNTIL]).q[-1, :6]

    exact = ours(1e-13)()
    runs = {
        f"appell DOP853 rtol {rtol:g}": ours(rtol) for rtol in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
    }
    try:
        tolerances = (1e-6, 1e-8, 1e-10, 1e-12)
        runs |= {f"Exudyn DOPRI5 tol {tol:g}": exudyn_run("DOPRI5", tol, steps=10) for tol in tolerances}
        runs["Exudyn generalized alpha 1 ms"] = exudyn_run("GeneralizedAlpha", 1e-8, steps=1000)
    except ImportError:
        print("Exudyn is not installed: pip install exudyn")
    errors = {name: float(np.abs(run() - exact).max()) for name, run in runs.items()}
    times = best(runs, REPEATS, turn=0.02)
    rows = {name: {"ms": round(1e3 * times[name], 2), "error, rad": errors[name]} for name in runs}
    comparisons = {}
    for name in (name for name in runs if name.startswith("Exudyn")):
        equal = [other for other in runs if other.startswith("appell") and errors[other] <= errors[name]]
        if equal:
            fastest = min(equal, key=times.__getitem__)
            comparisons[name] = {"against": fastest, "times faster": round(times[name] / times[fastest], 1)}
    return {"runs": rows, "at equal or smaller error": comparisons}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    batches = {f"{samples} samples": kernels(samples, repeats) for samples, repeats in BATCHES.items()}
    result = {"kernels": batches, "motion": motion()}
    text = json.dumps(result, indent=1)
    print(text)
    if given.output:
        given.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
