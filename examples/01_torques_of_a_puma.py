"""Joint torques of a PUMA 600, for one motion and for ten thousand at once.

Run it with: python examples/01_torques_of_a_puma.py
"""

from timeit import repeat

import numpy as np

import appell as ap

robot = ap.load("puma")
dyn = ap.Dynamics(robot)
print(robot)

# One sample; lists are accepted.
q = [0.0, -0.6, 2.4, 0.0, 0.5, 0.0]
print("holding torques, N m:            ", np.round(dyn.gravity(q), 2))
print("with joint 2 accelerating, N m:  ", np.round(dyn.inverse_dynamics(q, np.zeros(6), [0, 1, 0, 0, 0, 0]), 2))

# Leading axes are the batch. Arguments broadcast, so one velocity is used for all configurations.
rng = np.random.default_rng(0)
many = rng.uniform(-np.pi, np.pi, (10_000, 6))
v, a = rng.normal(size=6), rng.normal(size=6)
tau = dyn.inverse_dynamics(many, v, a)

out = np.empty_like(tau)
seconds = min(repeat(lambda: dyn.inverse_dynamics(many, v, a, out=out), number=1, repeat=20))
print(f"{len(many)} samples in {1e6 * seconds:.0f} µs, {1e9 * seconds / len(many):.0f} ns each")

# Inverse dynamics is M(q) a + h(q, v), and forward dynamics is its inverse.
M, h = dyn.mass_matrix(many), dyn.bias(many, v)
assert np.allclose(M @ a + h, tau, rtol=1e-12, atol=1e-10)
assert np.allclose(dyn.forward_dynamics(many, v, tau), a, rtol=1e-9, atol=1e-9)
print("largest torque of each joint, N m:", ", ".join(f"{x:.1f}" for x in np.abs(tau).max(axis=0)))
