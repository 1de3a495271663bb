"""Tasks of Talos against mink, TSID and QP libraries: python benchmarks/whole_body.py [TARGETS] [--tsid PYTHON].

Inverse kinematics: reachable targets of both hands and the centre of mass, with both feet on the ground, solved by
appell in one batch and by mink (Levenberg-Marquardt steps by daqp, gains of 1, no restarts) one after the other,
from the same start with the same limits. Whole-body control: states near standing, with friction so low that the cones
are active; the commands must agree with qpOASES on Pinocchio's matrices before anything is timed. TSID is timed in its
own environment (`--tsid`, a Python with the packages tsid and example-robot-data), because it fixes the version of pin.
Closed loop: appell's simulation with exact events and a push of the torso. Processor time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import appell as ap
from appell.control import ComTask, FrameTask, MomentumTask, PostureTask, WholeBody
from appell.control.quadratic_program import solve_qp
from appell.kinematics.inverse import numerical
from appell_lab.bench.clock import one_core
from appell_lab.bench.machine import machine, versions
from appell_lab.references.contact_peer import CONTACTS, ContactPeer, urdf
from appell_lab.references.oracle import pinocchio, relative_error
from appell_lab.references.talos_standing import SOLES, hand_targets, sole_corners, standing_talos
from appell_lab.references.whole_body_peer import WholeBodyPeer

HANDS = ("gripper_left_base_link", "gripper_right_base_link")
FEET = {name: CONTACTS["talos"][name] for name in ("left", "right")}
TASKS = [ComTask(10.0), FrameTask("torso_2_link", 0.5, 3.0), PostureTask(0.3), MomentumTask(0.05)]
SIZE = (0.1, 0.05)  # half lengths of the soles, m
REACHED = 1e-6  # m and rad
MINK_STEPS, MINK_DAMPING = 100, 1e-3  # the best of 0, 1e-3, 1e-2 and 1 on 60 targets
STATES, AGREEMENT = 200, 1e-8
PUSH_N, PUSH_S, BALANCE_S = 120.0, 0.1, 3.0


def main() -> None:
    arguments = sys.argv[1:]
    tsid = arguments.pop(arguments.index("--tsid") + 1) if "--tsid" in arguments else ""
    count = next((int(x) for x in arguments if x.isdigit()), 1000)
    peer = ContactPeer(urdf("talos"), FEET)
    result: dict[str, Any] = {"machine": machine(), "versions": versions() | {"daqp": version("daqp")}}
    with one_core(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result["inverse kinematics"] = inverse_kinematics(peer.contacts.dyn, count)
        result["whole body"] = whole_body(peer)
        if tsid:
            result["whole body"]["TSID"] = tsid_times(tsid)
        result["closed loop"] = balance(peer.contacts.dyn)
    path = Path(__file__).parent / "results" / "whole-body.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


# ---- inverse kinematics


def inverse_kinematics(dyn: ap.Dynamics, count: int) -> dict[str, Any]:
    targets, start = hand_targets(dyn, count, seed=0)
    solver = numerical(dyn.system, [*HANDS, ComTask(), *SOLES])
    solver({name: x if x.ndim == 2 and len(x) == 4 else x[:2] for name, x in targets.items()}, start)  # compiles
    results: dict[str, Any] = {"targets": count}
    for title, starts in (("appell, one start", 1), ("appell, up to 40 starts", 40)):
        before = time.process_time()
        solution = solver(targets, start, starts=starts)
        spent = time.process_time() - before
        errors = np.maximum(solution.position_error, solution.rotation_error).max(axis=-1)
        results[title] = figures(errors, spent) | {"steps": round(float(solution.steps.mean()), 1)}
    try:
        import mink  # noqa: F401
    except ImportError:
        return results | {"mink": "is not installed"}
    errors, spent, steps = by_mink(dyn, targets, start, count)
    results["mink"] = figures(errors, spent) | {"steps": round(steps, 1), "version": version("mink")}
    ratio = results["mink"]["µs per target"] / results["appell, up to 40 starts"]["µs per target"]
    return results | {"times faster than mink": round(ratio, 1)}


def figures(errors: np.ndarray, spent: float) -> dict[str, Any]:
    reached = errors <= REACHED
    return {
        "reached": float(reached.mean()),
        "largest error of those": float(f"{errors[reached].max(initial=0.0):.2g}"),
        "µs per target": round(spent / len(errors) * 1e6, 1),
    }


def by_mink(dyn: ap.Dynamics, targets: dict[str, np.ndarray], start: np.ndarray, count: int):
    """Return the largest error of each target, the processor time, and the mean number of steps."""
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_string(ap.to_mjcf(dyn.system))
    qpos = np.r_[start[:3], start[6], start[3:6], np.zeros(model.nq - 7)]  # quaternions of MuJoCo are w x y z
    for name, x in zip(dyn.system.coordinate_names[7:], start[7:], strict=True):
        qpos[model.jnt_qposadr[model.joint(name).id]] = x
    tasks = {name: mink.FrameTask(name, "site", 1.0, 1.0, lm_damping=MINK_DAMPING) for name in (*HANDS, *SOLES)}
    centre = mink.ComTask(1.0)
    limits = [mink.ConfigurationLimit(model)]
    errors, steps, spent = np.zeros(count), 0, 0.0
    for k in range(count):
        configuration = mink.Configuration(model, qpos)
        for name, task in tasks.items():
            pose = targets[name] if targets[name].ndim == 2 else targets[name][k]
            task.set_target(mink.SE3.from_matrix(pose))
        centre.set_target(targets["com"][k])
        before = time.process_time()
        for _ in range(MINK_STEPS):
            error = [
                np.linalg.norm(part) for t in tasks.values() for part in np.split(t.compute_error(configuration), 2)
            ]
            errors[k] = max(*error, np.linalg.norm(centre.compute_error(configuration)))
            if errors[k] <= REACHED:
                break
            velocity = mink.solve_ik(configuration, [*tasks.values(), centre], 1.0, "daqp", damping=1e-6, limits=limits)
            configuration.integrate_inplace(velocity, 1.0)
            steps += 1
        spent += time.process_time() - before
    return errors, spent, steps / count


# ---- whole-body control


def whole_body(peer: ContactPeer) -> dict[str, Any]:
    pin, model, dyn = pinocchio(), peer.model, peer.contacts.dyn
    controller = WholeBody(dyn, FEET, TASKS, friction=0.1, size=SIZE)
    reference, q0, rng = WholeBodyPeer(controller, model), standing_talos(dyn), np.random.default_rng(0)
    worst, active, calls = {"tau": 0.0, "a": 0.0, "force": 0.0}, [], []
    for _ in range(STATES):
        q = pin.integrate(model, q0, 0.03 * rng.normal(size=model.nv))
        v, references = 0.05 * rng.normal(size=model.nv), controller.references(q)
        references["com"] = references["com"] + rng.uniform(-1.0, 1.0, 3) * [0.02, 0.02, 0.01]
        footholds = controller.contact_set.poses(q)  # type: ignore[union-attr]
        footholds[:, :, :3] = np.eye(3)
        command = controller(q, v, references, footholds=footholds)
        tau, a, force = reference.command(q, v, references, footholds)
        worst["tau"] = max(worst["tau"], float(relative_error(command.tau[6:], tau)))
        worst["a"] = max(worst["a"], float(relative_error(command.a, a)))
        worst["force"] = max(worst["force"], float(relative_error(command.force.ravel(), force)))
        active.append(int((np.abs(command.duals[-32:]) > 1e-6).sum()))
        calls.append((q, v, references, footholds))
    if max(worst.values()) > AGREEMENT:
        raise SystemExit(f"commands differ from qpOASES by {worst}; nothing is timed.")
    programs = [controller.program(*each[:3], footholds=each[3]) for each in calls]
    timed = {
        "call": lambda k: controller(*calls[k][:3], footholds=calls[k][3]),
        "daqp alone": lambda k: solve_qp(*programs[k]),
    }
    timed |= other_solvers(programs)
    return {
        "states": STATES,
        "variables, rows": list(programs[0].C.shape)[::-1],
        "relative difference from qpOASES on Pinocchio's matrices": {
            name: float(f"{x:.2g}") for name, x in worst.items()
        },
        "active rows of friction, mean": round(float(np.mean(active)), 1),
        "states with active friction": int(np.count_nonzero(active)),
        "µs": {title: best_time(function) for title, function in timed.items()},
    }


def best_time(function) -> float:
    """Return the least processor time per state of three passes, µs."""
    passes = []
    for _ in range(3):
        before = time.process_time()
        for k in range(STATES):
            function(k)
        passes.append((time.process_time() - before) / STATES * 1e6)
    return round(min(passes), 1)


def other_solvers(programs: list) -> dict[str, Any]:
    """Return the QP libraries that are installed, at a tolerance of 1e-9, on the same programs."""
    split = [(p.H, p.g, p.lower == p.upper, p.C, p.lower, p.upper) for p in programs]
    solvers: dict[str, Any] = {}

    def piqp_solve(k: int) -> None:
        H, g, equal, C, lower, upper = split[k]
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
        solver.setup(H, g, C[equal], lower[equal], C[~equal], lower[~equal], upper[~equal])
        solver.solve()

    def quadprog_solve(k: int) -> None:
        H, g, equal, C, lower, upper = split[k]
        above, below = ~equal & np.isfinite(lower), ~equal & np.isfinite(upper)
        rows = np.vstack([C[equal], C[above], -C[below]])
        quadprog.solve_qp(H, -g, rows.T, np.r_[lower[equal], lower[above], -upper[below]], int(equal.sum()))

    def proxqp_solve(k: int) -> None:
        H, g, equal, C, lower, upper = split[k]
        solver = proxsuite.proxqp.dense.QP(len(g), int(equal.sum()), int((~equal).sum()))
        solver.settings.eps_abs = 1e-9
        solver.init(H, g, C[equal], lower[equal], C[~equal], lower[~equal], upper[~equal])
        solver.solve()

    try:
        import piqp

        solvers["piqp alone"] = piqp_solve
    except ImportError:
        pass
    try:
        import quadprog

        solvers["quadprog alone"] = quadprog_solve
    except ImportError:
        pass
    try:
        import proxsuite

        solvers["proxqp alone"] = proxqp_solve
    except ImportError:
        pass
    return solvers


TSID = """
import json, sys, time, warnings
import numpy as np, pinocchio as pin, tsid
from importlib.metadata import files, version
path = next(str(f.locate()) for f in files("example-robot-data") if f.name == "talos_reduced.urdf")
robot = tsid.RobotWrapper(path, [str(path).rsplit("/", 2)[0]], pin.JointModelFreeFlyer(), False)
model, q = robot.model(), np.array(json.loads(sys.argv[1]))
v, n = np.zeros(robot.nv), robot.nv
inv = tsid.InverseDynamicsFormulationAccForce("tsid", robot, False)
inv.computeProblemData(0.0, q, v)
X, Y = 0.1, 0.05
points = np.array([[X, X, -X, -X], [Y, -Y, Y, -Y], [0.0] * 4])
for foot in ("left_sole_link", "right_sole_link"):
    contact = tsid.Contact6d(foot, robot, foot, points, np.array([0.0, 0.0, 1.0]), 0.1 / np.sqrt(2), 0.0, 2000.0)
    contact.setKp(np.zeros(6)); contact.setKd(20.0 * np.ones(6))
    contact.setReference(robot.framePosition(inv.data(), model.getFrameId(foot)))
    inv.addRigidContact(contact, 1e-6)
def gains(task, count):
    task.setKp(100.0 * np.ones(count)); task.setKd(20.0 * np.ones(count))
    return task
com = gains(tsid.TaskComEquality("com", robot), 3)
inv.addMotionTask(com, 100.0, 1, 0.0)
torso = gains(tsid.TaskSE3Equality("torso", robot, "torso_2_link"), 6)
inv.addMotionTask(torso, 9.0, 1, 0.0)
posture = gains(tsid.TaskJointPosture("posture", robot), n - 6)
inv.addMotionTask(posture, 0.09, 1, 0.0)
bounds = tsid.TaskActuationBounds("torque", robot); limit = model.effortLimit[6:]; bounds.setBounds(-limit, limit)
inv.addActuationTask(bounds, 1.0, 0, 0.0)
c = tsid.TrajectoryEuclidianConstant("c", robot.com(inv.data()) + np.array([0.01, 0.0, 0.0]))
com.setReference(c.computeNext())
pose = robot.framePosition(inv.data(), model.getFrameId("torso_2_link"))
torso.setReference(tsid.TrajectorySE3Constant("t", pose).computeNext())
posture.setReference(tsid.TrajectoryEuclidianConstant("p", q[7:]).computeNext())
solver = tsid.SolverHQuadProgFast("solver"); solver.resize(inv.nVar, inv.nEq, inv.nIn)
rng, spent, problem, status = np.random.default_rng(0), [], [], set()
states = [(pin.integrate(model, q, 0.01 * rng.normal(size=n)), 0.05 * rng.normal(size=n)) for _ in range(200)]
for _ in range(3):
    a = time.process_time()
    for x, y in states:
        inv.computeProblemData(0.0, x, y)
    b = time.process_time()
    for x, y in states:
        status.add(int(solver.solve(inv.computeProblemData(0.0, x, y)).status))
    spent.append((time.process_time() - b) / 200 * 1e6); problem.append((b - a) / 200 * 1e6)
print(json.dumps({"version": version("tsid"), "variables, equations, inequalities": [inv.nVar, inv.nEq, inv.nIn],
                  "status": sorted(status),
                  "µs": {"call": round(min(spent), 1), "problem alone": round(min(problem), 1)}}))
"""


def tsid_times(python: str) -> dict[str, Any]:
    """Return the times of TSID for the same robot, contacts and tasks (without the momentum), in its environment."""
    q = standing_talos(ContactPeer(urdf("talos"), FEET).contacts.dyn)
    run = subprocess.run([python, "-c", TSID, json.dumps(q.tolist())], capture_output=True, text=True, check=False)
    if run.returncode:
        return {"failed": run.stderr.strip().splitlines()[-1]}
    return json.loads(run.stdout.splitlines()[-1])


def balance(dyn: ap.Dynamics) -> dict[str, Any]:
    """Return how far a push moves the centre of mass, and where it is at the end."""
    robot, q0 = dyn.system.with_frames(sole_corners(dyn.system, SIZE)), standing_talos(dyn)
    plant = ap.Dynamics(robot, wrenches=["torso_2_link"], reference="LOCAL_WORLD_ALIGNED")
    controller = WholeBody(dyn, FEET, TASKS, friction=0.5, size=(0.09, 0.045), gains={"com": (30.0, 12.0)})
    references, footholds = controller.references(q0), controller.contact_set.poses(q0)  # type: ignore[union-attr]
    active = []

    def law(t, q, v):
        command = controller(q, v, references, footholds=footholds)
        active.append(bool((np.abs(command.duals[-32:]) > 1e-6).any()))
        return command.tau

    push = {"torso_2_link": lambda t, q, v: [PUSH_N * (t < PUSH_S), 0.0, 0.0, 0.0, 0.0, 0.0]}
    corners = [frame.name for frame in sole_corners(robot, SIZE)]
    floor = ap.Contact(corners, ap.Plane((0, 0, 1)), friction=0.6)
    record = ap.simulate(plant, q0, until=BALANCE_S, torque=ap.Sampled(law, 2e-3), contacts=floor, wrenches=push)
    shift = np.linalg.norm(dyn.center_of_mass(record.q) - references["com"], axis=-1)
    return {
        "push": f"{PUSH_N:g} N for {PUSH_S:g} s",
        "duration, s": float(record.t[-1]),
        "largest shift of the centre of mass, m": float(f"{shift.max():.3g}"),
        "shift at the end, m": float(f"{shift[-1]:.2g}"),
        "events": [event.kind for event in record.events],
        "ticks with active friction or support": int(np.sum(active)),
        "ticks": len(active),
    }


if __name__ == "__main__":
    main()
