"""Copies of a system with scaled masses, without friction, or with static friction."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from appell.model.actuator import Friction
from appell.model.body import Body
from appell.model.system import System

S = TypeVar("S", bound=System)


def with_masses(system: S, factor: float) -> S:
    """Return a copy with every mass and inertia multiplied by `factor`: a model with a known error."""
    return system.with_bodies(
        {
            name: Body(factor * body.mass, body.com, factor * body.inertia)
            for name, body in system.bodies.items()
            if body is not None
        }
    )


def without_friction(system: S) -> S:
    """Return a copy whose actuators have no friction."""
    return system.with_actuators(lambda name, actuator: replace(actuator, friction=Friction()))


def with_stiction(system: S, factor: float) -> S:
    """Return a copy with static friction of `factor` times the Coulomb friction where the description has none."""

    def sticking(friction: Friction) -> Friction:
        return friction if friction.static is not None else replace(friction, static=factor * friction.coulomb)

    return system.with_actuators(lambda name, actuator: replace(actuator, friction=sticking(actuator.friction)))
