"""The left leg of Cassie, as example-robot-data has it in SDF: a tree, and the ends of two rods that close it.

    pelvis ─ hip roll ─ hip yaw ─ hip pitch ┬ knee ─ shin ─ tarsus ┬ heel spring ┄ achilles rod
                                            └ achilles rod (ball)  ├ foot crank ─ plantar rod ┄ foot
                                                                   └ foot

SDF gives the poses of links in the model; joints stand where their child does, turn about one of its axes, and q = 0 is
the pose that is printed. Quarter turns are printed to four digits, which would make parallel axes cross; they are made
whole. A rod ends where the file puts the joint between it and its neighbour.
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
QUARTER = np.pi / 2


@cache
def cassie_leg() -> tuple[Robot, list[dict]]:
    """The leg with its pelvis on a free flyer, and its closures as plain data."""
    (path,) = (file.locate() for file in files("example-robot-data") or () if file.name == "cassie_v2.sdf")
    model = ElementTree.parse(path).getroot().find("model")
    links = {link.get("name"): link for link in model.findall("link")}
    joints = {joint.get("name"): joint for joint in model.findall("joint")}
    places = {name: se3(link.findtext("pose")) for name, link in links.items()}
    made = Builder("cassie-leg", root=None)
    made.link("pelvis", Floating(), joint_name="pelvis", at=pose(places["pelvis"]), **matter(links["pelvis"]))
    rods = {f"{SIDE}{joint}" for *_, joint in RODS}
    for name, joint in joints.items():
        if not name.startswith(SIDE) or name in rods:
            continue
        parent, child = (joint.findtext(tag).strip() for tag in ("parent", "child"))
        ball = joint.get("type") == "ball"
        if ball:  # of the achilles rod on the hip, told the other way round
            parent, child = child, parent
        motion = Spherical() if ball else Revolute(np.fromstring(joint.findtext("axis/xyz"), sep=" ").tolist())
        at = pose(places[parent].actInv(places[child]))
        made.link(child, motion, parent=parent, joint_name=name, at=at, **matter(links[child]))
    return made.build(), [closure(joints, places, *rod) for rod in RODS]


def closure(joints, places, rod, other, joint) -> dict:
    """The end of a rod and its place on the other link, where the joint's pose on its child says."""
    child = joints[f"{SIDE}{joint}"].findtext("child").strip()
    end = (places[child] * se3(joints[f"{SIDE}{joint}"].findtext("pose"))).translation
    sides = {}
    for side, name in (("a", f"{SIDE}{rod}"), ("b", f"{SIDE}{other}")):
        sides[side] = {"link": name, "xyz": places[name].actInv(end).tolist()}
    return {"type": "point", **sides}


def se3(text: str) -> pin.SE3:
    numbers = [float(word) for word in text.split()]
    turns = [QUARTER * round(x / QUARTER) if abs(x / QUARTER - round(x / QUARTER)) < 1e-4 else x for x in numbers[3:]]
    return pin.SE3(pin.rpy.rpyToMatrix(*turns), np.array(numbers[:3]))


def pose(place: pin.SE3) -> Pose:
    return Pose(Mat3.of(place.rotation.tolist()), Vec3.of(place.translation.tolist()))


def matter(link) -> dict:
    inertia = [float(link.findtext(f"inertial/inertia/i{ij}")) for ij in ("xx", "xy", "xz", "yy", "yz", "zz")]
    com = [float(word) for word in link.findtext("inertial/pose").split()[:3]]
    return {"mass": float(link.findtext("inertial/mass")), "com": com, "inertia": inertia}
