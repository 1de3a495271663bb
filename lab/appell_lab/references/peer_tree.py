"""A tree of links as plain numbers, built twice: as a robot of appell, and as a model of Pinocchio to compare it with.

    kind               revolute, continuous, prismatic, spherical, planar or floating
    parent             number of an earlier link, -1 for the world
    axis, xyz, turn    of the joint: its axis, and its placement in the parent (turn is a quaternion x, y, z, w)
    mass, com          of the body, in link axes
    moments, tilt      principal moments about the centre of mass, and the quaternion of their axes
    leader             number of the link whose joint this one mimics, with `multiplier` and `offset`, or None
    rotor              inertia that a rotor adds at the joint

Both are built from the numbers, not from each other. `Oracle` converts between the layouts of q and v.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import Vec3
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.joints import KINDS
from appell.model.robot import Joint, Link, Mimic, Robot
from appell_lab.references.oracle import Oracle, depth_first, pinocchio

ONE_AXIS = ("revolute", "continuous", "prismatic")
Numbers = dict[str, Any]  # of one link


def rotation(turn: Sequence[float]) -> np.ndarray:
    """Return the rotation matrix of a quaternion x, y, z, w of any length."""
    x, y, z, w = np.array(turn, float) / np.linalg.norm(turn)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def central_inertia(link: Numbers) -> np.ndarray:
    """Return the inertia of a body about its centre of mass, in link axes."""
    R = rotation(link["tilt"])
    inertia = R @ np.diag(link["moments"]) @ R.T
    return (inertia + inertia.T) / 2


def our_robot(links: Sequence[Numbers], gravity: Sequence[float]) -> Robot:
    """Return the tree as a robot of appell."""
    built = []
    for k, link in enumerate(links):
        kind: Any = KINDS[link["kind"]]
        motion = kind(link["axis"]) if link["kind"] in ONE_AXIS else kind()
        leader = link["leader"]
        mimic = None if leader is None else Mimic(f"joint{leader}", link["multiplier"], link["offset"])
        placement = Pose(of_quaternion(*link["turn"]), Vec3.of(link["xyz"]))
        joint = Joint(f"joint{k}", motion, placement, mimic=mimic, actuator=Actuator(rotor_inertia=link["rotor"]))
        body = Body(link["mass"], Vec3.of(link["com"]), Mat3.of(central_inertia(link).tolist()))
        built.append(Link(f"link{k}", f"link{link['parent']}" if link["parent"] >= 0 else None, joint, body))
    return Robot("random", tuple(built), gravity=Vec3.of(gravity))


class PeerTree(Oracle):
    """The tree in Pinocchio, built from the numbers and not from the robot of appell."""

    def __init__(self, links: Sequence[Numbers], gravity: Sequence[float], robot: Robot):
        self.links, self.order = links, [robot.links.index(link) for link in depth_first(robot)]
        super().__init__(robot, _model(links, gravity, self.order), rotors=True)

    # ---- magnitudes of the terms that the results are sums of

    def torque_terms(self, q, v, a) -> np.ndarray:
        """Return Σ |Y π|: the contributions of all inertial parameters without their signs."""
        full_v, full_a = self.G @ v, self.G @ a
        terms = np.abs(self.full_regressor(self.q(q), full_v, full_a)) @ np.abs(self.parameters)
        return np.abs(self.G).T @ (terms + self.model.armature * np.abs(full_a))

    @cached_property
    def parameters(self) -> np.ndarray:
        """π, ten numbers per body."""
        return np.concatenate([np.array(body.toDynamicParameters()) for body in list(self.model.inertias)[1:]])

    def full_regressor(self, q, v, a) -> np.ndarray:
        """Return Y in Pinocchio's coordinates."""
        Y = self.pin.computeJointTorqueRegressor(self.model, self.data, q, v, a)
        return np.array(Y).reshape(self.model.nv, -1)

    def rounding_terms(self, q, v, a) -> np.ndarray:
        """Return the magnitude of the terms that Pinocchio adds: speeds times momenta, and levers times forces.

        They are summed over all bodies that a joint carries. Many cancel (v × mv, a lever along its axis), but only
        after rounding.
        """
        self.pin.forwardKinematics(self.model, self.data, self.q(q), self.G @ v, self.G @ a)
        gravity, terms = np.linalg.norm(self.model.gravity.linear), np.zeros(self.model.nv)
        for k in range(1, self.model.njoints):
            mass, lever = self.model.inertias[k].mass, np.linalg.norm(self.model.inertias[k].lever)
            velocity, acceleration = self.data.v[k], self.data.a[k]
            angular = np.linalg.norm(velocity.angular)
            speed = np.linalg.norm(velocity.linear) + lever * angular
            force = mass * (
                np.linalg.norm(acceleration.linear) + gravity + lever * np.linalg.norm(acceleration.angular)
            )
            force += mass * angular * speed
            carrier = k
            while carrier:
                joint = self.model.joints[carrier]
                distance = np.linalg.norm(self.data.oMi[k].translation - self.data.oMi[carrier].translation) + lever
                terms[joint.idx_v : joint.idx_v + joint.nv] += mass * speed**2 + force * max(distance, 1.0)
                carrier = self.model.parents[carrier]
        return self.torque_terms(q, v, a) + np.abs(self.G).T @ terms

    def potential_terms(self, q) -> float:
        """Return the sum of weights times distances from the origin."""
        self.pin.forwardKinematics(self.model, self.data, self.q(q))
        size = float(np.linalg.norm(self.model.gravity.linear))
        bodies = zip(list(self.model.inertias)[1:], list(self.data.oMi)[1:], strict=True)
        return size * sum(b.mass * (np.linalg.norm(pose.translation) + np.linalg.norm(b.lever)) for b, pose in bodies)


def _model(links: Sequence[Numbers], gravity: Sequence[float], order: Sequence[int]) -> Any:
    """Return the tree as a model of Pinocchio."""
    pin, ids = pinocchio(), {-1: 0}
    model = pin.Model()
    model.gravity.linear = np.array(gravity, float)
    for k in order:
        link = links[k]
        placement = pin.SE3(rotation(link["turn"]), np.array(link["xyz"], float))
        ids[k] = model.addJoint(ids[link["parent"]], _joint(pin, link), placement, f"joint{k}")
        inertia = pin.Inertia(link["mass"], np.array(link["com"], float), central_inertia(link))
        model.appendBodyToJoint(ids[k], inertia, pin.SE3.Identity())
    return model


def _joint(pin: Any, link: Numbers) -> Any:
    axis = np.array(link["axis"], float) / np.linalg.norm(link["axis"])
    multi_axis = {
        "spherical": pin.JointModelSpherical,
        "floating": pin.JointModelFreeFlyer,
        "planar": pin.JointModelPlanar,
    }
    if link["kind"] in multi_axis:
        return multi_axis[link["kind"]]()
    return (pin.JointModelPrismaticUnaligned if link["kind"] == "prismatic" else pin.JointModelRevoluteUnaligned)(axis)
