"""Robots with loops that are measured, ours and Pinocchio's: four-bar, Stewart-Gough platform, Talos on two feet.

Each is a tree of Pinocchio, from which ours is read, so that both have one layout of q and v. Pairs of frames of it are
held together, three rows a point, and feet stand on the ground, six rows each. Configurations lie on the loops in
closed form: by the triangle that closes a four-bar, by the legs that a pose of the platform asks for.
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
BAR = {"ground": 0.9, "crank": 0.3, "coupler": 0.8, "rocker": 0.7}  # m
Configurations = Callable[[np.random.Generator, int], np.ndarray]


@dataclass
class LoopRobot:
    """A tree of Pinocchio, pairs of its frames that are held together, and frames that stand on the ground."""

    name: str
    model: Any
    configurations: Configurations
    points: tuple[tuple[str, str], ...] = ()
    feet: tuple[str, ...] = ()

    @cached_property
    def tree(self) -> Robot:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            return from_pinocchio(self.model, name=self.name, physical=False)

    @cached_property
    def system(self) -> ConstrainedRobot:
        """Ours; the feet stand where they are in a first configuration."""
        home = self.configurations(np.random.default_rng(0), 1)[0]
        points: list[Constraint] = [Point(a, b) for a, b in self.points]
        return self.tree.with_loops(*points, *standing(self.tree, self.feet, home), home=home)

    @cached_property
    def contacts(self) -> Any:
        """Pinocchio's."""
        pin = pinocchio()
        point, foot, axes = pin.ContactType.CONTACT_3D, pin.ContactType.CONTACT_6D, pin.LOCAL
        found = pin.StdVec_RigidConstraintModel()
        for a, b in self.points:
            found.append(pin.RigidConstraintModel(point, self.model, *self._place(a), *self._place(b), axes))
        for name in self.feet:
            found.append(pin.RigidConstraintModel(foot, self.model, *self._place(name), axes))
        return found

    def _place(self, name: str) -> tuple[int, Any]:
        frame = self.model.frames[self.model.getFrameId(name)]
        return int(frame.parentJoint), frame.placement


def standing(tree: Robot, feet: Sequence[str], q: np.ndarray) -> list[Constraint]:
    """Feet that stay where they are at q."""
    places = {foot: Dynamics(tree).pose(foot)(q) for foot in feet}
    return [
        Weld(foot, Pose(Mat3.of(place[:3, :3].tolist()), Vec3.of(place[:3, 3].tolist())), name=foot)
        for foot, place in places.items()
    ]


class _Maker:
    """Adds links to a tree of Pinocchio by name."""

    def __init__(self, gravity: tuple[float, float, float]):
        self.pin = pinocchio()
        self.model = self.pin.Model()
        self.model.gravity.linear = np.array(gravity)

    def link(self, name: str, parent: str, kind: str, at=(0.0, 0.0, 0.0), turn=None, body: Body | None = None) -> None:
        """A link on a joint of a kind such as RZ, turned by a matrix; no body, no mass."""
        pin, model = self.pin, self.model
        place = pin.SE3(np.eye(3) if turn is None else turn, np.array(at, float))
        joint = model.addJoint(model.getJointId(parent), getattr(pin, f"JointModel{kind}")(), place, name)
        matter = pin.Inertia.FromDynamicParameters(np.array(body.parameters)) if body else pin.Inertia.Zero()
        model.appendBodyToJoint(joint, matter, pin.SE3.Identity())
        self.frame(f"{name} link", name, (0.0, 0.0, 0.0))

    def frame(self, name: str, joint: str, at) -> None:
        pin, place = self.pin, self.pin.SE3(np.eye(3), np.array(at, float))
        self.model.addFrame(pin.Frame(name, self.model.getJointId(joint), 0, place, pin.FrameType.BODY))


def four_bar() -> LoopRobot:
    """A crank that turns round, a coupler and a rocker, as slender bars in the plane x, y."""
    made = _Maker((0.0, -9.81, 0.0))
    for name, parent, at, mass in (
        ("crank", "universe", 0.0, 1.0),
        ("coupler", "crank", BAR["crank"], 1.5),
        ("rocker", "universe", BAR["ground"], 1.2),
    ):
        length = BAR[name]
        inertia = Mat3.of(np.diag([1e-4, mass * length**2 / 12, mass * length**2 / 12]).tolist())
        made.link(name, parent, "RZ", (at, 0.0, 0.0), body=Body(mass, Vec3(length / 2, 0.0, 0.0), inertia))
    made.frame("coupler tip", "coupler", (BAR["coupler"], 0.0, 0.0))
    made.frame("rocker tip", "rocker", (BAR["rocker"], 0.0, 0.0))
    return LoopRobot("four-bar", made.model, _four_bar_configurations, (("coupler tip", "rocker tip"),))


def _four_bar_configurations(rng: np.random.Generator, count: int) -> np.ndarray:
    crank = rng.uniform(-np.pi, np.pi, count)
    pin = BAR["crank"] * np.stack([np.cos(crank), np.sin(crank)])
    way = np.array([[BAR["ground"]], [0.0]]) - pin
    far = np.hypot(*way)
    opening = np.arccos((BAR["coupler"] ** 2 + far**2 - BAR["rocker"] ** 2) / (2 * BAR["coupler"] * far))
    coupler = np.arctan2(way[1], way[0]) + opening
    tip = pin + BAR["coupler"] * np.stack([np.cos(coupler), np.sin(coupler)])
    return np.stack([crank, coupler - crank, np.arctan2(tip[1], tip[0] - BAR["ground"])], axis=-1)


def platform() -> LoopRobot:
    """The Stewart-Gough platform of the zoo: massless crosses, cylinders and pistons, the platform on a free flyer."""
    mechanism, made = stewart_gough(), _Maker((0.0, 0.0, -9.81))
    anchors = np.array([pin.other_point for pin in mechanism.pins[::2]])
    tips = np.array([pin.other_point for pin in mechanism.pins[1::2]])
    angles = np.arctan2(anchors[:, 1], anchors[:, 0]) + np.pi / 2
    turns = [_about_z(angle) for angle in angles]
    for k, (anchor, turn) in enumerate(zip(anchors, turns, strict=True), start=1):
        made.link(f"cross{k}", "universe", "RX", anchor, turn)
        made.link(f"cylinder{k}", f"cross{k}", "RY", body=mechanism.bodies[f"cylinder_{k}"])
        made.link(f"piston{k}", f"cylinder{k}", "PZ", body=mechanism.bodies[f"piston_{k}"])
    made.link("platform", "universe", "FreeFlyer", body=mechanism.bodies["platform"])
    for k, tip in enumerate(tips, start=1):
        made.frame(f"seat{k}", "platform", tip)

    def configurations(rng: np.random.Generator, count: int) -> np.ndarray:
        near = rng.uniform(-0.1, 0.1, (count, 3)) + mechanism.start[:3]
        quaternion = np.hstack([0.1 * rng.normal(size=(count, 3)), np.ones((count, 1))])
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
        vector, scalar = quaternion[:, None, :3], quaternion[:, None, 3:]
        turned = tips + 2 * np.cross(vector, np.cross(vector, tips) + scalar * tips)
        ways = np.einsum("kji,nkj->nki", np.array(turns), near[:, None] + turned - anchors)
        lengths = np.linalg.norm(ways, axis=2)
        legs = np.stack([np.arctan2(-ways[..., 1], ways[..., 2]), np.arcsin(ways[..., 0] / lengths), lengths], axis=-1)
        return np.hstack([legs.reshape(count, -1), near, quaternion])

    held = tuple((f"piston{k} link", f"seat{k}") for k in range(1, 7))
    return LoopRobot("stewart-gough", made.model, configurations, held)


def _about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def talos() -> LoopRobot:
    """Talos with both feet on the ground and its knees bent."""
    model = find("talos").twin.model
    bent = np.zeros(model.nq)
    bent[2], bent[6] = 1.0, 1.0
    for side in ("left", "right"):
        for joint, angle in (("3", -0.45), ("4", 0.9), ("5", -0.45)):
            bent[model.joints[model.getJointId(f"leg_{side}_{joint}_joint")].idx_q] = angle

    def configurations(rng: np.random.Generator, count: int) -> np.ndarray:
        """The pelvis a little aside and turned, arms, torso and head anywhere near, and legs that keep the feet."""
        pin, legs = pinocchio(), Legs(model, bent)
        moved = 0.2 * rng.uniform(-1.0, 1.0, (count, model.nv))
        moved[:, :6] *= 0.1
        moved[:, legs.columns] = 0.0
        return np.array([legs.standing(pin.integrate(model, bent, step)) for step in moved])

    return LoopRobot("talos", model, configurations, feet=FEET)


class Legs:
    """Two legs of six joints, whose feet are to stay where they are in a first configuration."""

    def __init__(self, model: Any, q: np.ndarray):
        self.pin, self.model, self.data = pinocchio(), model, model.createData()
        self.feet = [model.getFrameId(foot) for foot in FEET]
        self.pin.framesForwardKinematics(model, self.data, q)
        self.ground = [self.data.oMf[foot].copy() for foot in self.feet]
        names = [[f"leg_{side}_{k}_joint" for k in range(1, 7)] for side in ("left", "right")]
        self.legs = [[model.joints[model.getJointId(name)].idx_v for name in leg] for leg in names]

    @property
    def columns(self) -> list[int]:
        return [k for leg in self.legs for k in leg]

    def standing(self, q: np.ndarray) -> np.ndarray:
        """With Newton's steps of the legs, until the feet are back."""
        pin, model, data, step = self.pin, self.model, self.data, np.zeros(self.model.nv)
        for _ in range(20):
            pin.computeJointJacobians(model, data, q)
            pin.updateFramePlacements(model, data)
            for foot, place, leg in zip(self.feet, self.ground, self.legs, strict=True):
                J = pin.getFrameJacobian(model, data, foot, pin.LOCAL)[:, leg]
                step[leg] = np.linalg.solve(J, pin.log6(data.oMf[foot].actInv(place)).vector)
            q = pin.integrate(model, q, step)
            if np.abs(step).max() < 1e-13:
                return q
        raise AppellError("the legs of Talos do not reach the ground.")


LOOP_ROBOTS: dict[str, Callable[[], LoopRobot]] = {"four-bar": four_bar, "stewart-gough": platform, "talos": talos}
