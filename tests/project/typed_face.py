"""Types of public names that are imported lazily; `make lint` runs mypy on this file."""

from typing import assert_type

import numpy as np

import appell as ap

dyn = ap.Dynamics(ap.load("puma"))
record = ap.simulate(dyn, until=0.1)
assert_type(record, ap.Record)
assert_type(record.q, np.ndarray)
assert_type(dyn.inverse_dynamics, ap.Function)
assert_type(dyn.pose("tool"), ap.Function)
assert_type(dyn.pose("tool", [0.0] * 6), np.ndarray)
assert_type(dyn.jacobian("tool", "WORLD"), ap.Function)
assert_type(dyn.velocity("tool"), ap.Function)
assert_type(dyn.velocity("tool", [0.0] * 6, [0.0] * 6, reference="WORLD"), np.ndarray)
assert_type(dyn.acceleration("tool"), ap.Function)
assert_type(dyn.system.limits.upper, np.ndarray)
assert_type(dyn.system.mass, float)
assert_type(dyn.system.random_configuration(), np.ndarray)
assert_type(dyn.system.difference([0.0] * 6, [1.0] * 6), np.ndarray)
robot = ap.load_tree("puma")
assert_type(robot.locked(["joint1"]).with_payload(2.0, "tool"), ap.Robot)
assert_type(ap.from_pinocchio(object()), ap.Robot)
assert_type(ap.control.linearize(robot, robot.start, actuators=["joint2"]).B, np.ndarray)
assert_type(ap.Record.read("fall.csv"), ap.Record)
assert_type(ap.motion.Spline([0.0, 1.0], [[0.0], [1.0]]).duration, float)
assert_type(ap.Contact("all", ap.Circle(2.5)), ap.Contact)
