"""Actuator of a joint: gear, rotor, friction, spring and limits.

A rotor turns `gear` times faster than its joint, so its inertia counts gear² times at the joint. Its gyroscopic moments
and its share of the carrier's inertia are those of a body fixed to the carrier, and belong to that body. A spring pulls
the joint back to the position `rest` with a force of `stiffness` times the deflection. Like gravity, it always acts.

Models, plants, controllers and identification use one law of friction along a joint:

    f(v) = viscous v + F(v) s(v)             F(v) = coulomb + (static - coulomb) / (1 + (v / stribeck)²)         (1)
    s(v) = sign v,  or  v / √(v² + width²)  where the force must be continuous                                   (2)

Stribeck's curve falls from the static to the Coulomb level. It is written as a quotient instead of the usual
exponential, which costs more; both fall to half of the difference near |v| = stribeck. For a given
stribeck and width the law is linear in its levels, as identification requires:

    f = viscous · v + coulomb · (1 - k) s + static · k s      k = 1 / (1 + (v / stribeck)²)                      (3)

The torque that a motor can provide in its direction of motion falls with its speed, because its supply voltage is
limited; against its motion, when it brakes, the full torque is available. With the torque limit τ₀ and the no-load
speed w₀, an actuator that moves at speed w provides

    -τ₀ c(1 + w/w₀)  ≤  τ  ≤  τ₀ c(1 - w/w₀)             c(x) = x, limited to the interval from 0 to 1           (4)

A gear or a series elastic actuator bends: the motor is connected to the joint by a spring. The position θ of the motor,
divided by the gear ratio, is then a coordinate of its own. With the deflection ε = θ - q, the spring transmits

    f = k x + k₃ x³ + d ε̇         x = ε minus its part within ±b/2         f = 0 within the backlash b              (5)

to the joint. The motor has the inertia and the friction of the actuator; its torque acts on the motor.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from appell.algebra.scalar import Scalar, abs, clamp, is_number, select, sqrt
from appell.errors import ModelError, ModelWarning, is_finite, unknown_name, value_text


@dataclass(frozen=True)
class Friction:
    """Friction along a joint, measured on the joint side of the gear.

    Levels are in N m (N for a prismatic joint), speeds in rad/s (m/s).

    Parameters
    ----------
    viscous : float
        Force per speed, N m s/rad or N s/m.
    coulomb : float
        Level of dry friction while the joint moves.
    static : float, optional
        Level of dry friction at rest, at least `coulomb`. None: equal to `coulomb`.
    stribeck : float
        Speed near which dry friction has fallen halfway from `static` to `coulomb`.
    width : float
        Speed within which friction changes its sign smoothly. 0: it jumps at rest and can hold the joint.

    Examples
    --------
    >>> import appell as ap
    >>> friction = ap.Friction(viscous=0.2, coulomb=1.5, static=2.0)
    >>> round(friction.force(3.0), 4)
    2.1001
    >>> friction.level(0.0)  # holds the joint at rest against up to 2 N m
    2.0
    """

    viscous: float = 0.0
    coulomb: float = 0.0
    static: float | None = None
    stribeck: float = 0.05
    width: float = 0.0

    @property
    def dry(self) -> bool:
        """Whether friction jumps at zero speed, so that it can hold a joint at rest."""
        return self.width == 0.0 and max(self.coulomb, self.static or 0.0) > 0.0

    def force(self, v: Scalar, s: Scalar | None = None) -> Scalar:
        """Friction force f(v) of (1). Pass the direction `s` where it does not follow from `v`."""
        columns = self.columns(v, s)
        return sum((getattr(self, kind) * column for kind, column in columns.items()), start=0.0)

    def columns(self, v: Scalar, s: Scalar | None = None) -> dict[str, Scalar]:
        """Factors of the levels in (3), by the name of the level."""
        s = direction(v, self.width) if s is None else s
        if self.static is None:
            return {"coulomb": s, "viscous": v}
        k = self._stribeck(v)
        return {"coulomb": (1.0 - k) * s, "static": k * s, "viscous": v}

    def level(self, v: Scalar) -> Scalar:
        """Level F(v) of dry friction; at rest it holds the joint against any smaller force."""
        if self.static is None or self.static == self.coulomb:
            return self.coulomb
        return self.coulomb + (self.static - self.coulomb) * self._stribeck(v)

    def _stribeck(self, v: Scalar) -> Scalar:
        return 1.0 / (1.0 + (v / self.stribeck) * (v / self.stribeck))

    def flaw(self) -> str:
        """Return what makes this friction impossible, as the end of a sentence; empty if it is valid."""
        for kind in ("viscous", "coulomb", "static", "width"):
            value = getattr(self, kind)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                return f"has {kind} friction {value:g}, which is negative or not finite"
        if self.static is not None and self.static < self.coulomb:
            return f"has static friction {self.static:g} below its Coulomb friction {self.coulomb:g}"
        if not (math.isfinite(self.stribeck) and self.stribeck > 0.0):
            return f"has Stribeck velocity {self.stribeck:g}, which is not positive"
        return ""


def direction(v: Scalar, width: float = 0.0) -> Scalar:
    """Direction s(v) of friction, equation (2)."""
    if width:
        return v / sqrt(v * v + width * width)
    return select(v, 1.0, select(-v, -1.0, 0.0))


@dataclass(frozen=True)
class Elasticity:
    """Spring between the motor and the joint, on the joint side of the gear: equation (5).

    Parameters
    ----------
    stiffness : float
        k, N m/rad or N/m.
    damping : float
        d, N m s/rad or N s/m.
    hardening : float
        k₃, the cubic part of the stiffness, N m/rad³ or N/m³.
    backlash : float
        Play of the gear, rad or m: the width of the interval of deflections without force.

    Examples
    --------
    >>> import appell as ap
    >>> spring = ap.Elasticity(4e4, damping=15.0)
    >>> spring.force(1e-3, 0.0)
    40.0
    >>> arm = ap.load("puma").with_elastic_joints({"joint2": spring})
    >>> arm.nq, arm.coordinate_names[-1], arm.nu
    (7, 'joint2_motor', 6)
    """

    stiffness: float
    damping: float = 0.0
    hardening: float = 0.0
    backlash: float = 0.0

    def force(self, deflection: Scalar, rate: Scalar) -> Scalar:
        """Force on the joint, equation (5), N m or N."""
        columns = self.columns(deflection, rate)
        return sum((getattr(self, kind) * column for kind, column in columns.items()), start=0.0)

    def columns(self, deflection: Scalar, rate: Scalar) -> dict[str, Scalar]:
        """Factors of the parameters in (5), by name; hardening and damping only where they are not zero."""
        x = self.stretch(deflection)
        columns = {"stiffness": x}
        if self.damping:
            touching = abs(deflection) - 0.5 * self.backlash
            columns["damping"] = select(touching, rate, 0.0) if self.backlash else rate
        if self.hardening:
            columns["hardening"] = x * x * x
        return columns

    def stretch(self, deflection: Scalar) -> Scalar:
        """x of (5): the deflection beyond the backlash."""
        half = 0.5 * self.backlash
        return deflection - clamp(deflection, -half, half) if self.backlash else deflection

    def energy(self, deflection: Scalar) -> Scalar:
        """Potential energy of the spring, J."""
        square = self.stretch(deflection) * self.stretch(deflection)
        return (
            0.5 * self.stiffness + 0.25 * self.hardening * square if self.hardening else 0.5 * self.stiffness
        ) * square

    def flaw(self) -> str:
        """Return what makes this spring impossible, as the end of a sentence; empty if it is valid."""
        for field, value in vars(self).items():
            if not is_number(value) or not is_finite(value):
                return f"has elastic {field} {value_text(value)}, which is not a finite number"
            if value < 0.0 or (field == "stiffness" and value == 0.0):
                sign = "not positive" if field == "stiffness" else "negative"
                return f"has elastic {field} {value:g}, which is {sign}"
        return ""


LIMITS = ("torque", "speed", "current", "no_load_speed")  # fields of an Actuator that limit it


@dataclass(frozen=True)
class Actuator:
    """Actuator of a joint. With the default values it is ideal: no inertia, friction, spring or limits.

    Forces are in N m (N at a prismatic joint), speeds in rad/s (m/s). A limit of None means that none is known.

    Parameters
    ----------
    gear : float
        Motor revolutions per revolution of the joint, or rad per m at a prismatic joint.
    rotor_inertia : float
        Inertia of the rotor about its axis, kg m², on the motor side.
    friction : Friction
        Friction at the joint.
    offset : float
        Force that must be commanded for zero force at the joint: the zero error of the amplifier.
    torque : float, optional
        Largest force at the joint.
    speed : float, optional
        Largest speed of the joint.
    current : float, optional
        Largest current of the motor, A.
    torque_constant : float, optional
        Torque of the motor per current, N m/A.
    no_load_speed : float, optional
        Speed of the joint at which the largest force in the direction of motion has fallen to zero; it falls linearly
        from the torque limit at rest, (4). None: the torque limit does not depend on the speed.
    stiffness : float
        Stiffness of a spring at the joint, N m/rad or N/m.
    rest : float
        Position of the joint, rad or m, at which its spring is relaxed.
    elasticity : Elasticity, optional
        Spring between the motor and the joint. The position of the motor is then a coordinate, and the rotor inertia
        and the friction act on the motor.

    Examples
    --------
    >>> import appell as ap
    >>> motor = ap.Actuator(gear=100.0, rotor_inertia=2e-4, current=3.0, torque_constant=0.05)
    >>> motor.reflected_inertia
    2.0
    >>> round(motor.torque_limit, 6)
    15.0
    >>> robot = ap.load("puma").with_actuators({"joint1": motor})
    >>> robot.actuators[0].gear
    100.0
    >>> robot = robot.with_actuators({"joint1": {"gear": 50.0}})  # keeps the other fields
    >>> robot.actuators[0].current
    3.0
    """

    gear: float = 1.0
    rotor_inertia: float = 0.0
    friction: Friction = Friction()
    offset: float = 0.0
    torque: float | None = None
    speed: float | None = None
    current: float | None = None
    torque_constant: float | None = None
    stiffness: float = 0.0
    rest: float = 0.0
    no_load_speed: float | None = None
    elasticity: Elasticity | None = None

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor reflected to the joint, gear² times its own: kg m², or kg at a prismatic joint."""
        return self.gear * self.gear * self.rotor_inertia

    @property
    def torque_limit(self) -> float:
        """Largest force at the joint, limited by `torque` and by `current`; infinite if neither is known."""
        by_current = math.inf
        if self.current is not None and self.torque_constant is not None:
            by_current = self.current * self.torque_constant * abs(self.gear)
        return min(math.inf if self.torque is None else self.torque, by_current)

    def limited(self, force: Scalar, rate: Scalar, limit: float) -> Scalar:
        """Return a force limited by (4).

        Parameters
        ----------
        force : number or traced scalar
        rate : number or traced scalar
            Speed of the joint, rad/s or m/s.
        limit : float
            Torque limit at rest, N m or N; infinite for none.
        """
        if not math.isfinite(limit):
            return force
        if self.no_load_speed is None:
            return clamp(force, -limit, limit)
        share = rate / self.no_load_speed
        return clamp(force, -limit * clamp(1.0 + share, 0.0, 1.0), limit * clamp(1.0 - share, 0.0, 1.0))

    def flaw(self) -> str:
        """Return what makes this actuator impossible, as the end of a sentence; empty if it is valid."""
        if not isinstance(self.friction, Friction):
            return f"has friction {self.friction!r}, which is not a Friction"
        for field, value in (*vars(self).items(), *vars(self.friction).items()):
            if field not in ("friction", "elasticity") and value is not None and not is_number(value):
                return f"has {field.replace('_', ' ')} {value!r}, which is not a number"
            if isinstance(value, int) and not is_finite(value):
                return f"has {field.replace('_', ' ')} {value_text(value)}"
        if not (math.isfinite(self.gear) and self.gear != 0.0):
            return f"has gear ratio {self.gear:g}, which is zero or not finite"
        if not (math.isfinite(self.rotor_inertia) and self.rotor_inertia >= 0.0):
            return f"has rotor inertia {self.rotor_inertia:g} kg m², which is negative or not finite"
        if not math.isfinite(self.offset):
            return f"has offset {self.offset:g}, which is not finite"
        if not (math.isfinite(self.stiffness) and self.stiffness >= 0.0):
            return f"has stiffness {self.stiffness:g}, which is negative or not finite"
        if not math.isfinite(self.rest):
            return f"has rest position {self.rest:g} of its spring, which is not finite"
        for limit in (*LIMITS, "torque_constant"):
            value = getattr(self, limit)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                return f"has {limit.replace('_', ' ')} {value:g}, which is negative or not finite (None means unknown)"
        if self.no_load_speed == 0.0:
            return "has no-load speed 0, at which it has no torque at all"
        if self.no_load_speed is not None and self.torque_limit == math.inf:
            return (
                f"has no-load speed {self.no_load_speed:g}, but no torque limit that could fall with its speed "
                "(give torque, or current and torque constant)"
            )
        return self.friction.flaw() or self._elastic_flaw()

    def _elastic_flaw(self) -> str:
        if self.elasticity is None:
            return ""
        if not isinstance(self.elasticity, Elasticity):
            return f"has elasticity {self.elasticity!r}, which is not an Elasticity"
        if flaw := self.elasticity.flaw():
            return flaw
        if self.stiffness:
            return (
                f"has a spring to the link (stiffness {self.stiffness:g}) and one to the motor (elastic stiffness "
                f"{self.elasticity.stiffness:g}), which are two different springs in one joint"
            )
        if not self.rotor_inertia:
            return "is elastic, but its motor has no rotor inertia (give gear and rotor_inertia)"
        return ""


IDEAL = Actuator()


def is_elastic(actuator: object) -> bool:
    """Whether an actuator moves its joint through a spring; False for objects that are not actuators."""
    return getattr(actuator, "elasticity", None) is not None


# joint -> its new actuator, or the fields that change; or a function of a joint's name and its present actuator
ActuatorChanges = Mapping[str, Actuator | Mapping[str, Any]] | Callable[[str, Actuator], Actuator]


def actuator_flaw(actuator: object) -> str:
    """Return the flaw of an actuator, or say that the object is not an actuator; empty if it is valid."""
    return actuator.flaw() if isinstance(actuator, Actuator) else f"has actuator {actuator!r}, which is not an Actuator"


def changed_actuators(present: Mapping[str, Actuator], changes: ActuatorChanges, owner: str) -> dict[str, Actuator]:
    """Return the actuators after `changes`, by joint.

    Parameters
    ----------
    present : mapping of str to Actuator
        The actuators of all joints before the change.
    changes : mapping or callable
        See `System.with_actuators`; its names must be known.
    owner : str
        Name of the system, for messages.

    Raises
    ------
    ModelError
        If an actuator does not have a field that is to change.

    Warns
    -----
    ModelWarning
        If a mapping replaces an actuator with limits by one without any limit.
    """
    if callable(changes):
        return {name: changes(name, old) for name, old in present.items()}
    actuators, lost = dict(present), []
    for name, change in changes.items():
        old = present[name]
        if not isinstance(change, Mapping):
            actuators[name] = change
            if isinstance(change, Actuator) and not _limits(change) and (limits := _limits(old)):
                lost.append(f"'{name}' ({', '.join(f'{limit} {value:g}' for limit, value in limits.items())})")
            continue
        for field in change:
            if field not in vars(old):
                raise ModelError(unknown_name("field", str(field), vars(old), f"actuator '{name}' of {owner}"))
        actuators[name] = replace(old, **change)
    if lost:
        warnings.warn(
            f"with_actuators removes the limits of {owner}: {', '.join(lost)}. The new actuators have no limits. Pass "
            "{joint: {field: value}} to change single fields, or a function to replace actuators without this warning.",
            ModelWarning,
            stacklevel=3,
        )
    return actuators


def elastic_changes(
    springs: Mapping[str, Elasticity | Mapping[str, float] | None], owner: str
) -> dict[str, dict[str, Elasticity | None]]:
    """Return the changes of actuators that `with_elastic_joints` makes; springs may be given by their parameters."""
    changes: dict[str, dict[str, Elasticity | None]] = {}
    for name, spring in springs.items():
        if isinstance(spring, Mapping):
            known = Elasticity.__dataclass_fields__
            for key in spring:
                if key == "hysteresis":
                    raise ModelError(
                        f"joint '{name}' of {owner} has an elasticity with hysteresis, which is not supported.",
                        expected=f"{', '.join(known)}",
                        hint="Describe the losses of the spring by its damping.",
                    )
                if key not in known:
                    raise ModelError(unknown_name("parameter", str(key), known, f"the elasticity of joint '{name}'"))
            if "stiffness" not in spring:
                raise ModelError(f"the elasticity of joint '{name}' of {owner} has no stiffness.", expected="a number")
            spring = Elasticity(**spring)
        changes[name] = {"elasticity": spring}
    return changes


def _limits(actuator: Actuator) -> dict[str, float]:
    """Return the known limits of an actuator by name."""
    return {name: value for name in LIMITS if (value := getattr(actuator, name)) is not None}
