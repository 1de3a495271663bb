"""The contacts at one instant: normals, tangents, Jacobians, inertia, from two compiled kernels."""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.simulation.contact import Contacts


class Geometry:
    """Evaluates everything about contacts at (q, v); the arrays hold until the next evaluation."""

    def __init__(self, dyn: Dynamics, contacts: Contacts):
        self.contacts = contacts
        self.motion = contacts.motion.bind()
        self.mass = dyn.mass_matrix.bind()
        self.nq = dyn.system.nq
        self.active = np.ones(len(contacts), bool)  # the pairs whose wall is there

    def at(self, y: np.ndarray) -> Geometry:
        q, v = y[: self.nq], y[self.nq :]
        motion, mass = self.motion, self.mass
        motion.q[:], motion.v[:], mass.q[:] = q, v, q
        motion()
        mass()
        return self

    @property
    def M(self) -> np.ndarray:
        return self.mass.M

    def distance(self) -> np.ndarray:
        """First-order distances of all points from their walls, infinite from those that are not there."""
        with np.errstate(all="ignore"):
            found = np.where(self.motion.gap == 0.0, 0.0, self.motion.gap / self.motion.slope)
        return np.where(self.active, found, np.inf)

    def normal_speed(self) -> np.ndarray:
        return np.einsum("ki,ki->k", self.motion.normal, self.motion.velocity[self.contacts.point])

    def frames(self, which) -> np.ndarray:
        """(K, 3, 3): rows normal, first and second tangent in the world."""
        return np.array([_frame(n) for n in self.motion.normal[which]]).reshape(-1, 3, 3)

    def rows(self, which, frames: np.ndarray) -> np.ndarray:
        """(K, 3, nv): Jacobians along the rows of the frames."""
        return frames @ self.motion.J[self.contacts.point[which]]

    def normal_rows(self, which) -> np.ndarray:
        return np.einsum("ki,kin->kn", self.motion.normal[which], self.motion.J[self.contacts.point[which]])

    def normal_drift(self, which) -> np.ndarray:
        """The normal acceleration at a = 0: n·(J̇v) + ṗᵀHṗ/|g|, (5) of `appell.formulate.points`."""
        motion, point = self.motion, self.contacts.point[which]
        return np.einsum("ki,ki->k", motion.normal[which], motion.drift[point]) + motion.bend[which]


def _frame(n: np.ndarray) -> np.ndarray:
    """A right-handed frame on a unit normal; the first tangent lies in the x-y plane where the normal does."""
    helper = np.array([0.0, 0.0, 1.0]) if abs(n[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = np.cross(helper, n)
    first /= np.linalg.norm(first)
    return np.array([n, first, np.cross(n, first)])
