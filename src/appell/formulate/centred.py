"""A body about its centre of mass, for the methods that are formulated there.

    c = h / m                    I_c = I_O - m (c·c 1 - c cᵀ)                                                  (1)

Base parameters can have zero mass and thus no centre of mass, so these methods use the bodies of the robot.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.matrix import IDENTITY, Mat3, outer
from appell.algebra.scalar import Scalar, is_number
from appell.algebra.vector import ZERO, Vec3
from appell.model.body import Inertia


@dataclass(frozen=True)
class Centred:
    """Mass, centre of mass from the link's origin, and rotational inertia about it, in link axes."""

    mass: Scalar
    com: Vec3
    inertia: Mat3


def centred(body: Inertia) -> Centred:
    """Convert by (1); the centre of mass of a body without mass is the origin."""
    if is_number(body.mass) and body.mass == 0.0:
        return Centred(0.0, ZERO, body.rotational)
    com = (1.0 / body.mass) * body.first
    inertia = body.rotational - (body.first.dot(com) * IDENTITY - outer(body.first, com))
    return Centred(body.mass, com, Mat3.symmetric(*inertia.upper))
