"""The gradient of a rollout's cost, by its own steps backwards and by JAX through the exported step."""

from __future__ import annotations

import jax
import numpy as np

import appell as ap
from appell.simulation import Rollout

STEPS, DT = 100, 1e-2


def running(t, q, v, tau):
    return (1.0 + t) * sum(x * x for x in q) + 0.05 * sum(x * x for x in v) + 1e-3 * sum(x * x for x in tau)


def final(q, v):
    return 10.0 * sum((x - 0.3) * (x - 0.3) for x in q) + sum(x * x for x in v)


def test_jax_finds_the_gradient_by_six_hundred_torques_that_the_rollout_finds():
    plan, rng = Rollout(ap.Dynamics(ap.load("puma")), cost=running, final_cost=final), np.random.default_rng(1)
    q0, v0, torque = 0.4 * rng.normal(size=6), 0.3 * rng.normal(size=6), 4.0 * rng.normal(size=(STEPS, 6))
    gradient = plan.gradient(q0, v0, torque, STEPS, DT)
    with jax.enable_x64(True):
        step, last = plan.scan.step.to_jax(), plan.last_cost.to_jax()

        def cost(q, v, torque):
            def taken(state, driven):
                *state, _ = step(*state, DT, *driven)
                return tuple(state), None

            clock = DT * np.arange(STEPS)
            (q, v, total), _ = jax.lax.scan(taken, (q, v, 0.0), (clock, torque))
            return total + last(q, v)

        value, jax_gradient = jax.device_get(jax.jit(jax.value_and_grad(cost, (0, 1, 2)))(q0, v0, torque))
    assert abs(float(value) - gradient.cost[0]) <= 1e-13 * gradient.cost[0]
    for by_jax, by_rollout in zip(jax_gradient, (gradient.q0[0], gradient.v0[0], gradient.torque[0]), strict=True):
        assert np.abs(by_jax - by_rollout).max() <= 1e-10 * np.abs(by_rollout).max()
        assert np.abs(by_rollout).max() > 1e-3
