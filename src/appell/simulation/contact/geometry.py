"""Contacts and dry drives at one state: Jacobian rows, speeds, accelerations and inertia, from compiled kernels."""

from __future__ import annotations

import numpy as np

from appell.compile.native.bound import Bound
from appell.simulation.contact.contact import Contacts
from appell.simulation.drives import Drives
from appell.simulation.states import States


class Geometry:
    """Evaluates contacts and drives at a state; its arrays are overwritten by the next evaluation.

    `B`, `speed` and `drift` are the Jacobian rows, velocities, and accelerations at a = 0, along three rows per contact
    (normal, two tangents), followed by one row per dry drive.
    """

    def __init__(self, states: States, contacts: Contacts, drives: Drives):
        self.contacts, self.drives, self.states = contacts, drives, states
        self.nq, nv = states.nq, states.nw
        self.active = np.ones(len(contacts), bool)  # contacts whose wall exists at the current time
        self.kernels: list[Bound] = []
        if len(contacts):
            self.motion = contacts.motion.bind()
            self.kernels.append(self.motion)
        if len(drives):
            self.driven = drives.motion.bind()
            self.kernels.append(self.driven)
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # (B, speed, drift), flat views
        if len(contacts):
            motion = self.motion
            self._parts.append((motion.rows.reshape(-1, nv), motion.speed.reshape(-1), motion.drift.reshape(-1)))
        if len(drives):
            self._parts.append((self.driven.D, self.driven.rate, self.driven.drift))
        size = 3 * len(contacts) + len(drives)
        self.B, self.speed, self.drift = np.zeros((size, nv)), np.zeros(size), np.zeros(size)
        if len(self._parts) == 1:
            self.B, self.speed, self.drift = self._parts[0]

    def at(self, y: np.ndarray) -> Geometry:
        """Evaluate all arrays at a state y = (q, w) and return this object."""
        q, w = y[: self.nq], y[self.nq :]
        for kernel in self.kernels:
            kernel.q[:], kernel.v[:] = q, w
            kernel()
        if self.kernels:
            self.states.evaluate(q)
        if len(self._parts) == 2:
            cut = 3 * len(self.contacts)
            for part, (rows, speed, drift) in zip((slice(cut), slice(cut, None)), self._parts, strict=True):
                self.B[part], self.speed[part], self.drift[part] = rows, speed, drift
        return self

    @property
    def M(self) -> np.ndarray:
        """The inertia matrix, (nw, nw)."""
        return self.states.mass.M

    def response(self, rows: np.ndarray) -> np.ndarray:
        """Return the changes of the velocities w by unit impulses along rows, (nw, rows)."""
        return self.states.response(rows)

    def normal_rows(self, contacts) -> np.ndarray:
        """Return the indices of the normal rows of contacts."""
        return 3 * np.asarray(contacts, int)

    def tangent_rows(self, contacts) -> np.ndarray:
        """Return the indices of the tangential rows of contacts, two each."""
        return (3 * np.asarray(contacts, int)[:, None] + [1, 2]).ravel()

    def drive_rows(self, drives) -> np.ndarray:
        """Return the indices of the rows of drives."""
        return 3 * len(self.contacts) + np.asarray(drives, int)

    def distance(self) -> np.ndarray:
        """Return first-order distances of points from walls (infinite if inactive) and of joints from stops."""
        if not len(self.contacts):
            return np.zeros(0)
        with np.errstate(all="ignore"):
            distance = np.where(self.motion.gap == 0.0, 0.0, self.motion.gap / self.motion.slope)
        return np.where(self.active, distance, np.inf)

    def normal_speed(self) -> np.ndarray:
        """Return the normal velocities of all contacts, positive away from the wall."""
        return self.speed[: 3 * len(self.contacts) : 3]

    def rates(self) -> np.ndarray:
        """Return the velocities θ̇ of the dry drives."""
        return self.speed[3 * len(self.contacts) :]
