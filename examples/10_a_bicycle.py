"""A bicycle that is too slow to stand by itself, kept upright by its steering: LQR in five lines.

Whipple's bicycle of the zoo: four bodies, two wheels that roll. v are the rates of lean, rear wheel and steer; torque
acts at the fork alone. Between 4.3 and 6.0 m/s it needs no rider.

Run it with: python examples/10_a_bicycle.py
"""

import numpy as np

import appell as ap

RADIUS = 0.3  # m, of the rear wheel
robot = ap.load("whipple-bicycle")
print(robot, "- v:", ", ".join(robot.velocity_names), "- tau:", ", ".join(robot.actuator_names))

falling = ["q_frame_wx", "q_fork", "v_frame_wx", "v_fork"]  # lean, steer and their rates; the others do not matter
for speed in (3.0, 5.0, 7.0):
    rolling = ap.control.linearize(robot, robot.start, [0.0, speed / RADIUS, 0.0]).part(falling)
    print(f"{speed:g} m/s: left alone, its lean goes as exp({rolling.poles.real.max():+.2f} t)")

# Five lines: where it runs straight, a feedback of lean and steer, and a run from a lean of 6 degrees.
v = [0.0, 3.0 / RADIUS, 0.0]
linear = ap.control.linearize(robot, robot.start, v)
law = ap.control.lqr(linear, dict.fromkeys(falling, 1.0), 0.01)
leaning = ap.kinematics.assemble(robot, robot.tree.integrate(robot.start, [0, 0, 0, 0.1, 0, 0, 0, 0, 0]))
ridden, alone = (ap.simulate(robot, leaning, v, until, torque=x) for until, x in ((3.0, law), (1.0, None)))


def lean(record):
    x, y, z, w = record.q[:, 3:7].T
    return np.degrees(np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)))


steering = np.abs(ridden.tau).max()
print(
    f"with its rider, it leans by {lean(ridden)[-1]:+.2f}° after 3 s, with torques at the fork up to {steering:.1f} N m"
)
print(f"without, it has leant by {np.abs(lean(alone)).max():.0f}° after {alone.t[-1]:g} s")
dyn, none = ap.Dynamics(robot), [0.0]
force = dyn.constraint_wrench("front")(ridden.q[-1], ridden.v[-1], none)[:3]
print(f"the ground carries the front wheel with {force[2]:.0f} N")
