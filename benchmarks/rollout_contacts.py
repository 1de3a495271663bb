"""Rollouts with contacts against MuJoCo on the same scenes: python benchmarks/rollout_contacts.py.

Go2 of example-robot-data falls 2 cm onto flat ground and stands for the rest of 0.5 s under a PD law (60 N m/rad,
2 N m s/rad), friction 0.6, restitution 0. One thread, 1,024 members with random postures; processor time of whole calls,
all settings in turns, the best of several. Errors are those of the last row relative to `simulate` (rtol 1e-10) with
the same law, median of six members: distance of the base in m, largest difference of a joint in rad.

What differs in the models:
  - Feet are points in appell and spheres of 1 mm in MuJoCo.
  - Contacts of MuJoCo are soft: they penetrate and creep as its parameter `solref` says. Those of appell are rigid.
  - MuJoCo iterates until its solver has converged; appell sweeps a fixed number of times.
  - MuJoCo evaluates the law (position actuators) once per step, at its start; "continuous" and "held" state what
    `simulate` and appell do. Joint ranges are constraints in MuJoCo and never reached; appell has none here.
  - MuJoCo also computes sites and the state of every step, which it stores; appell stores the last row.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.simulation import Feedback, ImpulseContacts, Output, Rollout, Sampled
from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions
from appell_lab.references.contact_peer import urdf

MEMBERS, COMPARED, DURATION_S, TURNS = 1024, 6, 0.5, 3
DT = 2e-3  # s
KP, KD, FRICTION, DROP_M = 60.0, 2.0, 0.6, 0.02
FEET = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
STANCE = np.array([0.05, 0.8, -1.5] * 4)
EXACT = ap.Solver(rtol=1e-10, atol=1e-12)
AIM = 8.0  # times MuJoCo
SOLREFS = {"default solref": (0.02, DT), "solref 4 ms": (0.004, DT), "solref 2 ms, steps of 1 ms": (0.002, 1e-3)}


@dataclass(frozen=True)
class Run:
    """A way to compute all members: a call without arguments, and its final coordinates in the order of appell."""

    call: Callable[[], Any]
    end: Callable[[], np.ndarray]
    steps: int


def quadruped() -> tuple[ap.Robot, np.ndarray]:
    """Return the robot and random postures with the lowest foot 2 cm above the ground, (members, nq)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ap.load(urdf("go2"), base="floating")
    rng = np.random.default_rng(0)
    q = np.tile(np.array(robot.start, float), (MEMBERS, 1))
    q[:, 7:] = STANCE + 0.05 * rng.normal(size=(MEMBERS, 12))
    dyn = ap.Dynamics(robot)
    heights = np.stack([dyn.pose(foot)(q)[:, 2, 3] for foot in FEET])
    q[:, 2] += DROP_M - heights.min(axis=0)
    return robot, q


def pd_law(t, q, v):
    return [0.0] * 6 + [KP * (s - x) - KD * rate for s, x, rate in zip(STANCE.tolist(), q[7:], v[6:], strict=True)]


def stepped(dyn: ap.Dynamics, q: np.ndarray, law: Any, dt: float, sweeps: int = 20) -> Run:
    """Return rollouts by impulses."""
    floor = ap.Contact(FEET, ap.Plane((0, 0, 1)), restitution=0.0, friction=FRICTION)
    plan = Rollout(dyn, method="moreau", law=law, contacts=floor, contact_model=ImpulseContacts(sweeps=sweeps))
    steps = round(DURATION_S / dt)
    ends = {}

    def call() -> None:
        ends["q"] = plan(q, steps=steps, dt=dt, output=Output(every=steps), threads=1, check=False).q[:, -1]

    return Run(call, lambda: ends["q"], steps)


def in_mujoco(robot: ap.Robot, q: np.ndarray, solref: float, dt: float) -> Run:
    """Return the same motions by `mujoco.rollout` on one thread."""
    import mujoco
    from mujoco.rollout import Rollout as Rollouts

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # meshes and speed limits are not written
        spec = mujoco.MjSpec.from_string(ap.to_mjcf(robot))
    touching = {"friction": [FRICTION, 0.0, 0.0], "condim": 3, "solref": [solref, 1.0]}
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=0, pos=[0, 0, -1e-3], **touching
    )
    for foot in FEET:
        frame = robot.frame(foot)
        sphere = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [1e-3, 0, 0], "mass": 0.0}
        spec.body(frame.body).add_geom(
            pos=list(frame.pose.translation), contype=0, conaffinity=1, **sphere, **touching
        )
    for actuator in spec.actuators:  # motors of the description, without limits
        actuator.gainprm[0], actuator.biasprm[1:3] = KP, (-KP, -KD)
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.ctrllimited = actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_FALSE
    model = spec.compile()
    model.opt.timestep, model.opt.cone = dt, mujoco.mjtCone.mjCONE_ELLIPTIC
    steps = round(DURATION_S / dt)
    states = np.zeros((len(q), 1 + model.nq + model.nv))
    states[:, 1 : 1 + model.nq] = q
    states[:, 4:8] = q[:, [6, 3, 4, 5]]
    control = np.broadcast_to(STANCE, (len(q), steps, 12)).copy()
    stored = np.zeros((len(q), steps, states.shape[1]))
    data, rollouts = [mujoco.MjData(model)], Rollouts(nthread=0)
    models = [model] * len(q)

    def call() -> None:
        rollouts.rollout(models, data, states, control, skip_checks=True, nstep=steps, state=stored)

    def end() -> np.ndarray:
        last = stored[:, -1, 1 : 1 + model.nq].copy()
        last[:, 3:7] = last[:, [4, 5, 6, 3]]
        return last

    return Run(call, end, steps)


def main(turns: int = TURNS) -> None:
    robot, q = quadruped()
    dyn = ap.Dynamics(robot)
    runs = {f"MuJoCo, {name}": in_mujoco(robot, q, *values) for name, values in SOLREFS.items()}
    runs |= {
        "appell, continuous law": stepped(dyn, q, pd_law, DT),
        "appell, continuous law, 8 sweeps": stepped(dyn, q, pd_law, DT, 8),
        "appell, held law": stepped(dyn, q, Feedback(pd_law, period=DT), DT),
        "appell, held law, 8 sweeps": stepped(dyn, q, Feedback(pd_law, period=DT), DT, 8),
    }
    floor = ap.Contact(FEET, ap.Plane((0, 0, 1)), restitution=0.0, friction=FRICTION)
    exact = {
        title: np.array(
            [ap.simulate(dyn, x, until=DURATION_S, torque=law, contacts=floor, solver=EXACT).q[-1] for x in q[:COMPARED]]
        )
        for title, law in {"continuous": pd_law, "held": Sampled(pd_law, DT)}.items()
    }
    with one_core():
        times = time_in_turns({name: TimedStatement("f()", {"f": run.call}) for name, run in runs.items()}, turns)
    figures: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        figures[name] = {"us per step": 1e6 * times[name].best / MEMBERS / run.steps}
        for title, ends in exact.items():
            if name.startswith("MuJoCo") or title in name:
                error = np.abs(run.end()[:COMPARED] - ends)
                figures[name][f"base, mm, {title}"] = 1e3 * float(np.median(np.linalg.norm(error[:, :3], axis=1)))
                figures[name][f"joints, rad, {title}"] = float(np.median(error[:, 7:].max(axis=1)))
    peer = figures["MuJoCo, solref 4 ms"]
    ratios = {name: peer["us per step"] / row["us per step"] for name, row in figures.items()}
    result = {"machine": machine(), "versions": versions(), "aim": AIM, "go2": figures, "times MuJoCo": ratios}
    path = Path(__file__).parent / "results" / "rollout-contacts.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
