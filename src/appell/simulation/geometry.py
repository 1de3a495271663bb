"""Contacts and dry drives at one instant: their rows, speeds and accelerations, and the inertia, from compiled kernels."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from appell.dynamics import Dynamics
from appell.simulation.contact import Contacts
from appell.simulation.drives import Drives


class Geometry:
    """Evaluates everything about contacts and drives at (q, v); the arrays hold until the next evaluation."""

    def __init__(self, dyn: Dynamics, contacts: Contacts, drives: Drives):
        self.contacts, self.drives = contacts, drives
        self.mass = dyn.mass_matrix.bind()
        self.nq, nv = dyn.system.nq, dyn.system.nv
        self.active = np.ones(len(contacts), bool)  # the contacts whose wall is there
        self.kernels = [self.mass]
        if len(contacts):
            self.motion = contacts.motion.bind()
            self.kernels.append(self.motion)
        if len(drives):
            self.driven = drives.motion.bind()
            self.kernels.append(self.driven)
        parts = [(self.motion, "rows", "speed", "drift")] if len(contacts) else []
        parts += [(self.driven, "D", "rate", "drift")] if len(drives) else []
        self._parts = [tuple(getattr(kernel, name) for name in names) for kernel, *names in parts]
        self.size = 3 * len(contacts) + len(drives)
        self.B, self.speed, self.drift = np.zeros((self.size, nv)), np.zeros(self.size), np.zeros(self.size)

    def at(self, y: np.ndarray) -> Geometry:
        """Everything at a state: three rows a contact (normal, tangents), then one a drive."""
        q, v = y[: self.nq], y[self.nq :]
        for kernel in self.kernels:
            kernel.q[:] = q
            if kernel is not self.mass:
                kernel.v[:] = v
            kernel()
        place = 0
        for rows, speed, drift in self._parts:
            end = place + speed.size
            self.B[place:end] = rows.reshape(speed.size, -1)
            self.speed[place:end], self.drift[place:end] = speed.ravel(), drift.ravel()
            place = end
        return self

    @property
    def M(self) -> np.ndarray:
        return self.mass.M

    def response(self, rows: np.ndarray) -> np.ndarray:
        """M⁻¹ rowsᵀ, (nv, rows)."""
        _, found, failed = lapack.dposv(self.M, rows.T, lower=1)
        return np.linalg.solve(self.M, rows.T) if failed else found

    def normal(self, which) -> np.ndarray:
        """Where the normal rows of contacts stand among all rows."""
        return 3 * np.asarray(which, int)

    def tangents(self, which) -> np.ndarray:
        """Where the tangential rows of contacts stand, two each."""
        return (3 * np.asarray(which, int)[:, None] + [1, 2]).ravel()

    def of_drives(self, which) -> np.ndarray:
        """Where the rows of drives stand."""
        return 3 * len(self.contacts) + np.asarray(which, int)

    def distance(self) -> np.ndarray:
        """First-order distances of points from their walls, infinite if they are not there, and joints from stops."""
        if not len(self.contacts):
            return np.zeros(0)
        with np.errstate(all="ignore"):
            found = np.where(self.motion.gap == 0.0, 0.0, self.motion.gap / self.motion.slope)
        return np.where(self.active, found, np.inf)

    def normal_speed(self) -> np.ndarray:
        return self.speed[: 3 * len(self.contacts) : 3]

    def rates(self) -> np.ndarray:
        """Of the dry drives."""
        return self.speed[3 * len(self.contacts) :]
