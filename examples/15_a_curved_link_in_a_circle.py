"""A curved link rolls in Shafei's circle: an arc of 1 m radius in a wall of 2.5 m radius.

Shafei and Shafei (2018) drop rods inside a circular wall, which their points can touch. A curved link touches with its
arc and rolls: the point of contact moves along the link, and the curvatures of both determine the period.

Run it with: python examples/15_a_curved_link_in_a_circle.py
"""

import numpy as np

import appell as ap

WALL, RADIUS, HALF_ANGLE = 2.5, 1.0, 0.7  # m, m, rad

# A thin arc of 1 kg about the origin of its link, with its middle on x.
x = RADIUS * np.sin(HALF_ANGLE) / HALF_ANGLE  # centre of mass
inertia = RADIUS**2 - x**2
scene = ap.Builder("arc", root=None, gravity=(0, -9.81, 0))
scene.link("arc", ap.Planar(), mass=1.0, com=(x, 0, 0), inertia=(0.5 * inertia, 0.5 * inertia, inertia))
scene.collision("arc", "arc", (RADIUS - 0.01, 2 * HALF_ANGLE, 0.01))

d = WALL - RADIUS  # the centre of the arc moves on a circle with this radius
contacts = ap.BodyContact([("arc", ap.Circle(WALL))], friction=0.8)
record = ap.simulate(scene.build(), [0, -d, -np.pi / 2], [0, 0, 0.2], until=3.0, contacts=contacts)
print(record.events[-1])

# Rolling turns the link by -d/RADIUS for a unit angle of its centre about that of the wall.
ratio = d / RADIUS
stiffness, mass = 9.81 * (d + x * ratio**2), (d - x * ratio) ** 2 + inertia * ratio**2
turn = record.q[:, 2] + np.pi / 2
rising = np.flatnonzero((turn[:-1] < 0) & (turn[1:] >= 0))
times = record.t[rising] - turn[rising] * np.diff(record.t)[rising] / np.diff(turn)[rising]
print(f"period {np.diff(times).mean():.4f} s, small oscillations {2 * np.pi * np.sqrt(mass / stiffness):.4f} s")
print(f"energy {record.energy[-1]:.6f} J, largest change {np.ptp(record.energy[2:]):.1e} J")
