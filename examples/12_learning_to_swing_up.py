"""Learning to swing up: five hundred pendulums in one kernel, and a policy search.

A motor of 2 N m cannot hold the rod horizontal, which takes 4.9 N m, so the pendulum has to swing. The action is the
tanh of a weighted sum of the observations. The weights are found by the cross-entropy method: every agent of the batch
uses its own weights, and the next batch is drawn around the best of them. Needs pip install 'appell[gym]'.
"""

import numpy as np

import appell as ap

AGENTS, BEST_AGENTS, ITERATIONS, ACTIONS, TORQUE = 512, 40, 10, 125, 2.0

builder = ap.Builder("pendulum", root=None)
motor = ap.Actuator(torque=TORQUE)
builder.link("rod", ap.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.09, 0.09, 0.01), actuator=motor)


def observation(q, v):
    s, c, w = ap.sin(q[0]), ap.cos(q[0]), 0.3 * v[0]
    return [s, c, w, s * w, c * w]


def reward(t, q, v, tau):
    """Return 1 if upright and at rest, 0 if hanging."""
    return 0.5 - 0.5 * ap.cos(q[0]) - 0.002 * v[0] * v[0] - 0.001 * tau[0] * tau[0]


pendulums = ap.gym_env(
    builder.build(), reward, members=AGENTS, observation=observation, dt=1e-2, substeps=4, horizon=ACTIONS
)


def returns(weights):
    """Return the sum of rewards of every agent over an episode of five seconds."""
    observed, _ = pendulums.reset(seed=1)
    total = np.zeros(AGENTS)
    for _ in range(ACTIONS):
        action = TORQUE * np.tanh((observed * weights).sum(axis=1, keepdims=True))
        observed, rewards, *_ = pendulums.step(action)
        total += rewards
    return total


rng = np.random.default_rng(0)
mean, spread = np.zeros(5), np.full(5, 3.0)
for number in range(ITERATIONS):
    weights = mean + spread * rng.normal(size=(AGENTS, 5))
    scores = returns(weights)
    best = weights[np.argsort(scores)[-BEST_AGENTS:]]
    mean, spread = best.mean(axis=0), best.std(axis=0)
    print(f"iteration {number + 1:2d}: mean return {scores.mean():5.1f}, best {scores.max():5.1f} of {ACTIONS}")
