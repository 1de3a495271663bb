"""The hardware interface: the operations of a control loop on a robot. To use other hardware, implement this class.

open      acquire the interface cards; outputs stay off
read      fill an array with the signals (see `signal_blocks`); return False if there is no new reading
write     write the codes of the output converters; this is also the heartbeat of the loop
enable    switch the amplifiers on and release the brakes
disable   switch the amplifiers off and engage the brakes; must work at any time, also repeatedly
clear     reset a tripped watchdog, on the command of a person
close     release the hardware; outputs off

The signals are named entries of one array, so that they can be copied, shared, logged and replayed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from appell.control.blocks import Blocks
from appell.hardware.cabinet.wiring import Wiring
from appell.motion.titles import titles

COMMON = ("time", "power", "hardware_fault")
PER_ACTUATOR = ("counts", "index_counts", "index_seen", "volts", "hot")


class Hardware(Protocol):
    """A cabinet, real or simulated."""

    wiring: Wiring

    def open(self) -> None:
        """Acquire the interface cards; outputs stay off."""

    def read(self, into: np.ndarray) -> bool:
        """Fill `into` with the signals; return False if there is no new reading."""

    def write(self, codes: np.ndarray) -> None:
        """Write the codes of the output converters, one per actuator."""

    def write_tool(self, outputs: int) -> None:
        """Write the digital tool outputs, one bit each."""

    def enable(self) -> None:
        """Switch the amplifiers on and release the brakes."""

    def disable(self) -> None:
        """Switch the amplifiers off and engage the brakes."""

    def clear(self) -> None:
        """Reset a tripped watchdog."""

    def close(self) -> None:
        """Release the hardware; outputs off."""


class PassiveHardware:
    """Hardware on which all commands have no effect; subclasses define `read`."""

    def open(self) -> None: ...

    def write(self, codes: np.ndarray) -> None: ...

    def write_tool(self, outputs: int) -> None: ...

    enable = disable = clear = close = open


def signal_blocks(actuators: int) -> Blocks:
    """Return the layout of the signals of one reading."""
    return Blocks(**dict.fromkeys(COMMON, 1), **dict.fromkeys(PER_ACTUATOR, actuators))


def signal_columns(actuator_names: Sequence[str]) -> Iterator[str]:
    """Yield the column names of the signals: time, …, counts_<actuator>, …"""
    yield from COMMON
    for name in PER_ACTUATOR:
        yield from titles(name, actuator_names)
