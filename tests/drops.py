"""Random walls around a robot, random initial configurations, and the penetration of a motion."""

from __future__ import annotations

import numpy as np

import appell as ap
from appell.simulation.contact.contact import Contacts

KINDS = ("revolute", "prismatic", "spherical", "planar")


def random_wall(rng, reach):
    """Return a wall around or below a robot with this reach."""
    R, c = float(reach * rng.uniform(1.2, 2.0)), 0.2 * rng.normal(size=3)
    match rng.integers(6):
        case 0:
            return ap.Sphere(R, c)
        case 1:
            return ap.Plane(0.4 * rng.normal(size=3) + [0, 0, 1], -R)
        case 2:
            return ap.Cylinder(R, c, axis=0.3 * rng.normal(size=3) + [0, 1, 0])
        case 3:
            return ap.Sphere(R, (0, 0, -2.4 * R), inside=False)
        case 4:
            k = float(rng.uniform(0.1, 0.5))
            return ap.Implicit(lambda x, y, z: z + R - k * (x * x + y * y) / R)
        case _:
            a, b = (R * rng.uniform(0.7, 1.3, 2)).tolist()
            return ap.Implicit(lambda x, y, z: 1 - (x / a) ** 2 - (y / b) ** 2 - (z / R) ** 2)


def random_start(robot, gaps, rng):
    """Return a configuration on the free side of the wall, or None."""
    q = np.array([robot.random_configuration(rng) for _ in range(200)])
    free = q[gaps(q).min(axis=1) > 1e-3]
    return free[0] if len(free) else None


def wall_around(robot, reach, rng):
    """Return a wall that leaves space for the robot, and its contacts."""
    while True:
        surface = random_wall(rng, reach)
        contacts = Contacts(ap.Dynamics(robot), ap.Contact("all", surface))
        if all(random_start(robot, contacts.gaps, rng) is not None for _ in range(10)):
            return surface, contacts
        reach *= 1.3


def deepest(motion, contacts):
    """Return the largest penetration at the samples and at 200 times between them, m."""
    q = np.concatenate([motion.q, motion(np.linspace(0, motion.t[-1], 200))[0]])
    deep = q[(contacts.gaps(q) < 0).any(axis=1)]
    if not len(deep):
        return 0.0
    names = [array.name for array in contacts.motion.outputs]
    values = dict(zip(names, contacts.motion(deep, np.zeros((len(deep), motion.v.shape[1]))), strict=True))
    return float(np.nanmax(-values["gap"] / values["slope"]))
