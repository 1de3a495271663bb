"""The Agile Wrist in Pinocchio with loops closed by forces: the reference for the torques of the closed form.

The wrist is a tree of nine joints. With K the Jacobian of the gaps of the loops, the torques follow from

    rnea(y, ẏ, ÿ) = Sᵀτ + Kᵀλ                                                                                   (1)

Two gaps per loop, perpendicular to the axis on the platform, are enough, so (1) has nine unknowns. Positions,
velocities and accelerations of the passive joints are given: `tree_states` takes them from the closed form, and
`residual` is the gap of the loops with them.
"""

from __future__ import annotations

import math

import numpy as np

from appell.dynamics import Dynamics
from appell.model.body import Body
from appell.model.mechanism import Mechanism
from appell_lab.references.peer_tree import pinocchio

LEGS = np.array([0, 3, 1, 4, 2, 5])  # joint_motion lists all θ first, the tree lists joints leg by leg


def tree_states(wrist: Dynamics, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[np.ndarray]:
    """Return y, ẏ and ÿ of the tree for motions of the platform."""
    joints = wrist.joint_motion(q, v, a)
    return [np.hstack([joint[:, LEGS], platform]) for joint, platform in zip(joints, (q, v, a), strict=True)]


class LoopPeer:
    """The wrist in Pinocchio: a tree, and pairs of points that coincide."""

    def __init__(self, wrist: Mechanism):
        pin = self.pin = pinocchio()
        model = self.model = pin.Model()
        model.gravity.linear = np.array(list(wrist.gravity))
        self.seats, self.motors = [], []
        assert wrist.design is not None
        *arcs, platform_body = wrist.bodies.values()
        for k, leg in enumerate(wrist.design.legs):
            bend = pin.SE3(pin.utils.rotate("x", leg.alpha1), np.zeros(3))
            base = pin.SE3(np.array([list(row) for row in leg.base.rows]), np.zeros(3))
            first = self._add(0, pin.JointModelRZ(), base, f"theta{k}", arcs[2 * k])
            second = self._add(first, pin.JointModelRZ(), bend, f"psi{k}", arcs[2 * k + 1])
            end = np.array([0.0, -math.sin(leg.alpha2), math.cos(leg.alpha2)])
            self.seats.append((second, end, np.array(list(leg.v_star))))
            self.motors.append(model.joints[first].idx_v)
        platform = self._add(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "platform", platform_body)
        self.pairs, self.tangents = [], []
        for k, (second, end, seat) in enumerate(self.seats):
            across = np.linalg.svd(seat[None])[2][1:]
            self.pairs.append((self._point(f"end{k}", second, end), self._point(f"seat{k}", platform, seat)))
            self.tangents.append(across)
        self.platform = platform
        self.data = model.createData()

    def _add(self, parent, joint, placement, name: str, body: Body | None) -> int:
        number = self.model.addJoint(parent, joint, placement, name)
        parameters = np.array(body.parameters if body else np.zeros(10))
        inertia = self.pin.Inertia.FromDynamicParameters(parameters)
        self.model.appendBodyToJoint(number, inertia, self.pin.SE3.Identity())
        return number

    def _point(self, name: str, joint: int, at: np.ndarray) -> int:
        pose = self.pin.SE3(np.eye(3), at)
        return self.model.addFrame(self.pin.Frame(name, joint, 0, pose, self.pin.FrameType.OP_FRAME))

    def torques(self, y: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
        """Return τ of (1)."""
        pin, model, data = self.pin, self.model, self.data
        forces = pin.rnea(model, data, y, rate, acceleration)
        pin.computeJointJacobians(model, data, y)
        pin.updateFramePlacements(model, data)
        matrix = np.zeros((9, 9))  # columns: Sᵀ, then Kᵀ
        R = data.oMi[self.platform].rotation.T
        for k, ((end, seat), across) in enumerate(zip(self.pairs, self.tangents, strict=True)):
            matrix[self.motors[k], k] = 1.0
            J = pin.getFrameJacobian(model, data, end, pin.LOCAL_WORLD_ALIGNED)[:3]
            H = pin.getFrameJacobian(model, data, seat, pin.LOCAL_WORLD_ALIGNED)[:3]
            matrix[:, 3 + 2 * k : 5 + 2 * k] = (across @ (R @ (J - H))).T
        return np.linalg.solve(matrix, forces)[:3]

    def motor_torques(self, wrist: Dynamics, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return τ of (1) for motions of the platform."""
        return np.array([self.torques(*state) for state in zip(*tree_states(wrist, q, v, a), strict=True)])

    def residual(self, y: np.ndarray) -> float:
        """Return the largest gap of a loop at y, relative to the radius."""
        self.pin.framesForwardKinematics(self.model, self.data, y)
        return max(
            float(np.abs(self.data.oMf[end].translation - self.data.oMf[seat].translation).max())
            for end, seat in self.pairs
        )
