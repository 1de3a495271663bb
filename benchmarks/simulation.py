"""Timing of complete `simulate` runs: python benchmarks/simulation.py [turns].

A swing of five seconds under gravity is compared with Pinocchio's forward dynamics in SciPy's `solve_ivp` with dense
output: same method, initial state and tolerances, alternating in one process; processor time, the best of several. A
run lasts from the call to the complete record. Errors are those of the final q, compared with a run at a tolerance of
1e-13.

A quadruped is dropped on its feet for one second, with its joints held by a PD law and without torques.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import files
from pathlib import Path
from time import process_time

import numpy as np
from scipy.integrate import solve_ivp

import appell as ap
from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.subject import Subject, pinocchio

UNTIL, RTOL, ATOL, METHOD = 5.0, 1e-8, 1e-10, "DOP853"  # UNTIL in s
STARTS = {"puma": (0.3, -0.5, 0.2, 0.4, 0.6, 0.1), "ur5": (0.3, -0.6, 0.5, -0.4, 0.8, 0.1)}
AIMS = {"swing, times faster": 5.0, "drop, s": 2.0}

GAP, STIFFNESS, DAMPING, STANCE = 0.1, 60.0, 2.0, (0.05, 0.8, -1.5)  # m, N m/rad, N m s/rad, rad
FEET = tuple(f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR"))


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with one_core():
        swings = [
            swing(Subject("puma", "puma"), turns),
            swing(Subject("ur5", str(robot_file("ur5_robot.urdf"))), turns),
        ]
        drops = [drop(held) for held in (True, False)]
    result = {"machine": machine(), "versions": versions(), "aims": AIMS, "swings": swings, "drops": drops}
    path = Path(__file__).parent / "results" / "simulation.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def robot_file(name: str) -> Path:
    """Return the path of a URDF of the package example-robot-data."""
    return next(Path(str(file.locate())) for file in files("example-robot-data") or [] if file.name == name)


def swing(subject: Subject, turns: int) -> dict:
    """Time a motion from rest without torques."""
    pin, twin, dyn = pinocchio(), subject.twin, subject.dynamics
    model, data, n = twin.model, twin.data, subject.robot.nv
    assert model.nq == model.nv == n
    assert (twin.order == np.arange(n)).all()
    q0, tau = np.array(STARTS[subject.name]), np.zeros(n)
    y0 = np.concatenate([q0, np.zeros(n)])

    def slope(t, y):
        return np.concatenate([y[n:], pin.aba(model, data, y[:n], y[n:], tau)])

    def ours():
        return ap.simulate(dyn, q0, until=UNTIL, solver=ap.Solver(method=METHOD, rtol=RTOL, atol=ATOL), progress=False)

    def theirs():
        return solve_ivp(slope, (0.0, UNTIL), y0, METHOD, rtol=RTOL, atol=ATOL, dense_output=True)

    timings = time_in_turns(
        {name: TimedStatement("f()", {"f": f}) for name, f in (("ours", ours), ("theirs", theirs))}, turns
    )
    exact = ap.simulate(
        dyn, q0, until=UNTIL, solver=ap.Solver(method=METHOD, rtol=1e-13, atol=1e-13), progress=False
    ).q[-1]
    record, solution = ours(), theirs()
    figures = {
        "robot": subject.name,
        "ours, s": timings["ours"].best,
        "theirs, s": timings["theirs"].best,
        "times faster": timings["theirs"].best / timings["ours"].best,
        "ours, median s": timings["ours"].median,
        "theirs, median s": timings["theirs"].median,
        "steps, ours": len(record.t) - 1,
        "steps, theirs": len(solution.t) - 1,
        "error, ours": float(np.abs(record.q[-1] - exact).max()),
        "error, theirs": float(np.abs(solution.y[:n, -1] - exact).max()),
    }
    print(
        f"{subject.name:5} {UNTIL:g} s swing   {1e3 * figures['ours, s']:8.2f} ms, Pinocchio "
        f"{1e3 * figures['theirs, s']:8.1f} ms: {figures['times faster']:.1f}x   errors "
        f"{figures['error, ours']:.1e} and {figures['error, theirs']:.1e} in {figures['steps, ours']} steps"
    )
    return figures


def drop(held: bool, until: float = 1.0) -> dict:
    """Time the drop of a quadruped on its four feet."""
    subject = Subject("go2", str(robot_file("go2.urdf")), "floating")
    dyn, robot = subject.dynamics, subject.robot
    q0 = robot.neutral
    q0[7:] = np.tile(STANCE, 4)
    q0[2] += GAP - min(dyn.pose(foot)(q0)[2, 3] for foot in FEET)

    def law(t, q, v):
        return np.concatenate([np.zeros(6), STIFFNESS * (q0[7:] - q[7:]) - DAMPING * v[6:]])

    floor = ap.Contact(FEET, ap.Plane(), restitution=0.3, friction=0.6)

    def run(end: float):
        return ap.simulate(dyn, q0, until=end, torque=law if held else None, contacts=floor, progress=False)

    run(1e-3)  # compiles
    start = process_time()
    record = run(until)
    figures = {
        "robot": "go2",
        "held": held,
        "s": process_time() - start,
        "steps": len(record.t) - 1,
        "events": len(record.events),
        "status": record.status,
    }
    kind = "held by a PD law" if held else "without torques"
    print(
        f"go2   {until:g} s drop, {kind}: {figures['s']:.2f} s of processor time, "
        f"{figures['steps']} steps, {figures['events']} events, {figures['status']}"
    )
    return figures


if __name__ == "__main__":
    main()
