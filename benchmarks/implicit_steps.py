"""Steps and times of explicit and implicit methods on damped elastic robots, with a Rosenbrock method as a prototype.

    python benchmarks/implicit_steps.py [--out benchmarks/results/implicit-steps.json]

RODAS4 (Hairer and Wanner, fourth order, stiffly accurate) uses the compiled Jacobian and one factorisation per step. It
runs in NumPy, so that its steps count and its time does not. `step_cost` compares the operations of a step in machine
code: twelve rates for DOP853; six rates, a Jacobian, a factorisation and six solutions for RODAS4. Decision 0085.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import elastic
import flexible
import numpy as np
from scipy.linalg import lu_factor, lu_solve

import appell as ap

GAMMA = 0.25
A = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0),
)
C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)


def rodas4(rate, jacobian, y, until, rtol, atol):
    """Return the final state and the number of attempted steps."""
    t, h, steps = 0.0, 1e-5, 0
    while t < until:
        h, steps = min(h, until - t), steps + 1
        factors, k = lu_factor(np.eye(len(y)) / (h * GAMMA) - jacobian(y)), []
        for a, c in zip(A, C, strict=True):
            stage = y + sum((x * z for x, z in zip(a, k, strict=True)), start=0.0)
            k.append(lu_solve(factors, rate(stage) + sum((x * z for x, z in zip(c, k, strict=True)), start=0.0) / h))
        new = stage + k[-1]
        scale = atol + rtol * np.maximum(np.abs(y), np.abs(new))
        error = float(np.sqrt(np.mean((k[-1] / scale) ** 2)))
        if error <= 1.0:
            t, y = t + h, new
        h *= min(5.0, max(0.2, 0.9 * max(error, 1e-12) ** -0.25))
    return y, steps


def compared(robot, q0, until=1.0) -> dict:
    dyn = ap.Dynamics(robot)
    n, tau, f = robot.nq, np.zeros(robot.nu), dyn.forward_dynamics
    slopes = f.jacobian("q"), f.jacobian("v")

    def rate(y):
        return np.concatenate([y[n:], f(y[:n], y[n:], tau)])

    def jacobian(y):
        lower = np.hstack([slope(y[:n], y[n:], tau) for slope in slopes])
        return np.vstack([np.eye(n, 2 * n, n), lower])

    def simulated(method, rtol):
        start = time.process_time()
        q = ap.simulate(dyn, q0, until=until, solver=ap.Solver(method, rtol=rtol, atol=1e-2 * rtol)).q
        return q, time.process_time() - start

    exact, rows = simulated("DOP853", 1e-12)[0][-1], []
    for rtol in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        for method in ("DOP853", "Radau"):
            runs = [simulated(method, rtol) for _ in range(3)]
            q, seconds = runs[0][0], min(run[1] for run in runs)
            error = float(np.abs(q[-1] - exact).max())
            rows.append({"method": method, "rtol": rtol, "steps": len(q) - 1, "error": error, "ms": 1e3 * seconds})
        y, steps = rodas4(rate, jacobian, np.concatenate([q0, np.zeros(n)]), until, rtol, 1e-2 * rtol)
        rows.append({"method": "RODAS4", "rtol": rtol, "steps": steps, "error": float(np.abs(y[:n] - exact).max())})

    def operations(function):
        return function.count().mul + function.count().add

    solving = 2 * (2 * n) ** 3 / 3 + 6 * 2 * (2 * n) ** 2
    rates, slope = operations(f), operations(f.jacobian("q", "v"))
    return {"runs": rows, "step_cost": round((6 * rates + slope + solving) / (12 * rates), 2)}


def cases() -> dict:
    motor = ap.Actuator(gear=50.0, rotor_inertia=1e-4)
    coupled = ap.load("planar-2r").with_actuators(lambda name, _: motor)
    coupled = coupled.with_elastic_joints({"elbow": ap.Elasticity(2e3, damping=3e3)})
    return {
        "flexible double pendulum, 3 modes per link, D = 1e-3 K": (flexible.arm(modes=3, damping=1e-3), np.zeros(8)),
        "the same without damping": (flexible.arm(modes=3), np.zeros(8)),
        "PUMA with damped springs": (elastic.arm(), np.array([*elastic.START, *elastic.START])),
        "2R, spring with d / k = 1.5 s": (coupled, coupled.with_relaxed_springs([0.3, 0.4])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = {name: compared(*case) for name, case in cases().items()}
    text = json.dumps(result, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
