"""Problems whose minima were computed by other programs, and a check of optimality that uses neither of them.

A solution is judged from its states and torques alone (`optimality`): Pinocchio's dynamics and derivatives, and
multipliers by least squares. A listed minimum is accepted; torques of equal costs differ by up to 1e-3.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import appell as ap

pytest.importorskip("pinocchio")
from appell_lab.references.optimality import optimality
from appell_lab.references.reaching import PROBLEMS

REFERENCES = json.loads((Path(__file__).parent / "data" / "references.json").read_text(encoding="utf-8"))
REACHING = ("puma-reach", "puma-reach-bounded", "panda-tool-bounded", "ur5-limits")
COST = 1e-8  # relative, the tolerance of the solver
KKT = 1e-7  # gradients with respect to torques: the solver's 1e-8 per knot, summed by the steps of the motion


def assert_reference(record, name, iterations=1.5):
    """Assert that a solution has a listed cost and needed at most 1.5 times the iterations of the best solver."""
    expected = REFERENCES[name]
    assert record.solved, record.reason
    assert min(abs(record.cost / cost - 1.0) for cost in expected["minima"]) < COST, record.cost
    assert record.iterations <= np.ceil(iterations * expected["iterations"]), record.iterations


@pytest.mark.parametrize("name", REACHING)
def test_a_reaching_motion_has_the_cost_of_other_solvers_and_satisfies_the_kkt_conditions_of_pinocchio(name):
    problem = PROBLEMS[name]
    record = ap.optimize(problem.dyn, problem.q0, **problem.options)
    assert_reference(record, name)
    judged = optimality(problem, record.q, record.v, record.tau[: problem.steps])
    assert judged.cost == pytest.approx(record.cost, rel=1e-10)
    assert judged.dynamics < 1e-8
    assert judged.violation < 1e-8
    assert judged.stationarity < KKT * judged.scale


def test_the_check_of_optimality_rejects_motions_that_are_not_optimal():
    problem = PROBLEMS["puma-reach-bounded"]
    record = ap.optimize(problem.dyn, problem.q0, **problem.options)
    q, v, tau = np.array(record.q), np.array(record.v), np.array(record.tau[: problem.steps])
    assert optimality(problem, q, v, tau).worst < KKT
    moved = tau.copy()
    moved[10, 1] += 1e-3
    assert optimality(problem, q, v, moved).worst > 100 * KKT  # the step no longer fits
    rolled = ap.rollout(problem.dyn, q[0], v[0], moved, steps=problem.steps, dt=problem.dt, method="euler")
    assert optimality(problem, rolled.q, rolled.v, moved).stationarity > 10 * KKT
    held = np.clip(tau, -0.5 * np.array(problem.torque), 0.5 * np.array(problem.torque))
    rolled = ap.rollout(problem.dyn, q[0], v[0], held, steps=problem.steps, dt=problem.dt, method="euler")
    assert optimality(problem, rolled.q, rolled.v, held).stationarity > 1e-3


def test_two_sliders_have_the_gains_of_a_riccati_recursion():
    builder = ap.Builder("sliders", gravity=(0.0, 0.0, 0.0))
    builder.link("first", joint=ap.Prismatic((1, 0, 0)), body=ap.Body(mass=2.0))
    builder.link("second", parent="first", joint=ap.Prismatic((1, 0, 0)), body=ap.Body(mass=1.0))
    wx, wu, Wx = (1.0, 2.0, 0.1, 0.1), (0.1, 0.2), (10.0, 10.0, 1.0, 1.0)
    record = ap.optimize(
        builder.build(),
        [1.0, -0.5],
        [0.0, 0.2],
        steps=50,
        dt=0.1,
        limits=False,
        cost=lambda t, q, v, tau: 0.5 * (weighted(wx, [*q, *v]) + weighted(wu, tau)),
        final_cost=lambda q, v: 0.5 * weighted(Wx, [*q, *v]),
    )
    expected = REFERENCES["sliders-lq"]
    assert_reference(record, "sliders-lq", iterations=2)
    np.testing.assert_allclose(record.tau[0], expected["u_first"], rtol=1e-9)
    np.testing.assert_allclose(np.r_[record.q[-1], record.v[-1]], expected["x_last"], atol=1e-10)
    np.testing.assert_allclose(-np.asarray(record.gain[0]), expected["gain_first"], rtol=1e-8)


def test_a_pendulum_swings_up_under_a_torque_limit_with_runge_kutta_steps():
    steps, dt = 100, 0.03
    guess = np.sin(3.5 * dt * np.arange(steps))[:, None]
    record = ap.optimize(
        ap.Dynamics(ap.load("pendulum")),
        [0.0],
        steps=steps,
        dt=dt,
        method="rk4",
        limits={"torque": 2.0},
        cost=lambda t, q, v, tau: 0.05 * ap.square(tau),
        final_cost=lambda q, v: 100.0 * ap.square([q[0] - np.pi]) + 10.0 * ap.square(v),
        guess=guess,
    )
    assert_reference(record, "pendulum-swing")


def test_the_duration_of_a_motion_is_free():
    problem = PROBLEMS["puma-reach"]
    record = ap.optimize(
        problem.dyn,
        problem.q0,
        steps=60,
        duration=(0.2, 3.0),
        limits={"torque": (60.0, 90.0, 40.0, 6.0, 6.0, 3.0)},
        cost=lambda t, q, v, tau: 1.0 + 1e-4 * ap.square(tau),
        meet=lambda q, v: {"goal": [a - b for a, b in zip(q, problem.goal, strict=True)], "rest": list(v)},
    )
    assert_reference(record, "puma-free-time")
    assert record.t[-1] == pytest.approx(REFERENCES["puma-free-time"]["T"], rel=1e-4)


def test_the_shortest_motion_of_two_links_approaches_the_switching_times_of_pontryagin():
    record = ap.optimize(
        ap.Dynamics(ap.load("planar-2r").with_gravity((0.0, 0.0, 0.0))),
        [0.0, 0.0],
        steps=200,
        duration=(0.2, 3.0),
        method="rk4",
        limits={"torque": (10.0, 5.0)},
        cost=lambda t, q, v, tau: 1.0 + 0.0 * tau[0],
        meet=lambda q, v: {"goal": [q[0] - 1.0, q[1] - 0.5], "rest": list(v)},
    )
    assert record.solved, record.reason
    assert record.t[-1] == pytest.approx(REFERENCES["planar-2r-time"]["continuous"], rel=1e-4)


def weighted(weights, values):
    return sum(w * x * x for w, x in zip(weights, values, strict=True))
