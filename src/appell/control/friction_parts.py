"""The dynamics of a system with its friction in two parts, which controllers and plants treat differently.

Bodies, rotors, viscous friction and offsets make smooth equations. Dry friction of every drive (Coulomb, static,
Stribeck) is kept apart: a controller feeds it forward along the motion that is wanted, and in a plant it sticks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from appell.control.axes import controllable
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations
from appell.model.actuator import Actuator, Friction
from appell.model.system import System


@dataclass(frozen=True)
class FrictionParts:
    """A system that can be controlled, and its equations."""

    system: System

    def __post_init__(self):
        controllable(self.system)

    @cached_property
    def smooth(self) -> Dynamics:
        """Dynamics without dry friction."""
        return smooth(self.system)

    @property
    def equations(self) -> Equations:
        return self.smooth.equations

    @cached_property
    def dry(self) -> tuple[Friction, ...]:
        """Dry friction of every drive."""
        own = self.system.drives
        return tuple(replace(own[drive.name].friction, viscous=0.0) for drive in self.equations.drives)

    @property
    def sticks(self) -> bool:
        """Whether there is any dry friction."""
        return any(friction.coulomb or friction.static for friction in self.dry)


def smooth(system: System) -> Dynamics:
    """Dynamics of any system with rotors, viscous friction and offsets, without dry friction."""

    def viscous(name: str, own: Actuator) -> Actuator:
        return replace(own, friction=Friction(own.friction.viscous))

    return Dynamics(system.with_actuators(viscous), friction=True, rotors=True)
