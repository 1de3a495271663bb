"""What drives a joint: gear, rotor, friction, a spring, and how much it can give.

A rotor turns `gear` times faster than its joint, so the joint feels gear² times its inertia. Its gyroscopic moments and
its share of the carrier's inertia are those of a body fixed to the carrier, and belong there. A spring pulls the joint
back to `rest` with `stiffness` times what it is away from there; like gravity it acts whether asked for or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from appell.algebra.scalar import is_number
from appell.model.friction import Friction

LIMITS = ("torque", "speed", "current")


@dataclass(frozen=True)
class Actuator:
    """An ideal actuator unless told otherwise; None: no limit is known."""

    gear: float = 1.0  # turns of the motor a turn of the joint, or rad a metre
    rotor_inertia: float = 0.0  # kg m², at the motor
    friction: Friction = Friction()  # at the joint  # noqa: RUF009 - frozen
    offset: float = 0.0  # N m or N at the joint: what must be asked for to get nothing, the amplifier's zero
    torque: float | None = None  # N m or N, at the joint
    speed: float | None = None  # rad/s or m/s, of the joint
    current: float | None = None  # A
    torque_constant: float | None = None  # N m/A, of the motor
    stiffness: float = 0.0  # N m/rad or N/m, of a spring at the joint
    rest: float = 0.0  # rad or m: the position of the joint at which its spring is slack

    @property
    def reflected_inertia(self) -> float:
        """The rotor's inertia as the joint feels it."""
        return self.gear * self.gear * self.rotor_inertia

    @property
    def torque_limit(self) -> float:
        """What it gives at most, at the joint: its torque, or what its current makes; infinite if neither is known."""
        by_current = math.inf
        if self.current is not None and self.torque_constant is not None:
            by_current = self.current * self.torque_constant * abs(self.gear)
        return min(math.inf if self.torque is None else self.torque, by_current)

    def flaw(self) -> str:
        """What no actuator can be of this one, as the end of a sentence; empty if all is well."""
        if not isinstance(self.friction, Friction):
            return f"has the friction {self.friction!r}, which is no Friction"
        for what, value in (*vars(self).items(), *vars(self.friction).items()):
            if what != "friction" and value is not None and not is_number(value):
                return f"has {what.replace('_', ' ')} {value!r}, which is not a number"
        if not (math.isfinite(self.gear) and self.gear != 0.0):
            return f"has gear ratio {self.gear:g}"
        if not (math.isfinite(self.rotor_inertia) and self.rotor_inertia >= 0.0):
            return f"has rotor inertia {self.rotor_inertia:g} kg m², which is not a number from 0"
        if not math.isfinite(self.offset):
            return f"has offset {self.offset:g}"
        if not (math.isfinite(self.stiffness) and self.stiffness >= 0.0):
            return f"has stiffness {self.stiffness:g}, which is not a number from 0"
        if not math.isfinite(self.rest):
            return f"has its spring at rest at {self.rest:g}"
        for what in (*LIMITS, "torque_constant"):
            value = getattr(self, what)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                return f"has {what.replace('_', ' ')} {value:g}, which is not a number from 0; None: not known"
        return self.friction.flaw()


IDEAL = Actuator()


def actuator_flaw(given: object) -> str:
    """The flaw of an actuator, or of what was given in place of one."""
    return given.flaw() if isinstance(given, Actuator) else f"has the actuator {given!r}, which is no Actuator"
