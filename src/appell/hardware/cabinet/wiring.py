"""Wiring: amplifiers, converters and sensors between a computer and the actuators of a system.

volts = (code - 2^(bits-1)) 2V/2^bits               the output converter, ±V                              (1)
current = amplifier volts,   |current| ≤ limit,   |R current + k N θ̇| ≤ supply                            (2)
τ = k N current                                     k torque constant, N gear ratio                       (3)
counts = ⌊4 lines N (θ - home) / 2π⌋ - counts at power-on        index pulse: once per motor revolution     (4)
potentiometer = 5 V (θ - lower) / (upper - lower)                                                         (5)

θ is the position of an actuator, in rad or m. Gear, torque constant, and limits of torque and current are those of the
actuator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.control.axes import axis_word, check_wirable
from appell.errors import ArgumentError, check_number
from appell.model.actuator import Actuator
from appell.model.system import System


@dataclass(frozen=True)
class Channel:
    """Amplifier, encoder, potentiometer and brake of one actuator."""

    actuator: Actuator
    lower: float  # rad or m, the range of the potentiometer
    upper: float
    resistance: float = 2.0  # ohm
    supply: float = 40.0  # V
    amplifier: float = 1.0  # A/V
    lines: int = 200  # of the encoder, per revolution of the motor
    home: float = 0.0  # rad or m, a position of the index pulse
    brake: float = 0.0  # N m or N at the joint, when the outputs are off
    heating: float = 1.0  # K/W of the motor
    cooling_time: float = 600.0  # s
    hottest: float = 120.0  # °C, at which the over-temperature contact opens

    def __post_init__(self):
        for name in ("torque_constant", "current"):
            if not (getattr(self.actuator, name) or 0.0) > 0.0:
                raise ArgumentError(
                    f"an actuator has {name.replace('_', ' ')} {getattr(self.actuator, name)} and cannot be wired.",
                    expected="a motor with a positive torque constant and current limit",
                )
        for name in ("resistance", "supply", "amplifier", "lines", "cooling_time"):
            check_number(f"a channel's {name.replace('_', ' ')}", getattr(self, name), least=0.0, above=True)
        for name in ("brake", "heating"):
            check_number(f"a channel's {name}", getattr(self, name), least=0.0)
        for name in ("lower", "upper", "home", "hottest"):
            check_number(f"a channel's {name}", getattr(self, name))
        if not self.lower < self.upper:
            raise ArgumentError(
                f"the range of a channel's actuator is {self.lower:g} to {self.upper:g}.", expected="lower < upper"
            )

    @property
    def gear(self) -> float:
        """Gear ratio; its sign is absorbed in the polarity of the wiring."""
        return abs(self.actuator.gear)

    @property
    def current_limit(self) -> float:
        """Largest current, in A."""
        return self.actuator.current or 0.0

    @property
    def torque_per_ampere(self) -> float:
        """Torque at the joint per current, in N m/A or N/A."""
        return (self.actuator.torque_constant or 0.0) * self.gear

    @property
    def torque_per_volt(self) -> float:
        """Torque at the joint per input voltage of the amplifier, in N m/V or N/V."""
        return self.torque_per_ampere * self.amplifier

    @property
    def torque_limit(self) -> float:
        """Largest torque at the joint, in N m or N."""
        return self.actuator.torque_limit

    @property
    def full_torque_speed(self) -> float:
        """Speed of the joint, in rad/s or m/s, up to which the supply voltage suffices for the full torque."""
        return (self.supply - self.resistance * self.torque_limit / self.torque_per_ampere) / self.torque_per_ampere

    @property
    def short_circuit_damping(self) -> float:
        """Damping by a short-circuited winding, at the joint, in N m s/rad or N s/m."""
        return self.torque_per_ampere**2 / self.resistance

    @property
    def counts_per_turn(self) -> int:
        """Encoder counts per revolution of the motor, with all four edges counted."""
        return 4 * self.lines

    @property
    def resolution(self) -> float:
        """Encoder counts per rad or m of the joint."""
        return self.counts_per_turn * self.gear / (2.0 * np.pi)

    @property
    def index_pitch(self) -> float:
        """Distance between two index pulses at the joint, in rad or m."""
        return 2.0 * np.pi / self.gear


@dataclass(frozen=True)
class Wiring:
    """The electronics between the computer and a system: one channel per actuator."""

    names: tuple[str, ...]  # of the actuators
    channels: tuple[Channel, ...]
    start: tuple[float, ...]  # approximate configuration q at power-on
    name: str = "cabinet"
    bits: int = 12
    volts: float = 10.0
    tool_outputs: int = 2
    potentiometer_volts: float = 5.0
    units: tuple[str, ...] = ()  # "rad" or "m" of every actuator; by default "rad"

    def __post_init__(self):
        object.__setattr__(self, "units", self.units or ("rad",) * len(self.names))
        if len(self.names) != len(self.channels):
            raise ArgumentError(f"{len(self.channels)} channels are given for {len(self.names)} actuators.")

    @property
    def n(self) -> int:
        """Number of actuators."""
        return len(self.channels)

    def check(self, system: System) -> None:
        """Raise an error unless the system has the wired actuators, and their positions determine its configuration."""
        check_wirable(system)
        if system.actuator_names != self.names:
            kind = axis_word(system, "actuator")
            raise ArgumentError(
                f"{system.owner} has {kind}s {', '.join(system.actuator_names)}; {self.name} drives "
                f"{', '.join(self.names)}.",
                expected=f"a system with the {kind}s of the cabinet, in their order",
            )

    def column(self, name: str) -> np.ndarray:
        """Return a property of every channel as an array."""
        return np.array([getattr(channel, name) for channel in self.channels], dtype=float)

    # ---- converters

    @property
    def zero_code(self) -> float:
        """Code of zero output."""
        return float(2 ** (self.bits - 1))

    @property
    def volts_per_code(self) -> float:
        """Output voltage per code."""
        return 2.0 * self.volts / 2**self.bits

    @cached_property
    def torque_per_code(self) -> np.ndarray:
        """Torque of every actuator per code, in N m or N."""
        return self.volts_per_code * self.column("torque_per_volt")

    @property
    def reachable_torque(self) -> np.ndarray:
        """Largest torque of every actuator that converter and actuator allow, in N m or N."""
        return np.minimum((self.zero_code - 1.0) * self.torque_per_code, self.column("torque_limit"))

    def torque(self, codes: np.ndarray) -> np.ndarray:
        """Return the torques that codes command, in N m or N."""
        return (np.asarray(codes) - self.zero_code) * self.torque_per_code

    def position(self, volts: np.ndarray) -> np.ndarray:
        """Return the actuator positions that the potentiometers measure, (5)."""
        lower, upper = self.column("lower"), self.column("upper")
        return lower + (upper - lower) * np.asarray(volts) / self.potentiometer_volts
