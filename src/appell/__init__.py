"""appell: describe a robot, get its Gibbs-Appell equations of motion as compiled NumPy functions.

import appell as ap

dyn = ap.Dynamics(ap.load("puma"))
tau = dyn.inverse_dynamics(q, v, a)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# describe a robot
from appell.algebra.rotation import Pose
from appell.algebra.scalar import atan2, cos, select, sin, sqrt
from appell.algebra.vector import Vec3

# its equations, compiled
from appell.compile.count import OpCount
from appell.compile.function import Function
from appell.compile.tape import Array, Tape
from appell.compile.trace import trace
from appell.describe.build import Builder
from appell.describe.dh import DH, from_dh
from appell.describe.load import load, load_text, load_tree, tree_names, zoo_names
from appell.describe.write import to_toml, to_urdf
from appell.dynamics import Dynamics

# what goes wrong
from appell.errors import (
    AppellError,
    ArgumentError,
    CacheWarning,
    CompileError,
    DescriptionError,
    ModelError,
    ModelWarning,
    SimulationError,
    TraceError,
)
from appell.model.actuator import Actuator
from appell.model.body import Body, Inertia
from appell.model.frame import Frame
from appell.model.friction import Friction
from appell.model.joints import Continuous, Floating, Planar, Prismatic, Revolute, Spherical
from appell.model.mechanism import LegJoint, Mechanism, MovingBody, Reach
from appell.model.robot import Joint, Limits, Link, Mimic, Robot

# chapters that need SciPy or more are imported when they are first named: public name -> module, attribute
_LATER: dict[str, tuple[str, str | None]] = {
    "Circle": ("appell.simulation", "Circle"),
    "Contact": ("appell.simulation", "Contact"),
    "Cylinder": ("appell.simulation", "Cylinder"),
    "Implicit": ("appell.simulation", "Implicit"),
    "Path": ("appell.motion", "Path"),
    "Plane": ("appell.simulation", "Plane"),
    "Record": ("appell.motion", "Record"),
    "Sphere": ("appell.simulation", "Sphere"),
    "control": ("appell.control", None),
    "identify": ("appell.identify", None),
    "motion": ("appell.motion", None),
    "simulate": ("appell.simulation", "simulate"),
}

__version__ = "0.1.0"

__all__ = [
    "DH",
    "Actuator",
    "AppellError",
    "ArgumentError",
    "Array",
    "Body",
    "Builder",
    "CacheWarning",
    "CompileError",
    "Continuous",
    "DescriptionError",
    "Dynamics",
    "Floating",
    "Frame",
    "Friction",
    "Function",
    "Inertia",
    "Joint",
    "LegJoint",
    "Limits",
    "Link",
    "Mechanism",
    "Mimic",
    "ModelError",
    "ModelWarning",
    "MovingBody",
    "OpCount",
    "Planar",
    "Pose",
    "Prismatic",
    "Reach",
    "Revolute",
    "Robot",
    "SimulationError",
    "Spherical",
    "Tape",
    "TraceError",
    "Vec3",
    "atan2",
    "cos",
    "from_dh",
    "load",
    "load_text",
    "load_tree",
    "select",
    "sin",
    "sqrt",
    "to_toml",
    "to_urdf",
    "trace",
    "tree_names",
    "zoo_names",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'appell' has no attribute '{name}'")
    module, attribute = _LATER[name]
    found = import_module(module)
    return found if attribute is None else getattr(found, attribute)


def __dir__() -> list[str]:
    return sorted([*__all__, *_LATER])
