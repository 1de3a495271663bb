"""What drives a joint: gear, rotor, friction, a spring, and how much it can give.

A rotor turns `gear` times faster than its joint, so the joint feels gear² times its inertia. Its gyroscopic moments and
its share of the carrier's inertia are those of a body fixed to the carrier, and belong there. A spring pulls the joint
back to `rest` with `stiffness` times what it is away from there; like gravity it acts whether asked for or not.

Friction along a joint has one law for models, plants, controllers and identification.

    f(v) = viscous v + F(v) s(v)             F(v) = coulomb + (static - coulomb) / (1 + (v / stribeck)²)         (1)
    s(v) = sign v,  or  v / √(v² + width²)  where it must not jump                                               (2)

Stribeck's curve falls from the static to the Coulomb level. It is written as a quotient, not as the usual exponential,
as a tape has no exponential: both fall to half of the difference near |v| = stribeck. For a given stribeck and width
the law is linear in its levels, which is what identification needs:

    f = viscous · v + coulomb · (1 - k) s + static · k s      k = 1 / (1 + (v / stribeck)²)                      (3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, is_number, select, sqrt


@dataclass(frozen=True)
class Friction:
    """Levels at the joint's side of the gear: N m s/rad and N m, or N s/m and N; speeds in rad/s or m/s."""

    viscous: float = 0.0
    coulomb: float = 0.0
    static: float | None = None  # at rest; None: as when moving
    stribeck: float = 0.05
    width: float = 0.0  # the speed within which friction changes sign smoothly; 0: at once

    @property
    def dry(self) -> bool:
        """Whether it jumps at rest, so that it can hold a joint still."""
        return self.width == 0.0 and max(self.coulomb, self.static or 0.0) > 0.0

    def force(self, v: Scalar, s: Scalar | None = None) -> Scalar:
        """f(v), what a motion must overcome; with the direction s given, where it is not to be read off v."""
        columns = self.columns(v, s)
        return sum((getattr(self, kind) * column for kind, column in columns.items()), start=0.0)

    def columns(self, v: Scalar, s: Scalar | None = None) -> dict[str, Scalar]:
        """The factors of the levels in (3), by name."""
        s = direction(v, self.width) if s is None else s
        if self.static is None:
            return {"coulomb": s, "viscous": v}
        k = self._stribeck(v)
        return {"coulomb": (1.0 - k) * s, "static": k * s, "viscous": v}

    def level(self, v: Scalar) -> Scalar:
        """F(v), the bound of dry friction: up to it a joint is held at rest."""
        if self.static is None or self.static == self.coulomb:
            return self.coulomb
        return self.coulomb + (self.static - self.coulomb) * self._stribeck(v)

    def _stribeck(self, v: Scalar) -> Scalar:
        return 1.0 / (1.0 + (v / self.stribeck) * (v / self.stribeck))

    def flaw(self) -> str:
        """What no friction can be of this one, as the end of a sentence; empty if all is well."""
        for kind in ("viscous", "coulomb", "static", "width"):
            value = getattr(self, kind)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                return f"has {kind} friction {value:g}, which is not a number from 0"
        if self.static is not None and self.static < self.coulomb:
            return f"has static friction {self.static:g} below its Coulomb friction {self.coulomb:g}"
        if not (math.isfinite(self.stribeck) and self.stribeck > 0.0):
            return f"has Stribeck velocity {self.stribeck:g}, which is not positive"
        return ""


def direction(v: Scalar, width: float = 0.0) -> Scalar:
    """s(v) of (2)."""
    if width:
        return v / sqrt(v * v + width * width)
    return select(v, 1.0, select(-v, -1.0, 0.0))


LIMITS = ("torque", "speed", "current")


@dataclass(frozen=True)
class Actuator:
    """An ideal actuator unless told otherwise; None: no limit is known."""

    gear: float = 1.0  # turns of the motor a turn of the joint, or rad a metre
    rotor_inertia: float = 0.0  # kg m², at the motor
    friction: Friction = Friction()  # at the joint
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
