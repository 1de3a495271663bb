"""Parallel robots in closed form: explicit M, C, G in independent coordinates, no constraint forces.

wrist = ap.parallel.agile_wrist()
tau = wrist.inverse_dynamics(q, v, a)
"""

from collections.abc import Callable

from appell.parallel.agile_wrist import agile_wrist
from appell.parallel.assembly import LegJoint, MovingBody, Reach
from appell.parallel.delta import delta
from appell.parallel.five_bar import five_bar
from appell.parallel.legs import Angle, closing_angle, cylinder, disc, rotation_zyx
from appell.parallel.mechanism import Mechanism
from appell.parallel.planar import Links
from appell.parallel.stewart_gough import stewart_gough
from appell.parallel.three_rrr import three_rrr

READY_MADE: dict[str, Callable[..., Mechanism]] = {
    "agile-wrist": agile_wrist,
    "five-bar": five_bar,
    "3-rrr": three_rrr,
    "delta": delta,
    "stewart-gough": stewart_gough,
}

__all__ = [
    "READY_MADE",
    "Angle",
    "LegJoint",
    "Links",
    "Mechanism",
    "MovingBody",
    "Reach",
    "agile_wrist",
    "closing_angle",
    "cylinder",
    "delta",
    "disc",
    "five_bar",
    "rotation_zyx",
    "stewart_gough",
    "three_rrr",
]
