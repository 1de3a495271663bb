"""The electronics of the PUMA 600 of Valera et al. 2003: what stands between the computer and the arm's own drives.

From the paper: encoders of "200 counts per revolution" on joints 1 and 2 and 250 on the others, taken here as lines of
four counts each; potentiometers of 0 to 5 V; outputs of ±10 V; two tool outputs. It names the cards (PCL-818, PCL-726)
and no bits: 12 are ours. It prints no amplifier gains or brakes either: ours are round numbers of the right size, so
that full scale gives the arm's greatest torques with some to spare. Brakes hold joints 1 to 3, as on the real arm; the
wrist is held by its gears and shorted motors. Gears, rotors, frictions, motor constants and limits are the robot's
(`describe/zoo/puma.toml`).
"""

from __future__ import annotations

import numpy as np

from appell.control.cabinet.wiring import Channel, Wiring
from appell.errors import ArgumentError
from appell.model.system import System

START = (0.1, -0.7, 2.6, 0.2, 0.6, -0.3)

#   range, degrees  ohm  A/V  lines  home  brake, N m
_JOINTS = (
    (-160, 160, 2.0, 0.9, 200, 0.031, 200.0),
    (-225, 45, 2.0, 0.9, 200, -0.012, 250.0),
    (-45, 225, 2.0, 0.9, 250, 0.040, 150.0),
    (-110, 170, 6.5, 0.45, 250, 0.007, 0.0),
    (-100, 100, 6.5, 0.45, 250, -0.022, 0.0),
    (-266, 266, 6.5, 0.45, 250, 0.015, 0.0),
)


def puma_600(robot: System) -> Wiring:
    """The wiring of the PUMA 600, for a robot with its drives."""
    name = "the PUMA 600 cabinet"
    if robot.nu != len(_JOINTS):
        raise ArgumentError(f"{robot.owner} has {robot.nu} actuators; {name} drives {len(_JOINTS)}.")
    channels = [
        Channel(own, float(np.radians(low)), float(np.radians(high)), ohm, 40.0, gain, lines, home, brake)
        for own, (low, high, ohm, gain, lines, home, brake) in zip(robot.actuators, _JOINTS, strict=True)
    ]
    return Wiring(robot.actuator_names, tuple(channels), START, name)
