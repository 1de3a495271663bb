"""A URDF on a floating base: quaternion coordinates, momentum, and derivatives along the velocities.

Run it with: python examples/03_urdf_on_a_floating_base.py
"""

import numpy as np

import appell as ap

URDF = """
<robot name="satellite">
  <link name="hub"><inertial><mass value="50"/>
    <inertia ixx="4" iyy="5" izz="6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="4"/>
    <inertia ixx="0.01" iyy="0.4" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="camera"><inertial><mass value="0.5"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="hub"/><child link="arm"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="50" velocity="1"/></joint>
  <joint name="mount" type="fixed"><parent link="arm"/><child link="camera"/><origin xyz="1 0 0"/></joint>
</robot>
"""

robot = ap.load_text(URDF, "urdf", base="floating").with_gravity((0, 0, 0))
dyn = ap.Dynamics(robot)
print(robot, "- moving joints:", ", ".join(robot.joint_names))

# q = position, quaternion (x, y, z, w), joints; v = linear and angular velocity in hub axes, joints.
rng = np.random.default_rng(2)
q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)

# Without gravity and external forces, motions of the arm do not change the momentum: dp/dt = 0.
tau = np.zeros(robot.nv)
tau[-1] = 3.0  # torque of the shoulder only
a = dyn.forward_dynamics(q, v, tau)
dp_dq, dp_dv = dyn.momentum.jacobian("q", "v")(q, v)
print("change of momentum:", np.abs(dp_dq @ v + dp_dv @ a).max())
assert np.allclose(dp_dq @ v + dp_dv @ a, 0, atol=1e-10)

# jacobian("q") has nv columns, along v, not nq: the length of the quaternion cannot change.
step = 1e-6
forward = dyn.center_of_mass(robot.integrate(q, step * v))
backward = dyn.center_of_mass(robot.integrate(q, -step * v))
assert np.allclose(dyn.center_of_mass.jacobian("q")(q) @ v, (forward - backward) / (2 * step), atol=1e-7)
print("the fixed camera is a frame of the arm, at", np.round(dyn.pose("camera")(q)[:3, 3], 4))
