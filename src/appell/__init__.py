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
from appell.describe.load import load, load_text, zoo_names
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
from appell.model.body import Body, Inertia
from appell.model.joints import Continuous, Floating, Planar, Prismatic, Revolute, Spherical
from appell.model.robot import Frame, Joint, Limits, Link, Mimic, Robot

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
    "kinematics": ("appell.motion.inverse", None),
    "motion": ("appell.motion", None),
    "parallel": ("appell.parallel", None),
    "simulate": ("appell.simulation", "simulate"),
}

__version__ = "0.1.0"

__all__ = [
    "DH",
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
    "Function",
    "Inertia",
    "Joint",
    "Limits",
    "Link",
    "Mimic",
    "ModelError",
    "ModelWarning",
    "OpCount",
    "Planar",
    "Pose",
    "Prismatic",
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
    "select",
    "sin",
    "sqrt",
    "trace",
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
