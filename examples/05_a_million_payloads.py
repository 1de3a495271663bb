"""Torques for a million random payloads on a straight line of a PUMA, and how many payloads exceed its limits.

The line is Provenzano's, from rest to rest in one second, so that payloads are accelerated. A payload is a box of
random size and density, gripped off its centre; its ten inertial parameters are an argument of the kernel.

Run it with: python examples/05_a_million_payloads.py [COUNT]
"""

import sys
from time import perf_counter

import numpy as np

import appell as ap

PUMA = ap.load("puma")
ENDS, ORIENTATION = ((0.6, 0.175, 0.25), (0.244, 0.527, 0.25)), ap.motion.zyz(45, 60, 90)
LINE = ap.motion.CartesianLine(PUMA, "tool", *ENDS, ORIENTATION, 5.0, (1, 1, 1))
DYNAMICS = ap.Dynamics(PUMA.with_free("link6"))
LIMITS = np.array([drive.torque_limit for drive in PUMA.actuators])


def boxes(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random masses, sides and centres of boxes in the gripper."""
    rng = np.random.default_rng(5)
    mass, sides = rng.uniform(0.0, 15.0, count), rng.uniform(0.05, 0.3, (count, 3))
    return mass, sides, rng.uniform(-0.25, 0.25, (count, 3)) * sides + (0.1 + 0.5 * sides) * [0.0, 0.0, 1.0]


def motion(seconds: float = 1.0, instants: int = 21) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v, a along the line with minimum jerk from rest to rest."""
    x, scale = np.linspace(0.0, 1.0, instants)[:, None], LINE.duration / seconds
    q, slope, bend = LINE(LINE.duration * (x**3 * (10.0 - 15.0 * x + 6.0 * x**2))[:, 0])
    rate, acceleration = scale * 30.0 * (x - x**2) ** 2, scale / seconds * 60.0 * (x - x**2) * (1.0 - 2.0 * x)
    return q, slope * rate, bend * rate**2 + slope * acceleration


def peaks(mass: np.ndarray, sides: np.ndarray, com: np.ndarray, block: int = 10_000) -> np.ndarray:
    """Return the largest torque of each joint along the line for every payload, computed in blocks."""
    (x, y, z), (xx, yy, zz) = com.T, (sides**2 / 12.0 + com**2).T
    one = [np.ones_like(x), x, y, z, yy + zz, -x * y, xx + zz, -x * z, -y * z, xx + yy]  # m, m c, inertia at the origin
    payloads = PUMA.link("link6").body.parameters + mass[:, None] * np.stack(one, axis=1)
    along, blocks = motion(), (payloads[k : k + block, None] for k in range(0, len(mass), block))
    torques = (DYNAMICS.inverse_dynamics(*along, each) for each in blocks)
    return np.concatenate([np.maximum(tau.max(axis=1), -tau.min(axis=1)) for tau in torques])


if __name__ == "__main__":
    ap.set_threads("all")
    payloads, start = boxes(int(sys.argv[1]) if sys.argv[1:] else 1_000_000), perf_counter()
    largest = peaks(*payloads)
    print(f"{len(largest):,} payloads at 21 instants in {perf_counter() - start:.2f} s, {ap.threads()} threads")
    for name, limit, torque in zip(PUMA.joint_names, LIMITS, largest.T, strict=True):
        low, middle, high = np.percentile(torque, [1, 50, 99])
        share = np.mean(torque > limit)
        print(f"{name}: {low:6.2f} {middle:6.2f} {high:6.2f} N m (1, 50, 99 %); {share:6.2%} beyond {limit} N m")
    print(f"{(largest > LIMITS).any(axis=1).mean():.1%} of all payloads exceed the limit of a joint")
