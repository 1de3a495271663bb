"""A tree of links as plain numbers, built twice: as our robot, and as a model of Pinocchio that judges it.

    kind               revolute, continuous, prismatic, spherical, planar or floating
    parent             the number of an earlier link, -1 for the world
    axis, xyz, turn    of the joint: its axis, and where it stands in its parent (turn is a quaternion x, y, z, w)
    mass, com          of the body, in link axes
    moments, tilt      principal moments about the centre of mass, and the quaternion that turns their axes
    leader             the number of the link whose joint this one follows, with `multiplier` and `offset`, or None
    rotor              inertia that a rotor adds at the joint

Neither is made of the other. Pinocchio wants the joints of a subtree in one run and cannot differentiate through
joints that follow others, so each gets coordinates of its own there, in depth-first order, and a matrix G leads from
our v to Pinocchio's: τ = Gᵀ τ_full, M = Gᵀ M_full G.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import Vec3
from appell.errors import AppellError
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.joints import KINDS
from appell.model.robot import Joint, Link, Mimic, Robot

ONE_AXIS = ("revolute", "continuous", "prismatic")
Numbers = dict[str, Any]  # of one link


def pinocchio() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import pinocchio as module
    except ImportError:
        raise AppellError("Pinocchio, which is to be the judge, is not installed.", hint="pip install pin") from None
    return module


def rotation(turn: Sequence[float]) -> np.ndarray:
    """The matrix of a quaternion x, y, z, w of any length."""
    x, y, z, w = np.array(turn, float) / np.linalg.norm(turn)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def central_inertia(link: Numbers) -> np.ndarray:
    R = rotation(link["tilt"])
    inertia = R @ np.diag(link["moments"]) @ R.T
    return (inertia + inertia.T) / 2


def our_robot(links: Sequence[Numbers], gravity: Sequence[float]) -> Robot:
    """The tree as appell has it."""
    made = []
    for k, link in enumerate(links):
        kind: Any = KINDS[link["kind"]]
        motion = kind(link["axis"]) if link["kind"] in ONE_AXIS else kind()
        leader = link["leader"]
        mimic = None if leader is None else Mimic(f"joint{leader}", link["multiplier"], link["offset"])
        place = Pose(of_quaternion(*link["turn"]), Vec3.of(link["xyz"]))
        joint = Joint(f"joint{k}", motion, place, mimic=mimic, actuator=Actuator(rotor_inertia=link["rotor"]))
        body = Body(link["mass"], Vec3.of(link["com"]), Mat3.of(central_inertia(link).tolist()))
        made.append(Link(f"link{k}", f"link{link['parent']}" if link["parent"] >= 0 else None, joint, body))
    return Robot("random", tuple(made), gravity=Vec3.of(gravity))


class PeerTree:
    """The tree as Pinocchio has it, with its answers in our layout."""

    def __init__(self, links: Sequence[Numbers], gravity: Sequence[float], robot: Robot):
        self.pin = pin = pinocchio()
        self.links, self.robot, self.model = links, robot, pin.Model()
        self.model.gravity.linear = np.array(gravity, float)
        self.order, ids = depth_first(links), {-1: 0}
        for k in self.order:
            link = links[k]
            place = pin.SE3(rotation(link["turn"]), np.array(link["xyz"], float))
            ids[k] = self.model.addJoint(ids[link["parent"]], _joint(pin, link), place, f"joint{k}")
            inertia = pin.Inertia(link["mass"], np.array(link["com"], float), central_inertia(link))
            self.model.appendBodyToJoint(ids[k], inertia, pin.SE3.Identity())
        self.data = self.model.createData()
        self.joints = [self.model.joints[ids[k]] for k in range(len(links))]
        self.G = np.zeros((self.model.nv, robot.nv))
        for joint, link, own in zip(self.joints, links, robot.links, strict=True):
            scale = 1.0 if link["leader"] is None else link["multiplier"]
            rows = slice(joint.idx_v, joint.idx_v + joint.nv)
            self.G[rows, robot.span(own.joint)[1]] = scale * np.eye(joint.nv)
            self.model.armature[rows] = link["rotor"]

    def q(self, q: np.ndarray) -> np.ndarray:
        full = np.zeros(self.model.nq)
        for joint, link, own in zip(self.joints, self.links, self.robot.links, strict=True):
            part = np.array(q[self.robot.span(own.joint)[0]], float)
            if link["leader"] is not None:
                part = link["multiplier"] * part + link["offset"]
            if link["kind"] in ("spherical", "floating"):
                part[-4:] /= np.linalg.norm(part[-4:])
            if link["kind"] == "planar":  # its angle is kept as cosine and sine
                part = np.array([part[0], part[1], np.cos(part[2]), np.sin(part[2])])
            full[joint.idx_q : joint.idx_q + joint.nq] = part
        return full

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        return self.G.T @ self.pin.rnea(self.model, self.data, self.q(q), self.G @ v, self.G @ a)

    def mass_matrix(self, q) -> np.ndarray:
        M = self.pin.crba(self.model, self.data, self.q(q))
        return self.G.T @ (np.triu(M) + np.triu(M, 1).T) @ self.G

    def energy(self, q, v) -> tuple[float, float]:
        M = self.mass_matrix(q)
        return 0.5 * v @ M @ v, self.pin.computePotentialEnergy(self.model, self.data, self.q(q))

    # ---- how large the terms are that these results are sums of

    def torque_terms(self, q, v, a) -> np.ndarray:
        """Σ |Y π|: what every inertial parameter of every body contributes, without signs."""
        full_v, full_a = self.G @ v, self.G @ a
        terms = np.abs(self.regressor(self.q(q), full_v, full_a)) @ np.abs(self.parameters)
        return np.abs(self.G).T @ (terms + self.model.armature * np.abs(full_a))

    @cached_property
    def parameters(self) -> np.ndarray:
        """π: ten numbers a body."""
        return np.concatenate([np.array(body.toDynamicParameters()) for body in list(self.model.inertias)[1:]])

    def regressor(self, q, v, a) -> np.ndarray:
        """Y, in Pinocchio's coordinates."""
        Y = self.pin.computeJointTorqueRegressor(self.model, self.data, q, v, a)
        return np.array(Y).reshape(self.model.nv, -1)

    def judge_terms(self, q, v, a) -> np.ndarray:
        """What Pinocchio itself adds up: speeds times momenta, and levers times forces, of all that a joint carries.

        Much of it is zero in the end (v × mv, a lever along its axis), but it is rounded before it is.
        """
        self.pin.forwardKinematics(self.model, self.data, self.q(q), self.G @ v, self.G @ a)
        gravity, terms = np.linalg.norm(self.model.gravity.linear), np.zeros(self.model.nv)
        for k in range(1, self.model.njoints):
            mass, lever = self.model.inertias[k].mass, np.linalg.norm(self.model.inertias[k].lever)
            moving, pushed = self.data.v[k], self.data.a[k]
            turning = np.linalg.norm(moving.angular)
            speed = np.linalg.norm(moving.linear) + lever * turning
            force = mass * (np.linalg.norm(pushed.linear) + gravity + lever * np.linalg.norm(pushed.angular))
            force += mass * turning * speed
            carrier = k
            while carrier:
                joint = self.model.joints[carrier]
                away = np.linalg.norm(self.data.oMi[k].translation - self.data.oMi[carrier].translation) + lever
                terms[joint.idx_v : joint.idx_v + joint.nv] += mass * speed**2 + force * max(away, 1.0)
                carrier = self.model.parents[carrier]
        return self.torque_terms(q, v, a) + np.abs(self.G).T @ terms

    def potential_terms(self, q) -> float:
        self.pin.forwardKinematics(self.model, self.data, self.q(q))
        size = float(np.linalg.norm(self.model.gravity.linear))
        bodies = zip(list(self.model.inertias)[1:], list(self.data.oMi)[1:], strict=True)
        return size * sum(b.mass * (np.linalg.norm(place.translation) + np.linalg.norm(b.lever)) for b, place in bodies)


def depth_first(links: Sequence[Numbers]) -> list[int]:
    """The numbers of the links with every subtree in one run."""

    def outboard(parent: int) -> Iterator[int]:
        for k, link in enumerate(links):
            if link["parent"] == parent:
                yield k
                yield from outboard(k)

    return list(outboard(-1))


def _joint(pin: Any, link: Numbers) -> Any:
    axis = np.array(link["axis"], float) / np.linalg.norm(link["axis"])
    several = {
        "spherical": pin.JointModelSpherical,
        "floating": pin.JointModelFreeFlyer,
        "planar": pin.JointModelPlanar,
    }
    if link["kind"] in several:
        return several[link["kind"]]()
    return (pin.JointModelPrismaticUnaligned if link["kind"] == "prismatic" else pin.JointModelRevoluteUnaligned)(axis)
