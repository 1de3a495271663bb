"""Rolling wheels: an arm on a cart with two driven wheels, its torques, and a drive with the arm moving.

A wheel has three constraint rows: it does not slip forward or sideways, and stays on the ground. The cart moves in the
plane, so the last row is always satisfied, and the sideways rows of two wheels on one axle are equal. Four independent
velocities v remain.

Run it with: python examples/09_an_arm_on_wheels.py
"""

import numpy as np

import appell as ap

cart = ap.Builder("arm-on-wheels", root=None)
cart.link("body", ap.Planar(), joint_name="body", xyz=(0, 0, 0.1), mass=8.0, com=(0, 0, 0.05), inertia=(0.3, 0.3, 0.35))
for side, y in (("left", 0.2), ("right", -0.2)):
    wheel = {"mass": 0.6, "inertia": (0.0015, 0.003, 0.0015)}
    cart.link(side, ap.Revolute((0, 1, 0)), parent="body", joint_name=side, xyz=(0, y, 0), **wheel)
bar = {"mass": 1.2, "com": (0.2, 0, 0), "inertia": (0.001, 0.02, 0.02)}
cart.link("upper", ap.Revolute((0, 0, 1)), parent="body", joint_name="shoulder", xyz=(0.1, 0, 0.3), **bar)
cart.link("lower", ap.Revolute((0, 1, 0)), parent="upper", joint_name="elbow", xyz=(0.4, 0, 0), **bar)
cart.frame("hand", on="lower", xyz=(0.4, 0, 0))
robot = cart.build().with_loops(
    ap.Rolling("left", radius=0.1),
    ap.Rolling("right", radius=0.1),
    independent=("body_vx", "body_w", "shoulder", "elbow"),
    actuated=("left", "right", "shoulder", "elbow"),
)
dyn = ap.Dynamics(robot)
print(f"{robot}; redundant rows: {', '.join(robot.idle_rows)}")

# 10,000 motions at once: torques of wheels and arm.
rng = np.random.default_rng(1)
q = np.tile(robot.start, (10_000, 1))
q[:, -2:] = rng.uniform(-1, 1, (10_000, 2))
v, a = rng.normal(size=(2, 10_000, 4))
tau = dyn.inverse_dynamics(q, v, a)
print("largest torques:", dict(zip(robot.actuator_names, np.abs(tau).max(axis=0).round(1).tolist(), strict=True)))


# Drive along a curve and move the arm: computed torque with feedback of the velocities.
def torque(t, q, v):
    desired = np.array([0.5, 0.4, 0.8 * np.cos(2 * t), 0.8 * np.sin(2 * t)])
    a = np.array([0.0, 0.0, -1.6 * np.sin(2 * t), 1.6 * np.cos(2 * t)]) + 20.0 * (desired - v)
    return dyn.inverse_dynamics(q, v, a)


drive = ap.simulate(robot, until=5.0, torque=torque)
slip = np.abs(dyn.row_rates(drive.q, drive["w"])).max()
x, y, heading = drive.q[-1, :3]
print(f"after 5 s it is at ({x:.2f}, {y:.2f}) m, heading {np.degrees(heading):.0f}°; slip of the wheels {slip:.0e} m/s")
forces = dyn.constraint_forces(drive.q[-1], drive.v[-1], torque(5.0, drive.q[-1], drive.v[-1]))
print("forces of the ground:", {n: round(float(f), 2) for n, f in zip(robot.row_names, forces, strict=True) if f})
