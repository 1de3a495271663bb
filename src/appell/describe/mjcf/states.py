"""Convert states between MuJoCo and appell, for robots whose joints have MuJoCo's order.

                        MuJoCo (qpos, qvel)                 appell (q, v)
    hinge, slide        the same                            the same
    quaternion          w x y z                             x y z w
    ball                angular velocity in body axes       the same
    free, angular       body axes                           the same
    free, linear        world axes:  ẋ                      link axes:  u = Rᵀ ẋ

With v = T(q) qvel, where T rotates the linear velocities of free joints by Rᵀ and is the identity otherwise,

    a = T qacc - ω × u          qfrc = Tᵀ tau          M_mujoco = Tᵀ M T                                         (1)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ModelError
from appell.model.joints import Floating, Planar, rotate_vector
from appell.model.robot import Robot
from appell.model.system import System

CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])  # factors that invert a unit quaternion x y z w


@dataclass(frozen=True)
class MujocoStates:
    """Convert coordinates, velocities, accelerations and forces: MujocoStates(robot).q(qpos).

    Arrays may have any leading axes. For a robot with loops, velocities, accelerations and forces are those of its
    tree.

    Examples
    --------
    >>> import appell as ap
    >>> states = ap.MujocoStates(ap.load("box"))
    >>> states.q([0, 0, 1, 1, 0, 0, 0])  # a quaternion w x y z becomes x y z w
    array([0., 0., 1., 0., 0., 0., 1.])
    """

    robot: System

    def __post_init__(self):
        tree = self.robot.tree
        if not isinstance(tree, Robot):
            raise ModelError(f"{self.robot.owner} has no MuJoCo states, because it is not a tree of links.")
        unsupported = [
            link.joint.name for link in tree.links if link.joint.mimic or isinstance(link.joint.motion, Planar)
        ]
        if unsupported:
            problem = f"MuJoCo has no mimic or planar joints, but {tree.owner} has: {', '.join(unsupported)}."
            raise ModelError(problem, hint="Convert the robot with `appell convert`, and load the MJCF file.")

    @property
    def _free(self) -> list[tuple[slice, slice]]:
        tree = self.robot.tree
        return [tree.span(link.joint) for link in tree.moving if isinstance(link.joint.motion, Floating)]

    def q(self, qpos) -> np.ndarray:
        """Return q (..., nq) for qpos."""
        q = self._sized("qpos", qpos, self.robot.tree.nq)
        for at in self.robot.tree.quaternions:
            q[..., at] = np.roll(q[..., at], -1, axis=-1)
        return q

    def qpos(self, q) -> np.ndarray:
        """Return qpos for q (..., nq)."""
        qpos = self._sized("q", q, self.robot.tree.nq)
        for at in self.robot.tree.quaternions:
            qpos[..., at] = np.roll(qpos[..., at], 1, axis=-1)
        return qpos

    def v(self, q, qvel) -> np.ndarray:
        """Return v (..., nv) for qvel at q."""
        return self._rotated(q, qvel, "qvel", CONJUGATE)

    def qvel(self, q, v) -> np.ndarray:
        """Return qvel for v (..., nv) at q."""
        return self._rotated(q, v, "v", 1.0)

    def a(self, q, v, qacc) -> np.ndarray:
        """Return a (..., nv) for qacc at q and v, both in appell's convention."""
        a, v = self._rotated(q, qacc, "qacc", CONJUGATE), self._sized("v", v, self.robot.tree.nv)
        for _, at in self._free:
            start = at.start
            a[..., start : start + 3] -= np.cross(v[..., start + 3 : start + 6], v[..., start : start + 3])
        return a

    def qacc(self, q, v, a) -> np.ndarray:
        """Return qacc for a (..., nv) at q and v."""
        a, v = self._sized("a", a, self.robot.tree.nv), self._sized("v", v, self.robot.tree.nv)
        a, v = (np.array(x) for x in np.broadcast_arrays(a, v))
        for _, at in self._free:
            start = at.start
            a[..., start : start + 3] += np.cross(v[..., start + 3 : start + 6], v[..., start : start + 3])
        return self._rotated(q, a, "a", 1.0)

    def tau(self, q, qfrc) -> np.ndarray:
        """Return the generalised forces tau (..., nv) for MuJoCo's qfrc at q."""
        return self._rotated(q, qfrc, "qfrc", CONJUGATE)

    def qfrc(self, q, tau) -> np.ndarray:
        """Return MuJoCo's qfrc for the generalised forces tau (..., nv) at q."""
        return self._rotated(q, tau, "tau", 1.0)

    def matrix(self, q) -> np.ndarray:
        """Return T(q) of (1), (..., nv, nv)."""
        nv = self.robot.tree.nv
        columns = self.v(np.asarray(q, float)[..., None, :], np.eye(nv))
        return np.swapaxes(columns, -1, -2)

    def _rotated(self, q, vector, what: str, factors) -> np.ndarray:
        tree = self.robot.tree
        q, vector = self._sized("q", q, tree.nq), self._sized(what, vector, tree.nv)
        batch = np.broadcast_shapes(q.shape[:-1], vector.shape[:-1])
        rotated = np.array(np.broadcast_to(vector, (*batch, tree.nv)))
        for at_q, at_v in self._free:
            quaternion = q[..., at_q.start + 3 : at_q.start + 7]
            quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
            linear = slice(at_v.start, at_v.start + 3)
            rotated[..., linear] = rotate_vector(factors * quaternion, rotated[..., linear])
        return rotated

    def _sized(self, what: str, values, size: int) -> np.ndarray:
        return np.array(self.robot.tree.sized(what, values, size))
