"""Contacts and dry drives at one instant: rows, speeds, accelerations and inertia, from compiled kernels."""

from __future__ import annotations

import numpy as np

from appell.compile.native.bound import Bound
from appell.simulation.contact.contact import Contacts
from appell.simulation.drives import Drives
from appell.simulation.states import States


class Geometry:
    """Evaluates everything about contacts and drives at a state; the arrays hold until the next evaluation."""

    def __init__(self, states: States, contacts: Contacts, drives: Drives):
        self.contacts, self.drives, self.states = contacts, drives, states
        self.nq, nv = states.nq, states.nw
        self.active = np.ones(len(contacts), bool)  # the contacts whose wall is there
        self.kernels: list[Bound] = []
        if len(contacts):
            self.motion = contacts.motion.bind()
            self.kernels.append(self.motion)
        if len(drives):
            self.driven = drives.motion.bind()
            self.kernels.append(self.driven)
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # (B, speed, drift), flat views
        if len(contacts):
            found = self.motion
            self._parts.append((found.rows.reshape(-1, nv), found.speed.reshape(-1), found.drift.reshape(-1)))
        if len(drives):
            self._parts.append((self.driven.D, self.driven.rate, self.driven.drift))
        size = 3 * len(contacts) + len(drives)
        self.B, self.speed, self.drift = np.zeros((size, nv)), np.zeros(size), np.zeros(size)
        if len(self._parts) == 1:
            self.B, self.speed, self.drift = self._parts[0]

    def at(self, y: np.ndarray) -> Geometry:
        """Everything at a state: three rows a contact (normal, tangents), then one a drive."""
        q, w = y[: self.nq], y[self.nq :]
        for kernel in self.kernels:
            kernel.q[:], kernel.v[:] = q, w
            kernel()
        if self.kernels:
            self.states.place(q)
        if len(self._parts) == 2:
            cut = 3 * len(self.contacts)
            for part, (rows, speed, drift) in zip((slice(cut), slice(cut, None)), self._parts, strict=True):
                self.B[part], self.speed[part], self.drift[part] = rows, speed, drift
        return self

    @property
    def M(self) -> np.ndarray:
        return self.states.mass.M

    def response(self, rows: np.ndarray) -> np.ndarray:
        """What unit impulses along rows change of the velocities, (nw, rows)."""
        return self.states.response(rows)

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
