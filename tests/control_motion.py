"""The motion that the tests of control make the PUMA follow."""

from __future__ import annotations

import numpy as np

from appell.describe.load import load
from appell.hardware.cabinet.standard_wirings import PUMA_START, puma_600
from appell.model.actuator import IDEAL, Actuator, Friction

SWING = np.array([0.6, 0.3, 0.3, 0.5, 0.5, 0.5])
START = np.array(PUMA_START)
WIRING = puma_600(load("puma"))


class Swing:
    """A smooth motion of all joints from rest and back: one period of a cosine in `duration` seconds."""

    names = ()

    def __init__(self, start=START, size=SWING, duration: float = 2.0):
        self.start, self.size, self.duration = np.asarray(start), np.asarray(size), duration

    def __call__(self, t):
        rate = 2.0 * np.pi / self.duration
        phase = rate * np.asarray(t, float)[..., None]
        half = 0.5 * self.size
        return (
            self.start + half * (1.0 - np.cos(phase)),
            half * rate * np.sin(phase),
            half * rate**2 * np.cos(phase),
        )


def ideal(robot):
    """Return the robot without rotors and friction."""
    return robot.with_actuators(lambda name, actuator: IDEAL)


def driven(robot, rotor_inertia=0.0, **friction):
    """Return the robot with these actuators; one number for all joints, or one per joint."""
    given = {"rotor_inertia": rotor_inertia, **friction}
    columns = {name: np.broadcast_to(np.asarray(x, float), robot.nu).tolist() for name, x in given.items()}
    actuators = {}
    for k, joint in enumerate(robot.joint_names):
        row = {name: column[k] for name, column in columns.items()}
        actuators[joint] = Actuator(rotor_inertia=row.pop("rotor_inertia"), friction=Friction(**row))
    return robot.with_actuators(lambda name, actuator: actuators.get(name, actuator))
