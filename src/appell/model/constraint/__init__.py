"""Constraints on a tree of links: closures of loops, couplings, rolling; one family a file."""

from appell.model.constraint.closures import (
    Closure,
    Cylindrical,
    Distance,
    Flat,
    Hinge,
    OnLine,
    OnPlane,
    Orientation,
    Point,
    Slider,
    Universal,
    Weld,
)
from appell.model.constraint.constraint import Constraint
from appell.model.constraint.gear import Gear
from appell.model.constraint.prescribed import Prescribed
from appell.model.constraint.rolling import Rolling, Skate
from appell.model.constraint.validate import check_constraints
from appell.model.constraint.velocities import Velocities

__all__ = [
    "Closure",
    "Constraint",
    "Cylindrical",
    "Distance",
    "Flat",
    "Gear",
    "Hinge",
    "OnLine",
    "OnPlane",
    "Orientation",
    "Point",
    "Prescribed",
    "Rolling",
    "Skate",
    "Slider",
    "Universal",
    "Velocities",
    "Weld",
    "check_constraints",
]
