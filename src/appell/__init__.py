"""appell: describe a robot, get its Gibbs-Appell equations of motion as compiled NumPy functions.

import appell as ap

dyn = ap.Dynamics(ap.load("puma"))
tau = dyn.inverse_dynamics(q, v, a)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# describe a robot
from appell.algebra.rotation import Pose
from appell.algebra.scalar import atan2, cos, select, sin, sqrt
from appell.algebra.vector import Vec3

# its equations, compiled
from appell.compile.count import OpCount
from appell.compile.function import Function
from appell.compile.native.setting import set_threads, threads
from appell.compile.tape import Array, Tape
from appell.compile.trace import trace
from appell.describe.build import Builder
from appell.describe.dh import DH, from_dh
from appell.describe.load import load, load_text, load_tree, tree_names, zoo_names
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
    StepWarning,
    SweepError,
    TraceError,
)
from appell.model.actuator import Actuator
from appell.model.body import Body, Inertia
from appell.model.constraint import (
    Constraint,
    Cylindrical,
    Distance,
    Flat,
    Gear,
    Hinge,
    OnLine,
    OnPlane,
    Orientation,
    Point,
    Prescribed,
    Rolling,
    Skate,
    Slider,
    Universal,
    Velocities,
    Weld,
)
from appell.model.frame import Frame
from appell.model.friction import Friction
from appell.model.joints import Continuous, Floating, Planar, Prismatic, Revolute, Spherical
from appell.model.limits import Limits
from appell.model.mechanism import Mechanism
from appell.model.mechanism_parts import LegJoint, MovingBody, Reach
from appell.model.pin import Pin
from appell.model.robot import Joint, Link, Mimic, Robot
from appell.version import VERSION

# chapters that need SciPy or more, and writers, are imported when first named: public name -> module, attribute
_LATER: dict[str, tuple[str, str | None]] = {
    "Circle": ("appell.simulation", "Circle"),
    "Contact": ("appell.simulation", "Contact"),
    "Cylinder": ("appell.simulation", "Cylinder"),
    "Implicit": ("appell.simulation", "Implicit"),
    "MujocoStates": ("appell.describe.mjcf.states", "MujocoStates"),
    "Path": ("appell.motion", "Path"),
    "Plane": ("appell.simulation", "Plane"),
    "Record": ("appell.motion", "Record"),
    "Records": ("appell.motion", "Records"),
    "Sampled": ("appell.simulation", "Sampled"),
    "Sphere": ("appell.simulation", "Sphere"),
    "constraint": ("appell.model.constraint", None),
    "control": ("appell.control", None),
    "draw": ("appell.motion", "draw"),
    "from_mujoco": ("appell.describe.mjcf.read", "from_mujoco"),
    "from_pinocchio": ("appell.describe.pinocchio", "from_pinocchio"),
    "grid": ("appell.sweeps", "grid"),
    "gym_env": ("appell.learning", "gym_env"),
    "identify": ("appell.identify", None),
    "legs": ("appell.describe.legs", None),
    "motion": ("appell.motion", None),
    "rollout": ("appell.simulation", "rollout"),
    "shapes": ("appell.model.shapes", None),
    "simulate": ("appell.simulation", "simulate"),
    "sweep": ("appell.sweeps", "sweep"),
    "sweeps": ("appell.sweeps", None),
    "to_fmu": ("appell.simulation", "to_fmu"),
    "to_html": ("appell.motion", "to_html"),
    "to_mjcf": ("appell.describe.write", "to_mjcf"),
    "to_toml": ("appell.describe.write", "to_toml"),
    "to_urdf": ("appell.describe.write", "to_urdf"),
    "view": ("appell.motion", "view"),
}

if TYPE_CHECKING:  # so that a type checker knows them too
    from appell import control, identify, motion, sweeps
    from appell.describe import legs
    from appell.describe.mjcf.read import from_mujoco
    from appell.describe.mjcf.states import MujocoStates
    from appell.describe.pinocchio import from_pinocchio
    from appell.describe.write import to_mjcf, to_toml, to_urdf
    from appell.learning import gym_env
    from appell.model import constraint, shapes
    from appell.motion import Path, Record, Records, draw, to_html, view
    from appell.simulation import Circle, Contact, Cylinder, Implicit, Plane, Sampled, Sphere, rollout, simulate, to_fmu
    from appell.sweeps import grid, sweep

__version__ = VERSION

__all__ = [
    "DH",
    "Actuator",
    "AppellError",
    "ArgumentError",
    "Array",
    "Body",
    "Builder",
    "CacheWarning",
    "Circle",
    "CompileError",
    "Constraint",
    "Contact",
    "Continuous",
    "Cylinder",
    "Cylindrical",
    "DescriptionError",
    "Distance",
    "Dynamics",
    "Flat",
    "Floating",
    "Frame",
    "Friction",
    "Function",
    "Gear",
    "Hinge",
    "Implicit",
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
    "MujocoStates",
    "OnLine",
    "OnPlane",
    "OpCount",
    "Orientation",
    "Path",
    "Pin",
    "Planar",
    "Plane",
    "Point",
    "Pose",
    "Prescribed",
    "Prismatic",
    "Reach",
    "Record",
    "Records",
    "Revolute",
    "Robot",
    "Rolling",
    "Sampled",
    "SimulationError",
    "Skate",
    "Slider",
    "Sphere",
    "Spherical",
    "StepWarning",
    "SweepError",
    "Tape",
    "TraceError",
    "Universal",
    "Vec3",
    "Velocities",
    "Weld",
    "atan2",
    "constraint",
    "control",
    "cos",
    "draw",
    "from_dh",
    "from_mujoco",
    "from_pinocchio",
    "grid",
    "gym_env",
    "identify",
    "legs",
    "load",
    "load_text",
    "load_tree",
    "motion",
    "rollout",
    "select",
    "set_threads",
    "shapes",
    "simulate",
    "sin",
    "sqrt",
    "sweep",
    "sweeps",
    "threads",
    "to_fmu",
    "to_html",
    "to_mjcf",
    "to_toml",
    "to_urdf",
    "trace",
    "tree_names",
    "view",
    "zoo_names",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'appell' has no attribute '{name}'")
    module, attribute = _LATER[name]
    found = import_module(module)
    return found if attribute is None else getattr(found, attribute)


def __dir__() -> list[str]:
    return list(__all__)
