"""Actuators as flat tables of numbers, as in files; the keys of the friction are among the others.

    actuator = { gear = 62.6, rotor_inertia = 2e-4, viscous = 5.8, coulomb = 26.0, torque = 97.6 }

Friction, offset, torque, speed, no-load speed and springs refer to the joint; rotor inertia, current and torque
constant refer to the motor. Keys that are not given have the values of an ideal actuator. The keys of the spring of an
elastic joint have the prefix "elastic_"; in TOML they are a table: elastic = { stiffness = 4e4, damping = 15 }.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from appell.describe.values import number, shortened
from appell.errors import DescriptionError
from appell.model.actuator import IDEAL, Actuator, Elasticity, Friction

FRICTION_KEYS = tuple(field.name for field in fields(Friction))
SPRING_KEYS = tuple(field.name for field in fields(Elasticity))
ELASTIC_KEYS = {f"elastic_{key}": key for key in SPRING_KEYS}
FLAT_KEYS = (
    *("gear", "rotor_inertia", *FRICTION_KEYS, "offset"),
    *("torque", "speed", "current", "torque_constant", "no_load_speed", "stiffness", "rest"),
)
KEYS = (*FLAT_KEYS, *ELASTIC_KEYS)


def actuator_from_table(table: Mapping[str, object], owner: str, where: str = "") -> Actuator:
    """Return the actuator of a table; `owner` ("joint 'elbow'") and `where` (file and line) are for messages."""
    given = {key: number(value, f"{key} of the actuator of {owner}", where) for key, value in table.items()}
    friction = Friction(**{key: given.pop(key) for key in FRICTION_KEYS if key in given})
    spring = {name: given.pop(key) for key, name in ELASTIC_KEYS.items() if key in given}
    if spring and "stiffness" not in spring:
        problem = f"the elasticity of {owner} has {', '.join(spring)}, but no stiffness."
        raise DescriptionError(problem, expected="its stiffness, N m/rad or N/m", source=where)
    return Actuator(friction=friction, elasticity=Elasticity(**spring) if spring else None, **given)


def actuator_to_table(actuator: Actuator) -> dict[str, float | None]:
    """Return all entries of an actuator; None if a value is unknown."""
    entries = {key: getattr(actuator.friction if key in FRICTION_KEYS else actuator, key) for key in FLAT_KEYS}
    return entries | {key: getattr(actuator.elasticity, name, None) for key, name in ELASTIC_KEYS.items()}


def non_default_entries(actuator: Actuator) -> dict[str, float]:
    """Return the entries in which an actuator differs from an ideal one."""
    ideal = actuator_to_table(IDEAL)
    entries = {key: x for key, x in actuator_to_table(actuator).items() if x is not None and x != ideal[key]}
    return {key: x for key, x in entries.items() if x or key not in ELASTIC_KEYS}


def checked_actuator(actuator: object, owner: str, where: str = "") -> Actuator:
    """Return the actuator after checking that its entries are finite numbers."""
    if not isinstance(actuator, Actuator) or not isinstance(actuator.friction, Friction):
        expected = "an Actuator, such as Actuator(gear=100, friction=Friction(viscous=0.1))"
        raise DescriptionError(f"the actuator of {owner} is {shortened(actuator)}.", expected=expected, source=where)
    return actuator_from_table(
        {key: x for key, x in actuator_to_table(actuator).items() if x is not None}, owner, where
    )
