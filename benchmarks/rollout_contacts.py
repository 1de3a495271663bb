"""Rollouts with contacts against MuJoCo on the same scenes: python benchmarks/rollout_contacts.py.

go2        Go2 of example-robot-data falls 2 cm onto flat ground and stands for the rest of 0.5 s under a PD law
           (60 N m/rad, 2 N m s/rad); four points touch a plane, friction 0.6, restitution 0
gripper    two fingers under PD laws close on a box that stands on the ground, askew, and lift it by 5 cm in 0.6 s;
           three pairs of whole shapes, friction 0.6, restitution 0

One thread, 1,024 members with random starts; processor time of whole calls, all settings in turns, the best of several.
Errors are those of the last row relative to `simulate` with the same law, median of 12 members: distance of the base
or box, angle between its orientations, largest difference of a joint.

What differs in the models:
  - Contacts of MuJoCo are soft: they penetrate and creep as its parameter `solref` says. Those of appell are rigid.
  - MuJoCo iterates until its solver has converged; appell sweeps until the impulses change by less than a tolerance,
    at most 20 times. "every sweep" is without this tolerance.
  - MuJoCo evaluates the laws (position actuators) once per step, at its start; "continuous" and "held" state what
    `simulate` and appell do. Joint ranges are constraints in MuJoCo and never reached; appell has none here.
  - The feet of Go2 are points in appell and spheres of 1 mm in MuJoCo.
  - Two boxes have up to 8 contact points in MuJoCo and up to 4 in appell.
  - MuJoCo stores the state of every step, appell the last row.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import appell as ap
from appell.simulation import Feedback, ImpulseContacts, Output, Rollout, Sampled
from appell_lab.bench.clock import TimedStatement, one_core, time_in_turns
from appell_lab.bench.machine import machine, versions
from appell_lab.references.contact_peer import urdf

MEMBERS, COMPARED, TIMED_TURNS = 1024, 12, 3
DT = 2e-3  # s
FRICTION = 0.6
SOLREFS = {"default solref": (0.02, DT), "solref 4 ms": (0.004, DT), "solref 2 ms, steps of 1 ms": (0.002, 1e-3)}
MATCHED = "MuJoCo, solref 4 ms"  # the setting that times are compared with
MODELS = {"default": ImpulseContacts(), "every sweep": ImpulseContacts(tolerance=0.0)}
AIMS = {"go2": 8.0, "gripper": 5.0}  # times MuJoCo, with errors that are not larger

FEET = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
STANCE = np.array([0.05, 0.8, -1.5] * 4)
GRIPPER = """<mujoco model="gripper"><compiler angle="radian"/><worldbody>
  <body name="hand" pos="0 0 0.2"><joint name="lift" type="slide" axis="0 0 1"/>
    <inertial pos="0 0 0" mass="1.0" diaginertia="0.01 0.01 0.01"/>
    <body name="left" pos="0 0.04 -0.175"><joint name="left" type="slide" axis="0 -1 0"/>
      <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>
      <geom name="left" type="box" size="0.01 0.005 0.015"/></body>
    <body name="right" pos="0 -0.04 -0.175"><joint name="right" type="slide" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>
      <geom name="right" type="box" size="0.01 0.005 0.015"/></body></body>
  <body name="box" pos="0 0 0.025"><freejoint name="free"/>
    <inertial pos="0 0 0" mass="0.2" diaginertia="8.333e-5 8.333e-5 8.333e-5"/>
    <geom name="box" type="box" size="0.025 0.025 0.025"/></body>
</worldbody></mujoco>"""
HAND_WEIGHT_N, CLOSED_M, LIFT_M = 1.2 * 9.81, 0.02, 0.05


@dataclass(frozen=True)
class Scene:
    """A robot with contacts under PD laws; q[at] and q[turn] are position and quaternion of its base or of the box."""

    robot: ap.Robot
    starts: np.ndarray
    contacts: Any
    law: Callable
    duration: float
    solver: ap.Solver
    spec: Any  # MuJoCo's description, with contacts
    gains: dict[str, tuple[float, float, float]]  # joint -> kp, kd, constant force
    references: Callable[[float], Sequence[float]]  # of these joints, for MuJoCo
    at: slice
    turn: slice


@dataclass(frozen=True)
class Run:
    """A way to compute all members: a call without arguments, and its final coordinates in the order of appell."""

    call: Callable[[], Any]
    end: Callable[[], np.ndarray]
    steps: int


def quadruped() -> Scene:
    """Return Go2 in random postures with the lowest foot 2 cm above the ground."""
    import mujoco

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # meshes and speed limits are not written
        robot = ap.load(urdf("go2"), base="floating")
        spec = mujoco.MjSpec.from_string(ap.to_mjcf(robot))
    rng, dyn = np.random.default_rng(0), ap.Dynamics(robot)
    q = np.tile(np.array(robot.start, float), (MEMBERS, 1))
    q[:, 7:] = STANCE + 0.05 * rng.normal(size=(MEMBERS, 12))
    q[:, 2] += 0.02 - np.stack([dyn.pose(foot)(q)[:, 2, 3] for foot in FEET]).min(axis=0)
    _add_floor(spec, -1e-3)
    for foot in FEET:
        frame = robot.frame(foot)
        sphere = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [1e-3, 0, 0], "mass": 0.0}
        spec.body(frame.body).add_geom(name=foot, pos=list(frame.pose.translation), **sphere)
        _add_pair(spec, foot, "floor")
    for actuator in list(spec.actuators):
        spec.delete(actuator)

    def law(t, q, v):
        pairs = zip(STANCE.tolist(), q[7:], v[6:], strict=True)
        return [0.0] * 6 + [60.0 * (s - x) - 2.0 * rate for s, x, rate in pairs]

    contacts = ap.Contact(FEET, ap.Plane(), restitution=0.0, friction=FRICTION)
    gains = {name: (60.0, 2.0, 0.0) for name in robot.joint_names[1:]}
    solver = ap.Solver(rtol=1e-10, atol=1e-12)
    return Scene(robot, q, contacts, law, 0.5, solver, spec, gains, lambda t: STANCE, slice(0, 3), slice(3, 7))


def gripper() -> Scene:
    """Return a gripper and a box at random positions, turned about the vertical by 0.04 to 0.1 rad."""
    import mujoco

    with TemporaryDirectory() as folder:
        path = Path(folder) / "gripper.xml"
        path.write_text(GRIPPER)
        robot = ap.load(path)
    rng, spec = np.random.default_rng(0), mujoco.MjSpec.from_string(GRIPPER)
    q = np.tile(np.array(robot.start, float), (MEMBERS, 1))
    q[:, 3:5] += np.array([0.004, 0.002]) * rng.uniform(-1.0, 1.0, (MEMBERS, 2))
    yaw = rng.choice([-1.0, 1.0], MEMBERS) * rng.uniform(0.04, 0.1, MEMBERS)
    q[:, 8], q[:, 9] = np.sin(0.5 * yaw), np.cos(0.5 * yaw)
    _add_floor(spec, 0.0)
    for one, other in (("left", "box"), ("right", "box"), ("box", "floor")):
        _add_pair(spec, one, other)
    contacts = ap.BodyContact([("left", "box"), ("right", "box"), ("box", ap.Plane())], 0.0, FRICTION)
    gains = {"lift": (2000.0, 80.0, HAND_WEIGHT_N), "left": (1000.0, 20.0, 0.0), "right": (1000.0, 20.0, 0.0)}

    def references(t):
        part = ap.minimum(ap.maximum((t - 0.2) / 0.3, 0.0), 1.0)
        return [LIFT_M * part * part * (3.0 - 2.0 * part), CLOSED_M, CLOSED_M]

    def law(t, q, v):
        rows = zip(gains.values(), references(t), q[:3], v[:3], strict=True)
        return [kp * (goal - x) - kd * rate + force for (kp, kd, force), goal, x, rate in rows] + [0.0] * 6

    solver = ap.Solver(rtol=1e-8)
    return Scene(robot, q, contacts, law, 0.6, solver, spec, gains, references, slice(3, 6), slice(6, 10))


def _add_floor(spec: Any, height: float) -> None:
    import mujoco

    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0  # pairs are listed
    shape = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [0, 0, 1], "pos": [0, 0, height]}
    spec.worldbody.add_geom(name="floor", contype=0, conaffinity=0, **shape)


def _add_pair(spec: Any, one: str, other: str) -> None:
    spec.add_pair(geomname1=one, geomname2=other, friction=[FRICTION, FRICTION, 0, 0, 0], condim=3)


def stepped(dyn: ap.Dynamics, scene: Scene, law: Any, model: ImpulseContacts) -> Run:
    """Return rollouts by impulses."""
    plan = Rollout(dyn, method="moreau", law=law, contacts=scene.contacts, contact_model=model)
    steps, ends = round(scene.duration / DT), {}

    def call() -> None:
        records = plan(scene.starts, steps=steps, dt=DT, output=Output(every=steps), threads=1, check=False)
        ends["q"] = records.q[:, -1]

    return Run(call, lambda: ends["q"], steps)


def in_mujoco(scene: Scene, solref: float, dt: float) -> Run:
    """Return the same motions by `mujoco.rollout` on one thread."""
    import mujoco
    from mujoco.rollout import Rollout as Rollouts

    spec = scene.spec.copy()
    for name, (kp, kd, force) in scene.gains.items():
        actuator = spec.add_actuator(name=f"{name} law", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0], actuator.biasprm[:3] = kp, (force, -kp, -kd)
    for pair in spec.pairs:
        pair.solref = [solref, 1.0]
    model = spec.compile()
    model.opt.timestep, model.opt.cone = dt, mujoco.mjtCone.mjCONE_ELLIPTIC
    steps, count, turn = round(scene.duration / dt), len(scene.starts), scene.turn
    states = np.zeros((count, 1 + model.nq + model.nv))
    states[:, 1 : 1 + model.nq] = scene.starts
    states[:, 1 + turn.start : 1 + turn.stop] = np.roll(scene.starts[:, turn], 1, axis=1)  # w first
    goals = np.array([[float(x) for x in scene.references(dt * k)] for k in range(steps)])
    control = np.broadcast_to(goals, (count, *goals.shape)).copy()
    stored = np.zeros((count, steps, states.shape[1]))
    data, rollouts, models = [mujoco.MjData(model)], Rollouts(nthread=0), [model] * count

    def call() -> None:
        rollouts.rollout(models, data, states, control, skip_checks=True, nstep=steps, state=stored)

    def end() -> np.ndarray:
        last = stored[:, -1, 1 : 1 + model.nq].copy()
        last[:, turn] = np.roll(last[:, turn], -1, axis=1)
        return last

    return Run(call, end, steps)


def measure(scene: Scene, turns: int) -> dict[str, dict[str, float]]:
    """Return times and errors of all settings."""
    dyn = ap.Dynamics(scene.robot)
    runs = {f"MuJoCo, {name}": in_mujoco(scene, *values) for name, values in SOLREFS.items()}
    for kind, law in {"continuous": scene.law, "held": Feedback(scene.law, period=DT)}.items():
        runs |= {f"appell, {kind} law, {name}": stepped(dyn, scene, law, model) for name, model in MODELS.items()}
    exact = {}
    for kind, torque in {"continuous": scene.law, "held": Sampled(scene.law, DT)}.items():
        options = {"torque": torque, "contacts": scene.contacts, "solver": scene.solver}
        exact[kind] = np.array(
            [ap.simulate(dyn, q, until=scene.duration, throw=True, **options).q[-1] for q in scene.starts[:COMPARED]]
        )
    with one_core():
        times = time_in_turns({name: TimedStatement("f()", {"f": run.call}) for name, run in runs.items()}, turns)
    figures: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        figures[name] = {"us per step": 1e6 * times[name].best / MEMBERS / run.steps}
        for kind, ends in exact.items():
            if name.startswith("MuJoCo") or kind in name:
                figures[name] |= {
                    f"{what}, {kind}": x for what, x in _errors(scene, run.end()[:COMPARED], ends).items()
                }
    for row in figures.values():
        row["times MuJoCo"] = figures[MATCHED]["us per step"] / row["us per step"]
    return figures


def _errors(scene: Scene, ends: np.ndarray, exact: np.ndarray) -> dict[str, float]:
    joints = np.delete(np.abs(ends - exact), [*range(scene.at.start, scene.turn.stop)], axis=1)
    cosine = np.abs((ends[:, scene.turn] * exact[:, scene.turn]).sum(axis=1))
    return {
        "position, mm": 1e3 * float(np.median(np.linalg.norm((ends - exact)[:, scene.at], axis=1))),
        "rotation, rad": float(np.median(2.0 * np.arccos(np.minimum(cosine, 1.0)))),
        "joints, rad or m": float(np.median(joints.max(axis=1))),
    }


def main(turns: int = TIMED_TURNS) -> None:
    import mujoco

    result: dict[str, Any] = {"machine": machine(), "versions": versions() | {"mujoco": mujoco.__version__}}
    result["aims"] = AIMS
    for name, make in {"go2": quadruped, "gripper": gripper}.items():
        result[name] = measure(make(), turns)
        print(name, json.dumps(result[name], indent=1), flush=True)
    path = Path(__file__).parent / "results" / "rollout-contacts.json"
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
