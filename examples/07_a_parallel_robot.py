"""A user-defined parallel robot: a crank-slider mechanism, simulated and controlled.

Poses are Python functions of the coordinate, here the position x of the slider; torques are those of the crank's motor.

Run it with: python examples/07_a_parallel_robot.py
"""

import numpy as np

import appell as ap
from appell.control import Controller, Design, critical
from appell.describe.legs import Angle, closing_angle, cylinder, disc
from appell.hardware import Plant, Reference, closed_loop

CRANK, ROD = 0.1, 0.3  # m


def motor(q):
    """Return the angle at which crank and rod meet: x cos θ = (x² + CRANK² - ROD²) / (2 CRANK)."""
    return closing_angle(q[0], 0.0, (q[0] * q[0] + (CRANK**2 - ROD**2)) * (0.5 / CRANK), 1)


def rod(q):
    pin = CRANK * ap.Vec3(motor(q).cosine, motor(q).sine, 0.0)
    return ap.Pose(Angle((q[0] - pin.x) * (1 / ROD), -pin.y * (1 / ROD)).about_z, pin)


def mechanism(load):
    """Return the mechanism with a load on the slider, in kg."""
    bodies = [
        ap.MovingBody("crank", lambda q: ap.Pose(motor(q).about_z), cylinder(0.4, CRANK, 0.01)),
        ap.MovingBody("rod", rod, cylinder(0.6, ROD, 0.01)),
        ap.MovingBody("slider", lambda q: ap.Pose(translation=ap.Vec3(q[0], 0.0, 0.0)), disc(0.5 + load, 0.02)),
    ]
    drive = ap.LegJoint("crank", lambda q: motor(q).value)
    pins = [ap.Pin("crank", (CRANK, 0, 0), "rod"), ap.Pin("rod", (ROD, 0, 0), "slider")]  # verify that the loop closes
    return ap.Mechanism("crank-slider", ("x",), bodies, [drive], home=(0.3,), gravity=(0.0, -9.81, 0.0), pins=pins)


robot = mechanism(load=0.0)
dyn = ap.Dynamics(robot)
torque, count = dyn.inverse_dynamics([0.3], [0.0], [0.0])[0], dyn.inverse_dynamics.count()
print(f"motor torque at x = 0.3 m: {torque:.3f} N m, {count.mul} products")

fall = ap.simulate(dyn, until=0.1)
print(f"free motion for 0.1 s: x = {fall.q[-1, 0]:.4f} m, energy changed by {np.ptp(fall.energy):.0e} J")


def strokes(t):
    """Return x, its rate and its acceleration, for two strokes per second."""
    phase = 4 * np.pi * np.asarray(t)[..., None]
    return 0.3 + 0.03 * np.sin(phase), 0.12 * np.pi * np.cos(phase), -0.48 * np.pi**2 * np.sin(phase)


controller = Controller(Design(robot, critical(40.0, 1e-3)))  # its model has no load
for load in (0.0, 0.2):
    plant = Plant(mechanism(load))
    plant.set_state(*strokes(0.0)[:2])
    motion = closed_loop(controller, plant, Reference.sampled(strokes, 1e-3, duration=1.0))
    print(f"strokes with a load of {load:g} kg: {1e6 * np.abs(motion.error).max():.1f} µm largest tracking error")
