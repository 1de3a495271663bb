"""The signals of one reading, all in one array, so that they can be copied, shared, logged and replayed whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.motion.record import titles

PER_JOINT = ("counts", "index_counts", "index_seen", "volts", "hot")
COMMON = ("time", "power", "hardware_fault")


class Layout:
    """Where each signal of n joints stands."""

    def __init__(self, n: int):
        self.n = n
        self.size = len(COMMON) + len(PER_JOINT) * n
        self.at: dict[str, slice] = {name: slice(k, k + 1) for k, name in enumerate(COMMON)}
        for k, name in enumerate(PER_JOINT):
            start = len(COMMON) + k * n
            self.at[name] = slice(start, start + n)

    def columns(self, joints: tuple[str, ...]) -> Iterator[str]:
        """A title for every element: time, …, counts_<joint>, …"""
        yield from COMMON
        for name in PER_JOINT:
            yield from titles(name, joints)

    def take(self, signals: np.ndarray, name: str) -> np.ndarray:
        return signals[..., self.at[name]]
