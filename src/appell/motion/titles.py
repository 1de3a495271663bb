"""Titles of columns, and what everything with titled columns has: units by title, and the blocks that all know by name.

<quantity>_<name>        q_shoulder, tau_elbow
energy, state, ...       what belongs to no joint stands alone

A quantity has its unit unless a record says otherwise; other sizes of these units are known too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from appell.errors import ArgumentError
from appell.model.system import System

# the quantities that columns are named after, each with its unit; those of q, v, a, tau depend on the joint
QUANTITIES = {
    "q": "rad or m",
    "v": "rad/s or m/s",
    "w": "rad/s or m/s",
    "a": "rad/s² or m/s²",
    "tau": "N m or N",
    "qd": "rad or m",
    "vd": "rad/s or m/s",
    "ad": "rad/s² or m/s²",
    "integral": "rad s or m s",
    "gap": "rad or m",
    "memory": "",  # of a law
    "impulse": "N s",
    "code": "1",
    "counts": "1",
    "index_counts": "1",
    "index_seen": "1",
    "volts": "V",
    "hot": "1",
}
SCALARS = {"t": "s", "energy": "J"}

# unit -> its SI unit and how many of those it is
SI = {
    "rad": ("rad", 1.0),
    "deg": ("rad", np.pi / 180.0),
    "m": ("m", 1.0),
    "mm": ("m", 1e-3),
    "Nm": ("N m", 1.0),
    "N": ("N", 1.0),
    "mNm": ("N m", 1e-3),
    "kNm": ("N m", 1e3),
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
}
RATES = {"v": "/s", "vd": "/s", "a": "/s²", "ad": "/s²"}


def in_si(unit: str) -> tuple[str, float]:
    """The SI unit of a unit such as deg or mm/s, and how many of it that is; an unknown unit stands for itself."""
    base, slash, rate = unit.partition("/")
    name, factor = SI.get(base, (base, 1.0))
    return name + slash + rate, factor


def declared(quantity: str, unit: str) -> str:
    """The unit of a quantity that is said to be in, for example, deg: deg/s if it is a velocity."""
    if unit.partition("/")[0] not in SI:
        raise ArgumentError(f"column '{quantity}' in '{unit}' is not understood.", expected=", ".join(SI))
    return unit if "/" in unit else unit + RATES.get(quantity, "")


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


FORCES = {"rad": "N m", "m": "N"}


def record_names(system: System) -> dict[str, tuple[str, ...]]:
    """The names by quantity: q, v, a, tau."""
    v = system.velocity_names
    return {"q": system.coordinate_names, "v": v, "a": v, "tau": system.actuator_names}


def record_units(system: System) -> dict[str, str]:
    """The units by title: rad for q_elbow, N m for tau_elbow."""
    lengths, forces = system.velocity_units, [FORCES[unit] for unit in system.actuator_units]
    units = {
        "q": system.coordinate_units,
        "v": [f"{unit}/s" for unit in lengths],
        "a": [f"{unit}/s²" for unit in lengths],
        "tau": forces,
    }
    return {
        f"{quantity}_{name}": unit
        for quantity, names in record_names(system).items()
        for name, unit in zip(names, units[quantity], strict=True)
    }
