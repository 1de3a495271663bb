"""A robot that is measured: ours, and the same in Pinocchio, built from the same URDF.

Reading a URDF, Pinocchio picks its fastest kind of joint for every axis along x, y or z, so that is how it gets its
model; a robot that comes from elsewhere is written as URDF first. It orders the joints in its own way and keeps (cos,
sin) of a continuous one, so states are put into its layout before the clock starts.
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


@dataclass(frozen=True)
class Subject:
    """A robot by name, and what `appell.load` is told about it."""

    name: str
    source: str
    base: str = "fixed"
    physical: bool = True

    @cached_property
    def robot(self) -> Robot:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return load_tree(self.source, base=self.base, physical=self.physical, mimic=False)

    @cached_property
    def dynamics(self) -> Dynamics:
        return Dynamics(self.robot)

    @cached_property
    def twin(self) -> Twin:
        return Twin(self)


def find(name: str, base: str | None = None, physical: bool = True) -> Subject:
    """A zoo robot or a file; 'talos' is the humanoid of example-robot-data on a free flyer."""
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
        hint="pip install example-robot-data, or measure another robot: appell bench --robot puma",
    )


def pinocchio() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import pinocchio as module
    except ImportError:
        raise AppellError(
            "appell bench measures against Pinocchio, which is not installed.", hint="pip install pin"
        ) from None
    return module


class Twin:
    """A subject in Pinocchio."""

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
            on_ground = load_tree(subject.source, physical=subject.physical, mimic=False)
            links_alone = on_ground.with_actuators(lambda *_: IDEAL)
            self.model = pin.buildModelFromXML(to_urdf(links_alone), *extra)
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
        """Samples of q, or of anything with the layout of v, as Pinocchio wants them."""
        return self._configuration(samples) if name == "q" else self._velocity(samples)

    def _configuration(self, q: np.ndarray) -> np.ndarray:
        theirs = np.empty((len(q), self.model.nq))
        for joint, span, _ in self._joints:
            own = q[:, span]
            if joint.nq > own.shape[1]:  # Pinocchio keeps (cos, sin) of the last coordinate
                own = np.column_stack([own[:, :-1], np.cos(own[:, -1]), np.sin(own[:, -1])])
            theirs[:, joint.idx_q : joint.idx_q + joint.nq] = own
        return theirs

    def _velocity(self, v: np.ndarray) -> np.ndarray:
        theirs = np.empty((len(v), self.model.nv))
        theirs[:, self.order] = v
        return theirs


def random_states(subject: Subject, count: int, seed: int = 1) -> dict[str, np.ndarray]:
    """q, v, a and tau of `count` samples."""
    rng, robot = np.random.default_rng(seed), subject.robot
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    return {"q": q} | {name: rng.normal(size=(count, robot.nv)) for name in ("v", "a", "tau")}
