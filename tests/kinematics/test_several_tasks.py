"""Inverse kinematics of several frames and the centre of mass: Talos, priorities, limits, mimic joints, errors."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell import ArgumentError, ModelError
from appell.kinematics.inverse import ComTask, FrameTask, numerical
from appell_lab.references.contact_peer import ContactPeer, urdf
from appell_lab.references.oracle import pinocchio
from appell_lab.references.talos_standing import SOLES, hand_targets

HANDS = ("gripper_left_base_link", "gripper_right_base_link")


@pytest.fixture(scope="module")
def talos():
    """Talos in Pinocchio and in appell, with its feet on the ground."""
    peer = ContactPeer(urdf("talos"), {"left": ap.Sole(SOLES[0])})
    return peer.model, peer.contacts.dyn


def test_talos_reaches_both_hands_and_its_centre_of_mass_on_both_feet(talos):
    """100 of the targets of benchmarks/whole_body.py, compared with Pinocchio's kinematics."""
    model, dyn = talos
    pin, data = pinocchio(), model.createData()
    targets, start = hand_targets(dyn, 100, seed=0)
    solution = numerical(dyn.system, [*HANDS, ComTask(), *SOLES])(targets, start, tolerance=1e-9)
    assert solution.reached.all(), str(solution)
    limits = dyn.system.limits
    assert ((solution.q >= limits.lower) & (solution.q <= limits.upper)).all()
    for k, q in enumerate(solution.q):
        pin.framesForwardKinematics(model, data, q)
        assert np.abs(pin.centerOfMass(model, data, q) - targets["com"][k]).max() < 1e-9
        for name in (*HANDS, *SOLES):
            pose = data.oMf[model.getFrameId(name)].homogeneous
            assert np.abs(pose - np.broadcast_to(targets[name], (100, 4, 4))[k]).max() < 5e-9


def test_the_posture_acts_in_the_null_space_of_all_tasks(talos):
    model, dyn = talos
    pin, data = pinocchio(), model.createData()
    robot, (targets, start) = dyn.system, hand_targets(dyn, 3, seed=1)
    solver = numerical(robot, [*HANDS, ComTask(), *SOLES])
    free, pulled = solver(targets, start), solver(targets, start, prefer=start)
    assert pulled.reached.all()
    gaps = [np.linalg.norm((solution.q - start)[:, 7:], axis=-1) for solution in (free, pulled)]
    assert (gaps[1] < gaps[0]).all()
    for q in pulled.q:  # the remaining difference is orthogonal to the null space, but for joints at limits
        frames = [pin.computeFrameJacobian(model, data, q, model.getFrameId(name)) for name in (*HANDS, *SOLES)]
        J = np.vstack([*frames, pin.jacobianCenterOfMass(model, data, q)])
        inside = (q > robot.limits.lower + 1e-9)[7:] & (q < robot.limits.upper - 1e-9)[7:]
        joints = np.r_[np.ones(6, bool), inside]
        null = np.linalg.svd(J[:, joints])[2][np.linalg.matrix_rank(J[:, joints]) :]
        gap = np.r_[np.zeros(6), (start - q)[7:]][joints]
        assert np.linalg.norm(null @ gap) < 0.1 * np.linalg.norm(gap)


def planar_arm(*priorities):
    """A planar arm of two links of 1 m with tasks at its elbow and its tip, of which only one can be reached."""
    robot = ap.load("planar-2r")
    elbow, tip = (
        FrameTask(name, rotation=0.0, priority=k) for name, k in zip(("lower", "tool"), priorities, strict=True)
    )
    targets = {"lower": np.eye(4), "tool": np.eye(4)}
    targets["lower"][:3, 3], targets["tool"][:3, 3] = [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]
    return robot, numerical(robot, [elbow, tip]), targets


def test_a_task_of_higher_priority_is_reached_and_the_other_is_as_close_as_it_can_be():
    _, solver, targets = planar_arm(1, 2)
    elbow_first = solver(targets, [0.5, 0.5])
    np.testing.assert_allclose(elbow_first.position_error[0], 0.0, atol=1e-9)
    # the tip is on the unit circle about (0, 1), closest to (2, 0)
    assert elbow_first.position_error[1] == pytest.approx(np.sqrt(5.0) - 1.0, abs=1e-8)
    assert not elbow_first.reached
    assert "frame 'tool' misses its target by 1.23607 m" in str(elbow_first)
    _, solver, targets = planar_arm(2, 1)
    tip_first = solver(targets, [0.5, 0.5])
    np.testing.assert_allclose(
        tip_first.position_error, [np.sqrt(2.0), 0.0], atol=1e-5
    )  # singular: the arm is stretched


def test_weights_divide_the_error_between_tasks_of_one_priority():
    """The gradient of the weighted squares vanishes."""
    robot = ap.load("planar-2r")
    targets = {"lower": np.eye(4), "tool": np.eye(4)}
    targets["lower"][:3, 3], targets["tool"][:3, 3] = [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]
    tasks = [FrameTask("lower", 3.0, 0.0), FrameTask("tool", 1.0, 0.0)]
    solution = numerical(robot, tasks)(targets, [0.5, 0.5], starts=1)
    dyn, gradient = ap.Dynamics(robot), 0.0
    for task in tasks:
        J = dyn.jacobian(task.frame, solution.q, reference="LOCAL_WORLD_ALIGNED")[:3]
        error = (targets[task.frame] - dyn.pose(task.frame, solution.q))[:3, 3]
        gradient = gradient + task.position**2 * J.T @ error
    assert np.abs(gradient).max() < 1e-6


def test_three_priorities_of_an_arm_agree_with_a_general_optimiser():
    """Level 1 holds, level 2 is out of reach, level 3 uses what both leave free: compared with SLSQP."""
    from scipy.optimize import minimize

    robot = ap.load("panda")
    dyn = ap.Dynamics(robot)
    q0 = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.8])
    elbow, flange = robot.link_names[3], robot.link_names[5]
    tool = dyn.pose("tool", q0)
    far, side = dyn.pose(elbow, q0), dyn.pose(flange, q0)
    far[:3, 3] += [0.2, 0.6, 0.0]
    tasks = [FrameTask("tool", 1.0, 0.0, 1), FrameTask(elbow, 1.0, 0.0, 2), FrameTask(flange, 0.0, 1.0, 3)]
    solution = numerical(robot, tasks)({"tool": tool, elbow: far, flange: side}, q0, starts=1)

    def distance(name, target, q):
        return np.sum((dyn.pose(name, q) - target)[:3, 3] ** 2)

    def held(name, target):
        return {"type": "eq", "fun": lambda q: (dyn.pose(name, q) - target)[:3, 3]}

    options = {"method": "SLSQP", "bounds": list(zip(robot.limits.lower, robot.limits.upper, strict=True))}
    options |= {"options": {"ftol": 1e-15, "maxiter": 300}}
    second = minimize(lambda q: distance(elbow, far, q), solution.q, constraints=[held("tool", tool)], **options)
    assert solution.position_error[0] < 1e-9
    assert solution.position_error[1] == pytest.approx(np.sqrt(second.fun), abs=1e-6)

    def angle(q):
        return np.sum((dyn.pose(flange, q) - side)[:3, :3] ** 2)

    kept = [held("tool", tool), held(elbow, dyn.pose(elbow, solution.q))]
    third = minimize(angle, solution.q, constraints=kept, **options)
    assert angle(solution.q) <= third.fun + 1e-6


def test_a_period_keeps_every_joint_within_its_speed_limit():
    robot = ap.load("panda")
    dyn, start = ap.Dynamics(robot), np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])
    target = dyn.pose("tool", start + 0.4)
    solver = numerical(robot)
    speed = robot.limits.speed
    assert np.isfinite(speed).all()
    q, ticks = start, 0
    while not (solution := solver(target, q, period=0.02)).reached:
        assert (np.abs(solution.q - q) <= 0.02 * speed * (1 + 1e-12)).all()
        q, ticks = solution.q, ticks + 1
        assert ticks < 40
    assert ticks * 0.02 >= 0.4 / speed.max() - 0.02  # it cannot be faster than its fastest joint
    assert (np.abs(solution.q - q) <= 0.02 * speed * (1 + 1e-12)).all()


def test_the_finger_of_a_gripper_that_mimics_another_one_is_moved_by_its_leader():
    """Talos' gripper has one joint and six that mimic it."""
    robot = ap.load("talos", base="floating")
    assert any(link.joint.mimic for link in robot.links)
    dyn, finger = ap.Dynamics(robot), "gripper_left_fingertip_1_link"
    q = robot.start.copy()
    q[robot.coordinate_names.index("gripper_left_joint")] = -0.6
    targets = {finger: dyn.pose(finger, q), "gripper_left_base_link": dyn.pose("gripper_left_base_link", q)}
    solution = numerical(robot, [FrameTask(finger), FrameTask("gripper_left_base_link")])(targets)
    assert solution.reached
    assert solution.q[robot.coordinate_names.index("gripper_left_joint")] == pytest.approx(-0.6, abs=1e-8)


def test_wrong_tasks_and_targets_are_named_errors():
    panda = ap.load("panda")
    solver = numerical(panda, ["tool", ComTask(priority=2)])
    pose, point = np.eye(4), np.zeros(3)
    for problem, call in {
        "targets has no target of the task 'com'": lambda: solver({"tool": pose}),
        "the solver has no task 'hand'": lambda: solver({"tool": pose, "com": point, "hand": pose}),
        "targets is array": lambda: solver(pose),
        r"task 'com' has shape \(2,\)": lambda: solver({"tool": pose, "com": [0.0, 1.0]}),
        r"task 'com' is nan at index \[1\]": lambda: solver({"tool": pose, "com": [0.0, np.nan, 0.0]}),
        r"task 'tool' is nan at index \[2, 0, 3\]": lambda: numerical(panda)(
            np.stack([pose, pose, np.where(np.arange(16).reshape(4, 4) == 3, np.nan, pose)])
        ),
        r"do not broadcast: tool \(2, 4, 4\), com \(3, 3\)": lambda: solver(
            {"tool": np.stack([pose] * 2), "com": np.zeros((3, 3))}
        ),
        "the target of the task 'tool' differs from": lambda: solver({"tool": 2.0 * pose, "com": point}),
        "period is 0": lambda: solver({"tool": pose, "com": point}, period=0.0),
        "contain 'tool' 2 times": lambda: numerical(panda, ["tool", FrameTask("tool", 0.0)]),
        "both weights of the task 'tool' are 0": lambda: numerical(panda, [FrameTask("tool", 0.0, 0.0)]),
        "weight of the task 'com' is -1": lambda: numerical(panda, [ComTask(-1.0)]),
        "priority of the task 'com' is 0": lambda: numerical(panda, [ComTask(priority=0)]),
        "tasks of robot 'panda' is empty": lambda: numerical(panda, []),
    }.items():
        with pytest.raises(ArgumentError, match=problem):
            call()
    with pytest.raises(ModelError, match="no frame 'hnad'"):
        numerical(panda, ["tool", "hnad"])
