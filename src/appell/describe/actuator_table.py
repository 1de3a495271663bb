"""Actuators as flat tables of numbers, as in files; the keys of the friction are among the others.

    actuator = { gear = 62.6, rotor_inertia = 2e-4, viscous = 5.8, coulomb = 26.0, torque = 97.6 }

Friction, offset, torque, speed, no-load speed and spring refer to the joint; rotor inertia, current and torque constant
refer to the motor. Keys that are not given have the values of an ideal actuator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from appell.describe.values import number, shortened
from appell.errors import DescriptionError
from appell.model.actuator import IDEAL, Actuator, Friction

FRICTION_KEYS = tuple(field.name for field in fields(Friction))
KEYS = (
    *("gear", "rotor_inertia", *FRICTION_KEYS, "offset"),
    *("torque", "speed", "current", "torque_constant", "no_load_speed", "stiffness", "rest"),
)


def actuator_from_table(table: Mapping[str, object], owner: str, where: str = "") -> Actuator:
    """Return the actuator of a table; `owner` ("joint 'elbow'") and `where` (file and line) are for messages."""
    given = {key: number(value, f"{key} of the actuator of {owner}", where) for key, value in table.items()}
    friction = Friction(**{key: given.pop(key) for key in FRICTION_KEYS if key in given})
    return Actuator(friction=friction, **given)


def actuator_to_table(actuator: Actuator) -> dict[str, float | None]:
    """Return all entries of an actuator; None if a value is unknown."""
    return {key: getattr(actuator.friction if key in FRICTION_KEYS else actuator, key) for key in KEYS}


def non_default_entries(actuator: Actuator) -> dict[str, float]:
    """Return the entries in which an actuator differs from an ideal one."""
    ideal = actuator_to_table(IDEAL)
    return {key: x for key, x in actuator_to_table(actuator).items() if x is not None and x != ideal[key]}


def checked_actuator(actuator: object, owner: str, where: str = "") -> Actuator:
    """Return the actuator after checking that its entries are finite numbers."""
    if not isinstance(actuator, Actuator) or not isinstance(actuator.friction, Friction):
        expected = "an Actuator, such as Actuator(gear=100, friction=Friction(viscous=0.1))"
        raise DescriptionError(f"the actuator of {owner} is {shortened(actuator)}.", expected=expected, source=where)
    return actuator_from_table(
        {key: x for key, x in actuator_to_table(actuator).items() if x is not None}, owner, where
    )
