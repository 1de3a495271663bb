"""appell: describe a robot, get its Gibbs-Appell equations of motion as compiled NumPy functions.

import appell as ap

dyn = ap.Dynamics(ap.load("puma"))
tau = dyn.inverse_dynamics(q, v, a)

`import appell` loads nothing else: a public name is imported when it is first used.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from appell.version import VERSION

if TYPE_CHECKING:  # the names of `_NAMES` and `_MODULES`, for type checkers and editors
    from appell import control as control
    from appell import hardware as hardware
    from appell import identify as identify
    from appell import kinematics as kinematics
    from appell import motion as motion
    from appell import sweeps as sweeps
    from appell.algebra.elementwise import abs as abs
    from appell.algebra.elementwise import arccos as arccos
    from appell.algebra.elementwise import arcsin as arcsin
    from appell.algebra.elementwise import atan2 as atan2
    from appell.algebra.elementwise import cos as cos
    from appell.algebra.elementwise import erf as erf
    from appell.algebra.elementwise import exp as exp
    from appell.algebra.elementwise import log as log
    from appell.algebra.elementwise import maximum as maximum
    from appell.algebra.elementwise import minimum as minimum
    from appell.algebra.elementwise import power as power
    from appell.algebra.elementwise import select as select
    from appell.algebra.elementwise import sign as sign
    from appell.algebra.elementwise import sin as sin
    from appell.algebra.elementwise import sqrt as sqrt
    from appell.algebra.elementwise import tanh as tanh
    from appell.algebra.rotation import Pose as Pose
    from appell.algebra.vector import Vec3 as Vec3
    from appell.compile.function import Function as Function
    from appell.compile.native.threads import set_threads as set_threads
    from appell.compile.native.threads import threads as threads
    from appell.compile.tape.count import OpCount as OpCount
    from appell.compile.tape.tape import Array as Array
    from appell.compile.tape.tape import Tape as Tape
    from appell.compile.tape.trace import trace as trace
    from appell.describe import legs as legs
    from appell.describe.build import Builder as Builder
    from appell.describe.covers import cover as cover
    from appell.describe.dh import DH as DH
    from appell.describe.dh import from_dh as from_dh
    from appell.describe.hulls import hull as hull
    from appell.describe.load import load as load
    from appell.describe.load import load_text as load_text
    from appell.describe.load import load_tree as load_tree
    from appell.describe.load import tree_names as tree_names
    from appell.describe.load import zoo_names as zoo_names
    from appell.describe.mjcf.read import from_mujoco as from_mujoco
    from appell.describe.mjcf.states import MujocoStates as MujocoStates
    from appell.describe.pinocchio.read import from_pinocchio as from_pinocchio
    from appell.describe.urdf.srdf import with_srdf as with_srdf
    from appell.describe.write import to_mjcf as to_mjcf
    from appell.describe.write import to_toml as to_toml
    from appell.describe.write import to_urdf as to_urdf
    from appell.dynamics import Dynamics as Dynamics
    from appell.dynamics.vibration import Equilibrium as Equilibrium
    from appell.dynamics.vibration import Frequencies as Frequencies
    from appell.dynamics.vibration import frequencies as frequencies
    from appell.dynamics.vibration import quasi_static as quasi_static
    from appell.errors import AppellError as AppellError
    from appell.errors import ArgumentError as ArgumentError
    from appell.errors import CacheWarning as CacheWarning
    from appell.errors import CompileError as CompileError
    from appell.errors import DescriptionError as DescriptionError
    from appell.errors import LimitWarning as LimitWarning
    from appell.errors import ModelError as ModelError
    from appell.errors import ModelWarning as ModelWarning
    from appell.errors import SimulationError as SimulationError
    from appell.errors import StepWarning as StepWarning
    from appell.errors import SweepError as SweepError
    from appell.errors import TraceError as TraceError
    from appell.identify.check import MotionCheck as MotionCheck
    from appell.identify.check import check as check
    from appell.learning import gym_env as gym_env
    from appell.model import constraint as constraint
    from appell.model import shapes as shapes
    from appell.model.actuator import Actuator as Actuator
    from appell.model.actuator import Elasticity as Elasticity
    from appell.model.actuator import Friction as Friction
    from appell.model.beam import Section as Section
    from appell.model.body import Body as Body
    from appell.model.body import Inertia as Inertia
    from appell.model.collision import Collision as Collision
    from appell.model.collision import IgnoredPair as IgnoredPair
    from appell.model.constraint import Constraint as Constraint
    from appell.model.constraint import Cylindrical as Cylindrical
    from appell.model.constraint import Distance as Distance
    from appell.model.constraint import Flat as Flat
    from appell.model.constraint import Gear as Gear
    from appell.model.constraint import Hinge as Hinge
    from appell.model.constraint import OnLine as OnLine
    from appell.model.constraint import OnPlane as OnPlane
    from appell.model.constraint import Orientation as Orientation
    from appell.model.constraint import Point as Point
    from appell.model.constraint import Prescribed as Prescribed
    from appell.model.constraint import Rolling as Rolling
    from appell.model.constraint import Skate as Skate
    from appell.model.constraint import Slider as Slider
    from appell.model.constraint import Universal as Universal
    from appell.model.constraint import Velocities as Velocities
    from appell.model.constraint import Weld as Weld
    from appell.model.contact import Sole as Sole
    from appell.model.contact import Touch as Touch
    from appell.model.flexible import FlexibleBody as FlexibleBody
    from appell.model.flexible import Node as Node
    from appell.model.frame import Frame as Frame
    from appell.model.joints import Continuous as Continuous
    from appell.model.joints import Fixed as Fixed
    from appell.model.joints import Floating as Floating
    from appell.model.joints import Planar as Planar
    from appell.model.joints import Prismatic as Prismatic
    from appell.model.joints import Revolute as Revolute
    from appell.model.joints import Spherical as Spherical
    from appell.model.limits import Limits as Limits
    from appell.model.mechanism import LegJoint as LegJoint
    from appell.model.mechanism import Mechanism as Mechanism
    from appell.model.mechanism import MovingBody as MovingBody
    from appell.model.mechanism import Pin as Pin
    from appell.model.mechanism import Reach as Reach
    from appell.model.robot import Joint as Joint
    from appell.model.robot import Link as Link
    from appell.model.robot import Mimic as Mimic
    from appell.model.robot import Robot as Robot
    from appell.motion import Path as Path
    from appell.motion import Record as Record
    from appell.motion import Records as Records
    from appell.motion import collisions as collisions
    from appell.optimal.manifold import turn as turn
    from appell.optimal.objective import square as square
    from appell.optimal.optimizer import Optimizer as Optimizer
    from appell.optimal.optimizer import optimize as optimize
    from appell.show import draw as draw
    from appell.show import to_html as to_html
    from appell.show import view as view
    from appell.simulation import BodyContact as BodyContact
    from appell.simulation import Circle as Circle
    from appell.simulation import Contact as Contact
    from appell.simulation import Cylinder as Cylinder
    from appell.simulation import Implicit as Implicit
    from appell.simulation import Plane as Plane
    from appell.simulation import Sampled as Sampled
    from appell.simulation import Solver as Solver
    from appell.simulation import Sphere as Sphere
    from appell.simulation import live_page as live_page
    from appell.simulation import rollout as rollout
    from appell.simulation import simulate as simulate
    from appell.simulation import to_fmu as to_fmu
    from appell.sweeps import grid as grid
    from appell.sweeps import sweep as sweep

_NAMES = {  # module -> the public names that it defines
    "appell.algebra.rotation": "Pose",
    "appell.algebra.elementwise": "abs arccos arcsin atan2 cos erf exp log maximum minimum power select sign sin sqrt "
    "tanh",
    "appell.algebra.vector": "Vec3",
    "appell.compile.function": "Function",
    "appell.compile.native.threads": "set_threads threads",
    "appell.compile.tape.count": "OpCount",
    "appell.compile.tape.tape": "Array Tape",
    "appell.compile.tape.trace": "trace",
    "appell.describe.build": "Builder",
    "appell.describe.covers": "cover",
    "appell.describe.hulls": "hull",
    "appell.describe.dh": "DH from_dh",
    "appell.describe.load": "load load_text load_tree tree_names zoo_names",
    "appell.describe.mjcf.read": "from_mujoco",
    "appell.describe.mjcf.states": "MujocoStates",
    "appell.describe.pinocchio.read": "from_pinocchio",
    "appell.describe.urdf.srdf": "with_srdf",
    "appell.describe.write": "to_mjcf to_toml to_urdf",
    "appell.dynamics": "Dynamics",
    "appell.dynamics.vibration": "Equilibrium Frequencies frequencies quasi_static",
    "appell.errors": (
        "AppellError ArgumentError CacheWarning CompileError DescriptionError LimitWarning ModelError ModelWarning "
        "SimulationError StepWarning SweepError TraceError"
    ),
    "appell.identify.check": "MotionCheck check",
    "appell.learning": "gym_env",
    "appell.model.actuator": "Actuator Elasticity Friction",
    "appell.model.beam": "Section",
    "appell.model.body": "Body Inertia",
    "appell.model.collision": "Collision IgnoredPair",
    "appell.model.constraint": (
        "Constraint Cylindrical Distance Flat Gear Hinge OnLine OnPlane Orientation Point Prescribed Rolling "
        "Skate Slider Universal Velocities Weld"
    ),
    "appell.model.contact": "Sole Touch",
    "appell.model.flexible": "FlexibleBody Node",
    "appell.model.frame": "Frame",
    "appell.model.joints": "Continuous Fixed Floating Planar Prismatic Revolute Spherical",
    "appell.model.limits": "Limits",
    "appell.model.mechanism": "LegJoint Mechanism MovingBody Pin Reach",
    "appell.model.robot": "Joint Link Mimic Robot",
    "appell.motion": "Path Record Records collisions",
    "appell.optimal.manifold": "turn",
    "appell.optimal.objective": "square",
    "appell.optimal.optimizer": "Optimizer optimize",
    "appell.show": "draw to_html view",
    "appell.simulation": (
        "BodyContact Circle Contact Cylinder Implicit Plane Sampled Solver Sphere live_page rollout simulate to_fmu"
    ),
    "appell.sweeps": "grid sweep",
}
_MODULES = {  # public name of a module -> the module
    **{name: f"appell.{name}" for name in ("control", "hardware", "identify", "kinematics", "motion", "sweeps")},
    **{name: f"appell.model.{name}" for name in ("constraint", "shapes")},
    "legs": "appell.describe.legs",
}
_DEFINED_IN = {name: module for module, names in _NAMES.items() for name in names.split()}

# If a process forks while another thread is importing, the child waits for that import forever. So a fork waits until
# no import is under way.
_IMPORTING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_IMPORTING.acquire, after_in_parent=_IMPORTING.release, after_in_child=_IMPORTING.release
    )

__version__ = VERSION
__all__ = sorted([*_DEFINED_IN, *_MODULES])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES and name not in _DEFINED_IN:
        raise AttributeError(f"module 'appell' has no attribute '{name}'")
    with _IMPORTING:
        module = import_module(_MODULES.get(name) or _DEFINED_IN[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value  # later accesses do not call this function
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
