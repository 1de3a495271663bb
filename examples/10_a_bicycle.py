"""A bicycle that is too slow to be stable, stabilised by its steering: LQR in five lines.

Whipple's bicycle of the zoo has four bodies and two rolling wheels. v are the rates of lean, rear wheel and steer; the
only torque acts at the fork. Between 4.3 and 6.0 m/s it is stable without control.

Run it with: python examples/10_a_bicycle.py
"""

import numpy as np

import appell as ap

RADIUS = 0.3  # m, of the rear wheel
robot = ap.load("whipple-bicycle")
print(robot, "- v:", ", ".join(robot.velocity_names), "- tau:", ", ".join(robot.actuator_names))

unstable = ["q_frame_wx", "q_fork", "v_frame_wx", "v_fork"]  # lean, steer and their rates; other states have no effect
for speed in (3.0, 5.0, 7.0):
    rolling = ap.control.linearize(robot, robot.start, [0.0, speed / RADIUS, 0.0]).part(unstable)
    print(f"{speed:g} m/s: without control, its lean grows as exp({rolling.poles.real.max():+.2f} t)")

# Five lines: linearise at straight motion, design the feedback, and simulate from a lean of 6 degrees.
v = [0.0, 3.0 / RADIUS, 0.0]
linear = ap.control.linearize(robot, robot.start, v)
law = ap.control.lqr(linear, dict.fromkeys(unstable, 1.0), 0.01)
leaning = ap.kinematics.assemble(robot, robot.tree.integrate(robot.start, [0, 0, 0, 0.1, 0, 0, 0, 0, 0]))
controlled, free = (ap.simulate(robot, leaning, v, until, torque=x) for until, x in ((3.0, law), (1.0, None)))


def lean(record):
    x, y, z, w = record.q[:, 3:7].T
    return np.degrees(np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)))


steering = np.abs(controlled.tau).max()
print(f"with control, it leans by {lean(controlled)[-1]:+.2f}° after 3 s, with torques of up to {steering:.1f} N m")
print(f"without control, it leans by {np.abs(lean(free)).max():.0f}° after {free.t[-1]:g} s")
dyn, no_torque = ap.Dynamics(robot), [0.0]
force = dyn.constraint_wrench("front")(controlled.q[-1], controlled.v[-1], no_torque)[:3]
print(f"the normal force on the front wheel is {force[2]:.0f} N")
