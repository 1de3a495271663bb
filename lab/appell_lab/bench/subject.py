"""A robot that is measured, in appell and in Pinocchio, built from the same URDF.

When reading a URDF, Pinocchio uses its fastest joint types for axes along x, y or z, so its model is built from a URDF;
other robots are written as URDF first. Pinocchio orders joints differently and stores (cos, sin) of a continuous joint,
so states are converted to its layout before timing starts.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np

from appell.describe.load import load_tree
from appell.describe.write import to_urdf
from appell.dynamics import Dynamics
from appell.errors import AppellError, ModelWarning
from appell.model.actuator import IDEAL
from appell.model.robot import Robot

TALOS = "talos_reduced.urdf"
TALOS_NOTE = (
    f"In these tables talos is `{TALOS}` of example-robot-data on a floating base (38 velocities, 33 links), without "
    'mimic joints; `appell.load("talos")` is the full model with grippers.'
)


@dataclass(frozen=True)
class Subject:
    """A robot by name, and the options of `appell.load`."""

    name: str
    source: str
    base: str = "fixed"
    physical: bool = True

    @cached_property
    def robot(self) -> Robot:
        """The robot in appell."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return load_tree(self.source, base=self.base, physical=self.physical, mimic=False)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The functions of the robot."""
        return Dynamics(self.robot)

    @cached_property
    def twin(self) -> Twin:
        """The robot in Pinocchio."""
        return Twin(self)


def find(name: str, base: str | None = None, physical: bool = True) -> Subject:
    """Return a robot of the zoo or of a file; 'talos' is the humanoid of example-robot-data on a free flyer."""
    if name == "talos":
        return Subject("talos", str(_talos()), base or "floating", physical=False)
    return Subject(Path(name).stem, name, base or "fixed", physical)


def _talos() -> Path:
    try:
        listed = files("example-robot-data") or []
    except PackageNotFoundError:
        listed = []
    for file in listed:
        if file.name == TALOS:
            return Path(str(file.locate()))
    raise AppellError(
        "the Talos humanoid is not installed; its URDF comes with the package example-robot-data.",
        hint="Run pip install example-robot-data, or measure another robot: appell bench --robot puma.",
    )


def pinocchio() -> Any:
    """Import Pinocchio; raise AppellError with the install command if it is missing."""
    try:
        import pinocchio as module
    except ImportError:
        raise AppellError("appell bench requires Pinocchio, which is not installed.", hint="pip install pin") from None
    return module


class Twin:
    """The robot of a subject in Pinocchio."""

    def __init__(self, subject: Subject):
        pin = pinocchio()
        self.robot = subject.robot
        root = {
            "floating": pin.JointModelFreeFlyer,
            "planar": pin.JointModelPlanar,
            "spherical": pin.JointModelSpherical,
        }
        extra = (root[subject.base](),) if subject.base in root else ()
        if Path(subject.source).suffix == ".urdf":
            self.model = pin.buildModelFromUrdf(subject.source, *extra)
        else:
            fixed_base = load_tree(subject.source, physical=subject.physical, mimic=False)
            without_actuators = fixed_base.with_actuators(lambda *_: IDEAL)
            self.model = pin.buildModelFromXML(to_urdf(without_actuators), *extra)
        self.model.gravity.linear = np.array(list(self.robot.gravity))
        self.data = self.model.createData()
        self._joints = []
        for link in self.robot.moving:
            number = self.model.getJointId(link.joint.name)
            if number >= self.model.njoints:
                raise AppellError(f"Pinocchio's model of robot '{subject.name}' has no joint '{link.joint.name}'.")
            self._joints.append((self.model.joints[number], *self.robot.span(link.joint)))
        self.order = np.concatenate([np.arange(joint.idx_v, joint.idx_v + joint.nv) for joint, _, _ in self._joints])

    def layout(self, name: str, samples: np.ndarray) -> np.ndarray:
        """Convert samples of q, or of anything with the layout of v, to the layout of Pinocchio."""
        return self._configuration(samples) if name == "q" else self._velocity(samples)

    def _configuration(self, q: np.ndarray) -> np.ndarray:
        theirs = np.empty((len(q), self.model.nq))
        for joint, span, _ in self._joints:
            values = q[:, span]
            if joint.nq > values.shape[1]:  # Pinocchio stores (cos, sin) of the last coordinate
                values = np.column_stack([values[:, :-1], np.cos(values[:, -1]), np.sin(values[:, -1])])
            theirs[:, joint.idx_q : joint.idx_q + joint.nq] = values
        return theirs

    def _velocity(self, v: np.ndarray) -> np.ndarray:
        theirs = np.empty((len(v), self.model.nv))
        theirs[:, self.order] = v
        return theirs


def random_states(subject: Subject, count: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Return random q, v, a and tau of `count` samples, by name."""
    rng, robot = np.random.default_rng(seed), subject.robot
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    return {"q": q} | {name: rng.normal(size=(count, robot.nv)) for name in ("v", "a", "tau")}
