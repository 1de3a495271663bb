"""A gripper closes on a box, lifts it and carries it: friction between faces.

Two fingers slide on a hand, which moves up and down. Their faces and the box touch at the corners of the common area;
the box lies on the floor until the hand lifts it.

Run it with: python examples/16_a_gripper_lifts_a_box.py
"""

import numpy as np

import appell as ap

scene = ap.Builder("gripper", root=None).collision(None, "plane", name="floor")
scene.link("hand", ap.Prismatic(axis=(0, 0, 1)), xyz=(0, 0, 0.3), mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
for side, name in ((1, "left"), (-1, "right")):
    scene.link(
        name, ap.Prismatic(axis=(-side, 0, 0)), parent="hand", xyz=(0.07 * side, 0, 0), mass=0.1, inertia=(1e-4,) * 3
    )
    scene.collision(name, "box", (0.02, 0.04, 0.1), xyz=(0, 0, -0.2))
scene.free_body("box", "box", (0.08, 0.06, 0.2), mass=0.4, xyz=(0, 0, 0.1))
robot = scene.build()
FORCE, WEIGHT = 20.0, (0.5 + 2 * 0.1) * 9.81  # of a finger, and of hand and fingers, N


def law(t, q, v):
    """Close the fingers; from 0.4 s on, lift the hand by 0.15 m."""
    target = 0.15 * np.clip((t - 0.4) / 0.6, 0.0, 1.0)
    lift = WEIGHT + 2000.0 * (target - q[0]) - 60.0 * v[0]
    return np.concatenate([[lift, FORCE - 20.0 * v[1], FORCE - 20.0 * v[2]], np.zeros(6)])


contacts = ap.BodyContact([("left", "box"), ("right", "box"), ("box", "floor")], friction=0.6)
record = ap.simulate(robot, until=1.5, torque=law, contacts=contacts)
for event in record.events:
    print(f"{event.time:.4f} s {event.kind}: {event.points[0] if event.points else ''} ({len(event.points)})")
height = record.q[-1, 5]
print(f"the hand is {record.q[-1, 0]:.3f} m and the box {height:.3f} m higher; slip {record.q[-1, 0] - height:.1e} m")
