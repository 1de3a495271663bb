"""Reference for closed loops with Pinocchio: a tree of one-axis joints, constraints on points, torques by virtual work.

With y the joints of the tree, of which the first are the coordinates of the mechanism, K = ∂(gap rate)/∂ẏ and
rnea(y, ẏ, ÿ) the forces of the tree's motion,

    K ẏ = 0        K ÿ = -K̇ẏ        rnea = Sᵀτ + Kᵀλ                                                            (1)

are solved by least squares, since loops may be overconstrained. Only an initial guess of the joints of the legs comes
from appell, and Newton's method on the gaps must hardly change it.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin


class Loops:
    """Joints are added by name; `hold` closes loops, `actuators` lists the actuators in order."""

    def __init__(self, gravity):
        self.model = pin.Model()
        self.model.gravity.linear = np.array(list(gravity), float)
        self.closures: list[tuple[int, int]] = []
        self.actuators: list[str] = []

    def add(self, name, parent, kind, rotation=None, translation=(0.0, 0.0, 0.0), parameters=None):
        """Add a joint of a kind such as RZ or PX, and a body with ten parameters in its frame."""
        placement = pin.SE3(
            np.eye(3) if rotation is None else np.asarray(rotation, float), np.array(translation, float)
        )
        inboard = 0 if parent is None else self.model.getJointId(parent)
        joint = self.model.addJoint(inboard, getattr(pin, f"JointModel{kind}")(), placement, name)
        body = pin.Inertia.Zero() if parameters is None else pin.Inertia.FromDynamicParameters(np.array(parameters))
        self.model.appendBodyToJoint(joint, body, pin.SE3.Identity())

    def hold(self, first, at, second, on):
        """Tie a point of one joint's body to a point of another's."""
        self.closures.append(tuple(self._frame(name, point) for name, point in ((first, at), (second, on))))

    def _frame(self, joint, point):
        pose = pin.SE3(np.eye(3), np.array(point, float))
        name = f"point{len(self.model.frames)}"
        return self.model.addFrame(pin.Frame(name, self.model.getJointId(joint), 0, pose, pin.FrameType.OP_FRAME))

    # ---- kinematics and dynamics

    def index(self, name):
        return self.model.joints[self.model.getJointId(name)].idx_v

    def _gaps(self, data):
        return np.concatenate([data.oMf[a].translation - data.oMf[b].translation for a, b in self.closures])

    def _jacobian(self, data, y):
        pin.computeJointJacobians(self.model, data, y)
        pin.updateFramePlacements(self.model, data)
        rows = [
            pin.getFrameJacobian(self.model, data, a, pin.LOCAL_WORLD_ALIGNED)[:3]
            - pin.getFrameJacobian(self.model, data, b, pin.LOCAL_WORLD_ALIGNED)[:3]
            for a, b in self.closures
        ]
        return np.vstack(rows)

    def _drift(self, data, y, rate):
        pin.forwardKinematics(self.model, data, y, rate, np.zeros_like(rate))
        pin.updateFramePlacements(self.model, data)

        def acceleration(frame):
            return pin.getFrameClassicalAcceleration(self.model, data, frame, pin.LOCAL_WORLD_ALIGNED).linear

        return np.concatenate([acceleration(a) - acceleration(b) for a, b in self.closures])

    def assemble(self, q, guess):
        """Positions of all joints, those of the legs refined from a guess by name, and the largest change."""
        data, y = self.model.createData(), np.zeros(self.model.nq)
        y[: len(q)] = q
        for name, value in guess.items():
            y[self.index(name)] = value
        first = y.copy()
        for _ in range(6):
            K = self._jacobian(data, y)
            y[len(q) :] -= np.linalg.lstsq(K[:, len(q) :], self._gaps(data), rcond=1e-9)[0]
        self._jacobian(data, y)
        assert np.abs(self._gaps(data)).max() < 1e-14
        return y, np.abs(y - first).max()

    def motion(self, y, v, a):
        """ẏ and ÿ, by (1)."""
        data, n = self.model.createData(), len(v)
        K = self._jacobian(data, y)
        rate, acceleration = np.zeros(self.model.nv), np.zeros(self.model.nv)
        rate[:n], acceleration[:n] = v, a
        rate[n:] = -np.linalg.lstsq(K[:, n:], K[:, :n] @ v, rcond=1e-9)[0]
        acceleration[n:] = -np.linalg.lstsq(K[:, n:], K[:, :n] @ a + self._drift(data, y, rate), rcond=1e-9)[0]
        return rate, acceleration

    def torques(self, y, rate, acceleration):
        """τ of (1)."""
        data = self.model.createData()
        forces = pin.rnea(self.model, data, y, rate, acceleration)
        select = np.zeros((self.model.nv, len(self.actuators)))
        for k, name in enumerate(self.actuators):
            select[self.index(name), k] = 1.0
        held = np.hstack([select, self._jacobian(data, y).T])
        solution = np.linalg.lstsq(held, forces, rcond=1e-9)[0]
        assert np.abs(held @ solution - forces).max() < 1e-9
        return solution[: len(self.actuators)]

    def energy(self, y, rate):
        data = self.model.createData()
        kinetic = pin.computeKineticEnergy(self.model, data, y, rate)
        return kinetic, pin.computePotentialEnergy(self.model, data, y)
