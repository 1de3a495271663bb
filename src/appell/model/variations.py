"""Systems like a given one: loaded, heavier, with friction that sticks or with none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from appell.algebra.matrix import IDENTITY
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, ModelError
from appell.model.body import Body
from appell.model.friction import Friction
from appell.model.system import System

S = TypeVar("S", bound=System)
BALL = 0.4 * 0.05**2  # m²; the inertia of a payload is that of a ball of 5 cm


def with_payload(system: S, mass: float, at: Sequence[float] = (0.0, 0.0, 0.0), frame: str | None = None) -> S:
    """With a ball of `mass` kg at a point of a frame; of the last body if None."""
    if not (math.isfinite(mass) and mass > 0.0):
        raise ArgumentError(f"the payload has a mass of {mass:g} kg.", expected="a positive number")
    place = system.frame(frame or system.body_names[-1])
    if place.body is None:
        raise ModelError(f"frame '{place.name}' of {system.owner} does not move.", expected="a frame on a body")
    ball = Body(mass, Vec3.of([float(x) for x in at]), (BALL * mass) * IDENTITY)
    own, extra = system.bodies[place.body], ball.moved(place.pose).about_origin
    return system.with_bodies({place.body: Body.from_inertia(extra if own is None else own.about_origin + extra)})


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
