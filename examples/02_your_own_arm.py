"""An arm from its Denavit-Hartenberg table, with a tool, its pose, Jacobian and external forces.

Run it with: python examples/02_your_own_arm.py
"""

from math import pi

import numpy as np

import appell as ap

# A SCARA: revolute, revolute, prismatic, revolute. Modified (Craig) convention; lengths in m, masses in kg.
# `com` and `inertia` (about the centre of mass) are in link axes; three numbers are a diagonal.
rows = [
    ap.DH(offset=0.40, mass=8.0, com=(0.15, 0, 0), inertia=(0.02, 0.12, 0.13), name="shoulder"),
    ap.DH(length=0.30, mass=5.0, com=(0.12, 0, 0), inertia=(0.01, 0.06, 0.06), name="elbow"),
    ap.DH(
        twist=pi, length=0.25, kind="prismatic", mass=1.0, com=(0, 0, -0.1), inertia=(0.004, 0.004, 0.001), name="quill"
    ),
    ap.DH(mass=0.3, com=(0, 0, 0.02), inertia=(2e-4, 2e-4, 1e-4), limits=(-pi, pi), name="flange"),
]
robot = ap.from_dh(rows, name="scara", tool=ap.Pose(translation=ap.Vec3(0, 0, 0.08)))
dyn = ap.Dynamics(robot)
print(robot, "- frames:", ", ".join(robot.frame_names))

q = np.array([0.3, -0.8, 0.1, 0.0])
pose = dyn.pose("tool")(q)
J = dyn.jacobian("tool", "LOCAL_WORLD_ALIGNED")(q)
print("tool at", np.round(pose[:3, 3], 4), "m")

# A force on the tool, in world axes, changes the torques by -Jᵀ f.
pushed = ap.Dynamics(robot, wrenches=["tool"], reference="LOCAL_WORLD_ALIGNED")
force = np.array([10.0, 0.0, -5.0, 0.0, 0.0, 0.0])
v = a = np.zeros(4)
tau = pushed.inverse_dynamics(q, v, a, force)
assert np.allclose(tau, dyn.gravity(q) - J.T @ force)
print("torques under the force:", np.round(tau, 3))

# The same robot as URDF, and back.
again = ap.load_text(ap.to_urdf(robot), "urdf")
assert np.allclose(ap.Dynamics(again).mass_matrix(q), dyn.mass_matrix(q), rtol=1e-14)

# Bodies that cannot exist are rejected with their name.
try:
    ap.from_dh([ap.DH(mass=1.0, inertia=(0.1, 0.1, 0.5), name="disc")])
except ap.ModelError as error:
    print("rejected:", str(error).splitlines()[0])
