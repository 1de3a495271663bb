"""States between MuJoCo and appell, for robots whose joints stand in MuJoCo's order.

                        MuJoCo (qpos, qvel)                 appell (q, v)
    hinge, slide        the same                            the same
    quaternion          w x y z                             x y z w
    ball                angular velocity in body axes       the same
    free, angular       body axes                           the same
    free, linear        world axes:  ẋ                      link axes:  u = Rᵀ ẋ

So with v = T(q) qvel, where T turns the linear velocities of free joints by Rᵀ and leaves all else alone,

    a = T qacc - ω × u          qfrc = Tᵀ tau          M_mujoco = Tᵀ M T                                         (1)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ModelError
from appell.model.joints import Floating, Planar, turn_by
from appell.model.robot import Robot
from appell.model.system import System

BACK = np.array([-1.0, -1.0, -1.0, 1.0])  # of a quaternion x y z w


@dataclass(frozen=True)
class MujocoStates:
    """Turns states: MujocoStates(robot).q(qpos); arrays may have any leading axes.

    Of a robot with loops, velocities, accelerations and forces are those of its tree, all of them.
    """

    robot: System

    def __post_init__(self):
        tree = self.robot.tree
        if not isinstance(tree, Robot):
            raise ModelError(f"{self.robot.owner} is no tree of links, so that MuJoCo has no states of it.")
        strange = [link.joint.name for link in tree.links if link.joint.mimic or isinstance(link.joint.motion, Planar)]
        if strange:
            problem = f"joints {', '.join(strange)} of {tree.owner} are no joints of MuJoCo: mimic or planar."
            raise ModelError(problem, hint="appell convert, which writes them as MuJoCo has them")

    @property
    def _free(self) -> list[tuple[slice, slice]]:
        tree = self.robot.tree
        return [tree.span(link.joint) for link in tree.moving if isinstance(link.joint.motion, Floating)]

    def q(self, qpos) -> np.ndarray:
        """q of qpos."""
        q = self._sized("qpos", qpos, self.robot.tree.nq)
        for at in self.robot.tree.quaternions:
            q[..., at] = np.roll(q[..., at], -1, axis=-1)
        return q

    def qpos(self, q) -> np.ndarray:
        """qpos of q."""
        qpos = self._sized("q", q, self.robot.tree.nq)
        for at in self.robot.tree.quaternions:
            qpos[..., at] = np.roll(qpos[..., at], 1, axis=-1)
        return qpos

    def v(self, q, qvel) -> np.ndarray:
        """v of qvel, at q."""
        return self._turned(q, qvel, "qvel", BACK)

    def qvel(self, q, v) -> np.ndarray:
        """qvel of v, at q."""
        return self._turned(q, v, "v", 1.0)

    def a(self, q, v, qacc) -> np.ndarray:
        """a of qacc, at q and v (ours)."""
        a, v = self._turned(q, qacc, "qacc", BACK), self._sized("v", v, self.robot.tree.nv)
        for _, at in self._free:
            start = at.start
            a[..., start : start + 3] -= np.cross(v[..., start + 3 : start + 6], v[..., start : start + 3])
        return a

    def qacc(self, q, v, a) -> np.ndarray:
        """qacc of a, at q and v."""
        a, v = self._sized("a", a, self.robot.tree.nv), self._sized("v", v, self.robot.tree.nv)
        a, v = (np.array(x) for x in np.broadcast_arrays(a, v))
        for _, at in self._free:
            start = at.start
            a[..., start : start + 3] += np.cross(v[..., start + 3 : start + 6], v[..., start : start + 3])
        return self._turned(q, a, "a", 1.0)

    def tau(self, q, qfrc) -> np.ndarray:
        """Forces of ours, of MuJoCo's."""
        return self._turned(q, qfrc, "qfrc", BACK)

    def qfrc(self, q, tau) -> np.ndarray:
        """Forces of MuJoCo's, of ours."""
        return self._turned(q, tau, "tau", 1.0)

    def matrix(self, q) -> np.ndarray:
        """T(q) of (1), one matrix a sample."""
        nv = self.robot.tree.nv
        columns = self.v(np.asarray(q, float)[..., None, :], np.eye(nv))
        return np.swapaxes(columns, -1, -2)

    def _turned(self, q, vector, what: str, way) -> np.ndarray:
        tree = self.robot.tree
        q, vector = self._sized("q", q, tree.nq), self._sized(what, vector, tree.nv)
        batch = np.broadcast_shapes(q.shape[:-1], vector.shape[:-1])
        turned = np.array(np.broadcast_to(vector, (*batch, tree.nv)))
        for at_q, at_v in self._free:
            quaternion = q[..., at_q.start + 3 : at_q.start + 7]
            quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
            linear = slice(at_v.start, at_v.start + 3)
            turned[..., linear] = turn_by(way * quaternion, turned[..., linear])
        return turned

    def _sized(self, what: str, values, size: int) -> np.ndarray:
        return np.array(self.robot.tree.sized(what, values, size))
