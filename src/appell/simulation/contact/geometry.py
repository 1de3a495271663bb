"""Contacts and dry drives at one state: Jacobian rows, speeds, accelerations and inertia, from compiled kernels."""

from __future__ import annotations

import numpy as np

from appell.compile.native.bound import Bound
from appell.compile.native.machine import Code
from appell.simulation.contact.complementarity import least_norm
from appell.simulation.contact.contact import Contacts
from appell.simulation.drives import Drives
from appell.simulation.states import States


class Geometry:
    """Evaluates contacts and drives at a state; its arrays are overwritten by the next evaluation.

    `B`, `speed` and `drift` are the Jacobian rows, velocities, and accelerations at a = 0: one row per dry drive,
    followed by three rows (normal, two tangents) per evaluated contact; `gap`, `slope` and `frame` have one entry per
    evaluated contact. Points and stops are always evaluated; features of shapes when their rows are first requested,
    until `keep` drops them. `version` changes with the positions of rows.
    """

    def __init__(self, states: States, contacts: Contacts, drives: Drives):
        self.contacts, self.drives, self.states = contacts, drives, states
        self.nq, self.nv = states.nq, states.nw
        self.active = np.ones(len(contacts), bool)  # contacts whose wall exists at the current time
        self.kernels: list[Bound] = []
        if contacts.fixed:
            self.motion = contacts.motion.bind()
            self.kernels.append(self.motion)
        if len(drives):
            self.driven = drives.motion.bind()
            self.kernels.append(self.driven)
        if len(contacts.shapes):
            self.bodies = contacts.shapes.bodies.bind()
            self.kernels.append(self.bodies)
        self.version = 0
        self.features = np.zeros(0, int)  # evaluated features of shapes, as indices of contacts
        self._slots = np.full(len(contacts), -1)
        self._slots[: contacts.fixed] = np.arange(contacts.fixed)
        self._allocate()

    def _allocate(self) -> None:
        """Make the arrays for all drives and evaluated contacts; those of points alone are the kernel's own."""
        fixed, first, nv = self.contacts.fixed, len(self.drives), self.nv
        self._copied = bool(first or len(self.features))
        if not self._copied and fixed:
            motion = self.motion
            self.B, self.speed, self.drift = motion.rows.reshape(-1, nv), motion.speed.ravel(), motion.drift.ravel()
            self.gap, self.slope, self.frame = motion.gap, motion.slope, motion.frame
            return
        count = fixed + len(self.features)
        size = first + 3 * count
        self.B, self.speed, self.drift = np.zeros((size, nv)), np.zeros(size), np.zeros(size)
        self.gap, self.slope, self.frame = np.zeros(count), np.ones(count), np.zeros((count, 3, 3))

    def at(self, y: np.ndarray) -> Geometry:
        """Evaluate all arrays at a state y = (q, w) and return this object."""
        q, w = y[: self.nq], y[self.nq :]
        for kernel in self.kernels:
            kernel.q[:], kernel.v[:] = q, w
            kernel()
        if self.kernels:
            self.states.evaluate(q)
        if self._copied:
            self._copy()
        return self

    def _copy(self) -> None:
        """Copy the results of all kernels into the arrays."""
        first, fixed = len(self.drives), self.contacts.fixed
        if first:
            driven = self.driven
            self.B[:first], self.speed[:first], self.drift[:first] = driven.D, driven.rate, driven.drift
        if fixed:
            motion, part = self.motion, slice(first, first + 3 * fixed)
            self.B[part] = motion.rows.reshape(-1, self.nv)
            self.speed[part], self.drift[part] = motion.speed.ravel(), motion.drift.ravel()
            self.gap[:fixed], self.slope[:fixed], self.frame[:fixed] = motion.gap, motion.slope, motion.frame
        if len(self.features):
            m = self.contacts.shapes.motion(self.bodies.state, self.bodies.J, self.features - fixed)
            part = slice(first + 3 * fixed, None)
            self.B[part] = m.rows.reshape(-1, self.nv)
            self.speed[part], self.drift[part] = m.speed.ravel(), m.drift.ravel()
            self.gap[fixed:], self.frame[fixed:] = m.gap, m.axes

    def calls(self, q: np.ndarray, w: np.ndarray) -> list[tuple[Code, list[np.ndarray]]]:
        """Return the kernels that evaluate all arrays, with their arguments and results, for states in these arrays."""
        first, fixed = len(self.drives), self.contacts.fixed
        last = first + 3 * fixed
        calls = [(self.states.moving.mass_matrix.kernel(), [q, self.M])]
        if first:
            results = [self.B[:first], self.speed[:first], self.drift[:first]]
            calls.append((self.drives.motion.kernel(), [q, w, *results]))
        if fixed:
            motion = self.motion
            views = {
                "gap": self.gap,
                "slope": self.slope,
                "frame": self.frame,
                "rows": self.B[first:last],
                "speed": self.speed[first:last],
                "drift": self.drift[first:last],
            }
            results = [views.get(array.name, getattr(motion, array.name)) for array in self.contacts.motion.outputs]
            calls.append((self.contacts.motion.kernel(), [q, w, *results]))
        if len(self.features):
            bodies, shapes = self.bodies, self.contacts.shapes
            calls.append((shapes.bodies.kernel(), [q, w, bodies.state, bodies.J]))
            for k, feature in enumerate(self.features - fixed):
                slot, part = fixed + k, slice(last + 3 * k, last + 3 * k + 3)
                results = [self.gap[slot : slot + 1], self.frame[slot], self.speed[part], self.drift[part]]
                calls += shapes.calls(int(feature), bodies.state, bodies.J, results, self.B[part])
        return calls

    def keep(self, contacts: np.ndarray) -> None:
        """Evaluate the features among these contacts only."""
        features = np.asarray(contacts, int)
        features = features[features >= self.contacts.fixed]
        if len(features) != len(self.features) or (features != self.features).any():
            self._slots[self.features] = -1
            self.features = features
            self._slots[features] = self.contacts.fixed + np.arange(len(features))
            self.version += 1
            self._allocate()
            if self._copied:
                self._copy()

    def slots(self, contacts) -> np.ndarray:
        """Return the positions of contacts among the evaluated ones; evaluate those that are not."""
        contacts = np.asarray(contacts, int)
        slots = self._slots[contacts]
        if slots.min(initial=0) < 0:
            self.keep(np.concatenate([self.features, np.unique(contacts[slots < 0])]))
            slots = self._slots[contacts]
        return slots

    @property
    def M(self) -> np.ndarray:
        """The inertia matrix, (nw, nw)."""
        return self.states.mass.M

    def response(self, rows: np.ndarray) -> np.ndarray:
        """Return the changes of the velocities w by unit impulses along rows, (nw, rows)."""
        return self.states.response(rows)

    def without_components(self, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return velocities without their components along rows, in the metric of M."""
        if not len(rows):
            return v
        response = self.response(rows)
        return v - response @ least_norm(rows @ response, rows @ v)

    def normal_rows(self, contacts) -> np.ndarray:
        """Return the indices of the normal rows of contacts."""
        return len(self.drives) + 3 * self.slots(contacts)

    def contact_rows(self, contacts) -> np.ndarray:
        """Return the indices of the rows of contacts along normal and tangents, (contacts, 3)."""
        return self.normal_rows(contacts)[:, None] + [0, 1, 2]

    def tangent_rows(self, contacts) -> np.ndarray:
        """Return the indices of the tangential rows of contacts, two each."""
        return self.contact_rows(contacts)[:, 1:].ravel()

    def drive_rows(self, drives) -> np.ndarray:
        """Return the indices of the rows of drives."""
        return np.asarray(drives, int)

    def axes(self, contacts) -> np.ndarray:
        """Return normal and tangents of contacts in world axes, (contacts, 3, 3)."""
        slots = self.slots(contacts)
        return self.frame[slots]

    def offsets(self, contacts) -> np.ndarray:
        """Return the first-order distances of some contacts, whether or not they are active."""
        slots = self.slots(contacts)
        return self.gap[slots] / self.slope[slots]

    def distance(self) -> np.ndarray:
        """Return the first-order distances of all contacts; infinite if they are inactive or cannot touch."""
        if not len(self.contacts):
            return np.zeros(0)
        fixed = self.contacts.fixed
        distance = np.full(len(self.contacts), np.inf)
        if fixed:
            with np.errstate(all="ignore"):
                distance[:fixed] = np.where(self.motion.gap == 0.0, 0.0, self.motion.gap / self.motion.slope)
        if fixed < len(self.contacts):
            distance[fixed:] = self.contacts.shapes.distance(self.bodies.q)
        return np.where(self.active, distance, np.inf)

    def distinct(self, contacts: np.ndarray) -> np.ndarray:
        """Return contacts without features that touch at the same point as an earlier one of the same pair."""
        features = contacts[contacts >= self.contacts.fixed] - self.contacts.fixed
        if len(features) < 2:
            return contacts
        shapes = self.contacts.shapes
        keep = shapes.distinct(features, shapes.motion(self.bodies.state, self.bodies.J, features))
        return np.concatenate([contacts[contacts < self.contacts.fixed], features[keep] + self.contacts.fixed])

    def normal_speed(self, contacts) -> np.ndarray:
        """Return the normal velocities of contacts, positive away from the wall."""
        rows = self.normal_rows(contacts)
        return self.speed[rows]

    def rates(self) -> np.ndarray:
        """Return the velocities θ̇ of the dry drives."""
        return self.speed[: len(self.drives)]
