"""The hardware interface: all that a loop may do to an arm. Whoever has a cabinet of their own writes such a class.

open      take hold of the cards; outputs stay off
read      fill an array with the signals (see `SIGNALS`); False if nothing new came
write     give the codes of the output converters; this is also the loop's sign of life
enable    switch the amplifiers on and release the brakes
disable   switch the amplifiers off and let the brakes fall in; must work at any time, and twice
clear     set a tripped watchdog back, when a person says so
close     let go; outputs off

Signals are numbers by name in one array, so that they can be copied, shared, logged and replayed as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from appell.hardware.cabinet.wiring import Wiring
from appell.motion.titles import titles

COMMON = ("time", "power", "hardware_fault")
PER_ACTUATOR = ("counts", "index_counts", "index_seen", "volts", "hot")


class Hardware(Protocol):
    """A cabinet, real or simulated."""

    wiring: Wiring

    def open(self) -> None: ...

    def read(self, into: np.ndarray) -> bool: ...

    def write(self, codes: np.ndarray) -> None: ...

    def write_tool(self, outputs: int) -> None: ...

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def clear(self) -> None: ...

    def close(self) -> None: ...


class Mute:
    """Hardware that does nothing when it is told to; who derives from it says what is read."""

    def open(self) -> None: ...

    def write(self, codes: np.ndarray) -> None: ...

    def write_tool(self, outputs: int) -> None: ...

    enable = disable = clear = close = open


class Blocks:
    """Where each block of some numbers stands: `Blocks(q=6, v=6).at["v"]` is slice(6, 12)."""

    def __init__(self, **sizes: int):
        self.at: dict[str, slice] = {}
        self.size = 0
        for name, count in sizes.items():
            self.at[name] = slice(self.size, self.size + count)
            self.size += count

    def split(self, numbers: Sequence) -> list:
        """All blocks, in their order."""
        return [numbers[place] for place in self.at.values()]

    def take(self, array: np.ndarray, name: str) -> np.ndarray:
        return array[..., self.at[name]]


def signal_blocks(actuators: int) -> Blocks:
    """The signals of one reading."""
    return Blocks(**dict.fromkeys(COMMON, 1), **dict.fromkeys(PER_ACTUATOR, actuators))


def signal_columns(actuator_names: Sequence[str]) -> Iterator[str]:
    """A title for every number of them: time, …, counts_<actuator>, …"""
    yield from COMMON
    for name in PER_ACTUATOR:
        yield from titles(name, actuator_names)
