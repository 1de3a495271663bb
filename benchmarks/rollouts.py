"""Timing of complete rollouts compared with forward dynamics, including everything around the kernel.

    python benchmarks/rollouts.py [members] [steps]
    python benchmarks/rollouts.py systems            steps of twelve systems; needs example-robot-data

Processor time, the shortest of several, in ns per step and member of the PUMA, and as multiples of one forward dynamics
of the same batch. Records are new arrays each time, as for users; kernels are compiled before. The gradient is that of
a cost with respect to all torques, including the forward run.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import files
from time import process_time

import flexible
import numpy as np

import appell as ap
from appell.simulation import Output, Rollout

REPETITIONS = 7
SYSTEMS = ("puma", "panda", "pendulum", "tree10", "two-body", "elastic puma", "flexible", "five-bar", "agile-wrist")
SYSTEMS += ("ur5_robot.urdf", "anymal.urdf", "talos_reduced.urdf")
PD = {"kp": 100.0, "kd": 5.0}


def law(t, q, v):
    return [-PD["kp"] * x - PD["kd"] * rate for x, rate in zip(q, v, strict=True)]


def cost(t, q, v, tau):
    return sum((x * x for x in (*q, *v)), start=0.0) + 1e-3 * sum((x * x for x in tau), start=0.0)


def shortest(work) -> float:
    work()
    times = []
    for _ in range(REPETITIONS):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def load(name: str) -> ap.Robot:
    """Return a system of `SYSTEMS`."""
    if name == "flexible":
        return flexible.arm()
    if name == "elastic puma":
        puma = ap.load("puma")
        return puma.with_elastic_joints({joint: ap.Elasticity(2e4, damping=20.0) for joint in puma.joint_names})
    if name.endswith(".urdf"):
        path = next(file.locate() for file in files("example-robot-data") or () if file.name == name)
        base = "fixed" if name.startswith("ur5") else "floating"
        return ap.load(str(path), base=base, physical=False, mimic=False)
    return ap.load(name)


def show(name: str) -> None:
    """Print the time of a Runge-Kutta step of a system in long rollouts, and of a short repeated call."""
    system, rng = load(name), np.random.default_rng(0)
    dyn, n = ap.Dynamics(system), system.nv
    members, steps = 256 if n > 20 else 1024, 256
    q = np.array([system.random_configuration(rng) for _ in range(members)])
    v, tau = 0.1 * rng.normal(size=(members, n)), np.zeros((members, dyn.forward_dynamics.inputs[2].size))
    plan, out = Rollout(dyn), np.empty((members, n))
    run = partial(plan, q, v, tau, steps, dt=1e-4, check=False, output=Output(every=steps))
    step, unit = np.inf, np.inf
    for _ in range(3):  # in turns
        step = min(step, shortest(run) / members / steps)
        unit = min(unit, shortest(lambda: [dyn.forward_dynamics(q, v, tau, out=out) for _ in range(10)]) / 10 / members)
    call = shortest(lambda: [plan(q[:1], v[:1], tau[:1], 20, dt=1e-4) for _ in range(10)]) / 10
    print(f"{name}: {1e9 * step:.1f} ns, {step / unit:.2f} forward dynamics; a call with 20 steps {1e3 * call:.2f} ms")


def main(members: int = 10_000, steps: int = 100) -> None:
    dyn, rng = ap.Dynamics(ap.load("puma")), np.random.default_rng(0)
    q, v, tau = (0.3 * rng.normal(size=(members, 6)) for _ in range(3))
    out = np.empty((members, 6))
    unit = shortest(lambda: [dyn.forward_dynamics(q, v, tau, out=out) for _ in range(10)]) / 10 / members
    print(f"forward dynamics: {1e9 * unit:.1f} ns")
    options = {"dt": 1e-3, "check": False}
    cases = {
        "rk4, last row": (Rollout(dyn), {"output": Output(every=steps)}),
        "rk4, every 10th row": (Rollout(dyn), {"output": Output(every=10)}),
        "rk4, all rows": (Rollout(dyn), {}),
        "rk4 with a law": (Rollout(dyn, law=law), {"output": Output(every=steps)}),
        "euler": (Rollout(dyn, method="euler"), {"output": Output(every=steps)}),
        "midpoint": (Rollout(dyn, method="midpoint"), {"output": Output(every=steps)}),
        "rk4 with a cost": (Rollout(dyn, cost=cost), {"output": Output(every=steps)}),
    }
    for name, (plan, more) in cases.items():
        seconds = shortest(lambda plan=plan, more=more: plan(q, v, tau, steps, **options, **more)) / members / steps
        print(f"{name}: {1e9 * seconds:.1f} ns, {seconds / unit:.2f} forward dynamics")
    few = max(1, members // 20)
    plan = Rollout(dyn, cost=cost)
    seconds = shortest(lambda: plan.gradient(q[:few], v[:few], tau[:few], steps, 1e-3)) / few / steps
    print(f"gradient with respect to all torques: {1e9 * seconds:.1f} ns, {seconds / unit:.2f} forward dynamics")
    direction = {"torque": tau[:few]}
    seconds = shortest(lambda: plan.change(q[:few], v[:few], tau[:few], steps, 1e-3, along=direction)) / few / steps
    print(f"change along one direction: {1e9 * seconds:.1f} ns, {seconds / unit:.2f} forward dynamics")


if __name__ == "__main__":
    if sys.argv[1:] == ["systems"]:
        for system in SYSTEMS:
            show(system)
    else:
        main(*map(int, sys.argv[1:]))
