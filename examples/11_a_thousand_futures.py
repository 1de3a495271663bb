"""Sampling-based control: a double pendulum swings up with a thousand simulated futures per control step.

The motors are too weak to lift the arm directly, so it has to swing. Each control step simulates a thousand torque
sequences over the next second, with their costs in the same kernel, and averages them by their costs (path-integral
control).

Run it with: python examples/11_a_thousand_futures.py
"""

from time import perf_counter

import numpy as np

import appell as ap
from appell.simulation import Rollout

robot = ap.load("planar-2r").with_gravity((0.0, -9.81, 0.0))
dyn = ap.Dynamics(robot)
up = np.array([np.pi / 2, 0.0])
# Half of the torque that holds the arm horizontal.
limit = 0.5 * np.abs(dyn.gravity([0.0, 0.0]))


def cost(t, q, v, tau):
    """Return the cost of the distance from the upright position and of the speed."""
    return 10.0 * (2.0 - ap.sin(q[0]) - ap.sin(q[0] + q[1])) + 0.02 * (v[0] * v[0] + v[1] * v[1])


def last(q, v):
    return 20.0 * (2.0 - ap.sin(q[0]) - ap.sin(q[0] + q[1])) + 0.2 * (v[0] * v[0] + v[1] * v[1])


futures = Rollout(dyn, method="euler", cost=cost, final_cost=last)
samples, horizon, dt = 1000, 50, 0.02
rng = np.random.default_rng(0)
q, v, plan = np.array([-np.pi / 2, 0.0]), np.zeros(2), np.zeros((horizon, 2))
start, steps_simulated = perf_counter(), 0
for step in range(200):
    size = np.geomspace(0.01, 1.0, samples)[:, None, None]  # from small to large changes
    noise = 0.3 * size * limit * rng.normal(size=(samples, horizon, 2)).cumsum(axis=1)
    torques = np.clip(plan + noise, -limit, limit)
    result = futures(q, v, torques, horizon, dt, output=ap.simulation.Output(every=horizon), check=False)
    weights = np.exp(-(result.cost - result.cost.min()) / 0.2)
    plan = np.einsum("k,kti->ti", weights / weights.sum(), torques)
    steps_simulated += samples * horizon
    truth = ap.simulate(dyn, q, v, until=dt, torque=plan[0])  # the arm itself is simulated accurately
    q, v, plan = truth.q[-1], truth.v[-1], np.vstack([plan[1:], plan[-1:]])
    if step % 40 == 39:
        height = (np.sin(q[0]) + np.sin(q.sum())) / 2.0
        print(f"t = {(step + 1) * dt:.1f} s: height {height:+.3f}, speed {np.abs(v).max():.2f} rad/s")
seconds = perf_counter() - start
print(f"{steps_simulated / 1e6:.0f} million simulated steps in {seconds:.1f} s")
assert np.sin(q[0]) > 0.95
assert np.sin(q.sum()) > 0.95
