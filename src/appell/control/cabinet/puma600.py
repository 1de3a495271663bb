"""The PUMA 600 of Valera et al. 2003: its joints' ranges, motors, gears and the paper's signals.

From the paper: encoders of 200 lines on joints 1 and 2 and 250 on the others, potentiometers of 0 to 5 V, converters of
±10 V and 12 bits (the PCL-726 card), two tool outputs. Gear ratios, rotor inertias and frictions are those commonly
used for the PUMA 560, the same arm (Armstrong, Khatib, Burdick 1986; Corke, Armstrong-Hélouvry 1994); Coulomb friction
is the mean of both directions. The papers print no motor constants, amplifier gains or brakes: ours are round numbers
of the right size, so that full scale gives the arm's known greatest torques (97, 186, 89, 24, 20 and 21 Nm) with some
to spare. Brakes hold joints 1 to 3, as on the real arm; the wrist is held by its gears and shorted motors.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from appell.control.cabinet.drive import Drive, Wiring

TORQUE_LIMIT = (97.6, 186.4, 89.4, 24.2, 20.1, 21.3)  # Nm

#   range, degrees    gear     rotor    viscous   Coulomb   Nm/A  ohm  A/V  amperes lines home brake Nm
_JOINTS = (
    (-160, 160, 62.6111, 200e-6, 1.48e-3, 0.4150, 0.22, 2.0, 0.9, 8.0, 200, 0.031, 200.0),
    (-225, 45, 107.815, 200e-6, 0.817e-3, 0.0985, 0.22, 2.0, 0.9, 8.0, 200, -0.012, 250.0),
    (-45, 225, 53.7063, 200e-6, 1.38e-3, 0.1185, 0.22, 2.0, 0.9, 8.0, 250, 0.040, 150.0),
    (-110, 170, 76.0364, 33e-6, 71.2e-6, 0.01405, 0.09, 6.5, 0.45, 4.0, 250, 0.007, 0.0),
    (-100, 100, 71.923, 33e-6, 82.6e-6, 0.01188, 0.09, 6.5, 0.45, 4.0, 250, -0.022, 0.0),
    (-266, 266, 76.686, 33e-6, 36.7e-6, 0.00723, 0.09, 6.5, 0.45, 4.0, 250, 0.015, 0.0),
)
_FIELDS = (
    *("gear", "rotor_inertia", "viscous", "coulomb"),
    *("torque_constant", "resistance", "amplifier", "current_limit"),
    *("lines", "home", "brake"),
)


@cache
def puma_600(joint_names: tuple[str, ...] = ("joint1", "joint2", "joint3", "joint4", "joint5", "joint6")) -> Wiring:
    """The wiring of the PUMA 600."""
    drives = []
    for low, high, *numbers in _JOINTS:
        values: dict[str, Any] = dict(zip(_FIELDS, numbers, strict=True))
        drives.append(Drive(float(np.radians(low)), float(np.radians(high)), **values))
    return Wiring(joint_names, tuple(drives), "the PUMA 600 cabinet")
