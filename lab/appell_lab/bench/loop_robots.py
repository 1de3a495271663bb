"""Robots with loops for measurements, in appell and in Pinocchio: four-bar, Stewart-Gough platform, Talos on two feet.

Each is a tree of Pinocchio, which is converted to appell, so that both have the same layout of q and v. Pairs of frames
are connected by point constraints with three rows each, and feet are fixed to the ground by six rows each.
Configurations with closed loops are computed in closed form: by the triangle that closes a four-bar, and by the leg
lengths of a given pose of the platform.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.pinocchio.read import from_pinocchio
from appell.describe.zoo.mechanisms import stewart_gough
from appell.dynamics import Dynamics
from appell.errors import AppellError, ModelWarning
from appell.model.body import Body
from appell.model.constraint import Constraint, Point, Weld
from appell.model.robot import ConstrainedRobot, Robot
from appell_lab.bench.subject import find, pinocchio

FEET = ("left_sole_link", "right_sole_link")
BAR_LENGTHS = {"ground": 0.9, "crank": 0.3, "coupler": 0.8, "rocker": 0.7}  # m
Configurations = Callable[[np.random.Generator, int], np.ndarray]


@dataclass
class LoopRobot:
    """A tree of Pinocchio, pairs of frames connected by points, and feet that are fixed to the ground."""

    name: str
    model: Any
    configurations: Configurations
    points: tuple[tuple[str, str], ...] = ()
    feet: tuple[str, ...] = ()

    @cached_property
    def tree(self) -> Robot:
        """The tree in appell, without constraints."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return from_pinocchio(self.model, name=self.name, physical=False)

    @cached_property
    def system(self) -> ConstrainedRobot:
        """The robot in appell; the feet are fixed where they are in a first configuration."""
        home = self.configurations(np.random.default_rng(0), 1)[0]
        points: list[Constraint] = [Point(a, b) for a, b in self.points]
        return self.tree.with_loops(*points, *fixed_feet(self.tree, self.feet, home), home=home)

    @cached_property
    def contacts(self) -> Any:
        """The constraint models of Pinocchio."""
        pin = pinocchio()
        point, foot, axes = pin.ContactType.CONTACT_3D, pin.ContactType.CONTACT_6D, pin.LOCAL
        constraints = pin.StdVec_RigidConstraintModel()
        for a, b in self.points:
            constraints.append(
                pin.RigidConstraintModel(point, self.model, *self._joint_and_pose(a), *self._joint_and_pose(b), axes)
            )
        for name in self.feet:
            constraints.append(pin.RigidConstraintModel(foot, self.model, *self._joint_and_pose(name), axes))
        return constraints

    def _joint_and_pose(self, name: str) -> tuple[int, Any]:
        frame = self.model.frames[self.model.getFrameId(name)]
        return int(frame.parentJoint), frame.placement


def fixed_feet(tree: Robot, feet: Sequence[str], q: np.ndarray) -> list[Constraint]:
    """Return constraints that fix feet where they are at q."""
    poses = {foot: Dynamics(tree).pose(foot)(q) for foot in feet}
    return [
        Weld(foot, Pose(Mat3.of(pose[:3, :3].tolist()), Vec3.of(pose[:3, 3].tolist())), name=foot)
        for foot, pose in poses.items()
    ]


class _TreeBuilder:
    """Add links to a tree of Pinocchio by name."""

    def __init__(self, gravity: tuple[float, float, float]):
        self.pin = pinocchio()
        self.model = self.pin.Model()
        self.model.gravity.linear = np.array(gravity)

    def link(
        self, name: str, parent: str, kind: str, at=(0.0, 0.0, 0.0), rotation=None, body: Body | None = None
    ) -> None:
        """Add a link on a joint of a kind such as RZ, with a position and a rotation; massless without a body."""
        pin, model = self.pin, self.model
        placement = pin.SE3(np.eye(3) if rotation is None else rotation, np.array(at, float))
        joint = model.addJoint(model.getJointId(parent), getattr(pin, f"JointModel{kind}")(), placement, name)
        inertia = pin.Inertia.FromDynamicParameters(np.array(body.parameters)) if body else pin.Inertia.Zero()
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self.frame(f"{name} link", name, (0.0, 0.0, 0.0))

    def frame(self, name: str, joint: str, at) -> None:
        pin, placement = self.pin, self.pin.SE3(np.eye(3), np.array(at, float))
        self.model.addFrame(pin.Frame(name, self.model.getJointId(joint), 0, placement, pin.FrameType.BODY))


def four_bar() -> LoopRobot:
    """Return a four-bar: a crank that rotates fully, a coupler and a rocker, as slender bars in the x-y plane."""
    builder = _TreeBuilder((0.0, -9.81, 0.0))
    for name, parent, at, mass in (
        ("crank", "universe", 0.0, 1.0),
        ("coupler", "crank", BAR_LENGTHS["crank"], 1.5),
        ("rocker", "universe", BAR_LENGTHS["ground"], 1.2),
    ):
        length = BAR_LENGTHS[name]
        inertia = Mat3.of(np.diag([1e-4, mass * length**2 / 12, mass * length**2 / 12]).tolist())
        builder.link(name, parent, "RZ", (at, 0.0, 0.0), body=Body(mass, Vec3(length / 2, 0.0, 0.0), inertia))
    builder.frame("coupler tip", "coupler", (BAR_LENGTHS["coupler"], 0.0, 0.0))
    builder.frame("rocker tip", "rocker", (BAR_LENGTHS["rocker"], 0.0, 0.0))
    return LoopRobot("four-bar", builder.model, _four_bar_configurations, (("coupler tip", "rocker tip"),))


def _four_bar_configurations(rng: np.random.Generator, count: int) -> np.ndarray:
    crank = rng.uniform(-np.pi, np.pi, count)
    pin = BAR_LENGTHS["crank"] * np.stack([np.cos(crank), np.sin(crank)])
    to_rocker = np.array([[BAR_LENGTHS["ground"]], [0.0]]) - pin
    distance = np.hypot(*to_rocker)
    opening = np.arccos(
        (BAR_LENGTHS["coupler"] ** 2 + distance**2 - BAR_LENGTHS["rocker"] ** 2)
        / (2 * BAR_LENGTHS["coupler"] * distance)
    )
    coupler = np.arctan2(to_rocker[1], to_rocker[0]) + opening
    tip = pin + BAR_LENGTHS["coupler"] * np.stack([np.cos(coupler), np.sin(coupler)])
    return np.stack([crank, coupler - crank, np.arctan2(tip[1], tip[0] - BAR_LENGTHS["ground"])], axis=-1)


def platform() -> LoopRobot:
    """Return the Stewart-Gough platform of the zoo, with massless crosses and the platform on a free flyer."""
    mechanism, builder = stewart_gough(), _TreeBuilder((0.0, 0.0, -9.81))
    anchors = np.array([pin.other_point for pin in mechanism.pins[::2]])
    tips = np.array([pin.other_point for pin in mechanism.pins[1::2]])
    angles = np.arctan2(anchors[:, 1], anchors[:, 0]) + np.pi / 2
    rotations = [_about_z(angle) for angle in angles]
    for k, (anchor, rotation) in enumerate(zip(anchors, rotations, strict=True), start=1):
        builder.link(f"cross{k}", "universe", "RX", anchor, rotation)
        builder.link(f"cylinder{k}", f"cross{k}", "RY", body=mechanism.bodies[f"cylinder_{k}"])
        builder.link(f"piston{k}", f"cylinder{k}", "PZ", body=mechanism.bodies[f"piston_{k}"])
    builder.link("platform", "universe", "FreeFlyer", body=mechanism.bodies["platform"])
    for k, tip in enumerate(tips, start=1):
        builder.frame(f"seat{k}", "platform", tip)

    def configurations(rng: np.random.Generator, count: int) -> np.ndarray:
        position = rng.uniform(-0.1, 0.1, (count, 3)) + mechanism.start[:3]
        quaternion = np.hstack([0.1 * rng.normal(size=(count, 3)), np.ones((count, 1))])
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
        vector, scalar = quaternion[:, None, :3], quaternion[:, None, 3:]
        rotated = tips + 2 * np.cross(vector, np.cross(vector, tips) + scalar * tips)
        leg_vectors = np.einsum("kji,nkj->nki", np.array(rotations), position[:, None] + rotated - anchors)
        lengths = np.linalg.norm(leg_vectors, axis=2)
        legs = np.stack(
            [np.arctan2(-leg_vectors[..., 1], leg_vectors[..., 2]), np.arcsin(leg_vectors[..., 0] / lengths), lengths],
            axis=-1,
        )
        return np.hstack([legs.reshape(count, -1), position, quaternion])

    pairs = tuple((f"piston{k} link", f"seat{k}") for k in range(1, 7))
    return LoopRobot("stewart-gough", builder.model, configurations, pairs)


def _about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def talos() -> LoopRobot:
    """Return Talos with both feet on the ground and its knees bent."""
    model = find("talos").twin.model
    bent = np.zeros(model.nq)
    bent[2], bent[6] = 1.0, 1.0
    for side in ("left", "right"):
        for joint, angle in (("3", -0.45), ("4", 0.9), ("5", -0.45)):
            bent[model.joints[model.getJointId(f"leg_{side}_{joint}_joint")].idx_q] = angle

    def configurations(rng: np.random.Generator, count: int) -> np.ndarray:
        """Random configurations with small motions of the pelvis, and legs that keep the feet in place."""
        pin, legs = pinocchio(), Legs(model, bent)
        steps = 0.2 * rng.uniform(-1.0, 1.0, (count, model.nv))
        steps[:, :6] *= 0.1
        steps[:, legs.columns] = 0.0
        return np.array([legs.with_feet_in_place(pin.integrate(model, bent, step)) for step in steps])

    return LoopRobot("talos", model, configurations, feet=FEET)


class Legs:
    """Two legs with six joints each, whose feet stay where they are in a first configuration."""

    def __init__(self, model: Any, q: np.ndarray):
        self.pin, self.model, self.data = pinocchio(), model, model.createData()
        self.feet = [model.getFrameId(foot) for foot in FEET]
        self.pin.framesForwardKinematics(model, self.data, q)
        self.foot_poses = [self.data.oMf[foot].copy() for foot in self.feet]
        names = [[f"leg_{side}_{k}_joint" for k in range(1, 7)] for side in ("left", "right")]
        self.legs = [[model.joints[model.getJointId(name)].idx_v for name in leg] for leg in names]

    @property
    def columns(self) -> list[int]:
        """Indices of the leg joints in v."""
        return [k for leg in self.legs for k in leg]

    def with_feet_in_place(self, q: np.ndarray) -> np.ndarray:
        """Return q with the leg joints changed by Newton steps until the feet are in place."""
        pin, model, data, step = self.pin, self.model, self.data, np.zeros(self.model.nv)
        for _ in range(20):
            pin.computeJointJacobians(model, data, q)
            pin.updateFramePlacements(model, data)
            for foot, pose, leg in zip(self.feet, self.foot_poses, self.legs, strict=True):
                J = pin.getFrameJacobian(model, data, foot, pin.LOCAL)[:, leg]
                step[leg] = np.linalg.solve(J, pin.log6(data.oMf[foot].actInv(pose)).vector)
            q = pin.integrate(model, q, step)
            if np.abs(step).max() < 1e-13:
                return q
        raise AppellError("the legs of Talos do not reach the foot positions.")


LOOP_ROBOTS: dict[str, Callable[[], LoopRobot]] = {"four-bar": four_bar, "stewart-gough": platform, "talos": talos}
