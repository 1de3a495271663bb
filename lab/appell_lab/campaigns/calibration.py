"""Calibration of arms whose measurements are simulated by Pinocchio, and an independent Gauss-Newton solver.

The true robot is the Pinocchio model with random errors of all joint placements and joint offsets. Its target is
measured at planned poses, in a measuring system in a random pose, with noise. The calibrated robot must predict the
target at other poses. The intervals are compared with the parameters that measurements without noise give: as dependent
parameters have errors too, these are the exact values of the identifiable combinations.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pinocchio as pin

from appell import identify
from appell.describe.load import load
from appell.describe.robot_packages import example
from appell.errors import ModelWarning
from appell.identify.calibration.estimate import Calibration
from appell.identify.calibration.plan import PosePlan

ARMS = {  # robot of example-robot-data -> frame that carries the target
    "ur5_robot": "tool0",
    "ur10_robot": "tool0",
    "kinova": "j2s6s200_end_effector",
    "panda": "panda_hand",
    "xarm7": "link_eef",
}
POSES, HELD_OUT = 40, 50
NOISE_M, GOAL_M = 5e-5, 1e-4
LENGTH_ERROR_M, ANGLE_ERROR, OFFSET_ERROR = 1e-3, 2e-3, 5e-3  # standard deviations; angles in rad
TARGET = (0.05, 0.03, 0.1)  # m, nominal position on the frame
MAX_STEPS = 30  # of the Gauss-Newton solver


@dataclass(frozen=True)
class Arm:
    """A Pinocchio model with a frame, and a target and a measuring system."""

    model: pin.Model
    frame: int
    base: pin.SE3
    target: np.ndarray  # in the frame, (3,)

    @staticmethod
    def described(name: str) -> Arm:
        """Return the described arm, measured in its own world, with the target at the origin of the frame."""
        model = pin.buildModelFromUrdf(str(example(name)))
        return Arm(model, model.getFrameId(ARMS[name]), pin.SE3.Identity(), np.zeros(3))

    def with_errors(self, rng: np.random.Generator) -> Arm:
        """Return the arm with random errors, a random measuring system and a target."""
        model = self.model.copy()
        for k in range(1, model.njoints):
            error = np.concatenate([LENGTH_ERROR_M * rng.normal(size=3), ANGLE_ERROR * rng.normal(size=3)])
            offset = np.concatenate([np.zeros(3), [0.0, 0.0, OFFSET_ERROR * rng.normal()]])
            model.jointPlacements[k] = model.jointPlacements[k] * pin.exp6(error) * pin.exp6(offset)
        base = pin.SE3(pin.Quaternion(*_unit(rng.normal(size=4))).matrix(), rng.normal(size=3))
        return Arm(model, self.frame, base, np.array(TARGET) + 5.0 * LENGTH_ERROR_M * rng.normal(size=3))

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Return configurations in the coordinates of Pinocchio: cosine and sine for joints without limits."""
        columns = []
        for joint, angle in zip(list(self.model.joints)[1:], q.T, strict=True):
            columns += [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        return np.column_stack(columns)

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Return the positions of the target in the measuring system, (n, 3)."""
        data, points = self.model.createData(), []
        for row in self.coordinates(q):
            pin.framesForwardKinematics(self.model, data, row)
            points.append(self.base.act(data.oMf[self.frame].act(self.target)))
        return np.array(points)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


@dataclass(frozen=True)
class Outcome:
    """One calibration: errors of the target at held-out poses, m, and whether the intervals contain the true values."""

    described: float  # rms error of the described robot at the measured poses
    error: float  # rms at held-out poses
    largest: float
    within: float  # share of held-out poses with an error below `GOAL_M`
    exact: float  # largest without noise
    names: tuple[str, ...]
    covered: np.ndarray
    fit: Calibration


@lru_cache
def plan(name: str) -> PosePlan:
    """Return the planned poses of an arm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = load(f"example-robot-data:{name}", mimic=False)
    return identify.plan_poses(robot, POSES, frame=ARMS[name], tool=TARGET)


def calibrated(name: str, seed: int) -> Outcome:
    """Measure, calibrate and validate one arm."""
    rng, poses = np.random.default_rng(seed), plan(name)
    geometry = identify.geometric_parameters(poses.geometry.robot, ARMS[name])
    truth = Arm.described(name).with_errors(rng)
    points, held_out = truth.positions(poses.q), geometry.sample(HELD_OUT, rng)
    exact = identify.calibrate(geometry, poses.q, points)
    fit = identify.calibrate(geometry, poses.q, points + NOISE_M * rng.normal(size=points.shape))
    expected = truth.positions(held_out)
    errors = np.linalg.norm(fit.predict(held_out)[:, :3, 3] - expected, axis=1)
    values = exact.parameters[list(fit.columns)]
    return Outcome(
        float(np.sqrt(np.mean(np.sum(fit.described**2, axis=1)))),
        float(np.sqrt(np.mean(errors**2))),
        float(errors.max()),
        float(np.mean(errors < GOAL_M)),
        float(np.linalg.norm(exact.predict(held_out)[:, :3, 3] - expected, axis=1).max()),
        fit.names,
        (fit.intervals[:, 0] <= values) & (values <= fit.intervals[:, 1]),
        fit,
    )


def gauss_newton(arm: Arm, q: np.ndarray, points: np.ndarray) -> Arm:
    """Return the arm whose target fits measured positions best: shortest Gauss-Newton steps over all placements.

    The steps are the shortest of all solutions of the linearised problem, without a choice of parameters. The Jacobian
    is that of Pinocchio's spatial motions: a motion of the placement of joint k moves the target like a rigid body.
    """
    base = pin.SE3(*_rigid(arm.positions(q), points))
    model, target = arm.model.copy(), arm.target.copy()
    joints = list(model.supports[model.frames[arm.frame].parentJoint])[1:]
    for _ in range(MAX_STEPS):
        data, rows, errors = model.createData(), [], []
        for row, point in zip(arm.coordinates(q), points, strict=True):
            pin.framesForwardKinematics(model, data, row)
            at_target = base * data.oMf[arm.frame] * pin.SE3(np.eye(3), target)
            blocks = [_moves(at_target, base)]
            for k in joints:
                blocks.append(_moves(at_target, base * data.oMi[model.parents[k]] * model.jointPlacements[k]))
            rows.append(np.hstack([*blocks, at_target.rotation]))
            errors.append(at_target.translation - point)
        step = -np.linalg.lstsq(np.vstack(rows), np.concatenate(errors), rcond=1e-9)[0]
        base = base * pin.exp6(step[:6])
        for i, k in enumerate(joints, start=1):
            model.jointPlacements[k] = model.jointPlacements[k] * pin.exp6(step[6 * i : 6 * i + 6])
        target = target + step[-3:]
        if np.abs(step).max() < 1e-13:
            break
    return Arm(model, arm.frame, base, target)


def _moves(at_target: pin.SE3, frame: pin.SE3) -> np.ndarray:
    """Return the velocity of the target for unit linear and angular velocities of a frame that carries it, (3, 6)."""
    lever = at_target.translation - frame.translation
    return np.hstack([frame.rotation, -pin.skew(lever) @ frame.rotation])


def _rigid(points: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centre, image = points.mean(axis=0), images.mean(axis=0)
    U, _, Vt = np.linalg.svd((images - image).T @ (points - centre))
    R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    return R, image - R @ centre
