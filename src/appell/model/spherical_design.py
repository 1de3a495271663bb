"""The design of a spherical parallel robot, as Abedloo et al. 2014 describe it: legs of two arcs about a centre."""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.vector import Vec3


@dataclass(frozen=True)
class SphericalLeg:
    """P, whose z axis is the motor's; v* on the platform, in its coordinates; the angles of both arcs; the branch of θ.

    Every leg has angles of its own.
    """

    base: Mat3
    v_star: Vec3
    alpha1: float
    alpha2: float
    branch: int


@dataclass(frozen=True)
class SphericalDesign:
    """The legs; bodies of the mechanism are the first and the second arc of every leg in turn, then the platform."""

    legs: tuple[SphericalLeg, ...]
