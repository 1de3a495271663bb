"""OptimalMotions of `ap.optimize`, compared with published minima of other solvers (data/references.json)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.algebra.scalar import sqrt
from appell.describe.robot_packages import examples
from appell.optimal.optimizer import _continuous
from appell.simulation import SpringContacts

REFERENCES = json.loads((Path(__file__).parent / "data" / "references.json").read_text())


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def check(record, name: str) -> None:
    """The cost is one of the listed minima to 1e-8; the iterations are at most 1.5 times those of the best peer."""
    reference = REFERENCES[name]
    assert record.solved, record.reason
    assert min(abs(record.cost / cost - 1.0) for cost in reference["cost"]) < 1e-8
    assert record.residuals["error"] <= 1e-8
    assert record.iterations <= 1.5 * reference["best_iterations"]


@pytest.fixture(scope="module")
def puma():
    """The plan of 'puma-reach-bounded', and its reference."""
    reference = REFERENCES["puma-reach-bounded"]
    qr = reference["qr"]
    plan = ap.Optimizer(
        ap.Dynamics(ap.load("puma")),
        reference["N"],
        reference["dt"],
        limits={"torque": reference["torque_limit"]},
        cost=lambda t, q, v, tau: 0.5 * (ap.square(minus(q, qr)) + 0.1 * ap.square(v) + 1e-3 * ap.square(tau)),
        final_cost=lambda q, v: 0.5 * (1e4 * ap.square(minus(q, qr)) + 100.0 * ap.square(v)),
    )
    return plan, np.array(reference["x0"][:6])


@pytest.fixture(scope="module")
def sliders():
    """The linear-quadratic problem 'sliders-lq'."""
    reference = REFERENCES["sliders-lq"]
    slide = ap.Prismatic((1.0, 0.0, 0.0))
    robot = ap.Builder("sliders", gravity=(0.0, 0.0, 0.0))
    robot = robot.link("a", slide, mass=2.0, inertia=(1, 1, 1)).link(
        "b", slide, parent="a", mass=1.0, inertia=(1, 1, 1)
    )
    weighted = lambda w, x: sum(a * ap.square([b]) for a, b in zip(w, x, strict=True))  # noqa: E731
    plan = ap.Optimizer(
        robot.build(),
        reference["N"],
        reference["dt"],
        limits=False,
        cost=lambda t, q, v, tau: 0.5 * (weighted(reference["wx"], [*q, *v]) + weighted(reference["wu"], tau)),
        final_cost=lambda q, v: 0.5 * weighted(reference["Wx"], [*q, *v]),
    )
    return plan, np.array(reference["x0"])


def test_a_linear_quadratic_problem_is_solved_in_one_iteration_with_the_gains_of_riccati(sliders):
    plan, x0 = sliders
    record = plan(x0[:2], x0[2:])
    check(record, "sliders-lq")
    assert record.iterations == 1
    reference = REFERENCES["sliders-lq"]
    np.testing.assert_allclose(record.gain[0], -np.array(reference["gain_first"]), rtol=1e-9)
    np.testing.assert_allclose(record["costate"][1], reference["costate_1"], rtol=1e-9)
    np.testing.assert_allclose(record["costate"][-1], reference["costate_N"], rtol=1e-8, atol=1e-12)


def test_the_pendulum_swings_up_with_bounded_torques():
    reference = REFERENCES["pendulum-swing"]
    guess = np.sin(3.5 * np.arange(reference["N"]) * reference["dt"])[:, None]
    record = ap.optimize(
        ap.load("pendulum"),
        [0.0],
        steps=reference["N"],
        dt=reference["dt"],
        method="rk4",
        hessian="exact",
        limits={"torque": 2.0},
        guess=guess,
        cost=lambda t, q, v, tau: 0.05 * ap.square(tau),
        final_cost=lambda q, v: 100.0 * ap.square([q[0] - np.pi]) + 10.0 * ap.square(v),
    )
    check(record, "pendulum-swing")
    assert np.abs(record.tau).max() <= 2.0


def test_a_puma_reaches_a_posture_with_bounded_torques(puma):
    plan, q0 = puma
    record = plan(q0)
    check(record, "puma-reach-bounded")
    rolled = ap.rollout(plan.problem.dyn, record.q[0], torque=record.tau[:-1], steps=100, dt=0.01, method="euler")
    np.testing.assert_allclose(rolled.q[0], record.q, atol=1e-9)


def test_a_free_duration_is_the_best_of_all_fixed_durations():
    def cost(t, q, v, tau):
        return 1.0 + 0.1 * ap.square(tau)

    def meet(q, v):
        return {"angle": (2.0, q[0], 2.0), "rest": (0.0, v[0], 0.0)}

    pendulum, options = ap.load("pendulum"), {"cost": cost, "meet": meet, "limits": {"torque": 8.0}, "hessian": "exact"}
    record = ap.optimize(pendulum, [0.0], steps=40, duration=(0.2, 5.0), **options)
    assert record.solved, record.reason
    best = record.parameters["duration"]
    assert record.t[-1] == pytest.approx(best)
    at, shorter, longer = (
        ap.optimize(pendulum, [0.0], steps=40, dt=factor * best / 40, guess=record, **options)
        for factor in (1.0, 0.98, 1.02)
    )
    assert at.cost == pytest.approx(record.cost, rel=1e-8)
    assert min(shorter.cost, longer.cost) > record.cost
    np.testing.assert_allclose(at.q, record.q, atol=1e-6)


def test_sixty_four_perturbed_problems_converge_and_do_not_depend_on_their_batch(puma):
    plan, q0 = puma
    starts = q0 + 0.1 * np.random.default_rng(5).normal(size=(64, 6))
    records = plan(starts)
    assert records.solved.all(), records.reason
    some = plan(starts[[7, 40, 3]])
    for name in ("q", "tau", "costate", "multiplier"):
        assert (some[name] == records[name][[7, 40, 3]]).all()
    assert records[[7, 40, 3]].cost.tolist() == some.cost.tolist()
    assert records[40].iterations == records.iterations[40]


def test_a_start_that_is_not_finite_is_lost_alone(sliders):
    plan, x0 = sliders
    starts = np.repeat(x0[None, :2], 5, axis=0)
    starts[3] = np.nan
    records = plan(starts, x0[2:])
    assert records.solved.tolist() == [True, True, True, False, True]
    assert records.reason[3] == "Not finite after 0 iterations of problem 3: the start, a_joint, is nan."
    assert (records.q[0] == plan(starts[[0, 1]], x0[2:]).q[0]).all()


def test_a_cost_that_is_not_finite_is_named_with_its_knot():
    plan = ap.Optimizer(
        ap.load("pendulum"),
        steps=5,
        dt=0.02,
        limits=False,
        arguments={"goal": 1},
        signals={"weight": 1},
        cost=lambda t, q, v, tau, *, weight: ap.square(tau) + sqrt(weight[0]),
        final_cost=lambda q, v, *, goal: ap.square(q - goal),
    )
    weight = np.ones((4, 5, 1))
    weight[1, 3] = -1.0
    weight[2, 4] = np.inf
    goal = np.array([[0.5], [0.5], [0.5], [np.nan]])
    records = plan([0.0], signals={"weight": weight}, arguments={"goal": goal})
    assert records.solved.tolist() == [True, False, False, False]
    causes = [reason.partition(": ")[2] for reason in records.reason[1:]]
    assert causes[0] == "the cost of knot 3 is nan."
    assert causes[1] == "'weight', entry 0, at knot 4 is inf."
    assert causes[2] == "argument 'goal', entry 0, is nan."
    assert np.isnan(records.cost[1:]).all()
    assert np.isfinite(records.q[1]).all()  # the last iterate is kept


@pytest.fixture(scope="module")
def lifts():
    """A pendulum that is lifted in a free time, between bounds of this time, with Hessians of a kind."""

    def lift(hessian, bounds):
        return ap.optimize(
            ap.load("pendulum"),
            [0.0],
            steps=40,
            duration=bounds,
            limits={"torque": 8.0},
            hessian=hessian,
            cost=lambda t, q, v, tau: 1.0 + 0.1 * ap.square(tau),
            meet=lambda q, v: {"angle": (2.0, q[0], 2.0), "rest": (0.0, v[0], 0.0)},
        )

    return lift


def test_problems_that_gauss_newton_does_not_solve_continue_with_exact_hessians(lifts):
    approximate, exact, both = (lifts(hessian, (0.2, 2.0)) for hessian in ("gauss-newton", "exact", "auto"))
    assert not approximate.solved
    assert exact.solved
    assert both.solved
    assert 40 < both.iterations < 60
    assert both.cost == pytest.approx(exact.cost, rel=1e-8)
    iterate = {name: array[None] for name, array in both.iterate.items()}
    np.testing.assert_array_equal(both.gain, approximate.optimizer.gains(iterate)[0])  # of a kernel with another limit
    assert np.abs(both.gain).max() > 1.0


@pytest.mark.parametrize("bounds", [(0.01, 1.0), (0.2, 5.0), (0.01, 20.0)])
def test_a_free_duration_does_not_depend_on_bounds_that_are_not_active(lifts, bounds):
    record = lifts("exact", bounds)
    assert record.solved, record.reason
    assert record.parameters["duration"] == pytest.approx(0.8384878, abs=1e-6)


def test_an_infeasible_problem_names_the_row_that_is_violated_most_and_ends_as_near_as_the_limits_allow():
    pendulum, limit = ap.load("pendulum"), 0.5
    record = ap.optimize(
        pendulum,
        [0.0],
        steps=20,
        dt=0.02,
        limits={"torque": limit},
        iterations=60,
        cost=lambda t, q, v, tau: ap.square(tau),
        meet=lambda q, v: {"upright": (np.pi, q[0], np.pi)},
    )
    assert not record.solved
    assert record.reason.startswith("Infeasible: upright at knot 20 is violated by")
    torques = limit * np.where(np.arange(20) < np.arange(20)[:, None], -1.0, 1.0)[..., None]  # at most one switch
    farthest = ap.rollout(pendulum, [0.0], [0.0], torques, steps=20, dt=0.02, method="euler").q[:, -1, 0].max()
    assert record.q[-1, 0] == pytest.approx(farthest, rel=1e-4)
    assert record.residuals["primal"] == pytest.approx(np.pi - farthest, rel=1e-4)


def test_a_limit_of_iterations_is_not_reported_as_infeasible():
    plan = ap.Optimizer(
        ap.load("pendulum"),
        20,
        0.05,
        iterations=3,
        limits=False,
        cost=lambda t, q, v, tau: ap.square(tau),
        meet=lambda q, v: {"angle": q[0] - 2.0, "rest": v},
    )
    record = plan([0.0])
    assert not record.solved
    assert record.reason.startswith("The limit of 3 iterations was reached")


def test_multipliers_are_the_change_of_the_cost_with_the_bounds():
    plan = ap.Optimizer(
        ap.load("pendulum"),
        20,
        0.05,
        limits=False,
        hessian="exact",
        tolerance=1e-10,
        arguments={"bounds": 3},
        cost=lambda t, q, v, tau: ap.square(tau) + ap.square(v),
        keep=lambda t, q, v, tau, *, bounds: {"push": (None, tau[0] - bounds[0], 0.0)},
        meet=lambda q, v, *, bounds: {"angle": (0.0, q[0] - bounds[1], 0.0), "speed": (None, v[0] - bounds[2], 0.0)},
    )
    change = 1e-5
    bounds = np.array([2.5, 1.0, 0.05]) + change * np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
    records = plan([0.0], arguments={"bounds": bounds})
    assert records.solved.all(), records.reason
    by_push, by_angle, by_speed = (records.cost[1:4] - records.cost[4:]) / (2.0 * change)
    record = records[0]
    assert record.names("multiplier") == ("push above its limit",)
    assert -record["multiplier"].sum() == pytest.approx(by_push, rel=1e-4)
    assert -record.final_multipliers["angle"] == pytest.approx(by_angle, rel=1e-5)
    assert -record.final_multipliers["speed above its limit"] == pytest.approx(by_speed, rel=1e-5)
    assert records.final_multipliers["angle"][0] == record.final_multipliers["angle"]
    assert max(by_push, by_speed) < 0.0  # both are active


def test_a_pendulum_meets_an_end_state_with_as_many_terminal_rows_as_rows_of_a_knot():
    record = ap.optimize(
        ap.load("pendulum"),
        [0.0],
        steps=30,
        dt=0.05,
        limits={"torque": 6.0},
        hessian="exact",
        cost=lambda t, q, v, tau: ap.square(tau),
        keep=lambda t, q, v, tau: {"speed": (None, v[0] * v[0], 4.0)},
        meet=lambda q, v: {"angle": (1.0, q[0], 1.0), "rest": (0.0, v[0], 0.0), "high": (None, q[0], 2.0)},
    )
    assert record.solved, record.reason
    np.testing.assert_allclose([record.q[-1, 0], record.v[-1, 0]], [1.0, 0.0], atol=1e-8)
    assert (record.v**2).max() <= 4.0 + 1e-8


def test_more_problems_than_fit_in_a_call_take_the_places_of_those_that_are_done(sliders, monkeypatch):
    plan, x0 = sliders
    starts = x0[:2] + 0.1 * np.random.default_rng(2).normal(size=(9, 2))
    together = plan(starts, x0[2:])
    monkeypatch.setattr("appell.optimal.optimizer.MAX_ACTIVE", 2)
    assert (plan(starts, x0[2:]).q == together.q).all()


def test_derivatives_that_compile_for_long_are_announced(monkeypatch):
    monkeypatch.setattr("appell.optimal.iteration.SLOW_NODES", 5)
    plan = ap.Optimizer(ap.load("pendulum"), 5, 0.1, cost=lambda t, q, v, tau: ap.square(tau), limits=False)
    with pytest.warns(ap.errors.ModelWarning, match=r"by 'euler' have \d+ operations: the first call compiles for"):
        _ = plan.iteration.scan


def test_tolerances_and_numbers_of_iterations_are_checked(sliders):
    with pytest.raises(ap.ArgumentError, match="tolerance"):
        ap.Optimizer(sliders[0].problem.dyn, 5, 0.1, cost=lambda t, q, v, tau: ap.square(tau), tolerance=0.0)
    with pytest.raises(ap.ArgumentError, match="iterations"):
        ap.Optimizer(sliders[0].problem.dyn, 5, 0.1, cost=lambda t, q, v, tau: ap.square(tau), iterations=0)


def test_quaternions_of_a_solution_keep_their_sign_from_knot_to_knot():
    q = np.array([[[1.0, 0.6, 0.0, 0.0, 0.8], [2.0, -0.6, 0.0, 0.0, -0.8], [3.0, -0.8, 0.0, 0.0, -0.6]]])
    expected = [[1.0, 0.6, 0.0, 0.0, 0.8], [2.0, 0.6, 0.0, 0.0, 0.8], [3.0, 0.8, 0.0, 0.0, 0.6]]
    assert _continuous(q, [slice(1, 5)])[0].tolist() == expected


def test_a_margin_keeps_collision_shapes_apart_and_a_start_within_it_is_refused():
    post = ap.Collision(None, "sphere", (0.15,), name="post", pose=[1.31, 0.80, 0.0])
    tip = ap.Collision("lower", "capsule", (0.1, 0.2), name="tip", pose=[1.0, 0.0, 0.0])
    arm = ap.Dynamics(ap.load("planar-2r").with_collisions(post, tip))
    distance, end = arm.distance("tip", "post", witnesses=False, gradient=False), np.array([0.1, 2.0])
    options = {
        "steps": 40, "dt": 0.025, "limits": {"torque": [60.0, 25.0]},
        "cost": lambda t, q, v, tau: 1e-3 * ap.square(tau) + 0.05 * ap.square(v),
        "final_cost": lambda q, v: 1e3 * ap.square(q - end) + 10.0 * ap.square(v),
    }  # fmt: skip
    direct, around = (ap.optimize(arm, [-0.6, 1.2], margin=margin, **options) for margin in (None, 0.05))
    assert direct.solved
    assert around.solved
    assert distance(direct.q).min() < 0.04
    assert 0.05 < distance(around.q).min() < 0.06  # smoothing adds up to 3 mm
    assert np.abs(around.q[-1] - end).max() < 0.02
    near = direct.q[np.argmin(distance(direct.q))]
    with pytest.raises(ap.errors.ArgumentError, match=r"at the start, collision shapes '(tip|post)' and '(tip|post)'"):
        ap.optimize(arm, near, margin=0.05, **options)


def test_a_robot_with_dry_friction_is_solved_and_rolled_out_with_the_smoothing_of_the_warning():
    robot = ap.load("puma")
    goal = np.array([0.5, 0.5, 0.5, 0.0, 0.0, 0.0])
    weights = 1.0 / robot.limits.torque
    with pytest.warns(ap.ModelWarning, match="dry friction") as caught:
        record = ap.optimize(
            robot, np.zeros(6), steps=30, dt=0.05, cost=lambda t, q, v, tau: ap.square(tau * weights),
            meet=lambda q, v: {"goal": (0.0, q - goal, 0.0), "rest": (0.0, v, 0.0)},
        )  # fmt: skip
    assert record.solved, record.reason
    depth = float(str(caught[0].message).partition("depth=")[2].partition(")")[0])
    repeated = ap.rollout(
        robot, np.zeros(6), torque=record.tau[:-1], dt=0.05, steps=30, method="euler",
        contact_model=SpringContacts(depth=depth),
    )  # fmt: skip
    np.testing.assert_allclose(repeated["q"][0], record.q, atol=1e-7)


def test_small_costs_are_minimised_in_few_iterations():
    """Multipliers of equalities carry the rounding errors of their rows; small costs must not lose against them."""
    if "z1" not in examples():
        pytest.skip("example-robot-data is not installed")
    robot = ap.load(examples()["z1"])
    weights = 0.1 / robot.limits.torque
    plan = ap.Optimizer(
        robot, 50, 0.02, friction=False, hessian="exact", arguments={"goal": robot.nq},
        cost=lambda t, q, v, tau: ap.square(tau * weights),
        meet=lambda q, v, *, goal: {"goal": (0.0, q - goal, 0.0), "rest": (0.0, v, 0.0)},
    )  # fmt: skip
    low, high = robot.limits.lower, robot.limits.upper
    starts, goals = np.random.default_rng(5).uniform(low + 0.3 * (high - low), high - 0.3 * (high - low), (2, 24, 7))
    records = plan(starts, arguments={"goal": goals})
    assert records.solved.all()
    assert np.median(records.iterations) < 50
