"""Robots, states and plants for tests of open control laws."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import numpy as np

import appell as ap
from robots import example_urdfs

PERIOD = 1e-3
UR5_POSTURE = np.array([0.3, -1.2, 1.4, -0.7, 0.8, 0.2])
PANDA_POSTURE = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.7, 0.6])


@cache
def example_path(stem: str):
    return next(path for path in example_urdfs() if path.stem == stem)


@cache
def arm(name: str):
    """Return an arm of example-robot-data whose torques are not limited and that has no friction."""
    robot = ap.load(example_path({"ur5": "ur5_robot", "panda": "panda"}[name]))
    if name == "panda":
        robot = robot.locked({"panda_finger_joint1": 0.0})
    return replace(robot, visuals=()).with_actuators(lambda joint, actuator: ap.Actuator())


def posture(name: str) -> np.ndarray:
    return UR5_POSTURE if name == "ur5" else PANDA_POSTURE


def tool(name: str) -> str:
    return {"ur5": "tool0", "panda": "panda_hand"}[name]


def states(name: str, rng: np.random.Generator, near: float = 0.1):
    """Return q, v and a reference near a posture."""
    q, n = posture(name), len(posture(name))
    reference = np.array([q + rng.uniform(-near, near, n), rng.uniform(-0.5, 0.5, n), rng.uniform(-2.0, 2.0, n)])
    return q + rng.uniform(-near, near, n), rng.uniform(-0.5, 0.5, n), reference


@cache
def pinocchio_arm(name: str):
    """Return Pinocchio's model and data of an arm."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(example_path({"ur5": "ur5_robot", "panda": "panda"}[name])))
    fingers = [model.getJointId(joint) for joint in model.names if "finger" in joint]
    model = pin.buildReducedModel(model, fingers, pin.neutral(model))
    model.damping[:] = 0.0
    return model, model.createData()


class MujocoPlant:
    """MuJoCo as the robot, with the interface of `appell.hardware.Plant`; `push` is a force on a body, in N."""

    def __init__(self, robot, q, body: str | None = None):
        import mujoco

        self.mujoco, self.system = mujoco, robot
        self.model = mujoco.MjModel.from_xml_string(ap.to_mjcf(robot))
        self.model.opt.timestep = PERIOD
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self.model.geom_contype[:] = self.model.geom_conaffinity[:] = 0
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = q
        self.body = None if body is None else self.model.body(body).id

    @property
    def q(self):
        return self.data.qpos.copy()

    @property
    def v(self):
        return self.data.qvel.copy()

    def push(self, force, point) -> None:
        """Apply a force (N, world axes) at a point (m, world axes) of the body."""
        self.data.xfrc_applied[self.body, :3] = force
        self.data.xfrc_applied[self.body, 3:] = np.cross(point - self.data.xipos[self.body], force)

    def __call__(self, tau, duration: float) -> None:
        self.data.qfrc_applied[:] = tau
        for _ in range(round(duration / PERIOD)):
            self.mujoco.mj_step(self.model, self.data)


@cache
def two_arms():
    """Return two UR5 of which the first holds a load that is welded to the hand of the second."""
    single = ap.Dynamics(arm("ur5"))
    q = np.concatenate([UR5_POSTURE, UR5_POSTURE * [-1, 1, 1, 1, -1, 1]])
    grasp = np.eye(4)
    grasp[:3, :3], grasp[2, 3] = np.diag([1.0, -1.0, -1.0]), 0.3  # the far side of the load
    base = single.pose("tool0", q[:6]) @ grasp @ np.linalg.inv(single.pose("tool0", q[6:]))
    root = ET.Element("robot", name="two-ur5")
    ET.SubElement(root, "link", name="ground")
    for side in ("left", "right"):
        for part in ET.parse(example_path("ur5_robot")).getroot():
            if part.tag not in ("link", "joint"):
                continue
            part = copy.deepcopy(part)
            for each in [*part.findall("visual"), *part.findall("collision"), *part.findall("dynamics")]:
                part.remove(each)
            part.set("name", f"{side}_{part.get('name')}")
            for each in (*part.findall("parent"), *part.findall("child")):
                each.set("link", f"{side}_{each.get('link')}")
            root.append(part)
    _fixed(root, "ground", "left_world", np.eye(4))
    _fixed(root, "ground", "right_world", base)
    load = ET.SubElement(root, "link", name="load")
    inertial = ET.SubElement(load, "inertial")
    ET.SubElement(inertial, "origin", xyz="0 0 0.15")
    ET.SubElement(inertial, "mass", value="3")
    ET.SubElement(inertial, "inertia", ixx="0.03", iyy="0.03", izz="0.01", ixy="0", ixz="0", iyz="0")
    _fixed(root, "left_tool0", "load", np.eye(4))
    ET.SubElement(root, "link", name="grasp")
    _fixed(root, "load", "grasp", grasp)
    tree = ap.load(ET.tostring(root, encoding="unicode"))
    tree = tree.with_actuators(lambda joint, actuator: ap.Actuator())
    names = [name for name in tree.velocity_names if name.startswith("left")]
    return tree.with_loops(ap.Weld("grasp", "right_tool0"), home=q, independent=names)


def _fixed(root: ET.Element, parent: str, child: str, pose: np.ndarray) -> None:
    R = pose[:3, :3]
    angles = np.arctan2(R[2, 1], R[2, 2]), np.arcsin(-R[2, 0]), np.arctan2(R[1, 0], R[0, 0])
    joint = ET.SubElement(root, "joint", name=f"{parent}_to_{child}", type="fixed")
    texts = {"xyz": pose[:3, 3], "rpy": angles}
    ET.SubElement(joint, "origin", **{key: " ".join(repr(float(x)) for x in values) for key, values in texts.items()})
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
