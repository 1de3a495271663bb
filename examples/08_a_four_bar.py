"""A loop: a four-bar linkage of the zoo, what its motor needs, what its pin bears, where it rests, and how it swings.

The robot is a tree of three bars, crank and coupler and rocker, and a constraint that holds two of their ends together.
q are the three angles, v the crank's rate alone.

Run it with: python examples/08_a_four_bar.py
"""

import numpy as np

import appell as ap

robot = ap.load("four-bar")
dyn = ap.Dynamics(robot)
print(f"{robot}: v is the rate of {robot.velocity_names[0]}; idle rows: {', '.join(robot.idle_rows)}")

# A turn of the crank at constant speed, closed at every angle.
angles = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
q = [robot.start]
for angle in angles:
    guess = q[-1].copy()
    guess[0] = angle
    q.append(ap.kinematics.assemble(robot, guess, hold=["crank"]))
q, speed = np.array(q[1:]), np.full((len(angles), 1), 6.0)
torque = dyn.inverse_dynamics(q, speed, 0.0 * speed)[:, 0]
force = dyn.constraint_wrench("pin")(q, speed, torque[:, None])[:, :3]
print(f"6 rad/s: the motor gives {torque.min():.1f} to {torque.max():.1f} N m,", end=" ")
print(f"the pin bears up to {np.linalg.norm(force, axis=1).max():.1f} N")

rest = ap.kinematics.equilibrium(robot, [-1.9, 2.9, 2.5])
linear = ap.control.linearize(robot, rest)
print(f"it hangs still at {np.round(rest, 3)} rad and swings there with {np.abs(linear.poles.imag).max():.2f} rad/s")

swing = ap.simulate(robot, rest, [4.0], until=20.0, solver=ap.Solver(rtol=1e-10))
print(
    f"20 s of swinging: energy within {np.ptp(swing.energy):.0e} J, loop open by {np.abs(dyn.gap(swing.q)).max():.0e} m"
)

# Another tree, another loop: the same linkage with a rod in place of the coupler.
bars = ap.Builder("rod", root=None, gravity=(0, -9.81, 0))
for name, x, length in (("crank", 0.0, 0.3), ("rocker", 0.9, 0.7)):
    bars.link(name, ap.Revolute(), xyz=(x, 0, 0), mass=1.0, com=(length / 2, 0, 0), inertia=(0.001, 0.02, 0.02))
    bars.frame(f"{name} tip", on=name, xyz=(length, 0, 0))
rod = bars.build().with_loops(ap.Distance("crank tip", "rocker tip", 0.8), home=(0.6, 1.65))
print(
    f"{rod}: the rod weighs nothing, and the motor holds the rest with {ap.Dynamics(rod).gravity(rod.start)[0]:.2f} N m"
)
