"""Control of mechanisms: laws and limits at their actuators."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import appell as ap
from appell import LegJoint, Mechanism, MovingBody
from appell.control import Controller, Design, Gains, critical, linearize_closed_loop, placed
from appell.describe.legs import disc
from appell.describe.zoo.agile_wrist import agile_wrist
from appell.errors import ArgumentError, SimulationError
from appell.hardware import Plant, Reference, closed_loop
from appell_lab.references.agile_wrist_tree import agile_wrist_tree, platform_motion, tree_state
from appell_lab.references.verification import paper_trajectory

PERIOD = 1e-3
POSE = np.array([0.2, -0.3, 0.25])


@pytest.fixture(scope="module")
def wrist():
    return agile_wrist(platform_com=(0.0, 0.0, 0.02))


@pytest.fixture(scope="module")
def plant(wrist):
    return Plant(wrist)


def block(*ratios):
    """Return a mass on a slide that is moved by motors with different gear ratios."""
    drives = [LegJoint(f"motor {k}", lambda q, r=r: r * q[0], "m") for k, r in enumerate(ratios, start=1)]
    body = MovingBody("block", lambda q: ap.Pose(translation=ap.Vec3(q[0], 0.0, 0.0)), disc(2.0, 0.1))
    return Mechanism("block", ("x",), [body], drives, home=(0.0,), gravity=(-3.0, 0.0, 0.0))


def test_every_law_agrees_with_its_formula_at_the_actuators(wrist):
    rng = np.random.default_rng(3)
    q, v, integral = 0.3 * rng.normal(size=(3, 3))
    q_d, v_d, a_d = reference = rng.normal(size=(3, 3))
    kp, kd, ki = rng.uniform(1.0, 50.0, (3, 3))
    e, de = q - q_d, v - v_d
    dyn = ap.Dynamics(wrist)
    M, h, g = dyn.mass_matrix(q), dyn.bias(q, v), dyn.gravity(q)
    along = {
        "point-to-point": M @ (-kd * v - kp * e) + h,
        "tracking": M @ (a_d - kd * de - kp * e) + h,
        "tracking-integral": M @ (a_d - kd * de - kp * e - ki * integral) + h,
        "pd-gravity": g - kd * de - kp * e,
        "pid": -kd * de - kp * e - ki * integral,
    }
    for law, forces in along.items():
        gains = Gains(kp, kd, ki if "integral" in law or law == "pid" else 0.0)
        function = Controller(Design(wrist, gains, law=law, ahead=0.0)).function
        tau = np.linalg.solve(dyn.actuator_jacobian(q).T, forces)
        np.testing.assert_allclose(function(q, v, reference, integral, np.zeros(3))[2], tau, rtol=1e-10, atol=1e-10)


def test_continuous_tracking_controls_an_independent_model_of_the_wrist(wrist):
    """The plant is the tree of `agile_wrist_tree` with constraint forces, independent of the controller's equations."""
    tree = agile_wrist_tree(wrist)
    nq = tree.robot.nq
    law = Controller(Design(wrist, critical(20.0), ahead=0.0)).continuous(paper_trajectory)

    def rate(t, state):
        q, v, _ = platform_motion(state[6:nq], state[nq + 6 :], np.zeros(3))
        return tree.state_rate(state, law(t, q, v))

    start = paper_trajectory(0.0)
    angles, rates, _ = ap.Dynamics(wrist).joint_motion(*start)
    run = solve_ivp(rate, (0.0, 0.5), tree_state(angles, rates, *start[:2]), method="DOP853", rtol=1e-9, atol=1e-11)
    ends = platform_motion(run.y[6:nq, -1], run.y[nq + 6 :, -1], np.zeros(3))
    for actual, expected in zip(ends[:2], paper_trajectory(0.5)[:2], strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-8)


def test_continuous_tracking_with_a_perfect_model_is_as_accurate_as_the_integrator(wrist):
    law = Controller(Design(wrist, critical(20.0), ahead=0.0)).continuous(paper_trajectory)
    q, v, _ = paper_trajectory(0.0)
    motion = ap.simulate(ap.Dynamics(wrist), q, v, 2.0, law, solver=ap.Solver(rtol=1e-10, atol=1e-12))
    assert np.abs(motion.q - paper_trajectory(motion.t)[0]).max() < 1e-9


def test_the_error_of_sampled_tracking_is_that_of_holding_the_torque(wrist, plant):
    """With a perfect model the error is proportional to the square of the period: 1.5 µrad at 1 kHz."""
    errors = []
    for period in (2e-3, 1e-3, 5e-4):
        plant.set_state(*paper_trajectory(0.0)[:2])
        plant.longest_step = period
        law = Controller(Design(wrist, critical(20.0, period), period=period))
        response = closed_loop(law, plant, Reference.sampled(paper_trajectory, period, duration=4.0))
        errors.append(np.abs(response.error).max())
    assert errors[1] < 2e-6
    for coarse, fine in pairwise(errors):
        assert 3.5 < coarse / fine < 4.5


def test_integral_action_compensates_a_wrong_mass_of_the_platform(wrist):
    platform = wrist.bodies["platform"]
    loaded = Plant(wrist.with_bodies({"platform": ap.Body(2.5, ap.Vec3(0.005, -0.004, 0.03), platform.inertia)}))
    gains = critical(30.0, PERIOD, integral=True)
    final = {}
    for law, chosen in (("tracking", Gains(gains.kp, gains.kd)), ("tracking-integral", gains)):
        loaded.set_state(POSE)
        response = closed_loop(Controller(Design(wrist, chosen, law=law)), loaded, Reference.hold(POSE, PERIOD, 3.0))
        final[law] = np.abs(response.error[-1]).max()
    assert final["tracking"] > 5e-3
    assert final["tracking-integral"] < 0.01 * final["tracking"]


@pytest.mark.parametrize(
    ("law", "gains"),
    [("point-to-point", critical(10.0, PERIOD)), ("pd-gravity", Gains(20.0, 2.0)), ("pid", Gains(20.0, 2.0, 30.0))],
)
def test_the_other_laws_move_the_wrist_to_a_pose(wrist, plant, law, gains):
    plant.set_state(np.zeros(3))
    plant.longest_step = PERIOD
    response = closed_loop(Controller(Design(wrist, gains, law=law)), plant, Reference.hold(POSE, PERIOD, 6.0))
    assert np.abs(response.error[0]).max() > 0.2
    assert np.abs(response.error[-1]).max() < 1e-5


def test_the_sampled_error_has_the_desired_poles():
    robot = ap.load("five-bar")
    law = Controller(Design(robot, placed((-8.0, -12.0), PERIOD)))
    system = linearize_closed_loop(law, robot, robot.start)
    np.testing.assert_allclose(np.sort(system.poles.real), [-12.0] * 2 + [-8.0] * 2, rtol=0.01)
    assert system.inputs == tuple(f"tau_{name}" for name in robot.actuator_names)


def test_limits_hold_at_the_actuators_and_stop_the_integral(wrist, plant):
    limit, target = [0.8, 0.6, 0.7], np.stack([POSE, np.zeros(3), np.zeros(3)])
    gains = critical(20.0, PERIOD, integral=True)
    held = Controller(Design(wrist, gains, law="tracking-integral", torque_limit=limit, torque_rate=1e5))
    free = Controller(Design(wrist, gains, law="tracking-integral"))
    for _ in range(500):
        assert (np.abs(held(np.zeros(3), np.zeros(3), target)) <= limit).all()
        free(np.zeros(3), np.zeros(3), target)
    np.testing.assert_allclose(free.integral, -0.5 * POSE)
    assert np.abs(held.integral).max() < 0.1 * np.abs(free.integral).max()


def test_two_motors_on_one_coordinate_are_simulated_and_controlled():
    robot = block(1.0, 2.0)
    motion = ap.simulate(ap.Dynamics(robot), [0.1], [0.0], 0.5, [1.0, 4.0])  # 1·1 + 2·4 N on 2 kg, minus gravity
    assert motion.tau.shape == (len(motion.t), 2)
    np.testing.assert_allclose(motion.q[-1], 0.1 + 0.5 * (9.0 / 2.0 - 3.0) * 0.25, rtol=1e-12)

    plant = Plant(robot)
    law = Controller(Design(robot, critical(20.0, PERIOD), law="point-to-point", torque_limit=[0.9, 8.0]))
    response = closed_loop(law, plant, Reference.hold([0.2], PERIOD, 2.0))
    assert response.tau.shape == (len(response.t), 2)
    assert np.abs(response.tau[:, 0]).max() == 0.9  # the first motor saturates
    assert np.allclose(
        response.tau[-1], [0.9, 2.55]
    )  # without the limit 1.2 N for the first motor; 0.9·1 + 2.55·2 = 6 N
    lack = 5.0 * 2.55 / 2.0 - 6.0  # N, demanded by an error: the smallest torques for a force F are (F, 2F) / 5
    np.testing.assert_allclose(response.error[-1, 0], -lack / (2.0 * critical(20.0, PERIOD).kp), rtol=1e-6)


def test_a_tree_and_a_mechanism_are_accepted_as_models(wrist):
    robot = ap.load("planar-2r")
    assert Design(robot, Gains(1.0, 1.0)).model is robot
    assert Design(wrist, Gains(1.0, 1.0)).model is wrist
    with pytest.raises(ArgumentError, match="'puma' is not a robot that can be controlled"):
        Design("puma", Gains(1.0, 1.0))


@pytest.mark.parametrize(
    ("gains", "options", "words"),
    [
        (Gains([1.0, 2.0], 1.0), {}, r"gain kp has shape \(2,\); mechanism 'block' has 1 coordinates"),
        (Gains(1.0, -1.0), {}, "gain kd of coordinate 'x' is -1"),
        (Gains(1.0, 1.0), {"torque_limit": [1.0] * 3}, r"torque_limit has shape \(3,\); .* has 2 actuators"),
        (Gains(1.0, 1.0), {"torque_rate": [1.0, 0.0]}, "torque_rate of actuator 'motor 2' is 0"),
        (Gains(1.0, 1.0), {"integral_limit": [1.0, 1.0]}, "integral_limit has shape .* 1 coordinates"),
    ],
)
def test_numbers_of_the_wrong_size_or_sign_are_rejected_by_name(gains, options, words):
    with pytest.raises(ArgumentError, match=words):
        Design(block(1.0, 2.0), gains, **options)


def test_the_simulator_rejects_torques_of_the_wrong_size_or_value():
    robot = block(1.0, 2.0)
    with pytest.raises(ArgumentError, match=r"torque has shape \(1,\); mechanism 'block' needs 2"):
        ap.simulate(ap.Dynamics(robot), until=0.1, torque=[1.0])
    with pytest.raises(SimulationError, match=r"shape \(1,\)(.|\n)*the forces at motor 1, motor 2"):
        ap.simulate(ap.Dynamics(robot), until=0.1, torque=lambda t, q, v: [1.0])
    with pytest.raises(SimulationError, match="nan at actuator 'motor 2'"):
        ap.simulate(ap.Dynamics(robot), until=0.1, torque=lambda t, q, v: [1.0, np.nan])


def test_a_state_or_reference_of_the_wrong_size_is_rejected(wrist, plant):
    law = Controller(Design(wrist, critical(20.0, PERIOD)))
    with pytest.raises(ArgumentError, match=r"q has shape \(2,\); mechanism 'agile-wrist' has 3 coordinates"):
        plant.set_state([0.0, 0.0])
    with pytest.raises(ArgumentError, match="leg 'leg_1' cannot reach"):
        plant.set_state([3.0, 0.0, 0.0])
    with pytest.raises(ArgumentError, match="the reference has 2 coordinates"):
        closed_loop(law, plant, Reference.hold([0.0, 0.0], PERIOD, 0.1))
    with pytest.raises(
        ArgumentError, match="the plant has actuators motor 1, the controller's model has motor 1, motor 2"
    ):
        closed_loop(
            Controller(Design(block(1.0, 2.0), critical(20.0, PERIOD))),
            Plant(block(1.0)),
            Reference.hold([0], PERIOD, 1),
        )


def test_a_motion_out_of_reach_raises_an_error_with_time_and_pose():
    robot = ap.load("five-bar")
    law = Controller(Design(robot, critical(20.0, PERIOD), law="point-to-point"))
    with pytest.raises(SimulationError, match=r"torque of actuator '.*' is nan at t = .* s; q was \("):
        closed_loop(law, Plant(robot), Reference.hold([0.0, 3.0], PERIOD, 2.0))
