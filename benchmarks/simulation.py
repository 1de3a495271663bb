"""Runs of `simulate`, timed: python benchmarks/simulation.py [turns].

A plain swing of five seconds under gravity, against Pinocchio's forward dynamics in SciPy's `solve_ivp` with dense
output: the same method, start and tolerances, both in one process, in turns; processor time, the best of several. A run
is everything from the call to the record. Errors are those of the last q against a run at a tolerance of 1e-13.

A quadruped dropped on its feet, one second, with its joints held by a law and without torques.
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
from appell_lab.bench.clock import TimedStatement, time_in_turns, one_core
from appell_lab.bench.machine import machine, versions
from appell_lab.bench.subject import Subject, pinocchio

UNTIL, RTOL, ATOL, METHOD = 5.0, 1e-8, 1e-10, "DOP853"
STARTS = {"puma": (0.3, -0.5, 0.2, 0.4, 0.6, 0.1), "ur5": (0.3, -0.6, 0.5, -0.4, 0.8, 0.1)}
AIMS = {"swing, times faster": 5.0, "drop, s": 2.0}

GAP, STIFFNESS, DAMPING, STANCE = 0.1, 60.0, 2.0, (0.05, 0.8, -1.5)
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
    """A URDF of the package example-robot-data."""
    return next(Path(str(file.locate())) for file in files("example-robot-data") or [] if file.name == name)


def swing(subject: Subject, turns: int) -> dict:
    """From rest, without torques."""
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

    timings = time_in_turns({name: TimedStatement("f()", {"f": f}) for name, f in (("ours", ours), ("theirs", theirs))}, turns)
    exact = ap.simulate(
        dyn, q0, until=UNTIL, solver=ap.Solver(method=METHOD, rtol=1e-13, atol=1e-13), progress=False
    ).q[-1]
    record, solution = ours(), theirs()
    found = {
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
        f"{subject.name:5} {UNTIL:g} s swing   {1e3 * found['ours, s']:8.2f} ms against "
        f"{1e3 * found['theirs, s']:8.1f} ms: {found['times faster']:.1f}x   errors "
        f"{found['error, ours']:.1e} and {found['error, theirs']:.1e} in {found['steps, ours']} steps"
    )
    return found


def drop(held: bool, until: float = 1.0) -> dict:
    """A quadruped that falls on its four feet."""
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
    begun = process_time()
    record = run(until)
    found = {
        "robot": "go2",
        "held": held,
        "s": process_time() - begun,
        "steps": len(record.t) - 1,
        "events": len(record.events),
        "status": record.status,
    }
    kind = "held by a law" if held else "without torques"
    print(
        f"go2   {until:g} s drop, {kind}: {found['s']:.2f} s of processor time, "
        f"{found['steps']} steps, {found['events']} events, {found['status']}"
    )
    return found


if __name__ == "__main__":
    main()
