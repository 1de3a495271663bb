"""Whole-body control of Talos, compared with Pinocchio's matrices and qpOASES, and in a simulation with a push."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell import ArgumentError, ModelError, SimulationError
from appell.control import ComTask, FrameTask, MomentumTask, PostureTask, WholeBody
from appell.control.quadratic_program import InfeasibleError, solve_qp
from appell.control.whole_body import friction_rows
from appell_lab.references.contact_peer import CONTACTS, ContactPeer, urdf
from appell_lab.references.oracle import pinocchio, relative_error
from appell_lab.references.talos_standing import sole_corners, standing_talos
from appell_lab.references.whole_body_peer import WholeBodyPeer

FEET = {name: CONTACTS["talos"][name] for name in ("left", "right")}
TASKS = [ComTask(10.0), FrameTask("torso_2_link", 0.5, 3.0), PostureTask(0.3), MomentumTask(0.05)]
SIZE = (0.1, 0.05)


@pytest.fixture(scope="module")
def talos():
    """The model of Pinocchio, its controller in appell with little friction, and a standing configuration."""
    peer = ContactPeer(urdf("talos"), FEET)
    controller = WholeBody(peer.contacts.dyn, FEET, TASKS, friction=0.1, size=SIZE)
    return peer.model, controller, standing_talos(peer.contacts.dyn)


def states(talos, count):
    """Return states near standing, targets of the centre of mass that need friction, and level footholds."""
    model, controller, q0 = talos
    rng = np.random.default_rng(0)
    for _ in range(count):
        q = pinocchio().integrate(model, q0, 0.03 * rng.normal(size=model.nv))
        references = controller.references(q)
        references["com"] = references["com"] + rng.uniform(-1.0, 1.0, 3) * [0.02, 0.02, 0.01]
        footholds = controller.contact_set.poses(q)
        footholds[:, :, :3] = np.eye(3)
        yield q, 0.05 * rng.normal(size=model.nv), references, footholds


def test_commands_are_those_of_qpoases_on_pinocchios_matrices_with_active_friction(talos):
    model, controller, _ = talos
    peer, active = WholeBodyPeer(controller, model), 0
    for q, v, references, footholds in states(talos, 4):
        command = controller(q, v, references, footholds=footholds)
        tau, a, force = peer.command(q, v, references, footholds)
        assert relative_error(command.tau[6:], tau) < 1e-8
        assert relative_error(command.a, a) < 1e-8
        assert relative_error(command.force.ravel(), force) < 1e-8
        assert not command.tau[:6].any()
        active += int((np.abs(command.duals[-32:]) > 1e-6).sum())  # 16 rows per sole
    assert active >= 8


def test_a_lifted_foot_has_no_force_and_its_rows_disappear(talos):
    _, controller, q = talos
    references = controller.references(q)
    references["com"] = references["com"] + [0.0, 0.08, 0.0]  # towards the left foot
    command = controller(q, np.zeros(38), references, active=controller.contact_set.mask("left"))
    assert not command.force[1].any()
    assert command.force[0, 2] > 0.0
    assert len(command.duals) == 38 + 6 + 16


def test_talos_balances_after_a_push_in_simulation(talos):
    """A push of 12 N s moves the centre of mass; the feet stay, and it returns. The campaign is longer."""
    _, controller, q0 = talos
    dyn = controller.dyn
    robot = dyn.system.with_frames(sole_corners(dyn.system, SIZE))
    plant = ap.Dynamics(robot, wrenches=["torso_2_link"], reference="LOCAL_WORLD_ALIGNED")
    standing = WholeBody(dyn, FEET, TASKS, friction=0.5, size=(0.09, 0.045), gains={"com": (30.0, 12.0)})
    references, footholds = standing.references(q0), standing.contact_set.poses(q0)
    law = ap.Sampled(lambda t, q, v: standing(q, v, references, footholds=footholds).tau, 5e-3)
    push = {"torso_2_link": lambda t, q, v: [120.0 * (t < 0.1), 0.0, 0.0, 0.0, 0.0, 0.0]}
    floor = ap.Contact([frame.name for frame in sole_corners(robot, SIZE)], ap.Plane((0, 0, 1)), friction=0.6)
    record = ap.simulate(plant, q0, until=0.6, torque=law, contacts=floor, wrenches=push)
    shift = np.linalg.norm(dyn.center_of_mass(record.q) - references["com"], axis=-1)
    assert record.finished
    assert shift.max() > 2e-3
    assert shift[-1] < 0.7 * shift.max()
    assert [event.kind for event in record.events] == ["rest"]  # no foot slides or lifts


def test_the_rows_of_a_sole_are_the_wrenches_of_forces_at_its_corners():
    """All extreme rays of the corner pyramids satisfy the rows; a wrench on a row is a sum of these rays, one beyond
    it is not (nonnegative least squares)."""
    from scipy.optimize import nnls

    mu, (X, Y) = 0.7, (0.11, 0.06)
    rows = friction_rows(6, mu, (X, Y))
    tangents = [(mu / np.sqrt(2) * s, mu / np.sqrt(2) * t, 1.0) for s in (1, -1) for t in (1, -1)]
    points = [(x, y, 0.0) for x in (X, -X) for y in (Y, -Y)]
    rays = np.array([[*f, *np.cross(p, f)] for p in points for f in tangents])
    assert (rows @ rays.T >= -1e-12).all()
    rng = np.random.default_rng(1)
    for _ in range(200):
        wrench = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        direction = rng.normal(size=6) * [1, 1, 0, Y, X, 0.1]
        length = min(-(row @ wrench) / (row @ direction) for row in rows if row @ direction < 0.0)
        assert nnls(rays.T, wrench + 0.999 * length * direction)[1] < 1e-9
        assert nnls(rays.T, wrench + 1.01 * length * direction)[1] > 1e-6


def test_a_fixed_arm_needs_no_contacts_and_follows_a_moving_target():
    panda = ap.load("panda")
    dyn = ap.Dynamics(panda)
    controller = WholeBody(dyn, {}, [FrameTask("tool"), PostureTask(1e-4)])
    rng = np.random.default_rng(2)
    q, v = panda.start + 0.1 * rng.normal(size=7), 0.2 * rng.normal(size=7)
    target, rate, second = dyn.pose("tool", q), 0.1 * rng.normal(size=6), rng.normal(size=6)
    target[:3, 3] += [0.01, -0.02, 0.03]
    command = controller(q, v, {"tool": (target, rate, second), "posture": q})
    pose, twist = dyn.pose("tool", q), dyn.velocity("tool", q, v, reference="LOCAL_WORLD_ALIGNED")
    wanted = second + 20.0 * (rate - twist)
    wanted[:3] += 100.0 * (target - pose)[:3, 3]
    a = dyn.acceleration("tool", q, v, command.a, reference="LOCAL_WORLD_ALIGNED")
    np.testing.assert_allclose(a, wanted, atol=1e-4 * np.abs(wanted).max())
    np.testing.assert_allclose(command.tau, dyn.inverse_dynamics(q, v, command.a), atol=1e-9)


def test_the_rows_of_a_point_are_a_pyramid_inside_the_cone():
    rows, rng = friction_rows(3, 0.6, (0.0, 0.0)), np.random.default_rng(4)
    forces = rng.normal(size=(1000, 3))
    inside = (forces @ rows.T >= 0.0).all(axis=-1)
    assert inside.any()
    assert (np.hypot(forces[:, 0], forces[:, 1]) <= 0.6 * forces[:, 2] + 1e-12)[inside].all()
    corner = np.array([0.6 / np.sqrt(2), 0.6 / np.sqrt(2), 1.0])  # on the cone
    np.testing.assert_allclose(sorted(rows @ corner)[:2], 0.0, atol=1e-15)


def test_a_program_without_a_solution_names_the_constraints(talos):
    _, controller, q = talos
    v = np.zeros(38)
    v[controller.system.velocity_names.index("leg_left_4_joint")] = 50.0  # the left foot must stop within 50 ms
    culprits = r"acceleration of contact 'left' \(by .*\), torque limit 160 of 'leg_left_5_joint' \(by"
    with pytest.raises(SimulationError, match=culprits):
        controller(q, v, controller.references(q))


def test_wrong_arguments_are_named_errors(talos):
    _, controller, q = talos
    dyn, v, references = controller.dyn, np.zeros(38), controller.references(q)
    broken = references | {"com": [0.0, np.nan, 0.0]}
    for problem, call in {
        "the target of the task 'com' is nan": lambda: controller(q, v, broken),
        "no target of the task 'momentum'": lambda: controller(
            q, v, {k: references[k] for k in references if k != "momentum"}
        ),
        "no task 'con'": lambda: controller(q, v, references | {"con": 1}),
        r"v of the WholeBody of robot 'talos.*' has shape \(3,\)": lambda: controller(q, v[:3], references),
        r"footholds .* has shape \(2, 4\)": lambda: controller(q, v, references, footholds=np.zeros((2, 4))),
        "not finite": lambda: controller(np.full(39, np.nan), v, references),
        "differs from RᵀR = 1": lambda: controller(q, v, references | {"torso_2_link": np.full((4, 4), 0.5)}),
        "friction is -1": lambda: WholeBody(dyn, FEET, TASKS, friction=-1.0),
        "size is 0.1": lambda: WholeBody(dyn, FEET, TASKS, size=0.1),
        "a task of robot 'talos.*' is 3": lambda: WholeBody(dyn, FEET, [3]),
        "tasks of robot 'talos.*' is empty": lambda: WholeBody(dyn, FEET, []),
        "contain 'com' 2 times": lambda: WholeBody(dyn, FEET, [ComTask(), ComTask(2.0)]),
        "priority of the task 'com' is 2": lambda: WholeBody(dyn, FEET, [ComTask(priority=2)]),
        "gains of the WholeBody has no task 'cm'": lambda: WholeBody(dyn, FEET, TASKS, gains={"cm": (1.0, 1.0)}),
        "contact 'hand' of robot 'talos.*' is on another link": lambda: WholeBody(
            dyn, {"hand": ap.Touch("arm_left_7_link", on="torso_2_link")}, TASKS
        ),
    }.items():
        with pytest.raises(ArgumentError, match=problem):
            call()
    for problem, call in {
        "no frame 'left_sole'": lambda: WholeBody(dyn, {"left": ap.Sole("left_sole")}, TASKS),
        "no frame 'torso'": lambda: WholeBody(dyn, FEET, [FrameTask("torso")]),
        "is for trees": lambda: WholeBody(ap.load("four-bar"), {}, [PostureTask()]),
    }.items():
        with pytest.raises(ModelError, match=problem):
            call()


def test_a_quadratic_program_agrees_with_its_optimality_conditions_and_names_contradictions():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(12, 12))
    H, g, C = A @ A.T + np.eye(12), rng.normal(size=12), rng.normal(size=(20, 12))
    lower, upper = -0.1 - rng.random(20), 0.1 + rng.random(20)
    lower[:3] = upper[:3]
    upper[5], lower[6] = np.inf, -np.inf
    x, duals = solve_qp(H, 30.0 * g, C, lower, upper)
    y = C @ x
    np.testing.assert_allclose(H @ x + 30.0 * g + C.T @ duals, 0.0, atol=1e-9)
    assert (y >= lower - 1e-9).all()
    assert (y <= upper + 1e-9).all()
    assert np.all((duals[3:] <= 0) | (np.abs(y - upper)[3:] < 1e-9))
    assert np.all((duals[3:] >= 0) | (np.abs(y - lower)[3:] < 1e-9))
    with pytest.raises(InfeasibleError) as error:
        solve_qp(
            np.eye(2),
            np.zeros(2),
            np.array([[1.0, 0], [1.0, 0], [0, 1.0]]),
            np.array([1.0, -9, -9]),
            np.array([9.0, -1, 9]),
        )
    assert [row for row, _ in error.value.violations] == [0, 1]
