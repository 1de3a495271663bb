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
REACHING = ("puma-reach-bounded", "panda-tool-bounded", "ur5-limits")
COST = 1e-8  # relative, the tolerance of the solver
KKT = 1e-7  # gradients with respect to torques: the solver's 1e-8 per knot, summed by the steps of the motion


def assert_reference(record, name):
    """Assert that a solution has a listed cost and needed at most twice the iterations of the best solver."""
    expected = REFERENCES[name]
    assert record.solved, record.reason
    assert min(abs(record.cost / cost - 1.0) for cost in expected["cost"]) < COST, record.cost
    assert record.iterations <= 2 * expected["best_iterations"], record.iterations


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
    moved[10, 1] += 1.0
    assert optimality(problem, q, v, moved).worst > 100 * KKT  # the step no longer fits
    rolled = ap.rollout(problem.dyn, q[0], v[0], moved, steps=problem.steps, dt=problem.dt, method="euler")
    assert optimality(problem, rolled.q[0], rolled.v[0], moved).stationarity > 10 * KKT
    held = np.clip(tau, -0.5 * np.array(problem.torque), 0.5 * np.array(problem.torque))
    rolled = ap.rollout(problem.dyn, q[0], v[0], held, steps=problem.steps, dt=problem.dt, method="euler")
    assert optimality(problem, rolled.q[0], rolled.v[0], held).stationarity > 1e-3


def test_the_shortest_motion_of_two_links_approaches_the_switching_times_of_pontryagin():
    record = ap.optimize(
        ap.Dynamics(ap.load("planar-2r").with_gravity((0.0, 0.0, 0.0))),
        [0.0, 0.0],
        steps=200,
        duration=(0.2, 3.0),
        method="rk4",
        limits={"torque": [10.0, 5.0]},
        cost=lambda t, q, v, tau: 1.0 + 0.0 * tau[0],
        meet=lambda q, v: {"goal": [q[0] - 1.0, q[1] - 0.5], "rest": list(v)},
    )
    assert record.solved, record.reason
    assert record.t[-1] == pytest.approx(REFERENCES["planar-2r-time"]["T"], rel=1e-4)
