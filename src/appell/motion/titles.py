"""Titles and units of columns, and the base class of records with titled columns.

<quantity>_<name>        q_shoulder, tau_elbow
energy, state, ...       quantities that do not belong to a joint have no name

Every quantity has a default unit, which a record may override; some other units of the same kind are converted.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from appell.errors import ArgumentError
from appell.model.system import System

# quantity of a column -> default unit; for q, v, a and tau it depends on the joint
QUANTITIES = {
    "q": "rad or m",
    "v": "rad/s or m/s",
    "w": "rad/s or m/s",
    "a": "rad/s² or m/s²",
    "tau": "N m or N",
    "motor": "rad",  # position of the motor of an elastic joint, before the gear
    "spring": "N m or N",  # torque of the spring of an elastic joint: what a torque sensor after the gear measures
    "qd": "rad or m",
    "vd": "rad/s or m/s",
    "ad": "rad/s² or m/s²",
    "taud": "N m or N",
    "wrench": "N or N m",
    "pose": "m or 1",
    "integral": "rad s or m s",
    "qm": "rad or m",
    "vm": "rad/s or m/s",
    "taum": "N m or N",
    "faults": "1",
    "home": "rad or m",
    "qc": "rad or m",
    "vc": "rad/s or m/s",
    "tauc": "N m or N",
    "memory": "",  # of a law
    "costate": "",  # of an optimal motion
    "multiplier": "",
    "position": "m",  # of a measured target, with its orientation
    "quaternion": "1",
    "impulse": "N s",
    "normal": "N",  # force of a contact
    "friction": "N",  # of a contact, in world axes
}
SCALARS = {"t": "s", "energy": "J", "distance": "m", "height": "m"}

# unit -> its SI unit, and the factor
SI = {
    "rad": ("rad", 1.0),
    "deg": ("rad", np.pi / 180.0),
    "rev": ("rad", 2.0 * np.pi),
    "m": ("m", 1.0),
    "mm": ("m", 1e-3),
    "Nm": ("N m", 1.0),
    "N": ("N", 1.0),
    "Ncm": ("N m", 1e-2),
    "mNm": ("N m", 1e-3),
    "kNm": ("N m", 1e3),
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "ns": ("s", 1e-9),
}
# after a number: resolution of an encoder, or torque constant of a motor whose current is logged -> SI unit, factor
# of one, and whether the number divides
CONSTANTS = {
    "counts/rev": ("rad", 2.0 * np.pi, True),
    "counts/rad": ("rad", 1.0, True),
    "counts/m": ("m", 1.0, True),
    "counts/mm": ("m", 1e-3, True),
    "Nm/A": ("N m", 1.0, False),
    "mNm/A": ("N m", 1e-3, False),
    "Nm/mA": ("N m", 1e3, False),
    "N/A": ("N", 1.0, False),
}
RATES = {"v": "/s", "vd": "/s", "a": "/s²", "ad": "/s²"}


def in_si(unit: str) -> tuple[str, float]:
    """Return the SI unit of a unit such as deg, mm/s or 4096 counts/rev, and the factor.

    An unknown unit is returned with factor 1.
    """
    if (constant := re.fullmatch(r"(-?[\d.]+(?:e[-+]?\d+)?) ([A-Za-z]+/[A-Za-z]+)(/s²?)?", unit)) is not None:
        name, factor, divides = CONSTANTS.get(constant[2], ("", 1.0, False))
        if name:
            return name + (constant[3] or ""), factor / float(constant[1]) if divides else factor * float(constant[1])
    base, slash, rate = unit.partition("/")
    name, factor = SI.get(base, (base, 1.0))
    return name + slash + rate, factor


def declared(quantity: str, unit: str) -> str:
    """Return the unit of a quantity that a user declares as, for example, deg: deg/s for a velocity."""
    text = re.sub(r"\s", "", unit)
    number, name = re.fullmatch(r"(-?[\d.]+(?:e[-+]?\d+)?)?(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    if number is None and name.partition("/")[0] in SI:
        return name if "/" in name else name + RATES.get(quantity, "")
    try:
        valid = number is not None and name in CONSTANTS and float(number) != 0.0
    except ValueError:
        valid = False
    if not valid:
        constants = "counts/rev with the resolution, as in '4096 counts/rev', or Nm/A with a torque constant"
        raise ArgumentError(
            f"unit '{unit}' of column '{quantity}' is unknown.", expected=f"{', '.join(SI)}; {constants}"
        )
    return f"{number} {name}{RATES.get(quantity, '')}"


def titles(quantity: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the titles of a block of columns: q_shoulder, q_elbow, ..."""
    return tuple(f"{quantity}_{name}" for name in names)


def parse(title: str) -> tuple[str, str]:
    """Return quantity and name of a title; a title of no known quantity is a quantity without a name."""
    for end in (k for k, letter in enumerate(title) if letter == "_"):
        if title[:end] in QUANTITIES and title[end + 1 :]:
            return title[:end], title[end + 1 :]
    return title, ""


class Titled(ABC):
    """Base class of records whose columns are accessed by title or by quantity."""

    units: Mapping[str, str]  # by title, if different from that of the quantity

    @abstractmethod
    def __getitem__(self, key: str) -> np.ndarray: ...

    def unit(self, title: str) -> str:
        """Return the unit of a column, "" if it is unknown."""
        return self.units.get(title) or (QUANTITIES | SCALARS).get(parse(title)[0], "")

    @property
    def q(self) -> np.ndarray:
        """Coordinates."""
        return self["q"]

    @property
    def v(self) -> np.ndarray:
        """Velocities."""
        return self["v"]

    @property
    def a(self) -> np.ndarray:
        """Accelerations."""
        return self["a"]

    @property
    def tau(self) -> np.ndarray:
        """Actuator forces."""
        return self["tau"]

    @property
    def energy(self) -> np.ndarray:
        """Total energy, J."""
        return self["energy"]


FORCES = {"rad": "N m", "m": "N"}


def record_names(system: System) -> dict[str, tuple[str, ...]]:
    """Return the names of a system's columns by quantity: q, v, a, tau."""
    v = system.velocity_names
    return {"q": system.coordinate_names, "v": v, "a": v, "tau": system.actuator_names}


def path_units(system: System, names: Sequence[str]) -> dict[str, str]:
    """Return the units of the columns of a path of a system's coordinates, which may have other names."""
    rates = {"q": "", "v": "/s", "a": "/s²"}
    columns = tuple(zip(names, system.velocity_units, strict=True))
    return {f"{key}_{name}": unit + rate for key, rate in rates.items() for name, unit in columns}


def record_units(system: System) -> dict[str, str]:
    """Return the units of a system's columns by title: rad for q_elbow, N m for tau_elbow."""
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
