"""Drives and wiring: motors, gears, converters and sensors between a computer and an arm.

volts = (code - 2^(bits-1)) 2V/2^bits               the output converter, ±V                              (1)
current = amplifier volts,   |current| ≤ limit,   |R current + k N v| ≤ supply                            (2)
τ = k N current                                     k torque constant, N gear ratio                       (3)
counts = ⌊4 lines N (q - home) / 2π⌋ - counts at power-on        index pulse once a turn of the motor      (4)
potentiometer = 5 V (q - lower) / (upper - lower)                                                         (5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from appell.control.arm import Arm
from appell.errors import ArgumentError
from appell.model.robot import Robot


@dataclass(frozen=True)
class Drive:
    """One joint's motor, gear, amplifier and sensors; inertia and friction as the motor feels them."""

    lower: float  # rad, the range of the joint and of its potentiometer
    upper: float
    gear: float = 100.0
    rotor_inertia: float = 1e-4  # kg m²
    viscous: float = 0.0  # Nm s
    coulomb: float = 0.0  # Nm
    torque_constant: float = 0.1  # Nm/A
    resistance: float = 2.0  # ohm
    supply: float = 40.0  # V
    amplifier: float = 1.0  # A/V
    current_limit: float = 10.0  # A
    lines: int = 200  # of the encoder, a turn of the motor
    home: float = 0.0  # rad, a joint angle at which the index pulse comes
    brake: float = 0.0  # Nm at the joint, when the outputs are off
    heating: float = 1.0  # K/W of the motor
    cooling_time: float = 600.0  # s
    hottest: float = 120.0  # °C, where the over-temperature contact opens

    def __post_init__(self):
        for name in ("gear", "torque_constant", "resistance", "supply", "amplifier", "current_limit", "lines"):
            if not getattr(self, name) > 0.0:
                raise ArgumentError(f"a drive's {name} is {getattr(self, name):g}.", expected="a positive number")
        if not self.lower < self.upper:
            raise ArgumentError(
                f"a drive's joint ranges from {self.lower:g} to {self.upper:g}.", expected="lower < upper"
            )

    @property
    def torque_per_ampere(self) -> float:
        return self.torque_constant * self.gear

    @property
    def torque_per_volt(self) -> float:
        return self.torque_per_ampere * self.amplifier

    @property
    def short_circuit_damping(self) -> float:
        """What a shorted winding opposes to motion, Nm s at the joint."""
        return self.torque_per_ampere**2 / self.resistance

    @property
    def counts_per_turn(self) -> int:
        """Of the motor, all four edges counted."""
        return 4 * self.lines

    @property
    def counts_per_radian(self) -> float:
        return self.counts_per_turn * self.gear / (2.0 * np.pi)

    @property
    def index_pitch(self) -> float:
        """Joint angle between two index pulses."""
        return 2.0 * np.pi / self.gear


@dataclass(frozen=True)
class Wiring:
    """What stands between the computer and the arm, joint by joint."""

    joint_names: tuple[str, ...]
    drives: tuple[Drive, ...]
    name: str = "cabinet"
    bits: int = 12
    volts: float = 10.0
    tool_outputs: int = 2
    potentiometer_volts: float = field(default=5.0)

    def __post_init__(self):
        if len(self.joint_names) != len(self.drives):
            raise ArgumentError(f"{len(self.drives)} drives are given for {len(self.joint_names)} joints.")

    @property
    def n(self) -> int:
        return len(self.drives)

    def check(self, robot: Robot) -> None:
        """Raise unless the robot has the joints that are wired."""
        if not isinstance(robot, Robot):
            raise ArgumentError(
                f"{self.name} measures and drives the joints of a tree; {robot} is none.",
                hint="control.closed_loop(controller, plant, reference) leads a parallel robot",
            )
        if robot.joint_names != self.joint_names:
            raise ArgumentError(
                f"robot '{robot.name}' has joints {', '.join(robot.joint_names)}; {self.name} drives "
                f"{', '.join(self.joint_names)}.",
                expected="a model with the joints of the cabinet, in their order",
            )

    def column(self, name: str) -> np.ndarray:
        """A number of every drive."""
        return np.array([getattr(drive, name) for drive in self.drives], dtype=float)

    def arm(self, robot: Robot, stiction: float = 1.0) -> Arm:
        """The robot with these rotors and frictions; static friction is `stiction` times Coulomb's."""
        self.check(robot)
        gear = self.column("gear")
        dry = gear * self.column("coulomb")
        return Arm(
            robot,
            rotor_inertia=(gear**2 * self.column("rotor_inertia")).tolist(),
            viscous=(gear**2 * self.column("viscous")).tolist(),
            coulomb=dry.tolist(),
            static=(stiction * dry).tolist(),
        )

    # ---- converters

    @property
    def zero_code(self) -> float:
        return float(2 ** (self.bits - 1))

    @property
    def volts_per_code(self) -> float:
        return 2.0 * self.volts / 2**self.bits

    @cached_property
    def torque_per_code(self) -> np.ndarray:
        return self.volts_per_code * self.column("torque_per_volt")

    @property
    def reachable_torque(self) -> np.ndarray:
        """What the last code or the amplifier's current limit allows."""
        by_code = (self.zero_code - 1.0) * self.torque_per_code
        return np.minimum(by_code, self.column("torque_per_ampere") * self.column("current_limit"))

    def code_bounds(self, torque_limit: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest code whose torque stays within the limit."""
        reach = np.minimum(
            np.floor(np.asarray(torque_limit) / self.torque_per_code * (1.0 + 1e-15)), self.zero_code - 1.0
        )
        return self.zero_code - reach, self.zero_code + reach

    def torque(self, codes: np.ndarray) -> np.ndarray:
        """The torque that codes ask for."""
        return (np.asarray(codes) - self.zero_code) * self.torque_per_code

    def position(self, volts: np.ndarray) -> np.ndarray:
        """Joint angles by the potentiometers (5)."""
        lower, upper = self.column("lower"), self.column("upper")
        return lower + (upper - lower) * np.asarray(volts) / self.potentiometer_volts
