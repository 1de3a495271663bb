"""Titles of columns, and what everything with titled columns has: units by title, and the blocks that all know by name.

<quantity>_<name>        q_shoulder, tau_elbow
energy, state, ...       what belongs to no joint stands alone
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from appell.motion.units import QUANTITIES, SCALARS


def titles(quantity: str, names: Sequence[str]) -> tuple[str, ...]:
    """The titles of a block of columns: q_shoulder, q_elbow, ..."""
    return tuple(f"{quantity}_{name}" for name in names)


def parse(title: str) -> tuple[str, str]:
    """Quantity and name of a title; what is of no known quantity stands alone, without a name."""
    for end in (k for k, letter in enumerate(title) if letter == "_"):
        if title[:end] in QUANTITIES and title[end + 1 :]:
            return title[:end], title[end + 1 :]
    return title, ""


class Titled(ABC):
    """What is asked for by the title of a column, or by its quantity."""

    units: Mapping[str, str]  # by title, where not those of the quantity

    @abstractmethod
    def __getitem__(self, key: str) -> np.ndarray: ...

    def unit(self, title: str) -> str:
        """The unit of a column, "" if nobody knows."""
        return self.units.get(title) or (QUANTITIES | SCALARS).get(parse(title)[0], "")

    @property
    def q(self) -> np.ndarray:
        return self["q"]

    @property
    def v(self) -> np.ndarray:
        return self["v"]

    @property
    def a(self) -> np.ndarray:
        return self["a"]

    @property
    def tau(self) -> np.ndarray:
        return self["tau"]

    @property
    def energy(self) -> np.ndarray:
        return self["energy"]
