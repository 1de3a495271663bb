"""Costs and their derivatives: sums by hand, finite differences, forward mode against reverse mode."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.simulation import Rollout
from free_bodies import box

STEPS, DT = 100, 1e-2


def running(t, q, v, tau):
    return (
        (1.0 + t) * sum(x * x for x in q)
        + 0.05 * sum(x * x for x in v)
        + 1e-3 * sum(x * x for x in tau)
        + ap.sin(q[0]) * v[1]
    )


def final(q, v):
    return 10.0 * sum((x - 0.3) * (x - 0.3) for x in q) + sum(x * x for x in v)


@pytest.fixture(scope="module")
def puma() -> Rollout:
    return Rollout(ap.Dynamics(ap.load("puma")), cost=running, final_cost=final)


@pytest.fixture
def task():
    rng = np.random.default_rng(1)
    return 0.4 * rng.normal(size=6), 0.3 * rng.normal(size=6), 4.0 * rng.normal(size=(STEPS, 6))


def test_the_cost_is_the_sum_over_starts_of_steps_and_the_end(puma, task):
    records = puma(*task, STEPS, DT)
    q, v, tau = records.q[0].tolist(), records.v[0].tolist(), records.tau[0].tolist()
    sums = np.cumsum([DT * running(k * DT, q[k], v[k], tau[k + 1]) for k in range(STEPS)])
    assert np.abs(records["cost"][0, 1:] - sums).max() < 1e-12 * sums[-1]
    assert records["cost"][0, 0] == 0.0
    assert records.cost[0] == pytest.approx(sums[-1] + final(q[-1], v[-1]), rel=1e-13)


def test_the_gradient_by_six_hundred_torques_is_that_of_finite_differences(puma, task):
    q0, v0, torque = task
    gradient = puma.gradient(q0, v0, torque, STEPS, DT).torque[0]
    step = 1e-3
    shifts = step * np.eye(STEPS * 6).reshape(-1, STEPS, 6)
    more, less = (
        puma(q0, v0, torque + sign * shifts, STEPS, DT, output=ap.simulation.Output(every=STEPS)).cost
        for sign in (1.0, -1.0)
    )
    slopes = ((more - less) / (2.0 * step)).reshape(STEPS, 6)
    # central differences: rounding 1e-16 · 3000 / 1e-3, curvature of third order far below
    assert np.abs(slopes - gradient).max() < 1e-6 * np.abs(gradient).max()
    assert np.abs(gradient).max() > 0.1


def test_forward_and_reverse_mode_agree(puma, task):
    q0, v0, torque = task
    rng = np.random.default_rng(2)
    ways = {"q0": rng.normal(size=(5, 6)), "v0": rng.normal(size=(5, 6)), "torque": rng.normal(size=(5, STEPS, 6))}
    change, back = puma.change(q0, v0, torque, STEPS, DT, along=ways), puma.gradient(q0, v0, torque, STEPS, DT)
    products = sum((ways[name] * getattr(back, name)).reshape(5, -1).sum(axis=1) for name in ways)
    assert np.abs(change.dcost - products).max() < 1e-12 * np.abs(products).max()
    assert change.cost[0] == pytest.approx(back.cost[0], rel=1e-14)
    assert back.cost[0] == pytest.approx(puma(q0, v0, torque, STEPS, DT).cost[0], rel=1e-14)


def test_changes_of_the_end_are_those_of_finite_differences(puma, task):
    q0, v0, torque = task
    rng = np.random.default_rng(3)
    dq, du = rng.normal(size=6), rng.normal(size=(STEPS, 6))
    change = puma.change(q0, v0, torque, STEPS, DT, along={"q0": dq, "torque": du})
    ends = [puma(q0 + h * dq, v0, torque + h * du, STEPS, DT) for h in (1e-5, -1e-5)]
    for name, change_of_end in (("q", change.dq), ("v", change.dv)):
        slope = (ends[0][name][0, -1] - ends[1][name][0, -1]) / 2e-5
        assert np.abs(change_of_end[0] - slope).max() < 1e-6 * np.abs(slope).max()


def both_agree(plan: Rollout, q0, v0, torque, ways, **arrays) -> None:
    """Forward against reverse, and both against differences along one direction."""
    steps, dt = 30, 5e-3
    back = plan.gradient(q0, v0, torque, steps, dt, **arrays)
    change = plan.change(q0, v0, torque, steps, dt, along=ways, **arrays)
    product = sum(float((ways[name] * getattr(back, name)[0]).sum()) for name in ways)
    assert change.dcost[0] == pytest.approx(product, rel=1e-11)
    h, system = 1e-6, plan.dyn.system

    def cost(sign: float) -> float:
        moved = system.integrate(system.start if q0 is None else q0, sign * h * ways["q0"])
        given = {name: array + sign * h * ways.get(name, 0.0) for name, array in arrays.items() if name == "parameters"}
        return plan(moved, v0 + sign * h * ways["v0"], torque, steps, dt, **given).cost[0]

    assert (cost(1.0) - cost(-1.0)) / (2.0 * h) == pytest.approx(change.dcost[0], rel=1e-6)


def ways_of(system: ap.Robot, seed: int = 4) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"q0": rng.normal(size=system.nv), "v0": rng.normal(size=system.nv)}


def test_directions_of_quaternions_are_velocities():
    plan = Rollout(ap.Dynamics(box()), cost=lambda t, q, v, tau: q[3] * q[4] + q[2] * q[2], final_cost=final_of_a_body)
    both_agree(plan, None, np.array([0.1, 0.2, 0.3, 1.0, -2.0, 1.5]), None, ways_of(plan.dyn.system))


def final_of_a_body(q, v):
    return q[3] - 2.0 * q[5] * q[6] + v[0] * v[3]


def test_gradients_go_through_laws_limits_and_memories():
    def law(t, q, v, memory):
        grown = [m + 0.01 * x for m, x in zip(memory, q, strict=True)]
        return [-20.0 * x - 2.0 * w - 30.0 * m for x, w, m in zip(q, v, grown, strict=True)], grown

    robot = ap.load("planar-2r").with_actuators(lambda name, actuator: ap.Actuator(torque=15.0))
    feedback = ap.simulation.Feedback(law, np.zeros(2), 1e-2)
    options = {"law": feedback, "saturate": True, "cost": running}
    plan = Rollout(ap.Dynamics(robot), **options, final_cost=final)
    records = plan(None, np.array([0.3, -0.5]), None, 30, 5e-3)
    assert (np.abs(records.tau) == 15.0).any()
    assert (np.abs(records.tau) < 15.0).any()
    both_agree(plan, None, np.array([0.3, -0.5]), None, ways_of(robot))


def test_gradients_by_inertial_parameters_and_of_constrained_robots():
    robot = ap.load("planar-2r").with_free()
    plan = Rollout(ap.Dynamics(robot), method="euler", cost=running)
    parameters = np.concatenate([body.parameters for body in ap.load("planar-2r").bodies.values()])
    ways = ways_of(robot) | {"parameters": 0.1 * np.random.default_rng(5).normal(size=20)}
    both_agree(plan, None, np.array([0.3, -0.5]), None, ways, parameters=parameters)
    loop = ap.load("four-bar")
    plan = Rollout(ap.Dynamics(loop), cost=lambda t, q, v, tau: q[0] * q[1] + v[0] * v[0] + q[2])
    both_agree(plan, None, np.array([0.7]), None, ways_of(loop))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda plan: plan.gradient(steps=3), "the rollout has no cost to differentiate"),
        (lambda plan: plan.change(steps=3, along={"torqe": [0.0]}), "has no direction 'torqe'. Did you mean 'torque'"),
        (lambda plan: plan.change(steps=3, along={"v0": [0.0]}), r"the direction of v0 has shape \(1,\)"),
        (
            lambda plan: plan.change(steps=3, along={"torque": np.zeros((4, 5, 2))}),
            "has 5 steps, but the rollout has 3",
        ),
    ],
)
def test_invalid_arguments_of_a_derivative_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call(Rollout(ap.Dynamics(ap.load("planar-2r"))))
