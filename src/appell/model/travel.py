"""How a mechanism of the zoo is pickled.

Its poses are functions that know their leg, and such functions cannot be pickled. What made them can: the maker by its
name, and the numbers it was given. Bodies, actuators and whatever else was changed since travel beside the recipe. A
mechanism whose poses are no longer those of its recipe does not travel this way; that is seen by making it anew.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.mechanism_parts import Recipe

if TYPE_CHECKING:
    from appell.model.mechanism import Mechanism

MADE = ("parts", "driven", "passive", "reaches", "design", "recipe")  # fields that hold functions, or that follow


def travelling(mechanism: Mechanism) -> tuple | None:
    """What pickle makes it of; None if no recipe tells all of it."""
    recipe = mechanism.recipe
    if recipe is None or recipe.make is None:
        return None
    plain = {field.name: getattr(mechanism, field.name) for field in fields(mechanism) if field.name not in MADE}
    bodies, drives = [part.body for part in mechanism.parts], [joint.actuator for joint in mechanism.driven]
    given = (recipe, plain, bodies, drives)
    return (remade, given) if _places(remade(*given)) == _places(mechanism) else None


def remade(recipe: Recipe, plain: dict[str, Any], bodies: list[Body], drives: list[Actuator]) -> Mechanism:
    """The mechanism of a recipe with what was changed since."""
    assert recipe.make is not None
    fresh = recipe.make(**recipe.options, physical=plain["physical"])
    if (len(fresh.parts), len(fresh.driven)) != (len(bodies), len(drives)):
        return fresh
    parts = tuple(replace(part, body=body) for part, body in zip(fresh.parts, bodies, strict=True))
    driven = tuple(replace(joint, actuator=own) for joint, own in zip(fresh.driven, drives, strict=True))
    return replace(fresh, parts=parts, driven=driven, **plain)


def _places(mechanism: Mechanism) -> tuple:
    """Everything that its functions say at home and beside it."""
    home = list(mechanism.home)
    tried = [home, [x + 1e-3 * k for k, x in enumerate(home, start=1)]]
    joints = (*mechanism.driven, *mechanism.passive)
    return (
        mechanism.actuator_names,
        [(part.name, part.pose(q), part.base) for q in tried for part in mechanism.parts],
        [(joint.name, joint.unit, joint.position(q)) for q in tried for joint in joints],
        [reach.values(q) for q in tried for reach in mechanism.reaches],
    )
