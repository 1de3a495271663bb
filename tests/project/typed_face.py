"""What a type checker must know of names that are imported when they are first used; `make lint` runs mypy on it."""

from typing import assert_type

import numpy as np

import appell as ap

dyn = ap.Dynamics(ap.load("puma"))
record = ap.simulate(dyn, until=0.1)
assert_type(record, ap.Record)
assert_type(record.q, np.ndarray)
assert_type(dyn.inverse_dynamics, ap.Function)
assert_type(dyn.pose("tool"), ap.Function)
assert_type(ap.Record.read("fall.csv"), ap.Record)
assert_type(ap.motion.Spline([0.0, 1.0], [[0.0], [1.0]]).duration, float)
assert_type(ap.Contact("all", ap.Circle(2.5)), ap.Contact)
