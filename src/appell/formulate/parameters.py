"""The columns of a regressor and what they belong to: bodies, and the drives at the joints."""

from __future__ import annotations

from dataclasses import dataclass

from appell.model.actuator import Actuator

SYMBOLS = {"rotor": "Ia", "coulomb": "fc", "static": "fs", "viscous": "fv", "offset": "fo", "stiffness": "k"}


@dataclass(frozen=True)
class Driven:
    """An actuator at its joint; `label` is what its parameters are numbered by."""

    name: str
    label: str
    actuator: Actuator


@dataclass(frozen=True)
class Parameter:
    """A column of the regressor: its short name, what kind it is, the body or joint that has it, and its value."""

    name: str  # Izz2, fv3: the kind, and the number of the body or of the drive, from 1
    kind: str
    owner: str
    value: float

    def __str__(self) -> str:
        return f"{self.name} ('{self.owner}')"
