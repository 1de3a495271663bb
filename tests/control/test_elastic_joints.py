"""Control laws for elastic joints: stability conditions, tracking on plants, in simulations, rollouts and C."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.control.elastic_joints import gravity_slope, tomei_stiffness
from appell.errors import ArgumentError, ModelError
from served_robots import ur5

PERIOD = 1e-3
START = np.array([0.1, -1.2, 0.9, 0.2, 0.4, 0.1])
GAINS = ap.control.Gains([2000.0, 2000.0, 1500.0, 300.0, 300.0, 300.0], [200.0, 200.0, 100.0, 15.0, 15.0, 15.0])
LAWS = {"motor-pd": GAINS, "torque-feedback": GAINS, "elastic-tracking": ap.control.critical(30.0)}


def arm(stiffness=3e3, damping=0.0, hardening=1e5):
    motor = ap.Actuator(gear=100.0, rotor_inertia=5e-5, friction=ap.Friction(viscous=0.5))
    robot = ur5().with_actuators(lambda name, _: motor)
    spring = ap.Elasticity(stiffness, damping=damping, hardening=hardening)
    return robot.with_elastic_joints(dict.fromkeys(robot.joint_names, spring))


def held(robot, q=START):
    """Return the state of rest in which the springs carry the links."""
    return ap.Dynamics(robot).flat_state(q, *np.zeros((3, 6)))[0]


@pytest.fixture(params=LAWS, scope="module")
def design(request):
    return ap.control.Design(arm(), LAWS[request.param], law=request.param, period=PERIOD, torque_limit=np.inf)


def test_a_law_reaches_its_target_on_a_plant(design):
    robot = design.model
    plant = ap.hardware.Plant(robot, 5e-4)
    plant.set_state(held(robot))
    path = ap.motion.Ramp(START, START + 0.1, 1.0, 4.0)
    reference = ap.hardware.Reference.sampled(path, PERIOD)
    response = ap.hardware.closed_loop(ap.control.Controller(design), plant, reference, settle=1.0)
    largest = {"motor-pd": 0.05, "torque-feedback": 0.05, "elastic-tracking": 0.01}[design.law.name]
    assert np.abs(response.error).max() < largest
    assert np.abs(response.error[-1]).max() < 1e-3


def test_a_law_runs_in_simulate_and_in_rollouts(design):
    """In continuous time, with a constant target, both integrate the same closed loop."""
    robot, target = design.model, START + 0.02
    torque = ap.control.Controller(design).continuous(lambda t: (target, np.zeros(6), np.zeros(6)))
    record = ap.simulate(robot, held(robot), until=0.4, torque=torque, solver="RK45")
    error = np.abs(record.q[:, :6] - target).max(axis=1)
    assert record.status == "FINISHED"
    assert error[-1] < 0.5 * error[0]
    rolled = ap.rollout(robot, held(robot), steps=800, dt=5e-4, law=design, reference=target)
    np.testing.assert_allclose(rolled.q[0, -1, :6], record.q[-1, :6], atol=2e-3)


def test_a_law_is_exported_to_c(design, program, tmp_path):
    import subprocess

    gcc = program("gcc")
    design.to_c("law").write(tmp_path)
    (source,) = tmp_path.glob("*.c")
    subprocess.run([gcc, "-O0", "-c", source.name], cwd=tmp_path, check=True)


def test_feedback_linearisation_places_four_equal_poles():
    """The error of a chain of four integrators with all poles at -w decays as e(0) (1 + x + x²/2 + x³/6) exp(-x)."""
    robot, w, target = arm(), 30.0, START + 0.02
    design = ap.control.Design(robot, ap.control.critical(w), law="elastic-tracking", torque_limit=np.inf)
    torque = ap.control.Controller(design).continuous(lambda t: (target, np.zeros(6), np.zeros(6)))
    record = ap.simulate(robot, held(robot), until=0.3, torque=torque, solver=ap.Solver("RK45", rtol=1e-8, atol=1e-10))
    x = w * record.t
    expected = -0.02 * (1 + x + x**2 / 2 + x**3 / 6) * np.exp(-x)
    np.testing.assert_allclose(record.q[:, :6] - target, expected[:, None] * np.ones(6), atol=2e-6)


def test_torque_feedback_divides_the_inertia_of_the_motors():
    """At rest with a torque u, the motors accelerate as if they had the inertia B_d = B / 4."""
    robot = arm()
    dyn = ap.Dynamics(robot, friction=True)
    (pd, feedback) = (
        ap.control.Controller(ap.control.Design(robot, GAINS, law=law, torque_limit=np.inf))
        for law in ("motor-pd", "torque-feedback")
    )
    q, v, reference = held(robot), np.zeros(12), [START + 0.01, np.zeros(6), np.zeros(6)]
    u, tau = pd(q, v, reference).copy(), feedback(q, v, reference).copy()
    B, f = robot.actuators[0].reflected_inertia, dyn.spring_torques(q, v)
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau)[6:], (u - f) / (B / 4.0), rtol=1e-9)


def test_tomeis_condition_is_checked_and_named():
    robot = arm()
    with pytest.raises(ArgumentError, match=r"Tomei's condition .* smallest stiffness .* gravity changes by up to"):
        ap.control.Design(robot, ap.control.Gains(5.0, 1.0), law="motor-pd")
    with pytest.raises(
        ArgumentError, match="Tomei's condition"
    ):  # no gain can hold an arm on springs that are too soft
        ap.control.Design(arm(20.0), ap.control.Gains(1e4, 1.0), law="motor-pd")
    slope = gravity_slope(robot)
    links = ap.Dynamics(robot.link_side)
    q = np.random.default_rng(8).uniform(-3.0, 3.0, (50, 6))
    assert np.linalg.norm(links.gravity.jacobian("q")(q), 2, axis=(1, 2)).max() < 1.1 * slope
    k, kp = 3e3, 2000.0
    smallest = np.linalg.eigvalsh([[k, -k], [-k, k + kp]])[0]
    assert tomei_stiffness(robot, np.full(6, kp)) == pytest.approx(smallest)


def test_laws_for_other_joints_are_refused_by_name():
    robot = arm()
    with pytest.raises(ArgumentError, match=r"law 'tracking' is for rigid joints[\s\S]*model.rigid"):
        ap.control.Design(robot, ap.control.critical(20.0))
    with pytest.raises(ArgumentError, match=r"law 'motor-pd' is for elastic joints"):
        ap.control.Design(robot.rigid, GAINS, law="motor-pd")
    with pytest.raises(ModelError, match="does not support damped springs; joint 'shoulder_pan_joint'"):
        ap.control.Design(arm(damping=1.0), ap.control.critical(20.0), law="elastic-tracking")
    partly = robot.with_elastic_joints({"elbow_joint": None})
    with pytest.raises(ModelError, match="a tree whose joints are all elastic"):
        ap.control.Design(partly, ap.control.critical(20.0), law="elastic-tracking")


@pytest.mark.parametrize("name", ["delta", "four-bar"])
def test_motor_pd_holds_mechanisms_and_robots_with_loops(name):
    bare = ap.load(name).with_actuators(lambda _, __: ap.Actuator(gear=50.0, rotor_inertia=2e-4))
    robot = bare.with_elastic_joints(dict.fromkeys(bare.actuator_names, ap.Elasticity(2e3)))
    design = ap.control.Design(robot, ap.control.Gains(800.0, 40.0), law="motor-pd", torque_limit=np.inf)
    zero = np.zeros(robot.link_nv)
    q = ap.Dynamics(robot).flat_state(robot.start[: robot.link_nq], zero, zero, zero)[0]
    controlled = q[list(ap.control.axes.controlled_indices(robot))] if robot.is_constrained else q[: robot.link_nq]
    tau = ap.control.Controller(design)(q, np.zeros(robot.nv), [controlled, zero, zero])
    np.testing.assert_allclose(ap.Dynamics(robot).forward_dynamics(q, np.zeros(robot.nv), tau), 0.0, atol=1e-7)


def test_linear_quadratic_control_stabilises_links_with_torques_at_the_motors():
    robot = arm()
    linear = ap.control.linearize(robot, held(robot))
    assert len(linear.states) == 24
    assert len(linear.inputs) == 6
    regulator = ap.control.lqr(linear, np.ones(24), np.full(6, 1e-4))
    assert np.linalg.eigvals(linear.A - linear.B @ regulator.K).real.max() < 0.0
