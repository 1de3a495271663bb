"""Drives for any arm: when nobody knows its motors, round numbers that can carry it."""

from __future__ import annotations

import numpy as np

from appell.control.cabinet.drive import Drive, Wiring
from appell.dynamics import Dynamics
from appell.model.robot import Robot

GEAR, CONSTANT, AMPLIFIER = 100.0, 0.1, 1.0
SPARE = 3.0  # times the arm's own weight


def generic_wiring(robot: Robot) -> Wiring:
    """A drive a joint, strong enough for the limits the robot states or, failing that, for thrice its weight."""
    rng = np.random.default_rng(0)
    weight = np.abs(Dynamics(robot).gravity(np.array([robot.random_configuration(rng) for _ in range(200)]))).max(
        axis=0
    )
    drives = []
    for link, load in zip(robot.moving, weight, strict=True):
        limits = link.joint.limits
        lower = limits.lower if limits.lower is not None else -np.pi
        upper = limits.upper if limits.upper is not None else np.pi
        torque = limits.effort if limits.effort else SPARE * float(load) + 5.0
        amps = torque / (GEAR * CONSTANT)
        drives.append(
            Drive(
                float(lower),
                float(upper),
                gear=GEAR,
                rotor_inertia=1e-6,
                coulomb=0.01 * torque / GEAR,
                torque_constant=CONSTANT,
                amplifier=amps / 9.5,
                current_limit=amps,
                resistance=1.0,
                supply=max(100.0, 2.0 * amps),
                lines=1000,
                brake=2.0 * torque,
            )
        )
    return Wiring(robot.joint_names, tuple(drives), f"the generic cabinet of robot '{robot.name}'")
