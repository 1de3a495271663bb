"""A quadruped that lands on its feet: many contacts with friction, light feet and stiff legs."""

from __future__ import annotations

import numpy as np

import appell as ap
from appell.simulation.contact.contact import Contacts
from robots import example_urdfs


def test_a_dropped_quadruped_lands_and_stands_in_few_steps():
    robot = ap.load(next(path for path in example_urdfs() if path.name == "go2.urdf"), base="floating")
    dyn = ap.Dynamics(robot)
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    q = np.array(robot.start)
    q[7:] = [0.05, 0.8, -1.5] * 4
    q[2] += 0.1 - min(dyn.pose(foot)(q)[2, 3] for foot in feet)
    stance = q[7:].copy()
    floor = ap.Contact(feet, ap.Plane((0, 0, 1)), restitution=0.3, friction=0.6)

    def law(t, q, v):
        return np.concatenate([np.zeros(6), 60.0 * (stance - q[7:]) - 2.0 * v[6:]])

    motion = ap.simulate(dyn, q, until=1.0, torque=law, contacts=floor)
    assert motion.finished
    assert len(motion.t) < 1500  # it was 4400, most of them of a nanosecond
    times = np.linspace(0.0, 1.0, 2001)
    assert Contacts(dyn, floor).gaps(motion(times)[0]).min() > -1e-7
    np.testing.assert_allclose([dyn.pose(foot)(motion.q[-1])[2, 3] for foot in feet], 0.0, atol=1e-6)
    springs = 30.0 * ((motion.q[:, 7:] - stance) ** 2).sum(axis=1)  # the law is springs and dampers
    total = motion.energy + springs
    assert np.diff(total).max() < 1e-6 * np.abs(total).max()
