"""The planar five-bar: two legs with two links each that share one pin; two motors move a point in the plane."""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.vector import Vec3
from appell.describe.legs import check_branches, check_positive
from appell.describe.planar_leg import Links, PlanarLeg, plane_points
from appell.describe.zoo.recipe import maker
from appell.model.mechanism import Mechanism

LINKS = Links(first=0.25, second=0.4, first_mass=0.5, second_mass=0.4)


@maker("five-bar")
def five_bar(
    base: float = 0.3,
    links: Sequence[Links] = (LINKS, LINKS),
    branches: Sequence[int] = (1, -1),
    *,
    motors: Sequence[Sequence[float]] | None = None,
    gravity: Sequence[float] = (0.0, -9.81, 0.0),
    physical: bool = True,
) -> Mechanism:
    """Return a five-bar with its pin at q = (x, y), in a vertical plane.

    Parameters
    ----------
    base : distance of the motors, at (∓base/2, 0), m
    links : lengths and masses of the links of each leg
    branches : +1 or -1 per leg; by default both elbows point outward
    motors : two points (x, y) for the motors, m, instead of `base`
    gravity : m/s²
    physical : whether bodies that cannot exist are rejected
    """
    signs = check_branches(branches, 2, "a five-bar")
    check_positive("a five-bar", base=base)
    motor_points = plane_points(motors or ((-base / 2, 0.0), (base / 2, 0.0)), 2, "the motors of a five-bar")
    left, right = (
        PlanarLeg(name, motor, lambda q: (q[0], q[1]), leg_links, branch)
        for name, motor, leg_links, branch in zip(("left", "right"), motor_points, links, signs, strict=True)
    )
    x, y = ((a + b) / 2 for a, b in zip(*motor_points, strict=True))
    legs = (left, right)
    height = 0.75 * min(each.first + each.second for each in links)
    return Mechanism(
        "five-bar",
        ("x", "y"),
        [body for leg in legs for body in leg.bodies("a five-bar")],
        [leg.actuator for leg in legs],
        home=(x, y + height),
        units=("m", "m"),
        ranges=((x - 0.1, x + 0.1), (y + height - 0.1, y + height + 0.08)),
        description="planar five-bar: two legs of two links that hold one pin",
        reference="round numbers",
        passive=[leg.passive for leg in legs],
        reaches=[leg.reach for leg in legs],
        pins=[*left.pins(), *right.pins(), left.pin_to("second_link_right", (links[1].second, 0.0, 0.0))],
        gravity=Vec3.of(gravity),
        physical=physical,
        outlines=[[(*left.motor, 0.0), (*right.motor, 0.0)]],
    )
