"""The quadratic program of `control.WholeBody` from Pinocchio's matrices, with forces at the corners of the soles.

The variables are the accelerations and one force per corner (or point), in foothold axes, each in its own friction
pyramid. The rows of a wrench cone are not used, so that a wrong cone or a wrong matrix of appell shows in the solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from appell.control.whole_body import ACCELERATION_WEIGHT, FORCE_WEIGHT, MomentumTask, PostureTask, WholeBody
from appell.kinematics.tasks import ComTask, FrameTask
from appell_lab.references.oracle import pinocchio

ACTIVE_DUAL = 1e-7  # multiplier above which a row counts as active


class CornerProgram(NamedTuple):
    """min ½ xᵀHx + gᵀx with A x = b and lower ≤ C x ≤ upper; x = (a, corner forces)."""

    H: np.ndarray
    g: np.ndarray
    A: np.ndarray
    b: np.ndarray
    C: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass
class WholeBodyPeer:
    """The same controller on a model of Pinocchio with the same layout of q and v; targets are at rest."""

    controller: WholeBody
    model: Any
    solver: Any = None  # of CasADi, for programs of one size

    def program(self, q, v, references: dict[str, Any], footholds: np.ndarray) -> tuple[CornerProgram, np.ndarray]:
        """Return the program, and the matrix from its variables to (tau of the joints less its bias, a, wrenches)."""
        pin, model, wb = pinocchio(), self.model, self.controller
        data, n = model.createData(), model.nv
        pin.computeAllTerms(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, np.zeros(n))
        pin.updateFramePlacements(model, data)
        M, h = np.triu(data.M) + np.triu(data.M, 1).T, data.nle.copy()

        K, contact_rows, contact_right, wrench_maps = [], [], [], []
        for contact, foot in zip(wb.contacts.values(), footholds, strict=True):
            J, drift, rate, R = self._frame(data, contact.frame)
            kp, kd = wb.contact_gains
            assert kp == 0.0, "the peer has no gaps"
            size = contact.size
            if size == 3:
                drift = np.r_[drift[:3] + np.cross(rate[3:], rate[:3]), drift[3:]]
            contact_rows.append(J[:size])
            contact_right.append(-(drift + kd * rate)[:size])
            turn = np.kron(np.eye(size // 3), R.T @ foot[:, :3])
            X, Y = wb.size
            points = [(x, y, 0.0) for x in (X, -X) for y in (Y, -Y)] if size == 6 else [(0.0, 0.0, 0.0)]
            wrench = np.hstack([np.vstack([np.eye(3), pin.skew(np.array(p))])[:size] for p in points])
            wrench_maps.append(wrench)
            K.append(J[:size].T @ turn @ wrench)
        forces = np.hstack(K)
        size = n + forces.shape[1]

        rows, goals = self._tasks(data, q, v, references)
        H = np.zeros((size, size))
        H[:n, :n] = rows.T @ rows + ACCELERATION_WEIGHT * np.eye(n)
        H[n:, n:] = FORCE_WEIGHT * block_diag(*(wrench.T @ wrench for wrench in wrench_maps))
        g = np.r_[-rows.T @ goals, np.zeros(size - n)]

        torque = np.hstack([M, -forces])
        held = np.vstack(contact_rows)
        A = np.vstack([torque[:6], np.hstack([held, np.zeros((len(held), size - n))])])
        b = np.r_[-h[:6], np.concatenate(contact_right)]
        limit = model.effortLimit[6:]
        mu = wb.friction / np.sqrt(2.0)
        pyramid = np.array([[1, 0, mu], [-1, 0, mu], [0, 1, mu], [0, -1, mu]])
        count = (size - n) // 3
        cones = np.hstack([np.zeros((4 * count, n)), np.kron(np.eye(count), pyramid)])
        C = np.vstack([torque[6:], cones])
        lower, upper = np.r_[-limit - h[6:], np.zeros(4 * count)], np.r_[limit - h[6:], np.full(4 * count, np.inf)]
        wrenches = np.hstack([np.zeros((sum(map(len, wrench_maps)), n)), block_diag(*wrench_maps)])
        return CornerProgram(H, g, A, b, C, lower, upper), np.vstack([torque[6:], np.eye(size)[:n], wrenches])

    def command(self, q, v, references: dict[str, Any], footholds: np.ndarray) -> list[np.ndarray]:
        """Return tau of the joints, a, and the wrenches, by qpOASES.

        The equations of its active rows are solved once more by least squares, because qpOASES regularises the corner
        forces, which are not unique; the wrenches are.
        """
        import casadi

        program, results = self.program(q, v, references, footholds)
        A, n = np.vstack([program.A, program.C]), len(program.g)
        lower, upper = np.r_[program.b, program.lower], np.r_[program.b, program.upper]
        if self.solver is None:
            shapes = {"h": casadi.Sparsity.dense(n, n), "a": casadi.Sparsity.dense(*A.shape)}
            self.solver = casadi.conic("reference", "qpoases", shapes, {"printLevel": "none"})
        duals = np.array(self.solver(h=program.H, g=program.g, a=A, lba=lower, uba=upper)["lam_a"])[:, 0]
        active = (np.abs(duals) > ACTIVE_DUAL) | (lower == upper)
        rows, right = A[active], np.where(duals > 0.0, upper, lower)[active]
        scale = np.ones(n + len(rows))
        scale[self.model.nv : n] = FORCE_WEIGHT**-0.5
        matrix = np.block([[program.H, rows.T], [rows, np.zeros((len(rows), len(rows)))]]) * scale * scale[:, None]
        x = scale[:n] * np.linalg.lstsq(matrix, scale * np.r_[-program.g, right], rcond=1e-14)[0][:n]
        tau, a, force = np.split(results @ x, [self.model.nv - 6, 2 * self.model.nv - 6])
        return [tau + pinocchio().nonLinearEffects(self.model, self.model.createData(), q, v)[6:], a, force]

    def _frame(self, data, name: str):
        """Jacobian, rate of the velocity at a = 0, and velocity of a frame in its own axes, and its rotation."""
        pin = pinocchio()
        frame = self.model.getFrameId(name)
        local = pin.ReferenceFrame.LOCAL
        J = pin.getFrameJacobian(self.model, data, frame, local)
        drift = pin.getFrameAcceleration(self.model, data, frame, local).vector
        return J, drift, pin.getFrameVelocity(self.model, data, frame, local).vector, data.oMf[frame].rotation

    def _tasks(self, data, q, v, references) -> tuple[np.ndarray, np.ndarray]:
        pin, model, wb = pinocchio(), self.model, self.controller
        n = model.nv
        J_all: list[np.ndarray] = []
        goals: list[np.ndarray] = []
        for task, (kp, kd) in zip(wb.tasks, wb.gains, strict=True):
            target = references[task.name]
            if isinstance(task, FrameTask):
                J, drift, rate, R = self._frame(data, task.frame)
                position = data.oMf[model.getFrameId(task.frame)].translation
                error = np.r_[R.T @ (target[:3, 3] - position), pin.log3(R.T @ target[:3, :3])]
                drift = drift + np.r_[np.cross(rate[3:], rate[:3]), np.zeros(3)]
                weights = np.r_[[task.position] * 3, [task.rotation] * 3]
                J_all.append(weights[:, None] * J)
                goals.append(weights * (kp * error - kd * rate - drift))
            elif isinstance(task, ComTask):
                fresh = model.createData()
                pin.centerOfMass(model, fresh, q, v, np.zeros(n))
                J = pin.jacobianCenterOfMass(model, model.createData(), q)
                J_all.append(task.weight * J)
                goals.append(task.weight * (kp * (target - fresh.com[0]) - kd * fresh.vcom[0] - fresh.acom[0]))
            elif isinstance(task, MomentumTask):
                fresh = model.createData()
                pin.computeCentroidalMapTimeVariation(model, fresh, q, v)
                A, rate = fresh.Ag[3:], fresh.dAg[3:] @ v
                J_all.append(task.weight * A)
                goals.append(task.weight * (kd * (target - A @ v) - rate))
            else:
                assert isinstance(task, PostureTask)
                J_all.append(task.weight * np.eye(n)[6:])
                error = pin.difference(model, q, np.asarray(target))[6:]
                goals.append(task.weight * (kp * error - kd * v[6:]))
        return np.vstack(J_all), np.concatenate(goals)
