"""The planar 3-RRR robot: a platform in the plane, held at three points by legs with two links and fixed motors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, cos, sin
from appell.algebra.vector import Vec3
from appell.describe.legs import Angle, check_branches, check_positive, disc
from appell.describe.planar_leg import Links, PlanarLeg, on_circle, plane_points, rotated
from appell.describe.zoo.recipe import maker
from appell.model.body import Body
from appell.model.mechanism import Mechanism, MovingBody

ANGLES = tuple(math.radians(angle) for angle in (-150.0, -30.0, 90.0))
LINKS = Links(first=0.3, second=0.3, first_mass=0.6, second_mass=0.4)


@maker("three-rrr")
def three_rrr(
    base_radius: float = 0.5,
    platform_radius: float = 0.1,
    links: Sequence[Links] = (LINKS, LINKS, LINKS),
    branches: Sequence[int] = (1, 1, 1),
    *,
    motors: Sequence[Sequence[float]] | None = None,
    pins: Sequence[Sequence[float]] | None = None,
    platform: Body | None = None,
    base_angles: Sequence[float] = ANGLES,
    platform_angles: Sequence[float] = ANGLES,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    physical: bool = True,
) -> Mechanism:
    """Return a 3-RRR robot with the coordinates q = (x, y, angle) of the platform.

    Parameters
    ----------
    base_radius, platform_radius : radii of the circles of motors and pins, m
    links : lengths and masses of the links of each leg
    branches : +1 or -1 per leg, the side of the elbow
    motors, pins : three points (x, y) each, m, on the ground and on the platform, instead of circles
    platform : body of the platform; a disc of 1 kg by default
    base_angles, platform_angles : directions of the motors and pins on their circles, rad
    gravity : m/s²
    physical : whether bodies that cannot exist are rejected
    """
    signs = check_branches(branches, 3, "a 3-RRR")
    check_positive("a 3-RRR", base_radius=base_radius, platform_radius=platform_radius)
    motors = motors or [on_circle(base_radius, angle) for angle in base_angles]
    pins = pins or [on_circle(platform_radius, angle) for angle in platform_angles]
    ground, ends = plane_points(motors, 3, "the motors of a 3-RRR"), plane_points(pins, 3, "the pins of a 3-RRR")
    legs = [
        PlanarLeg(f"leg_{k}", motor, partial(_pin, pin), each, sign)
        for k, (motor, pin, each, sign) in enumerate(zip(ground, ends, links, signs, strict=True), start=1)
    ]
    held = [leg.pin_to("platform", (*pin, 0.0)) for leg, pin in zip(legs, ends, strict=True)]
    held += [pin for leg in legs for pin in leg.pins()]
    outline = [(*pin, 0.0) for pin in (*ends, ends[0])]
    moving = MovingBody("platform", _platform, platform or disc(1.0, platform_radius), outline=outline)
    return Mechanism(
        "three-rrr",
        ("x", "y", "angle"),
        [*(body for leg in legs for body in leg.bodies("a 3-RRR")), moving],
        [leg.actuator for leg in legs],
        home=(0.0, 0.0, 0.0),
        units=("m", "m", "rad"),
        ranges=((-0.12, 0.12), (-0.12, 0.12), (-0.5, 0.5)),
        description="planar parallel robot: a platform held by three legs of two links",
        reference="round numbers; the geometry of Gosselin, Angeles 1988",
        passive=[leg.passive for leg in legs],
        reaches=[leg.reach for leg in legs],
        pins=held,
        gravity=Vec3.of(gravity),
        physical=physical,
        outlines=[[(*motor, 0.0) for motor in (*ground, ground[0])]],
    )


def _pin(pin: tuple[float, float], q: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    x, y = rotated(Angle(cos(q[2]), sin(q[2])), *pin)
    return q[0] + x, q[1] + y


def _platform(q: Sequence[Scalar]) -> Pose:
    return Pose(Angle(cos(q[2]), sin(q[2])).about_z, Vec3(q[0], q[1], 0.0))
