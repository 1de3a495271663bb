"""A four-bar linkage with a loop: torques of its motor, forces in its pin, its equilibrium and oscillation.

The robot is a tree of three bars (crank, coupler and rocker) and a constraint that connects two of their ends. q are
the three angles, v is the rate of the crank.

Run it with: python examples/08_a_four_bar.py
"""

import numpy as np

import appell as ap

robot = ap.load("four-bar")
dyn = ap.Dynamics(robot)
print(f"{robot}: v is the rate of {robot.velocity_names[0]}; idle rows: {', '.join(robot.idle_rows)}")

# One revolution of the crank at constant speed, with the loop closed at every angle.
angles = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
q = [robot.start]
for angle in angles:
    guess = q[-1].copy()
    guess[0] = angle
    q.append(ap.kinematics.assemble(robot, guess, hold=["crank"]))
q, speed = np.array(q[1:]), np.full((len(angles), 1), 6.0)
torque = dyn.inverse_dynamics(q, speed, 0.0 * speed)[:, 0]
force = dyn.constraint_wrench("pin")(q, speed, torque[:, None])[:, :3]
print(f"6 rad/s: torque of the motor {torque.min():.1f} to {torque.max():.1f} N m,", end=" ")
print(f"force in the pin up to {np.linalg.norm(force, axis=1).max():.1f} N")

rest = ap.kinematics.equilibrium(robot, [-1.9, 2.9, 2.5])
linear = ap.control.linearize(robot, rest)
print(f"equilibrium at {np.round(rest, 3)} rad, where it oscillates with {np.abs(linear.poles.imag).max():.2f} rad/s")

swing = ap.simulate(robot, rest, [4.0], until=20.0, solver=ap.Solver(rtol=1e-10))
print(f"20 s of motion: energy within {np.ptp(swing.energy):.0e} J, gap {np.abs(dyn.gap(swing.q)).max():.0e} m")

# The same linkage with a massless rod instead of the coupler.
bars = ap.Builder("rod", root=None, gravity=(0, -9.81, 0))
for name, x, length in (("crank", 0.0, 0.3), ("rocker", 0.9, 0.7)):
    bars.link(name, ap.Revolute(), xyz=(x, 0, 0), mass=1.0, com=(length / 2, 0, 0), inertia=(0.001, 0.02, 0.02))
    bars.frame(f"{name} tip", on=name, xyz=(length, 0, 0))
rod = bars.build().with_loops(ap.Distance("crank tip", "rocker tip", 0.8), home=(0.6, 1.65))
print(f"{rod}: the rod has no mass; holding torque of the motor {ap.Dynamics(rod).gravity(rod.start)[0]:.2f} N m")
