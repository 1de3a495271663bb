"""An actuator as the flat table that files hold: one number a key, its friction among the rest.

    actuator = { gear = 62.6, rotor_inertia = 2e-4, viscous = 5.8, coulomb = 26.0, torque = 97.6 }

Friction, offset, torque, speed and spring are those of the joint; rotor inertia, current and torque constant of the
motor. What a table does not name is as in an ideal actuator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from appell.describe.values import number, shortened
from appell.errors import DescriptionError
from appell.model.actuator import IDEAL, Actuator, Friction

FRICTION = tuple(field.name for field in fields(Friction))
KEYS = (
    *("gear", "rotor_inertia", *FRICTION, "offset"),
    *("torque", "speed", "current", "torque_constant", "stiffness", "rest"),
)


def actuator_of(table: Mapping[str, object], who: str, where: str = "") -> Actuator:
    """The actuator of a table."""
    given = {key: number(value, f"{key} of the actuator of {who}", where) for key, value in table.items()}
    friction = Friction(**{key: given.pop(key) for key in FRICTION if key in given})
    return Actuator(friction=friction, **given)


def table_of(actuator: Actuator) -> dict[str, float | None]:
    """All that an actuator says; None: not known."""
    return {key: getattr(actuator.friction if key in FRICTION else actuator, key) for key in KEYS}


def notable(actuator: Actuator) -> dict[str, float]:
    """What tells an actuator from an ideal one."""
    ideal = table_of(IDEAL)
    return {key: x for key, x in table_of(actuator).items() if x is not None and x != ideal[key]}


def checked(actuator: object, who: str, where: str = "") -> Actuator:
    """An actuator whose entries are numbers."""
    if not isinstance(actuator, Actuator) or not isinstance(actuator.friction, Friction):
        expected = "an Actuator, such as Actuator(gear=100, friction=Friction(viscous=0.1))"
        raise DescriptionError(f"the actuator of {who} is {shortened(actuator)}.", expected=expected, source=where)
    return actuator_of({key: x for key, x in table_of(actuator).items() if x is not None}, who, where)
