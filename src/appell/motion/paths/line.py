"""A straight line of a robot's frame, as in the papers: position linear in time, orientation constant or slerped.

    p(t) = p₀ + (p₁ - p₀) t/T              R(t) = R₀ exp(t/T w̃),   w = log(R₀ᵀR₁)                              (1)

so that the frame's velocity x = (ṗ, ω) = ((p₁ - p₀)/T, R₀w/T) is constant in world axes. The joints follow from it
exactly,

    v = J⁺ x                               a = J⁺(-J̇v) + (1 - J⁺J) J̇ᵀ J⁺ᵀ v                                    (2)

where J⁺ is the inverse of the Jacobian of a six-joint arm (the second term of a is then zero), or the pseudo-inverse,
which moves a redundant arm with the least joint velocity. The coordinates themselves come from closed-form inverse
kinematics in one configuration where there is one (`branch`), and otherwise by following the path from a start
(`continuation`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError
from appell.model.robot import Robot
from appell.motion.inverse.poses import checked_poses
from appell.motion.inverse.wrist_solver import spherical_wrist
from appell.motion.path import QVA, Numbers, Path, checked_duration
from appell.motion.paths.branch import Branch
from appell.motion.paths.continuation import Continuation


def zyz(first: float, second: float, third: float) -> np.ndarray:
    """The rotation Rz(first) Ry(second) Rz(third), angles in degrees, as the papers give orientations."""
    from scipy.spatial.transform import Rotation  # slow to import, and seldom wanted

    return Rotation.from_euler("ZYZ", [first, second, third], degrees=True).as_matrix()


@dataclass(frozen=True)
class LinePath:
    """The line in space: equation (1)."""

    start: np.ndarray
    end: np.ndarray
    R: np.ndarray
    turn: np.ndarray  # w, in the axes of the frame at the start
    duration: float

    def pose(self, t: np.ndarray) -> np.ndarray:
        from scipy.spatial.transform import Rotation

        fraction = np.asarray(t)[..., None] / self.duration
        T = np.zeros((*np.shape(t), 4, 4))
        T[..., :3, 3] = self.start + fraction * (self.end - self.start)
        T[..., :3, :3] = (
            self.R if not self.turn.any() else self.R @ Rotation.from_rotvec(fraction * self.turn).as_matrix()
        )
        T[..., 3, 3] = 1.0
        return T

    @property
    def twist(self) -> np.ndarray:
        return np.concatenate([self.end - self.start, self.R @ self.turn]) / self.duration


class CartesianLine(Path):
    """A frame of a robot moves along a straight line at constant velocity.

    `orientation` is a 3x3 rotation for the whole line (see `zyz`), or a pair of them for start and end. `configuration`
    is (shoulder, elbow, wrist), each 1 or -1, for an arm that `motion.inverse.spherical_wrist` knows; for any other
    robot, or to choose a winding, it is a q near which the motion starts.
    """

    def __init__(
        self,
        robot: Robot,
        frame: str,
        start: Numbers,
        end: Numbers,
        orientation,
        duration: float,
        configuration: Numbers | None = None,
    ):
        self.robot, self.frame, self.duration = robot, frame, checked_duration(duration)
        robot.frame(frame)
        for link in robot.moving:
            if link.joint.motion.nq != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of robot '{robot.name}' is {link.joint.motion.name}.",
                    expected="joints about or along one axis; fix the base to follow a line with an arm",
                )
        self.names = robot.joint_names
        self.path = _path(start, end, orientation, self.duration)
        dyn = Dynamics(robot)
        self._jacobian = dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED")
        self._rate = dyn.jacobian_rate(frame, "LOCAL_WORLD_ALIGNED")
        self._follower = self._choose(configuration)

    def _choose(self, configuration) -> Branch | Continuation:
        given = None if configuration is None else np.asarray(configuration, float)
        if given is not None and given.shape == (3,) and self.robot.nq != 3:
            return Branch(
                spherical_wrist(self.robot, self.frame), self.path, tuple(int(flag) for flag in given), self._jacobian
            )
        if given is not None and given.shape != (self.robot.nq,):
            raise ArgumentError(
                f"the configuration has shape {given.shape}.",
                expected=f"(shoulder, elbow, wrist), or the {self.robot.nq} coordinates of a start",
            )
        if given is None:
            try:
                solver = spherical_wrist(self.robot, self.frame)
            except ModelError:
                return Continuation(self.robot, self.frame, self.path, self.robot.start, self._jacobian)
            return Branch(solver, self.path, (1, 1, 1), self._jacobian)
        return Continuation(self.robot, self.frame, self.path, given, self._jacobian)

    def _at(self, t: np.ndarray) -> QVA:
        q = self._follower(t)
        J = self._jacobian(q)
        inverse = np.linalg.pinv(J) if J.shape[-2] != J.shape[-1] else np.linalg.inv(J)
        v = inverse @ self.path.twist  # (2)
        Jdot = self._rate(q, v)
        a = -_times(inverse, _times(Jdot, v))
        if J.shape[-1] > 6:
            pull = _times(np.swapaxes(Jdot, -1, -2), _times(np.swapaxes(inverse, -1, -2), v))
            a = a + pull - _times(inverse, _times(J, pull))
        return q, v, a

    def pose(self, t) -> np.ndarray:
        """The pose that the frame is meant to have, (..., 4, 4)."""
        return self.path.pose(np.asarray(t, float))


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", matrix, vector)


def _path(start, end, orientation, duration: float) -> LinePath:
    ends = []
    for name, point in (("start", start), ("end", end)):
        point = np.asarray(point, float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ArgumentError(f"the {name} of the line is {point.tolist()}.", expected="three coordinates in m")
        ends.append(point)
    turns = np.asarray(orientation, float)
    if turns.shape not in ((3, 3), (2, 3, 3)):
        raise ArgumentError(f"the orientation has shape {turns.shape}.", expected="a 3x3 rotation, or one for each end")
    T = np.tile(np.eye(4), (*turns.shape[:-2], 1, 1))
    T[..., :3, :3] = turns
    checked_poses(T, "orientation")
    if turns.ndim == 2:
        return LinePath(ends[0], ends[1], turns, np.zeros(3), duration)
    from scipy.spatial.transform import Rotation

    return LinePath(ends[0], ends[1], turns[0], Rotation.from_matrix(turns[0].T @ turns[1]).as_rotvec(), duration)
