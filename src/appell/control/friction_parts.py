"""The dynamics of a system with smooth and dry friction separated, as controllers and plants need them.

Bodies, rotors, viscous friction and offsets have smooth equations. The dry friction of every drive (Coulomb, static,
Stribeck) is separate: a controller feeds it forward along the desired motion, and in a plant it can stick.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from appell.algebra.scalar import Scalar, Vector
from appell.control.axes import controllable
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations
from appell.model.actuator import Actuator, Friction
from appell.model.system import System


@dataclass(frozen=True)
class FrictionParts:
    """A controllable system, its smooth dynamics and the dry friction of its drives."""

    system: System

    def __post_init__(self):
        controllable(self.system)

    @cached_property
    def smooth(self) -> Dynamics:
        """Dynamics without dry friction."""
        return smooth(self.system)

    @property
    def equations(self) -> Equations:
        """Equations of the smooth dynamics."""
        return self.smooth.equations

    @cached_property
    def dry(self) -> tuple[Friction, ...]:
        """Dry friction of every drive."""
        actuators = self.system.drives
        return tuple(
            Friction() if drive.elasticity else replace(actuators[drive.name].friction, viscous=0.0)
            for drive in self.equations.drives
        )

    @cached_property
    def links(self) -> Dynamics:
        """Smooth dynamics of the link side of elastic joints."""
        return Dynamics(self.smooth.system.link_side, friction=True, rotors=True)

    def spring_torques(self, q: Vector, v: Vector) -> list[Scalar | None]:
        """Torques of the springs at the actuators, from joints and motors; None at rigid joints."""
        torques = dict(zip(self.system.elastic_joints, self.equations.spring_torques(q, v), strict=True))
        return [torques.get(name) for name in self.system.actuator_names]

    @property
    def sticks(self) -> bool:
        """Whether there is any dry friction."""
        return any(friction.coulomb or friction.static for friction in self.dry)


def smooth(system: System) -> Dynamics:
    """Return the dynamics of a system with rotors, viscous friction and offsets, without dry friction."""

    def viscous(name: str, actuator: Actuator) -> Actuator:
        return replace(actuator, friction=Friction(actuator.friction.viscous))

    return Dynamics(system.with_actuators(viscous), friction=True, rotors=True)
