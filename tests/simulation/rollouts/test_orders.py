"""Rollouts come to the motion of `simulate` with the order of their method, whatever the system is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import appell as ap
from appell.simulation import Rollout
from constrained_cases import constrained
from free_bodies import box

ORDERS = {"rk4": 4, "euler": 1, "midpoint": 2, "moreau": 2}
# what moves, for how long, and in how many steps errors of order 4 are far from rounding
CASES = {
    "a body that spins": (box, 0.5, 20),
    "a mechanism in closed form": (lambda: ap.load("five-bar"), 0.1, 20),
    "a closed loop": (lambda: ap.load("four-bar"), 0.3, 40),
    "wheels under a planar joint": (lambda: ap.load("differential-drive"), 0.5, 40),
    "a loop that flies": (lambda: constrained("floating-fourbar"), 0.4, 20),
}


@cache
def case(name: str):
    """Dynamics, a start, torques, the end by `simulate` at 1e-12."""
    make, until, steps = CASES[name]
    system = make()
    dyn, rng = ap.Dynamics(system), np.random.default_rng(3)
    v0, torque = rng.uniform(0.3, 1.0, system.nv), 0.1 * rng.normal(size=system.nu)
    exact = ap.simulate(dyn, None, v0, until=until, torque=torque, solver=ap.Solver(rtol=1e-12, atol=1e-13))
    return dyn, v0, torque, until, steps, np.concatenate([exact.q[-1], exact.v[-1]])


def error(plan: Rollout, name: str, finer: int) -> float:
    _, v0, torque, until, steps, exact = case(name)
    records = plan(None, v0, torque, finer * steps, until / (finer * steps), check=False)
    return float(np.abs(np.concatenate([records.q[0, -1], records.v[0, -1]]) - exact).max())


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize("name", CASES)
def test_errors_shrink_with_the_order_of_the_method(name, method):
    plan = Rollout(case(name)[0], method=method)
    coarse, fine = error(plan, name, 1), error(plan, name, 2)
    # halving the step divides the error by 2^order, but for terms of the next order: up to a third of a power here
    assert abs(np.log2(coarse / fine) - ORDERS[method]) < 0.35


@pytest.mark.parametrize("method", ORDERS)
def test_quaternions_stay_of_unit_length(method):
    dyn, v0, *_ = case("a body that spins")
    records = ap.rollout(dyn, None, 5.0 * v0, steps=200, dt=0.01, method=method)
    assert np.abs(np.linalg.norm(records.q[0, :, 3:], axis=-1) - 1.0).max() < 4e-16


@pytest.mark.parametrize("method", ORDERS)
def test_loops_stay_closed(method):
    dyn, v0, *_ = case("a closed loop")
    records = ap.rollout(dyn, None, v0, steps=2000, dt=1e-3, method=method)
    # a step of order p opens a loop of about 1 m by (way of the step)^(p + 1); a step of Newton's method squares that
    way = np.abs(np.diff(records.q[0], axis=0)).max()
    assert np.abs(dyn.gap(records.q[0])).max() < way ** (2 * ORDERS[method] + 2) + 1e-14


def test_energy_of_the_midpoint_rule_does_not_drift():
    """The free tree robot, a million steps: the energy swings about its start, and does so no more at the end."""
    dyn = ap.Dynamics(ap.load("tree10").with_gravity((0.0, 0.0, 0.0)))
    v0 = 0.3 * np.random.default_rng(0).normal(size=(8, 12))
    records = ap.rollout(
        dyn, None, v0, steps=1_000_000, dt=1e-3, output=ap.simulation.Output(every=500, energy=True), method="midpoint"
    )
    assert records.finished.all()
    off = np.abs(records.energy - records.energy[:, :1]) / records.energy[:, :1]
    early, late = off[:, :1000].max(), off[:, 1000:].max()
    assert late < 3.0 * early
    assert off.max() < 1e-4
    assert records["residual"].max() < 1e-12


def test_energy_of_rk4_drifts_where_that_of_the_midpoint_rule_does_not():
    """What makes the test above one that can fail."""
    dyn = ap.Dynamics(ap.load("pendulum"))
    ends = {}
    for method in ("rk4", "midpoint"):
        records = ap.rollout(
            dyn, [2.0], steps=100_000, dt=0.05, output=ap.simulation.Output(every=100, energy=True), method=method
        )
        ends[method] = np.abs(records.energy[0] - records.energy[0, 0])
    first, last = (ends["rk4"][10:500].max(), ends["rk4"][-100:].max())
    assert last > 1.5 * first
    assert ends["midpoint"][-100:].max() < 1.1 * ends["midpoint"][:500].max()


def test_a_midpoint_step_is_the_solution_of_its_equations():
    dyn = ap.Dynamics(ap.load("puma"))
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(20, 6)), rng.normal(size=(20, 6)), rng.normal(size=(20, 6))
    records = ap.rollout(dyn, q, v, tau[:, None], steps=1, dt=1e-3, method="midpoint")
    middle = 0.5 * (q + records.q[:, 1]), 0.5 * (v + records.v[:, 1])
    a = dyn.forward_dynamics(*middle, tau)
    assert np.abs(records.v[:, 1] - v - 1e-3 * a).max() < 1e-13 * np.abs(v).max() + 1e-16 * np.abs(a).max()
    assert np.abs(records.q[:, 1] - q - 1e-3 * middle[1]).max() < 1e-14
