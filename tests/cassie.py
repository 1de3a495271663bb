"""The left leg of Cassie from the SDF of example-robot-data: a tree, closed by the ends of two rods.

    pelvis ─ hip roll ─ hip yaw ─ hip pitch ┬ knee ─ shin ─ tarsus ┬ heel spring ┄ achilles rod
                                            └ achilles rod (ball)  ├ foot crank ─ plantar rod ┄ foot
                                                                   └ foot

SDF gives the poses of links in the model. A joint is at the origin of its child and rotates about one of its axes; q =
0 is the given pose. Angles of 90 degrees are given to four digits only, so parallel axes would not be parallel; they
are rounded to exact multiples. A rod ends at the joint between it and its neighbour in the file.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import cache
from importlib.metadata import files

import numpy as np
import pinocchio as pin

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.build import Builder
from appell.model.joints import Floating, Revolute, Spherical
from appell.model.robot import Robot

SIDE = "left-"
RODS = (("achilles-rod", "heel-spring", "achilles-spring-joint"), ("plantar-rod", "foot", "plantar-foot-joint"))
RIGHT_ANGLE = np.pi / 2


@cache
def cassie_leg() -> tuple[Robot, list[dict]]:
    """Return the leg with a floating pelvis, and its closures as plain data."""
    (path,) = (file.locate() for file in files("example-robot-data") or () if file.name == "cassie_v2.sdf")
    model = ElementTree.parse(path).getroot().find("model")
    links = {link.get("name"): link for link in model.findall("link")}
    joints = {joint.get("name"): joint for joint in model.findall("joint")}
    poses = {name: se3(link.findtext("pose")) for name, link in links.items()}
    builder = Builder("cassie-leg", root=None)
    builder.link("pelvis", Floating(), joint_name="pelvis", at=pose(poses["pelvis"]), **inertial(links["pelvis"]))
    rods = {f"{SIDE}{joint}" for *_, joint in RODS}
    for name, joint in joints.items():
        if not name.startswith(SIDE) or name in rods:
            continue
        parent, child = (joint.findtext(tag).strip() for tag in ("parent", "child"))
        ball = joint.get("type") == "ball"
        if ball:  # of the achilles rod on the hip, with parent and child exchanged
            parent, child = child, parent
        motion = Spherical() if ball else Revolute(np.fromstring(joint.findtext("axis/xyz"), sep=" ").tolist())
        at = pose(poses[parent].actInv(poses[child]))
        builder.link(child, motion, parent=parent, joint_name=name, at=at, **inertial(links[child]))
    return builder.build(), [closure(joints, poses, *rod) for rod in RODS]


def closure(joints, poses, rod, other, joint) -> dict:
    """Return the closure between the end of a rod and the other link, at the pose of the joint."""
    child = joints[f"{SIDE}{joint}"].findtext("child").strip()
    end = (poses[child] * se3(joints[f"{SIDE}{joint}"].findtext("pose"))).translation
    sides = {}
    for side, name in (("a", f"{SIDE}{rod}"), ("b", f"{SIDE}{other}")):
        sides[side] = {"link": name, "xyz": poses[name].actInv(end).tolist()}
    return {"type": "point", **sides}


def se3(text: str) -> pin.SE3:
    numbers = [float(word) for word in text.split()]
    rpy = [RIGHT_ANGLE * round(x / RIGHT_ANGLE) if _is_right_angle(x) else x for x in numbers[3:]]
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(numbers[:3]))


def _is_right_angle(angle: float) -> bool:
    return abs(angle / RIGHT_ANGLE - round(angle / RIGHT_ANGLE)) < 1e-4


def pose(se3_pose: pin.SE3) -> Pose:
    return Pose(Mat3.of(se3_pose.rotation.tolist()), Vec3.of(se3_pose.translation.tolist()))


def inertial(link) -> dict:
    inertia = [float(link.findtext(f"inertial/inertia/i{ij}")) for ij in ("xx", "xy", "xz", "yy", "yz", "zz")]
    com = [float(word) for word in link.findtext("inertial/pose").split()[:3]]
    return {"mass": float(link.findtext("inertial/mass")), "com": com, "inertia": inertia}
