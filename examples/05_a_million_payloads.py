"""A million payloads through one kernel: the inertia of a link as an input, not as a constant.

Run it with: python examples/05_a_million_payloads.py
"""

from timeit import repeat

import numpy as np

import appell as ap

robot = ap.load("puma").with_free("link6")
dyn = ap.Dynamics(robot)
print(dyn.inverse_dynamics)

# Ten parameters: m, m c, then the inertia about the link's origin (xx, xy, yy, xz, yz, zz).
bare = np.array(robot.link("link6").body.parameters)
rng = np.random.default_rng(5)
count = 1_000_000
mass = rng.uniform(0.0, 5.0, count)
reach = rng.uniform(0.05, 0.25, count)

# A ball on the tool's axis: mass m at distance r, with its own inertia.
payloads = np.zeros((count, 10))
payloads[:, 0] = mass
payloads[:, 3] = mass * reach
payloads[:, 4] = payloads[:, 6] = mass * reach**2 + 1e-3 * mass
payloads[:, 9] = 1e-3 * mass
payloads += bare

q = np.array([0.2, -0.7, 2.6, 0.1, 0.9, 0.0])
v = np.array([0.5, 0.5, -0.5, 1.0, 1.0, 1.0])
a = np.array([1.0, -1.0, 1.0, 2.0, 2.0, 2.0])
tau = np.empty((count, 6))
seconds = min(repeat(lambda: dyn.inverse_dynamics(q, v, a, payloads, out=tau), number=1, repeat=3))
print(f"{count} payloads in {1e3 * seconds:.0f} ms, {1e9 * seconds / count:.0f} ns each")

# The same numbers as a robot that carries the payload for good.
heaviest = mass.argmax()
loaded = ap.load("puma").with_bodies({"link6": ap.Body.from_parameters(payloads[heaviest].tolist())})
assert np.allclose(ap.Dynamics(loaded).inverse_dynamics(q, v, a), tau[heaviest])
least, most = np.abs(tau[:, 1]).min(), np.abs(tau[:, 1]).max()
print(f"joint 2 needs from {least:.1f} N m to {most:.1f} N m")
