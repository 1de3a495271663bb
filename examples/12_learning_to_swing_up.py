"""Agents that learn: five hundred pendulums in one kernel, and a search for a policy that swings them up.

A motor of 2 N m cannot hold the rod sideways, which takes 4.9 N m: it has to pump. An action is a squashed sum of what
an agent observes; the weights are found by the cross-entropy method, in which every agent of a batch tries weights of
its own, and the best tell where to look next. Needs pip install 'appell[gym]'.
"""

import numpy as np

import appell as ap

AGENTS, BEST, ROUNDS, ACTIONS, TORQUE = 512, 40, 10, 125, 2.0

builder = ap.Builder("pendulum", root=None)
motor = ap.Actuator(torque=TORQUE)
builder.link("rod", ap.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.09, 0.09, 0.01), actuator=motor)


def observation(q, v):
    s, c, w = ap.sin(q[0]), ap.cos(q[0]), 0.3 * v[0]
    return [s, c, w, s * w, c * w]


def reward(q, v, tau):
    """1 upright and at rest, 0 hanging."""
    return 0.5 - 0.5 * ap.cos(q[0]) - 0.002 * v[0] * v[0] - 0.001 * tau[0] * tau[0]


pendulums = ap.gym_env(
    builder.build(), reward, members=AGENTS, observation=observation, dt=1e-2, substeps=4, horizon=ACTIONS
)


def returns(weights):
    """The sum of rewards of every agent over an episode of five seconds."""
    seen, _ = pendulums.reset(seed=1)
    total = np.zeros(AGENTS)
    for _ in range(ACTIONS):
        action = TORQUE * np.tanh((seen * weights).sum(axis=1, keepdims=True))
        seen, rewards, *_ = pendulums.step(action)
        total += rewards
    return total


rng = np.random.default_rng(0)
mean, spread = np.zeros(5), np.full(5, 3.0)
for number in range(ROUNDS):
    weights = mean + spread * rng.normal(size=(AGENTS, 5))
    found = returns(weights)
    best = weights[np.argsort(found)[-BEST:]]
    mean, spread = best.mean(axis=0), best.std(axis=0)
    print(f"round {number + 1:2d}: mean return {found.mean():5.1f}, best {found.max():5.1f} of {ACTIONS}")
