"""Numbers by name in one array, so that they can be copied, shared, logged and replayed whole; first of all signals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from appell.motion.titled import titles

COMMON = ("time", "power", "hardware_fault")
PER_ACTUATOR = ("counts", "index_counts", "index_seen", "volts", "hot")


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
