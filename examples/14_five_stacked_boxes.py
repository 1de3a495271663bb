"""Five boxes in a stack, and a ball that knocks them down: bodies that touch each other.

`free_body` adds a body of uniform density on a floating joint, with a shape that can touch others. Events name the
features that touch: corners, edges and faces. A stack at rest is exactly at rest.

Run it with: python examples/14_five_stacked_boxes.py
"""

import numpy as np

import appell as ap

SIDE = 0.2  # m

scene = ap.Builder("stack", root=None).collision(None, "plane", name="floor")
for k in range(5):
    scene.free_body(
        f"box{k}", "box", (SIDE, SIDE, SIDE), mass=1.0, xyz=(0.01 * k, 0, SIDE * (k + 0.5)), rpy=(0, 0, 0.1 * k)
    )
stack = scene.build()
rest = ap.simulate(stack, until=10.0, contacts="all")
print(f"at rest for 10 s: moved by {np.abs(rest.q[-1] - rest.q[0]).max():.0e} m in {len(rest.t)} rows")
print(rest.events[0].points[0], "and", len(rest.events[0].points) - 1, "other contacts")

scene.free_body("ball", "sphere", (0.1,), mass=2.0, xyz=(-0.5, 0, 0.7))
hit = scene.build()
v0 = np.zeros(hit.nv)
v0[-6:-3] = 4.0, 0.0, 0.5  # of the ball, m/s
contacts = [ap.BodyContact("all", friction=0.5), ap.BodyContact([("ball", "floor")], restitution=0.6)]
fall = ap.simulate(hit, v0=v0, until=0.1, contacts=contacts)
print(*fall.events[1:4], sep="\n")
print(f"{len(fall.events)} events; energy {fall.energy[0]:.2f} J, then {fall.energy[-1]:.2f} J")
