"""Model predictive control: one law in simulations, rollouts, control loops and C, with the bits of Python."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell_lab.boards.board import BOARDS, BoardJob

GOAL, LIMIT = np.array([0.8, -0.5]), np.array([35.0, 12.0])


def cost(t, q, v, tau):
    return 10.0 * ap.square(q - GOAL) + 0.1 * ap.square(v) + 1e-4 * ap.square(tau)


@pytest.fixture(scope="module")
def plan():
    return ap.Optimizer(
        ap.load("planar-2r"), 15, 0.02, cost=cost, final_cost=lambda q, v: ap.square(v), limits={"torque": LIMIT}
    )


@pytest.fixture(scope="module")
def law(plan):
    return plan.mpc(0.01, q0=[0.0, 0.0])


def closed_loop(controller, dyn, steps: int, period: float = 0.01):
    """Return states, torques and the cost of a closed loop whose step is that of a rollout."""
    q, v, total, states, torques = np.zeros(2), np.zeros(2), 0.0, [], []
    for k in range(steps):
        tau = np.array(controller(k * period, q, v))
        total += period * (10.0 * ((q - GOAL) ** 2).sum() + 0.1 * (v**2).sum() + 1e-4 * (tau**2).sum())
        moved = ap.rollout(dyn, q, v, tau, steps=1, dt=period, method="euler")
        q, v = moved["q"][0, -1], moved["v"][0, -1]
        states.append(q)
        torques.append(tau)
    return np.array(states), np.array(torques), total


def test_one_iteration_per_period_costs_as_much_as_the_solution_of_every_problem(plan, law):
    dyn, guess = ap.Dynamics(plan.problem.system), [None]

    def converged(t, q, v):
        guess[0] = plan(q, v, guess=guess[0])
        assert guess[0].solved
        return guess[0].tau[0]

    _, torques, total = closed_loop(law.controller(), dyn, 60)
    best = closed_loop(converged, dyn, 60)[2]
    assert abs(total - best) <= 0.01 * best
    assert (np.abs(torques) < LIMIT).all()  # strictly inside
    assert (np.abs(torques) > 0.98 * LIMIT).any()  # and the limits are active


def test_a_rollout_and_a_control_loop_repeat_the_controller_bit_by_bit(law):
    robot = ap.load("planar-2r")
    states, torques, _ = closed_loop(law.controller(), ap.Dynamics(robot), 20)
    records = ap.rollout(robot, np.zeros((3, 2)), steps=20, dt=0.01, law=law, method="euler")
    np.testing.assert_array_equal(records["q"][1, 1:], states)
    controller = ap.control.Controller(ap.control.Design(robot, law=law.traced, period=0.01))
    again = closed_loop(lambda t, q, v: controller(q, v, np.zeros((3, 2)), time=t), ap.Dynamics(robot), 20)
    np.testing.assert_array_equal(again[1], torques)


@pytest.mark.filterwarnings("ignore::appell.errors.LimitWarning")
def test_the_loop_of_a_device_runs_the_law_under_its_supervisor():
    hw, robot, clock = ap.hardware, ap.load("planar-2r"), ap.hardware.VirtualClock()
    arm = hw.SimulatedArm(robot, clock)
    usual = hw.standard_servo(robot, arm.info)
    goal, limits = np.array([0.5, -0.4]), {"torque": [60.0, 20.0], "speed": 1.5}
    plan = ap.Optimizer(
        robot,
        20,
        0.02,
        limits=limits,
        cost=lambda t, q, v, tau: 10.0 * ap.square(q - goal) + 0.5 * ap.square(v) + 1e-3 * ap.square(tau),
        final_cost=lambda q, v: 50.0 * ap.square(q - goal) + 5.0 * ap.square(v),
    )
    law = plan.mpc(usual.design.period)
    servo = hw.Servo(ap.control.Design(robot, law=law.traced, period=law.period), arm.info, usual.guard)
    loop = hw.Loop(arm, servo, clock)
    outcome = hw.run_task(loop, lambda q: hw.Reference.hold(q, law.period, 1.5))
    loop.close()
    assert outcome.finished, outcome.sentence
    assert np.abs(loop.position - goal).max() < 0.02  # torques differ from the model by friction and resolution


def test_every_simulation_starts_with_the_initial_memory(law):
    runs = [ap.simulate(ap.load("planar-2r"), [0.0, 0.0], until=1.0, torque=law) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert np.abs(runs[0].q[-1] - GOAL).max() < 0.1


def test_the_feedback_phase_alone_gives_the_torque_of_the_step(law):
    controller = law.controller()
    blocks = [controller.memory[name].copy() for name in ("x", "w", "gain")]
    early = law.feedback([0.02, -0.01], [0.1, 0.0], *blocks)
    np.testing.assert_allclose(early, controller(0.0, [0.02, -0.01], [0.1, 0.0]), rtol=1e-13)


@pytest.mark.parametrize("board", ["gcc", "cortex-m7"])
def test_a_step_in_c_has_the_same_bits(law, board, tmp_path):
    if BOARDS[board].missing:
        pytest.skip(BOARDS[board].missing)
    controller, given, expected = law.controller(), [], []
    for k in range(3):
        state = [np.array(0.01 * k), np.array([0.1 * k, -0.2]), np.array([0.3, -0.1 * k])]
        given.append(state + [block.copy() for block in controller.memory.values()])
        tau = controller(*state).copy()
        expected.append([tau] + [block.copy() for block in controller.memory.values()])
    samples = tuple(np.array(column) for column in zip(*given, strict=True))
    outcome = BOARDS[board].run({"mpc": BoardJob(law.to_c("arm_mpc"), law.function, samples)}, tmp_path)
    for k, array in enumerate(outcome.one["mpc"]):
        np.testing.assert_array_equal(array, np.array([row[k] for row in expected]))
    source = (tmp_path / "arm_mpc.c").read_text()
    assert "alloc(" not in source
    assert "arm_mpc_step(arm_mpc_state *state_" in source
    if board == "cortex-m7":
        assert outcome.instructions["mpc"] < 35_000  # 28,340 were counted


def test_the_goal_may_change_between_two_calls():
    def to_goal(t, q, v, tau, *, goal):
        return 10.0 * ap.square([q[0] - goal[0]]) + 0.1 * ap.square(v) + 1e-2 * ap.square(tau)

    plan = ap.Optimizer(ap.load("pendulum"), 20, 0.02, cost=to_goal, arguments={"goal": 1}, limits=False)
    controller = plan.mpc(q0=[0.0], arguments={"goal": [0.3]}).controller()
    first = controller(0.0, [0.0], [0.0])[0]
    controller.parameters["goal"][:] = -0.3
    for _ in range(5):
        last = controller(0.0, [0.0], [0.0])[0]
    assert first > 0.0 > last


@pytest.mark.parametrize(
    ("options", "period", "iterations", "culprit"),
    [
        ({"dt": 0.02}, 0.03, 1, "the period is 0.03 s and a step of the problem 0.02 s"),
        ({"dt": 0.02}, -1.0, 1, "period"),
        ({"dt": 0.02}, 0.02, 0, "iterations is 0"),
        ({"dt": 0.02, "hessian": "exact"}, 0.02, 1, "exact Hessians"),
        ({"duration": (0.1, 1.0)}, 0.02, 1, "the unknowns duration"),
    ],
)
def test_a_problem_that_cannot_be_solved_once_per_period_is_refused(options, period, iterations, culprit):
    plan = ap.Optimizer(
        ap.load("pendulum"), 10, cost=lambda t, q, v, tau: 1.0 + ap.square(tau), limits=False, **options
    )
    with pytest.raises(ArgumentError, match=culprit):
        plan.mpc(period, iterations)
