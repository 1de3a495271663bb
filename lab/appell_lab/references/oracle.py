"""Pinocchio as the reference: the same robot built there, with its results in the layout of appell.

Pinocchio requires the joints of a subtree to be contiguous, stores (cos, sin) of the angle of a planar joint, and
cannot differentiate through mimic joints. So every joint has its own coordinates there, in depth-first order, and the
matrix G maps the v of appell to Pinocchio's: τ = Gᵀ τ_full, M = Gᵀ M_full G.

Rotors are Pinocchio's armature, one number per joint; G then adds the rotor of a mimic joint to its leader. Inverse and
forward dynamics, their derivatives and the inertia matrix include it. Pinocchio's kinetic energy includes only a part
of it, so ½vᵀMv is used here. Momentum, Coriolis matrix and regressor are those of the links alone. Friction is stored
in Pinocchio's model but not used by its algorithms, so it is left out here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.model.robot import Link, Robot


def pinocchio() -> Any:
    """Return the module `pinocchio`, or raise an error that states how to install it."""
    try:
        import pinocchio as module
    except ImportError:
        raise AppellError(
            "Pinocchio, the reference implementation, is not installed.", hint="pip install pin"
        ) from None
    return module


class Oracle:
    """The equations of motion of a robot according to Pinocchio, with the names and layouts of `Dynamics`.

    Parameters
    ----------
    robot : the robot
    model : the same robot as a Pinocchio model that was built independently; None: built from `robot`
    rotors : whether the inertia of the rotors is included
    """

    def __init__(self, robot: Robot, model: Any = None, *, rotors: bool = False):
        self.pin, self.robot = pinocchio(), robot
        self.model = model or self._build()
        self.ids = {None: 0} | {link.name: self.model.getJointId(link.joint.name) for link in robot.links}
        self.data = self.model.createData()
        self.G = np.zeros((self.model.nv, robot.nv))
        for link in robot.links:
            joint, span = self.model.joints[self.ids[link.name]], robot.span(link.joint)[1]
            scale = link.joint.mimic.multiplier if link.joint.mimic else 1.0
            self.G[joint.idx_v : joint.idx_v + joint.nv, span] = scale * np.eye(joint.nv)
            if rotors:
                self.model.armature[joint.idx_v : joint.idx_v + joint.nv] = link.joint.actuator.reflected_inertia
        self.has_mimic = any(link.joint.mimic for link in robot.links)

    @staticmethod
    def of_urdf(robot: Robot, path) -> Oracle:
        """Return the oracle for a robot read from a URDF, with the model that Pinocchio reads from the same file."""
        pin = pinocchio()
        if robot.links[0].joint.motion.name == "floating":
            return Oracle(robot, pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()))
        return Oracle(robot, pin.buildModelFromUrdf(str(path)))

    def _build(self) -> Any:
        pin = self.pin
        ids: dict[str | None, int] = {None: 0}
        robot, model = self.robot, pin.Model()
        model.gravity.linear = np.array(list(robot.gravity))
        for link in depth_first(robot):
            joint = model.addJoint(
                ids[link.parent], joint_model(pin, link.joint.motion), se3(pin, link.joint.placement), link.joint.name
            )
            body = (
                pin.Inertia.FromDynamicParameters(np.array(link.body.parameters)) if link.body else pin.Inertia.Zero()
            )
            model.appendBodyToJoint(joint, body, pin.SE3.Identity())
            carrier = model.addJointFrame(joint)
            model.addFrame(pin.Frame(link.name, joint, carrier, pin.SE3.Identity(), pin.FrameType.BODY))
            ids[link.name] = joint
        for frame in robot.frames:
            model.addFrame(pin.Frame(frame.name, ids[frame.body], 0, se3(pin, frame.pose), pin.FrameType.BODY))
        return model

    def q(self, q):
        """Return Pinocchio's coordinates."""
        full = np.zeros(self.model.nq)
        for link in self.robot.links:
            joint = self.model.joints[self.ids[link.name]]
            position: Any = np.array(self.robot.joint_position(link.joint, q), float)
            if link.joint.motion.name in ("spherical", "floating"):
                position[-4:] /= np.linalg.norm(position[-4:])
            if joint.nq == len(position) + 1:  # an angle, stored as its cosine and sine
                position = [*position[:-1], np.cos(position[-1]), np.sin(position[-1])]
            full[joint.idx_q : joint.idx_q + joint.nq] = position
        return full

    def inverse_dynamics(self, q, v, a):
        return self.G.T @ self.pin.rnea(self.model, self.data, self.q(q), self.G @ v, self.G @ a)

    def mass_matrix(self, q):
        M = self.pin.crba(self.model, self.data, self.q(q))
        return self.G.T @ (np.triu(M) + np.triu(M, 1).T) @ self.G

    def inverse_mass_matrix(self, q):
        if self.has_mimic:
            return np.linalg.inv(self.mass_matrix(q))
        inverse = self.pin.computeMinverse(self.model, self.data, self.q(q))
        return self.G.T @ (np.triu(inverse) + np.triu(inverse, 1).T) @ self.G

    def bias(self, q, v):
        return self.G.T @ self.pin.nonLinearEffects(self.model, self.data, self.q(q), self.G @ v)

    def gravity(self, q):
        return self.G.T @ self.pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def forward_dynamics(self, q, v, tau):
        if self.has_mimic:
            return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, v))
        return self.G.T @ self.pin.aba(self.model, self.data, self.q(q), self.G @ v, self.G @ tau)

    def energy(self, q, v):
        kinetic = self.pin.computeKineticEnergy(self.model, self.data, self.q(q), self.G @ v)
        if self.model.armature.any():
            kinetic = 0.5 * v @ self.mass_matrix(q) @ v
        return kinetic, self.pin.computePotentialEnergy(self.model, self.data, self.q(q))

    def momentum(self, q, v):
        return self.pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.G @ v).vector

    def center_of_mass(self, q):
        return self.pin.centerOfMass(self.model, self.data, self.q(q))

    def coriolis(self, q, v):
        return self.G.T @ self.pin.computeCoriolisMatrix(self.model, self.data, self.q(q), self.G @ v) @ self.G

    def regressor(self, q, v, a):
        full = self.pin.computeJointTorqueRegressor(self.model, self.data, self.q(q), self.G @ v, self.G @ a)
        columns = [10 * (self.ids[link.name] - 1) + k for link in self.robot.links for k in range(10)]
        return self.G.T @ np.reshape(full, (self.model.nv, -1))[:, columns]

    def inverse_dynamics_derivatives(self, q, v, a):
        dq, dv, M = self.pin.computeRNEADerivatives(self.model, self.data, self.q(q), self.G @ v, self.G @ a)
        M = np.triu(M) + np.triu(M, 1).T
        return tuple(self.G.T @ part @ self.G for part in (dq, dv, M))

    def forward_dynamics_derivatives(self, q, v, tau):
        """Return Pinocchio's derivatives, or with mimic joints the implicit ones: ∂a/∂x = -M⁻¹ ∂τ/∂x at a(τ)."""
        if not self.has_mimic:
            full = self.q(q), self.G @ v, self.G @ tau
            dq, dv, inverse = self.pin.computeABADerivatives(self.model, self.data, *full)
            return tuple(self.G.T @ part @ self.G for part in (dq, dv, np.triu(inverse) + np.triu(inverse, 1).T))
        a = self.forward_dynamics(q, v, tau)
        dq, dv, M = self.inverse_dynamics_derivatives(q, v, a)
        return -np.linalg.solve(M, dq), -np.linalg.solve(M, dv), np.linalg.inv(M)

    def _frame(self, name):
        return self.model.getFrameId(name, self.pin.FrameType.BODY)

    def pose(self, name, q):
        self.pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self._frame(name)].homogeneous

    def jacobian(self, name, q, reference):
        full = self.pin.computeFrameJacobian(
            self.model, self.data, self.q(q), self._frame(name), getattr(self.pin, reference)
        )
        return np.reshape(full, (6, -1)) @ self.G

    def jacobian_rate(self, name, q, v, reference):
        self.pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q(q), self.G @ v)
        self.pin.updateFramePlacements(self.model, self.data)
        full = self.pin.getFrameJacobianTimeVariation(
            self.model, self.data, self._frame(name), getattr(self.pin, reference)
        )
        return np.reshape(full, (6, -1)) @ self.G


def depth_first(robot: Robot) -> list[Link]:
    """Return the links in depth-first order, so that every subtree is contiguous."""
    children: dict[str | None, list] = {}
    for link in robot.links:
        children.setdefault(link.parent, []).append(link)
    ordered, waiting = [], children[None][::-1]
    while waiting:
        ordered.append(waiting.pop())
        waiting += children.get(ordered[-1].name, [])[::-1]
    return ordered


def joint_model(pin: Any, motion: Any) -> Any:
    """Return Pinocchio's joint model for a joint of appell."""
    match motion.name:
        case "revolute" | "continuous":
            return pin.JointModelRevoluteUnaligned(np.array(list(motion.axis)))
        case "prismatic":
            return pin.JointModelPrismaticUnaligned(np.array(list(motion.axis)))
        case "spherical":
            return pin.JointModelSpherical()
        case "floating":
            return pin.JointModelFreeFlyer()
        case "planar":
            return pin.JointModelPlanar()


def se3(pin: Any, pose: Any) -> Any:
    """Return a pose as Pinocchio's SE3."""
    rotation = np.array([list(row) for row in pose.rotation.rows])
    return pin.SE3(rotation, np.array(list(pose.translation)))


def relative_error(ours, theirs) -> float:
    """Return the largest error relative to the largest entry."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-300))
