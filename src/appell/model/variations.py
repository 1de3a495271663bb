"""Systems like a given one: heavier, with friction that sticks or with none."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from appell.model.actuator import Friction
from appell.model.body import Body
from appell.model.system import System

S = TypeVar("S", bound=System)


def with_masses(system: S, factor: float) -> S:
    """With every mass and inertia multiplied: a model that is wrong by a known amount."""
    return system.with_bodies(
        {
            name: Body(factor * body.mass, body.com, factor * body.inertia)
            for name, body in system.bodies.items()
            if body is not None
        }
    )


def without_friction(system: S) -> S:
    return system.with_actuators(lambda name, own: replace(own, friction=Friction()))


def with_stiction(system: S, factor: float) -> S:
    """With static friction `factor` times Coulomb's, where a description has none."""

    def sticking(own: Friction) -> Friction:
        return own if own.static is not None else replace(own, static=factor * own.coulomb)

    return system.with_actuators(lambda name, own: replace(own, friction=sticking(own.friction)))
